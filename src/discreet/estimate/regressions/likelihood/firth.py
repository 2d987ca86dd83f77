"""Firth's penalty: the log-likelihood plus half the logarithm of the determinant of the information.

    l*(β) = l(β) + ½ log det I(β),     I(β) = Σ w(η_i) x_i x_i',     w = Σ_r d_r² g²/m_r,

I the expected information of the *reports* (d, g and m as in :mod:`.yes_no`). It takes
away the bias of order 1/n (Firth 1993), and the information vanishes far away, so that the maximum is finite. With
S_j = ∂I/∂β_j = Σ w'(η_i) x_ij x_i x_i' its derivatives are

* ``½ tr(I⁻¹ S_j)``,
* ``½ Σ_i w''(η_i) (x_i' I⁻¹ x_i) x_ij x_ik − ½ tr(I⁻¹ S_j I⁻¹ S_k)``,

and per report, with ``u = d g/m``: ``w = Σ d g u`` and ``w' = Σ d u (2 g' − g u)``.

D. Firth (1993), Bias reduction of maximum likelihood estimates, *Biometrika* 80, 27–38. G. Heinze and M. Schemper
(2002), A solution to the problem of separation in logistic regression, *Statistics in Medicine* 21, 2409–2419.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from discreet import arguments
from discreet.arguments import Floats
from discreet.errors import Argument, EstimationError
from discreet.estimate.data.map_reduce import summed
from discreet.estimate.regressions.likelihood.links import Link
from discreet.estimate.regressions.likelihood.objective import Objective
from discreet.estimate.regressions.likelihood.rows import Rows
from discreet.estimate.regressions.likelihood.yes_no import BinaryModel, each_report, linear_predictor
from discreet.estimate.regressions.optimise import Terms

PENALTIES = ("firth",)
#: Step of the central difference of w', which steers the search and enters no result.
_STEP = 1e-4


def checked_penalty(penalty: str | None) -> str | None:
    """None, or the name of a penalty that exists."""
    if penalty is not None and (not isinstance(penalty, str) or penalty not in PENALTIES):
        raise EstimationError(Argument("penalty"), f' must be "firth" or None, not {arguments.shown(penalty)}')
    return penalty


def weight_slope(eta: Floats, link: Link, rows: Rows) -> Floats:
    """``w'(η)``: how the information of each row about its linear predictor changes with it."""
    parts = link.parts(eta)
    no, yes, slope = parts
    bend = link.bend(eta, parts)
    total = np.zeros(eta.size)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        for never, always in each_report(rows):
            d = always - never
            u = d * slope / (never * no + always * yes)
            total += np.nan_to_num(d * u * (2.0 * bend - slope * u), nan=0.0, posinf=0.0, neginf=0.0)
    return total


class Firth:
    """The penalised log-likelihood as a surface to climb."""

    def __init__(self, objective: Objective) -> None:
        assert isinstance(objective.model, BinaryModel)
        self._objective = objective
        self._link = objective.model.link
        self.metric = objective.metric
        self.rows = objective.rows

    def value(self, theta: Floats) -> float:
        """Penalised log-likelihood; −∞ where the information is singular."""
        plain = self._objective.terms(theta, "expected")
        return plain.value + 0.5 * _log_det(plain.information)

    def terms(self, theta: Floats, curvature: str) -> Terms:
        """Penalised log-likelihood and score; the information is the expected one, or minus the second derivatives."""
        plain = self._objective.terms(theta, "expected")
        value = plain.value + 0.5 * _log_det(plain.information)
        if not math.isfinite(value):
            return Terms(-math.inf, plain.score, plain.information)
        inverse = np.asarray(np.linalg.inv(plain.information), float)
        slopes = self._information_slopes(theta)
        score = plain.score + 0.5 * np.einsum("kl,jkl->j", inverse, slopes)
        if curvature == "expected":
            return Terms(value, score, plain.information)
        turned = inverse @ slopes  # I⁻¹ S_j, one matrix for each j
        pairs = np.einsum("jkl,ilk->ji", turned, turned)
        bent = self._bends(theta, inverse)
        observed = self._objective.terms(theta, "observed").information
        return Terms(value, score, observed - 0.5 * (bent - pairs))

    def _information_slopes(self, theta: Floats) -> Floats:
        """The matrices S_j."""
        return summed(self._objective.source, _Slopes(self._link, theta))

    def _bends(self, theta: Floats, inverse: Floats) -> Floats:
        """``Σ w'' (x' I⁻¹ x) x x'``."""
        return summed(self._objective.source, _Bends(self._link, theta, inverse))


@dataclass(frozen=True, eq=False)
class _Slopes:
    """The matrices S_j of some rows."""

    link: Link
    theta: Floats

    def __call__(self, chunks: Iterator[Rows]) -> Floats:
        size = self.theta.size
        slopes = np.zeros((size, size, size))
        for rows in chunks:
            change = weight_slope(linear_predictor(self.theta, rows), self.link, rows)
            for j in range(size):
                slopes[j] += rows.X.T @ ((change * rows.X[:, j])[:, None] * rows.X)
        return slopes


@dataclass(frozen=True, eq=False)
class _Bends:
    """``Σ w'' (x' I⁻¹ x) x x'`` of some rows."""

    link: Link
    theta: Floats
    inverse: Floats

    def __call__(self, chunks: Iterator[Rows]) -> Floats:
        total = np.zeros((self.theta.size, self.theta.size))
        for rows in chunks:
            eta = linear_predictor(self.theta, rows)
            ahead, behind = (weight_slope(eta + step, self.link, rows) for step in (_STEP, -_STEP))
            leverage = np.einsum("ij,jk,ik->i", rows.X, self.inverse, rows.X)
            total += rows.X.T @ (((ahead - behind) / (2 * _STEP) * leverage)[:, None] * rows.X)
        return total


def _log_det(information: Floats) -> float:
    sign, value = np.linalg.slogdet(information)
    return float(value) if sign > 0 and math.isfinite(value) else -math.inf
