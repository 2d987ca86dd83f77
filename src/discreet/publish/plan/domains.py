"""From the ``domain`` of a plan to a domain: declared in the plan or in a file beside it, never inferred."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet import limits
from discreet.domains import Binary, Box, Categorical, Domain, FiniteDomain, Grid, Metric, Ordinal
from discreet.domains.listed import ListedDomain, listed_values
from discreet.errors import InputError, PlanError
from discreet.files import ordinary_text, path_inside
from discreet.mechanisms.finite import MAX_MATRIX
from discreet.publish.plan.grammar import DOMAINS, LATER_DOMAINS, Section, at
from discreet.tables.readers import file_table, reading


@dataclass
class PlanFiles:
    """Opens files in the folder of the plan, or below it, and remembers which ones were read."""

    folder: Path
    #: Whether files anywhere else may be read as well: only the steward can say so, not the plan.
    outside: bool = False
    opened: list[Path] = field(default_factory=list)

    def _open(self, name: str, key_path: str) -> Path:
        path = path_inside(self.folder, name, key_path, PlanError, outside=self.outside)
        self.opened.append(path)
        return path

    def values(self, name: str, column: str, key_path: str) -> pa.Array:
        """One column of a CSV or Parquet file, as the values of a domain."""
        path = self._open(name, key_path)
        with at(key_path):
            table = file_table(path)
            if column not in table.schema.names:
                raise PlanError(f'{key_path}: {path.name} has no column "{column}"')
            chunks, rows = [], 0
            for batch in table.batches([column]):
                chunks.append(batch.column(0))
                rows += batch.num_rows
                if rows > limits.DOMAIN_VALUES:
                    raise PlanError(f"{key_path}: {path.name} has over {limits.DOMAIN_VALUES:,} rows")
            kind = table.schema.field(column).type
            return pa.chunked_array(chunks, type=kind).combine_chunks()

    def matrix(self, name: str, key_path: str) -> list[list[Any]]:
        """Rows of a CSV file without header: whole numbers, decimals, or fractions such as 1/6."""
        path = self._open(name, key_path)
        try:
            with reading(path, "CSV"), ordinary_text(path, "utf-8-sig") as lines:
                rows = [[_entry(cell.strip()) for cell in row] for row in islice(csv.reader(lines), MAX_MATRIX + 1)]
        except InputError as error:
            raise PlanError(f"{key_path}: {error}") from None
        except ValueError:
            raise PlanError(f"{key_path}: {path.name} must hold numbers or fractions only, without a header") from None
        return [row for row in rows if row]


def _entry(cell: str) -> Any:
    if "/" in cell:
        return cell
    try:
        return int(cell)
    except ValueError:
        return float(cell)


def read_domain(data: Any, path: str, files: PlanFiles) -> Domain:
    """The domain that a plan declares under one key."""
    section = Section(data, path, (*DOMAINS, "positions"), LATER_DOMAINS)
    named = [key for key in DOMAINS if key in section]
    if len(named) != 1:
        raise PlanError(f"{path} needs exactly one of {', '.join(DOMAINS)}")
    kind = named[0]
    if "positions" in section and kind != "ordinal":
        raise PlanError(f"{section.at('positions')} belongs to an ordinal domain")
    with at(section.at(kind)):
        domain = _FROM_FILES[kind](section, files) if kind in _FROM_FILES else _READERS[kind](section)
        if isinstance(domain, ListedDomain):
            domain.check_printable()
        return domain


def read_finite(data: Any, path: str, files: PlanFiles) -> FiniteDomain:
    """A domain that is a list of values: every one but a box."""
    domain = read_domain(data, path, files)
    if not isinstance(domain, FiniteDomain):
        raise PlanError(f'{path}: a box needs mechanism = "zero-inflated-laplace"')
    return domain


def _binary(section: Section) -> Domain:
    values = section.get("binary")
    if not isinstance(values, (list, tuple)) or len(values) != 2:
        raise PlanError(f"{section.at('binary')} must list two values: the harmless one, then the sensitive one")
    return Binary(*values)


def _categorical(section: Section, files: PlanFiles) -> Domain:
    values = section.get("categorical")
    path = section.at("categorical")
    if isinstance(values, Mapping) and "file" in values:
        inner = Section(values, path, ("file", "column"))
        inner.required("column")
        return Categorical(files.values(inner.text("file") or "", inner.text("column") or "", inner.at("file")))
    if isinstance(values, Mapping):
        inner = Section(values, path, ("from", "to", "file", "column"))
        if not all(isinstance(inner.required(key), int) for key in ("from", "to")):
            raise PlanError(f"{path} needs whole numbers from and to")
    return Categorical(listed_values(_as_list(values)))


def _ordinal(section: Section) -> Domain:
    values, positions = section.get("ordinal"), section.get("positions")
    if isinstance(values, Mapping):
        raise PlanError(f"{section.at('ordinal')} must list its values from lowest to highest")
    if positions is not None and not isinstance(positions, (list, tuple)):
        raise PlanError(f"{section.at('positions')} must be a list of numbers")
    return Ordinal(listed_values(_as_list(values)), positions)


def _grid(section: Section) -> Domain:
    inner = section.section("grid", ("low", "high", "points"))
    return Grid(*(inner.required(key) for key in ("low", "high", "points")))


def _box(section: Section) -> Domain:
    inner = section.section("box", ("low", "high"))
    return Box(*(inner.required(key) for key in ("low", "high")))


def _as_list(values: Any) -> Any:
    return list(values) if isinstance(values, tuple) else values


def _metric(section: Section, files: PlanFiles) -> Domain:
    """Places from a CSV or Parquet file: a column of values, x and y (on a map longitude and latitude)."""
    inner = section.section("metric", ("file", "value", "x", "y", "distance"))
    name, value, x, y = (str(inner.required(key) and inner.text(key)) for key in ("file", "value", "x", "y"))
    distance = inner.choice("distance", ("euclidean", "haversine")) or "euclidean"
    values = files.values(name, value, inner.at("value"))
    across, up = _numbers(files, name, x, inner.at("x")), _numbers(files, name, y, inner.at("y"))
    # A map has x for longitude and y for latitude; a metric domain takes latitude first.
    columns = (up, across) if distance == "haversine" else (across, up)
    return Metric.points(values, np.column_stack(columns), distance)


def _numbers(files: PlanFiles, name: str, column: str, path: str) -> NDArray[np.float64]:
    given = files.values(name, column, path)
    try:
        numbers = given.cast(pa.float64())
    except pa.ArrowInvalid:
        raise PlanError(f'{path}: the column "{column}" must hold numbers') from None
    if numbers.null_count:
        raise PlanError(f'{path}: the column "{column}" has an empty cell')
    return np.asarray(numbers.to_numpy(zero_copy_only=False))


_FROM_FILES = {"categorical": _categorical, "metric": _metric}
_READERS = {"binary": _binary, "ordinal": _ordinal, "grid": _grid, "box": _box}
