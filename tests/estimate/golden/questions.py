"""The questions of the golden results, by name: estimator, column, sample and what else is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from discreet import estimate
from tests.estimate.golden.releases import opened

Question = Callable[[], Any]
#: How closely a result must be repeated: sums and ratios of them, maxima of smooth functions, minima with kinks,
#: and the value of the loss at such a minimum.
CLOSED, ITERATIVE, KINKED, OBJECTIVE = "closed", "iterative", "kinked", "objective"

FINITE = ("cheated", "smokes", "drinks", "party", "health", "meals", "hours", "pain", "code", "vote", "ill", "trade")
SCORED = ("cheated", "smokes", "drinks", "health", "meals", "hours", "pain", "ill", "income", "age")
SURVEYED = ("simple", "weighted", "clustered", "stratified", "survey")
INTERVALS = ("wald", "wilson", "chebyshev", "simultaneous", "anytime")


def _proportions() -> Iterator[tuple[str, str, Question]]:
    ask = estimate.frequencies
    for survey in SURVEYED:
        r = opened("answers", survey)
        columns = FINITE if survey in ("simple", "survey") else ("cheated", "party", "pain", "glad")
        for name in columns:
            yield f"frequencies/{survey}/{name}", CLOSED, partial(ask, r, name)
        yield f"frequencies/{survey}/cheated by sex", CLOSED, partial(ask, r, "cheated", by="sex")
        yield f"frequencies/{survey}/party by region", CLOSED, partial(ask, r, "party", by="region")
        yield f"frequencies/{survey}/party table", CLOSED, partial(ask, r, "party", target="table")
        yield f"frequencies/{survey}/party mle", ITERATIVE, partial(ask, r, "party", method="mle")
    simple, survey_ = opened("answers"), opened("answers", "survey")
    for name in ("health", "pain", "code"):
        yield f"frequencies/simple/{name} mle", ITERATIVE, partial(ask, simple, name, method="mle")
    for name in ("days", "stay", "vote"):
        yield f"frequencies/simple/{name} bounds", ITERATIVE, partial(ask, simple, name, method="bounds")
    yield "frequencies/survey/stay bounds", ITERATIVE, partial(ask, survey_, "stay", method="bounds")
    yield "frequencies/simple/contaminated", CLOSED, partial(ask, simple, "party", contamination=0.05)
    yield "frequencies/simple/sex and region", CLOSED, partial(ask, simple, "cheated", by=["sex", "region"])
    yield "frequencies/survey/totals", CLOSED, lambda: ask(survey_, "party").totals()
    yield "frequencies/survey/compared", CLOSED, lambda: ask(survey_, "party", by="sex").compare("f", "m")
    yield "frequencies/simple/top", CLOSED, lambda: ask(simple, "code").top(5)
    yield "frequencies/survey/value", CLOSED, lambda: ask(survey_, "party")["green"]
    yield "frequencies/survey/mean", CLOSED, lambda: ask(survey_, "meals").mean()
    yield "frequencies/designs/cheated", CLOSED, lambda: ask(opened("designs"), "cheated")
    yield "frequencies/designs/by mode", CLOSED, lambda: ask(opened("designs"), "cheated", by="mode")
    for method in INTERVALS:
        for column in ("cheated", "party"):
            for survey in ("simple", "weighted"):
                r = opened("answers", survey)
                if survey == "simple" or method not in ("anytime", "chebyshev"):
                    yield f"intervals/{survey}/{column} {method}", CLOSED, _interval(ask, r, column, method)
    for method in ("exact", "score", "likelihood-ratio"):
        yield f"intervals/simple/cheated {method}", ITERATIVE, _interval(ask, simple, "cheated", method)


def _interval(ask: Any, release: Any, column: str, method: str) -> Question:
    return lambda: {"interval": ask(release, column).interval(0.9, method)}


def _means() -> Iterator[tuple[str, str, Question]]:
    for survey in SURVEYED:
        r = opened("answers", survey)
        columns = SCORED if survey in ("simple", "survey") else ("cheated", "meals", "hours", "income")
        for name in columns:
            yield f"mean/{survey}/{name}", CLOSED, partial(estimate.mean, r, name)
        yield f"mean/{survey}/meals by region", CLOSED, partial(estimate.mean, r, "meals", by="region")
        yield f"mean/{survey}/meals table", CLOSED, partial(estimate.mean, r, "meals", target="table")
        yield f"total/{survey}/cheated", CLOSED, partial(estimate.total, r, "cheated")
        yield f"total/{survey}/hours by sex", CLOSED, partial(estimate.total, r, "hours", by="sex")
        yield f"quantile/{survey}/meals", CLOSED, partial(estimate.quantile, r, "meals", 0.5)
        yield f"quantile/{survey}/income by sex", CLOSED, partial(estimate.quantile, r, "income", 0.8, by="sex")
        yield f"expectation/{survey}/hours", CLOSED, partial(estimate.expectation, r, "hours", np.square)
        yield f"difference/{survey}/meals", CLOSED, _compared(r, "meals", "difference")
        yield f"ratio/{survey}/income", CLOSED, _compared(r, "income", "ratio")
        numbers = opened("numbers", survey)
        yield f"mean/{survey}/x", CLOSED, partial(estimate.mean, numbers, "x")
        yield f"quantile/{survey}/pain", CLOSED, partial(estimate.quantile, r, "pain", 0.3)
    for name in ("z", "pure", "noisy"):
        yield f"mean/simple/{name}", CLOSED, partial(estimate.mean, opened("numbers"), name, by="region")
    yield "quantile/simple/x", ITERATIVE, partial(estimate.quantile, opened("numbers"), "x", 0.5)
    yield "mean/simple/stay", ITERATIVE, partial(estimate.mean, opened("answers"), "stay")
    yield "quantile/simple/stay", ITERATIVE, partial(estimate.quantile, opened("answers"), "stay", 0.5)
    yield "mean/one/rent", CLOSED, partial(estimate.mean, opened("one"), "rent")
    yield "mean/one/fuel by sex", CLOSED, partial(estimate.mean, opened("one"), "fuel", by="sex")


def _compared(release: Any, column: str, kind: str) -> Question:
    return lambda: estimate.mean(release, column, by="region").compare(kind=kind)


def _tables() -> Iterator[tuple[str, str, Question]]:
    pairs = [("cheated", "smokes"), ("party", "sex"), ("ill", "trade"), ("party", "vote")]
    for survey in ("simple", "weighted", "clustered", "survey"):
        r = opened("answers", survey)
        for a, b in pairs:
            table = partial(estimate.crosstab, r, a, b)
            yield f"crosstab/{survey}/{a} {b}", CLOSED, table
            yield f"independence/{survey}/{a} {b}", ITERATIVE, _independence(table)
        yield f"odds/{survey}/cheated smokes", CLOSED, _odds(partial(estimate.crosstab, r, "cheated", "smokes"))
        yield f"odds/{survey}/ill old", CLOSED, _odds(partial(estimate.crosstab, r, "ill", "old"))
        yield f"joint/{survey}/three", CLOSED, partial(estimate.joint_table, r, ["ill", "trade", "old"])
        yield f"correlation/{survey}/cheated smokes", CLOSED, partial(estimate.correlation, r, "cheated", "smokes")
        yield f"correlation/{survey}/meals income", CLOSED, partial(estimate.correlation, r, "meals", "income")
    numbers = opened("numbers")
    yield "correlation/simple/x z", CLOSED, partial(estimate.correlation, numbers, "x", "z")
    yield "correlation/simple/x y", CLOSED, partial(estimate.correlation, numbers, "x", "y")


def _independence(table: Question) -> Question:
    def ask() -> dict[str, Any]:
        found = table().chi_square()
        return {"statistic": found.statistic, "degrees_of_freedom": found.df, "p_value": found.p_value}

    return ask


def _odds(table: Question) -> Question:
    def ask() -> dict[str, Any]:
        ratio, *interval = table().odds_ratio()
        return {"ratio": ratio, "interval": interval}

    return ask


def _weights() -> Iterator[tuple[str, str, Question]]:
    totals = {"region": {"north": 5_000, "south": 3_500, "west": 1_500}, "sex": {"f": 5_200, "m": 4_800}}
    for survey in ("simple", "weighted", "clustered", "survey"):
        r = opened("answers", survey)
        for method in ("raking", "linear"):
            yield f"calibrated/{survey}/meals {method}", ITERATIVE, _calibrated(r, totals, method, "meals")
        for column in ("cheated", "party"):
            yield f"calibrated/{survey}/{column}", ITERATIVE, _calibrated(r, totals, "raking", column)
    for survey in ("clustered", "survey"):
        r = opened("answers", survey)
        for method in ("jackknife", "bootstrap"):
            yield f"replicated/{survey}/{method}", CLOSED, _replicated(r, method)
    designs = opened("designs")
    for model in ("cheating-detection", "stochastic-lie"):
        yield f"noncompliance/{model}", ITERATIVE, partial(estimate.noncompliance, designs, "cheated", model=model)


def _calibrated(release: Any, totals: Any, method: str, column: str) -> Question:
    ask = estimate.mean if column == "meals" else estimate.frequencies
    return lambda: ask(release, column, weights=estimate.calibrate(release, totals, method))


def _replicated(release: Any, method: str) -> Question:
    return lambda: estimate.replicate(lambda r: estimate.mean(r, "meals", by="sex"), release, method, replicates=30)


#: Formulas on answers with finitely many values: formula, family, method, link.
FINITE_FITS = [
    ("cheated ~ age + sex", "binary", "likelihood", None),
    ("cheated ~ age", "binary", "likelihood", "probit"),
    ("cheated ~ age", "binary", "likelihood", "cauchit"),
    ("cheated ~ age", "binary", "likelihood", "cloglog"),
    ("cheated ~ 1", "binary", "likelihood", None),
    ("drinks ~ age", "binary", "likelihood", None),
    ("ill ~ age + sex", "binary", "likelihood", None),
    ("party ~ age", "multinomial", "likelihood", None),
    ("trade ~ age", "multinomial", "likelihood", None),
    ("cheated ~ age + smokes", "binary", "corrected", None),
    ("cheated ~ age", "linear", "corrected", None),
    ("glad ~ smokes + age", "binary", "corrected", None),
    ("glad ~ smokes + age", "binary", "likelihood", None),
    ("glad ~ smokes", "binary", "corrected", "probit"),
    ("glad ~ ill + old", "binary", "corrected", None),
    ("income ~ smokes + age", "linear", "corrected", None),
    ("income ~ smokes + age", "linear", "likelihood", None),
    ("income ~ smokes * sex", "linear", "corrected", None),
    ("income ~ party + vote", "linear", "corrected", None),
    ("income ~ meals + I(meals**2)", "linear", "corrected", None),
    ("income ~ hours", "linear", "corrected", None),
    ("income ~ ill + trade", "linear", "corrected", None),
    ("hours ~ age + smokes", "linear", "corrected", None),
    ("meals ~ cheated", "linear", "corrected", None),
    ("meals ~ age", "ordinal", "corrected", None),
    ("party ~ smokes", "multinomial", "corrected", None),
    ("visits ~ smokes + age", "poisson", "corrected", None),
    ("income ~ smokes", "huber", "corrected", None),
    ("income ~ smokes", "quantile", "corrected", None),
    ("glad ~ smokes", "hinge", "corrected", None),
]
#: Formulas on numbers with noise.
NUMBER_FITS = [
    ("y ~ x + z", "linear", "exact", None),
    ("y ~ x + z", "linear", "box", None),
    ("y ~ x + z", "linear", "auto", None),
    ("y ~ x", "linear", "naive", None),
    ("y ~ x + age", "huber", "exact", None),
    ("y ~ x", "huber", "box", None),
    ("y ~ x", "quantile", "exact", None),
    ("y ~ x", "quantile", "box", None),
    ("tall ~ x", "hinge", "box", None),
    ("tall ~ x + z", "binary", "exact", None),
    ("tall ~ x + z", "binary", "box", None),
    ("tall ~ x", "binary", "likelihood", None),
    ("tall ~ x", "binary", "box", "probit"),
    ("visits ~ x", "poisson", "exact", None),
    ("visits ~ x", "poisson", "box", None),
    ("visits ~ x", "poisson", "likelihood", None),
    ("y ~ pure", "linear", "exact", None),
    ("noisy ~ x + z", "linear", "exact", None),
    ("noisy ~ age", "linear", "auto", None),
    ("cheated ~ x", "binary", "auto", None),
    ("y ~ x + cheated", "linear", "corrected", None),
    ("tall ~ x + cheated", "binary", "corrected", None),
    ("party ~ x", "multinomial", "corrected", None),
]
_KINKS = ("quantile", "hinge")
MEDIAN = ("income ~ smokes", "quantile")


def _median_objective(survey: str, ask: Question) -> dict[str, float]:
    """``Σ w Σ_t A[t, r] |y − b₀ − b₁t|/Σw`` at the coefficients, with A the inverse of the channel's transpose."""
    release = opened("answers", survey)
    table = release.to_arrow()
    undone = np.linalg.inv(release.mechanism("smokes").matrix().T)
    reports = (table["smokes"].to_numpy(zero_copy_only=False) == "yes").astype(int)
    weights = np.ones(len(reports)) if release.survey.weight is None else table[release.survey.weight].to_numpy()
    constant, slope = ask().coefficients
    y = table["income"].to_numpy()
    loss = sum(undone[t, reports] * np.abs(y - constant - slope * t) for t in (0, 1))
    return {"objective": float(weights @ loss / weights.sum())}


