"""Numeric vectors: privatise against plain numpy, fit against least squares."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from benchmarks.measure import Result, at_least, in_turn
from discreet import Box
from discreet.estimate import m_estimate
from discreet.mechanisms import ZeroInflatedLaplace

Floats = NDArray[np.float64]

COLUMNS, COVARIATES = 5, 10
SCALE, ZERO = 2.0, 0.05


def numpy_noise(x: Floats, grid: float, rng: np.random.Generator) -> Floats:
    """The same job as one writes it in numpy: draw, inflate, add, round; insecure."""
    noise = rng.standard_normal(x.shape)
    size = np.sqrt(rng.standard_exponential(x.shape[0]))
    size[rng.random(x.shape[0]) < ZERO] = 0.0
    noise *= size[:, None]
    noise *= SCALE
    noise += x
    noise /= grid
    np.rint(noise, out=noise)
    noise *= grid
    return noise


def _privatise(n: int, repetitions: int) -> Iterator[Result]:
    """N × 5 numbers."""
    rng = np.random.default_rng(1)
    x = rng.random((n, COLUMNS))
    mechanism = ZeroInflatedLaplace(Box([0] * COLUMNS, [1] * COLUMNS), SCALE, ZERO)
    times = in_turn(lambda: mechanism.privatize(x), lambda: numpy_noise(x, mechanism.grid[0], rng), repetitions)
    work = f"privatise numeric vectors, {n:.0e} × {COLUMNS}"
    yield at_least(work, "numpy, insecure", 0.5, times.ratio, times.detail(n * COLUMNS, "numpy"))


def _regression(n: int, repetitions: int) -> Iterator[Result]:
    """Corrected least squares with sandwich errors, against numpy's least squares on the same rows."""
    rng = np.random.default_rng(2)
    x = rng.random((n, COVARIATES))
    y = x.sum(axis=1) + rng.standard_normal(n)
    mechanism = ZeroInflatedLaplace(Box([0] * COVARIATES, [1] * COVARIATES), 0.5, 0.1)
    reports = mechanism.privatize(x)
    times = in_turn(
        lambda: m_estimate("squared", reports, mechanism, outcome=y),
        lambda: np.linalg.lstsq(reports, y, rcond=None),
        repetitions,
    )
    work = f"linear regression from reports, n = {n:.0e}, d = {COVARIATES}"
    yield at_least(work, "numpy lstsq", 1 / 3, times.ratio, times.detail(n, "numpy"))


def laplace_results(n: int, repetitions: int) -> Iterator[Result]:
    """Both."""
    yield from _privatise(n, repetitions)
    yield from _regression(10**6, repetitions)
