"""What the box is worth: error and coverage of every method for numeric vectors, beside fits to the true records.

``python -m experiments.numeric_box --runs 200`` prints one line per setting and method, with Monte Carlo errors, in
half an hour on one core. Runs are kept in ``--folder`` and taken up again. ``--only 1 4`` runs some of the settings,
``--means`` those of means and quantiles instead.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.special import ndtr, ndtri

from discreet import Box, Randomness, estimate
from discreet.estimate import m_estimate
from discreet.mechanisms import ZeroInflatedLaplace
from experiments.store import RunFile

Z = 1.959964


@dataclass(frozen=True)
class Setting:
    """Covariates in [−1, 1], standard normal given that (or as the loss says), slopes of one, an intercept of .2."""

    loss: str
    d: int
    scale: float
    zero: float
    n: int = 5_000

    @property
    def mechanism(self) -> ZeroInflatedLaplace:
        """The noise."""
        if self.loss == "poisson":
            return ZeroInflatedLaplace(Box([-1, 0], [1, 1]), (0.8, 0.4), self.zero)
        return ZeroInflatedLaplace(Box([-1] * self.d, [1] * self.d), self.scale, self.zero)

    @property
    def slopes(self) -> np.ndarray:
        """The truth."""
        return np.array([0.8, 0.5]) if self.loss == "poisson" else np.ones(self.d)

    def draw(self, run: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """True covariates, outcomes and reports."""
        rng, n = np.random.default_rng([8, run]), self.n
        if self.loss == "poisson":
            x = np.c_[rng.uniform(-1, 1, n), rng.uniform(0, 1, n)]
            y = rng.poisson(np.exp(x @ self.slopes + 0.3)).astype(float)
        else:
            tail = ndtr(-1.0)
            x = ndtri(tail + rng.random((n, self.d)) * (1 - 2 * tail))
            index = x.sum(axis=1) + 0.2
            y = (rng.random(n) < 1 / (1 + np.exp(-index))) * 1.0
            if self.loss == "check":
                y = index + rng.standard_normal(n)
        return x, y, self.mechanism.privatize(x, Randomness.seeded(run))


SETTINGS = (
    Setting("logistic", 1, 2.0, 0.1),
    Setting("logistic", 2, 2.0, 0.1),
    Setting("logistic", 3, 2.0, 0.1),
    Setting("logistic", 2, 5.26, 0.08),
    Setting("logistic", 6, 1.0, 0.2),
    Setting("logistic", 6, 2.0, 0.2),
    Setting("check", 6, 2.0, 0.2, 2_500),
    Setting("poisson", 2, 0.8, 0.15),
    Setting("logistic", 1, 1.0, 0.05),
)


#: What a run of a method leaves: whether it converged, the mean squared error of slopes, and the shares of intervals
#: that cover, by standard errors and by default.
COLUMNS = ("converged", "square", "covers", "default")
METHODS = ("oracle", "box", "exact", "likelihood")


def one_run(setting: Setting, method: str, run: int) -> list[float]:
    """One fit."""
    x, y, reports = setting.draw(run)
    ones, mechanism = np.ones(setting.n), setting.mechanism
    if method == "oracle":
        reports, mechanism, method = x, ZeroInflatedLaplace(mechanism.box, 1e-6, 0.5), "naive"
    fit = m_estimate(setting.loss, reports, mechanism, outcome=y, public=ones, method=method)
    if not fit.converged:
        return [0.0, math.nan, math.nan, math.nan]
    gap = fit.estimate[: setting.d] - setting.slopes
    covers = np.abs(gap) <= Z * fit.std_error[: setting.d]
    low, high = fit.interval()[: setting.d].T
    within = (low <= setting.slopes) & (setting.slopes <= high)
    return [1.0, float(np.mean(gap**2)), float(np.mean(covers)), float(np.mean(within))]


def runs_of(number: int, setting: Setting, method: str, runs: int, folder: Path) -> np.ndarray:
    """The results of the first runs, those that are missing carried out."""
    kept = RunFile(folder / f"setting{number}_{method}.csv", COLUMNS)
    for run in range(kept.take_up(), runs):
        kept.append([one_run(setting, method, run)])
    found = kept.read()
    return np.stack([found[name] for name in COLUMNS], axis=1)


def table(number: int, setting: Setting, runs: int, methods: Sequence[str], folder: Path) -> None:
    """One line per method: error per slope over the fits that converged, coverage, both with Monte Carlo errors."""
    found = {
        method: runs_of(number, setting, method, runs if method in methods else 0, folder)
        for method in METHODS
        if method != "likelihood" or (setting.d <= 3 and setting.loss != "check")
    }
    found = {method: lines for method, lines in found.items() if len(lines)}
    for method, lines in found.items():
        good = lines[:, 0] == 1
        text = f"{number} {setting}: {method}: converged {good.sum()} of {good.size}"
        if good.any():
            squares, covers = lines[good, 1], lines[good, 2]
            rmse, root = math.sqrt(squares.mean()), math.sqrt(good.sum())
            text += f", RMSE {rmse:.3f} ± {squares.std() / (2 * rmse * root):.3f}"
            text += f", coverage {covers.mean():.3f} ± {covers.std() / root:.3f}"
        print(text, flush=True)


def means(runs: int, n: int = 10_000) -> None:
    """Mean, share and quantiles of one numeric column: coverage, and the standard error beside that of the reports."""
    from scipy.stats import beta

    laws = {
        "even": lambda rng: rng.uniform(0, 10, n),
        "beta(2, 5)": lambda rng: 10 * rng.beta(2, 5, n),
        "at the edges": lambda rng: rng.choice([0.0, 10.0, 4.0], n, p=[0.3, 0.2, 0.5]),
    }
    truths: dict[str, tuple[float | None, ...]] = {
        "even": (5.0, 0.4, 5.0, 9.0),
        "beta(2, 5)": (20 / 7, beta.sf(0.6, 2, 5), 10 * beta.ppf(0.5, 2, 5), 10 * beta.ppf(0.9, 2, 5)),
        "at the edges": (4.0, 0.2, None, None),
    }
    for scale, zero in ((4.0, 0.15), (20.0, 0.05)):
        mechanism = ZeroInflatedLaplace(Box(0, 10), scale, zero)
        for name, law in laws.items():
            hits: dict[str, list[bool]] = {}
            ratio, spread = [], []
            for run in range(runs):
                rng = np.random.default_rng([9, run])
                reports = mechanism.privatize(law(rng), Randomness.seeded(run))
                asked = {
                    "mean": estimate.mean(reports, mechanism),
                    "share above 6": estimate.expectation(reports, mechanism, lambda x: x > 6),
                    "median": estimate.quantile(reports, mechanism, 0.5) if truths[name][2] is not None else None,
                    "quantile .9": estimate.quantile(reports, mechanism, 0.9) if truths[name][3] is not None else None,
                }
                for (what, result), truth in zip(asked.items(), truths[name], strict=True):
                    if result is not None and truth is not None:
                        low, high = result.interval()[0]
                        hits.setdefault(what, []).append(bool(low <= truth <= high))
                ratio.append(float(asked["mean"].std_error[0]) / (reports.std() / math.sqrt(n)))
                spread.append((float(asked["mean"].estimate[0]), float(asked["mean"].std_error[0])))
            error = math.sqrt(0.0475 / runs)
            off = {what: f"{np.mean(one):.3f}" for what, one in hits.items()}
            means_of = np.array(spread)
            print(
                f"λ = {scale:g}, δ₀ = {zero:g}, {name}, {runs} runs (± {error:.3f}): coverage {off}, "
                f"standard error of the mean {np.mean(ratio):.3f} times that of the reports, "
                f"{means_of[:, 1].mean() / means_of[:, 0].std():.2f} times its spread",
                flush=True,
            )


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--only", type=int, nargs="*", help="numbers of settings, from 1")
    parser.add_argument("--methods", nargs="*", default=list(METHODS), help="which to run; what was kept is shown")
    parser.add_argument("--folder", type=Path, default=Path("results/numeric_box"))
    parser.add_argument("--means", action="store_true", help="means and quantiles instead")
    given = parser.parse_args()
    if given.means:
        means(given.runs)
        return
    for number, setting in enumerate(SETTINGS, 1):
        if not given.only or number in given.only:
            table(number, setting, given.runs, given.methods, given.folder)


if __name__ == "__main__":
    main()
