"""Right calls of the methods of results, mechanisms and releases, and of what reads and writes files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from discreet import Box, Guarantee, Plan, Randomness, Release, audit, design, estimate, mechanisms, privacy, publish
from discreet.estimate import Batch
from discreet.estimate.regressions.likelihood.multinomial import multinomial_regression
from discreet.manifest.signature import PublicKey, SigningKey, new_keys
from tests.security.calls import Call, sample, small_plan, small_release


def calls_of_results() -> Iterator[Call]:
    """Every method once, with small arguments that are right."""
    yield from _mechanisms()
    yield from _tables()
    yield from _regressions()
    yield from _compliance()
    yield from _files()


def _mechanisms() -> Iterator[Call]:
    binary = mechanisms.BinaryResponse
    yield Call("BinaryResponse.forced", binary.forced, {"yes": "1/6", "no": "1/6"})
    yield Call("BinaryResponse.kuk", binary.kuk, {"yes": "3/4", "no": "1/4"})
    yield Call("BinaryResponse.mangat", binary.mangat, {"p": "1/3"})
    yield Call("BinaryResponse.triangular", binary.triangular, {"p": "1/3"})
    yield Call("BinaryResponse.devore", binary.devore, {"p": "1/3"})
    yield Call("BinaryResponse.singh_joarder", binary.singh_joarder, {"p": "1/3"})
    yield Call("BinaryResponse.extended_crosswise", binary.extended_crosswise, {"p": "1/3"})
    yield Call("BinaryResponse.mangat_singh", binary.mangat_singh, {"first": "1/3", "p": "2/3"})
    yield Call("BinaryResponse.mangat_singh_singh", binary.mangat_singh_singh, {"p": "2/3", "prevalence": "1/2"})
    stages = {"first": "1/3", "p": "2/3", "prevalence": "1/2"}
    yield Call("BinaryResponse.two_stage_unrelated", binary.two_stage_unrelated, stages)
    yield Call("BinaryResponse.unrelated", binary.unrelated, {"p": "2/3", "prevalence": "1/2"})
    losses = [[0.0, 1.0], [1.0, 0.0]]
    channel = [[0.7, 0.3], [0.3, 0.7]]
    yield Call("ChannelResponse.private", mechanisms.ChannelResponse.private, {"matrix": channel, "epsilon": 1.0})
    yield Call(
        "ExponentialResponse.published", mechanisms.ExponentialResponse.published, {"losses": losses, "epsilon": 1.0}
    )
    laplace = mechanisms.ZeroInflatedLaplace(Box([0.0, 0.0], [1.0, 1.0]), 1.0, 0.1, epsilon=3.0)
    yield Call("ZeroInflatedLaplace.coordinates", laplace.coordinates, {"chosen": [0]})
    yield Call("ZeroInflatedLaplace.ratio", laplace.ratio, {"unit": "record"})
    yield Call("ZeroInflatedLaplace.trade_off", laplace.trade_off, {"alpha": 0.1, "bound": True, "unit": "record"})
    joint = design.attributes([2, 3], [1.0, 1.0]).mechanism
    yield Call("JointResponse.pair_eigenvalues", joint.pair_eigenvalues, {"attributes": [0, 1]})
    promise = Guarantee(1.0)
    yield Call("Guarantee.fits", promise.fits, {"epsilon": 1.0, "delta": 0.0})
    yield Call("Guarantee.belief_after", promise.belief_after, {"prior": 0.5})
    yield Call("Guarantee.composed", promise.composed, {"guarantees": [promise]})


def _tables() -> Iterator[Call]:
    data, binary, three = sample(), mechanisms.BinaryResponse(0.75, 0.75), mechanisms.GeneralizedResponse(3, 1.0)
    groups = estimate.frequencies(data["y"], binary, by=data["three"])
    cross = estimate.crosstab_of_reports(data["y"], data["y"][::-1], binary, binary)
    between = estimate.frequencies(data["three"], three, method="bounds")
    for name, result in (("GroupedFrequencies", groups), ("CrossTab", cross), ("FrequencyBounds", between)):
        yield Call(f"{name}.interval", result.interval, {"level": 0.95, "method": None})
        yield Call(f"{name}.summary", result.summary, {"level": 0.95, "method": None})
        yield Call(f"{name}.to_dict", result.to_dict, {"level": 0.95, "method": None})
    plain = estimate.frequencies(data["three"], three)
    yield Call("Frequencies.mean", plain.mean, {"positions": [0.0, 1.0, 2.0]})
    yield Call("Frequencies.functional", plain.functional, {"scores": [0.0, 1.0, 2.0]})
    yield Call("Frequencies.quantile", plain.quantile, {"p": 0.5, "positions": [0.0, 1.0, 2.0]})
    yield Call("Frequencies.top", plain.top, {"k": 2})
    yield Call("GroupedFrequencies.compare", groups.compare, {"first": 0, "second": 1})
    means = estimate.mean(data["y"], binary, by=data["three"])
    yield Call("Statistic.interval", means.interval, {"level": 0.95, "method": None})
    yield Call("Statistic.compare", means.compare, {"first": 0, "second": 1, "kind": "difference"})
    yield Call("Contrast.interval", means.compare(0, 1).interval, {"level": 0.95, "method": None})
    yield Call("CrossTab.odds_ratio", cross.odds_ratio, {"level": 0.95})
    yield Call("FrequencyBounds.functional", between.functional, {"scores": [0.0, 1.0, 2.0], "level": 0.95})
    yield Call("FrequencyBounds.mean", between.mean, {"level": 0.95, "positions": [0.0, 1.0, 2.0]})
    yield Call("FrequencyBounds.quantile", between.quantile, {"q": 0.5, "level": 0.95})


def _regressions() -> Iterator[Call]:
    data = sample()
    fit = estimate.binary_regression(data["X"], data["y"], 0.75, 0.75)
    yield Call("BinaryRegression.covariance_of", fit.covariance_of, {"kind": "robust"})
    yield Call("BinaryRegression.goodness_of_fit", fit.goodness_of_fit, {"groups": 5})
    yield Call("BinaryRegression.marginal_effects", fit.marginal_effects, {"discrete": ["x2"]})
    yield Call("BinaryRegression.predict", fit.predict, {"X": data["X"], "offset": None, "interval": False})
    yield Call("BinaryRegression.residuals", fit.residuals, {"kind": "pearson"})
    yield Call("BinaryRegression.summary", fit.summary, {"level": 0.95, "method": None})
    yield Call("BinaryRegression.test", fit.test, {"names": "x2", "method": "wald", "value": 0.0})
    batch = Batch(data["X"], data["y"], 0.75, 0.75)
    yield Call(
        "binary_regression_batches",
        estimate.binary_regression_batches,
        {"batches": [batch], "link": "logit", "names": None, "penalty": None},
    )
    classes = multinomial_regression(data["X"], data["three"], mechanisms.GeneralizedResponse(3, 1.0))
    yield Call("MultinomialRegression.interval", classes.interval, {"level": 0.95, "method": None})
    yield Call("MultinomialRegression.predict", classes.predict, {"X": data["X"]})
    yield Call("MultinomialRegression.test", classes.test, {"names": classes.names[0], "method": "wald", "value": 0.0})


def _compliance() -> Iterator[Call]:
    data, groups = sample(), ["a", "b"] * 30
    designs = {"a": mechanisms.BinaryResponse.forced("1/6", "1/6"), "b": mechanisms.BinaryResponse.forced("1/2", "1/6")}
    common: dict[str, Any] = {"groups": groups, "designs": designs, "model": "cheating-detection", "evasive": 0}
    yield Call("noncompliance", estimate.noncompliance, {"reports": data["y"], **common})
    counts = {"a": [20, 10], "b": [14, 16]}
    yield Call("noncompliance, counts", estimate.noncompliance, {"counts": counts, "designs": designs})
    result = estimate.noncompliance(counts=counts, designs=designs)
    yield Call("Noncompliance.interval", result.interval, {"level": 0.95, "method": None})
    yield Call("Noncompliance.summary", result.summary, {"level": 0.95, "method": None})
    yield Call("Noncompliance.to_dict", result.to_dict, {"level": 0.95, "method": None})
    about_rows = {"weights": None, "strata": None, "clusters": None, "names": None}
    regression = {"formula": data["X"], "reports": data["y"], **common, "second": None, "link": "logit", **about_rows}
    yield Call("noncompliance_regression", estimate.noncompliance_regression, {**regression, "missing": "error"})
    fit = estimate.noncompliance_regression(data["X"], data["y"], groups, designs)
    yield Call("NoncomplianceRegression.predict", fit.predict, {"X": data["X"]})
    yield Call("NoncomplianceRegression.predict_second", fit.predict_second, {"Z": data["X"][:, :1]})
    yield Call("NoncomplianceRegression.second_interval", fit.second_interval, {"level": 0.95})
    wanted: dict[str, Any] = {"share": 0.4, "power": 0.8, "epsilon": 1.0, "level": 0.05, "prevalence": 0.3}
    target = {"epsilon": 0.1, "delta": 1e-9, "people": 1_000, "build": None}
    yield Call("design.local_epsilon", design.local_epsilon, target)
    file = {"mechanism": mechanisms.GeneralizedResponse(3, 1.0), "people": 1_000, "delta": 1e-9}
    yield Call("privacy.shuffled", privacy.shuffled, file)
    yield Call("privacy.compose", privacy.compose, {"guarantees": [Guarantee(1.0)], "delta": 1e-6})
    yield Call("design.detect_cheating", design.detect_cheating, {**wanted, "truthful": 0.1, "mirrored": False})


def _files() -> Iterator[Call]:
    released = small_release()
    table = pa.table({"a": ["no"], "b": ["x"], "u": [0.5], "age": [1.0], "town": ["n"]})
    writing: dict[str, Any] = {"source": table, "plan": small_plan(), "output": None, "overwrite": False}
    settings = {"engine": None, "workers": 1, "ledger": None, "append": False, "safe_csv": False, "signing_key": None}
    chance = {"randomness": Randomness.seeded(1)}
    yield Call("check", publish.check, {**writing, "progress": None, **chance, **settings})
    written = {"delimiter": None, "encoding": None}
    yield Call("columns_of", publish.columns_of, {"path": "missing.csv", **written})
    yield Call("count_rows", publish.count_rows, {"path": "missing.csv"})
    yield Call("skeleton", publish.skeleton, {"path": "missing.csv", "suggest": False, **written})
    yield Call(
        "write_plan",
        publish.write_plan,
        {"text": "format = 1", "output": "plan.toml", "source": "missing.csv", "overwrite": True},
    )
    yield Call("Release.batches", lambda columns: list(released.batches(columns)), {"columns": ["a"]})
    yield Call("Release.to_arrow", released.to_arrow, {"columns": ["a"]})
    yield Call("Release.from_reports", Release.from_reports, {"table": table, "plan": _collected()})
    yield Call("audit", audit.audit, {"release": released, "public_key": None})
    yield Call("attackable", audit.attackable, {"block": released.block("a")})
    yield Call(
        "attack",
        audit.attack,
        {
            "mechanism": mechanisms.BinaryResponse(0.75, 0.75),
            "samples": 200,
            "truths": [0, 1],
            "randomness": Randomness.seeded(1),
        },
    )
    yield Call("SigningKey.read", SigningKey.read, {"path": "missing.pem", "passphrase": None})
    yield Call("PublicKey.read", PublicKey.read, {"path": "missing.pem"})
    yield Call("new_keys", new_keys, {"path": "missing/steward.pem", "passphrase": None})


def _collected() -> Plan:
    answers = {"columns": ["a"], "domain": {"binary": ["no", "yes"]}, "collected": True, "warner": "3/4"}
    return Plan.from_dict({"private": [answers]})
