"""Laplace noise on a line, clamped to its ends and rounded to the nearest value: a baseline, certified as it is.

L-SRR, the staircase response for places: a baseline, certified as it is.

Places carry a hierarchical code (a quadtree of the map). Under truth x the other places fall into groups by the length
of the code that they share with x, and probabilities step down from group to group (Wang, Hong, Xiong, Qin and
Hong 2022).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import MechanismError
from discreet.mechanisms.channel import ChannelResponse
from discreet.mechanisms.exact_integers import RELATIVE_TOLERANCE, checked_epsilon, power_of_two_rows, realising_rows


def clamped_laplace(positions: ArrayLike, epsilon: float) -> ChannelResponse:
    """Add Laplace noise of scale (largest − smallest position)/ε, clamp, and take the nearest position.

    Report y under truth x has the Laplace probability of the interval between the midpoints around y; the two ends
    take the tails (Dwork, McSherry, Nissim and Smith 2006, made discrete). Clamping and rounding cost nothing, and
    they hide something: the realised ε, which ``guarantee`` states, lies below the nominal one.

    Parameters
    ----------
    positions : array
        Increasing positions of the values.
    epsilon : float
        The nominal privacy level.

    Examples
    --------
    >>> clamped_laplace([0, 1, 2, 3], 1.0).guarantee.epsilon < 1.0
    True
    """
    places = np.asarray(positions, float)
    if places.ndim != 1 or places.size < 2 or not np.all(np.isfinite(places)) or np.any(np.diff(places) <= 0):
        raise MechanismError("clamped Laplace noise needs at least two positions that increase")
    scale = (places[-1] - places[0]) / checked_epsilon(epsilon)
    middles = (places[1:] + places[:-1]) / 2
    away = (middles[None, :] - places[:, None]) / scale
    # Intervals as differences of the smaller tail, so that no digits are lost far away from the truth.
    below, above = _tails(away)
    zeros, ones = np.zeros((places.size, 1)), np.ones((places.size, 1))
    below_ends = np.hstack([zeros, below, ones])
    above_ends = np.hstack([ones, above, zeros])
    left_side = below_ends[:, 1:] < 0.5
    shares = np.where(left_side, np.diff(below_ends, axis=1), -np.diff(above_ends, axis=1))
    return ChannelResponse(power_of_two_rows(shares))


def _tails(x: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Probability below and above x of the standard Laplace law."""
    small = 0.5 * np.exp(-np.abs(x))
    return np.where(x < 0, small, 1 - small), np.where(x < 0, 1 - small, small)


#: Digits of a tile code: a tile of the finest level is about 5 metres wide.
TILE_DIGITS = 23
#: Where the square map ends (the Mercator projection has no poles).
_MERCATOR_LIMIT = 85.05112878


def tile_codes(coordinates: ArrayLike, digits: int = TILE_DIGITS) -> list[str]:
    """Quadtree codes of (latitude, longitude) in degrees: each digit 0–3 halves the map in both directions.

    >>> tile_codes([[52.52, 13.405]], 6)
    ['120210']
    """
    places = np.asarray(coordinates, float)
    if places.ndim != 2 or places.shape[1] != 2 or not np.all(np.isfinite(places)):
        raise MechanismError("tile codes need (latitude, longitude) for every place")
    if np.any(np.abs(places[:, 0]) > _MERCATOR_LIMIT) or np.any(np.abs(places[:, 1]) > 180):
        raise MechanismError("tile codes exist for latitudes up to ±85.05 and longitudes up to ±180 degrees")
    sine = np.sin(np.radians(places[:, 0]))
    x = (places[:, 1] + 180) / 360
    y = 0.5 - np.log((1 + sine) / (1 - sine)) / (4 * math.pi)
    return _quadtree(x, y, digits)


def square_codes(coordinates: ArrayLike, digits: int = TILE_DIGITS) -> list[str]:
    """Quadtree codes of points in a plane: the smallest square around them is halved again and again."""
    points = np.asarray(coordinates, float)
    if points.ndim != 2 or points.shape[1] != 2 or not np.all(np.isfinite(points)):
        raise MechanismError("codes of a square need two finite coordinates for every point")
    corner, side = points.min(axis=0), float(np.ptp(points, axis=0).max()) or 1.0
    x, y = ((points - corner) / side).T
    return _quadtree(x, y, digits)


