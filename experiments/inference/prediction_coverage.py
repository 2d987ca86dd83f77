"""Coverage of what a fit says beyond its coefficients, and the size of its tests.

    python -m experiments.inference.prediction_coverage [--runs 400] [--match ordinal]

Predictions are for three kinds of people; effects are averages over the people of :mod:`.regression_coverage`, with
true coefficients, and their truth is the average over two million of them; the truth behind a report is that of the
three kinds after each report. A test of a true hypothesis "covers" where it does not reject at 5 %.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from scipy.special import expit
from scipy.stats import norm

from discreet import Randomness, estimate, release
from experiments.inference.coverage import Setting, main
from experiments.inference.regression_coverage import (
    NUMBERS,
    YES_NO,
    People,
    classes,
    counts,
    index,
    number,
    ordered,
    plan,
    yes_no,
)

Rng = np.random.Generator
KINDS = {"w": [-1.0, 0.5, 2.0], "x": ["no", "yes", "no"], "v": [0, 1, 3]}
LEVELS, LETTERS = {"ordinal": ["low", "middle", "high", "top"]}, {"categorical": ["a", "b", "c"]}
CUTS = np.array([-1.0, 0.5, 2.0])
FORMULA = "y ~ w + x + v"


@dataclass(frozen=True)
class Accepted:
    """A test as an answer: its interval holds one half unless it rejects."""

    p_value: float

    @property
    def estimate(self) -> Any:
        """The p value, one half on average under the hypothesis."""
        return np.array([self.p_value])

    std_error = np.array([12**-0.5])

    def interval(self) -> Any:
        """Around one half, or not."""
        return np.array([[0.0, 1.0] if self.p_value >= 0.05 else [2.0, 3.0]])


def kinds_index() -> Any:
    """``.5w + x − .4v`` of the three kinds."""
    return 0.5 * np.array(KINDS["w"]) + np.array([0, 1, 0]) - 0.4 * np.array(KINDS["v"])


@cache
def crowd() -> People:
    """Two million people."""
    return People(2_000_000, np.random.default_rng(3), survey=False)


def setting(
    name: str,
    n: int,
    truth: dict[str, float],
    outcome: Callable[[People], Any],
    domains: dict[str, Any],
    say: Callable[[Any], tuple[Any, ...]],
    *,
    epsilon: float = 3.0,
    survey: bool = False,
    formula: str = FORMULA,
    **options: Any,
) -> Setting:
    """What a fit says."""
    made = plan(dict.fromkeys(domains, epsilon), domains, survey=survey)

    def ask(rng: Rng, source: Randomness) -> Any:
        people = People(n, rng, survey=survey)
        released = release(people.table(outcome(people)), made, randomness=source)
        return say(estimate.regression(formula, released, **options))

    return Setting(f"{name}, n = {n:,}" + (", survey" if survey else ""), truth, ask)


def logit_truths() -> dict[str, float]:
    """Predictions and effects of the logit; those of x are risk differences."""
    people, shares = crowd(), expit(kinds_index() - 1)
    yes = expit(index(people) - 1)
    base = index(people) - people.x - 1
    found = {f"prediction {k}": float(one) for k, one in enumerate(shares)}
    found |= {"w": float(np.mean(0.5 * yes * (1 - yes))), "x[T.yes]": float(np.mean(expit(base + 1) - expit(base)))}
    return found | {"v": float(np.mean(-0.4 * yes * (1 - yes)))}


def odds_ratios() -> dict[str, float]:
    """Of the logit."""
    return {"Intercept": np.exp(-1.0), "w": np.exp(0.5), "x[T.yes]": np.e, "v": np.exp(-0.4)}


def behind(prior: Any, reports: int, epsilon: float) -> dict[str, float]:
    """The truth behind every report of the three kinds, by Bayes' theorem; of two classes that of the second."""
    k = prior.shape[1]
    keep = np.exp(epsilon) / (np.exp(epsilon) + k - 1)
    Q = np.full((k, k), (1 - keep) / (k - 1)) + np.eye(k) * (keep - (1 - keep) / (k - 1))
    joint = prior[:, :, None] * Q  # kinds, truths, reports
    after = joint / joint.sum(axis=1, keepdims=True)
    told = range(1, 2) if k == 2 else range(k)
    return {f"{i} after {r}: {j}": float(after[i, j, r]) for i in range(3) for r in range(reports) for j in told}


