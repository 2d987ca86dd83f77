"""Intervals of means of few people: between the known ends of the domain, Student's, and the normal one.

    python -m experiments.inference.bounded_means [--runs 4000] [--seed 1]

Columns with a list of values under generalised response: coverage and mean width of 95 % intervals for 10 to 10,000
people. Reports are drawn as counts, and every interval is worked out from the formulas that ``estimate.mean`` uses.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from discreet.estimate.channels.channel import Channels
from discreet.estimate.channels.debiased_scores import support_of
from discreet.estimate.intervals.bounded_mean import bounded, reaches
from discreet.estimate.intervals.levels import two_sided_quantile
from discreet.mechanisms import GeneralizedResponse

FEW = np.array([0, 1, 2, 5, 20, 100.0])
POINTS = np.linspace(0, 10, 101)
MONEY = np.arange(1001.0)
BELL, FALLING = np.exp(-((POINTS - 2) ** 2) / 4), np.exp(-POINTS)
SALARY = np.exp(-((np.log(MONEY + 1) - 3) ** 2))
#: Name, numbers, their law and ε.
SETTINGS: tuple[tuple[str, Any, Any, float], ...] = (
    ("1 % have 100, others 0–20; ε = 3", FEW, [0.5, 0.2, 0.2, 0.08, 0.01, 0.01], 3.0),
    ("the same; ε = 6", FEW, [0.5, 0.2, 0.2, 0.08, 0.01, 0.01], 6.0),
    ("five steps; ε = 1", np.arange(1, 6.0), [1, 2, 4, 2, 1], 1.0),
    ("five steps, 90 % the last; ε = 4", np.arange(1, 6.0), [0.01, 0.01, 0.03, 0.05, 0.9], 4.0),
    ("101 points, a bell; ε = 3", POINTS, BELL, 3.0),
    ("101 points, a bell; ε = 9", POINTS, BELL, 9.0),
    ("101 points, falling; ε = 9", POINTS, FALLING, 9.0),
    ("1,001 points, lognormal; ε = 8", MONEY, SALARY, 8.0),
    ("1,001 points, lognormal; ε = 12", MONEY, SALARY, 12.0),
)


def measured(numbers: Any, law: Any, epsilon: float, n: int, runs: int, rng: np.random.Generator) -> str:
    """Coverage and mean width of the three intervals."""
    law = np.asarray(law, float) / np.sum(law)
    mechanism = GeneralizedResponse(numbers.size, epsilon)
    scores = mechanism.inverse.scores(numbers)
    support = support_of(Channels.of(mechanism), scores, numbers)
    counts = rng.multinomial(n, law @ mechanism.matrix(), size=runs)
    mean, truth = counts @ scores / n, float(law @ numbers)
    plug_in = np.maximum(counts @ scores**2 / n - mean**2, 0.0)
    variance = np.maximum(plug_in * n / (n - 1), support.least)
    t = np.full(runs, two_sided_quantile(0.95, n - 1))
    ours = bounded(mean, *reaches(mean, variance, np.full(runs, float(n)), t, support), support)
    found = {"known ends": ours}
    for name, reach in (("Student", t * np.sqrt(variance / n)), ("normal", 1.959964 * np.sqrt(plug_in / n))):
        found[name] = np.stack([mean - reach, mean + reach], axis=1)
    return "   ".join(
        f"{name} {np.mean((ends[:, 0] <= truth) & (truth <= ends[:, 1])):6.1%}, {np.nanmean(np.ptp(ends, axis=1)):8.3g}"
        for name, ends in found.items()
    )


def main() -> None:
    """Print one line per setting and number of people."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    rng = np.random.default_rng(given.seed)
    print(f"Coverage and mean width, {given.runs:,} runs (Monte Carlo error {np.sqrt(0.0475 / given.runs):.1%})")
    for name, numbers, law, epsilon in SETTINGS:
        for n in (10, 40, 150, 1_000, 10_000):
            print(f"{name:<36} n = {n:>6,}   {measured(numbers, law, epsilon, n, given.runs, rng)}", flush=True)


if __name__ == "__main__":
    main()
