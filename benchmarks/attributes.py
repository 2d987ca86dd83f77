"""Designs and draws for several attributes at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.measure import Result
from discreet import design


def _timed(work: str, against: str, limit: float, run: Callable[[], Any], detail: Callable[[Any], str]) -> Result:
    start = time.perf_counter()
    outcome = run()
    seconds = time.perf_counter() - start
    return Result(work, against, f"< {limit:g} s", f"{seconds:.2f} s", seconds, seconds < limit, detail(outcome))


def _random(count: int, low: float = 0.2, high: float = 2.0) -> tuple[Any, Any]:
    generator = np.random.default_rng(count)
    return generator.integers(2, 6, count), generator.uniform(low, high, count)


def _shown(found: Any) -> str:
    epsilon, bound = found.guarantee.epsilon, found.certificate.bound
    off = float(np.max(np.abs(found.marginal_epsilons - found.requested))) if len(found.requested) <= 2000 else 0.0
    return f"ε = {epsilon:.4f}, gap {epsilon / bound - 1:.2%}, product {found.product:.4g}, levels off by {off:.0e}"


def attribute_results(*, quick: bool) -> Iterator[Result]:
    """Every figure that the designs have to reach."""
    design.attributes([2, 3], [1.0, 1.0], "lp")  # loads the solver
    for count, limit, paper in ((10, 0.2, "54.9 s in the paper"), (14, 5.0, "2 hours for 12 in the paper")):
        sizes, levels = _random(count)
        for pairs in ("free", "keep"):
            work = f"linear programme, k = {count}, pairs {pairs}"
            yield _timed(
                work, paper, limit, lambda s=sizes, e=levels, p=pairs: design.attributes(s, e, "lp", p), _shown
            )
    yield _agreement(quick=quick)
    yield _timed(
        "exact design, 1,000 identical attributes",
        "–",
        1.0,
        lambda: design.attributes([4] * 1000, [0.5] * 1000),
        _shown,
    )
    for pairs in ("free", "keep"):
        sizes, levels = _random(100 if quick else 1000)
        work = f"exact design, {len(sizes)} different attributes, pairs {pairs}, certified"
        yield _timed(work, "–", 120.0, lambda s=sizes, e=levels, p=pairs: design.attributes(s, e, pairs=p), _shown)
    sizes, levels = _random(100_000, 1.0, 10.0)
    yield _timed(
        "heuristic, k = 100,000",
        "4 hours in the paper",
        2.0,
        lambda: design.attributes(sizes, levels, "inductive", allow_raised=True),
        lambda found: f"ε = {found.guarantee.epsilon:.6g}, {len(found.changed)} levels changed",
    )
    sizes, levels = _random(100)
    joint = design.attributes(sizes, levels).mechanism
    records = 10**4 if quick else 10**5
    truth = np.random.default_rng(1).integers(0, sizes, (records, 100))
    work = f"privatise {records:.0e} records × 100 attributes, exact threshold"
    yield _timed(work, "–", 10.0, lambda: joint.privatize(truth), lambda y: f"{y.size / 1e6:.0f} million cells")


def _agreement(*, quick: bool) -> Result:
    """Largest difference in ε between exact and lp over random sets, extremes included."""
    worst, sets = 0.0, 0
    start = time.perf_counter()
    for count in (2, 4, 6) if quick else (2, 3, 5, 7, 9, 10, 11, 12):
        generator = np.random.default_rng(count)
        for low, high in ((0.01, 0.3), (0.2, 2.0), (1.0, 8.0)):
            sizes, levels = generator.choice([2, 3, 5, 8, 40], count), generator.uniform(low, high, count)
            for pairs in ("free", "keep"):
                one, other = (design.attributes(sizes, levels, method, pairs) for method in ("exact", "lp"))
                worst = max(worst, abs(one.guarantee.epsilon - other.guarantee.epsilon))
                sets += 1
    detail = f"{sets} random sets in {time.perf_counter() - start:.0f} s"
    return Result(
        "exact against lp, largest difference in ε", "lp", "< 1e-06", f"{worst:.0e}", worst, worst < 1e-6, detail
    )
