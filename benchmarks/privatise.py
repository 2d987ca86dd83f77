"""Randomise a column in memory: secure and exact, against numpy's insecure generator."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from benchmarks.measure import Result, at_least, in_turn
from discreet import design
from discreet.mechanisms import BinaryResponse, FiniteMechanism, GeneralizedResponse

Codes = NDArray[np.uint8]

#: ε of every mechanism that is timed; the time hardly depends on it.
EPSILON = 1.0
PREVALENCE = 0.3


def binary_mechanisms() -> dict[str, tuple[FiniteMechanism, float]]:
    """p00 = p11 and p00 ≠ p11, each with the rate to reach."""
    return {
        "p00 = p11": (design.binary(EPSILON).mechanism, 6.0),
        "p00 ≠ p11": (BinaryResponse("4/5", "7/10"), 6.0),
    }


def binary_codes(n: int, seed: int = 1) -> Codes:
    """Truths, made in pieces so that no large intermediate array is needed."""
    rng, codes = np.random.default_rng(seed), np.empty(n, np.uint8)
    for start in range(0, n, 1 << 20):
        part = codes[start : start + (1 << 20)]
        part[:] = rng.random(part.size) < PREVALENCE
    return codes


def categories(n: int, size: int, seed: int = 1) -> Codes:
    """Truths with ``size`` equally frequent values."""
    return np.random.default_rng(seed).integers(0, size, n, dtype=np.uint8)


def numpy_generalized(codes: Codes, size: int, keep: float, rng: np.random.Generator) -> Codes:
    """Generalised response as one writes it in numpy: insecure, and exact only to floating point."""
    kept = rng.random(codes.size) < keep
    other = rng.integers(0, size - 1, codes.size, dtype=np.uint8)
    other += other >= codes
    return np.where(kept, codes, other)


def binary_results(n: int, repetitions: int) -> Iterator[Result]:
    """Binary columns against ``rng.random(n) < p``."""
    codes, rng = binary_codes(n), np.random.default_rng(2)
    for name, (mechanism, target) in binary_mechanisms().items():
        times = in_turn(lambda m=mechanism: m.privatize(codes), lambda: rng.random(n) < 0.7311, repetitions)
        work = f"privatise a binary column, {name}, n = {n:.0e}"
        yield at_least(work, "numpy rng.random(n) < p", target, times.ratio, times.detail(n, "numpy"))


def category_results(n: int, repetitions: int) -> Iterator[Result]:
    """16 and 17 categories against generalised response in numpy."""
    rng = np.random.default_rng(2)
    for size in (16, 17):
        codes, mechanism = categories(n, size), GeneralizedResponse(size, EPSILON)
        keep = mechanism.keep / mechanism.denominator
        times = in_turn(
            lambda m=mechanism, c=codes: m.privatize(c),
            lambda s=size, c=codes, p=keep: numpy_generalized(c, s, p, rng),
            repetitions,
        )
        work = f"privatise {size} categories, n = {n:.0e}"
        yield at_least(work, "vectorised numpy k-RR", 3.5, times.ratio, times.detail(n, "numpy"))
