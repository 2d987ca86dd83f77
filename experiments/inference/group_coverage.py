"""Coverage of means, totals, differences and ratios of groups, and of quantiles, for every kind of column.

    python -m experiments.inference.group_coverage [--runs 1000] [--match "n = 200"]

Groups are uneven (90, 8 and 2 % of 10,000 people; 150, 40 and 10 of 200), values rare. With a survey: weights, strata
and clusters of different sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from discreet import Box, Grid, Plan, Randomness, design, estimate, release
from discreet.mechanisms import BinaryResponse, CyclicResponse, GeneralizedResponse, ZeroInflatedLaplace
from experiments.inference.coverage import Setting, main

Rng = np.random.Generator
SIZES = {10_000: (9_000, 800, 200), 200: (150, 40, 10)}
GROUPS = ("a", "b", "c")


def asked(groups: Any, means: list[float], reported: Callable[[Rng, Randomness], tuple[Any, Any, dict[str, Any]]],
          name: str, ratio: bool) -> Setting:  # fmt: skip
    """Mean and total of every group, difference and ratio of the first two."""
    sizes = [int(np.sum(groups == one)) for one in GROUPS]
    truth = {f"mean {one}": mean for one, mean in zip(GROUPS, means, strict=True)}
    truth |= {f"total {one}": mean * size for one, mean, size in zip(GROUPS, means, sizes, strict=True)}
    truth |= {"total": float(np.dot(means, sizes)), "a − b": means[0] - means[1]}
    if ratio:
        truth["b / a"] = means[1] / means[0]

    def ask(rng: Rng, source: Randomness) -> Any:
        reports, mechanism, more = reported(rng, source)
        by = more.pop("by", groups)
        mean = estimate.mean(reports, mechanism, by=by, **more)
        total = estimate.total(reports, mechanism, by=by, **more)
        found = (mean, total, estimate.total(reports, mechanism, **more), mean.compare("a", "b"))
        return (*found, mean.compare("b", "a", "ratio")) if ratio else found

    return Setting(name, truth, ask)


def of_list(name: str, n: int, mechanism: Any, shares: list[Any], numbers: Any, *,
            ratio: bool = True, **more: Any) -> Setting:  # fmt: skip
    """A column with a list of values, whose shares differ by group."""
    groups = np.repeat(GROUPS, SIZES[n])
    law = np.array(shares, float) / np.sum(shares, axis=1, keepdims=True)
    numbers = np.asarray(numbers, float)

    def reported(rng: Rng, source: Randomness) -> Any:
        truth = np.concatenate([rng.choice(law.shape[1], m, p=f) for m, f in zip(SIZES[n], law, strict=True)])
        return mechanism.privatize(truth, source), mechanism, dict(more)

    return asked(groups, [float(f @ numbers) for f in law], reported, f"{name}, n = {n:,}", ratio and n > 1_000)


def kinds(n: int) -> Iterator[Setting]:
    """Every kind of column."""
    warner = BinaryResponse.warner("0.7310585")
    yield of_list("yes/no, ε = 1", n, warner, [[0.97, 0.03], [0.8, 0.2], [0.9, 0.1]], [0, 1], ratio=False)
    four = design.binary(0.5, 0.1, reports=4).mechanism
    yield of_list("yes/no, four reports", n, four, [[0.97, 0.03], [0.8, 0.2], [0.9, 0.1]], [0, 1], ratio=False)
    rare = [[0.7, 0.2, 0.07, 0.02, 0.007, 0.003], [0.5, 0.2, 0.2, 0.08, 0.01, 0.01], [0.2, 0.2, 0.2, 0.2, 0.1, 0.1]]
    few = [0, 1, 2, 5, 20, 100]
    yield of_list("rare large values, ε = 3", n, GeneralizedResponse(6, 3.0), rare, few, ratio=False, labels=few)
    fifty = np.arange(50)
    falling = [np.exp(-fifty / 5.0), np.exp(-fifty / 10.0), np.exp(-fifty / 20.0)]
    yield of_list(
        "cyclic, 50 values, ε = 2", n, CyclicResponse(50, 2.0), falling, fifty, ratio=False, labels=fifty.tolist()
    )
    points = np.linspace(0, 10, 101)
    bells = [np.exp(-((points - centre) ** 2) / 4) for centre in (2, 5, 8)]
    yield of_list("grid, 101 points, ε = 3", n, GeneralizedResponse(101, 3.0), bells, points, labels=Grid(0, 10, 101))
    unbiased = design.mean(Grid(0, 1, 11), 1.0).mechanism
    lumps = [[9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1], [5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5], [1] * 11]
    yield of_list("unbiased numbers, ε = 1", n, unbiased, lumps, np.linspace(0, 1, 11), labels=Grid(0, 1, 11))
    groups, sizes = np.repeat(GROUPS, SIZES[n]), SIZES[n]
    noise = ZeroInflatedLaplace(Box([0], [10]), 4.0, 0.15)
    shapes = ((1, 6), (2, 3), (1, 1))

    def boxed(rng: Rng, source: Randomness) -> Any:
        x = np.concatenate([10 * rng.beta(*shape, m) for shape, m in zip(shapes, sizes, strict=True)])
        return noise.privatize(x[:, None], source), noise, {}

    yield asked(groups, [10 / 7, 4.0, 5.0], boxed, f"numbers with noise, n = {n:,}", n > 1_000)

    def plain(rng: Rng, _source: Randomness) -> Any:
        return np.concatenate([rng.gamma(2, k, m) for k, m in zip((1, 2, 3), sizes, strict=True)]), None, {}

    yield asked(groups, [2.0, 4.0, 6.0], plain, f"public numbers, n = {n:,}", n > 1_000)
    yield joint(n)


def joint(n: int) -> Setting:
    """One column of three that were randomised together, read from a release."""
    import pyarrow as pa

    domains = [{"binary": ["no", "yes"]}, {"categorical": [0, 1, 5]}, {"binary": ["no", "yes"]}]
    plan = Plan.from_dict(
        {
            "public": [{"columns": ["g"]}],
            "private": [{"columns": ["x", "v", "z"], "domains": domains, "mechanism": "joint", "epsilons": [1, 2, 1]}],
        }
    )
    groups = np.repeat(GROUPS, SIZES[n])
    law = np.array([[0.9, 0.08, 0.02], [0.6, 0.3, 0.1], [0.3, 0.3, 0.4]])

    def reported(rng: Rng, source: Randomness) -> Any:
        v = np.concatenate([rng.choice([0, 1, 5], m, p=f) for m, f in zip(SIZES[n], law, strict=True)])
        words = np.where(rng.random((2, n)) < 0.1 + 0.15 * v, "yes", "no")
        made = release(pa.table({"g": groups, "x": words[0], "v": v, "z": words[1]}), plan, randomness=source)
        return made, "v", {"by": "g"}

    means = [float(f @ [0, 1, 5]) for f in law]
    return asked(groups, means, reported, f"one of a joint block, ε = 2, n = {n:,}", n > 1_000)


def survey(n: int) -> Setting:
    """Weights, five strata, clusters of 2 to 40 people that reach into all groups."""
    layout = np.random.default_rng(5)
    sizes = layout.integers(2, 41, n)
    cluster = np.repeat(np.arange(n), sizes)[:n]
    stratum, weights = cluster % 5, np.exp(layout.normal(0, 0.7, n))
    groups = layout.choice(GROUPS, n, p=[0.75, 0.2, 0.05])
    mechanism = GeneralizedResponse(4, 2.0)
    numbers = np.array([0.0, 1.0, 2.0, 10.0])
    law = np.array([[0.6, 0.25, 0.1, 0.05], [0.4, 0.3, 0.2, 0.1], [0.25, 0.25, 0.25, 0.25]])
    row = law[np.searchsorted(GROUPS, groups)]

    def reported(rng: Rng, source: Randomness) -> Any:
        from scipy.special import ndtr

        u = ndtr(np.sqrt(0.2) * rng.normal(size=n)[cluster] + np.sqrt(0.8) * rng.normal(size=n))
        truth = (u[:, None] > np.cumsum(row, axis=1)[:, :3]).sum(axis=1)
        more = {"weights": weights, "strata": stratum, "clusters": cluster, "labels": numbers.tolist()}
        return mechanism.privatize(truth, source), mechanism, more

    means = law @ numbers
    truth = {f"mean {one}": float(mean) for one, mean in zip(GROUPS, means, strict=True)}
    truth |= {"a − b": float(means[0] - means[1]), "b / a": float(means[1] / means[0])}

    def ask(rng: Rng, source: Randomness) -> Any:
        reports, asked_by, more = reported(rng, source)
        mean = estimate.mean(reports, asked_by, by=groups, **more)
        return mean, mean.compare("a", "b"), mean.compare("b", "a", "ratio")

    return Setting(f"weights, strata, clusters, n = {n:,}", truth, ask)


def quantiles(n: int) -> Iterator[Setting]:
    """Quantiles on coarse and on fine grids, with little and much privacy."""
    for size, epsilon in ((11, 2.0), (101, 3.0), (101, 6.0), (201, 4.0), (1001, 6.0), (1001, 9.0)):
        points = np.linspace(0, 10, size)
        law = np.exp(-((points - 4) ** 2) / 4)
        law /= law.sum()
        mechanism, grid = GeneralizedResponse(size, epsilon), Grid(0, 10, size)
        shares = (0.1, 0.5, 0.9)
        truth = {f"quantile {p}": float(points[np.searchsorted(np.cumsum(law), p - 1e-12)]) for p in shares}

        def ask(rng: Rng, source: Randomness, mechanism: Any = mechanism, law: Any = law, grid: Any = grid) -> Any:
            reports = mechanism.privatize(rng.choice(law.size, n, p=law), source)
            return tuple(estimate.quantile(reports, mechanism, p, labels=grid) for p in (0.1, 0.5, 0.9))

        yield Setting(f"quantiles, {size} points, ε = {epsilon:g}, n = {n:,}", truth, ask)


def settings() -> Iterator[Setting]:
    """All of them."""
    for n in SIZES:
        yield from kinds(n)
    yield survey(10_000)
    yield survey(1_000)
    yield from quantiles(10_000)


if __name__ == "__main__":
    main(settings, __doc__, "group_coverage")
