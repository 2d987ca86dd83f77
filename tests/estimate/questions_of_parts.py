"""A release in three parts, what can be asked of it, and engines that answer elsewhere."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from discreet import Randomness, estimate, release
from discreet.publish import outputs

SURVEY = {"weight": "w", "strata": "region", "cluster": "town"}


def plan(survey):
    """Three answers and a number with noise, with what describes a survey."""
    response = {"mechanism": "randomized-response", "epsilon": 3.0}
    numbers = {"mechanism": "zero-inflated-laplace", "epsilon": 2.0, "delta": 0.3, "zero_probability": 0.2}
    return {
        "format": 1,
        "survey": survey,
        "output": {"order": "keep"},
        "public": [{"columns": ["age", "region", "town", "w", "visits", "drinks", "people"]}],
        "private": [
            {**response, "columns": ["x"], "domain": {"binary": ["no", "yes"]}},
            {**response, "columns": ["c"], "domain": {"categorical": ["a", "b", "c"]}, "missing": "public"},
            {**response, "columns": ["s"], "domain": {"binary": ["never", "daily"]}},
            {**numbers, "columns": ["hours"], "domain": {"box": {"low": [0], "high": [1]}}},
        ],
    }


def table(n=3_000):
    """Answers that depend on each other, some of them missing."""
    rng = np.random.default_rng(3)
    age, s, c = rng.normal(size=n), rng.random(n) < 0.4, rng.integers(0, 3, n)
    x = rng.random(n) < 1 / (1 + np.exp(1 - age - s - 0.5 * c))
    region = rng.integers(0, 2, n)
    return pa.table(
        {
            "age": pa.array(age, mask=np.arange(n) % 500 == 7),
            "region": np.array(["n", "s"])[region],
            "town": rng.integers(0, 30, n),
            "w": rng.choice([1.0, 2.0, 3.5], n),
            "visits": rng.poisson(np.exp(0.2 + 0.5 * s)),
            "drinks": np.where(rng.random(n) < 0.3 + 0.3 * s, "wet", "dry"),
            "people": np.array([9_000.0, 14_000.0])[region],
            "x": np.where(x, "yes", "no"),
            "c": pa.array(np.array(["a", "b", "c"])[c], mask=np.arange(n) % 400 == 3),
            "s": np.where(s, "daily", "never"),
            "hours": rng.beta(2, 3, n),
        }
    )


DROP = {"missing": "drop"}


def calibrated(one):
    """Weights that meet known totals of two public columns."""
    return estimate.calibrate(one, {"region": {"n": 9_000, "s": 14_000}, "drinks": {"wet": 11_000, "dry": 12_000}})


QUESTIONS = {
    "frequencies": lambda one: estimate.frequencies(one, "c"),
    "frequencies by": lambda one: estimate.frequencies(one, "c", by=["region", "drinks"])["n", "wet"],
    "maximum likelihood": lambda one: estimate.frequencies(one, "c", method="mle"),
    "finite population": lambda one: estimate.frequencies(one, "x", strata="region", fpc="people"),
    "of the table": lambda one: estimate.frequencies(one, "x", target="table"),
    "crosstab": lambda one: estimate.crosstab(one, "x", "c"),
    "crosstab with a public column": lambda one: estimate.crosstab(one, "x", "drinks"),
    "mean of numbers with noise": lambda one: estimate.mean(one, "hours"),
    "mean by groups": lambda one: estimate.mean(one, "hours", by="drinks"),
    "mean of public numbers": lambda one: estimate.mean(one, "age"),
    "mean by town": lambda one: estimate.mean(one, "age", by="town"),
    "total": lambda one: estimate.total(one, "hours"),
    "expectation": lambda one: estimate.expectation(one, "hours", lambda x: x * x),
    "expectation of answers": lambda one: estimate.expectation(one, "c", lambda x: x == "b"),
    "mean of the table": lambda one: estimate.mean(one, "hours", target="table", fpc=False),
    "quantile": lambda one: estimate.quantile(one, "hours", 0.3),
    "quantiles by": lambda one: estimate.quantile(one, "hours", 0.5, by="drinks"),
    "frequencies of a public column": lambda one: estimate.frequencies(one, "drinks"),
    "calibrated frequencies": lambda one: estimate.frequencies(one, "c", weights=calibrated(one)),
    "calibrated crosstab": lambda one: estimate.crosstab(one, "x", "c", weights=calibrated(one)),
    "calibrated mean by groups": lambda one: estimate.mean(one, "hours", by="drinks", weights=calibrated(one)),
    "calibrated total": lambda one: estimate.total(one, "hours", weights=calibrated(one)),
    "quantile of public numbers": lambda one: estimate.quantile(one, "visits", 0.7),
}
REGRESSIONS = {
    "yes/no": ("x ~ age + drinks", {}),
    "transforms": ("x ~ scale(age) + poly(visits, 2) + cs(w, df=1)", {}),
    "classes": ("c ~ age + drinks", {}),
    "few rows differ": ("c ~ drinks", {}),
    "linear on an answer": ("visits ~ age + c", {"family": "linear"}),
    "yes/no on an answer": ("drinks ~ age + c", {}),
    "corrected": ("x ~ age + s + c", {}),
    "corrected, few rows differ": ("x ~ drinks + s + c", {}),
    "corrected, interactions": ("x ~ age * s + center(visits)", {}),
    "corrected, linear": ("visits ~ age + s + c", {"family": "linear"}),
    "corrected, poisson": ("visits ~ s + c", {"family": "poisson"}),
    "corrected, classes": ("c ~ s + age", {}),
    "corrected, ordinal": ("visits ~ s", {"family": "ordinal"}),
    "corrected, median": ("age ~ s + c", {"family": "quantile"}),
    "corrected, huber": ("age ~ s + c", {"family": "huber"}),
    "corrected, hinge": ("drinks ~ s + c", {"family": "hinge"}),
}


def released_in_parts(folder, survey):
    """The table, released as a simple random sample or as a survey."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(outputs, "PART_BATCHES", 1)
        patch.setattr(outputs, "rows_per_batch", lambda _: 1_100)
        made = release(table(), plan(SURVEY if survey else {}), folder, Randomness.seeded(1), ledger=None, workers=1)
    assert len(made.manifest.files) == 3
    return folder
