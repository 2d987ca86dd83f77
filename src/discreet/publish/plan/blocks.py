"""From a ``[[private]]`` table of a plan to a block: domain, mechanism, report labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from discreet.blocks import Block, ColumnBlock, DesignsByRow, JointBlock, Missing
from discreet.domains import Binary, Categorical, FiniteDomain, WithBlank
from discreet.errors import PlanError
from discreet.mechanisms import (
    BinaryResponse,
    ChannelResponse,
    FiniteMechanism,
    GeneralizedResponse,
    UnbiasedResponse,
)
from discreet.mechanisms.memoised import check_memoised
from discreet.mechanisms.procedures import PARAMETERS
from discreet.plain_text import has_control
from discreet.publish.plan.domains import PlanFiles, read_finite
from discreet.publish.plan.grammar import (
    DESIGN,
    JOINT,
    LAPLACE,
    LATER_MECHANISMS,
    MECHANISMS,
    NEAR,
    PROCEDURES,
    Section,
    at,
)
from discreet.publish.plan.joint import read_joint
from discreet.publish.plan.large_domains import frequencies_mechanism
from discreet.publish.plan.near import NEAR_MECHANISMS, near_mechanism
from discreet.publish.plan.numeric import read_numeric
from discreet.publish.plan.row_designs import waiting_block
from discreet.publish.plan.sections import Budget
from discreet.publish.plan.unbiased import read_one_number, unbiased_block, unbiased_mechanism

if TYPE_CHECKING:
    from discreet.design import Design
    from discreet.mechanisms import Mechanism
    from discreet.publish.plan.near import Chosen

#: Keys that only some designs read; anywhere else they would be silently ignored, so they are refused.
_OPTIONS = ("epsilon", "delta", "prevalence", "symmetric", "matrix", "file", *NEAR)


def read_block(section: Section, files: PlanFiles) -> tuple[Block, Design[Mechanism] | None]:
    """One block of a plan, and the design of its mechanism where one was made."""
    # A mechanism that is still to come is named before its other keys are judged.
    mechanism = section.choice("mechanism", MECHANISMS, LATER_MECHANISMS)
    if mechanism == "joint":
        return read_joint(section, files)
    if mechanism == "zero-inflated-laplace":
        return read_numeric(section, files)
    if "report" in section:
        return read_one_number(section, files), None
    _refuse(section, JOINT, 'belongs to mechanism = "joint"')
    _refuse(section, LAPLACE, 'belongs to mechanism = "zero-inflated-laplace"')
    columns = section.columns()
    domain = read_finite(section.required("domain"), section.at("domain"), files)
    missing = cast("Missing", section.choice("missing", ("reject", "category", "public")) or "reject")
    if missing == "category":
        domain = WithBlank(domain)
    if section.flag("collected"):
        return _collected(section, columns, domain, missing, mechanism, files)
    for key in ("by", "designs", "parameters", "extended_crosswise", *PROCEDURES):
        if key in section:
            raise PlanError(f"{section.at(key)} describes answers that respondents randomised; add collected = true")
    if mechanism is None:
        raise PlanError(f"{section.at('mechanism')} is missing; it must be one of {', '.join(MECHANISMS)}")
    chosen, design = _mechanism(section, mechanism, domain, files)
    if isinstance(chosen, UnbiasedResponse):
        with at(section.path):
            return unbiased_block(columns, domain, chosen, missing), design
    reports = _reports(section, domain, chosen)
    with at(section.path):
        return ColumnBlock(columns=columns, domain=domain, reports=reports, mechanism=chosen, missing=missing), design


def _mechanism(section: Section, name: str, domain: FiniteDomain, files: PlanFiles) -> Chosen:
    if name in NEAR_MECHANISMS:
        return near_mechanism(section, name, domain)
    if name == "unbiased":
        return unbiased_mechanism(section, domain)
    _refuse(section, NEAR, f"belongs to mechanism = {', '.join(NEAR_MECHANISMS)}")
    if name == "frequencies":
        return frequencies_mechanism(section, domain)
    return (_channel(section, domain, files), None) if name == "channel" else _randomized_response(section, domain)


def _randomized_response(section: Section, domain: FiniteDomain) -> Chosen:
    """The optimal binary design, or generalised response on any other domain."""
    epsilon, delta = section.required_epsilon(), section.delta()
    _refuse(section, ("matrix", "file"), 'belongs to mechanism = "channel"')
    if not isinstance(domain, Binary):
        _refuse(section, ("delta", "prevalence", "symmetric"), "is an option of a yes/no domain without blanks")
        if "reports" in section and not section.flag("collected"):
            raise PlanError(f'{section.at("reports")} belongs to a yes/no domain, or to mechanism = "channel"')
        with at(section.at("epsilon")):
            return GeneralizedResponse(domain.size, epsilon), None
    from discreet.design import binary

    prevalence, reports = _prevalence(section), _report_count(section)
    with at(section.at("epsilon")):
        design = binary(
            epsilon,
            delta=delta or 0.0,
            prevalence=prevalence,
            symmetric=section.flag("symmetric"),
            reports=reports,
        )
    return design.mechanism, design


def _prevalence(section: Section) -> float | tuple[float, ...] | None:
    """What is known of the share of "yes": a number, or the two ends of an interval."""
    given = section.get("prevalence")
    ends = given if isinstance(given, (list, tuple)) else [0.0 if given is None else given] * 2
    numeric = all(isinstance(end, (int, float)) and not isinstance(end, bool) for end in ends)
    if len(ends) != 2 or not numeric or not 0 <= ends[0] <= ends[1] <= 1:
        raise PlanError(f"{section.at('prevalence')} must be a number from 0 to 1, or an interval [low, high] of them")
    return tuple(map(float, ends)) if isinstance(given, (list, tuple)) else given


def _report_count(section: Section) -> int:
    """How many reports a yes/no design gives: said as 2 or 4, or by that many labels."""
    reports = section.get("reports")
    count = len(reports) if isinstance(reports, (list, tuple)) else 2 if reports is None else reports
    if isinstance(count, bool) or count not in (2, 4):
        raise PlanError(f"{section.at('reports')} must be 2 or 4, or as many labels")
    return int(count)


def _channel(section: Section, domain: FiniteDomain, files: PlanFiles) -> FiniteMechanism:
    """A matrix; with ``epsilon`` it is a claim, which the exact weights have to meet."""
    epsilon, delta = section.epsilon(), section.delta()
    _refuse(section, ("prevalence", "symmetric"), 'belongs to mechanism = "randomized-response"')
    if delta is not None and epsilon is None:
        raise PlanError(f"{section.at('delta')} needs {section.at('epsilon')} beside it")
    mechanism = _matrix(section, domain, files, epsilon if delta else None)
    if epsilon is None:
        return mechanism
    certified = mechanism.guarantee
    if not certified.fits(epsilon, delta or 0.0):
        raise PlanError(
            f"{section.at('epsilon')}: the matrix gives {certified.summary()}, "
            f"which is more than the declared ε = {epsilon:g}, δ = {delta or 0:g}"
        )
    return mechanism


def _matrix(section: Section, domain: FiniteDomain, files: PlanFiles, epsilon: float | None = None) -> ChannelResponse:
    if ("matrix" in section) == ("file" in section):
        raise PlanError(f"{section.path} needs either matrix or file")
    key = "matrix" if "matrix" in section else "file"
    matrix = section.get("matrix") if key == "matrix" else files.matrix(section.text("file") or "", section.at("file"))
    with at(section.at(key)):
        mechanism = ChannelResponse(matrix, epsilon)
    if mechanism.shape[0] != domain.size:
        blank = " (the blank is one of them)" if isinstance(domain, WithBlank) else ""
        raise PlanError(
            f"{section.at(key)} has {mechanism.shape[0]} rows, but the domain has {domain.size} values{blank}"
        )
    return mechanism


def _reports(section: Section, domain: FiniteDomain, mechanism: FiniteMechanism) -> FiniteDomain:
    """The labels of the reports, where the plan gives them; else the mechanism names them."""
    labels, count = section.get("reports"), mechanism.shape[1]
    if labels is None or isinstance(labels, int):
        if isinstance(mechanism, ChannelResponse) and count != domain.size and labels is None:
            raise PlanError(f"{section.at('reports')} is missing: the matrix gives {count} reports, which need labels")
        if labels is not None and (isinstance(labels, bool) or labels != count):
            raise PlanError(f"{section.at('reports')} must be a list of {count} labels: the design has as many reports")
        return mechanism.report_domain(domain)
    if not isinstance(labels, (list, tuple)):
        raise PlanError(f"{section.at('reports')} must be a list of labels")
    if len(labels) != count:
        raise PlanError(f"{section.at('reports')} has {len(labels)} labels, but there are {count} reports")
    with at(section.at("reports")):
        named = Categorical(list(labels))
    return domain if named.labels == domain.labels else named


def _collected(
    section: Section,
    columns: tuple[str, ...],
    domain: FiniteDomain,
    missing: Missing,
    mechanism: str | None,
    files: PlanFiles,
) -> tuple[Block, Design[Mechanism] | None]:
    """Answers that were randomised before they were collected: one design, or one per group of rows."""
    by = section.text("by")
    if "parameters" in section:
        others = (*_OPTIONS, *PROCEDURES, "mechanism", "designs", "extended_crosswise")
        _refuse(section, others, "cannot stand beside parameters")
        labels = _reports(section, domain, BinaryResponse.direct())
        return waiting_block(section, columns, domain, labels, missing), None
    named = [key for key in ("designs", "extended_crosswise") if key in section]
    if (by is None) != (not named) or len(named) > 1:
        raise PlanError(f"{section.path} needs both by and designs (or extended_crosswise), or neither")
    if by is not None:
        _refuse(section, (*_OPTIONS, *PROCEDURES, "mechanism"), "cannot stand beside designs")
        designs = _designs(section, domain, files) if named == ["designs"] else _extended_crosswise(section, domain)
        reports = _reports(section, domain, next(iter(designs.values())))
        with at(section.path):
            block = DesignsByRow(
                columns=columns, domain=domain, reports=reports, by=by, designs=designs, missing=missing, collected=True
            )
        return block, None
    if mechanism is not None:
        _refuse(section, PROCEDURES, "cannot stand beside mechanism")
        chosen, design = _mechanism(section, mechanism, domain, files)
    else:
        unread = ("epsilon", "delta", "prevalence", "symmetric", *NEAR)
        _refuse(section, unread, "follows from the design that was used")
        chosen, design = _design(section, domain, files), None
    reports = _reports(section, domain, chosen)
    with at(section.path):
        taken_in = ColumnBlock(
            columns=columns, domain=domain, reports=reports, mechanism=chosen, missing=missing, collected=True
        )
    return taken_in, design


def _designs(section: Section, domain: FiniteDomain, files: PlanFiles) -> dict[str, FiniteMechanism]:
    path, given = section.at("designs"), section.get("designs")
    if not isinstance(given, Mapping) or not given:
        raise PlanError(f"{path} must name a design for each value of {section.at('by')}")
    if any(has_control(str(value)) for value in given):
        raise PlanError(f"{path}: the name of a design holds a control character")
    designs = {
        str(value): _design(Section(design, f"{path}.{value}", DESIGN), domain, files)
        for value, design in given.items()
    }
    if len({design.shape[1] for design in designs.values()}) > 1:
        raise PlanError(f"{path}: every design must give the same number of reports")
    return designs


def _extended_crosswise(section: Section, domain: FiniteDomain) -> dict[str, FiniteMechanism]:
    """The two groups of the extended crosswise model: a share p in one, 1 − p in the other."""
    table = Section(section.get("extended_crosswise"), section.at("extended_crosswise"), ("p", "groups"))
    groups = table.columns("groups")
    if len(groups) != 2 or not isinstance(domain, Binary):
        raise PlanError(f"{table.path} is a yes/no design of two groups: p, and groups = [one, other]")
    with at(table.at("p")):
        return dict(zip(groups, BinaryResponse.extended_crosswise(table.required("p")), strict=True))


def _design(section: Section, domain: FiniteDomain, files: PlanFiles) -> FiniteMechanism:
    """The one design that a table names."""
    named = [key for key in DESIGN if key in section]
    if len(named) != 1:
        raise PlanError(f"{section.path} needs exactly one design: {', '.join(DESIGN)}")
    name = named[0]
    if name in ("matrix", "file"):
        return _matrix(section, domain, files)
    if not isinstance(domain, Binary):
        why = 'it has no rule for a blank; use missing = "public"' if isinstance(domain, WithBlank) else "use a matrix"
        raise PlanError(f"{section.at(name)} is a design for a yes/no domain: {why}")
    with at(section.at(name)):
        return cast("FiniteMechanism", getattr(BinaryResponse, name)(*_parameters(section, name)))


def _parameters(section: Section, name: str) -> list[Any]:
    value, names = section.get(name), PARAMETERS[name]
    if not names:
        if value is not True:
            raise PlanError(f"{section.at(name)} must be true")
        return []
    if len(names) == 1:
        return [value]
    if isinstance(value, Mapping):
        inner = Section(value, section.at(name), names)
        return [inner.required(key) for key in names]
    if isinstance(value, (list, tuple)) and len(value) == len(names):
        return list(value)
    raise PlanError(f"{section.at(name)} must be a table with {' and '.join(names)}")


def _refuse(section: Section, keys: tuple[str, ...], why: str) -> None:
    for key in keys:
        if key in section:
            raise PlanError(f"{section.at(key)} {why}")


def with_repeat(section: Section, block: Block, budget: Budget) -> Block:
    """The block as it is, or memoised where the plan says so."""
    if section.choice("repeat", ("memoise",)) is None:
        return block
    path = section.at("repeat")
    if block.collected or "label" in section:
        raise PlanError(
            f"{path} is for answers that are randomised here, and not for a label designed for a regression"
        )
    if budget.person is None or budget.rows_per_person != 1:
        raise PlanError(
            f"{path} needs budget.person, a column that names the person in every wave, with one row per person: "
            "several rows with the same report would count as independent"
        )
    with at(path):
        if type(block) is ColumnBlock:
            check_memoised(block.mechanism)
        elif isinstance(block, JointBlock):
            check_memoised(block.mechanism.view(*range(len(block.columns))))
        else:
            raise PlanError(
                f"{path} is for columns with a list of values, not for numbers that are rounded or get noise"
            )
    return cast("Block", replace(block, memoised=True, guarantee=None))  # type: ignore[arg-type]  # worked out again
