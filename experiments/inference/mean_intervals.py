"""Coverage of the intervals of means, totals, quantiles, comparisons and correlations, for every kind of column.

    python -m experiments.inference.mean_intervals [--runs 1000] [--seed 1] [--only box] [--match quantile]

Each run draws people, randomises their answers and asks for the 95 % interval that a user gets by default. The truth is
that of the population the people come from. Columns with few values have quantile intervals above the level, since
their distribution function jumps over the share that is asked for; they are marked "few values".
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet import Box, Grid, Ordinal, Plan, Randomness, Release, estimate, release
from discreet.domains import Binary, WithBlank
from discreet.mechanisms import BinaryResponse, ChannelResponse, FiniteMechanism, GeneralizedResponse
from discreet.mechanisms.laplace import ZeroInflatedLaplace

N = 10_000
Rng = np.random.Generator


@dataclass(frozen=True)
class Setting:
    """One row of the table: ``draw`` makes a result from fresh people, ``truth`` is what it estimates."""

    name: str
    truth: float
    draw: Callable[[Rng, Randomness], Any]
    share_of_runs: float = 1.0


def coverage(setting: Setting, runs: int, seed: int) -> str:
    """Coverage with its Monte Carlo error, the bias, and the standard error against the spread of the estimates."""
    found, errors, inside = [], [], 0
    began = time.perf_counter()
    for run in range(runs):
        result = setting.draw(np.random.default_rng([seed, run]), Randomness.seeded(seed * 1_000_003 + run))
        (low, high), *_ = result.interval(0.95)
        inside += low - 1e-12 <= setting.truth <= high + 1e-12
        found.append(float(result.estimate[0]))
        errors.append(float(result.std_error[0]))
    share = inside / runs
    spread = np.std(found)
    return (
        f"{setting.name:<58} {share:6.1%} ± {np.sqrt(share * (1 - share) / runs):.1%}   "
        f"bias/se {(np.mean(found) - setting.truth) / (spread or 1) * np.sqrt(runs):5.1f}   "
        f"stated/actual se {np.mean(errors) / (spread or 1):.3f}   {runs} runs, {time.perf_counter() - began:.0f} s"
    )


def finite() -> Iterator[Setting]:
    """Columns with a list of values."""

    def column(name: str, mechanism: FiniteMechanism, f: Any, labels: Any, numbers: Any) -> Iterator[Setting]:
        f, numbers = np.asarray(f, float) / np.sum(f), np.asarray(numbers, float)

        def reports(rng: Rng, source: Randomness) -> Any:
            return mechanism.privatize(rng.choice(f.size, N, p=f), source)

        known = ~np.isnan(numbers)
        mean = float(f[known] @ numbers[known] / f[known].sum())
        yield Setting(f"mean: {name}", mean, lambda r, s: estimate.mean(reports(r, s), mechanism, labels=labels))
        F = np.cumsum(f[known]) / f[known].sum()
        few = ", few values" if f.size < 20 else ""
        for p in (0.5, 0.9):
            value = float(numbers[known][np.searchsorted(F, p - 1e-12)])
            yield Setting(
                f"quantile {p}: {name}{few}",
                value,
                lambda r, s, p=p: estimate.quantile(reports(r, s), mechanism, p, labels=labels),
                0.1 if few else 1.0,
            )

    grid, points = Grid(0, 10, 101), np.linspace(0, 10, 101)
    bell = np.exp(-((points - 4) ** 2) / 4)
    skewed = [0.3, 0.36, 0.22, 0.09, 0.02, 0.01]
    middle = GeneralizedResponse(4, 1.0).matrix()
    blurred = ChannelResponse([[str(round(x, 6)) for x in row[:3]] + [str(round(1 - sum(np.round(row[:3], 6)), 6))]
                               for row in middle.tolist()])  # fmt: skip
    yield from column("yes/no, 5 % yes, ε = 1", BinaryResponse.warner("0.7310585"), [95, 5], Binary(), [0, 1])
    yield from column("numbers 0–5, ε = 1", GeneralizedResponse(6, 1.0), skewed, [0, 1, 2, 3, 4, 5], range(6))
    places = [0.0, 1.0, 5.0, 20.0]
    yield from column("ordered, uneven, general channel", blurred, [4, 3, 2, 1], Ordinal(list("abcd"), places), places)
    yield from column("grid of 101 points, ε = 3", GeneralizedResponse(101, 3.0), bell, grid, points)
    fine = np.linspace(0, 10, 501)
    near = np.exp(-((fine - 4) ** 2) / 4)
    yield from column("grid of 501 points, ε = 5", GeneralizedResponse(501, 5.0), near, Grid(0, 10, 501), fine)
    blank = WithBlank(Ordinal([1, 2, 3, 4]))
    yield from column("ordered with a blank, ε = 1.5", GeneralizedResponse(5, 1.5), [3, 3, 2, 1, 1], blank,
                      [1, 2, 3, 4, np.nan])  # fmt: skip


def box() -> Iterator[Setting]:
    """One coordinate of zero-inflated Laplace noise."""
    noise = ZeroInflatedLaplace(Box([0], [10]), 4.0, 0.15)
    truth = 10 * np.random.default_rng(99).beta(2, 3, 2_000_000)

    def reports(rng: Rng, source: Randomness) -> Any:
        return noise.privatize(10 * rng.beta(2, 3, (N, 1)), source)

    yield Setting("mean: box", 4.0, lambda r, s: estimate.mean(reports(r, s), noise))
    above = float(np.mean(truth > 6))
    yield Setting("share above 6: box", above, lambda r, s: estimate.expectation(reports(r, s), noise, _above), 0.25)
    for p in (0.5, 0.9):
        value = float(np.quantile(truth, p))
        yield Setting(f"quantile {p}: box", value, lambda r, s, p=p: estimate.quantile(reports(r, s), noise, p), 0.5)


def _above(x: Any) -> Any:
    return x > 6


def public() -> Iterator[Setting]:
    """Numbers that were not randomised."""
    yield Setting("mean: public, log-normal", float(np.exp(0.5)), lambda r, _: estimate.mean(np.exp(r.normal(size=N))))
    for p, value in ((0.5, 1.0), (0.99, float(np.exp(2.3263478740408408)))):
        name = f"quantile {p}: public, log-normal"
        yield Setting(name, value, lambda r, _, p=p: estimate.quantile(np.exp(r.normal(size=N)), None, p))
    rare = "mean: public yes/no, 0.1 % yes"
    yield Setting(rare, 0.001, lambda r, _: estimate.mean(r.random(N) < 0.001))


def survey() -> Iterator[Setting]:
    """Weights, strata and clusters; 200 clusters of 50, each reaching into both groups."""
    asked = GeneralizedResponse(4, 2.0)
    cluster, stratum = np.repeat(np.arange(200), 50), np.repeat(np.arange(200) // 50, 50)
    weights, group = 1.0 + stratum, np.tile(["north", "south"], N // 2)
    aside = {"weights": weights, "strata": stratum, "clusters": cluster}
    # The mean of an answer in stratum h is that of shares f_h; clusters differ by a beta law around it.
    base = np.array([0.25, 0.25, 0.25, 0.25])
    tilt = np.array([-0.6, -0.2, 0.2, 0.6]) * 0.25

    def reports(rng: Rng, source: Randomness) -> Any:
        shift = rng.uniform(-1, 1, 200) + 0.5 * (np.arange(200) // 50 - 1.5) / 1.5
        shares = base + tilt * (shift / 1.5)[:, None]
        own = shares[cluster] + tilt * np.where(group == "north", 0.4, 0.0)[:, None]
        u = rng.random(N)[:, None]
        return asked.privatize((u > np.cumsum(own, axis=1)).sum(axis=1).clip(0, 3), source)

    slope = float(tilt @ np.arange(4))
    shift = np.average(0.5 * (np.arange(4) - 1.5) / 1.5, weights=1.0 + np.arange(4)) / 1.5
    north = 1.5 + slope * (shift + 0.4)
    yield Setting(
        "mean of a group: weights, strata, clusters",
        north,
        lambda r, s: estimate.mean(reports(r, s), asked, by=group, **aside)["north"],
    )
    yield Setting(
        "difference of groups: weights, strata, clusters",
        0.4 * slope,
        lambda r, s: estimate.mean(reports(r, s), asked, by=group, **aside).compare("north", "south"),
    )
    yield Setting(
        "ratio of groups: weights, strata, clusters",
        north / (north - 0.4 * slope),
        lambda r, s: estimate.mean(reports(r, s), asked, by=group, **aside).compare("north", "south", "ratio"),
    )
    yield Setting(
        "total: weights, strata, clusters",
        float(np.sum(weights) * (1.5 + slope * (shift + 0.2))),
        lambda r, s: estimate.total(reports(r, s), asked, **aside),
    )
    yield Setting(
        "quantile 0.6: weights, strata, clusters, few values",
        2.0,
        lambda r, s: estimate.quantile(reports(r, s), asked, 0.6, **aside),
        0.1,
    )
    fixed = np.random.default_rng(7).choice(4, N, p=[0.4, 0.3, 0.2, 0.1])
    yield Setting(
        "mean given the table, weights",
        float(np.average(fixed, weights=weights)),
        lambda _, s: estimate.mean(asked.privatize(fixed, s), asked, weights=weights, target="table"),
    )


def correlations() -> Iterator[Setting]:
    """Two private columns: independent blocks, one joint block, one box."""
    import pyarrow as pa

    def plan(*blocks: dict[str, Any]) -> Plan:
        return Plan.from_dict({"private": list(blocks), "output": {"order": "keep"}})

    two = [{"binary": ["no", "yes"]}, {"binary": ["no", "yes"]}]
    apart = plan(
        {"columns": ["a"], "domain": two[0], "mechanism": "randomized-response", "epsilon": 2.0},
        {"columns": ["b"], "domain": two[1], "mechanism": "randomized-response", "epsilon": 2.0},
    )
    joint = plan({"columns": ["a", "b"], "domains": two, "mechanism": "joint", "epsilons": [2.0, 2.0]})
    numbers = {"box": {"low": [-4, -4], "high": [4, 4]}}
    noise = {"mechanism": "zero-inflated-laplace", "epsilon": 4.0, "delta": 0.2, "zero_probability": 0.1}
    boxed = plan({"columns": ["a", "b"], "domain": numbers, **noise})

    def binary(rng: Rng, source: Randomness, asked: Plan) -> Release:
        a = rng.random(N) < 0.3
        b = np.where(rng.random(N) < 0.5, a, rng.random(N) < 0.3)
        names = np.array(["no", "yes"])
        return release(pa.table({"a": names[a * 1], "b": names[b * 1]}), asked, randomness=source)

    def normal(rng: Rng, source: Randomness) -> Release:
        x, e = rng.uniform(-2, 2, N), rng.uniform(-2, 2, N)
        return release(pa.table({"a": x, "b": 0.6 * x + 0.8 * e}), boxed, randomness=source)

    for name, asked in (("two blocks", apart), ("one joint block", joint)):
        yield Setting(
            f"correlation: yes/no, {name}",
            0.5,
            lambda r, s, asked=asked: estimate.correlation(binary(r, s, asked), "a", "b"),
            0.5,
        )
    yield Setting("correlation: box", 0.6, lambda r, s: estimate.correlation(normal(r, s), "a", "b"), 0.5)


KINDS = {"finite": finite, "box": box, "public": public, "survey": survey, "correlations": correlations}


def main() -> None:
    """Print one line per setting."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=list(KINDS))
    parser.add_argument("--match", default="", help="only settings whose name holds this text")
    chosen = parser.parse_args()
    print(f"Coverage of 95 % intervals, n = {N:,}")
    for kind in [chosen.only] if chosen.only else KINDS:
        for setting in (one for one in KINDS[kind]() if chosen.match in one.name):
            print(coverage(setting, max(2, round(chosen.runs * setting.share_of_runs)), chosen.seed), flush=True)


if __name__ == "__main__":
    main()