def _fits() -> Iterator[tuple[str, str, Question]]:
    for kind, fits in (("answers", FINITE_FITS), ("numbers", NUMBER_FITS)):
        for place, (formula, family, method, link) in enumerate(fits):
            # Every fit on a simple sample, and every third on each of the others.
            others = SURVEYED[1:][place % 4]
            for survey in ("simple", "survey" if place % 3 == 0 else others):
                name = f"regression/{survey}/{formula}, {family}, {method}{'' if link is None else ', ' + link}"
                told = KINKED if family in _KINKS else ITERATIVE
                ask = _fit(opened(kind, survey), formula, family, method, link)
                yield name, told, ask
                if formula == MEDIAN[0] and family == MEDIAN[1]:
                    yield f"objective/{survey}/{formula}", OBJECTIVE, partial(_median_objective, survey, ask)
    survey = opened("answers", "survey")
    base = _fit(survey, "cheated ~ age + sex", "binary", "auto", None)
    yield "effects/cheated ~ age + sex", ITERATIVE, lambda: base().marginal_effects()
    rows = {"age": [20.0, 50.0], "sex": ["f", "m"]}
    yield "predict/cheated ~ age + sex", ITERATIVE, lambda: base().predict(rows)
    yield (
        "firth/cheated ~ age",
        ITERATIVE,
        partial(estimate.regression, "cheated ~ age", opened("answers"), penalty="firth"),
    )
    yield "ratios/cheated ~ age + sex", ITERATIVE, lambda: base().odds_ratios()
    several = _fit(survey, "cheated ~ age + smokes", "binary", "auto", None)
    yield "effects/cheated ~ age + smokes", ITERATIVE, lambda: several().marginal_effects()
    yield "predict/cheated ~ age + smokes", ITERATIVE, lambda: several().predict(rows | {"smokes": ["no", "yes"]})
    grouped = partial(estimate.regression, "cheated ~ age + (1 | school)", opened("answers"))
    yield "random intercept/cheated ~ age", ITERATIVE, grouped
    designs = partial(estimate.regression, "cheated ~ age", opened("designs"))
    yield "regression/designs/cheated ~ age", ITERATIVE, designs


