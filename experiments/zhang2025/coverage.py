"""Coverage of 95 % intervals, and the mean squared error against the inverse information.

Each cell is a file of runs under ``runs/``, so that the simulation can be stopped and taken up again. Whether
large-sample theory applies is decided beforehand, by the standard errors that it predicts itself.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from discreet import Randomness, design
from discreet.estimate.regressions.likelihood import binary_regression
from discreet.estimate.regressions.likelihood.links import link_named
from discreet.estimate.regressions.likelihood.rows import checked_rows
from discreet.estimate.regressions.likelihood.score import ScoreTest
from experiments.reporting import Check, Table, share_error
from experiments.store import RunFile
from experiments.zhang2025.problem import (
    COEFFICIENTS,
    LEVEL,
    NAMES,
    Setting,
    covariates,
    standardised_errors,
    truths,
    variance_bound,
    warner,
)

Floats = NDArray[np.float64]

#: Where theory is expected to hold: the largest standard error that the information predicts, on the scale of the
#: linear predictor, is at most this. The information itself changes by about its size per unit of the linear
#: predictor (d log G'²/dη = −.92 at η = 1 for logit), hence by less than a quarter within one standard error.
THEORY_LIMIT = 0.25
#: The same for mean squared errors, which a few large estimates decide. Unlike the limit above this one was set after
#: the runs had been seen: at ε = .1 and n = 100,000 (predicted error .17) the excess was 11 % and 36 %.
MSE_LIMIT = 0.1
#: Coverage that is asked for where theory applies, and how far the mean squared error may be from the bound.
LOW, HIGH, EXCESS = 0.93, 0.97, 0.10
#: z² of a 95 % interval.
CHI_SQUARE = 3.841458820694124
FINITE, INFINITE, UNFINISHED, LOCAL = range(4)
INTERVALS = ("wald", "profile", "score")
#: From this many runs on a figure is judged as it is; with fewer, five Monte Carlo errors are allowed.
FULL = 1_000
SCORE_COLUMNS = tuple(f"{end}_{name}" for name in NAMES for end in ("low", "high"))
COLUMNS = (
    "status",
    *(f"estimate_{name}" for name in NAMES),
    *(f"error_{name}" for name in NAMES),
    *(f"ratio_{name}" for name in NAMES),
)


@dataclass(frozen=True)
class Cell:
    """A setting, the number of runs wanted, and whether likelihood ratios are computed besides Wald intervals."""

    setting: Setting
    runs: int
    ratios: bool = True

    @property
    def score_runs(self) -> int:
        """Score intervals take longer, and enough of them are judged as they are."""
        return min(self.runs, FULL)

    @property
    def theory_applies(self) -> bool:
        """Whether all predicted standard errors are small enough."""
        return self.largest_error <= THEORY_LIMIT

    @property
    def largest_error(self) -> float:
        """The largest predicted standard error, standardised."""
        s = self.setting
        keep = warner(s.epsilon, s.delta)
        return float(standardised_errors(s.scenario, s.link, keep, keep, s.n).max())


def _cells(scenario: str, link: str, n: int, runs: int, epsilons: Sequence[float]) -> list[Cell]:
    return [Cell(Setting(scenario, link, e, n=n), runs, n <= 10_000) for e in epsilons]


#: In the order in which they are worth having; ε = .1 at n = 2,000 is slow, because most maxima are infinite.
CELLS = (
    *_cells("I", "logit", 2_000, 5_000, (0.25, 0.5, 1.0, 2.0, 4.0)),
    *_cells("II", "probit", 2_000, 5_000, (0.25, 0.5, 1.0, 2.0, 4.0)),
    *_cells("I", "probit", 2_000, 5_000, (0.5, 2.0)),
    *_cells("II", "logit", 2_000, 5_000, (0.5, 2.0)),
    *_cells("I", "logit", 100_000, 2_000, (0.1, 0.5, 1.0, 4.0)),
    *_cells("II", "probit", 100_000, 2_000, (0.1, 1.0)),
    *_cells("I", "logit", 2_000, 2_000, (0.1,)),
    *_cells("II", "probit", 2_000, 2_000, (0.1,)),
)


def sample(setting: Setting, run: int) -> tuple[Floats, NDArray[np.uint8], float, float]:
    """Covariates, randomised reports, and the design (p00, p11)."""
    generator = setting.generator(run)
    X = covariates(setting.scenario, setting.n, generator)
    truth = truths(X, setting.link, generator)
    mechanism = design.binary(setting.epsilon).mechanism  # with δ = 0 the optimum for every regression
    reports = mechanism.privatize(truth, Randomness.seeded(int(generator.integers(2**62))))
    return X, reports, float(mechanism.p00), float(mechanism.p11)


def record(cell: Cell, run: int) -> list[float]:
    """One line of the file: how the fit ended, estimates, standard errors and, where wanted, likelihood ratios.

    A profile interval is the set of values that a likelihood-ratio test does not reject, so that the test of the true
    value says whether the interval covers it.
    """
    fit = binary_regression(*sample(cell.setting, run), link=cell.setting.link, names=NAMES)
    status = FINITE if fit.converged else INFINITE if fit.direction is not None else UNFINISHED
    if fit.status.startswith("a local maximum"):
        status = LOCAL
    ratios = [float("nan")] * len(NAMES)
    if cell.ratios:
        pairs = zip(NAMES, COEFFICIENTS, strict=True)
        ratios = [fit.test(name, "likelihood-ratio", value=value).statistic for name, value in pairs]
    return [status, *fit.coefficients, *fit.std_error, *ratios]


def score_record(cell: Cell, run: int) -> list[float]:
    """The score intervals themselves, from the same sample as :func:`record`."""
    X, reports, p00, p11 = sample(cell.setting, run)
    test = ScoreTest(checked_rows(X, reports, p00, p11), link_named(cell.setting.link))
    return [end for j in range(len(NAMES)) for end in test.interval(j, math.sqrt(CHI_SQUARE))]


def run_file(folder: Path, cell: Cell) -> RunFile:
    """Where the fits of a cell are kept."""
    return RunFile(folder / "runs" / f"coverage_{cell.setting.name}.csv", COLUMNS)


def score_file(folder: Path, cell: Cell) -> RunFile:
    """Where the score intervals of a cell are kept."""
    return RunFile(folder / "runs" / f"score_interval_{cell.setting.name}.csv", SCORE_COLUMNS)


def simulate(folder: Path, cells: Sequence[Cell], minutes: float | None = None, *, fresh: bool = False) -> bool:
    """Complete every cell, saving as it goes; False when the time was up before that."""
    start = time.perf_counter()
    for cell in cells:
        work = [(run_file(folder, cell), record, cell.runs)]
        if not cell.theory_applies:
            work.insert(0, (score_file(folder, cell), score_record, cell.score_runs))
        for file, compute, runs in work:
            if fresh:
                file.path.unlink(missing_ok=True)
            first = done = file.take_up()
            began, block = time.perf_counter(), 50 if cell.setting.n <= 10_000 else 10
            while done < runs:
                if minutes is not None and time.perf_counter() - start > 60 * minutes:
                    print(f"stopped after {minutes:g} minutes; the same command goes on from here", flush=True)
                    return False
                more = range(done, min(done + block, runs))
                file.append([compute(cell, run) for run in more])
                done = more.stop
                if done == runs or (done - first) % (10 * block) == 0:
                    pace = (time.perf_counter() - began) / (done - first)
                    print(f"{file.path.stem}: {done:,} of {runs:,} runs, {pace:.3f} s each", flush=True)
    return True


@dataclass(frozen=True)
class Summary:
    """What the runs of one cell say; arrays have one entry per coefficient."""

    cell: Cell
    runs: int
    infinite: float
    unfinished: float
    coverage: dict[str, Floats]
    ratio: Floats
    ratio_error: Floats
    total_ratio: float
    total_ratio_error: float


def summarise(cell: Cell, data: dict[str, Floats], scores: dict[str, Floats] | None = None) -> Summary:
    """Coverage by each kind of interval, and mean squared errors of the finite fits over the bound.

    A Wald interval with infinite ends covers; one whose ends do not exist (no standard error) does not.
    """
    estimate, error, ratio = (
        np.column_stack([data[f"{kind}_{name}"] for name in NAMES]) for kind in ("estimate", "error", "ratio")
    )
    covers = np.abs(estimate - np.array(COEFFICIENTS)) <= math.sqrt(CHI_SQUARE) * error
    coverage = {"wald": covers.mean(axis=0)}
    if cell.ratios:
        coverage["profile"] = (ratio <= CHI_SQUARE).mean(axis=0)
    if scores is not None:
        ends = zip(NAMES, COEFFICIENTS, strict=True)
        coverage["score"] = np.array(
            [np.mean((scores[f"low_{name}"] <= value) & (value <= scores[f"high_{name}"])) for name, value in ends]
        )
    finite = np.isin(data["status"], (FINITE, LOCAL))
    keep = warner(cell.setting.epsilon, cell.setting.delta)
    bound = variance_bound(cell.setting.scenario, cell.setting.link, keep, keep, cell.setting.n)
    squares = (estimate[finite] - np.array(COEFFICIENTS)) ** 2
    total = squares.sum(axis=1, keepdims=True)
    each, each_error = _mean_and_error(squares / bound)
    whole, whole_error = _mean_and_error(total / bound.sum())
    return Summary(
        cell,
        len(estimate),
        float(np.mean(data["status"] == INFINITE)),
        float(np.mean(data["status"] == UNFINISHED)),
        coverage,
        each,
        each_error,
        float(whole[0]),
        float(whole_error[0]),
    )


def _mean_and_error(values: Floats) -> tuple[Floats, Floats]:
    """Means of the columns and their Monte Carlo standard errors; nan when there is too little."""
    if len(values) < 2:
        return np.full(values.shape[1], np.nan), np.full(values.shape[1], np.nan)
    return values.mean(axis=0), values.std(axis=0, ddof=1) / math.sqrt(len(values))


def summaries(folder: Path, cells: Sequence[Cell]) -> Iterator[Summary]:
    """Of every cell that has runs."""
    for cell in cells:
        data = run_file(folder, cell).read(cell.runs)
        scores = score_file(folder, cell)
        if len(data["status"]) >= 2:
            yield summarise(cell, data, scores.read(cell.score_runs) if scores.done else None)


def cell_table(found: Sequence[Summary]) -> Table:
    """One line per cell: the worst and the best covered coefficient."""
    rows = []
    for s in found:
        setting = s.cell.setting
        head = [setting.n, setting.scenario, setting.link, setting.epsilon, s.runs, s.cell.largest_error]
        spans = [_span(s.coverage.get(method)) for method in INTERVALS]
        middle = ["yes" if s.cell.theory_applies else "no", s.infinite, s.unfinished, *spans]
        rows.append([*head, *middle, share_error(LEVEL, s.runs), s.total_ratio, s.total_ratio_error])
    columns = ["n", "scenario", "link", "epsilon", "runs", "std error", "theory", "infinite", "unfinished"]
    title = "Coverage of 95 % intervals, from the worst to the best covered coefficient, and MSE over the bound"
    return Table(title, [*columns, *INTERVALS, "± MC", "MSE/bound", "± MC"], rows)


def _span(coverage: Floats | None) -> str:
    return "–" if coverage is None else f"{coverage.min():.3f}–{coverage.max():.3f}"


def coefficient_table(found: Sequence[Summary]) -> Table:
    """Every coefficient of every cell, each figure with its Monte Carlo error."""
    rows = []
    for s in found:
        setting = s.cell.setting
        for j, name in enumerate(NAMES):
            row: list[object] = [setting.n, setting.scenario, setting.link, setting.epsilon, s.runs, name]
            for method in INTERVALS:
                share = float(s.coverage[method][j]) if method in s.coverage else math.nan
                row += [share, share_error(share, s.runs) if method in s.coverage else math.nan]
            rows.append([*row, float(s.ratio[j]), float(s.ratio_error[j])])
    columns = ["n", "scenario", "link", "epsilon", "runs", "coefficient"]
    for method in INTERVALS:
        columns += [method, f"{method} ± MC"]
    return Table("Coverage by coefficient", [*columns, "MSE/bound", "MSE/bound ± MC"], rows)


def checks(found: Sequence[Summary]) -> list[Check]:
    """The figures to reach, and the exceptions with what repairs them."""
    rows = []
    for s in found:
        slack = 0.0 if s.runs >= FULL else 5 * share_error(LEVEL, s.runs)
        about = f"{s.cell.setting.name} ({s.runs:,} runs, MC error {share_error(LEVEL, s.runs):.4f})"
        covered = {method: _within(values, slack) for method, values in s.coverage.items()}
        evidence = "; ".join(f"{method} {_span(values)}" for method, values in s.coverage.items())
        if s.cell.theory_applies:
            rows.append(Check(f"{about}: Wald covers 93–97 %", covered["wald"], evidence))
        else:
            good = [method for method in s.coverage if covered[method]]
            repaired = f"an exception, repaired by: {', '.join(good) or 'nothing'}"
            rows.append(Check(f"{about}: {repaired}", bool(good), f"{evidence}; infinite fits {s.infinite:.1%}"))
        if s.cell.setting.n >= 100_000:
            room = EXCESS + (0.0 if s.runs >= FULL else 5 * s.total_ratio_error)
            each = ", ".join(f"{a:.3f} ± {b:.3f}" for a, b in zip(s.ratio, s.ratio_error, strict=True))
            evidence = f"{s.total_ratio:.3f} ± {s.total_ratio_error:.3f}; by coefficient {each}"
            near = abs(s.total_ratio - 1) <= room
            if s.cell.largest_error <= MSE_LIMIT:
                rows.append(Check(f"{about}: mean squared error within 10 % of the bound", near, evidence))
            elif not near:
                rows.append(Check(f"{about}: an exception, mean squared error not within 10 %", True, evidence))
    return rows


def _within(coverage: Floats, slack: float) -> bool:
    return bool(LOW - slack <= coverage.min() and coverage.max() <= HIGH + slack)
