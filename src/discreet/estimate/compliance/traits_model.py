"""The likelihood of a report given covariates, when two traits of a person decide how it comes about.

With the probabilities ``G₁ = G(x'β)`` and ``G₂ = G(z'δ)`` of the two traits and the probability K_ij of the report that
was made, for a person who has (1) or has not (0) each of them,

    m = Σ_ij K_ij a_i b_j,    a = (1 − G₁, G₁),  b = (1 − G₂, G₂),

a sum of terms ≥ 0, so that nothing cancels. In the linear predictors η = x'β and ζ = z'δ its derivatives are

    m_η = G₁' Σ_j (K_1j − K_0j) b_j,   m_ζ = G₂' Σ_i (K_i1 − K_i0) a_i,   m_ηζ = G₁' G₂' (K_11 − K_10 − K_01 + K_00).

The score of a row is ``(m_η, m_ζ)/m``, its observed information the outer product of that minus the second derivatives
over m, its expected information ``Σ_r (m_η, m_ζ)(m_η, m_ζ)'/m`` over all reports r that it could have made.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import Floats
from discreet.estimate.channels.likelihood_intervals import Profile
from discreet.estimate.regressions.likelihood.links import Link
from discreet.estimate.regressions.likelihood.objective import Objective
from discreet.estimate.regressions.likelihood.rows import ArrayRows
from discreet.estimate.regressions.optimise import Terms, maximise


@dataclass(frozen=True, eq=False)
class TraitRows:
    """The rows of a regression on two traits.

    Attributes
    ----------
    X, Z : array (rows, columns)
        Covariates of the two traits; Z has no columns where there is one trait only.
    report : array (rows,)
    group : array (rows,)
        Which of the channels each row was asked under.
    channels : array (groups, 2, 2, reports)
        ``P(report | first trait, second trait)``, padded with zeros to the same number of reports.
    """

    X: Floats
    Z: Floats
    report: NDArray[np.int64]
    group: NDArray[np.int64]
    channels: Floats
    weights: Floats | None = None
    clusters: NDArray[Any] | None = None
    strata: NDArray[Any] | None = None

    @property
    def size(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    def take(self, which: slice) -> TraitRows:
        """Some of these rows, as views."""
        by_row = ("X", "Z", "report", "group", "weights", "clusters", "strata")
        parts: dict[str, Any] = {
            name: None if getattr(self, name) is None else getattr(self, name)[which] for name in by_row
        }
        return TraitRows(**parts, channels=self.channels)


@dataclass(frozen=True, eq=False)
class _Slopes:
    """A report's probability and its derivatives in the two linear predictors."""

    made: Floats
    first: Floats
    second: Floats
    bends: tuple[Floats, Floats, Floats] | None = None


