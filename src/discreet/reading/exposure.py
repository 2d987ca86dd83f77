"""How many rows a release is expected to expose: counted by the design under which each row was asked.

The promise about a table states the weakest of its designs. How many rows meet it is another question: where a part was
asked directly and the rest by randomised response, the expected number is ``Σ rows under a design × its exposure``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from discreet.blocks import Block, design_name
from discreet.domains.columns import without_dictionary
from discreet.privacy import Guarantee

#: One design name per column that chooses designs, in the order of :func:`choosing_columns`.
Combination = tuple[str, ...]


@dataclass(frozen=True)
class Expected:
    """Expected numbers of rows for which the bound may fail, and whose report proves the truth, also by design."""

    failing: float
    exposed: float
    by_design: tuple[str, ...] = ()


def choosing_columns(blocks: Iterable[Block]) -> list[str]:
    """The public columns that say under which design a row was asked."""
    return list(dict.fromkeys(block.by for block in blocks if block.by is not None))


def count_designs(batches: Iterable[pa.RecordBatch], columns: Sequence[str]) -> Counter[Combination]:
    """How many rows there are under each combination of designs."""
    counts: Counter[Combination] = Counter()
    for batch in batches:
        table = pa.table({name: without_dictionary(batch.column(name)) for name in columns})
        grouped = table.group_by(list(columns)).aggregate([([], "count_all")])
        names = zip(*(grouped.column(name).to_pylist() for name in columns), strict=True)
        for labels, rows in zip(names, grouped.column("count_all").to_pylist(), strict=True):
            counts[tuple(design_name(label) for label in labels)] += rows
    return counts


def expected_rows(blocks: Sequence[Block], columns: Sequence[str], counts: Mapping[Combination, int]) -> Expected:
    """What is expected of these rows, all blocks of a row together."""
    failing = exposed = 0.0
    for names, rows in counts.items():
        chosen = dict(zip(columns, names, strict=True))
        row = Guarantee.composed(block.guarantee_under(chosen) for block in blocks)
        failing += rows * row.delta
        exposed += rows * row.exposure
    return Expected(failing, exposed, tuple(_lines(blocks, columns, counts)))


def _lines(blocks: Sequence[Block], columns: Sequence[str], counts: Mapping[Combination, int]) -> Iterable[str]:
    for block in blocks:
        if block.by is None or block.guarantee.exposure == 0:
            continue
        place = columns.index(block.by)
        parts = []
        for name in block.designs:
            rows = sum(number for names, number in counts.items() if names[place] == name)
            exposed = block.guarantee_under({block.by: name}).exposure * rows
            parts.append(f'"{name}" {exposed:,.0f} of {rows:,}')
        yield f"{', '.join(block.columns)} by {block.by}: {'; '.join(parts)}"


def exposure_of_designs(blocks: Iterable[Block]) -> list[str]:
    """The exposure of every design, one line per block whose rows differ, before it is known how many rows each has."""
    lines = []
    for block in blocks:
        if block.by is not None and block.guarantee.exposure > 0:
            parts = [f'"{name}" {block.guarantee_under({block.by: name}).exposure:.6g}' for name in block.designs]
            lines.append(f"{', '.join(block.columns)} by {block.by}: {'; '.join(parts)}")
    return lines