def after_reports(fit: Any, labels: list[str]) -> Any:
    """The truth behind every report of the three kinds."""
    rows = {name: [one for one in values for _ in labels] for name, values in KINDS.items()}
    return fit.truth_given_report(rows | {"y": labels * 3})


def binary() -> Iterator[Setting]:
    """A logit, three columns randomised, and the outcome alone."""
    both = {"y": YES_NO, "x": YES_NO, "v": NUMBERS}
    for survey in (False, True):
        yield setting("corrected logit: predictions, effects", 10_000, logit_truths(), yes_no, both,
                      lambda fit: (fit.predict(KINDS), fit.marginal_effects()), survey=survey)  # fmt: skip
        yield setting("likelihood logit: predictions, effects", 5_000, logit_truths(), yes_no, {"y": YES_NO},
                      lambda fit: (fit.predict(KINDS), fit.marginal_effects()), survey=survey)  # fmt: skip
    yield setting("likelihood logit: predictions, effects", 500, logit_truths(), yes_no, {"y": YES_NO},
                  lambda fit: (fit.predict(KINDS), fit.marginal_effects()))  # fmt: skip
    shares = expit(kinds_index() - 1)
    prior = np.column_stack([1 - shares, shares])
    for name, domains, n in (("corrected", both, 10_000), ("likelihood", {"y": YES_NO}, 3_000)):
        yield setting(f"{name} logit: truth behind a report", n, behind(prior, 2, 2.0), yes_no, domains,
                      lambda fit: (after_reports(fit, ["no", "yes"]),), epsilon=2.0)  # fmt: skip
        yield setting(f"{name} logit: odds ratios", n, odds_ratios(), yes_no, domains,
                      lambda fit: (fit.odds_ratios(),), epsilon=2.0)  # fmt: skip


def several() -> Iterator[Setting]:
    """Three classes, and four in order."""

    def shares(at: Any, w: Any) -> Any:
        scores = np.exp(np.array([np.zeros_like(w), at - 0.5, -2.0 + 0.5 * w]))
        return scores / scores.sum(axis=0)

    at_kinds = shares(kinds_index(), np.array(KINDS["w"]))
    truth = {f"P({c}) {k}": float(at_kinds[j, k]) for k in range(3) for j, c in enumerate("abc")}
    people = crowd()
    own = shares(index(people), people.w)
    off, on = (shares(index(people) - people.x + x, people.w).mean(axis=1) for x in (0, 1))
    slopes = {"w": (0.0, 0.5, 0.5), "v": (0.0, -0.4, 0.0)}
    for j, c in enumerate("abc"):
        for name, b in slopes.items():
            mixed = np.einsum("k,kn->n", np.array(b), own)
            truth[f"{c}: {name}"] = float(np.mean(own[j] * (b[j] - mixed)))
        truth[f"{c}: x[T.yes]"] = float(on[j] - off[j])
    for survey in (False, True):
        yield setting("multinomial: predictions, effects", 5_000, truth, classes, {"y": LETTERS},
                      lambda fit: (fit.predict(KINDS), fit.marginal_effects()), survey=survey)  # fmt: skip
    yield setting("multinomial: truth behind a report", 5_000, behind(at_kinds.T, 3, 2.0), classes, {"y": LETTERS},
                  lambda fit: (after_reports(fit, ["a", "b", "c"]),), epsilon=2.0)  # fmt: skip
    below = expit(CUTS - kinds_index()[:, None])
    levels = np.diff(np.column_stack([np.zeros(3), below, np.ones(3)]), axis=1)
    at = {f"P({j}) {k}": float(levels[k, j]) for k in range(3) for j in range(4)}
    given = {"y": LEVELS, "x": YES_NO}
    for survey in (False, True):
        yield setting("ordinal: predictions", 5_000, at, ordered, given, lambda fit: (fit.predict(KINDS),),
                      survey=survey, family="ordinal")  # fmt: skip
    yield setting("ordinal: truth behind a report", 5_000, behind(levels, 4, 2.0), ordered, given,
                  lambda fit: (after_reports(fit, LEVELS["ordinal"]),), epsilon=2.0, family="ordinal")  # fmt: skip