@dataclass(frozen=True)
class TraitModel:
    """Two traits and the reports that they lead to."""

    link: Link

    def _parts(self, theta: Floats, rows: TraitRows) -> list[tuple[Floats, tuple[Floats, Floats, Floats]]]:
        """The linear predictor of each trait, with 1 − G, G and G'."""
        columns = rows.X.shape[1]
        predictors = (rows.X @ theta[:columns], rows.Z @ theta[columns:])
        return [(eta, self.link.parts(eta)) for eta in predictors]

    def _slopes(
        self, K: Floats, parts: list[tuple[Floats, tuple[Floats, Floats, Floats]]], *, bends: bool = False
    ) -> _Slopes:
        """For K of shape (2, 2, rows)."""
        (eta, (no1, yes1, slope1)), (zeta, (no2, yes2, slope2)) = parts
        without, having = K[0, 0] * no2 + K[0, 1] * yes2, K[1, 0] * no2 + K[1, 1] * yes2
        turned = (K[0, 1] - K[0, 0]) * no1 + (K[1, 1] - K[1, 0]) * yes1
        made = without * no1 + having * yes1
        second: tuple[Floats, Floats, Floats] | None = None
        if bends:
            second = (
                (having - without) * self.link.bend(eta, parts[0][1]),
                slope1 * slope2 * (K[1, 1] - K[1, 0] - K[0, 1] + K[0, 0]),
                turned * self.link.bend(zeta, parts[1][1]),
            )
        return _Slopes(made, (having - without) * slope1, turned * slope2, second)

    def _reported(self, rows: TraitRows) -> Floats:
        return np.moveaxis(rows.channels[rows.group, :, :, rows.report], 0, -1)

    def value(self, theta: Floats, rows: TraitRows) -> float:
        """Log-likelihood."""
        made = self._slopes(self._reported(rows), self._parts(theta, rows)).made
        with np.errstate(divide="ignore"):
            logs = np.log(made)
        return float(logs.sum() if rows.weights is None else rows.weights @ logs)

    def terms(self, theta: Floats, rows: TraitRows, curvature: str) -> Terms:
        """Log-likelihood, score and information."""
        parts = self._parts(theta, rows)
        one = self._slopes(self._reported(rows), parts, bends=curvature == "observed")
        with np.errstate(divide="ignore", invalid="ignore"):
            logs, u, v = np.log(one.made), one.first / one.made, one.second / one.made
            if one.bends is None:
                inner = self._expected(rows, parts)
            else:
                inner = (
                    u * u - one.bends[0] / one.made,
                    u * v - one.bends[1] / one.made,
                    v * v - one.bends[2] / one.made,
                )
        w = np.ones(rows.size) if rows.weights is None else rows.weights
        score = np.concatenate([rows.X.T @ (w * u), rows.Z.T @ (w * v)])
        across = rows.X.T @ ((w * inner[1])[:, None] * rows.Z)
        information = np.block([
            [rows.X.T @ ((w * inner[0])[:, None] * rows.X), across],
            [across.T, rows.Z.T @ ((w * inner[2])[:, None] * rows.Z)],
        ])  # fmt: skip
        return Terms(float(w @ logs), score, information)

    def _expected(
        self, rows: TraitRows, parts: list[tuple[Floats, tuple[Floats, Floats, Floats]]]
    ) -> tuple[Floats, Floats, Floats]:
        """The expected information about the two linear predictors; a report that cannot occur carries nothing."""
        total = np.zeros((3, rows.size))
        for r in range(rows.channels.shape[3]):
            one = self._slopes(np.moveaxis(rows.channels[rows.group, :, :, r], 0, -1), parts)
            possible = one.made > 0
            for k, product in enumerate((one.first * one.first, one.first * one.second, one.second * one.second)):
                total[k] += np.divide(product, one.made, out=np.zeros(rows.size), where=possible)
        return total[0], total[1], total[2]

    def scores(self, theta: Floats, rows: TraitRows) -> Floats:
        """The score of each row."""
        one = self._slopes(self._reported(rows), self._parts(theta, rows))
        w = np.ones(rows.size) if rows.weights is None else rows.weights
        u, v = w * one.first / one.made, w * one.second / one.made
        return np.hstack([u[:, None] * rows.X, v[:, None] * rows.Z])


def trait_metric(rows: TraitRows) -> tuple[Floats, Floats]:
    """Mean squares of the linear predictors, and the size of each column, for the optimiser."""
    columns, more = rows.X.shape[1], rows.Z.shape[1]
    metric = np.zeros((columns + more, columns + more))
    metric[:columns, :columns] = rows.X.T @ rows.X / rows.size
    metric[columns:, columns:] = rows.Z.T @ rows.Z / rows.size
    return metric, np.concatenate([np.abs(rows.X).max(axis=0), np.abs(rows.Z).max(axis=0)])


class SecondProfile(Profile):
    """The likelihood with the second trait's probability held at one value for everybody.

    A person then has the second trait with probability v, and the two channels of the first trait are mixtures:
    v may be 0 or 1, where a coefficient would be infinite.
    """

    def __init__(self, rows: TraitRows, link: Link, start: Floats) -> None:
        self._rows = rows
        self._link = link
        self._start = start

    @property
    def n(self) -> float:
        """Number of rows."""
        return float(self._rows.size)

    def log_likelihood(self, t: int, v: float) -> float:
        """Maximised over the coefficients of the first trait, from zero and from where the last search ended."""
        del t  # there is one such probability
        return self.best(v)[0]

    def best(self, v: float) -> tuple[float, Floats]:
        """The largest log-likelihood, and the coefficients of the first trait there."""
        mixed = (1 - v) * self._rows.channels[:, :, :1] + v * self._rows.channels[:, :, 1:]
        rows = replace(self._rows, Z=np.zeros((self._rows.size, 0)), channels=np.repeat(mixed, 2, axis=2))
        if np.any(mixed[rows.group, :, 0, rows.report].max(axis=1) <= 0):
            return -math.inf, self._start
        metric, scale = trait_metric(rows)
        surface = Objective(TraitModel(self._link), ArrayRows(rows), metric, rows.size)
        starts = (self._start, np.zeros(self._start.size))
        found = max((maximise(surface, start, scale=scale) for start in starts), key=lambda one: one.value)
        self._start = found.theta
        return found.value, found.theta
