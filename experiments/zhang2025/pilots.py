"""A pilot and the design made from it: what the second wave loses against the best design for the true coefficients."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from discreet import EstimationError, Randomness, design
from experiments.reporting import Check, Table
from experiments.zhang2025.designs import Regression
from experiments.zhang2025.problem import SEED

Floats = NDArray[np.float64]
#: People in all, of whom a tenth are in the pilot.
SIZES = (500, 5_000, 50_000)
LEVELS = ((0.3, 0.02), (0.3, 0.1), (1.0, 0.02), (1.0, 0.1), (1.0, 0.3))
#: Intercept and slope: labels from rare to frequent.
TRUTHS = ((-4.0, 0.8), (-3.0, 0.8), (-2.0, 1.0), (-1.0, 0.5), (0.0, 1.0), (0.0, 0.2), (2.0, 0.5), (3.0, 1.0))
DESIGNS = ("for the estimate alone", "symmetric, no pilot", "on average (ours)")


def regrets(size: int, epsilon: float, delta: float, beta: Floats, seed: int) -> tuple[bool, list[float]]:
    """Whether the pilot's estimate is finite, and the relative regret (A) of the three ways at the truth."""
    generator = np.random.default_rng([SEED, 6, seed])
    X = np.column_stack([np.ones(size), generator.standard_normal(size)])
    labels = (generator.random(size) < 1 / (1 + np.exp(-X @ beta))).astype(np.uint8)
    done = design.label_with_pilot(labels, X, epsilon, delta, randomness=Randomness.seeded(seed))
    values = Regression(X, beta, "logit", epsilon, delta)
    by_corner = dict(zip(values.corners, values.values()["A"], strict=True))

    def regret(p00: float, p11: float) -> float:
        nearest = min(by_corner, key=lambda point: abs(point[0] - p00) + abs(point[1] - p11))
        return float(by_corner[nearest] / min(by_corner.values()) - 1)

    try:
        alone = design.label(epsilon, delta, X, done.fit.coefficients).mechanism
        plugged = regret(float(alone.p00), float(alone.p11))
    except EstimationError:  # coefficients so large that no design has any information: nothing could be designed
        plugged = np.nan
    second = done.design.mechanism
    return done.fit.converged, [plugged, regret(*values.corners[0]), regret(float(second.p00), float(second.p11))]


def runs(count: int, sizes: Sequence[int]) -> Iterator[tuple[int, float, float, bool, list[float]]]:
    """Every size, level and truth, ``count`` times."""
    for number, (size, (epsilon, delta)) in enumerate((s, level) for s in sizes for level in LEVELS):
        for which, beta in enumerate(TRUTHS):
            for run in range(count):
                seed = (number * len(TRUTHS) + which) * 10_000 + run
                yield size, epsilon, delta, *regrets(size, epsilon, delta, np.array(beta), seed)


def comparison(count: int, sizes: Sequence[int] = SIZES) -> tuple[Table, list[Check]]:
    """Mean and upper regret by number of people, over all levels and truths."""
    found = list(runs(count, sizes))
    rows, gains = [], {}
    for size in sizes:
        chosen = [one for one in found if one[0] == size]
        infinite = np.mean([not one[3] for one in chosen])
        values = np.array([one[4] for one in chosen])
        for name, column in zip(DESIGNS, values.T, strict=True):
            known = column[~np.isnan(column)]
            error = float(known.std() / np.sqrt(known.size))
            upper, largest = float(np.quantile(known, 0.95)), float(known.max())
            rows.append([size, float(infinite), name, len(known), float(known.mean()), error, upper, largest])
        both = values[~np.isnan(values[:, 0])]
        gain = both[:, 0] - both[:, 2]
        gains[size] = float(gain.mean()), float(gain.std() / np.sqrt(len(gain)))
    columns = ["n", "infinite pilots", "second design", "runs", "mean regret", "± MC", "95 %", "largest"]
    return Table("What the second wave loses, pilot of n/10", columns, rows), [
        Check(
            "averaging over what the pilot leaves open beats trusting its estimate, and never costs much",
            gains[min(sizes)][0] > 0 and all(gain > -3 * error for gain, error in gains.values()),
            "; ".join(f"n = {n:,}: mean regret lower by {g:.3f} ± {error:.3f}" for n, (g, error) in gains.items()),
        )
    ]
