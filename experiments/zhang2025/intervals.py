"""What users get where large-sample theory does not hold: the intervals themselves, plain and penalised.

Rare outcomes, strong randomisation, other links, a skewed covariate, four reports. Every interval is computed and asked
whether it covers, how wide it is, and whether it is infinite or missing. Each setting is a file of runs under
``runs/``, so that the simulation can be stopped and taken up again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import Randomness, design
from discreet.estimate.regressions.likelihood import binary_regression
from discreet.estimate.regressions.likelihood.links import link_named
from experiments.reporting import Check, Table, share_error
from experiments.store import RunFile
from experiments.zhang2025.problem import LEVEL, SEED

Floats = NDArray[np.float64]
METHODS = ("wald", "score", "firth")
FINITE, LOCAL, INFINITE, OTHER = range(4)
RUNS, QUICK = 100, 4


@dataclass(frozen=True)
class Case:
    """A regression with normal covariates after the intercept; the first of them may be skewed."""

    name: str
    n: int
    epsilon: float
    beta: tuple[float, ...]
    link: str = "logit"
    delta: float = 0.0
    skewed: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """Of the file of runs."""
        d = range(len(self.beta))
        ends = [f"{method}_{end}{j}" for method in METHODS for j in d for end in ("low", "high")]
        return ("status", *(f"plain{j}" for j in d), *(f"firth{j}" for j in d), *ends)

    def sample(self, run: int) -> tuple[Floats, NDArray[Any], Any]:
        """Covariates, reports and the mechanism; skewed covariates are exponential to the power 1.5."""
        generator = np.random.default_rng([SEED, 11, CASES.index(self), run])
        X = np.column_stack([np.ones(self.n), generator.standard_normal((self.n, len(self.beta) - 1))])
        if self.skewed:
            X[:, 1] = generator.exponential(size=self.n) ** 1.5
        truth = generator.random(self.n) < link_named(self.link).probability(X @ np.array(self.beta))
        mechanism = design.binary(self.epsilon, self.delta, reports=4 if self.delta else 2).mechanism
        return X, mechanism.privatize(truth, Randomness.seeded(int(generator.integers(2**62)))), mechanism

    def record(self, run: int) -> list[float]:
        """One line of the file."""
        X, reports, mechanism = self.sample(run)
        plain = binary_regression(X, reports, mechanism=mechanism, link=self.link)
        firth = binary_regression(X, reports, mechanism=mechanism, link=self.link, penalty="firth")
        local = not plain.converged and plain.direction is None and plain.status.startswith("a local maximum")
        status = FINITE if plain.converged else LOCAL if local else OTHER if plain.direction is None else INFINITE
        ends = [plain.interval(LEVEL, method) for method in METHODS[:2]] + [firth.interval(LEVEL)]
        return [status, *plain.coefficients, *firth.coefficients, *np.ravel(ends)]


CASES = (
    Case("rare", 600, 1.0, (-3.0, 0.8, 0.8)),
    Case("rare, skewed covariate", 600, 1.0, (-3.0, 0.8, 0.8), skewed=True),
    Case("rare, four reports, δ = .05", 600, 1.0, (-3.0, 0.8, 0.8), delta=0.05),
    Case("probit", 1_000, 1.0, (-1.5, 0.4, 0.4), "probit"),
    Case("complementary log-log", 1_000, 1.0, (-2.5, 0.5, 0.5), "cloglog"),
    Case("weak signal", 2_000, 0.25, (1.0, 0.25, 0.0, 0.5)),
    Case("ε = .5", 2_000, 0.5, (1.0, 0.25, 0.0, 0.5)),
)


@dataclass(frozen=True)
class Figures:
    """What the runs of a case say about one kind of interval; arrays have one entry per coefficient."""

    case: Case
    method: str
    runs: int
    coverage: Floats
    width: Floats
    infinite: float
    missing: float


def run_file(folder: Path, case: Case) -> RunFile:
    """Where the runs of a case are kept."""
    return RunFile(folder / "runs" / f"intervals_{CASES.index(case)}.csv", case.columns)


def simulate(folder: Path, runs: int, *, fresh: bool = False) -> None:
    """Complete every case, saving as it goes."""
    for case in CASES:
        file = run_file(folder, case)
        if fresh:
            file.path.unlink(missing_ok=True)
        for run in range(file.take_up(), runs):
            file.append([case.record(run)])
        print(f"intervals, {case.name}: {runs} runs", flush=True)


def figures(folder: Path, runs: int) -> Iterator[Figures]:
    """Coverage, median width, and the shares of infinite and of missing intervals."""
    for case in CASES:
        data = run_file(folder, case).read(runs)
        beta = np.array(case.beta)
        for method in METHODS:
            low, high = (
                np.column_stack([data[f"{method}_{end}{j}"] for j in range(beta.size)]) for end in ("low", "high")
            )
            covers = (low <= beta) & (beta <= high)
            missing, infinite = np.isnan(low) | np.isnan(high), np.isinf(low) | np.isinf(high)
            width = np.median(np.where(missing, np.inf, high - low), axis=0)
            yield Figures(case, method, len(low), covers.mean(axis=0), width, infinite.mean(), missing.mean())


def interval_table(found: Sequence[Figures]) -> Table:
    """One line per case and kind of interval."""
    rows = [
        [
            f.case.name,
            f.case.n,
            f.case.epsilon,
            f.method,
            f.runs,
            *(f"{low:.3f}–{high:.3f}" for low, high in [(f.coverage.min(), f.coverage.max())]),
            share_error(LEVEL, f.runs),
            " ".join(f"{w:.2f}" for w in f.width),
            f.infinite,
            f.missing,
        ]
        for f in found
    ]
    head = ["case", "n", "epsilon", "interval", "runs", "coverage", "± MC", "median widths", "infinite", "missing"]
    return Table("95 % intervals where theory does not hold, worst to best covered coefficient", head, rows)


@dataclass(frozen=True)
class Estimates:
    """How fits ended, and what the estimates are off by."""

    case: Case
    runs: int
    shares: Floats
    bias: dict[str, Floats]
    bias_error: dict[str, Floats]
    error: dict[str, Floats]


def estimates(folder: Path, runs: int) -> Iterator[Estimates]:
    """Bias and root mean squared error; of the plain fit without the infinite ones, of the penalised fit always."""
    for case in CASES:
        data = run_file(folder, case).read(runs)
        status, beta = data["status"], np.array(case.beta)
        off = {
            kind: np.column_stack([data[f"{kind}{j}"] for j in range(beta.size)]) - beta for kind in ("plain", "firth")
        }
        off["plain"] = off["plain"][status != INFINITE]
        yield Estimates(
            case,
            len(status),
            np.array([(status == kind).mean() for kind in (FINITE, LOCAL, INFINITE, OTHER)]),
            {kind: values.mean(axis=0) for kind, values in off.items()},
            {kind: values.std(axis=0) / np.sqrt(max(len(values), 1)) for kind, values in off.items()},
            {kind: np.sqrt((values**2).mean(axis=0)) for kind, values in off.items()},
        )


def estimate_table(found: Sequence[Estimates]) -> Table:
    """One line per case and fit."""
    rows = []
    for one in found:
        for kind in ("plain", "firth"):
            bias = " ".join(f"{b:.2f} ± {e:.2f}" for b, e in zip(one.bias[kind], one.bias_error[kind], strict=True))
            spread = " ".join(f"{value:.2f}" for value in one.error[kind])
            rows.append([one.case.name, one.runs, *(float(s) for s in one.shares), kind, bias, spread])
    head = ["case", "runs", "finite", "local", "infinite", "other", "fit", "bias", "root mean squared error"]
    return Table("How the plain fits end, and what both fits are off by (plain: infinite ones left out)", head, rows)


def checks(found: Sequence[Figures], fits: Sequence[Estimates]) -> list[Check]:
    """What the documentation claims, judged with three Monte Carlo errors of room."""
    rows = []
    for f in found:
        room = 3 * share_error(LEVEL, f.runs)
        about = f"{f.case.name} ({f.runs} runs)"
        evidence = " ".join(f"{c:.3f}" for c in f.coverage) + f"; infinite {f.infinite:.1%}, missing {f.missing:.1%}"
        if f.method == "score":
            good = bool(f.coverage.min() >= 0.93 - room and f.missing == 0)
            rows.append(Check(f"{about}: score intervals cover at least 93 %, none is missing", good, evidence))
        if f.method == "firth":
            good = bool(f.coverage.min() >= 0.92 - room and f.missing == 0)
            rows.append(Check(f"{about}: penalised profile intervals cover at least 92 %", good, evidence))
    rare = next(one for one in fits if one.case.name == "rare")
    local = float(rare.shares[LOCAL] / max(rare.shares[FINITE] + rare.shares[LOCAL], 1e-9))
    error = share_error(0.5, rare.runs)
    rows.append(
        Check(
            "rare: about half of the finite maxima lie below a step function, and the fit says so",
            abs(local - 0.5) < 0.1 + 5 * error,
            f"{local:.1%} ± {error:.1%}",
        )
    )
    plain, firth = (float(np.abs(rare.error[kind]).max()) for kind in ("plain", "firth"))
    rows.append(
        Check(
            "rare: the penalised fit has the smaller root mean squared error",
            firth < plain,
            f"{firth:.2f} against {plain:.2f} (largest of the coefficients; infinite fits left out of the second)",
        )
    )
    return rows
