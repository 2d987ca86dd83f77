"""Probabilities of classes calibrated on reports, by maximum likelihood through the channel.

A guess p̂(t | x) that was made without the row at hand becomes

    p(t | x) ∝ exp(a_t + b ln p̂(t | x)),   a_0 = 0,

with the k numbers (b, a_1, …) that maximise ``Σ_i w_i ln Σ_t Q_i[t, r_i] p(t | x_i)``, Q_i the channel of row i. A
guess that is right already keeps b = 1, a = 0; one that takes noise for structure gets b < 1. For two classes it is
Platt's (1999) scaling of the log-odds, read through the channel.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import Floats

#: Guesses are held this far from 0: what lies beyond is noise of the undoing.
_FLOOR = 0.01
#: A weak pull of (b, a) toward (1, 0), of the weight of one record: it keeps the maximum finite.
_PULL = 1.0


@dataclass(frozen=True, eq=False)
class Calibration:
    """``b`` and ``a``, a_0 = 0."""

    slope: float
    shifts: Floats

    def apply(self, guess: Floats) -> Floats:
        """Calibrated probabilities of guesses."""
        return _probabilities(self.shifts + self.slope * log_guess(guess))


def log_guess(guess: Floats) -> Floats:
    """``ln p̂``, held away from −∞."""
    held = np.maximum(guess, _FLOOR)
    return np.asarray(np.log(held / held.sum(axis=1, keepdims=True)))


def _probabilities(scores: Floats) -> Floats:
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def calibrated(guess: Floats, likelihoods: Floats, weights: Floats) -> Calibration:
    """The maximum-likelihood calibration.

    Parameters
    ----------
    guess : array (rows, classes)
        Made without the row at hand.
    likelihoods : array (rows, classes)
        ``Q_i[t, r_i]``: the probability of the row's report under every class.
    weights : array (rows,)
        What each row counts, one on average.
    """
    from scipy.optimize import minimize

    logs = log_guess(guess)
    classes = guess.shape[1]
    start = np.zeros(classes)
    start[0] = 1.0

    def loss(parameters: Floats) -> tuple[float, NDArray[np.float64]]:
        p = _probabilities(np.concatenate([[0.0], parameters[1:]]) + parameters[0] * logs)
        joint = p * likelihoods
        total = joint.sum(axis=1)
        away = parameters - start
        # d ln Σ_t Q_t p_t / d score_t = posterior_t − p_t.
        slope = weights[:, None] * (joint / total[:, None] - p)
        gradient = np.concatenate([[-(slope * logs).sum()], -slope[:, 1:].sum(axis=0)]) + _PULL * away
        return float(-(weights @ np.log(total)) + _PULL * away @ away / 2), gradient

    found = minimize(loss, start, jac=True, method="BFGS", options={"gtol": 1e-6 * len(guess)}).x
    return Calibration(float(found[0]), np.concatenate([[0.0], found[1:]]))
