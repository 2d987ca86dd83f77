"""Coverage of regressions with randomised columns: uneven margins, rare outcomes, weights, strata and clusters.

    python -m experiments.inference.regression_coverage [--runs 300] [--match ordinal]

People of a cluster resemble each other through a common part of what decides their answer, which leaves every model
below right for a single person: the truth is the same with clusters and weights as without.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.optimize import linprog
from scipy.special import expit, ndtr
from scipy.stats import norm, poisson

from discreet import Plan, Randomness, estimate, release
from experiments.inference.coverage import Setting, main

Rng = np.random.Generator
YES_NO = {"binary": ["no", "yes"]}
SURVEY = {"weight": "weight", "strata": "stratum", "cluster": "cluster"}


def plan(epsilons: Mapping[str, float], domains: Mapping[str, Any], *, survey: bool) -> Plan:
    """Every column of ``domains`` randomised on its own, the others public."""
    public = [name for name in ("w", "x", "v", "y") if name not in domains]
    private = [
        {"columns": [name], "domain": domain, "mechanism": "randomized-response", "epsilon": epsilons[name]}
        for name, domain in domains.items()
    ]
    more = {"survey": SURVEY} if survey else {}
    return Plan.from_dict({"public": [{"columns": public}], "private": private, **more})


class People:
    """A public number w, a yes/no answer x of which 10 % are yes, a number v in 0 … 3 related to w, and chance u."""

    def __init__(self, n: int, rng: Rng, *, survey: bool) -> None:
        self.n = n
        sizes = rng.integers(2, 21, n) if survey else np.ones(n, int)
        self.cluster = np.repeat(np.arange(n), sizes)[:n]
        self.stratum = self.cluster % 4
        self.weight = np.exp(rng.normal(0, 0.5, n))
        self.w = rng.normal(size=n) + 0.3 * self.stratum + 0.5 * rng.normal(size=n)[self.cluster]
        self.x = rng.random(n) < expit(-2.4 + 0.5 * self.w)
        chance = expit(self.w - 0.5)
        self.v = rng.binomial(3, chance)
        self.u = ndtr(np.sqrt(0.15) * rng.normal(size=n)[self.cluster] + np.sqrt(0.85) * rng.normal(size=n))

    def table(self, y: Any) -> pa.Table:
        """With an outcome."""
        columns = {"w": self.w, "x": np.where(self.x, "yes", "no"), "v": self.v, "y": y}
        return pa.table(columns | {"cluster": self.cluster, "stratum": self.stratum, "weight": self.weight})


def setting(
    name: str,
    truth: dict[str, float],
    outcome: Callable[[People], Any],
    epsilons: dict[str, float],
    domains: dict[str, Any],
    formula: str,
    n: int,
    *,
    survey: bool = False,
    **options: Any,
) -> Setting:
    """One regression."""
    made = plan(epsilons, domains, survey=survey)

    def ask(rng: Rng, source: Randomness) -> Any:
        people = People(n, rng, survey=survey)
        return estimate.regression(formula, release(people.table(outcome(people)), made, randomness=source), **options)

    return Setting(f"{name}, n = {n:,}" + (", survey" if survey else ""), truth, ask)


def index(people: People) -> Any:
    """``.5w + x − .4v``."""
    return 0.5 * people.w + people.x - 0.4 * people.v


SLOPES = {"w": 0.5, "x[T.yes]": 1.0, "v": -0.4}
NUMBERS = {"ordinal": [0, 1, 2, 3]}


def yes_no(people: People, intercept: float = -1.0) -> Any:
    """A logit."""
    return np.where(people.u > expit(-(index(people) + intercept)), "yes", "no")


def rare(people: People) -> Any:
    """A logit, 4 % yes."""
    return yes_no(people, -3.6)


def ordered(people: People) -> Any:
    """Proportional odds: P(y ≤ k) = expit(c_k − index)."""
    below = expit(np.array([-1.0, 0.5, 2.0])[:, None] - index(people))
    return np.array(["low", "middle", "high", "top"])[(people.u > below).sum(axis=0)]


def classes(people: People) -> Any:
    """Three classes, the last with about 6 %."""
    scores = np.exp(np.array([np.zeros(people.n), index(people) - 0.5, -2.0 + 0.5 * people.w + 0 * index(people)]))
    below = np.cumsum(scores / scores.sum(axis=0), axis=0)[:2]
    return np.array(["a", "b", "c"])[(people.u > below).sum(axis=0)]


def counts(people: People) -> Any:
    """Poisson."""
    return poisson.ppf(people.u, np.exp(index(people) - 0.3)).astype(int)


def number(people: People) -> Any:
    """Linear, normal errors whose spread is one."""
    return 2 + index(people) + norm.ppf(people.u)


def heavy(people: People) -> Any:
    """Linear, t-distributed errors."""
    from scipy.stats import t

    return 2 + index(people) + t.ppf(people.u, 3)


def hinge_truth() -> dict[str, float]:
    """The least expected hinge loss of a yes/no outcome on w and x, by a linear programme over a grid of w."""
    w = norm.ppf((np.arange(1500) + 0.5) / 1500)
    rows, chance = [], []
    for x in (0.0, 1.0):
        share = 0.1 if x else 0.9
        yes = expit(-0.5 + 0.8 * w + x)
        for sign, part in ((1.0, yes), (-1.0, 1 - yes)):
            rows.append(sign * np.column_stack([np.ones_like(w), w, np.full_like(w, x)]))
            chance.append(share * part / w.size)
    X, p = np.vstack(rows), np.concatenate(chance)
    cost = np.concatenate([np.zeros(3), p])
    slack = np.hstack([-X, -np.eye(len(p))])
    from scipy.sparse import csr_matrix

    found = linprog(cost, csr_matrix(slack), -np.ones(len(p)), bounds=[(None, None)] * 3 + [(0, None)] * len(p))
    return dict(zip(("Intercept", "w", "x[T.yes]"), found.x[:3], strict=True))


def hinge() -> Setting:
    """A support vector machine, outcome and one predictor randomised."""
    made = plan({"y": 3, "x": 3}, {"y": YES_NO, "x": YES_NO}, survey=False)

    def ask(rng: Rng, source: Randomness) -> Any:
        people = People(10_000, rng, survey=False)
        people.w, people.x = rng.normal(size=people.n), rng.random(people.n) < 0.1
        y = np.where(rng.random(people.n) < expit(-0.5 + 0.8 * people.w + people.x), "yes", "no")
        return estimate.regression("y ~ w + x", release(people.table(y), made, randomness=source), family="hinge")

    return Setting("hinge, y and x randomised, n = 10,000", hinge_truth(), ask)


def settings() -> Iterator[Setting]:
    """All of them."""
    both = {"y": YES_NO, "x": YES_NO, "v": NUMBERS}
    three = {"y": 3.0, "x": 3.0, "v": 3.0}
    logit = {"Intercept": -1.0} | SLOPES
    for survey in (False, True):
        yield setting("logit, y x v", logit, yes_no, three, both, "y ~ w + x + v", 10_000, survey=survey)
        one = {"y": YES_NO}
        few = {"Intercept": -3.6} | SLOPES
        yield setting("logit of a rare y", few, rare, {"y": 3.0}, one, "y ~ w + x + v", 5_000, survey=survey)
        yield setting(
            "linear on x, likelihood", {"Intercept": 2.0} | SLOPES, number, {"x": 2.0}, {"x": YES_NO},
            "y ~ w + x + v", 3_000, survey=survey, method="likelihood",
        )  # fmt: skip
        yield setting(
            "logit on x, likelihood", logit, yes_no, {"x": 2.0}, {"x": YES_NO},
            "y ~ w + x + v", 5_000, survey=survey, family="binary", method="likelihood",
        )  # fmt: skip
    levels = {"ordinal": ["low", "middle", "high", "top"]}
    cuts = {"low | middle": -1.0, "middle | high": 0.5, "high | top": 2.0}
    yield setting("ordinal, y x v", SLOPES | cuts, ordered, three, {"y": levels, "x": YES_NO, "v": NUMBERS},
                  "y ~ w + x + v", 10_000, survey=True, family="ordinal")  # fmt: skip
    yield setting("ordinal, y", SLOPES | cuts, ordered, three, {"y": levels},
                  "y ~ w + x + v", 5_000, family="ordinal")  # fmt: skip
    letters = {"categorical": ["a", "b", "c"]}
    several = {"b: Intercept": -0.5} | {f"b: {k}": value for k, value in SLOPES.items()}
    several |= {"c: Intercept": -2.0, "c: w": 0.5, "c: x[T.yes]": 0.0, "c: v": 0.0}
    yield setting("multinomial, y", several, classes, three, {"y": letters}, "y ~ w + x + v", 5_000)
    yield setting("multinomial, y", several, classes, three, {"y": letters}, "y ~ w + x + v", 5_000, survey=True)
    yield setting("multinomial, y x v", several, classes, three, {"y": letters, "x": YES_NO, "v": NUMBERS},
                  "y ~ w + x + v", 10_000)  # fmt: skip
    counted = {"Intercept": -0.3} | SLOPES
    given = {"x": YES_NO, "v": NUMBERS}
    for survey in (False, True):
        yield setting("poisson, x v", counted, counts, three, given, "y ~ w + x + v", 5_000, survey=survey,
                      family="poisson")  # fmt: skip
    linear = {"Intercept": 2.0} | SLOPES
    for tau, n in ((0.5, 2_000), (0.9, 10_000)):
        at = linear | {"Intercept": 2 + float(norm.ppf(tau))}
        yield setting(f"quantile {tau}, x v", at, number, three, given, "y ~ w + x + v", n, family="quantile", tau=tau)
    yield setting("quantile 0.5, x v", linear, number, three, given, "y ~ w + x + v", 5_000, survey=True,
                  family="quantile")  # fmt: skip
    yield setting("huber, x v", linear, heavy, three, given, "y ~ w + x + v", 2_000, family="huber")
    yield setting("huber, x v", linear, heavy, three, given, "y ~ w + x + v", 5_000, survey=True, family="huber")
    yield hinge()


if __name__ == "__main__":
    main(settings, __doc__, "regression_coverage")
