"""Cyclic block designs at a million values: speed against generalised response, error against theory."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from benchmarks.measure import Result, at_least, at_most, in_turn
from discreet import Randomness, estimate
from discreet.mechanisms import CyclicResponse, GeneralizedResponse

EPSILON = 1.0
SIZE = 10**6
#: Monte Carlo errors by which the mean squared error may differ from theory.
_WITHIN = 5


def cyclic_results(n: int, repetitions: int) -> Iterator[Result]:
    """Every figure that the mechanism for large domains has to reach."""
    mechanism, plain = CyclicResponse(SIZE, EPSILON), GeneralizedResponse(SIZE, EPSILON)
    codes = np.random.default_rng(1).integers(0, SIZE, n).astype(np.uint32)
    times = in_turn(lambda: mechanism.privatize(codes), lambda: plain.privatize(codes), 3 * repetitions)
    work = f"privatise n = {n:.0e} of {SIZE:,} values by a cyclic design"
    yield at_least(work, "GeneralizedResponse", 0.5, times.ratio, times.detail(n, "generalised"))
    counts = np.bincount(mechanism.privatize(codes), minlength=mechanism.shape[1])
    shares = counts.astype(float)
    times = in_turn(lambda: mechanism.supports(counts), lambda: np.fft.fft(shares), repetitions)
    yield at_most(
        f"decode the counts of {mechanism.shape[1]:,} reports, exact supports",
        "one numpy.fft.fft of that length",
        5.0,
        1 / times.ratio,
        times.detail(mechanism.shape[1], "transform"),
    )
    yield squared_error(mechanism, n)


def squared_error(mechanism: CyclicResponse, n: int, seed: int = 1) -> Result:
    """``n`` times the mean squared error over all values, most of them rare, beside ``Q(1 − Q)/(P − Q)²``."""
    weights = 1 / np.arange(1, mechanism.size + 1) ** 1.2
    truths = np.random.default_rng(seed).choice(mechanism.size, n, p=weights / weights.sum())
    found = estimate.frequencies(mechanism.privatize(truths, Randomness.seeded(seed)), mechanism)
    squared = n * float(np.mean((found.estimate - np.bincount(truths, minlength=mechanism.size) / n) ** 2))
    theory = float(mechanism.answer_variance())
    error = theory * math.sqrt(2 / mechanism.size)
    return Result(
        f"n × mean squared error of {mechanism.size:,} frequencies, n = {n:,}",
        f"theory, {theory:.4f}",
        f"within {_WITHIN} Monte Carlo errors",
        f"{squared:.4f}",
        squared,
        abs(squared - theory) < _WITHIN * error,
        f"{(squared - theory) / error:+.2f} errors of {error:.4f}; frequencies fall like rank^-1.2",
    )
