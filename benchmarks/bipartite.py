"""Reports near the truth: design, sampling, the optimal channel, and the coverage of ranges."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

import numpy as np

from benchmarks.measure import Result, at_least, in_turn, seconds
from discreet import Metric, Ordinal, design
from discreet.estimate.bounds import share_region
from discreet.estimate.sampling.weighted_counts import Evidence
from discreet.mechanisms import GeneralizedResponse

EPSILON = 1.0


def within(work: str, target: float, took: list[float], detail: str = "") -> Result:
    """A time in seconds that must not be exceeded."""
    middle = median(took)
    spread = f"{min(took):.2f}–{max(took):.2f} s in {len(took)} repetitions"
    return Result(
        work, "the clock", f"≤ {target:g} s", f"{middle:.2f} s", middle, middle <= target, f"{detail}{spread}"
    )


def places(count: int, seed: int = 1) -> Metric:
    """Random places in a rectangle of the size of the United States."""
    rng = np.random.default_rng(seed)
    return Metric.points(range(count), rng.uniform([25, -124], [49, -70], (count, 2)), "haversine")


def bipartite_results(n: int, repetitions: int) -> Iterator[Result]:
    """Every figure that a mechanism for ordered and metric domains has to reach."""
    domain = places(3000)
    took = [seconds(lambda: design.bipartite(domain, EPSILON).guarantee) for _ in range(repetitions)]
    yield within("design for a 3,000-place metric domain, with its guarantee", 2.0, took)
    mechanism, plain = design.bipartite(Ordinal(range(1000)), EPSILON).mechanism, GeneralizedResponse(1000, EPSILON)
    codes = np.random.default_rng(1).integers(0, 1000, n).astype(np.uint16)
    times = in_turn(lambda: mechanism.privatize(codes), lambda: plain.privatize(codes), 3 * repetitions)
    yield at_least(
        f"privatise n = {n:.0e} values, equidistant N = 1,000",
        "GeneralizedResponse",
        1 / 3,
        times.ratio,
        times.detail(n, "generalised"),
    )
    for size, target in ((40, 1.0), (100, 10.0)):
        found: list[float] = []
        took = [
            seconds(
                lambda s=size, gaps=found: gaps.append(
                    design.expected_error(Ordinal(range(s)), EPSILON).certificate.gap
                )
            )
            for _ in range(repetitions)
        ]
        gap = f"certificate gap {max(found):.1e} (must be ≤ 1e-6); "
        line = within(f"optimal channel, N = {size}", target, took, gap)
        yield line if max(found) <= 1e-6 else Result(**(vars(line) | {"passed": False}))
    took = [
        seconds(lambda: design.bipartite(Ordinal(range(10**6)), EPSILON, "best").guarantee) for _ in range(repetitions)
    ]
    yield within("design for a million equidistant points, best m", 2.0, took)
    yield coverage(2_000)


def coverage(runs: int) -> Result:
    """How often all true frequencies lie in their ranges: exactly when their report shares lie in the region."""
    rng = np.random.default_rng(5)
    worst = 1.0
    for size in (5, 25):
        channel = design.bipartite(Ordinal(range(size)), EPSILON).mechanism.matrix()
        for n in (100, 10_000):
            shares = rng.dirichlet(np.full(size, 0.5)) @ channel
            hits = sum(
                share_region(Evidence(rng.multinomial(n, shares)), "population", 0.95).contains(shares)
                for _ in range(runs)
            )
            worst = min(worst, hits / runs)
    return Result(
        "coverage of the ranges, every value at once, worst of four settings",
        "the stated 95 %",
        "≥ 95 %",
        f"{worst:.1%}",
        worst,
        worst >= 0.95,
        f"{runs} simulated surveys each",
    )
