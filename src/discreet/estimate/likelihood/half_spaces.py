"""The best step function of the covariates: "yes" on one side of a plane, "no" on the other.

Far away on the ray tθ, a fit is the step function of the half-space x'θ > 0. Its log-likelihood is
``Σ log P(report | no) + Σ_{x'θ > 0} δ``, δ = log P(report | yes) − log P(report | no). Under strong randomisation the
best such plane often fits the noise of the reports better than the true coefficients do.

The search turns a plane again and again: among ``cos φ θ + sin φ u`` each row is on the "yes" side for half of a turn,
so that one sort of 2n angles gives the value of every angle φ at once. It finds a good plane, not surely the best one;
which is enough to know that the likelihood is higher elsewhere.
"""

from __future__ import annotations

import math

import numpy as np

from discreet.arguments import Floats
from discreet.estimate.likelihood.rows import Rows

#: Planes to start from, and turns without gain after which a search ends, besides one along each coefficient.
_STARTS, _PATIENCE = 8, 6
#: Stands for the logarithm of zero: a report that reveals the truth decides the side of its row.
_IMPOSSIBLE = -700.0


def best_step(rows: Rows, estimate: Floats) -> tuple[float, Floats]:
    """The best step function found from the plane of an estimate and from others: log-likelihood, and its plane θ."""
    with np.errstate(divide="ignore"):
        no, yes = (np.maximum(np.log(given), _IMPOSSIBLE) for given in (rows.given_no, rows.given_yes))
    if rows.weights is not None:
        no, yes = rows.weights * no, rows.weights * yes
    scale = np.sqrt((rows.X**2).mean(axis=0))
    generator = np.random.default_rng(20251)
    starts = [estimate * scale, *generator.standard_normal((_STARTS - 1, scale.size))]
    found = [_turned(rows.X / scale, yes - no, start, generator) for start in starts]
    gain, plane = max(found, key=lambda one: one[0])
    return float(no.sum()) + gain, plane / scale


def _turned(X: Floats, gain: Floats, plane: Floats, generator: np.random.Generator) -> tuple[float, Floats]:
    """The best half-space met by turning one plane, first along each coefficient, then at random."""
    best, turns, idle = -math.inf, 0, 0
    axes = np.eye(X.shape[1])
    while idle < _PATIENCE + X.shape[1]:
        direction = axes[turns] if turns < len(axes) else generator.standard_normal(X.shape[1])
        turns += 1
        here, there = X @ plane, X @ direction
        ratio = float(np.linalg.norm(here)) / max(float(np.linalg.norm(there)), 1e-300)
        value, angle = best_angle(here, ratio * there, gain)
        if value > best + 1e-9:
            best, idle = value, 0
            plane = math.cos(angle) * plane + math.sin(angle) * ratio * direction
        else:
            idle += 1
    return best, plane


def best_angle(here: Floats, there: Floats, gain: Floats) -> tuple[float, float]:
    """The largest sum of gains over the rows with ``cos φ · here + sin φ · there > 0``, and an angle φ that has it."""
    middle = np.arctan2(there, here)
    angles = np.concatenate([middle - math.pi / 2, middle + math.pi / 2]) % (2 * math.pi)
    order = np.argsort(angles)
    angles = angles[order]
    at_zero = float(gain[(here > 0) | ((here == 0) & (there > 0))].sum())
    sums = at_zero + np.cumsum(np.concatenate([gain, -gain])[order])
    until = np.append(angles[1:], angles[0] + 2 * math.pi)
    place = int(np.argmax(np.where(until - angles > 1e-9, sums, -math.inf)))
    return float(sums[place]), float((angles[place] + until[place]) / 2)