def _fit(release: Any, formula: str, family: str, method: str, link: str | None) -> Question:
    return lambda: estimate.regression(formula, release, family, link, method=method)


def _m_estimates() -> Iterator[tuple[str, str, Question]]:
    losses = {
        "squared": ("exact", "box", "auto", "naive"),
        "huber": ("exact", "box"),
        "check": ("exact", "box"),
        "logistic": ("exact", "box", "likelihood"),
        "probit": ("exact", "likelihood"),
        "poisson": ("exact", "box", "likelihood"),
        "hinge": ("box",),
    }
    for loss, methods in losses.items():
        outcome = {"logistic": "tall", "probit": "tall", "poisson": "visits", "hinge": "tall"}.get(loss, "y")
        for method in methods:
            told = KINKED if loss in ("check", "hinge") else ITERATIVE
            yield f"m_estimate/{loss}, {method}", told, partial(_m_estimate, loss, method, outcome)
    for loss in ("squared", "logistic"):
        outcome = "tall" if loss == "logistic" else "y"
        yield f"m_estimate/{loss}, clusters", ITERATIVE, partial(_m_estimate, loss, "exact", outcome, clusters="school")
        yield f"m_estimate/{loss}, weights", ITERATIVE, partial(_m_estimate, loss, "exact", outcome, weights="w")


def _m_estimate(loss: str, method: str, outcome: str, **aside: str) -> Any:
    release = opened("numbers")
    table = release.to_arrow()
    reports = np.column_stack([table[name].to_numpy() for name in ("x", "z")])
    y = table[outcome].to_numpy()
    y = np.where(y == "yes", 1.0, 0.0) if outcome == "tall" else np.asarray(y, float)
    if loss == "hinge":
        y = 2 * y - 1
    columns = {name: table[column].to_numpy() for name, column in aside.items()}
    ones = np.ones((len(y), 1))
    block = next(one for one in release.manifest.blocks if "x" in one.columns)
    return estimate.m_estimate(loss, reports, block.mechanism, method=method, public=ones, outcome=y, **columns)


def questions() -> dict[str, tuple[str, Question]]:
    """All of them: name, how closely, question."""
    parts = (_proportions(), _means(), _tables(), _weights(), _fits(), _m_estimates())
    return {name: (kind, ask) for part in parts for name, kind, ask in part}
