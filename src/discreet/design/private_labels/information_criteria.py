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

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from discreet import arguments, limits
from discreet.arguments import Floats
from discreet.design.result import Design
from discreet.errors import DesignError, PrivacyError
from discreet.mechanisms import Mechanism

#: Variance of one debiased answer as a function of 1 − π and π: given apart, neither tail is lost to cancellation.
VarianceAt = Callable[[Floats, Floats], Floats]
#: A row whose variance is below this has no information worth counting; numbers near the smallest float lose digits.
CERTAIN = 1e-280
#: Rows times scenarios that are judged at once, so that a large table needs little memory.
_CELLS = 2**16
#: A smaller δ is below what a denominator of 2^256 holds to nine digits, and its square below the smallest float.
_LEAST_DELTA = 1e-60
#: Rows on which criteria are averaged.
MAX_ROWS = 20_000
#: Label values up to which the optimum over all channels is searched, among 2^k patterns.
MAX_CLASSES = 10

M = TypeVar("M", bound=Mechanism)


def two_report_variance(p00: float, p11: float, no: Floats, yes: Floats) -> Floats:
    """q(1 − q)/(p00 + p11 − 1)² from ``no = 1 − π`` and ``yes = π``; `binary_region.variance` without subtractions."""
    return np.asarray(((1 - p00) * no + p11 * yes) * (p00 * no + (1 - p11) * yes) / (p00 + p11 - 1) ** 2)


def trace_of_inverse(information: Floats) -> Any:
    """A: the sum of the coefficients' variances."""
    return np.trace(np.linalg.inv(information), axis1=-2, axis2=-1)


def root_determinant(information: Floats) -> Any:
    """D: the volume of the confidence ellipsoid, as det(M)^{−1/d}."""
    _, logarithm = np.linalg.slogdet(information)
    return np.exp(-logarithm / information.shape[-1])


def inverse_trace(information: Floats) -> Any:
    """T: one over the trace of the information. Cheap, but it is not a variance of anything."""
    return 1 / np.trace(information, axis1=-2, axis2=-1)


#: One value for one information matrix, an array for a stack of them.
CRITERIA: dict[str, Callable[[Floats], Any]] = {"A": trace_of_inverse, "D": root_determinant, "T": inverse_trace}

