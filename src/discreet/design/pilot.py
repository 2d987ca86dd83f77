"""A pilot: some people answer first, under a design that assumes nothing; the rest under one made from their reports.

Every person answers once, so the guarantee of each person is that of the design they answered under. The pilot's
reports are private already; designing from them costs nobody anything. (Fitting the *same* people's labels again and
again, as in the procedure of Zhang et al. 2025, would spend the budget each time.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.design.binary import binary
from discreet.design.label import label
from discreet.design.label_criteria import checked_covariates
from discreet.design.result import Design
from discreet.errors import EstimationError
from discreet.mechanisms import BinaryResponse
from discreet.privacy import Guarantee
from discreet.randomness import Randomness, permutation, resolve

if TYPE_CHECKING:
    from discreet.estimate.regression import BinaryRegression

Floats = NDArray[np.float64]


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
    """

    reports: NDArray[np.uint8]
    p00: Floats
    p11: Floats
    pilot: NDArray[np.bool_]
    fit: BinaryRegression
    design: Design
    guarantee: Guarantee

    def summary(self) -> str:
        """A few lines for people."""
        return (
            f"Pilot of {int(self.pilot.sum()):,} people, then {int((~self.pilot).sum()):,} under its design.\n"
            f"{self.guarantee.summary()}\n{self.design.summary()}"
        )

    __str__ = summary

    def to_dict(self) -> dict[str, Any]:
        """Plain data, without the reports."""
        return {
            "pilot": int(self.pilot.sum()),
            "rest": int((~self.pilot).sum()),
            "guarantee": self.guarantee.to_dict(),
            "design": self.design.to_dict(),
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
    from discreet.estimate.regression import binary_regression

    X = checked_covariates(covariates)
    y = np.asarray(labels)
    if y.shape != (len(X),):
        raise EstimationError(f"labels must be one per row of covariates ({len(X)}), not {y.shape}")
    if not 0 < share < 1:
        raise EstimationError(f"share must lie strictly between 0 and 1, not {share}")
    size = round(share * len(X))
    if not X.shape[1] < size < len(X):
        raise EstimationError(f"a pilot of {size} people is too small for {X.shape[1]} coefficients, or leaves nobody")
    source = resolve(randomness)
    first = binary(epsilon if pilot_epsilon is None else pilot_epsilon).mechanism
    pilot = np.zeros(len(X), bool)
    pilot[permutation(len(X), source)[:size]] = True
    reports = np.empty(len(X), np.uint8)
    reports[pilot] = first.privatize(y[pilot], source)
    p00, p11 = np.empty(len(X)), np.empty(len(X))
    p00[pilot], p11[pilot] = _floats(first)
    fit = binary_regression(X[pilot], reports[pilot], *_floats(first), link=link)
    design = label(epsilon, delta, X, fit.coefficients, link, criterion)
    second = design.mechanism
    reports[~pilot] = second.privatize(y[~pilot], source)
    p00[~pilot], p11[~pilot] = _floats(second)
    return PilotReports(reports, p00, p11, pilot, fit, design, _weaker(first.guarantee, second.guarantee))


def _floats(mechanism: Any) -> tuple[float, float]:
    assert isinstance(mechanism, BinaryResponse)
    return float(mechanism.p00), float(mechanism.p11)


def _weaker(a: Guarantee, b: Guarantee) -> Guarantee:
    """A promise that holds for people under either design."""
    return Guarantee(
        max(a.epsilon, b.epsilon), max(a.delta, b.delta), unit="label", exposure=max(a.exposure, b.exposure)
    )
