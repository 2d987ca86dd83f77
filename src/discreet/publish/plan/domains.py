"""From the ``domain`` of a plan to a domain: declared in the plan or in a file beside it, never inferred."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.domains import Binary, Box, Categorical, Domain, FiniteDomain, Grid, Metric, Ordinal
from discreet.domains.listed import ListedDomain, listed_values
from discreet.errors import PlanError
from discreet.publish.plan.files import PlanFiles
from discreet.publish.plan.grammar import DOMAINS, LATER_DOMAINS, Section, at


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
