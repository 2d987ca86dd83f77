"""Section 6: three methods trained on 75 % of the plagiarism survey and judged on the rest.

The text leaves open how the crosswise reports are treated; both readings are run. "labels": the recorded response is
taken for the sensitive label in every row, crosswise or not. "crosswise": the survey's own randomisation is part of
the model, and the randomisation for privacy comes on top of it. Predicted is the recorded response, as in the paper.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet import Randomness, design
from discreet.estimate.regressions.likelihood import BinaryRegression, binary_regression
from experiments.reporting import Check, Table
from experiments.zhang2025.problem import EPSILONS, METHODS, SEED
from experiments.zhang2025.survey import Survey

Floats = NDArray[np.float64]
READINGS = ("labels", "crosswise")
#: Beyond the paper's nine, to see where the corrected fit begins to pay at this sample size.
LEVELS = (*EPSILONS, 2.0, 4.0)
TRAINING = 0.75


@dataclass(frozen=True)
class Outcome:
    """Mean squared error of prediction over the splits, with its Monte Carlo error, and the share of infinite fits."""

    reading: str
    epsilon: float
    method: str
    splits: int
    mse: float
    error: float
    not_finite: float


def predicted(fit: BinaryRegression, X: Floats, keep: Floats) -> Floats:
    """Probability of a recorded response 1, through the survey's own design."""
    yes = np.asarray(fit.predict(X))
    return np.asarray((1 - keep) * (1 - yes) + keep * yes)


def outcomes(survey: Survey, splits: int) -> list[Outcome]:
    """Every reading, level and method; all methods see the same splits and the same randomised labels."""
    found: list[Outcome] = []
    n = len(survey.X)
    size = round(TRAINING * n)
    for reading in READINGS:
        keep = np.ones(n) if reading == "labels" else survey.keep
        kept: dict[tuple[float, str], list[tuple[float, bool]]] = {}
        for split in range(splits):
            generator = np.random.default_rng([SEED, 6, split])
            order = generator.permutation(n)
            train, test = order[:size], order[size:]
            X, truth, own = survey.X[train], survey.reports[train].astype(np.uint8), keep[train]
            free = binary_regression(X, truth, own, own)
            for epsilon in LEVELS:
                mechanism = design.binary(epsilon).mechanism
                p = float(mechanism.p00)
                reports = mechanism.privatize(truth, Randomness.seeded(int(generator.integers(2**62))))
                both = p * own + (1 - p) * (1 - own)  # survey first, privacy second
                fits = (binary_regression(X, reports, both, both), binary_regression(X, reports, own, own), free)
                for method, fit in zip(METHODS, fits, strict=True):
                    off = predicted(fit, survey.X[test], keep[test]) - survey.reports[test]
                    kept.setdefault((epsilon, method), []).append((float(np.mean(off**2)), fit.direction is None))
        for (epsilon, method), pairs in kept.items():
            values = np.array([value for value, _ in pairs])
            infinite = 1 - float(np.mean([finite for _, finite in pairs]))
            error = float(values.std(ddof=1) / np.sqrt(splits))
            found.append(Outcome(reading, epsilon, method, splits, float(values.mean()), error, infinite))
    return found


def table(found: list[Outcome]) -> Table:
    """ε down, methods across."""
    cell = {(o.reading, o.epsilon, o.method): o for o in found}
    rows = []
    for reading in READINGS:
        for epsilon in LEVELS:
            ours, naive, free = (cell[reading, epsilon, method] for method in METHODS)
            pairs = [ours.mse, ours.error, naive.mse, naive.error, free.mse, free.error]
            rows.append([reading, epsilon, *pairs, ours.not_finite])
    columns = ["reading", "epsilon"]
    for method in METHODS:
        columns += [method, "± MC"]
    title = f"Mean squared error of the predicted response on the other 25 %, {found[0].splits} splits"
    return Table(title, [*columns, "corrected, not finite"], rows)


def checks(found: list[Outcome]) -> list[Check]:
    """What section 6 says of figure 6."""
    cell = {(o.reading, o.epsilon, o.method): o for o in found}
    rows = []
    for reading in READINGS:
        worse = [e for e in EPSILONS if cell[reading, e, "corrected"].mse > cell[reading, e, "naive"].mse]
        small, large = cell[reading, EPSILONS[0], "corrected"], cell[reading, 4.0, "corrected"]
        free, constant = cell[reading, EPSILONS[0], "non-private"], 0.25
        rows += [
            Check(
                f"{reading}: at ε ≤ .1 the corrected fit predicts worse than the naive one (printed: better)",
                {e for e in EPSILONS if e <= 0.1} <= set(worse),
                f"worse at ε = {', '.join(f'{e:g}' for e in worse)}; at .05 {small.mse:.3f} against "
                f"{cell[reading, EPSILONS[0], 'naive'].mse:.3f}; guessing ½ gives {constant}",
            ),
            Check(
                f"{reading}: its error falls with ε towards the non-private one",
                large.mse < small.mse and abs(large.mse - free.mse) < 0.01,
                f"{small.mse:.3f} at ε = .05, {large.mse:.3f} at 4, without privacy {free.mse:.3f}",
            ),
        ]
    return rows
