"""The corrected risk of a loss on a linear index: value, gradient, Hessian and the scores of single rows.

Every method is a sum over *views* of the records, ``α ℓ(η) − β q C(η)``, with η the index of the view, q half the
variance of the index noise and C the curvature of the loss, averaged over Laplace noise or not:

    exact   x1: α = 1, β = 1 − δ₀, averaged                      (the default; smallest variance)
    drcl    x1: α = 1/δ₀;   x2: α = 1 − 1/δ₀                     (zil2025, section 4)
    sdrcl   x1: α = 1;      x2: β = 1 − δ₀
    sl      x2: α = 1, β = 1
    naive   x1: α = 1
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from discreet.arguments import Floats
from discreet.estimate.m_estimation.losses import IndexLoss, Terms

#: Rows handled at once.
_ROWS = 1 << 16
#: Relative step of derivatives in q, which is one number for all rows: central differences are exact to 1e-8.
_STEP = 1e-4


@dataclass(frozen=True)
class Noise:
    """What was added to the index: zero with probability ``zero``, else Laplace with variance 2q.

    Parameters
    ----------
    zero : float
        The zero probability δ₀.
    variances : array
        Variance of the noise of each column of the design; 0 for public ones.
    outcome : float
        Variance of the noise of an outcome that belongs to the same records.
    other : (float, float) or None
        Zero probability and q of noise of the outcome that is independent of the records'.
    """

    zero: float
    variances: Floats
    outcome: float = 0.0
    other: tuple[float, float] | None = None

    def q(self, theta: Floats) -> float:
        """Half the variance of the index noise of a record that is not published exactly."""
        return 0.5 * (float(self.variances @ (theta * theta)) + self.outcome)


@dataclass(frozen=True)
class View:
    """One copy of the records, with its weights."""

    design: Floats
    plain: float
    curved: float
    averaged: bool = False


@dataclass(frozen=True)
class Moments:
    """Averages over rows at one θ."""

    value: float
    gradient: Floats
    hessian: Floats
    scores: Floats  # the mean of s s'


@dataclass(frozen=True)
class Objective:
    """The corrected risk of one sample.

    Parameters
    ----------
    outcomes : sequence of (y, weight)
        One pair; or one per possible outcome, weighted so as to undo the randomisation of the outcome.
    """

    loss: IndexLoss
    views: tuple[View, ...]
    outcomes: tuple[tuple[Floats, Floats | None], ...]
    noise: Noise
    #: A quadratic that stands for earlier batches: centre and curvature, in units of one row.
    earlier: tuple[Floats, Floats, float] | None = None

    @property
    def n(self) -> int:
        """Rows of this sample."""
        return int(self.views[0].design.shape[0])

    def with_loss(self, loss: IndexLoss) -> Objective:
        """The same sample under another loss."""
        return replace(self, loss=loss)

    def _terms(self, view: View, eta: Floats, y: Floats, q: float) -> Terms:
        noise, loss = self.noise, self.loss
        terms = list(loss.plain(eta, y)) if view.plain else [np.zeros_like(eta) for _ in range(3)]
        terms = [view.plain * term for term in terms]
        if view.curved and q > 0:
            bent = loss.curvature(eta, y, noise.zero * q if view.averaged else 0.0)
            terms = [term - view.curved * q * one for term, one in zip(terms, bent, strict=True)]
            if noise.other is not None and view.averaged:
                zero, own = noise.other
                v, w = noise.zero * q, zero * own
                if abs(v - w) < 1e-4 * w:  # the divided difference below needs two different scales
                    w *= 1 + 3e-4
                second = loss.curvature(eta, y, w)
                both = (1 - noise.zero) * q * (1 - zero) * own / (v - w)
                terms = [
                    term - (1 - zero) * own * b + both * (a - b) for term, a, b in zip(terms, bent, second, strict=True)
                ]
        return terms[0], terms[1], terms[2]

    def _rows(self) -> Iterator[slice]:
        for start in range(0, self.n, _ROWS):
            yield slice(start, start + _ROWS)

    def value(self, theta: Floats) -> float:
        """The corrected risk alone."""
        q, total = self.noise.q(theta), 0.0
        for rows in self._rows():
            for view in self.views:
                eta = view.design[rows] @ theta
                for y, weight in self.outcomes:
                    f = self._terms(view, eta, y[rows], q)[0]
                    total += float(f.sum() if weight is None else f @ weight[rows])
        mean = total / self.n
        if self.earlier is not None:
            centre, curvature, rows_before = self.earlier
            gap = theta - centre
            share = rows_before / (rows_before + self.n)
            mean = (1 - share) * mean + share * 0.5 * float(gap @ curvature @ gap)
        return mean

    @cached_property
    def gram(self) -> Floats:
        """``X'X/n`` of the first view."""
        x = self.views[0].design
        return np.asarray(x.T @ x / self.n)

    @property
    def _linear(self) -> bool:
        """Whether Gram matrices say everything: the squared loss on one view, the outcome as it is."""
        return self.loss.constant_curvature is not None and len(self.views) == 1 and self.outcomes[0][1] is None

    def moments(self, theta: Floats, *, scores: bool = True) -> Moments:
        """Everything at once; scores (when asked for) only of this sample's rows."""
        mean = self._linear_moments(theta, scores) if self._linear else self._row_moments(theta)
        if self.earlier is None:
            return mean
        centre, curvature, before = self.earlier
        share = before / (before + self.n)
        gap = theta - centre
        return Moments(
            (1 - share) * mean.value + share * 0.5 * float(gap @ curvature @ gap),
            (1 - share) * mean.gradient + share * (curvature @ gap),
            (1 - share) * mean.hessian + share * curvature,
            mean.scores,
        )

    def _linear_moments(self, theta: Floats, scores: bool) -> Moments:
        """The squared loss: ``r² − β Σ λ_j²θ_j²`` row by row."""
        (view,), (y, _) = self.views, self.outcomes[0]
        x, n = view.design, self.n
        bent = view.curved * self.noise.variances * theta
        cross = self._cross
        pull = cross - self.gram @ theta  # the mean of r x
        value = self._square - 2 * float(theta @ cross) + float(theta @ self.gram @ theta)
        value -= 2 * view.curved * self.noise.q(theta)
        hessian = 2 * (self.gram - view.curved * np.diag(self.noise.variances))
        meat = np.zeros_like(hessian)
        if scores:
            for rows in self._rows():
                part = x[rows]
                weighted = part * (y[rows] - part @ theta)[:, None]
                meat += weighted.T @ weighted
            meat = 4 * (meat / n + np.outer(pull, bent) + np.outer(bent, pull) + np.outer(bent, bent))
        return Moments(value, -2 * (pull + bent), hessian, meat)

    @cached_property
    def _cross(self) -> Floats:
        return np.asarray(self.views[0].design.T @ self.outcomes[0][0] / self.n)

    @cached_property
    def _square(self) -> float:
        y = self.outcomes[0][0]
        return float(y @ y) / self.n

    def _row_moments(self, theta: Floats) -> Moments:
        p = theta.size
        value, gradient, hessian, scores = 0.0, np.zeros(p), np.zeros((p, p)), np.zeros((p, p))
        for part, score, bent in self._chunks(theta):
            value += part
            gradient += score.sum(axis=0)
            hessian += bent
            scores += score.T @ score
        n = self.n
        return Moments(value / n, gradient / n, hessian / n, scores / n)

    def row_scores(self, theta: Floats) -> Floats:
        """The corrected gradient of every row."""
        return np.concatenate([score for _, score, _ in self._chunks(theta)])

    def _chunks(self, theta: Floats) -> Iterator[tuple[float, Floats, Floats]]:
        """Sum of the risk, gradient of every row and sum of the second derivatives, some rows at a time."""
        p = theta.size
        noise = self.noise
        q = noise.q(theta)
        direction = noise.variances * theta  # dq/dθ
        step = _STEP * (q + 1e-3)
        for rows in self._rows():
            count = min(rows.stop, self.n) - rows.start
            value, score, hessian = 0.0, np.zeros((count, p)), np.zeros((p, p))
            for view in self.views:
                x = view.design[rows]
                eta = x @ theta
                f, f1, f2 = self._summed(view, eta, rows, q)
                value += float(f.sum())
                score += f1[:, None] * x
                hessian += (x * f2[:, None]).T @ x
                if view.curved and noise.variances.any():
                    fq, f1q, fqq = self._in_q(view, eta, rows, q, step)
                    score += np.outer(fq, direction)
                    cross = np.outer(f1q @ x, direction)
                    hessian += cross + cross.T + float(fqq.sum()) * np.outer(direction, direction)
                    hessian += np.diag(noise.variances * float(fq.sum()))
            yield value, score, hessian

    def _summed(self, view: View, eta: Floats, rows: slice, q: float) -> Terms:
        total: Terms | None = None
        for y, weight in self.outcomes:
            terms = self._terms(view, eta, y[rows], q)
            if weight is not None:
                terms = (terms[0] * weight[rows], terms[1] * weight[rows], terms[2] * weight[rows])
            total = terms if total is None else (total[0] + terms[0], total[1] + terms[1], total[2] + terms[2])
        assert total is not None
        return total

    def _in_q(self, view: View, eta: Floats, rows: slice, q: float, step: float) -> Terms:
        """First derivative in q, mixed derivative, second derivative; one-sided at q near zero."""
        if self.loss.constant_curvature is not None:
            flat = np.zeros_like(eta)
            share = sum((1.0 if weight is None else weight[rows]) for _, weight in self.outcomes)
            return flat - view.curved * self.loss.constant_curvature * share, flat, flat
        base = max(q, step)
        low, mid, high = (self._summed(view, eta, rows, at) for at in (base - step, base, base + step))
        return (
            (high[0] - low[0]) / (2 * step),
            (high[1] - low[1]) / (2 * step),
            (high[0] - 2 * mid[0] + low[0]) / (step * step),
        )
