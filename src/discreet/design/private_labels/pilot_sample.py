"""A pilot: some people answer first, under a design that assumes nothing; the rest under one made from their reports.

Every person answers once, so the guarantee of each person is that of the design they answered under. The pilot's
reports are private already; designing from them costs nobody anything. (Fitting the *same* people's labels again and
again, as in the procedure of Zhang et al. 2025, would spend the budget each time.)

A pilot is small and its reports are noisy: often its likelihood is highest at infinite coefficients, and a design made
for that estimate can be many times worse than the best. So the design is made for all that the pilot leaves open:
coefficients are drawn from the normal approximation around the maximum of the likelihood with a weak pull to zero, and
the average of the logarithm of the criterion is minimised (a Bayesian optimal design; Chaloner and Verdinelli 1995,
*Statistical Science* 10, 273–304). A positive concave function has a concave logarithm, and an average of
concave functions is concave, so that along each edge of the feasible region the smallest average is at a corner.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet import arguments
from discreet.arguments import Floats
from discreet.design.binary_response.feasible_region import corners, described, rounded
from discreet.design.binary_response.optimal_response import binary, exposure_notes
from discreet.design.private_labels.information_criteria import (
    WORDS,
    checked_covariates,
    checked_criterion,
    checked_link,
    checked_small_delta,
    label_problem,
    on_rows_used,
    thinned,
)
from discreet.design.result import Alternative, Design, Optimality
from discreet.errors import DesignError
from discreet.mechanisms import BinaryResponse
from discreet.mechanisms.exact_integers import checked_delta, checked_epsilon
from discreet.privacy import Guarantee
from discreet.privacy.bounds import exp_bounds
from discreet.randomness import Randomness, permutation, resolve

if TYPE_CHECKING:
    from discreet.estimate.regressions.likelihood import BinaryRegression

#: Sets of coefficients over which the design of the second wave is averaged; always drawn with the same numbers.
DRAWS = 128
#: Before the pilot every independent direction of the linear predictor has this standard deviation: ±5 at two of them,
#: which are probabilities from .7 % to 99.3 % in a logit model (a weak prior, as in Gelman et al. 2008, *Annals of
#: Applied Statistics* 2, 1360–1383).
PRIOR = 2.5


@dataclass(frozen=True, eq=False)
class PilotReports:
    """Labels randomised in two waves, ready for `estimate.binary_regression`.

    Attributes
    ----------
    reports : array of 0 and 1
        One randomised label per person.
    p00, p11 : arrays
        The design under which each person answered.
    pilot : array of bool
        Who answered in the pilot: chosen at random, independently of everything.
    fit : BinaryRegression
        What the pilot's reports said, from which the second design was made.
    design : Design
        The design for the rest.
    guarantee : Guarantee
        What everybody is promised: the weaker of the two designs.
    basis : str
        What the second design rests on, in words.
    """

    reports: NDArray[np.uint8]
    p00: Floats
    p11: Floats
    pilot: NDArray[np.bool_]
    fit: BinaryRegression
    design: Design[BinaryResponse]
    guarantee: Guarantee
    basis: str

    def summary(self) -> str:
        """A few lines for people."""
        return (
            f"Pilot of {int(self.pilot.sum()):,} people, then {int((~self.pilot).sum()):,} under its design.\n"
            f"{self.basis[0].upper()}{self.basis[1:]}.\n{self.guarantee.summary()}\n{self.design.summary()}"
        )

    __str__ = summary

    def to_dict(self) -> dict[str, Any]:
        """Plain data, without the reports."""
        return {
            "pilot": int(self.pilot.sum()),
            "rest": int((~self.pilot).sum()),
            "guarantee": self.guarantee.to_dict(),
            "design": self.design.to_dict(),
            "basis": self.basis,
            "estimate_is_finite": self.fit.converged,
            "draws": DRAWS,
            "fit": self.fit.to_dict(),
        }


def label_with_pilot(
    labels: ArrayLike,
    covariates: ArrayLike,
    epsilon: float,
    delta: float = 0.0,
    share: float = 0.1,
    link: str = "logit",
    criterion: str = "A",
    *,
    pilot_epsilon: float | None = None,
    randomness: Randomness | None = None,
) -> PilotReports:
    """Randomise labels in two waves: a pilot that assumes nothing, and the best design given what the pilot said.

    Parameters
    ----------
    labels : array of 0 and 1
        True labels; each is randomised exactly once.
    covariates : array (rows, d)
        Public.
    epsilon, delta : float
        The privacy level of the second wave.
    share : float
        Share of people in the pilot, chosen at random.
    pilot_epsilon : float, optional
        The pilot's own (pure) level; ``epsilon`` by default.
    """
    from discreet.estimate.regressions.likelihood import binary_regression

    epsilon, delta = checked_epsilon(epsilon), checked_delta(delta)
    first_epsilon = epsilon if pilot_epsilon is None else checked_epsilon(pilot_epsilon, "pilot_epsilon")
    delta = checked_small_delta(delta)
    link, criterion = checked_link(link), checked_criterion(criterion)
    X = checked_covariates(covariates)
    y = arguments.array(labels, "labels", DesignError)
    if y.shape != (len(X),):
        raise DesignError(f"labels must be one per row of covariates ({len(X)}), not {y.shape}")
    share = arguments.number(share, "share", DesignError, above=0, below=1)
    size = round(share * len(X))
    if not X.shape[1] < size < len(X):
        raise DesignError(f"a pilot of {size} people is too small for {X.shape[1]} coefficients, or leaves nobody")
    source = resolve(randomness)
    first = binary(first_epsilon).mechanism
    pilot = np.zeros(len(X), bool)
    pilot[permutation(len(X), source)[:size]] = True
    reports = np.empty(len(X), np.uint8)
    reports[pilot] = first.privatize(y[pilot], source)
    p00, p11 = np.empty(len(X)), np.empty(len(X))
    p00[pilot], p11[pilot] = _floats(first)
    fit = binary_regression(X[pilot], reports[pilot], *_floats(first), link=link)
    design = label_on_average(epsilon, delta, X, plausible(fit), link, criterion)
    second = design.mechanism
    reports[~pilot] = second.privatize(y[~pilot], source)
    p00[~pilot], p11[~pilot] = _floats(second)
    return PilotReports(reports, p00, p11, pilot, fit, design, _weaker(first.guarantee, second.guarantee), _basis(fit))


def _basis(fit: BinaryRegression) -> str:
    made = (
        f"the design is the best on average over {DRAWS} sets of coefficients that the pilot leaves open (standard "
        f"deviation {PRIOR:g} for each direction of the linear predictor before it)"
    )
    if fit.converged:
        return f"the pilot's estimate is finite; {made}"
    return f"the pilot's estimate is no finite maximum, so it was not used by itself; {made}"


def plausible(fit: BinaryRegression, count: int = DRAWS) -> Floats:
    """Sets of coefficients that a fit leaves open, finite also where its estimate is not.

    ``N(m, (I(m) + P)⁻¹)`` with P the precision of the prior ``N(0, PRIOR² (mean x x')⁻¹)`` and m the maximum of
    likelihood times prior: the Laplace approximation of the posterior, with the expected information.
    """
    from discreet.estimate.regressions.likelihood.objective import Anchored
    from discreet.estimate.regressions.optimise import maximise

    anchored = Anchored(fit.objective, PRIOR**-2)
    middle = maximise(anchored, np.zeros(fit.coefficients.size), scale=fit.scale).theta
    information = anchored.terms(middle, "expected").information
    normal = np.random.default_rng(2025).standard_normal((count, middle.size))
    return np.asarray(middle + np.linalg.solve(np.linalg.cholesky(information).T, normal.T).T)


def label_on_average(
    epsilon: float, delta: float, covariates: Floats, draws: Floats, link: str = "logit", criterion: str = "A"
) -> Design[BinaryResponse]:
    """The two-report design of least average log criterion over sets of coefficients, one per row of ``draws``."""
    problem = label_problem(thinned(covariates), draws, link, criterion)
    asked = Fraction(delta)
    ideal = corners(exp_bounds(epsilon)[1], asked)
    values = problem.table([(float(p00), float(p11)) for p00, p11 in ideal.values()])
    regrets = values / values.min(axis=1, keepdims=True)
    average = np.exp(np.log(regrets).mean(axis=0)) - 1
    # The Warner point comes first and exposes nobody, so that it wins among equals.
    best = int(np.flatnonzero(average <= average.min() + 1e-9)[0])
    name = list(ideal)[best]
    mechanism = rounded(epsilon, delta, lambda e: corners(e, asked)[name])
    own = problem.table([_floats(mechanism)])[:, 0] / values.min(axis=1)
    value = float(np.exp(np.log(own).mean()) - 1)
    statement = (
        "no (ε, δ)-private design with two reports has a smaller average: the logarithm of the criterion is concave "
        "along each tight edge, so a corner is optimal"
    )
    notes = (f"the largest regret over these sets is {own.max() - 1:.4g}", *exposure_notes(name, delta))
    others = tuple(
        Alternative(described(point), float(one))
        for i, (point, one) in enumerate(zip(ideal.values(), average, strict=True))
        if i != best
    )
    measure = f"Average relative regret over {len(draws)} sets of coefficients (geometric), of: {WORDS[criterion]}"
    certificate = Optimality(value, min(float(average[best]), value), statement)
    found = Design(mechanism, value, certificate, notes, measure, others)
    return on_rows_used(found, len(covariates), len(problem.covariates))


def _floats(mechanism: BinaryResponse) -> tuple[float, float]:
    return float(mechanism.p00), float(mechanism.p11)


def _weaker(a: Guarantee, b: Guarantee) -> Guarantee:
    """A promise that holds for people under either design."""
    return Guarantee(
        max(a.epsilon, b.epsilon), max(a.delta, b.delta), unit="label", exposure=max(a.exposure, b.exposure)
    )
