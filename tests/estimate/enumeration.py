"""Exact laws of small report tables: no simulation, no noise."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from discreet.mechanisms import FiniteMechanism


def compositions(n: int, parts: int) -> Iterator[tuple[int, ...]]:
    """All ways to write n as an ordered sum of counts."""
    for bars in itertools.combinations(range(n + parts - 1), parts - 1):
        edges = (-1, *bars, n + parts - 1)
        yield tuple(b - a - 1 for a, b in itertools.pairwise(edges))


def report_tables(shares: NDArray[np.float64], n: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Every table of n reports, and its probability when people are sampled independently."""
    tables = np.array(list(compositions(n, shares.size)))
    coefficients = [math.factorial(n) / math.prod(math.factorial(c) for c in table) for table in tables.tolist()]
    return tables, np.array(coefficients) * np.prod(shares**tables, axis=1)


def report_vectors(mechanism: FiniteMechanism, truths: list[int]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Every vector of reports of people with these truths, and its probability."""
    Q = mechanism.matrix()
    vectors = np.array(list(itertools.product(range(Q.shape[1]), repeat=len(truths))))
    return vectors, np.prod(Q[np.array(truths)[None, :], vectors], axis=1)


def mean_and_covariance(values: NDArray[np.float64], probability: NDArray[np.float64]) -> tuple[NDArray, NDArray]:
    mean = probability @ values
    centred = values - mean
    return mean, (centred.T * probability) @ centred


def count_law(n: int, ones: int, q_one: float, q_zero: float) -> NDArray[np.float64]:
    """P(N = 0 … n) when ``ones`` people report with probability q_one and the others with q_zero."""
    first = binom.pmf(np.arange(ones + 1), ones, q_one)
    return np.convolve(first, binom.pmf(np.arange(n - ones + 1), n - ones, q_zero))
