"""One of every result: the contract is tested on all of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from discreet import Box, Ordinal, Randomness, design, estimate
from discreet.estimate.regressions.likelihood.multinomial import multinomial_regression
from discreet.estimate.regressions.likelihood.predictor import predictor_regression
from discreet.mechanisms import BinaryResponse, ChannelResponse, GeneralizedResponse, ZeroInflatedLaplace

#: A label that a page would run if it were not escaped.
SCRIPT = "<script>alert(1)</script>"
ASKED = BinaryResponse.warner("3/4")
THREE = GeneralizedResponse(3, 1.0)
N = 600


@cache
def sample() -> dict[str, Any]:
    rng = np.random.default_rng(11)
    truth = rng.integers(0, 2, N)
    X = np.column_stack([np.ones(N), rng.normal(size=N)])
    return {
        "yes": ASKED.privatize(truth, Randomness.seeded(1)),
        "no": ASKED.privatize(1 - truth, Randomness.seeded(2)),
        "three": THREE.privatize(rng.integers(0, 3, N), Randomness.seeded(3)),
        "group": np.where(rng.random(N) < 0.5, SCRIPT, "south"),
        "X": X,
        "outcome": X @ [1.0, 0.5] + truth + rng.normal(size=N),
        "weights": rng.uniform(0.5, 2.0, N),
    }


def frequencies(**more: Any) -> Any:
    return estimate.frequencies(sample()["three"], THREE, labels=["a", SCRIPT, "c"], **more)


def bounds(**more: Any) -> Any:
    blurred = ChannelResponse([["1/2", "1/2"], ["1/2", "1/2"], ["1/4", "3/4"]])
    return estimate.frequencies(sample()["yes"], blurred, labels=[0, 1, 2], method="bounds", **more)


def labelled_bounds(**more: Any) -> Any:
    blurred = ChannelResponse([["1/2", "1/2"], ["1/2", "1/2"], ["1/4", "3/4"]])
    return estimate.frequencies(sample()["yes"], blurred, labels=["a", SCRIPT, "c"], method="bounds", **more)


def crosstab() -> Any:
    data = sample()
    return estimate.crosstab_of_reports(data["yes"], data["no"], ASKED, ASKED, row_labels=["no", SCRIPT])


@cache
def joint() -> tuple[Any, Any]:

    mechanism = design.attributes([2, 2], [2.0, 2.0]).mechanism
    truth = np.random.default_rng(4).integers(0, 2, (N, 2))
    return mechanism.privatize(truth, Randomness.seeded(5)), mechanism


def regression() -> Any:
    data = sample()
    return estimate.binary_regression(data["X"], data["yes"], 0.75, 0.75, names=["one", SCRIPT])


def m_estimate() -> Any:
    data, laplace = sample(), ZeroInflatedLaplace(Box([-4], [4]), 0.5, 0.2)
    reports = laplace.privatize(np.clip(data["X"][:, 1:], -4, 4), Randomness.seeded(6))
    ones = np.ones((N, 1))
    return estimate.m_estimate("squared", reports, laplace, public=ones, outcome=data["outcome"], names=[SCRIPT, "one"])


def correlation() -> Any:
    import pyarrow as pa

    from discreet import release

    data, column = sample(), f"{SCRIPT} column"
    table = pa.table({column: data["X"][:, 1], "b": data["outcome"]})
    asked = {"columns": ["a"], "domain": {"binary": ["no", "yes"]}, "mechanism": "randomized-response", "epsilon": 1.0}
    table = table.append_column("a", pa.array(np.where(data["no"] == 1, "yes", "no")))
    private = release(
        table, {"public": [{"columns": [column, "b"]}], "private": [asked]}, randomness=Randomness.seeded(8)
    )
    return estimate.correlation(private, column, "b")


@cache
def several() -> Any:
    """A logit on two randomised columns."""
    import pyarrow as pa

    from discreet import release

    rng = np.random.default_rng(3)
    smokes = rng.random(4_000) < 0.4
    cheated = rng.random(4_000) < np.where(smokes, 0.7, 0.3)
    table = pa.table({SCRIPT: np.where(smokes, "yes", "no"), "cheated": np.where(cheated, "yes", "no")})
    asked = {"domain": {"binary": ["no", "yes"]}, "mechanism": "randomized-response", "epsilon": 3.0}
    plan = {"private": [{**asked, "columns": [name]} for name in table.column_names]}
    private = release(table, plan, randomness=Randomness.seeded(9))
    return estimate.regression(f"cheated ~ `{SCRIPT}`", private)


@cache
def released_answers() -> Any:
    """A release with a private and a public column."""
    import pyarrow as pa

    from discreet import release

    rng = np.random.default_rng(21)
    table = pa.table({SCRIPT: rng.integers(0, 3, N), "cheated": np.where(rng.random(N) < 0.4, "yes", SCRIPT)})
    asked = {"domain": {"ordinal": [0, 1, 2]}, "mechanism": "randomized-response", "epsilon": 3.0}
    plan = {"public": [{"columns": ["cheated"]}], "private": [{**asked, "columns": [SCRIPT]}]}
    return release(table, plan, randomness=Randomness.seeded(22))


@cache
def grouped() -> Any:
    """A logit with an intercept for every school."""
    import pyarrow as pa

    from discreet import release

    rng = np.random.default_rng(14)
    school = np.repeat(np.arange(80), 8)
    odds = -0.3 + 1.2 * rng.normal(size=80)[school]
    cheated = rng.random(school.size) < 1 / (1 + np.exp(-odds))
    table = pa.table({SCRIPT: school, "cheated": np.where(cheated, "yes", "no")})
    asked = {"domain": {"binary": ["no", "yes"]}, "mechanism": "randomized-response", "epsilon": 3.0}
    plan = {"public": [{"columns": [SCRIPT]}], "private": [{**asked, "columns": ["cheated"]}]}
    return estimate.regression(f"cheated ~ (1 | `{SCRIPT}`)", release(table, plan, randomness=Randomness.seeded(7)))


def two_groups() -> dict[str, Any]:
    """People of whom some say "no" whatever they are told, asked under two designs."""
    rng = np.random.default_rng(12)
    group = rng.integers(0, 2, N)
    told = np.array([0.3, 0.8])[group]
    says = np.where(rng.random(N) < 0.1, 0, (rng.random(N) < 0.3) | (rng.random(N) < told)).astype(int)
    designs = {SCRIPT: BinaryResponse.forced("3/10", 0), "b": BinaryResponse.forced("4/5", 0)}
    return {"reports": says, "groups": np.where(group == 0, SCRIPT, "b"), "designs": designs}


def noncompliance_regression() -> Any:
    X = sample()["X"]
    return estimate.noncompliance_regression(X, **two_groups(), names=["one", SCRIPT])


#: Results with estimates and intervals, by name.
RESULTS: dict[str, Callable[[], Any]] = {
    "Frequencies": frequencies,
    "Frequencies, mle": lambda: frequencies(method="mle"),
    "Frequencies, survey": lambda: frequencies(weights=sample()["weights"]),
    "ValueFrequency": lambda: frequencies()[SCRIPT],
    "GroupedFrequencies": lambda: estimate.frequencies(sample()["yes"], ASKED, by=sample()["group"]),
    "GroupedFrequencies, two columns": lambda: frequencies(by=[sample()["group"], sample()["yes"]]),
    "Totals": lambda: frequencies(weights=sample()["weights"]).totals(),
    "CrossTab": crosstab,
    "JointTable": lambda: estimate.joint_table(*joint(), (0, 1), labels=[["no", SCRIPT], ["no", "yes"]]),
    "FrequencyBounds": labelled_bounds,
    "GroupedBounds": lambda: labelled_bounds(by=sample()["group"]),
    "Range, mean": lambda: bounds().mean(),
    "Ranges": lambda: bounds(by=sample()["group"]).mean(),
    "Ranges, quantile": lambda: bounds(by=sample()["group"]).quantile(0.5),
    "Range, quantile": lambda: bounds().quantile(0.5),
    "BinaryRegression": regression,
    "MultinomialRegression": lambda: multinomial_regression(
        sample()["X"], sample()["three"], THREE, classes=["a", SCRIPT, "c"]
    ),
    "PredictorRegression": lambda: predictor_regression(
        sample()["outcome"], sample()["X"], sample()["yes"], ASKED, family="gaussian", classes=["no", SCRIPT]
    ),
    "MEstimate": lambda: estimate.m_estimate(
        estimate.losses.Expectation(lambda x: x[:, 0]),
        [[0.1], [0.2], [0.5]],
        ZeroInflatedLaplace(Box([-4], [4]), 0.5, 0.2),
        names=[SCRIPT],
    ),
    "CorrectedRegression, arrays": m_estimate,
    "Comparison": lambda: estimate.compare({"corrected": regression(), SCRIPT: regression().naive()}),
    "Ratios": lambda: regression().odds_ratios(),
    "MarginalEffects": lambda: regression().marginal_effects(),
    "Statistic": lambda: estimate.mean(sample()["three"], THREE),
    "Statistic, calibrated": lambda: estimate.mean(
        sample()["three"],
        THREE,
        by=sample()["group"],
        weights=estimate.calibrate({"a": sample()["group"]}, {"a": {SCRIPT: 500, "south": 700}}),
    ),
    "Statistic, groups": lambda: estimate.mean(sample()["three"], THREE, by=sample()["group"]),
    "Statistic, share": lambda: estimate.mean(sample()["yes"], ASKED, by=[sample()["group"], sample()["three"]]),
    "Statistic, total": lambda: estimate.total(sample()["three"], THREE, weights=sample()["weights"]),
    "Statistic, functional": lambda: frequencies().functional([0.0, 1.0, 1.0]),
    "Quantiles": lambda: estimate.quantile(sample()["outcome"], None, 0.3, by=sample()["group"]),
    "Contrast": lambda: estimate.mean(sample()["outcome"], by=sample()["group"]).compare(SCRIPT, "south"),
    "Contrast, pairs": lambda: estimate.mean(1 + sample()["outcome"] ** 2, by=sample()["three"]).compare(kind="ratio"),
    "TopFrequencies": lambda: frequencies().top(2),
    "Correlation": correlation,
    "CorrectedRegression": several,
    "PredictedMeans": lambda: several().predict({SCRIPT: ["no", "yes"]}),
    "RandomInterceptRegression": grouped,
    "Replicated": lambda: estimate.replicate(
        lambda r: estimate.mean(r, SCRIPT, by="cheated"), released_answers(), "bootstrap", replicates=20
    ),
    "Noncompliance": lambda: estimate.noncompliance(**two_groups()),
    "NoncomplianceRegression": noncompliance_regression,
    "Predictions": lambda: regression().predict(sample()["X"][:30], interval=True),
}

#: What is shown like a result without being an estimate.
SHOWN: dict[str, Callable[[], Any]] = {
    "ModelTable": lambda: estimate.table(regression(), several(), regression().odds_ratios()),
    "IndependenceTest": lambda: crosstab().chi_square(),
    "IndependenceTest, survey": lambda: estimate.crosstab_of_reports(
        sample()["yes"], sample()["no"], ASKED, ASKED, clusters=np.arange(N) % 50
    ).chi_square(),
    "GoodnessOfFit": lambda: regression().goodness_of_fit(),
    "Calibration": lambda: estimate.calibrate({"a": sample()["group"]}, {"a": {SCRIPT: 500, "south": 700}}),
    "MetricComparison": lambda: design.compare(Ordinal(range(5)), 1.0, 1_000),
}


@cache
def result(name: str) -> Any:
    """The result of this name, made once."""
    return (RESULTS | SHOWN)[name]()
