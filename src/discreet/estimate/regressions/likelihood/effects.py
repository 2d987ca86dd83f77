"""Predicted probabilities and average marginal effects, with delta-method standard errors."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.arguments import Floats
from discreet.estimate.data.map_reduce import FieldSums, Source, summed
from discreet.estimate.formulas import Matrices
from discreet.estimate.intervals.levels import wald
from discreet.estimate.regressions.coefficients import Coefficients
from discreet.estimate.regressions.likelihood.links import Link
from discreet.estimate.regressions.likelihood.rows import Rows
from discreet.estimate.regressions.predicted_rows import PredictedRows
from discreet.estimate.reporting import display
from discreet.estimate.reporting.result import frozen
from discreet.estimate.reporting.table import Axis

#: Columns that are 0 or 1, each with the columns of the same category, itself among them: all of these are 0 before one
#: of them becomes 1.
Switches = Mapping[int, tuple[int, ...]]


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
    freedom: float = math.inf

    @property
    def what(self) -> str:
        """What is predicted."""
        return 'Probability of a true "yes"'

    @property
    def degrees_of_freedom(self) -> float:
        """Of Student's t; infinite means the normal law."""
        return self.freedom

    def _ends(self, quantile: float) -> Floats:
        """Made on the scale of the linear predictor and mapped through G: always inside [0, 1]."""
        ends = wald(self.predictor, self.predictor_error, quantile)
        return np.stack([self.link.probability(ends[:, 0]), self.link.probability(ends[:, 1])], axis=1)


def predictions(
    X: Floats, offset: Floats | None, theta: Floats, covariance: Floats, link: Link, freedom: float = math.inf
) -> Predictions:
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
        freedom=freedom,
    )


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class MarginalEffects(Coefficients):
    """Average marginal effects: how the probability of a true "yes" changes with each covariate.

    Attributes
    ----------
    names : tuple of str
    estimate, covariance, std_error : array
    freedom : float
        Degrees of freedom of the fit: clusters minus strata, where there are any.
    formula, modelled : str or None
        Of the fit that they belong to.
    n : int
        Its rows, over which the effects are averaged.
    """

    names: tuple[str, ...]
    coefficients: Floats
    covariance: Floats
    freedom: float = math.inf
    notes: tuple[str, ...] = ()
    formula: str | None = None
    modelled: str | None = None
    n: int = 0

    def of(self, fit: Coefficients) -> MarginalEffects:
        """The same effects, with what was fitted."""
        return replace(self, formula=fit.formula, modelled=fit.modelled, n=fit.n)

    def header(self) -> list[tuple[str, str]]:
        """What a summary says about the model, as pairs of name and text."""
        named = [("Formula", self.formula), ("Modelled", self.modelled), ("No. observations", f"{self.n:,}")]
        return [(name, text) for name, text in named if text is not None]

    @property
    def _figure(self) -> str:
        return "effect"

    def _axis(self) -> Axis:
        return Axis("average marginal effect", 0.0)

    @property
    def title(self) -> str:
        """How a summary calls them."""
        return "Average marginal effects"

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
    discrete: Switches,
    freedom: float = math.inf,
    notes: tuple[str, ...] = (),
) -> MarginalEffects:
    """Means over the rows of ``G'(η) β_j``, or of ``G(η | x_j = 1) − G(η | x_j = 0)`` for a discrete column."""
    found = summed(source, _Effects(theta, link, tuple(columns), dict(discrete)))
    jacobian = found.jacobian / found.total
    with np.errstate(invalid="ignore"):  # coefficients at infinity have no covariance, and give nan
        matrix = jacobian @ covariance @ jacobian.T
    chosen, effects = tuple(names[j] for j in columns), frozen(found.effects / found.total)
    return MarginalEffects(names=chosen, coefficients=effects, covariance=frozen(matrix), freedom=freedom, notes=notes)


@dataclass(frozen=True, eq=False)
class EffectSums(FieldSums):
    """Weighted sums of effects over rows, of their derivatives, and of the weights; two of them add up."""

    effects: Floats
    jacobian: Floats
    total: float


@dataclass(frozen=True, eq=False)
class _Effects:
    """The pass that adds them up."""

    theta: Floats
    link: Link
    columns: tuple[int, ...]
    discrete: Switches

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
                effects[place], jacobian[place] = _switch(rows, eta, weights, theta, link, (j, self.discrete[j]))
            else:
                effects[place], jacobian[place] = theta[j] * slope_sum, theta[j] * bend_sum
                jacobian[place, j] += slope_sum
        return EffectSums(effects, jacobian, float(weights.sum()))


def switches(source: Source, columns: Sequence[int], matrices: Matrices) -> Switches:
    """Those of these columns that are 0 or 1 in every row: their effect is a difference, not a slope."""
    found = summed(source, _TwoValued(tuple(columns)))
    return {j: matrices.alternatives[j] for j in columns if j in found.columns}


@dataclass(frozen=True)
class _Columns:
    """Columns of which something holds in some rows; of more rows it holds where it does in all."""

    columns: frozenset[int]

    def __add__(self, other: _Columns) -> _Columns:
        return _Columns(self.columns & other.columns)


@dataclass(frozen=True)
class _TwoValued:
    """The pass that finds columns of nothing but 0 and 1."""

    columns: tuple[int, ...]

    def __call__(self, chunks: Iterator[Any]) -> _Columns:
        found = np.array(self.columns, np.intp)
        for rows in chunks:
            values = rows.X[:, found]
            found = found[((values == 0) | (values == 1)).all(axis=0)]
        return _Columns(frozenset(found.tolist()))


def effect_notes(matrices: Matrices | None) -> tuple[str, ...]:
    """What is to be said of effects where a variable stands in several terms."""
    if matrices is None or not matrices.shared:
        return ()
    named = ", ".join(f'"{name}"' for name in matrices.shared)
    return (
        f"these are effects of single terms, all others held fixed, and {named} stands in several: the effect of all "
        "of them together is a difference of predictions",
    )


def _switch(
    rows: Rows, eta: Floats, weights: Floats, theta: Floats, link: Link, switch: tuple[int, tuple[int, ...]]
) -> tuple[float, Floats]:
    """The change of G when column j goes from 0 to 1, and its derivative in β, added up over rows."""
    j, others = switch[0], list(switch[1])
    without = eta - rows.X[:, others] @ theta[others]
    _, low, low_slope = link.parts(without)
    _, high, high_slope = link.parts(without + theta[j])
    row = (weights * (high_slope - low_slope)) @ rows.X
    row[others] = 0.0
    row[j] = weights @ high_slope
    return float(weights @ (high - low)), row
