"""Exact draws of many columns at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.randomness import Randomness, Thresholds


@lru_cache(maxsize=64)
def _thresholds(chances: tuple[Fraction, ...]) -> tuple[tuple[Thresholds, ...], NDArray[np.intp]]:
    """One table per denominator, and the column order that groups the columns by table."""
    by_denominator: dict[int, list[int]] = {}
    for column, chance in enumerate(chances):
        by_denominator.setdefault(chance.denominator, []).append(column)
    if len(by_denominator) > 8:  # one common denominator, when it is small, keeps the work in one piece
        common = math.lcm(*by_denominator)
        if common.bit_length() <= 512:
            by_denominator = {common: list(range(len(chances)))}
    tables = tuple(
        Thresholds([int(chances[c] * denominator) for c in columns], denominator)
        for denominator, columns in by_denominator.items()
    )
    order = np.array([c for columns in by_denominator.values() for c in columns], np.intp)
    return tables, order


def bernoulli_columns(chances: tuple[Fraction, ...], count: int, randomness: Randomness) -> NDArray[np.bool_]:
    """A (count, columns) array of "yes", column c with probability ``chances[c]``, exactly."""
    tables, order = _thresholds(chances)
    parts = [table.below_columns(count, randomness) for table in tables]
    together = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
    if np.array_equal(order, np.arange(len(chances))):
        return together
    out = np.empty_like(together)
    out[:, order] = together
    return out


def choose_cells(weights: Sequence[int], count: int, randomness: Randomness) -> NDArray[np.intp]:
    """Indices drawn with probability proportional to integer weights of any size."""
    table, used = _alias(tuple(weights))
    return np.asarray(used[table.draw(np.zeros(count, np.uint8), randomness)])


@lru_cache(maxsize=32)
def _alias(weights: tuple[int, ...]):  # type: ignore[no-untyped-def]  # a private pair of table and indices
    from discreet.randomness import AliasTable

    used = [i for i, weight in enumerate(weights) if weight]
    chosen = [weights[i] for i in used]
    return AliasTable([chosen], sum(chosen)), np.array(used, np.intp)


def random_subsets(size: int, wanted: NDArray[np.intp], randomness: Randomness) -> NDArray[np.bool_]:
    """For every row a uniformly random subset of ``size`` items with ``wanted`` members, by ranking 64-bit keys."""
    rows = wanted.size
    if size == 1:
        return wanted.astype(bool)[:, None]
    keys = randomness.words(rows * size).reshape(rows, size)
    order = np.argsort(keys, axis=1)
    ranked = np.take_along_axis(keys, order, axis=1)
    out = np.zeros((rows, size), bool)
    np.put_along_axis(out, order, np.arange(size)[None, :] < wanted[:, None], axis=1)
    tied = np.flatnonzero(np.any(ranked[:, 1:] == ranked[:, :-1], axis=1))
    if tied.size:
        out[tied] = random_subsets(size, wanted[tied], randomness)
    return out
