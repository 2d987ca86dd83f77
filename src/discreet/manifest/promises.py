"""From the mechanisms of a table to what is promised about a row, and about a person."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING

from discreet.mechanisms import JointResponse, Mechanism, ZeroInflatedLaplace
from discreet.privacy import Guarantee

if TYPE_CHECKING:
    from discreet.manifest.block import Block

#: Mechanisms that take all columns of a block at once.
TOGETHER = (JointResponse, ZeroInflatedLaplace)


def block_guarantee(
    columns: Sequence[str],
    mechanism: Mechanism | None,
    *,
    by: str | None = None,
    designs: Mapping[str, Mechanism] | None = None,
    missing: str = "reject",
    collected: bool = False,
) -> Guarantee:
    """What a block promises about one row: each of its columns is randomised on its own, so ε adds up.

    When designs differ from row to row, the largest ε, δ and exposure count: whoever meets the bound of one
    design meets the larger one.
    """
    if isinstance(mechanism, ZeroInflatedLaplace):
        each = mechanism.record_guarantee  # a row is a whole record, also where single attributes are promised more
    else:
        each = _weakest(designs or {}) if mechanism is None else mechanism.guarantee
    # Columns that are randomised together have one promise, about all of them.
    whole = each if isinstance(mechanism, TOGETHER) else reduce(Guarantee.compose, [each] * len(columns))
    caveats = list(whole.caveats)
    if by is not None:
        caveats.append(f'the designs differ by "{by}"; the weakest of them is stated')
    if missing == "public":
        caveats.extend(f'whether "{column}" is blank is published as it is' for column in columns)
    if collected:
        names = ", ".join(f'"{column}"' for column in columns)
        caveats.append(f"whoever did not follow the design by which {names} was collected")
    return replace(whole, caveats=tuple(caveats))


def _weakest(designs: Mapping[str, Mechanism]) -> Guarantee:
    each = [design.guarantee for design in designs.values()]
    return Guarantee(
        epsilon=max(guarantee.epsilon for guarantee in each),
        delta=max(guarantee.delta for guarantee in each),
        exposure=max(guarantee.exposure for guarantee in each),
    )


def composed_guarantee(blocks: Iterable[Block], rows_per_person: int | None = None) -> Guarantee:
    """The promise about a whole row, or about a person when it was declared how many rows one can have."""
    row = Guarantee.composed(block.guarantee for block in blocks)
    return row if rows_per_person is None else row.for_person(rows_per_person)
