"""Predicted probabilities and average marginal effects, with delta-method standard errors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from discreet.arguments import Floats
from discreet.estimate import display
from discreet.estimate.intervals import checked_level, two_sided_quantile, wald
from discreet.estimate.likelihood import table
from discreet.estimate.likelihood.inference import two_tails
from discreet.estimate.likelihood.links import Link
from discreet.estimate.likelihood.rows import Rows, Source


@dataclass(frozen=True, eq=False)
class Predictions:
    """Probabilities of a true "yes", one per row.

    Attributes
    ----------
    estimate, std_error : array
        ``G(x'β̂)`` and its delta-method standard error.
    """

    estimate: Floats
    std_error: Floats
    predictor: Floats
    predictor_error: Floats
    link: Link

    def interval(self, level: float = 0.95) -> Floats:
        """Intervals made on the scale of the linear predictor and mapped through G: always inside [0, 1]."""
        quantile = two_sided_quantile(checked_level(level))
        with np.errstate(invalid="ignore"):
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
    return Predictions(yes, slope * error, eta, error, link)


@dataclass(frozen=True, eq=False, repr=False)
class MarginalEffects:
    """Average marginal effects: how the probability of a true "yes" changes with each covariate.

    Attributes
    ----------
    names : tuple of str
    estimate, covariance, std_error : array
    """

    names: tuple[str, ...]
    estimate: Floats
    covariance: Floats

    @cached_property
    def std_error(self) -> Floats:
        """Standard errors."""
        return np.sqrt(np.diag(self.covariance))

    def interval(self, level: float = 0.95) -> Floats:
        """Wald intervals, one (low, high) row per effect."""
        return wald(self.estimate, self.std_error, two_sided_quantile(checked_level(level)))

    def summary(self, level: float = 0.95) -> str:
        """A table to read."""
        z = self.estimate / self.std_error
        rows = zip(self.names, self.estimate, self.std_error, z, two_tails(z), self.interval(level), strict=True)
        return table.summary("Average marginal effects", [], rows, level, ())

    def __repr__(self) -> str:
        return self.summary()

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "names": list(self.names),
            "estimate": display.plain(self.estimate),
            "std_error": display.plain(self.std_error),
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
    effects, jacobian, total = np.zeros(len(columns)), np.zeros((len(columns), theta.size)), 0.0
    for rows in source.chunks():
        eta = rows.X @ theta if rows.offset is None else rows.X @ theta + rows.offset
        weights = np.ones(rows.size) if rows.weights is None else rows.weights
        total += float(weights.sum())
        parts = link.parts(eta)
        slope_sum = float(weights @ parts[2])
        bend_sum = (weights * link.bend(eta, parts)) @ rows.X
        for place, j in enumerate(columns):
            if j in discrete:
                effect, row = _switch(rows, eta, weights, theta, link, j)
            else:
                effect, row = theta[j] * slope_sum, theta[j] * bend_sum
                row[j] += slope_sum
            effects[place] += effect
            jacobian[place] += row
    jacobian /= total
    with np.errstate(invalid="ignore"):  # coefficients at infinity have no covariance, and give nan
        matrix = jacobian @ covariance @ jacobian.T
    return MarginalEffects(tuple(names[j] for j in columns), effects / total, matrix)


def _switch(rows: Rows, eta: Floats, weights: Floats, theta: Floats, link: Link, j: int) -> tuple[float, Floats]:
    """The change of G when column j goes from 0 to 1, and its derivative in β, added up over rows."""
    without = eta - rows.X[:, j] * theta[j]
    _, low, low_slope = link.parts(without)
    _, high, high_slope = link.parts(without + theta[j])
    row = (weights * (high_slope - low_slope)) @ rows.X
    row[j] = weights @ high_slope
    return float(weights @ (high - low)), row
