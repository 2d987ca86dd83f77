"""Coverage of Poisson regression from noisy covariates, given that the fit calls itself converged.

``python -m experiments.zil2025.heavy_tails --runs 400`` takes about ten minutes.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass

import numpy as np

from discreet import Box, Randomness
from discreet.estimate import m_estimate
from discreet.mechanisms import ZeroInflatedLaplace


@dataclass(frozen=True)
class Setting:
    """Covariates uniform on [−1, 1] × [0, 1], an intercept, counts with a logarithmic link."""

    scale: tuple[float, float]
    coefficients: tuple[float, float, float]
    n: int
    zero_probability: float = 0.15


SETTINGS = (
    Setting((0.8, 0.4), (0.5, 0.5, 0.2), 5_000),
    Setting((0.8, 0.4), (0.8, 0.5, 0.3), 5_000),
    Setting((0.8, 0.4), (1.2, 0.5, 0.0), 5_000),
    Setting((0.4, 0.2), (0.5, 0.5, 0.2), 2_000),
    Setting((0.8, 0.4), (0.5, 0.5, 0.2), 20_000),
    Setting((1.5, 0.8), (0.3, -0.3, 0.5), 20_000, 0.1),
)


def coverage(setting: Setting, runs: int) -> tuple[int, np.ndarray, int, np.ndarray]:
    """Fits with a finite standard error and their coverage; fits called converged and theirs."""
    mechanism = ZeroInflatedLaplace(Box([-1, 0], [1, 1]), setting.scale, setting.zero_probability)
    truth = np.array(setting.coefficients)
    finite, trusted = [], []
    for run in range(runs):
        rng = np.random.default_rng(run)
        x = np.c_[rng.uniform(-1, 1, setting.n), rng.uniform(0, 1, setting.n)]
        y = rng.poisson(np.exp(np.c_[x, np.ones(setting.n)] @ truth)).astype(float)
        reports = mechanism.privatize(x, Randomness.seeded(run))
        fit = m_estimate("poisson", reports, mechanism, outcome=y, public=np.ones(setting.n))
        covers = np.abs(fit.estimate - truth) <= 1.959964 * fit.std_error
        # A search that failed leaves its start, which is no estimate.
        if np.isfinite(fit.std_error).all() and not any("those of the start" in note for note in fit.notes):
            finite.append(covers)
        if fit.converged:
            trusted.append(covers)
    empty = np.full(truth.size, math.nan)
    shares = [np.mean(one, axis=0) if one else empty for one in (finite, trusted)]
    return len(finite), shares[0], len(trusted), shares[1]


def main() -> None:
    """Print one line per setting."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--only", type=int, nargs="*", help="numbers of settings, from 1")
    arguments = parser.parse_args()
    for number, setting in enumerate(SETTINGS, 1):
        if arguments.only and number not in arguments.only:
            continue
        found, covers, trusted, trusted_covers = coverage(setting, arguments.runs)
        print(
            f"{number} {setting}: a minimum in {found} of {arguments.runs}, covering {np.round(covers, 3)}; "
            f"converged {trusted}, covering {np.round(trusted_covers, 3)}",
            flush=True,
        )


if __name__ == "__main__":
    main()
