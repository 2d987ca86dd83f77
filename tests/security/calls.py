"""Right calls of every public function, and wrong values to put in the place of each argument."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

import discreet
from discreet import (
    Binary,
    Box,
    Categorical,
    Grid,
    Guarantee,
    Metric,
    Ordinal,
    Plan,
    Randomness,
    Release,
    design,
    estimate,
    mechanisms,
    privacy,
)
from discreet.estimate.regressions.likelihood.multinomial import multinomial_regression
from discreet.estimate.regressions.likelihood.predictor import predictor_regression


@dataclass(frozen=True)
class Call:
    """One public function with arguments that are right."""

    name: str
    function: Callable[..., Any]
    arguments: dict[str, Any]

    def run(self, **changed: Any) -> Any:
        """Call it, with some arguments changed."""
        return self.function(**{**self.arguments, **changed})


def _table(fits: Any, **options: Any) -> Any:
    """``estimate.table`` with its fits by name."""
    return estimate.table(fits, **options)


_table.__qualname__ = estimate.table.__qualname__


class _Odd:
    """An object that is nothing in particular."""


#: Arguments that are functions, called back: what they raise themselves is not ours.
CALLBACKS = {"progress", "distance", "batches", "statistic"}

#: Values that are wrong somewhere: of no use, of another kind, not finite, negative, too large, empty, nested.
WRONG: dict[str, Any] = {
    "None": None,
    "nan": math.nan,
    "infinity": math.inf,
    "minus infinity": -math.inf,
    "-1": -1,
    "0": 0,
    "0.5": 0.5,
    "2": 2,
    "1e308": 1e308,
    "5e-324": 5e-324,
    "a huge whole number": 10**400,
    "a huge fraction": Fraction(10**400),
    "a complex number": 1 + 2j,
    "true": True,
    "text": "x",
    "empty text": "",
    "text with a zero byte": "a\0.csv",
    "bytes": b"x",
    "empty list": [],
    "empty dictionary": {},
    "a list of nothing": [None],
    "a list of text": ["a", "b"],
    "two numbers": [1.0, 2.0],
    "two numbers, one not": [1.0, math.nan],
    "ragged lists": [[1.0], [1.0, 2.0]],
    "a nested list": [[[1.0]]],
    "numpy text": np.array(["a", "b"]),
    "no rows": np.empty((0, 2)),
    "complex numbers": np.array([1j, 2.0]),
    "dates": np.array(["2020-01-01"], dtype="datetime64[D]"),
    "objects": np.array([_Odd(), _Odd()], dtype=object),
    "an object": _Odd(),
    "a class": _Odd,
    "a function": len,
    "a set": {1, 2},
    "an iterator": iter(()),
}


def sample() -> dict[str, Any]:
    """Sixty rows of covariates and of codes of two and three values."""
    generator = np.random.default_rng(5)
    X = np.column_stack([np.ones(60), generator.normal(size=60)])
    return {"X": X, "y": generator.integers(0, 2, 60), "three": generator.integers(0, 3, 60)}


def small_plan() -> Plan:
    """A yes/no, a three-valued and a numeric column, each randomised by itself."""
    categories, box = {"categorical": ["x", "y", "z"]}, {"box": {"low": [0.0], "high": [1.0]}}
    numeric = {"mechanism": "zero-inflated-laplace", "epsilon": 2.0, "delta": 0.2, "zero_probability": 0.1}
    return Plan.from_dict({
        "public": [{"columns": ["age", "town"]}],
        "private": [
            {"columns": ["a"], "domain": {"binary": ["no", "yes"]}, "mechanism": "randomized-response", "epsilon": 2.0},
            {"columns": ["b"], "domain": categories, "mechanism": "randomized-response", "epsilon": 2.0},
            {"columns": ["u"], "domain": box, **numeric},
        ],
    })  # fmt: skip


def small_release() -> Release:
    """Eighty rows with a yes/no, a three-valued and a numeric private column, beside two public ones."""
    generator = np.random.default_rng(6)
    table = pa.table(
        {
            "age": generator.normal(40, 10, 80),
            "town": generator.choice(["n", "s"], 80),
            "a": generator.choice(["no", "yes"], 80),
            "b": generator.choice(["x", "y", "z"], 80),
            "u": generator.uniform(size=80),
        }
    )
    return discreet.release(table, small_plan(), randomness=Randomness.seeded(7))


def calls() -> Iterator[Call]:
    """Every public function once, with small arguments that are right."""
    data, released = sample(), small_release()
    binary = mechanisms.BinaryResponse(0.75, 0.75)
    three = mechanisms.GeneralizedResponse(3, 1.0)
    box = Box([0.0, 0.0], [1.0, 1.0])
    laplace = mechanisms.ZeroInflatedLaplace(box, 1.0, 0.1, epsilon=3.0)
    joint = design.attributes([2, 3], [1.0, 1.0]).mechanism
    numbers = laplace.privatize(np.random.default_rng(1).uniform(size=(60, 2)), Randomness.seeded(1))
    # domains
    yield Call("Binary", Binary, {"no": "no", "yes": "yes"})
    yield Call("Categorical", Categorical, {"values": ["a", "b"]})
    yield Call("Ordinal", Ordinal, {"values": ["a", "b"], "positions": [0.0, 1.0]})
    yield Call("Grid", Grid, {"low": 0.0, "high": 1.0, "points": 5})
    yield Call("Metric", Metric, {"values": ["a", "b"], "loss": [[0.0, 1.0], [1.0, 0.0]]})
    yield Call(
        "Metric.points",
        Metric.points,
        {"values": ["a", "b"], "coordinates": [[0.0, 0.0], [1.0, 1.0]], "distance": "euclidean"},
    )
    yield Call("Box", Box, {"low": [0.0], "high": [1.0]})
    yield Call("Categorical.encode", Categorical(["a", "b"]).encode, {"values": ["a", "b"]})
    yield Call("Categorical.decode", Categorical(["a", "b"]).decode, {"codes": [0, 1]})
    yield Call("Grid.encode", Grid(0, 1, 5).encode, {"values": [0.0, 1.0]})
    yield Call("Box.encode", box.encode, {"values": [[0.5, 0.5]]})
    # privacy
    yield Call("Guarantee", Guarantee, {"epsilon": 1.0, "delta": 0.0, "unit": "value", "exposure": 0.0})
    yield Call("Guarantee.explain", Guarantee(1.0, 0.1, exposure=0.1).explain, {"people": 100})
    yield Call("Guarantee.for_person", Guarantee(1.0).for_person, {"rows": 3})
    yield Call("Guarantee.compose", Guarantee(1.0).compose, {"other": Guarantee(1.0)})
    yield Call("certify", privacy.certify, {"channel": [[3, 1], [1, 3]], "epsilon": 1.2})
    yield Call("Certificate.delta", privacy.certify([[3, 1], [1, 3]]).delta, {"epsilon": 1.0})
    yield Call("Certificate.trade_off", privacy.certify([[3, 1], [1, 3]]).trade_off, {"alpha": 0.1})
    # randomness
    yield Call("Randomness.seeded", Randomness.seeded, {"seed": 3})
    # mechanisms
    yield Call("BinaryResponse", mechanisms.BinaryResponse, {"p00": 0.75, "p11": "3/4", "epsilon": None})
    yield Call("BinaryResponse.warner", mechanisms.BinaryResponse.warner, {"p": "3/4"})
    yield Call("BinaryResponse.crosswise", mechanisms.BinaryResponse.crosswise, {"p": "1/4"})
    yield Call("GeneralizedResponse", mechanisms.GeneralizedResponse, {"size": 3, "epsilon": 1.0})
    yield Call(
        "ChannelResponse", mechanisms.ChannelResponse, {"matrix": [["3/4", "1/4"], ["1/4", "3/4"]], "epsilon": None}
    )
    cyclic = mechanisms.CyclicResponse(9, 1.0, design=mechanisms.SingerSet(3, 1, 2))
    yield Call("CyclicResponse", mechanisms.CyclicResponse, {"size": 9, "epsilon": 1.0, "design": cyclic.design})
    weights = {"size": 9, "high": 9, "low": 4, "design": cyclic.design}
    yield Call("CyclicResponse.from_weights", mechanisms.CyclicResponse.from_weights, weights)
    yield Call("CyclicResponse.supports", cyclic.supports, {"counts": np.ones(13, int)})
    yield Call("CyclicResponse.answer_variance", cyclic.answer_variance, {"frequency": 0.1})
    space = {"prime": 3, "power": 1, "dimension": 2, "polynomial": (2, 1, 0)}
    yield Call("SingerSet", mechanisms.SingerSet, space)
    yield Call("PaleySet", mechanisms.PaleySet, {"prime": 11})
    unbiased = {"matrix": [[3, 1], [2, 2], [1, 3]], "points": [-1, 0, 1], "values": [-2, 2]}
    yield Call("UnbiasedResponse", mechanisms.UnbiasedResponse, unbiased)
    numbers_only = {
        "matrix": [[0.75, 0.25], [0.25, 0.75]],
        "points": [-1, 1],
        "values": [-2, 2],
        "epsilon": 1.0986122886,
    }
    yield Call("UnbiasedResponse.private", mechanisms.UnbiasedResponse.private, numbers_only)
    part = mechanisms.UnbiasedResponse(**unbiased)
    one_of_two = {"parts": [part, part], "chances": [1 << 31, 1 << 31]}
    yield Call("OneNumberResponse", mechanisms.OneNumberResponse, one_of_two)
    report_one = mechanisms.OneNumberResponse(**one_of_two).privatize
    yield Call("OneNumberResponse.privatize", report_one, {"x": [[0.5, 0.5]], "randomness": Randomness.seeded(1)})
    between = part.round
    yield Call("UnbiasedResponse.round", between, {"numbers": [0.5], "randomness": Randomness.seeded(1)})
    yield Call("BipartiteResponse", mechanisms.BipartiteResponse, {"size": 6, "near": 2, "epsilon": 1.0})
    yield Call(
        "ExponentialResponse", mechanisms.ExponentialResponse, {"losses": [[0.0, 1.0], [1.0, 0.0]], "epsilon": 1.0}
    )
    yield Call(
        "ZeroInflatedLaplace",
        mechanisms.ZeroInflatedLaplace,
        {"box": box, "scale": 1.0, "zero_probability": 0.1, "epsilon": 1.0, "grid": None, "unit": "record"},
    )
    yield Call("ZeroInflatedLaplace.delta", laplace.delta, {"epsilon": 1.0})
    yield Call("mechanisms.from_dict", mechanisms.from_dict, {"data": binary.to_dict()})
    for mechanism, truths in ((binary, [0, 1]), (three, [0, 2]), (joint, [[0, 1], [1, 2]]), (laplace, [[0.5, 0.5]])):
        name = f"{type(mechanism).__name__}.privatize"
        parameter = next(iter(_parameters(mechanism.privatize)))
        yield Call(name, mechanism.privatize, {parameter: truths, "randomness": Randomness.seeded(1)})
    # design
    yield Call(
        "design.binary",
        design.binary,
        {"epsilon": 1.0, "delta": 0.1, "prevalence": 0.3, "symmetric": False, "reports": 2},
    )
    yield Call(
        "design.label",
        design.label,
        {
            "epsilon": 1.0,
            "delta": 0.1,
            "covariates": data["X"],
            "coefficients": [0.2, 0.3],
            "link": "logit",
            "criterion": "A",
            "classes": 2,
            "reports": 2,
        },
    )
    yield Call(
        "design.label, pure",
        design.label,
        {"epsilon": 1.0, "delta": 0.0, "link": "logit", "criterion": "A", "classes": 2},
    )
    yield Call(
        "design.label, three classes",
        design.label,
        {"epsilon": 1.0, "covariates": data["X"], "coefficients": np.zeros((2, 2)), "criterion": "D", "classes": 3},
    )
    yield Call(
        "design.label_with_pilot",
        design.label_with_pilot,
        {
            "labels": data["y"],
            "covariates": data["X"],
            "epsilon": 1.0,
            "delta": 0.1,
            "share": 0.5,
            "link": "logit",
            "criterion": "A",
            "pilot_epsilon": 1.0,
            "randomness": Randomness.seeded(2),
        },
    )
    yield Call(
        "design.bipartite", design.bipartite, {"domain": Grid(0, 1, 6), "epsilon": 1.0, "high": "search", "prior": None}
    )
    yield Call("design.frequencies", design.frequencies, {"domain": 20, "epsilon": 1.0, "criterion": "total"})
    yield Call("design.mean", design.mean, {"domain": Grid(0, 1, 4), "epsilon": 1.0, "prior": None})
    yield Call(
        "design.expected_error",
        design.expected_error,
        {"domain": Grid(0, 1, 6), "epsilon": 1.0, "prior": None, "worst": False},
    )
    yield Call("design.compare", design.compare, {"domain": Grid(0, 1, 6), "epsilon": 1.0, "n": 100, "prior": None})
    yield Call(
        "design.split_budget",
        design.split_budget,
        {"domains": [Grid(0, 1, 6), Grid(0, 1, 4)], "epsilon": 1.0, "weights": None},
    )
    yield Call(
        "design.attributes",
        design.attributes,
        {"sizes": [2, 3], "epsilons": [1.0, 1.0], "method": "auto", "pairs": "keep", "allow_raised": False},
    )
    yield Call(
        "design.attributes_for_total",
        design.attributes_for_total,
        {"sizes": [2, 3], "ratios": [1.0, 1.0], "total": 2.0, "pairs": "keep"},
    )
    yield Call("design.compare_attributes", design.compare_attributes, {"joint": joint})
    yield Call(
        "design.zero_inflated_laplace",
        design.zero_inflated_laplace,
        {
            "box": box,
            "epsilon": 1.0,
            "delta": 0.2,
            "zero_probability": 0.1,
            "unit": "record",
            "target": "mean",
            "grid": None,
            "exposure": None,
        },
    )
    compared = {"domain": box, "epsilon": 1.0, "n": 100, "delta": 0.0, "noise": None}
    yield Call("design.compare_numbers", design.compare_numbers, compared)
    several = {"domains": [Grid(0, 1, 3), Grid(0, 9, 3)], "epsilon": 1.0, "weights": None, "method": "one"}
    yield Call("design.means", design.means, several)
    yield Call(
        "design.sample_size",
        design.sample_size,
        {
            "mechanism": binary,
            "margin": 0.02,
            "level": 0.95,
            "prevalence": 0.3,
            "method": "auto",
            "power": 0.8,
            "design_effect": 1.0,
            "response_rate": 0.9,
            "noncompliance": 0.0,
        },
    )
    aims: dict[str, Any] = {
        "Prevalence": {"expected": 0.2, "null": 0.1, "value": 1},
        "Difference": {"first": 0.2, "second": 0.1, "share": 0.5, "value": 1},
        "Coefficient": {
            "covariates": [[1.0, 0.0], [1.0, 1.0]],
            "coefficients": [0.1, 0.4],
            "which": 1,
            "link": "logit",
        },
        "Association": {"table": [[0.4, 0.1], [0.2, 0.3]], "columns": None},
    }
    for name, given in aims.items():
        yield Call(f"design.{name}", getattr(design, name), given)
        yield Call(
            f"design.power of {name}",
            partial(design.power, binary, getattr(design, name)(**given)),
            {"n": 200, "level": 0.95, "design_effect": 1.0, "response_rate": 0.9, "noncompliance": 0.0},
        )
    yield Call(
        "design.power",
        design.power,
        {
            "mechanism": binary,
            "aim": design.Prevalence(0.2),
            "n": 100,
            "level": 0.95,
            "design_effect": 1.0,
            "response_rate": 1.0,
            "noncompliance": 0.0,
        },
    )
    target = {"domain": 2, "margin": 0.05, "learn": "frequencies", "prevalence": None}
    yield Call("design.Target", design.Target, target)
    yield Call("design.JointTarget", design.JointTarget, {"domains": [2, 3], "margins": [0.1, 0.1]})
    yield Call(
        "design.budget",
        design.budget,
        {
            "targets": {"a": design.Target(2, 0.05)},
            "n": 5000,
            "epsilon": 4.0,
            "spend": "least",
            "level": 0.95,
            "step": 0.1,
        },
    )
    yield Call(
        "design.margin",
        design.margin,
        {
            "mechanism": binary,
            "n": 100,
            "level": 0.95,
            "prevalence": 0.3,
            "method": "mle",
            "design_effect": 1.0,
            "response_rate": 1.0,
            "noncompliance": 0.0,
        },
    )
    # estimate
    yield Call(
        "frequencies",
        estimate.frequencies,
        {
            "reports": data["y"],
            "mechanism": binary,
            "weights": np.ones(60),
            "strata": None,
            "clusters": None,
            "by": None,
            "designs": None,
            "labels": None,
            "method": "unbiased",
            "target": "population",
        },
    )
    yield Call("frequencies, counts", estimate.frequencies, {"counts": [40, 60], "mechanism": binary})
    yield Call(
        "frequencies, mle", estimate.frequencies, {"reports": data["three"], "mechanism": three, "method": "mle"}
    )
    yield Call(
        "frequencies, groups",
        estimate.frequencies,
        {"reports": data["y"], "mechanism": binary, "by": data["three"]},
    )
    yield Call(
        "frequencies of a release",
        estimate.frequencies,
        {"reports": released, "mechanism": "a", "by": "town", "weights": None},
    )
    fit = estimate.frequencies(counts=[40, 60], mechanism=binary)
    yield Call(
        "frequencies, finite population",
        estimate.frequencies,
        {"reports": data["y"], "mechanism": binary, "fpc": 1_000, "contamination": 0.0},
    )
    yield Call(
        "replicate",
        estimate.replicate,
        {
            "statistic": lambda r: estimate.mean(r, "a"),
            "release": released,
            "method": "bootstrap",
            "replicates": 5,
            "weights": None,
            "scale": None,
            "seed": 1,
        },
    )
    yield Call(
        "calibrate",
        estimate.calibrate,
        {
            "release": released,
            "totals": {"town": {"n": 500, "s": 600}},
            "method": "logit",
            "people": None,
            "bounds": (0.2, 5.0),
            "weights": None,
        },
    )
    yield Call(
        "calibrate a table",
        estimate.calibrate,
        {
            "release": {"town": data["three"]},
            "totals": {"town": dict.fromkeys(range(3), 100)},
            "method": "raking",
            "people": 300,
            "bounds": None,
            "weights": np.ones(60),
        },
    )
    yield Call("Frequencies.interval", fit.interval, {"level": 0.95, "method": "wilson"})
    aside = dict.fromkeys(("by", "weights", "strata", "clusters", "fpc", "positions", "designs", "labels"))
    plain = {"reports": data["y"], "mechanism": binary, **aside, "target": "population"}
    yield Call("mean", estimate.mean, plain)
    yield Call("mean of a release", estimate.mean, {"reports": released, "mechanism": "a", "by": "town"})
    yield Call("total", estimate.total, plain)
    yield Call("expectation", estimate.expectation, {**plain, "function": abs})
    yield Call("quantile", estimate.quantile, {**plain, "p": 0.5})
    yield Call("quantile of a release", estimate.quantile, {"reports": released, "mechanism": "age", "p": 0.5})
    yield Call(
        "correlation",
        estimate.correlation,
        {"release": released, "first": "a", "second": "age", **dict.fromkeys(("weights", "strata", "clusters", "fpc"))},
    )
    yield Call(
        "crosstab of a survey",
        estimate.crosstab,
        {
            "release": released,
            "rows": "a",
            "columns": "b",
            "target": "table",
            **dict.fromkeys(("weights", "strata", "clusters", "fpc")),
        },
    )
    yield Call(
        "crosstab of a release", estimate.crosstab, {"release": released, "rows": "a", "columns": "b", "layers": None}
    )
    yield Call(
        "crosstab_of_reports",
        estimate.crosstab_of_reports,
        {
            "rows": data["y"],
            "columns": data["three"],
            "row_mechanism": binary,
            "column_mechanism": three,
            **dict.fromkeys(("weights", "strata", "clusters", "fpc", "row_designs", "column_designs")),
            **dict.fromkeys(("row_labels", "column_labels")),
            "target": "population",
        },
    )
    yield Call(
        "joint_table",
        estimate.joint_table,
        {
            "reports": np.column_stack([data["y"], data["three"]]),
            "mechanism": joint,
            "attributes": (0, 1),
            "labels": (),
            "fpc": None,
            "weights": None,
            "strata": None,
            "clusters": None,
            "target": "population",
        },
    )
    yield Call(
        "binary_regression",
        estimate.binary_regression,
        {
            "X": data["X"],
            "y": data["y"],
            "p00": 0.75,
            "p11": 0.75,
            "link": "logit",
            "weights": None,
            "offset": None,
            "clusters": None,
            "strata": None,
            "names": None,
            "mechanism": None,
            "designs": None,
            "penalty": "firth",
        },
    )
    label_fit = estimate.binary_regression(data["X"], data["y"], 0.75, 0.75)
    yield Call("BinaryRegression.interval", label_fit.interval, {"level": 0.95, "method": "wald"})
    yield Call(
        "multinomial_regression",
        multinomial_regression,
        {
            "X": data["X"],
            "y": data["three"],
            "mechanism": three,
            "designs": None,
            "weights": None,
            "clusters": None,
            "strata": None,
            "names": None,
            "classes": None,
        },
    )
    yield Call(
        "predictor_regression",
        predictor_regression,
        {
            "outcome": data["X"][:, 1],
            "X": data["X"][:, :1],
            "y": data["y"],
            "mechanism": binary,
            "family": "gaussian",
            "truth": "covariates",
            **dict.fromkeys(("designs", "weights", "clusters", "strata", "names", "classes")),
        },
    )
    asked = {"names": None, "below": "interval", "level": 0.95, "stars": True}
    yield Call("table", _table, {"fits": label_fit, **asked})
    yield Call("compare", estimate.compare, {"fits": {"one": label_fit}, "level": 0.95, "method": None})
    asked = {
        "release": released,
        "link": None,
        "method": "auto",
        "missing": "error",
        "penalty": None,
        "compare": False,
        "level": 0.95,
    }
    yield Call(
        "regression",
        estimate.regression,
        {"formula": "a ~ age", "family": "binary", "tau": None, "threshold": None, **asked},
    )
    yield Call(
        "regression on numbers",
        estimate.regression,
        {"formula": "age ~ u", "family": "quantile", "tau": 0.4, "threshold": None, **asked},
    )
    yield Call(
        "regression by Huber's loss",
        estimate.regression,
        {"formula": "age ~ u", "family": "huber", "tau": None, "threshold": 1.5, **asked},
    )
    yield Call(
        "m_estimate",
        estimate.m_estimate,
        {
            "loss": "squared",
            "reports": numbers[:, :1],
            "mechanism": laplace.coordinates([0]),
            "start": None,
            "method": "exact",
            "public": np.ones((60, 1)),
            "outcome": data["X"][:, 1],
            "outcome_mechanism": None,
            "names": None,
            "randomness": Randomness.seeded(3),
            "weights": np.ones(60),
            "strata": np.repeat(["a", "b"], 30),
            "clusters": np.repeat(np.arange(20), 3),
        },
    )
    # release
    yield Call(
        "Plan.from_dict", Plan.from_dict, {"data": small_plan().to_dict(), "folder": ".", "outside_files": False}
    )
    yield Call("Plan.parse", Plan.parse, {"text": "format = 1", "folder": ".", "outside_files": False})
    yield Call("Plan.read", Plan.read, {"path": "missing.toml", "outside_files": False})
    yield Call(
        "release",
        discreet.release,
        {
            "source": pa.table({"a": ["no"], "b": ["x"], "u": [0.5], "age": [1.0], "town": ["n"]}),
            "plan": small_plan(),
            "output": None,
            "randomness": Randomness.seeded(1),
            "overwrite": False,
            "progress": None,
            "engine": None,
            "workers": 1,
            "ledger": None,
            "append": False,
            "safe_csv": False,
            "signing_key": None,
        },
    )
    yield Call("Release.open", Release.open, {"path": "missing.parquet"})
    yield Call("Release.block", released.block, {"column": "a"})
    yield Call("Release.mechanism", released.mechanism, {"column": "a"})


def _parameters(function: Callable[..., Any]) -> list[str]:
    import inspect

    return list(inspect.signature(function).parameters)
