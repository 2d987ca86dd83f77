"""Losses of y − η and of margins that are not likelihoods: Huber, quantiles, the hinge.

Quantiles and the hinge have a kink, so the corrected loss of a sample is concave between kinks and has many minima at
distances far below its standard error. The search therefore

1. starts at corrected least squares, which is consistent for the slopes where errors do not depend on x;
2. finds the nearest minimum with the kink averaged over a width h ~ (n/inflation²)^{−1/5};
3. takes one step ``θ − V⁻¹g``, g the gradient with the kink averaged by a kernel of fourth order and half the width:
   its bias is of order h⁴, and from a start this close one step is as good as the minimum to first order (Le Cam).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.arguments import Floats
from discreet.estimate.regressions.families import Family, Linear, Statistics, Terms
from discreet.estimate.regressions.losses import Check, Hinge, Huber, IndexLoss
from discreet.estimate.regressions.losses import Terms as LossTerms
from discreet.estimate.regressions.optimise import Optimum, inverse_root
from discreet.estimate.regressions.search import least_squares, local_minimum, parameter_metric

#: Width of the average over the kink, in residual spreads times n to this power. Of 2.5, 1.25 and .7 the middle one had
#: the smallest errors among those whose standard errors are at most a tenth too wide (τ = .8, n = 5,000, ε = 2, two
#: randomised predictors).
_WIDTH, _POWER = 1.25, -0.2
#: The correction makes of n rows n over its inflation of variances, squared: at ε = 1 and n = 5,000 (two randomised
#: predictors, .9 quantile) a width that does not know of it covered 78–93 %, one with the first power of the inflation
#: 88–99 %, with the second 98–100 %, with the same errors. An average over more than this many spreads sees no kink.
_WIDEST = 1.0
#: Where the nearest minimum is not inside the compact set: wider averages first, in units of the spread.
_WIDER = (2.0, 1.0, 0.5)
#: The step after the search may change the linear predictor by this many widths; a longer one leaves the neighbourhood.
_LONGEST = 2.0


class Sharper(IndexLoss):
    """A loss whose kink is averaged by a kernel of fourth order: ``(4ℓ_h − ℓ_{2h})/3``."""

    def __init__(self, loss: IndexLoss, width: float) -> None:
        self._parts = ((4 / 3, loss.smoothed(width)), (-1 / 3, loss.smoothed(2 * width)))

    def plain(self, eta: Floats, y: Floats) -> LossTerms:
        """The combination of both widths."""
        return _combined([(share, loss.plain(eta, y)) for share, loss in self._parts])

    def curvature(self, eta: Floats, y: Floats, v: float) -> LossTerms:
        """The combination of both widths."""
        return _combined([(share, loss.curvature(eta, y, v)) for share, loss in self._parts])


def _combined(parts: Sequence[tuple[float, LossTerms]]) -> LossTerms:
    first, second, third = (sum(share * terms[i] for share, terms in parts) for i in range(3))
    return np.asarray(first), np.asarray(second), np.asarray(third)


class IndexFamily(Family):
    """A loss of the linear predictor and a number y, evaluated at every value of y."""

    def __init__(self, loss: IndexLoss, name: str) -> None:
        self.loss, self.name = loss, name
        self.outcome = "binary" if isinstance(loss, Hinge) else "number"
        self.kinked = loss.kinked

    def statistics(self, y: Floats, weights: Floats) -> Statistics:
        """The values of the outcome (values, rows or 1, 1) and their weights (values, rows, cells)."""
        return y.T[:, :, None], weights.transpose(1, 0, 2)

    def terms(self, eta: Floats, statistics: Statistics) -> Terms:
        """See :class:`Family`."""
        total = np.zeros((3, *eta.shape[:2]))
        for y, weight in zip(*statistics, strict=True):
            for place, term in enumerate(self.loss.plain(eta[:, :, 0], y)):
                total[place] += weight * term
        return total[0], total[1][..., None], total[2][..., None, None]

    def mean(self, eta: Floats) -> tuple[Floats, Floats]:
        """The predictor itself: a location, a quantile, or the score whose sign decides."""
        return eta, np.ones((*eta.shape, 1))

    def described(self) -> str:
        """With its quantile or threshold."""
        if isinstance(self.loss, Check):
            return f"quantile, τ = {self.loss.tau:g}"
        if isinstance(self.loss, Huber):
            return f"huber, threshold {self.loss.k:.4g}"
        return self.name


@dataclass(frozen=True)
class RobustFit:
    """Where the search ended, the loss whose scores count there, its second derivative, and a smooth loss beside it."""

    solution: Optimum
    risk: Any
    hessian: Floats
    smooth: Any


def fit_robust(risk: Any, start: Floats | None = None) -> RobustFit:
    """Fit a Huber, quantile or hinge loss, from least squares or from a start that is near."""
    family = risk.family
    first, spread = _least_squares(risk, family)
    start = first if start is None else start
    unit = spread**2 if isinstance(family.loss, Huber) else spread
    if isinstance(family.loss, Huber):
        if family.loss.threshold is None:
            risk = risk.with_family(IndexFamily(replace(family.loss, threshold=Huber.efficient * spread), family.name))
        found = local_minimum(risk, start, spread, unit)
        return RobustFit(found, risk, risk.moments(found.theta).hessian, risk)
    width = _WIDTH * spread * min((risk.n / risk.inflation**2) ** _POWER, _WIDEST)

    def smooth(h: float, on: Any = risk) -> Any:
        return on.with_family(IndexFamily(family.loss.smoothed(h), family.name))

    found = local_minimum(smooth(width), start, spread, unit)
    if not found.converged:
        path = start
        for wider in [spread * one for one in _WIDER if spread * one > 1.2 * width] + [width]:
            found = local_minimum(smooth(wider), path, spread, unit)
            path = found.theta
    curved = risk if risk.curved is None else risk.curved
    narrow, wide = (smooth(h, curved).moments(found.theta).hessian for h in (width, 2 * width))
    hessian = (4 * narrow - wide) / 3
    sharp = risk.with_family(IndexFamily(Sharper(family.loss, width / 2), family.name))
    beside = smooth(width, curved)
    if not found.converged:
        return RobustFit(found, sharp, hessian, beside)
    root = inverse_root(parameter_metric(risk))
    if np.linalg.eigvalsh(root.T @ hessian @ root)[0] <= 0:
        return RobustFit(replace(found, outcome="flat"), sharp, hessian, beside)
    step = np.linalg.solve(hessian, sharp.moments(found.theta).gradient)
    if float(step @ parameter_metric(risk) @ step) <= (_LONGEST * width) ** 2:
        found = replace(found, theta=found.theta - step)
    return RobustFit(found, sharp, hessian, beside)


def _least_squares(risk: Any, family: IndexFamily) -> tuple[Floats, float]:
    """A start, and the spread of what the loss takes at its kink."""
    margins = isinstance(family.loss, Hinge)
    theta, spread = least_squares(risk, Linear((lambda y: 2 * y - 1) if margins else None))
    if margins:
        return theta, 1.0
    if isinstance(family.loss, Check) and risk.constant is not None:
        from scipy.special import ndtri

        theta[risk.constant] += spread * float(ndtri(family.loss.tau))
    return theta, spread