#: The matrix C with ``d log(criterion) = −⟨C, dM⟩``: how each criterion answers to a change of the information.
SENSITIVITIES: dict[str, Callable[[Floats], Floats]] = {
    "A": lambda information: (inverse := np.linalg.inv(information)) @ inverse / np.trace(inverse),
    "D": lambda information: np.linalg.inv(information) / len(information),
    "T": lambda information: np.eye(len(information)) / np.trace(information),
}

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
    spread : array (d,)
        What the columns were divided by; 1 for a constant column.
    scenarios : array (scenarios, d)
        The assumed sets of coefficients, of the standardised covariates.
    """

    covariates: Floats
    spread: Floats
    scenarios: Floats
    link: str
    criterion: str

    @cached_property
    def predictors(self) -> Floats:
        """x'β of every row (second axis) under each set of coefficients."""
        return np.asarray(self.scenarios @ self.covariates.T)

    @cached_property
    def parts(self) -> tuple[Floats, Floats, Floats]:
        """``1 − G``, ``G`` and ``G'`` at the predictors."""
        from discreet.estimate.regressions.likelihood.links import link_named

        return link_named(self.link).parts(self.predictors)

    def at(self, scenarios: Floats) -> LabelProblem:
        """The same problem for other sets of coefficients of the standardised covariates."""
        return replace(self, scenarios=scenarios)

    def informations(self, variance_at: VarianceAt) -> Floats:
        """M for every scenario, for a design whose variance at prevalence π is ``variance_at(1 − π, π)``."""
        no, yes, slopes = self.parts
        variances, squares = variance_at(no, yes), slopes**2
        # Where a label is certain (π = 0 or 1 in floats) the slope vanishes faster than the variance.
        weights = np.divide(squares, variances, out=np.zeros_like(squares), where=variances > CERTAIN)
        X = self.covariates
        return np.stack([(X * row[:, None]).T @ X for row in weights]) / len(X)

    def values(self, variance_at: VarianceAt) -> Floats:
        """The criterion for every scenario, for a design of variance ``variance_at(1 − π, π)`` at prevalence π."""
        return judged(self.criterion, self.informations(variance_at))

    def table(self, designs: Sequence[tuple[float, float]]) -> Floats:
        """The criterion of every (p00, p11) (columns) in every scenario (rows), a few scenarios at a time."""
        at_once = max(1, _CELLS // len(self.covariates))
        pieces = (self.at(self.scenarios[i : i + at_once]) for i in range(0, len(self.scenarios), at_once))
        columns = [partial(two_report_variance, *design) for design in designs]
        return np.vstack([np.column_stack([piece.values(one) for one in columns]) for piece in pieces])


def judged(criterion: str, information: Floats) -> Floats:
    """The criterion of an information matrix, or of each of a stack; one without information is refused."""
    try:
        values = np.asarray(CRITERIA[criterion](information))
    except np.linalg.LinAlgError:
        values = np.array(np.nan)
    if not np.all(np.isfinite(values) & (values > 0)):
        raise DesignError(
            "the assumed coefficients make the label almost certain for every row: no answer carries information"
        )
    return values


def label_problem(covariates: ArrayLike, scenarios: Floats, link: str, criterion: str) -> LabelProblem:
    """Check and standardise what a label design is made for."""
    link, criterion = checked_link(link), checked_criterion(criterion)
    X = checked_covariates(covariates)
    if scenarios.shape[1] != X.shape[1]:
        raise DesignError(
            f"coefficients must have one number per covariate ({X.shape[1]} columns), not {scenarios.shape[1]}"
        )
    spread = unit_spread(X)
    standardised = X / spread
    if np.linalg.matrix_rank(standardised) < X.shape[1]:
        raise DesignError("the covariates are collinear: no design can tell their coefficients apart")
    return LabelProblem(standardised, spread, scenarios * spread, link, criterion)


def checked_covariates(covariates: ArrayLike) -> Floats:
    """A finite matrix with one row per person."""
    X = arguments.floats(covariates, "covariates", DesignError)
    if X.ndim == 1:
        X = X[:, None]
    if X.ndim != 2 or X.shape[0] < X.shape[1] or X.shape[1] < 1:
        raise DesignError("covariates must be a matrix with one row per person and at least as many rows as columns")
    if np.abs(X).max() > limits.LARGEST_NUMBER:
        raise DesignError(f"covariates must not be larger than {limits.LARGEST_NUMBER:g}: change their unit")
    return X


def thinned(X: Floats, most: int = MAX_ROWS) -> Floats:
    """At most so many rows, evenly spaced in the order given: criteria are averages over rows."""
    return X if len(X) <= most else np.asarray(X[np.linspace(0, len(X) - 1, most).round().astype(int)])


def on_rows_used(design: Design[M], given: int, used: int) -> Design[M]:
    """State that a design was made for some of the rows, and limit what is claimed to them."""
    if used == given:
        return design
    note = f"{used:,} of the {given:,} rows of covariates were used, evenly spaced in the order given"
    certificate = replace(design.certificate, statement=f"on the {used:,} rows used, {design.certificate.statement}")
    return replace(design, certificate=certificate, notes=(*design.notes, note))


def checked_small_delta(delta: float) -> float:
    """A δ whose corner can be judged in floats, and held by a denominator."""
    if 0 < delta < _LEAST_DELTA:
        raise PrivacyError(f"delta must be 0 or at least {_LEAST_DELTA:g}, not {delta:g}")
    return delta


def checked_criterion(criterion: str) -> str:
    """One of A, D and T."""
    return arguments.choice(criterion, "criterion", tuple(CRITERIA), DesignError)


def checked_link(link: str) -> str:
    """The name of a link."""
    from discreet.estimate.regressions.likelihood.links import LINKS

    return arguments.choice(link, "link", tuple(LINKS), DesignError)


def unit_spread(covariates: Floats) -> Floats:
    """Standard deviation of every column; 1 for a constant one, whose own is zero up to rounding."""
    spread = covariates.std(axis=0)
    return np.where(spread > 1e-12 * np.abs(covariates).max(axis=0), spread, 1.0)
