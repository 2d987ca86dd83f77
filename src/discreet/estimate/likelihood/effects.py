"""Predicted probabilities and average marginal effects, with delta-method standard errors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet import arguments
from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate import display
from discreet.estimate.coefficients import Coefficients
from discreet.estimate.intervals import checked_level, two_sided_quantile, wald
from discreet.estimate.likelihood.links import Link
from discreet.estimate.likelihood.rows import Rows
from discreet.estimate.passes import Source, summed
from discreet.estimate.predicted_rows import PredictedRows
from discreet.estimate.result import frozen


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Predictions(PredictedRows):
    """Probabilities of a true "yes", one per row.

    Attributes
    ----------
    estimate, std_error : array
        ``G(x'β̂)`` and its delta-method standard error.
    """

    predictor: Floats
    predictor_error: Floats
    link: Link

    @property
    def what(self) -> str:
        """What is predicted."""
        return 'Probability of a true "yes"'

    def _ends(self, quantile: float) -> Floats:
        """Made on the scale of the linear predictor and mapped through G: always inside [0, 1]."""
        ends = wald(self.predictor, self.predictor_error, quantile)
        return np.stack([self.link.probability(ends[:, 0]), self.link.probability(ends[:, 1])], axis=1)


def predictions(X: Floats, offset: Floats | None, theta: Floats, covariance: Floats, link: Link) -> Predictions:
    """Predicted probabilities at these covariates."""
    eta = X @ theta
    if offset is not None:
        eta = eta + offset
    # Infinite or undetermined variances matter only to rows that use them.
    with np.errstate(invalid="ignore", over="ignore"):
        loose = ~np.isfinite(np.diag(covariance))
        kept = np.where(np.isfinite(covariance), covariance, 0.0)
        kept[loose, :] = kept[:, loose] = 0.0
        variance = np.einsum("ij,jk,ik->i", X, kept, X)
        error = np.sqrt(np.where((X[:, loose] != 0).any(axis=1), np.nan, variance))
        _, yes, slope = link.parts(eta)
    return Predictions(
        estimate=frozen(yes),
        std_error=frozen(slope * error),
        predictor=frozen(eta),
        predictor_error=frozen(error),
        link=link,
    )


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class MarginalEffects(Coefficients):
    """Average marginal effects: how the probability of a true "yes" changes with each covariate.

    Attributes
    ----------
    names : tuple of str
    estimate, covariance, std_error : array
    """

    names: tuple[str, ...]
    coefficients: Floats
    covariance: Floats
    notes: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """How a summary calls them."""
        return "Average marginal effects"

    def interval(self, level: float = 0.95, method: str | None = None) -> Floats:
        """Wald intervals, one (low, high) row per effect."""
        if method is not None:
            arguments.choice(method, "the interval method of marginal effects", ("wald",), EstimationError)
        return wald(self.estimate, self.std_error, two_sided_quantile(checked_level(level)))

    def to_dict(self, level: float = 0.95, method: str | None = None) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "names": list(self.names),
            "estimate": display.plain(self.estimate),
            "std_error": display.plain(self.std_error),
            "interval": display.plain(self.interval(level, method)),
            "level": level,
            "covariance": display.plain(self.covariance),
        }


def marginal_effects(
    source: Source,
    theta: Floats,
    covariance: Floats,
    link: Link,
    names: tuple[str, ...],
    columns: list[int],
    discrete: set[int],
) -> MarginalEffects:
    """Means over the rows of ``G'(η) β_j``, or of ``G(η | x_j = 1) − G(η | x_j = 0)`` for a discrete column."""
    found = summed(source, _Effects(theta, link, tuple(columns), frozenset(discrete)))
    jacobian = found.jacobian / found.total
    with np.errstate(invalid="ignore"):  # coefficients at infinity have no covariance, and give nan
        matrix = jacobian @ covariance @ jacobian.T
    chosen = tuple(names[j] for j in columns)
    return MarginalEffects(names=chosen, coefficients=frozen(found.effects / found.total), covariance=frozen(matrix))


@dataclass(frozen=True, eq=False)
class EffectSums:
    """Weighted sums of effects over rows, of their derivatives, and of the weights; two of them add up."""

    effects: Floats
    jacobian: Floats
    total: float

    def __add__(self, other: EffectSums) -> EffectSums:
        return EffectSums(self.effects + other.effects, self.jacobian + other.jacobian, self.total + other.total)


@dataclass(frozen=True, eq=False)
class _Effects:
    """The pass that adds them up."""

    theta: Floats
    link: Link
    columns: tuple[int, ...]
    discrete: frozenset[int]

    def __call__(self, chunks: Iterator[Rows]) -> EffectSums:
        theta, count = self.theta, len(self.columns)
        found = EffectSums(np.zeros(count), np.zeros((count, theta.size)), 0.0)
        for rows in chunks:
            eta = rows.X @ theta if rows.offset is None else rows.X @ theta + rows.offset
            weights = np.ones(rows.size) if rows.weights is None else rows.weights
            found = found + self._of(rows, eta, weights)
        return found

    def _of(self, rows: Rows, eta: Floats, weights: Floats) -> EffectSums:
        parts, theta, link = self.link.parts(eta), self.theta, self.link
        slope_sum = float(weights @ parts[2])
        bend_sum = (weights * link.bend(eta, parts)) @ rows.X
        effects, jacobian = np.zeros(len(self.columns)), np.zeros((len(self.columns), theta.size))
        for place, j in enumerate(self.columns):
            if j in self.discrete:
                effects[place], jacobian[place] = _switch(rows, eta, weights, theta, link, j)
            else:
                effects[place], jacobian[place] = theta[j] * slope_sum, theta[j] * bend_sum
                jacobian[place, j] += slope_sum
        return EffectSums(effects, jacobian, float(weights.sum()))


def _switch(rows: Rows, eta: Floats, weights: Floats, theta: Floats, link: Link, j: int) -> tuple[float, Floats]:
    """The change of G when column j goes from 0 to 1, and its derivative in β, added up over rows."""
    without = eta - rows.X[:, j] * theta[j]
    _, low, low_slope = link.parts(without)
    _, high, high_slope = link.parts(without + theta[j])
    row = (weights * (high_slope - low_slope)) @ rows.X
    row[j] = weights @ high_slope
    return float(weights @ (high - low)), row
