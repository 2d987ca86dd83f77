"""``mechanism = "unbiased"``: reports that are unbiased numbers of the least variance; all of them, or one per row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.blocks import ColumnBlock, Missing, OneNumberBlock, RoundedBlock
from discreet.domains import FiniteDomain, Grid, Ordinal, WithBlank
from discreet.errors import PlanError
from discreet.mechanisms import UnbiasedResponse
from discreet.publish.plan.domains import PlanFiles, read_finite
from discreet.publish.plan.grammar import Section, at
from discreet.publish.plan.joint import read_domains
from discreet.publish.plan.near import read_prior

if TYPE_CHECKING:
    from discreet.design import Design

_ONE = ("columns", "domain", "domains", "mechanism", "epsilon", "report", "missing", "repeat", "margin")
_FOREIGN = ("delta", "prevalence", "symmetric", "matrix", "file", "reports", "high", "missing_loss", "worst")


def unbiased_mechanism(section: Section, domain: FiniteDomain) -> tuple[UnbiasedResponse, Design[UnbiasedResponse]]:
    """The channel of least variance on the points of a grid, or on the positions of ordered values."""
    from discreet.design import mean

    epsilon = section.required_epsilon()
    for key in _FOREIGN:
        if key in section:
            raise PlanError(f'{section.at(key)} does not belong to mechanism = "unbiased"')
    if isinstance(domain, WithBlank):
        raise PlanError(
            f'{section.at("missing")} = "category" does not go with mechanism = "unbiased": a blank has no number; '
            'use missing = "public"'
        )
    if not isinstance(domain, (Grid, Ordinal)):
        raise PlanError(
            f'{section.at("mechanism")} = "unbiased" is for numbers: a grid, or an ordinal domain with its positions'
        )
    prior = read_prior(section)
    with at(section.at("prior") if prior is not None else section.path):
        design = mean(domain, epsilon, prior)
    return design.mechanism, design


def unbiased_block(
    columns: tuple[str, ...], domain: FiniteDomain, mechanism: UnbiasedResponse, missing: Missing
) -> ColumnBlock:
    """Numbers on a grid are rounded at random; ordered values are points as they are."""
    reports = mechanism.report_domain(domain)
    if isinstance(domain, Grid):
        return RoundedBlock(columns=columns, domain=domain, reports=reports, mechanism=mechanism, missing=missing)
    return ColumnBlock(columns=columns, domain=domain, reports=reports, mechanism=mechanism, missing=missing)


def read_one_number(section: Section, files: PlanFiles) -> OneNumberBlock:
    """``report = "one"``: several columns of numbers, of which every row reports one, drawn at random."""
    from discreet.design.numbers.several_means import one_number

    if section.text("mechanism") != "unbiased":
        raise PlanError(f'{section.at("report")} goes with mechanism = "unbiased"')
    section.choice("report", ("one",))
    for key in list(section.keys()):
        if key not in _ONE:
            raise PlanError(f'{section.at(key)} does not go with report = "one"')
    columns = section.columns()
    if len(columns) < 2:
        raise PlanError(f'{section.at("report")} = "one" needs several columns, of which every row reports one')
    if (section.choice("missing", ("reject", "category", "public")) or "reject") != "reject":
        raise PlanError(
            f'{section.at("missing")} must be "reject" with report = "one": a blank means that another number was drawn'
        )
    if ("domain" in section) == ("domains" in section):
        raise PlanError(f"{section.path} needs either domain, for all columns, or domains, one for each")
    shared = "domain" in section
    domains = (
        (read_finite(section.get("domain"), section.at("domain"), files),) * len(columns)
        if shared
        else read_domains(section, columns, files)
    )
    grids = [domain for domain in domains if isinstance(domain, Grid)]
    if len(grids) < len(domains):
        raise PlanError(f'{section.at("domain" if shared else "domains")}: report = "one" is for numbers, on grids')
    with at(section.path):
        mechanism = one_number(grids, section.required_epsilon())
        return OneNumberBlock(columns=columns, domains=tuple(grids), mechanism=mechanism)
