"""The power of a coefficient: simulated fits against the figure of ``design.power`` and the textbook's.

``python -m experiments.inference.power [runs [first]]`` prints one line per setting: ε, coefficients, people, the share
of fits that find the last coefficient with its Monte Carlo error, ``design.power``, and Φ(|β|/se − z). The formula was
chosen among three on the first six settings; the others were written down afterwards and decided nothing. A fit without
a maximum finds nothing; how many there are is printed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from discreet import design

Floats = NDArray[np.float64]
_QUANTILE = 1.959963984540054
#: Surveys that are fitted at once.
_BATCH = 50
#: Rows of the covariates that ``design.power`` is told of: with 4,000 the variance of the long-tailed one differs from
#: table to table, and the power with it by four points.
_TABLE = 100_000


def one_covariate(rng: np.random.Generator, n: int) -> Floats:
    """An intercept and a normal covariate."""
    return np.column_stack([np.ones(n), rng.standard_normal(n)])


def with_a_small_group(rng: np.random.Generator, n: int) -> Floats:
    """The same, and a group of one in ten."""
    return np.column_stack([np.ones(n), rng.standard_normal(n), rng.random(n) < 0.1])


def with_a_tiny_group(rng: np.random.Generator, n: int) -> Floats:
    """An intercept and a group of one in twenty."""
    return np.column_stack([np.ones(n), rng.random(n) < 0.05])


def skewed(rng: np.random.Generator, n: int) -> Floats:
    """An intercept and a log-normal covariate with a long tail, of variance one."""
    tail = np.exp(0.8 * rng.standard_normal(n))
    return np.column_stack([np.ones(n), (tail - 1.377) / 1.305])


SETTINGS: tuple[tuple[float, list[float], int, Callable[[np.random.Generator, int], Floats]], ...] = (
    (1.0, [-1.0, 0.3], 2000, one_covariate),
    (2.0, [-3.0, 0.5], 3000, one_covariate),
    (2.0, [-3.0, 0.3, 0.8], 6000, with_a_small_group),
    (1.0, [-3.0, 0.8], 3000, one_covariate),
    (2.0, [-1.0, 0.3, 0.5], 3000, with_a_small_group),
    (2.0, [-1.0, 0.3, -0.5], 3000, with_a_small_group),
    # From here on: confirmation.
    (0.5, [0.0, 0.3], 5000, one_covariate),
    (0.5, [-1.0, 0.35], 5000, one_covariate),
    (0.5, [-2.0, 0.6], 5000, one_covariate),
    (1.0, [0.0, 0.35], 1000, one_covariate),
    (1.0, [-2.0, 0.6], 1500, one_covariate),
    (1.0, [-1.5, 0.2], 4000, skewed),
    (2.0, [0.0, 0.4], 300, one_covariate),
    (2.0, [-2.0, 0.5], 600, one_covariate),
    (2.0, [1.5, -0.25], 1500, one_covariate),
    (2.0, [-1.0, 0.25], 1000, skewed),
    (3.0, [-3.0, 0.6], 800, one_covariate),
    (3.0, [-2.0, 0.3, 0.9], 800, with_a_small_group),
    (4.0, [-4.0, 0.7], 1200, one_covariate),
    (4.0, [-1.0, 0.35], 300, one_covariate),
    (4.0, [-2.0, 1.0], 1000, with_a_tiny_group),
    (4.0, [0.0, -0.9], 800, with_a_tiny_group),
)


def fitted(x: Floats, reports: Floats, channel: Floats) -> tuple[Floats, Floats]:
    """Z of the last coefficient of each survey, by Fisher scoring, and its last step."""
    b = np.zeros((x.shape[0], x.shape[2]))
    b[:, 0] = -1.0
    for _ in range(40):
        g = 1 / (1 + np.exp(-np.einsum("rnd,rd->rn", x, b)))
        share = channel[0, 1] * (1 - g) + channel[1, 1] * g
        slope = (channel[1, 1] - channel[0, 1]) * g * (1 - g)
        rate = slope / (share * (1 - share))
        information = np.einsum("rnd,rn,rne->rde", x, slope * rate, x) + 1e-9 * np.eye(x.shape[2])
        step = np.linalg.solve(information, np.einsum("rnd,rn->rd", x, rate * (reports - share))[..., None])[..., 0]
        b += step / np.maximum(1, 2 * np.abs(step).max(axis=1))[:, None]
    return b[:, -1] / np.sqrt(np.linalg.inv(information)[:, -1, -1]), np.abs(step).max(axis=1)


def main(runs: int = 1000, first: int = 0) -> None:
    """Every setting from one on."""
    for epsilon, beta, n, covariates in SETTINGS[first:]:
        mechanism, b = design.binary(epsilon).mechanism, np.array(beta)
        channel, rng = mechanism.matrix(), np.random.default_rng(3)
        found, astray = [], 0
        for _ in range(runs // _BATCH):
            x = np.stack([covariates(rng, n) for _ in range(_BATCH)])
            truth = rng.random((_BATCH, n)) < 1 / (1 + np.exp(-(x @ b)))
            reports = rng.random((_BATCH, n)) < np.where(truth, channel[1, 1], channel[0, 1])
            z, last = fitted(x, reports.astype(float), channel)
            found += list((z * np.sign(b[-1]) > _QUANTILE) & (last < 1e-4))
            astray += int((last >= 1e-4).sum())
        aim = design.Coefficient(covariates(np.random.default_rng(99), _TABLE), beta)
        power = design.power(mechanism, aim, n).power
        inverse, _ = aim._inverse_information(b, channel)
        textbook = norm.cdf(abs(b[-1]) / np.sqrt(inverse[-1, -1] / n) - _QUANTILE)
        share = np.mean(found)
        error = np.sqrt(share * (1 - share) / len(found))
        print(
            f"{epsilon:g} {beta} {n:,} {covariates.__name__}: {share:.3f} ± {error:.3f}, power {power:.3f}, "
            f"textbook {textbook:.3f}, {astray} without a maximum",
            flush=True,
        )


if __name__ == "__main__":
    main(*(int(one) for one in sys.argv[1:3]))
