"""``mechanism = "frequencies"``: the mechanism of least variance for the frequencies of a domain."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from discreet import limits
from discreet.domains import FiniteDomain
from discreet.errors import PlanError
from discreet.mechanisms.cyclic.choice import best_design
from discreet.publish.plan.grammar import Section, at

if TYPE_CHECKING:
    from discreet.publish.plan.near import Chosen

#: Beyond this ε generalised response is best for every domain.
_NO_DESIGN = 20.0


def frequencies_mechanism(section: Section, domain: FiniteDomain) -> Chosen:
    """Generalised response or a cyclic block design, whichever has the smaller variance at the block's ε."""
    from discreet.design import frequencies

    epsilon = section.required_epsilon()
    for key in ("delta", "prevalence", "symmetric", "matrix", "file", "reports"):
        if key in section:
            raise PlanError(f'{section.at(key)} does not belong to mechanism = "frequencies"')
    _check_reports(section, domain, epsilon)
    with at(section.at("epsilon")):
        design = frequencies(domain, epsilon)
    return design.mechanism, design


def _check_reports(section: Section, domain: FiniteDomain, epsilon: float) -> None:
    """A design has more reports than values, and a released column names its reports: said before any work is done."""
    if 2 * domain.size < limits.DOMAIN_VALUES or epsilon > _NO_DESIGN:
        return
    reports = best_design(domain.size, math.exp(epsilon)).order
    if reports > limits.DOMAIN_VALUES:
        raise PlanError(
            f"{section.at('domain')}: the best design for {domain.size:,} values has {reports:,} reports, and a column "
            f"may have at most {limits.DOMAIN_VALUES:,}: declare fewer values"
        )
