"""Mechanisms that report near the truth, from the keys of a plan: bipartite, exponential, expected-error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.domains import FiniteDomain, WithBlank
from discreet.domains.losses import BlankLosses, HasLosses
from discreet.errors import PlanError
from discreet.mechanisms import ExponentialResponse, FiniteMechanism
from discreet.publish.plan.grammar import Section, at

if TYPE_CHECKING:
    from discreet.design import Design

    #: A mechanism, and the design it comes from where one was made.
    Chosen = tuple[FiniteMechanism, Design[FiniteMechanism] | None]

#: Mechanisms for domains with an order or a distance.
NEAR_MECHANISMS = ("bipartite", "exponential", "expected-error")


def near_mechanism(section: Section, name: str, domain: FiniteDomain) -> Chosen:
    """The mechanism that a block names, for its domain, and the design that it comes from."""
    epsilon = section.required_epsilon()
    for key in ("delta", "prevalence", "symmetric", "matrix", "file", "reports"):
        if key in section:
            raise PlanError(f'{section.at(key)} does not belong to mechanism = "{name}"')
    if name != "bipartite" and "high" in section:
        raise PlanError(f'{section.at("high")} belongs to mechanism = "bipartite"')
    if name != "expected-error" and "worst" in section:
        raise PlanError(f'{section.at("worst")} belongs to mechanism = "expected-error"')
    if name == "exponential" and "prior" in section:
        raise PlanError(f"{section.at('prior')} has no part in the exponential mechanism")
    if name == "bipartite" and "prior" in section and section.get("high") != "best":
        raise PlanError(f'{section.at("prior")} shapes a bipartite response only with high = "best"')
    losses = _losses(section, name, domain)
    prior = read_prior(section)
    if name == "exponential":
        with at(section.at("domain")):
            return ExponentialResponse(losses, epsilon), None
    from discreet.design import bipartite, expected_error

    with at(section.at("prior") if prior is not None else section.path):
        if name == "expected-error":
            design: Design[FiniteMechanism] = expected_error(losses, epsilon, prior, section.flag("worst"))
        else:
            design = bipartite(losses, epsilon, _high(section, losses.size), prior)
    return design.mechanism, design


def _losses(section: Section, name: str, domain: FiniteDomain) -> HasLosses:
    """What is lost by each report; a blank has no position, so that its loss must be said."""
    given = section.number("missing_loss")
    inner = domain.inner if isinstance(domain, WithBlank) else domain
    if not isinstance(inner, HasLosses):
        raise PlanError(
            f'{section.at("mechanism")} = "{name}" needs values with an order or a distance: '
            "an ordinal, grid or metric domain"
        )
    if not isinstance(domain, WithBlank):
        if given is not None:
            raise PlanError(f'{section.at("missing_loss")} belongs to missing = "category"')
        return inner
    if given is None:
        raise PlanError(
            f"{section.at('missing_loss')} is missing: say what is lost when a blank is reported for a value, or a "
            "value for a blank"
        )
    if given < 0:
        raise PlanError(f"{section.at('missing_loss')} must not be negative, not {given:g}")
    return BlankLosses(inner, given)


def _high(section: Section, size: int) -> Any:
    high = section.get("high")
    if high is None:
        return "search"
    whole = isinstance(high, int) and not isinstance(high, bool)
    if not (whole and 1 <= high <= size) and high not in ("search", "best"):
        raise PlanError(f'{section.at("high")} must be "search", "best" or a whole number from 1 to {size}')
    return high


def read_prior(section: Section) -> list[float] | None:
    """How frequent each value is thought to be, where a plan says it."""
    prior = section.get("prior")
    if prior is None:
        return None
    numeric = isinstance(prior, (list, tuple)) and all(
        isinstance(share, (int, float)) and not isinstance(share, bool) for share in prior
    )
    if not numeric:
        raise PlanError(f"{section.at('prior')} must be a list of numbers, one per value")
    return [float(share) for share in prior]
