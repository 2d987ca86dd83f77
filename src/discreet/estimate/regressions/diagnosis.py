"""How much of the variance of an estimate a few records carry.

A corrected loss is evaluated where noise puts a report, also far outside the box. A loss that explodes there (Poisson
regression, an exponential of one's own) gives a handful of reports nearly all the weight: the sum of the scores is then
far from normal, its variance is not the one that is seen, and intervals do not cover, whatever the solver says. The
influence of record i on coefficient j is ``ψ_ij = (V⁻¹s_i)_j``, s the score and V the curvature; the share of the
largest few ψ² in their sum is a fact about the sample.

Why six tenths. Poisson regression on [−1, 1] × [0, 1], λ = (.8, .4), δ₀ = .15, n = 5,000, 400 runs each: with slopes
(.8, .5) and (1.2, .5) the fits that end in a minimum cover .87 and .43 of the first slope, and in every one of them ten
records carry more than six tenths; with (.5, .5) those below that (212 of 359) cover .96, at n = 20,000 (325 of 399)
.97 (``experiments/zil2025/heavy_tails.py``).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from discreet.arguments import Floats
from discreet.estimate.regressions.laplace_exact import ExactLoss
from discreet.estimate.regressions.losses import Poisson
from discreet.estimate.regressions.result import CorrectedRegression

#: The share above which an estimate is not trusted.
LIMIT = 0.6
#: How many records are "a few": ten, but never more than one in fifty.
_FEW, _ONE_IN = 10, 50


def share_of_few(scores: Floats, hessian: Floats) -> float:
    """The share of the largest few squared influences in the sum of all, the largest over coefficients.

    Parameters
    ----------
    scores : array (n, p)
        The corrected gradient of every record.
    hessian : array (p, p)
        V.
    """
    few = few_of(scores.shape[0])
    squares = (scores @ np.linalg.pinv(hessian)) ** 2
    total = squares.sum(axis=0)
    largest = np.partition(squares, -few, axis=0)[-few:].sum(axis=0)
    return float(np.max(largest / np.where(total > 0, total, np.inf)))


def few_of(n: int) -> int:
    """How many of n records are a few."""
    return max(1, min(_FEW, n // _ONE_IN))


def decided_by_few(share: float, n: int) -> str:
    """What to tell the user when they carry too much."""
    few = few_of(n)
    return (
        f"not trustworthy: {few} of {n:,} reports, outside the box where the loss explodes, carry {share:.0%} of the "
        "variance, so that standard errors and intervals do not hold; release with less noise, or take a loss that "
        "grows more slowly"
    )


def exploding(fit: CorrectedRegression, risk: ExactLoss) -> CorrectedRegression:
    """A fit by an exact correction, and whether a loss that grows without bound outside the box makes it worthless."""
    if not isinstance(risk.loss, Poisson) or not risk.noise.covariance.any() or not risk.views[0].averaged:
        return fit
    theta = np.array(fit.coefficients)
    problem = risk.loss.check(risk.noise.q(theta)) if fit.converged else None
    if fit.converged and problem is None:
        share = share_of_few(risk.row_scores(theta), fit.hessian)
        problem = decided_by_few(share, risk.n) if share > LIMIT else None
    if fit.converged and problem is None:
        return fit
    if problem is not None:
        return replace(fit, converged=False, status=problem, inverted=None)
    note = "the coefficients are those of the start: the corrected loss has no minimum near it"
    return replace(fit, coefficients=risk.start(), notes=(*fit.notes, note))
