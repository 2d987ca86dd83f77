"""Coverage of regressions where something is likely to break.

    python -m experiments.inference.hard_regressions [--runs 400] [--match blank]

Strong randomisation, few rows, rare values, columns randomised together, interactions and squares of randomised
columns, values that a mechanism does not tell apart, other links, designs that differ by row, blanks, four reports,
errors that are neither normal nor alike, a predictor whose law is no logit, few clusters. People are those of
:mod:`.regression_coverage`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.special import expit, ndtr
from scipy.stats import norm

from discreet import Plan, Randomness, Release, estimate, release
from experiments.inference.coverage import Setting, main
from experiments.inference.regression_coverage import (
    NUMBERS,
    SLOPES,
    YES_NO,
    People,
    counts,
    heavy,
    index,
    number,
    ordered,
    yes_no,
)

Rng = np.random.Generator
Draw = Callable[[Rng, int], pa.Table]
LETTERS = {"categorical": ["a", "b", "c", "d"]}
ORDERED = {"ordinal": ["low", "middle", "high", "top"]}
CUTS = {"low | middle": -1.0, "middle | high": 0.5, "high | top": 2.0}


def block(
    name: str, domain: Any, epsilon: float, mechanism: str = "randomized-response", **more: Any
) -> dict[str, Any]:
    """One column, randomised on its own."""
    return {"columns": [name], "domain": domain, "mechanism": mechanism, "epsilon": epsilon, **more}


def setting(
    name: str,
    n: int,
    truth: dict[str, float],
    draw: Draw,
    private: list[dict[str, Any]],
    formula: str,
    survey: dict[str, str] | None = None,
    **options: Any,
) -> Setting:
    """One regression on a table that is released."""
    hidden = {column for one in private for column in one["columns"]}

    def ask(rng: Rng, source: Randomness) -> Any:
        table = draw(rng, n)
        public = [column for column in table.column_names if column not in hidden]
        plan = {"public": [{"columns": public}], "private": private} | ({"survey": survey} if survey else {})
        return estimate.regression(formula, release(table, plan, randomness=source), **options)

    return Setting(f"{name}, n = {n:,}", truth, ask)


def of(outcome: Callable[[People], Any]) -> Draw:
    """People with an outcome."""

    def draw(rng: Rng, n: int) -> pa.Table:
        people = People(n, rng, survey=False)
        return people.table(outcome(people)).drop_columns(["cluster", "stratum", "weight"])

    return draw


def binary(chance: Callable[[People], Any]) -> Draw:
    """People with a yes/no outcome of this chance."""
    return of(lambda people: np.where(people.u < chance(people), "yes", "no"))


THREE = [{"name": "y", "domain": YES_NO}, {"name": "x", "domain": YES_NO}, {"name": "v", "domain": NUMBERS}]
LOGIT, LINEAR = {"Intercept": -1.0} | SLOPES, {"Intercept": 2.0} | SLOPES
FORMULA = "y ~ w + x + v"


def strong() -> Iterator[Setting]:
    """ε = 1 for each of three columns; all three randomised together."""
    for n in (5_000, 20_000):
        yield setting(
            "ε = 1, logit, y x v", n, LOGIT, of(yes_no), [block(epsilon=1.0, **one) for one in THREE], FORMULA
        )
    given = [block(epsilon=1.0, **one) for one in THREE[1:]]
    yield setting("ε = 1, linear, x v", 5_000, LINEAR, of(number), given, FORMULA)
    count = {"Intercept": -0.3} | SLOPES
    yield setting("ε = 1, poisson, x v", 5_000, count, of(counts), given, FORMULA, family="poisson")
    yield setting("ε = 1, quantile, x v", 5_000, LINEAR, of(number), given, FORMULA, family="quantile")
    yield setting("ε = 1, huber, x v", 5_000, LINEAR, of(heavy), given, FORMULA, family="huber")
    three = [block("y", ORDERED, 1.0), *given]
    yield setting("ε = 1, ordinal, y x v", 20_000, SLOPES | CUTS, of(ordered), three, FORMULA, family="ordinal")
    together = {
        "columns": ["y", "x", "v"],
        "domains": [YES_NO, YES_NO, NUMBERS],
        "mechanism": "joint",
        "epsilons": [2.0, 2.0, 2.0],
    }
    yield setting("joint block, logit, y x v", 10_000, LOGIT, of(yes_no), [together], FORMULA)
    pair = {"columns": ["x", "v"], "domains": [YES_NO, NUMBERS], "mechanism": "joint", "epsilons": [1.0, 1.0]}
    yield setting("joint block, linear, x v", 5_000, LINEAR, of(number), [pair], FORMULA)


def small() -> Iterator[Setting]:
    """500 and 1,000 people."""
    all_three = [block(epsilon=3.0, **one) for one in THREE]
    given = all_three[1:]
    count = {"Intercept": -0.3} | SLOPES
    for n in (500, 1_000):
        yield setting("small, linear, x v", n, LINEAR, of(number), given, FORMULA)
        yield setting("small, logit, x v", n, LOGIT, of(yes_no), given, FORMULA)
        yield setting("small, logit, y", n, LOGIT, of(yes_no), [block("y", YES_NO, 3.0)], FORMULA)
        yield setting("small, poisson, x v", n, count, of(counts), given, FORMULA, family="poisson")
        yield setting("small, quantile 0.5, x v", n, LINEAR, of(number), given, FORMULA, family="quantile")
        yield setting("small, huber, x v", n, LINEAR, of(heavy), given, FORMULA, family="huber")
        three = [block("y", ORDERED, 3.0), *given]
        yield setting("small, ordinal, y x v", n, SLOPES | CUTS, of(ordered), three, FORMULA, family="ordinal")
    yield setting(
        "small, logit, y x v", 1_000, LOGIT, of(yes_no), [block(epsilon=3.0, **one) for one in THREE], FORMULA
    )
    upper = LINEAR | {"Intercept": 2 + float(norm.ppf(0.9))}
    yield setting("small, quantile 0.9, x v", 1_000, upper, of(number), given, FORMULA, family="quantile", tau=0.9)


def shapes() -> Iterator[Setting]:
    """Interactions and squares of randomised columns, a rare value, another law than the logit, other errors."""
    given = [block(epsilon=3.0, **one) for one in THREE[1:]]

    def meet(people: People) -> Any:
        return 2 + index(people) + 0.5 * people.x * people.v + norm.ppf(people.u)

    crossed = LINEAR | {"x[T.yes]:v": 0.5}
    yield setting("interaction x:v, linear", 5_000, crossed, of(meet), given, "y ~ w + x * v")
    yield setting(
        "interaction x:v, logit", 10_000, LOGIT | {"x[T.yes]:v": 0.5},
        binary(lambda people: expit(-1 + index(people) + 0.5 * people.x * people.v)), given, "y ~ w + x * v",
    )  # fmt: skip

    def bent(people: People) -> Any:
        return 2 + index(people) + 0.3 * people.v**2 + norm.ppf(people.u)

    square = LINEAR | {"I(v ** 2)": 0.3}
    yield setting("square of v, linear", 5_000, square, of(bent), given[1:], "y ~ w + x + v + I(v ** 2)")
    yield setting(
        "square of v, poisson", 5_000, {"Intercept": -0.3} | SLOPES | {"I(v ** 2)": 0.1},
        of(lambda people: counts_at(people, index(people) - 0.3 + 0.1 * people.v**2)), given[1:],
        "y ~ w + x + v + I(v ** 2)", family="poisson",
    )  # fmt: skip
    for name, error in ERRORS.items():
        yield setting(f"linear, {name} errors", 3_000, {"Intercept": 1.0, "w": 0.5, "x[T.yes]": 1.0}, mixed(error),
                      [block("x", YES_NO, 1.0)], "y ~ w + x")  # fmt: skip
    yield setting("logit, x no logit of w", 5_000, {"Intercept": -0.5, "w": 0.8, "x[T.yes]": 1.0}, u_shaped,
                  [block("x", YES_NO, 1.0)], "y ~ w + x")  # fmt: skip
    four = {"Intercept": 0.0, "w": 0.5, "c[T.b]": 0.5, "c[T.c]": -0.5, "c[T.d]": 1.0}
    for n in (2_000, 10_000):
        yield setting(
            "rare value of 2 %, linear", n, four, rare_value("number"), [block("c", LETTERS, 2.0)], "y ~ w + c"
        )
        yield setting("rare value of 2 %, logit", n, four, rare_value("yes"), [block("c", LETTERS, 2.0)], "y ~ w + c")


def counts_at(people: People, eta: Any) -> Any:
    """Poisson counts of this index."""
    from scipy.stats import poisson

    return poisson.ppf(people.u, np.exp(eta)).astype(int)


#: Errors of variance about one.
ERRORS: dict[str, Callable[[Rng, Any], Any]] = {
    "normal": lambda rng, w: rng.normal(size=w.size),
    "exponential": lambda rng, w: rng.exponential(size=w.size) - 1,
    "t": lambda rng, w: rng.standard_t(4, w.size) / np.sqrt(2),
    "uneven": lambda rng, w: rng.normal(size=w.size) * np.exp(0.5 * w) / 1.28,
}


def mixed(error: Callable[[Rng, Any], Any]) -> Draw:
    """A number with these errors, and a yes/no predictor of 30 %."""

    def draw(rng: Rng, n: int) -> pa.Table:
        w = rng.normal(size=n)
        x = rng.random(n) < expit(-0.85 + 0.5 * w)
        return pa.table({"w": w, "x": np.where(x, "yes", "no"), "y": 1 + 0.5 * w + x + error(rng, w)})

    return draw


def u_shaped(rng: Rng, n: int) -> pa.Table:
    """A predictor that is common far out and rare between."""
    w = rng.normal(size=n)
    x = rng.random(n) < np.where(np.abs(w) > 1, 0.6, 0.06)
    y = rng.random(n) < expit(-0.5 + 0.8 * w + x)
    return pa.table({"w": w, "x": np.where(x, "yes", "no"), "y": y})


def rare_value(kind: str) -> Draw:
    """A predictor of four values, of which the last has 2 %."""

    def draw(rng: Rng, n: int) -> pa.Table:
        w, c = rng.normal(size=n), rng.choice(4, n, p=[0.5, 0.3, 0.18, 0.02])
        eta = 0.5 * w + np.array([0, 0.5, -0.5, 1.0])[c]
        y = eta + rng.normal(size=n) if kind == "number" else rng.random(n) < expit(eta)
        return pa.table({"w": w, "c": np.array(list("abcd"))[c], "y": y})

    return draw


def rare_class(rng: Rng, n: int) -> pa.Table:
    """Four ordered classes and three others, of each of which the last has about 2 %."""
    people = People(n, rng, survey=False)
    below = expit(np.array([-1.0, 0.5, 4.0])[:, None] - index(people))
    level = (people.u > below).sum(axis=0)
    scores = np.exp(np.array([np.zeros(n), index(people) - 0.5, -3.2 + 0.5 * people.w]))
    edges = np.cumsum(scores / scores.sum(axis=0), axis=0)[:2]
    kind = (rng.random(n) > edges).sum(axis=0)
    columns = {"w": people.w, "x": np.where(people.x, "yes", "no"), "v": people.v}
    columns["level"] = np.array(["low", "middle", "high", "top"])[level]
    return pa.table(columns | {"kind": np.array(list("abc"))[kind]})


def classes() -> Iterator[Setting]:
    """Rare classes."""
    cuts = SLOPES | {"low | middle": -1.0, "middle | high": 0.5, "high | top": 4.0}
    several = {"b: Intercept": -0.5} | {f"b: {k}": one for k, one in SLOPES.items()}
    several |= {"c: Intercept": -3.2, "c: w": 0.5, "c: x[T.yes]": 0.0, "c: v": 0.0}
    letters = {"categorical": ["a", "b", "c"]}
    for n in (2_000, 10_000):
        level, kind = [block("level", ORDERED, 2.0)], [block("kind", letters, 2.0)]
        x = [block("x", YES_NO, 2.0)]
        yield setting("rare class, ordinal, y", n, cuts, rare_class, level, "level ~ w + x + v", family="ordinal")
        yield setting("rare class, ordinal, y x", n, cuts, rare_class, level + x, "level ~ w + x + v", family="ordinal")
        yield setting("rare class, multinomial, y", n, several, rare_class, kind, "kind ~ w + x + v")
        yield setting("rare class, multinomial, y x", n, several, rare_class, kind + x, "kind ~ w + x + v")


def links() -> Iterator[Setting]:
    """Probit and complementary log-log with three randomised columns."""
    three = [block(epsilon=3.0, **one) for one in THREE]
    probit = {"Intercept": -0.6, "w": 0.3, "x[T.yes]": 0.6, "v": -0.24}
    normal = binary(lambda people: ndtr(0.6 * index(people) - 0.6))
    yield setting("probit, y x v", 10_000, probit, normal, three, FORMULA, link="probit")
    clog = binary(lambda people: -np.expm1(-np.exp(index(people) - 1)))
    yield setting("cloglog, y x v", 10_000, LOGIT, clog, three, FORMULA, link="cloglog")
    yield setting("cloglog, x", 3_000, LOGIT, clog, three[1:2], FORMULA, link="cloglog")


def merged(rng: Rng, n: int) -> pa.Table:
    """A number of eleven values that is related to a public one."""
    w = rng.normal(size=n)
    x = np.clip(np.round(5 + 1.5 * w + 2 * rng.normal(size=n)), 0, 10)
    return pa.table({"w": w, "h": x, "y": 1 + 0.25 * x + 0.5 * w + rng.normal(size=n)})


def blanks(rng: Rng, n: int) -> pa.Table:
    """People of whom some have no answer x, more often where w is large."""
    people = People(n, rng, survey=False)
    x = np.where(people.x, "yes", "no").astype(object)
    x[rng.random(n) < expit(-2 + 0.7 * people.w)] = None
    y = number(people)
    return pa.table({"w": people.w, "x": pa.array(x), "v": people.v, "y": y})


def mechanisms() -> Iterator[Setting]:
    """Values that are not told apart, blanks, four reports."""
    slope = {"Intercept": 1.0, "w": 0.5, "h": 0.25}
    grid = {"grid": {"low": 0, "high": 10, "points": 11}}
    for n in (2_000, 10_000):
        yield setting("bipartite number, linear", n, slope, merged, [block("h", grid, 2.0, "bipartite")], "y ~ w + h")
    blank = [block("x", YES_NO, 2.0, missing="category"), block("v", NUMBERS, 3.0)]
    yield setting("blank as a value of x, linear", 5_000, LINEAR, blanks, blank, FORMULA)
    yield setting("blank as a value of x alone, linear", 5_000, LINEAR, blanks, blank[:1], FORMULA)
    public = [block("x", YES_NO, 2.0, missing="public"), block("v", NUMBERS, 3.0)]
    yield setting("public blanks of x, linear", 5_000, LINEAR, blanks, public, FORMULA, missing="drop")
    four = [block(name, YES_NO, 0.5, delta=0.1, reports=4) for name in ("y", "x")]
    yield setting("four reports, logit, y", 5_000, LOGIT, of(yes_no), four[:1], FORMULA)
    yield setting("four reports, logit, y x", 20_000, LOGIT, of(yes_no), four, FORMULA)
    yield setting("four reports, linear, x", 5_000, LINEAR, of(number), four[1:], FORMULA)
    yield designs_by_row()


def designs_by_row() -> Setting:
    """Direct and crosswise answers y, and a randomised x."""
    by_mode = {"domain": YES_NO, "collected": True, "by": "mode"}
    asked = {"direct": {"direct": True}, "crosswise": {"crosswise": "1/4"}}
    alike = {"direct": {"warner": "5/6"}, "crosswise": {"warner": "5/6"}}
    private = [{"columns": ["y"], "designs": asked} | by_mode, {"columns": ["x"], "designs": alike} | by_mode]
    plan = Plan.from_dict({"public": [{"columns": ["w", "v", "mode"]}], "private": private})

    def ask(rng: Rng, source: Randomness) -> Any:
        del source  # people randomise on their own
        people = People(5_000, rng, survey=False)
        cross = rng.random(people.n) < 0.5
        y = yes_no(people) == "yes"
        answer = np.where(cross & (rng.random(people.n) < 0.75), ~y, y)
        x = np.where(rng.random(people.n) < 5 / 6, people.x, ~people.x)
        words = {"y": np.where(answer, "yes", "no"), "x": np.where(x, "yes", "no")}
        mode = np.where(cross, "crosswise", "direct")
        table = pa.table({"w": people.w, "v": people.v, "mode": mode} | words)
        return estimate.regression(FORMULA, Release.from_reports(table, plan))

    return Setting("designs by row, logit, y x, n = 5,000", LOGIT, ask)


def clusters() -> Iterator[Setting]:
    """Twelve clusters of about 200 people."""

    def drawn(outcome: Callable[[People], Any]) -> Draw:
        def draw(rng: Rng, n: int) -> pa.Table:
            people = People(n, rng, survey=False)
            people.cluster = rng.integers(0, 12, n)
            common = rng.normal(size=12)[people.cluster]
            people.u = ndtr(np.sqrt(0.1) * common + np.sqrt(0.9) * rng.normal(size=n))
            return people.table(outcome(people)).drop_columns(["stratum", "weight"])

        return draw

    survey = {"cluster": "cluster"}
    x, y = [block("x", YES_NO, 2.0)], [block("y", YES_NO, 3.0)]
    yield setting("twelve clusters, linear, x", 2_400, LINEAR, drawn(number), x, FORMULA, survey)
    yield setting("twelve clusters, logit, y", 2_400, LOGIT, drawn(yes_no), y, FORMULA, survey)


def settings() -> Iterator[Setting]:
    """All of them."""
    for some in (strong, small, shapes, classes, links, mechanisms, clusters):
        yield from some()


if __name__ == "__main__":
    main(settings, __doc__, "hard_regressions")
