"""Laplace noise on a line, clamped to its ends and rounded to the nearest value: a baseline, certified as it is."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import MechanismError
from discreet.mechanisms.channel import ChannelResponse
from discreet.mechanisms.integers import power_of_two_rows
from discreet.mechanisms.rounding import checked_epsilon


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
