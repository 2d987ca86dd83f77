"""The ``joint`` blocks of a plan: several columns, each with its own domain, randomised together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from discreet.blocks import JointBlock, Missing
from discreet.domains import FiniteDomain, WithBlank
from discreet.errors import PlanError
from discreet.publish.plan.domains import PlanFiles, read_finite
from discreet.publish.plan.grammar import JOINT, Section, at

if TYPE_CHECKING:
    from discreet.design import AttributesDesign

_ALLOWED = ("columns", "mechanism", "repeat", "missing", "collected", *JOINT)


def read_joint(section: Section, files: PlanFiles) -> tuple[JointBlock, AttributesDesign]:
    """``domains`` with ``epsilons``, or with ``total`` and ``ratios``; options ``method`` and ``pairs``."""
    for key in list(section.keys()):
        if key not in _ALLOWED:
            raise PlanError(f'{section.at(key)} does not belong to mechanism = "joint"')
    columns = section.columns()
    missing = cast("Missing", section.choice("missing", ("reject", "category", "public")) or "reject")
    domains = read_domains(section, columns, files)
    if missing == "category":
        domains = tuple(WithBlank(domain) for domain in domains)
    design = _design(section, columns, [domain.size for domain in domains])
    if design.changed:
        i = design.changed[0]
        raise PlanError(
            f'{section.at("epsilons")}: the heuristic would change the level of column "{columns[i]}" from '
            f'{design.requested[i]:g} to {design.marginal_epsilons[i]:.4g}; use method = "exact"'
        )
    with at(section.path):
        block = JointBlock(
            columns=columns,
            domains=domains,
            mechanism=design.mechanism,
            missing=missing,
            collected=section.flag("collected"),
        )
    return block, design


def read_domains(section: Section, columns: tuple[str, ...], files: PlanFiles) -> tuple[FiniteDomain, ...]:
    """One domain for each column."""
    given, path = section.required("domains"), section.at("domains")
    if not isinstance(given, (list, tuple)):
        raise PlanError(f"{path} must be a list with one domain per column")
    if len(given) != len(columns):
        raise PlanError(f"{path} has {len(given)} domains, but there are {len(columns)} columns")
    return tuple(read_finite(domain, f"{path}[{i}]", files) for i, domain in enumerate(given))


def _pairs(section: Section, columns: tuple[str, ...]) -> Any:
    """Which tables are kept: one of three words, or lists of column names."""
    given = section.get("pairs")
    if given is None or isinstance(given, str):
        return section.choice("pairs", ("keep", "free", "triples")) or "keep"
    listed = isinstance(given, (list, tuple)) and all(isinstance(table, (list, tuple)) and table for table in given)
    if not listed or not given:
        raise PlanError(
            f'{section.at("pairs")} must be "keep", "free", "triples" or a list of tables, each a list of column names'
        )
    for i, table in enumerate(given):
        for name in table:
            if name not in columns:
                raise PlanError(f"{section.at('pairs')}[{i}] must name columns of the block: {', '.join(columns)}")
    return [tuple(columns.index(name) for name in table) for table in given]


def _design(section: Section, columns: tuple[str, ...], sizes: list[int]) -> AttributesDesign:
    from discreet.design import attributes, attributes_for_total

    pairs = _pairs(section, columns)
    if ("epsilons" in section) == ("total" in section):
        raise PlanError(f"{section.path} needs either epsilons, or total and ratios")
    if "epsilons" in section:
        if "ratios" in section:
            raise PlanError(f"{section.at('ratios')} goes with total, not with epsilons")
        method = section.choice("method", ("auto", "exact", "lp", "inductive", "kronecker")) or "auto"
        with at(section.at("epsilons")):
            return attributes(sizes, _numbers(section, "epsilons", len(sizes)), method=method, pairs=pairs)
    if "method" in section:
        raise PlanError(f"{section.at('method')} goes with epsilons, not with total")
    total = section.epsilon("total")
    with at(section.at("total")):
        return attributes_for_total(sizes, _numbers(section, "ratios", len(sizes)), cast("float", total), pairs=pairs)


def _numbers(section: Section, key: str, count: int) -> list[float]:
    given = section.required(key)
    numeric = isinstance(given, (list, tuple)) and all(
        isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e300 for value in given
    )
    if not numeric:
        raise PlanError(f"{section.at(key)} must be a list of numbers")
    if len(given) != count:
        raise PlanError(f"{section.at(key)} has {len(given)} numbers, but there are {count} columns")
    return [float(value) for value in given]
