"""What the box is worth: error and coverage of every method for numeric vectors, beside fits to the true records.

``python -m experiments.numeric_box --runs 200`` prints one line per setting and method, with Monte Carlo errors, in
half an hour on one core. Runs are kept in ``--folder`` and taken up again. ``--only 1 4`` runs some of the settings,
``--means`` those of means and quantiles instead.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from discreet import Box, Randomness, estimate
from discreet.estimate import m_estimate
from discreet.estimate.m_estimation.bounded import column_spread
from discreet.estimate.m_estimation.choice import least_variance
from discreet.estimate.m_estimation.sample import read_sample
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


def fits(setting: Setting, run: int) -> Iterator[tuple[str, Any]]:
    """Every method on one sample, and the choice among them."""
    x, y, reports = setting.draw(run)
    ones, nothing = np.ones(setting.n), ZeroInflatedLaplace(setting.mechanism.box, 1e-6, 0.5)
    yield "oracle", m_estimate(setting.loss, x, nothing, outcome=y, public=ones, method="naive")
    methods = ["box", "exact"] + (["likelihood"] if setting.d <= 3 else [])
    found: dict[str, Any] = {}
    for method in methods:
        found[method] = m_estimate(setting.loss, reports, setting.mechanism, outcome=y, public=ones, method=method)
        yield method, found[method]
    spread = column_spread(read_sample(reports, setting.mechanism, ones, y, None))
    made: dict[str, Callable[[], Any]] = {method: partial(found.get, method) for method in methods}
    yield "auto", least_variance(made, spread)


#: What a run leaves: per method whether it converged, the mean squared error of the slopes, the share of intervals that
#: cover; and which method was chosen.
METHODS = ("oracle", "box", "exact", "likelihood", "auto")
COLUMNS = [f"{method} {what}" for method in METHODS for what in ("converged", "square", "covers")] + ["chosen"]


def runs_of(number: int, setting: Setting, runs: int, folder: Path) -> dict[str, np.ndarray]:
    """The results of the first runs, those that are missing carried out."""
    kept = RunFile(folder / f"setting{number}.csv", COLUMNS)
    for run in range(kept.take_up(), runs):
        line = dict.fromkeys(COLUMNS, math.nan)
        for method, fit in fits(setting, run):
            gap = fit.estimate[: setting.d] - setting.slopes
            line[f"{method} converged"] = float(fit.converged)
            if fit.converged:
                line[f"{method} square"] = float(np.mean(gap**2))
                line[f"{method} covers"] = float(np.mean(np.abs(gap) <= Z * fit.std_error[: setting.d]))
            if method == "auto":
                line["chosen"] = METHODS.index(fit.method)
        kept.append([[line[name] for name in COLUMNS]])
    return kept.read(runs)


def table(number: int, setting: Setting, runs: int, folder: Path) -> None:
    """One line per method: error per slope over the fits that converged, coverage, both with Monte Carlo errors."""
    found = runs_of(number, setting, runs, folder)
    for method in METHODS:
        ended = found[f"{method} converged"]
        if np.isnan(ended).all():
            continue
        good = ended == 1
        if not good.any():
            print(f"{setting}: {method}: converged in none of {good.size}", flush=True)
            continue
        squares, covers = found[f"{method} square"][good], found[f"{method} covers"][good]
        rmse, root = math.sqrt(squares.mean()), math.sqrt(good.sum())
        chosen = {METHODS[int(one)]: int((found["chosen"] == one).sum()) for one in np.unique(found["chosen"])}
        print(
            f"{setting}: {method}: RMSE {rmse:.3f} ± {squares.std() / (2 * rmse * root):.3f}, coverage "
            f"{covers.mean():.3f} ± {covers.std() / root:.3f}, converged {good.sum()} of {good.size}"
            + (f", chosen {chosen}" if method == "auto" else ""),
            flush=True,
        )


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
    parser.add_argument("--folder", type=Path, default=Path("results/numeric_box"))
    parser.add_argument("--means", action="store_true", help="means and quantiles instead")
    given = parser.parse_args()
    if given.means:
        means(given.runs)
        return
    for number, setting in enumerate(SETTINGS, 1):
        if not given.only or number in given.only:
            table(number, setting, given.runs, given.folder)


if __name__ == "__main__":
    main()
