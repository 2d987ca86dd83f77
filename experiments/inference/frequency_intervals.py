"""Coverage and width of the intervals for frequencies, method by method.

    python -m experiments.inference.frequency_intervals [binary | values] [--runs 4000] [--seed 1]

``binary``: yes/no questions with two and with four reports; by enumerating all tables of reports for n = 50, by
simulation otherwise. ``values``: generalised response, bipartite response and a general channel with rare values, by
simulation. Every figure is about the interval that ``Frequencies.interval`` returns.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterable

import numpy as np
from scipy.special import gammaln, xlogy

from discreet import Metric, design
from discreet.estimate import frequencies
from discreet.mechanisms import ChannelResponse, FiniteMechanism, GeneralizedResponse

METHODS = ("wald", "score", "likelihood-ratio", "wilson")
#: Tables that are left out of an enumeration have less than this probability in all.
LEFT_OUT = 1e-6
#: Five places whose nearest neighbours form a ring, so that bipartite response with two near values has full rank.
PLACES = Metric(list("abcde"), [[0, 1, 4, 5, 2], [2, 0, 1, 4, 5], [5, 2, 0, 1, 4], [4, 5, 2, 0, 1], [1, 4, 5, 2, 0]])

Table = tuple[int, ...]


def tables(shares: np.ndarray, n: int) -> tuple[list[Table], np.ndarray]:
    """The likeliest tables of n reports, up to ``LEFT_OUT`` in all, and their probabilities."""
    cells = shares.size
    bars = np.array(list(itertools.combinations(range(n + cells - 1), cells - 1)))
    edges = np.column_stack([np.full(len(bars), -1), bars, np.full(len(bars), n + cells - 1)])
    counts = np.diff(edges, axis=1) - 1
    chance = np.exp(gammaln(n + 1) - gammaln(counts + 1).sum(axis=1) + xlogy(counts, shares).sum(axis=1))
    order = np.argsort(-chance)
    kept = order[: int(np.searchsorted(np.cumsum(chance[order]), 1 - LEFT_OUT)) + 1]
    return [tuple(row) for row in counts[kept].tolist()], chance[kept]


class Intervals:
    """Intervals of one value by every method, kept for tables that come up again."""

    def __init__(self, mechanism: FiniteMechanism, value: int, estimator: str) -> None:
        self.mechanism, self.value, self.estimator = mechanism, value, estimator
        self.methods = [m for m in METHODS if m != "wilson" or self._result((1,) * mechanism.shape[1]).channels.line]
        self._kept: dict[Table, np.ndarray] = {}

    def _result(self, table: Table):
        return frequencies(counts=table, mechanism=self.mechanism, method=self.estimator)

    def of(self, table: Table) -> np.ndarray:
        """One (low, high) row per method."""
        if table not in self._kept:
            result = self._result(table)
            self._kept[table] = np.array([result.interval_of(self.value, 0.95, m) for m in self.methods])
        return self._kept[table]


def report(intervals: Intervals, truth: float, drawn: Iterable[Table], chance: np.ndarray) -> str:
    """Coverage and mean width of every method, with the Monte Carlo error of coverage where there is one."""
    bounds = np.array([intervals.of(table) for table in drawn])
    inside = (bounds[..., 0] <= truth + 1e-9) & (truth - 1e-9 <= bounds[..., 1])
    covered = chance @ inside / chance.sum()
    clipped = np.clip(np.nan_to_num(bounds), 0, 1)
    width = chance @ (clipped[..., 1] - clipped[..., 0]) / chance.sum()
    return "  ".join(f"{m} {c:.3f} ({w:.3f})" for m, c, w in zip(intervals.methods, covered, width, strict=True))


def measured(intervals: Intervals, f: np.ndarray, n: int, runs: int, rng: np.random.Generator) -> str:
    """By enumeration for n = 50 and up to four reports, else by simulation."""
    shares = f @ intervals.mechanism.matrix()
    if n <= 50 and shares.size <= 4:
        drawn, chance = tables(shares, n)
        return "exact    " + report(intervals, float(f[intervals.value]), drawn, chance)
    drawn = [tuple(row) for row in rng.multinomial(n, shares, size=runs).tolist()]
    return "simulated " + report(intervals, float(f[intervals.value]), drawn, np.ones(runs))


def binary(runs: int, rng: np.random.Generator) -> None:
    """Yes/no questions."""
    for epsilon, delta, reports in [(0.5, 0.1, 4), (1.0, 0.01, 4), (2.0, 0.05, 4), (1.0, 0.4, 4), (1.0, 0.0, 2)]:
        mechanism = design.binary(epsilon, delta, 0.02, reports=reports).mechanism
        for estimator in ("mle", "unbiased") if (epsilon, reports) == (0.5, 4) else ("mle",):
            intervals = Intervals(mechanism, 1, estimator)
            for n in (50, 200, 2000):
                for prevalence in (0, 0.005, 0.02, 0.1, 0.5):
                    f = np.array([1 - prevalence, prevalence])
                    print(f"({epsilon}, {delta}), {reports} reports, {estimator}, n = {n}, π = {prevalence}: ", end="")
                    print(measured(intervals, f, n, runs, rng), flush=True)


def values(runs: int, rng: np.random.Generator) -> None:
    """More than two values, some of them rare or absent."""
    designs = {
        "generalised, 4 values, ε = 1": GeneralizedResponse(4, 1.0),
        "generalised, 10 values, ε = 2": GeneralizedResponse(10, 2.0),
        "bipartite, 5 places, two near, ε = 3": design.bipartite(PLACES, 3.0, 2).mechanism,
        "flagged with .05, 4 values, ε = 1": flagged(4, 1.0, 0.05),
        "flagged with .05, 10 values, ε = 2": flagged(10, 2.0, 0.05),
    }
    for name, mechanism in designs.items():
        size = mechanism.shape[0]
        rare = np.array([0.0, 0.02, *np.full(size - 2, 0.98 / (size - 2))])
        lone = np.array([0.9, 0.1, *np.zeros(size - 2)])
        for what, f in (("rare", rare), ("lone", lone)):
            for value in (0, 1):
                intervals = Intervals(mechanism, value, "mle")
                for n in (50, 200, 2000):
                    print(f"{name}, {what}, n = {n}, π = {f[value]:g}: ", end="")
                    print(measured(intervals, f, n, runs, rng), flush=True)


def flagged(size: int, epsilon: float, delta: float) -> ChannelResponse:
    """Generalised response that publishes the truth, flagged, with probability δ: twice as many reports as values."""
    keep, other = GeneralizedResponse(size, epsilon).matrix()[0, :2]
    rows = np.hstack([(1 - delta) * (other + (keep - other) * np.eye(size)), delta * np.eye(size)])
    return ChannelResponse(rows.tolist(), epsilon)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="?", choices=["binary", "values"], default="binary")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    parser.add_argument("--runs", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    METHODS = tuple(given.methods)
    (binary if given.what == "binary" else values)(given.runs, np.random.default_rng(given.seed))
