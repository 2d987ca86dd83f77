"""Shuffled files worked out without the privacy blanket, or with it but by enumeration: slow, exact, for comparison."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
from scipy.stats import binom


def random_channel(generator: np.random.Generator) -> np.ndarray:
    """2–4 values, 2–5 reports, rows of whole numbers above 0 with the sum 10⁴."""
    values, reports = generator.integers(2, 5), generator.integers(2, 6)
    shares = generator.dirichlet(np.full(reports, generator.choice([0.7, 2.0, 6.0])), values)
    weights = 1 + np.floor(shares * (10**4 - 2 * reports)).astype(int)
    weights[:, -1] += 10**4 - weights.sum(axis=1)
    return weights


def counts_laws(channel: np.ndarray, people: int) -> Iterator[np.ndarray]:
    """For all true answers of the others: the law of the counts of reports, one for each true answer of the person.

    Counts of all reports but the last are the axes.
    """
    values, reports = channel.shape
    shifts = [np.eye(reports, dtype=int)[y][:-1] for y in range(reports)]

    def with_one_more(law: np.ndarray, row: np.ndarray) -> np.ndarray:
        out = np.zeros_like(law)
        for y, shift in enumerate(shifts):
            here = tuple(slice(s, None) for s in shift)
            before = tuple(slice(None, -s if s else None) for s in shift)
            out[here] += row[y] * law[before]
        return out

    start = np.zeros((people + 1,) * (reports - 1))
    start.flat[0] = 1.0
    known = {(): start}
    for size in range(1, people):
        known = {
            others: with_one_more(known[others[:-1]], channel[others[-1]])
            for others in itertools.combinations_with_replacement(range(values), size)
        }
    for law in known.values():
        yield np.stack([with_one_more(law, row).ravel() for row in channel])


def exact_delta(channel: np.ndarray, people: int, epsilons: list[float]) -> list[float]:
    """The exact δ(ε) of the shuffled reports: the worst over both true answers and all true answers of the others."""
    worst = np.zeros(len(epsilons))
    for laws in counts_laws(channel, people):
        for i, epsilon in enumerate(epsilons):
            excess = np.maximum(laws[:, None] - math.exp(epsilon) * laws[None, :], 0).sum(axis=2)
            worst[i] = max(worst[i], excess.max())
    return worst.tolist()


def exact_blanket(epsilon_0: float, size: int, people: int, epsilon: float) -> float:
    """The blanket's bound for generalised response by its double sum: counts of x and x', and of all other values."""
    ratio, factor = math.exp(epsilon_0), math.exp(epsilon)
    other = 1 / (ratio + size - 1)
    counts = np.arange(people + 1)
    total = 0.0
    for either, chance in zip(counts, binom.pmf(counts, people, 2 * other), strict=True):
        if chance < 1e-60:
            continue
        first = np.arange(either + 1)
        gain = first * (ratio - factor) + (either - first) * (1 - factor * ratio)
        share = binom.pmf(first, either, 0.5)
        rest = np.zeros(1, int)
        weight = np.ones(1)
        if size > 2:
            rest = np.arange(people - either + 1)
            weight = binom.pmf(rest, people - either, min(1.0, (size - 2) * other / (1 - 2 * other)))
            rest, weight = rest[weight > 1e-40], weight[weight > 1e-40]
        sums = np.maximum(gain[:, None] + rest[None, :] * (1 - factor), 0)
        total += chance * float(share @ sums @ weight)
    return total / people


def exact_binary_epsilon(epsilon_0: float, people: int, delta: float) -> float:
    """The smallest ε of shuffled binary responses, over all numbers of others with a true "yes"."""
    keep = 1 / (1 + math.exp(-epsilon_0))

    def law(yes: int) -> np.ndarray:
        no = people - yes
        parts = binom.pmf(np.arange(yes + 1), yes, keep), binom.pmf(np.arange(no + 1), no, 1 - keep)
        return np.convolve(*parts)

    laws = np.array([law(yes) for yes in range(people + 1)])

    def exceeds(epsilon: float) -> bool:
        one, other, factor = laws[1:], laws[:-1], math.exp(epsilon)
        excess = [np.maximum(a - factor * b, 0).sum(axis=1).max() for a, b in ((one, other), (other, one))]
        return max(excess) > delta

    low, high = 0.0, epsilon_0
    while high - low > 1e-9:
        middle = (low + high) / 2
        low, high = (middle, high) if exceeds(middle) else (low, middle)
    return low
