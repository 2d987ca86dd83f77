"""``mechanism = "unbiased"``: reports that are unbiased numbers of the least variance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.domains import FiniteDomain, Grid, Ordinal, WithBlank
from discreet.errors import PlanError
from discreet.manifest.blocks import ColumnBlock, Missing, RoundedBlock
from discreet.mechanisms import UnbiasedResponse
from discreet.publish.plan.grammar import Section, at
from discreet.publish.plan.near import read_prior

if TYPE_CHECKING:
    from discreet.design import Design

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
