"""From the ``domain`` of a plan to a domain: declared in the plan or in a file beside it, never inferred."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet.domains import Binary, Categorical, Domain, Grid, Ordinal
from discreet.domains.listed import listed_values
from discreet.errors import PlanError
from discreet.publish.files import PlanFiles
from discreet.publish.grammar import DOMAINS, LATER_DOMAINS, Section, at


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
        return _categorical(section, files) if kind == "categorical" else _READERS[kind](section)


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


def _as_list(values: Any) -> Any:
    return list(values) if isinstance(values, tuple) else values


_READERS = {"binary": _binary, "ordinal": _ordinal, "grid": _grid}
