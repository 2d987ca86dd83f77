"""A small program of a user, which a strict type checker must accept: the package ships its types."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet import Binary, Guarantee, Plan, Randomness, Release, design, estimate, release
from discreet.design import Design
from discreet.mechanisms import BinaryResponse


def prevalence(path: str) -> float:
    """Estimate a share from a release."""
    opened: Release = Release.open(path)
    promise: Guarantee = opened.guarantee
    result = estimate.frequencies(opened, "cheated")
    low, high = result["yes"].interval(0.9)[0]
    assert low <= high
    return float(result["yes"]) * (promise.epsilon > 0)


def randomise(truth: list[int]) -> NDArray[np.int64]:
    """Design a mechanism and run it."""
    best: Design[BinaryResponse] = design.binary(1.0)
    mechanism: BinaryResponse = best.mechanism
    reports = mechanism.privatize(truth, Randomness.seeded(7))
    return np.asarray(reports, dtype=np.int64)


def publish(table: object, plan: Plan) -> Release:
    """Release a table."""
    assert Binary().size == 2
    return release(table, plan, "out.parquet", overwrite=True)