def _quadtree(x: NDArray[np.float64], y: NDArray[np.float64], digits: int) -> list[str]:
    tiles = 1 << digits
    columns = np.clip((x * tiles).astype(np.int64), 0, tiles - 1).tolist()
    rows = np.clip((y * tiles).astype(np.int64), 0, tiles - 1).tolist()
    return [
        "".join(str((c >> bit & 1) + 2 * (r >> bit & 1)) for bit in range(digits - 1, -1, -1))
        for c, r in zip(columns, rows, strict=True)
    ]


def shared_prefixes(codes: Sequence[str]) -> NDArray[np.int64]:
    """How many leading digits every two codes have in common."""
    digits = np.array([[ord(c) for c in code] for code in codes], np.uint8)
    shared = np.zeros((len(codes), len(codes)), np.int64)
    alike = np.ones((len(codes), len(codes)), bool)
    for column in digits.T:
        alike &= column[:, None] == column[None, :]
        shared += alike
    return shared


def staircase_channel(codes: Sequence[str], epsilon: float, groups: int = 5) -> NDArray[np.float64]:
    """The probabilities of L-SRR as published, in floats.

    Under truth x the places are cut into groups G_1 (nearest) to G_k by the length of the common code, and
    ``P(y | x) ∝ e^ε − (j − 1)(e^ε − 1)/(k − 1)`` for y in G_j. The normalisation depends on how many places x has in
    each group, so two truths differ by more than the ratio e^ε of the steps.

    Parameters
    ----------
    codes : sequence of str
        Tile codes of the same length.
    epsilon : float
        The nominal privacy level: e^ε is the ratio of the highest to the lowest step.
    groups : int
        Number of steps k at most; common lengths are cut into that many equal ranges.
    """
    ratio = math.exp(checked_epsilon(epsilon))
    if len(codes) < 2 or len({len(code) for code in codes}) != 1:
        raise MechanismError("a staircase needs at least two tile codes of the same length")
    if groups < 2:
        raise MechanismError(f"a staircase needs at least two groups, not {groups}")
    shared = shared_prefixes(codes)
    off = shared[~np.eye(len(codes), dtype=bool)]
    least, most = int(off.min()), int(off.max())
    groups = min(groups, most - least + 1)
    if groups == 1:  # no place is nearer to the truth than any other
        groups, steps = 2, 1 - np.eye(len(codes), dtype=np.int64)
    else:
        # Lengths from most (and the truth itself) down to least, cut into equal ranges.
        lengths = most - np.minimum(shared, most)
        steps = lengths * groups // (most - least + 1)
    weights = ratio - steps * (ratio - 1) / (groups - 1)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def staircase_response(codes: Sequence[str], epsilon: float, groups: int = 5) -> ChannelResponse:
    """L-SRR as published; its guarantee states what it really gives, which is *more* than the nominal ε.

    See :func:`staircase_channel` for the parameters.
    """
    return ChannelResponse(power_of_two_rows(staircase_channel(codes, epsilon, groups)))


def calibrated_staircase(codes: Sequence[str], epsilon: float, groups: int = 5) -> ChannelResponse:
    """L-SRR with its steps lowered until the channel realises ε, to nine digits and never above.

    See :func:`staircase_channel` for the parameters.
    """
    epsilon = checked_epsilon(epsilon)
    target = epsilon * (1 - 0.5 * float(RELATIVE_TOLERANCE))
    low, high = 0.0, epsilon
    for _ in range(200):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        if _realised(staircase_channel(codes, middle, groups)) <= target:
            low = middle
        else:
            high = middle
    return ChannelResponse(realising_rows(staircase_channel(codes, low, groups), epsilon))


def _realised(channel: NDArray[np.float64]) -> float:
    return float(np.log(channel.max(axis=0) / channel.min(axis=0)).max())