def numbers() -> Iterator[Setting]:
    """Counts, a quantile, one randomised predictor by likelihood."""
    given, people = {"x": YES_NO, "v": NUMBERS}, crowd()
    rate = np.exp(index(people) - 0.3)
    base = np.exp(index(people) - people.x - 0.3)
    truth = {f"prediction {k}": float(one) for k, one in enumerate(np.exp(kinds_index() - 0.3))}
    truth |= {"w": float(np.mean(0.5 * rate)), "x[T.yes]": float(np.mean(base) * (np.e - 1))}
    truth["v"] = float(np.mean(-0.4 * rate))
    for survey in (False, True):
        yield setting("poisson: predictions, effects", 5_000, truth, counts, given,
                      lambda fit: (fit.predict(KINDS), fit.marginal_effects()), survey=survey,
                      family="poisson")  # fmt: skip
    upper = {f"prediction {k}": float(one) for k, one in enumerate(2 + kinds_index() + norm.ppf(0.8))}
    yield setting("quantile 0.8: predictions", 3_000, upper, number, given, lambda fit: (fit.predict(KINDS),),
                  family="quantile", tau=0.8)  # fmt: skip
    yield setting("one predictor by likelihood: effects", 5_000, logit_truths(), yes_no, {"x": YES_NO},
                  lambda fit: (fit.predict(KINDS), fit.marginal_effects()), epsilon=2.0, family="binary",
                  method="likelihood")  # fmt: skip


def sizes() -> Iterator[Setting]:
    """Tests of what is true: one coefficient that is zero, two together, a value that is not zero."""

    def nothing(people: People) -> Any:
        return np.where(people.u > expit(1 - 0.5 * people.w), "yes", "no")

    def tests(fit: Any) -> tuple[Any, ...]:
        both = [name for name in fit.names if name in ("x[T.yes]", "v")]
        asked = [fit.test("x[T.yes]"), fit.test(both), fit.test("w", value=0.5)]
        return tuple(Accepted(one.p_value) for one in asked)

    truth = {"x is zero": 0.5, "x and v are zero": 0.5, "w is a half": 0.5}
    both = {"y": YES_NO, "x": YES_NO, "v": NUMBERS}
    for survey in (False, True):
        yield setting("tests, corrected logit", 5_000, truth, nothing, both, tests, survey=survey)
        yield setting("tests, likelihood logit", 2_000, truth, nothing, {"y": YES_NO}, tests, survey=survey)

    def ratios(fit: Any) -> tuple[Any, ...]:
        asked = [fit.test(names, "likelihood-ratio") for names in ("x[T.yes]", ["x[T.yes]", "v"])]
        return tuple(Accepted(one.p_value) for one in asked)

    two = dict(list(truth.items())[:2])
    yield setting("likelihood-ratio tests, logit", 1_000, two, nothing, {"y": YES_NO}, ratios)


def settings() -> Iterator[Setting]:
    """All of them."""
    for some in (binary, several, numbers, sizes):
        yield from some()


if __name__ == "__main__":
    main(settings, __doc__, "prediction_coverage")
