"""The best step function of the covariates: "yes" on one side of a plane, "no" on the other.

Far away on the ray tθ, a fit is the step function of the half-space x'θ > 0. Its log-likelihood is
``Σ log P(report | no) + Σ_{x'θ > 0} δ``, δ = log P(report | yes) − log P(report | no). Under strong randomisation the
best such plane often fits the noise of the reports better than the true coefficients do.

The search turns a plane again and again: among ``cos φ θ + sin φ u`` each row is on the "yes" side for half of a turn,
so that one sort of 2n angles gives the value of every angle φ at once. With d coefficients the best plane can be moved,
without a row changing sides, until it goes through some d − 1 rows. All planes through d − 2 rows are one turn, and
those d − 2 rows can then be put on either side by a move as small as one likes. For d ≤ 3 and up to a thousand rows
all such turns are tried, and the plane found is the best. With more only turns around rows near to the good planes
are: the plane found is good and not surely the best, which is enough to know that the likelihood is higher elsewhere.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import Floats
from discreet.estimate.regressions.likelihood.rows import Rows

#: Planes to start from, and turns without gain after which a search ends, besides one along each coefficient.
_STARTS, _PATIENCE = 8, 6
#: Turns around rows: all, if their number times that of the rows is no larger; else so many without gain end a climb.
_ALL_TURNS, _NEAR_PATIENCE = 1_000_000, 30
#: The rows that a plane is turned around are drawn from so many per coefficient that are nearest to it.
_NEAR = 6
#: Numbers that are sorted at once.
_CELLS = 1 << 17
#: A row this near to a plane lies on it, up to rounding.
_ON_THE_PLANE = 1e-12
#: Rows that change sides at angles this near to each other change together.
_TOGETHER = 1e-9
#: Good planes that are turned around the rows near to them.
_CLIMBED = 3
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
    X, same = np.unique(rows.X / scale, axis=0, return_inverse=True)
    gains = np.asarray(np.bincount(same.reshape(-1), yes - no), np.float64)
    if scale.size == 3 and len(X) ** 2 <= _ALL_TURNS:
        found = [_all_turns(X, gains)]
    else:
        starts = [estimate * scale, *generator.standard_normal((_STARTS - 1, scale.size))]
        found = [_turned(X, gains, start, generator) for start in starts]
        if scale.size > 2:
            found.sort(key=lambda one: -one[0])
            found = [_climbed(X, gains, *one, generator) for one in found[:_CLIMBED]]
    gain, plane = max(found, key=lambda one: one[0])
    return float(no.sum()) + gain, plane / scale


def _all_turns(X: Floats, gain: Floats) -> tuple[float, Floats]:
    """With three coefficients: the best of the half-spaces whose planes go through a row, for every row."""
    values = []
    for rows in np.array_split(np.arange(len(X)), max(1, len(X) ** 2 // _CELLS)):
        first, second = np.moveaxis(np.linalg.svd(X[rows, None, :])[2][:, -2:], 1, 0)
        values.append(_best_around(X, gain, first, second, X[rows])[0])
    best = int(np.argmax(np.concatenate(values)))
    return _around(X, gain, np.array([best]))


def _around(X: Floats, gain: Floats, rows: NDArray[np.intp]) -> tuple[float, Floats]:
    """The best half-space whose plane goes through d − 2 rows, moved a little so that these have their better sides."""
    first, second = np.linalg.svd(X[rows])[2][-2:]
    move = np.asarray(np.linalg.lstsq(X[rows], np.where(gain[rows] > 0, 1.0, -1.0), rcond=None)[0], np.float64)
    value, angle, side, on = (one[0] for one in _best_around(X, gain, first[None], second[None], move[None]))
    plane = math.cos(angle) * first + math.sin(angle) * second
    # Half as far as the first of the other rows would change sides.
    room = np.abs(X[~on] @ plane) / np.maximum(np.abs(X[~on] @ move), 1e-300)
    return float(value), plane + room.min(initial=1.0) / 2 * side * move


def _best_around(
    X: Floats, gain: Floats, first: Floats, second: Floats, move: Floats
) -> tuple[Floats, Floats, Floats, NDArray[np.bool_]]:
    """Of each turn from ``first`` to ``second``: the best value and its angle, the better sign of the move, and the
    rows that only the move puts on a side, which are those that a turn is around, and their combinations.
    """
    across, along, pace = first @ X.T, second @ X.T, move @ X.T
    on = np.hypot(across, along) < _ON_THE_PLANE * np.linalg.norm(X, axis=1)
    value, angle = best_angle(across, along, np.where(on, 0.0, gain))
    forward, back = (np.sum(gain * (on & (side * pace > 0)), axis=1) for side in (1, -1))
    return value + np.maximum(forward, back), angle, np.where(forward >= back, 1.0, -1.0), on


def _climbed(
    X: Floats, gain: Floats, best: float, plane: Floats, generator: np.random.Generator
) -> tuple[float, Floats]:
    """The best half-space met by turning a plane around rows near to it."""
    idle, size = 0, X.shape[1]
    while idle < _NEAR_PATIENCE:
        near = np.argsort(np.abs(X @ plane))[: _NEAR * size]
        value, turned = _around(X, gain, generator.choice(near, min(size - 2, near.size), replace=False))
        idle += 1
        if value > best + 1e-9:
            best, plane, idle = value, turned, 0
    return best, plane


def _turned(X: Floats, gain: Floats, plane: Floats, generator: np.random.Generator) -> tuple[float, Floats]:
    """The best half-space met by turning one plane, first along each coefficient, then at random."""
    best, turns, idle = -math.inf, 0, 0
    axes = np.eye(X.shape[1])
    while idle < _PATIENCE + X.shape[1]:
        direction = axes[turns] if turns < len(axes) else generator.standard_normal(X.shape[1])
        turns += 1
        here, there = X @ plane, X @ direction
        ratio = float(np.linalg.norm(here)) / max(float(np.linalg.norm(there)), 1e-300)
        value, angle = (float(one) for one in best_angle(here, ratio * there, gain))
        if value > best + 1e-9:
            best, idle = value, 0
            plane = math.cos(angle) * plane + math.sin(angle) * ratio * direction
        else:
            idle += 1
    return best, plane


def best_angle(here: Floats, there: Floats, gain: Floats) -> tuple[Floats, Floats]:
    """The largest sum of gains over the rows with ``cos φ · here + sin φ · there > 0``, and an angle φ that has it.

    The rows are the last axis; one turn for each entry of the others.
    """
    gain = np.where((here == 0) & (there == 0), 0.0, gain)  # on neither side, at any angle
    middle = np.arctan2(there, here)
    angles = np.concatenate([middle - math.pi / 2, middle + math.pi / 2], axis=-1) % (2 * math.pi)
    order = np.argsort(angles, axis=-1)
    angles = np.take_along_axis(angles, order, axis=-1)
    until = np.concatenate([angles[..., 1:], angles[..., :1] + 2 * math.pi], axis=-1)
    between = (angles + until) / 2
    sums = np.cumsum(np.take_along_axis(np.concatenate([gain, -gain], axis=-1), order, axis=-1), axis=-1)
    # What the sums start from is seen where no row is near to its change of sides, whatever rounding did to the others.
    widest = np.argmax(until - angles, axis=-1)[..., None]
    clear = np.take_along_axis(between, widest, axis=-1)
    start = np.sum(gain * (np.cos(clear) * here + np.sin(clear) * there > 0), axis=-1, keepdims=True)
    sums += start - np.take_along_axis(sums, widest, axis=-1)
    place = np.argmax(np.where(until - angles > _TOGETHER, sums, -math.inf), axis=-1)[..., None]
    return np.take_along_axis(sums, place, axis=-1)[..., 0], np.take_along_axis(between, place, axis=-1)[..., 0]
