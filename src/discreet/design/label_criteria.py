"""What a label design is judged by: A, D and T of the information in one randomised answer.

With covariates x, ``π = G(x'β)`` and one answer through (p00, p11), the information about β is
``g(x'β)² x x'/V``, where g = G' and ``V = q(1 − q)/(p00 + p11 − 1)²`` is the variance of one debiased answer at
prevalence π (Zhang et al. 2025, equation (5)). M is its average over rows.

All three criteria below are to be minimised, and on an edge of the feasible region all are concave in
``u = 1/(p00 + p11 − 1)``: each V is concave in u, and ``(Σ Bᵢ/Vᵢ)⁻¹``, a matrix harmonic mean, is monotone and operator
concave in the Vᵢ; trace and det^{1/d} are monotone and concave on positive matrices. So one of the three corners
is optimal, and branch and bound works for several scenarios.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import EstimationError

Floats = NDArray[np.float64]


def trace_of_inverse(information: Floats) -> float:
    """A: the sum of the coefficients' variances."""
    return float(np.trace(np.linalg.inv(information)))


def root_determinant(information: Floats) -> float:
    """D: the volume of the confidence ellipsoid, as det(M)^{−1/d}."""
    _, logarithm = np.linalg.slogdet(information)
    return float(np.exp(-logarithm / len(information)))


def inverse_trace(information: Floats) -> float:
    """T: one over the trace of the information. Cheap, but it is not a variance of anything."""
    return float(1 / np.trace(information))


CRITERIA: dict[str, Callable[[Floats], float]] = {"A": trace_of_inverse, "D": root_determinant, "T": inverse_trace}

WORDS = {
    "A": "Sum of the variances of the standardised coefficients, times n",
    "D": "det(information)^(−1/d) of one answer",
    "T": "1/trace(information) of one answer",
}


@dataclass(frozen=True)
class LabelProblem:
    """Covariates and one or more assumed sets of coefficients, ready to be judged.

    Attributes
    ----------
    covariates : array (rows, d)
        Standardised: the columns have unit spread, so that A does not depend on their units.
    predictors : array (scenarios, rows)
        x'β under each assumed set of coefficients.
    """

    covariates: Floats
    predictors: Floats
    link: str
    criterion: str

    @cached_property
    def _parts(self) -> tuple[Floats, Floats, Floats]:
        from discreet.estimate.regression.links import link_named

        return link_named(self.link).parts(self.predictors)

    @property
    def prevalences(self) -> Floats:
        """G(x'β)."""
        return self._parts[1]

    @property
    def slopes(self) -> Floats:
        """G'(x'β)."""
        return self._parts[2]

    def scaled(self, factor: float) -> LabelProblem:
        """The same problem with every linear predictor multiplied by a factor."""
        return replace(self, predictors=self.predictors * factor)

    def value(self, variances: Floats, scenario: int) -> float:
        """The criterion when row i's debiased answer has variance ``variances[i]``."""
        # Where a label is certain (π = 0 or 1 in floats) the slope vanishes faster than the variance.
        squares = self.slopes[scenario] ** 2
        weights = np.divide(squares, variances, out=np.zeros_like(squares), where=variances > 0)
        information = (self.covariates * weights[:, None]).T @ self.covariates / len(self.covariates)
        try:
            return CRITERIA[self.criterion](information)
        except np.linalg.LinAlgError:
            raise EstimationError(
                "the assumed coefficients make the label almost certain for every row: no answer carries information"
            ) from None

    def values(self, variance_at: Callable[[Floats], Floats]) -> Floats:
        """The criterion for every scenario, for a design whose variance at prevalence π is ``variance_at(π)``."""
        return np.array([self.value(variance_at(pi), s) for s, pi in enumerate(self.prevalences)])


def label_problem(covariates: ArrayLike, scenarios: Floats, link: str, criterion: str) -> LabelProblem:
    """Check and standardise what a label design is made for."""
    if criterion not in CRITERIA:
        raise EstimationError(f"criterion must be one of A, D or T, not {criterion!r}")
    X = checked_covariates(covariates)
    if scenarios.shape[1] != X.shape[1]:
        raise EstimationError(
            f"coefficients must have one number per covariate ({X.shape[1]} columns), not {scenarios.shape[1]}"
        )
    spread = X.std(axis=0)
    standardised = X / np.where(spread > 0, spread, 1.0)
    if np.linalg.matrix_rank(standardised) < X.shape[1]:
        raise EstimationError("the covariates are collinear: no design can tell their coefficients apart")
    from discreet.estimate.regression.links import link_named

    link_named(link)  # an unknown link is refused here
    return LabelProblem(standardised, scenarios @ X.T, link, criterion)


def checked_covariates(covariates: ArrayLike) -> Floats:
    """A finite matrix with one row per person."""
    X = np.asarray(covariates, dtype=float)
    if X.ndim == 1:
        X = X[:, None]
    if X.ndim != 2 or X.shape[0] < X.shape[1] or X.shape[1] < 1:
        raise EstimationError(
            "covariates must be a matrix with one row per person and at least as many rows as columns"
        )
    if not np.all(np.isfinite(X)):
        raise EstimationError("covariates must be finite numbers")
    return X
