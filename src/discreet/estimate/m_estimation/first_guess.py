"""Where a fit starts: corrected least squares, and how well it is known."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.m_estimation import bounded
from discreet.estimate.m_estimation.box.objective import Risk
from discreet.estimate.m_estimation.losses import IndexLoss, Poisson, Squared
from discreet.estimate.m_estimation.objective import Noise, Objective
from discreet.estimate.m_estimation.result import MEstimate
from discreet.estimate.m_estimation.sample import Sample, numbers
from discreet.estimate.m_estimation.solver import Solution

#: The compact set: coefficients up to this many times the first guess, in units of the columns' spread.
_RADIUS = 30.0
#: A corrected moment matrix is called identified when its smallest eigenvalue is this many standard errors above 0.
_IDENTIFIED = 3.0


@dataclass(frozen=True)
class Guess:
    """Corrected least squares and how well its moment matrix is known.

    Parameters
    ----------
    moments : SecondMoments or None
        Of true covariates and outcomes; None for the squared loss, which is solved at once.
    moment : array or None
        ``E[xx']`` of true covariates; None when the noise is taken for truth.
    sure : bool
        Whether it is clearly positive definite.
    more : float
        How many times more rows would make it so.
    """

    theta: Floats
    moments: bounded.SecondMoments | None
    moment: Floats | None
    sure: bool
    more: float

    def bends_over(self, loss: IndexLoss, theta: Floats) -> float:
        """The length over which the risk bends: the spread of y − η, or one for losses of an index alone."""
        if not loss.location or self.moments is None:
            return 1.0
        return self.moments.residual_spread(theta)


def first_guess(objective: Objective, sample: Sample, method: str) -> Guess:
    """Least squares on true records: bounded moments, but for the exact squared loss its own, corrected squares."""
    x = objective.views[0].design
    target = np.zeros(sample.n)
    factor = 1.0
    for value, (y, _) in enumerate(objective.outcomes):
        shifted, factor = objective.loss.start(y)
        target += shifted if sample.weights is None else shifted * sample.weights[:, value]
    if method == "naive":
        taken = bounded.as_they_are(x, target)
        solution = np.linalg.lstsq(np.array(objective.gram), x.T @ target / sample.n, rcond=None)[0]
        return Guess(np.asarray(solution * factor, float), taken, None, True, 1.0)
    scale = 1 / bounded.column_spread(sample)
    moments = None
    if isinstance(objective.loss, Squared) and method != "box":
        noise = objective.noise
        matrix = objective.gram - np.diag((1.0 if method == "sl" else 1 - noise.zero) * noise.variances)
        weights = sample.row_weights
        vector = x.T @ (target if weights is None else target * weights) / sample.n
        values, vectors = np.linalg.eigh(matrix * np.outer(scale, scale))
        # Standard errors of the eigenvalues: those of the means of (v'x)².
        part = x[: min(sample.n, 20_000)] @ (vectors * scale[:, None])
        errors = np.std(part * part, axis=0) / math.sqrt(sample.n)
    else:
        moments = bounded.second_moments(sample, target)
        matrix, vector = moments.square.mean, moments.cross.mean
        values, vectors = np.linalg.eigh(matrix * np.outer(scale, scale))
        errors = np.array([moments.square.along(one * scale)[1] for one in vectors.T])
    # An eigenvalue below that of a third of an even spread is that of noise, and so is one that no box allows.
    known = errors / np.clip(values, 0.3, max(_largest_eigenvalue(sample, scale), 0.3))
    floor = np.maximum(values, max(0.02, float(errors[0])))
    solution = scale * (vectors @ ((vectors.T @ (vector * scale)) / floor))
    sure = bool(values[0] > _IDENTIFIED * errors[0])
    return Guess(solution * factor, moments, matrix, sure, float((_IDENTIFIED * known.max()) ** 2))


def _largest_eigenvalue(sample: Sample, scale: Floats) -> float:
    """No eigenvalue of ``E[xx']``, columns measured by their scale, is above the largest trace that the box allows."""
    box, d = sample.mechanism.box, sample.private.shape[1]
    private = np.maximum(np.abs(box.low), np.abs(box.high))[:d] * scale[:d]
    return float(private @ private + sample.public.shape[1])


def closed_form(objective: Risk, guess: Floats) -> Solution:
    """The squared loss: one linear system, whatever the method."""
    moments = objective.moments(guess * 0.0, scores=False)
    # Columns may be years and cents: each is measured by its own size.
    scale = 1 / np.sqrt(np.maximum(np.abs(np.diag(moments.hessian)), 1e-300))
    scaled = moments.hessian * np.outer(scale, scale)
    if np.linalg.eigvalsh(scaled)[0] <= 1e-13:
        return Solution(guess, math.nan, False, False, 1)
    theta = np.asarray(scale * np.linalg.solve(scaled, -moments.gradient * scale), float)
    return Solution(theta, math.nan, True, False, 1)


def starting_points(
    objective: Risk, start: Floats | None, guess: Guess, scale: Floats, earlier: MEstimate | None
) -> tuple[list[Floats], Floats, float]:
    """Where to search from, in which units, and how far."""
    p = guess.theta.size
    starts = [guess.theta, guess.theta / 2, np.zeros(p)]
    if earlier is not None:
        starts = [np.array(earlier.coefficients)]
    if start is not None:
        starts.insert(0, start)
    if isinstance(objective.loss, Poisson):
        starts = [_shrunk(one, objective.noise) for one in starts]
    radius = _RADIUS * (1 + max(float(np.linalg.norm(one * scale)) for one in starts))
    return starts, scale, radius


def given_start(start: Any, p: int) -> Floats:
    """A start that the caller gives, checked."""
    try:
        given = np.atleast_1d(numbers(start, "start", single=True))
    except EstimationError:
        given = np.empty(0)
    if given.shape != (p,):
        raise EstimationError(f"start must be {p} finite numbers, one per coefficient")
    return given


def _shrunk(theta: Floats, noise: Noise) -> Floats:
    """A start at which the corrected Poisson loss exists."""
    q = noise.q(theta)
    return theta if q < 0.5 else theta * math.sqrt(0.4 / q)
