"""Regressions that cannot be made: one sentence each, of what, where and what to do; nothing is silently replaced."""

from __future__ import annotations

import datetime
from decimal import Decimal
from functools import cache

import numpy as np
import pyarrow as pa
import pytest

from discreet import EstimationError, Randomness, Release, estimate, release

N = 600
YES_NO = {"binary": ["no", "yes"]}


def private(name, domain=None, epsilon=3.0):
    return {
        "columns": [name],
        "domain": domain or YES_NO,
        "mechanism": "randomized-response",
        "epsilon": epsilon,
    }


@cache
def table():
    rng = np.random.default_rng(1)
    day = datetime.date(2020, 1, 1)
    return pa.table(
        {
            "w": rng.normal(size=N),
            "x": np.where(rng.random(N) < 0.4, "yes", "no"),
            "y": np.where(rng.random(N) < 0.4, "yes", "no"),
            "h": rng.integers(0, 20, N),
            "k": rng.integers(0, 20, N),
            "m": rng.integers(0, 20, N),
            "day": pa.array([day + datetime.timedelta(int(k)) for k in rng.integers(0, 300, N)]),
            "month": pa.array([datetime.date(2020, int(k), 1) for k in rng.integers(1, 4, N)]),
            "price": pa.array([Decimal(int(k)) / 4 for k in rng.integers(0, 2000, N)], pa.decimal128(12, 2)),
            "spell": pa.array(rng.integers(0, 5, N), pa.duration("s")),
            "three": np.full(N, 3),
            "nothing": np.zeros(N, int),
            "town": rng.integers(0, 30, N),
            "person": np.arange(N),
            "place": np.full(N, "here"),
            "weight": rng.uniform(0.5, 2, N),
            "cluster": np.arange(N) % 40,
        }
    )


@cache
def made(survey=()):
    grid = {"grid": {"low": 0, "high": 19, "points": 20}}
    hidden = [private("x"), private("y"), *(private(name, grid) for name in ("h", "k", "m"))]
    public = [name for name in table().column_names if name not in ("x", "y", "h", "k", "m")]
    plan = {"public": [{"columns": public}], "private": hidden} | ({"survey": dict(survey)} if survey else {})
    return release(table(), plan, randomness=Randomness.seeded(1))


@pytest.mark.parametrize(
    ("formula", "options", "message"),
    [
        ("y ~ h * k + m", {}, "h, k, m, y.* 20 × 20 × 20 × 2 = 16,000 combinations.* limit of 4,096; release .h. with"),
        ("y ~ x + day", {}, r"column \"day\" of the formula holds date32.*write C\(day\) for categories"),
        ("y ~ day", {}, r"column \"day\" of the formula holds date32"),
        ("y ~ x + spell", {}, r"column \"spell\" of the formula holds duration"),
        ("day ~ x", {}, r"the outcome \"day\" holds date32"),
        ("spell ~ x", {"family": "poisson"}, r"the outcome \"spell\" holds duration"),
        ("three ~ x", {}, "has one value only"),
        ("three ~ x", {"family": "huber"}, "has one value only"),
        ("three ~ x", {"family": "quantile"}, "has one value only"),
        ("three ~ x", {"family": "ordinal"}, "has one value only"),
        ("nothing ~ x", {"family": "poisson"}, "has one value only"),
        ("place ~ x", {}, "has one value only"),
        ("place ~ x", {"family": "binary"}, "has one value only"),
        ("w ~ x", {"link": "probit"}, 'link "probit" is for a yes/no outcome; family "linear" has its own'),
        ("y ~ w + (1 | person)", {}, r"has one row in every group.*leave \(1 \| person\) out"),
        ("y ~ w + (1 | place)", {}, r"has 1 group, .*leave \(1 \| place\) out"),
        ("y ~ x + nobody", {}, 'names "nobody", which the release does not have'),
        ("y ~ x + tan(w)", {}, 'calls "tan", which is not one of the functions'),
        ("y ~ x + three", {}, '"three" is a linear combination of "Intercept"'),
    ],
)
def test_one_sentence(formula, options, message):
    """What cannot be fitted, and why."""
    with pytest.raises(EstimationError, match=message) as caught:
        estimate.regression(formula, made(), **options)
    assert len(str(caught.value).splitlines()) == 1


def test_dates_can_be_categories():
    """C(month) has every month."""
    fit = estimate.regression("y ~ x + C(month)", made())
    assert fit.names[2:] == ("C(month)[T.2020-02-01]", "C(month)[T.2020-03-01]")


@pytest.mark.parametrize("formula", ["y ~ w + price", "w ~ x + price"])
def test_decimals_are_numbers(formula):
    """However many values there are: a slope, the same as of floats."""
    names = made().columns
    as_floats = table().set_column(
        table().column_names.index("price"), "price", [[float(one) for one in table()["price"].to_pylist()]]
    )
    hidden = [private("x"), private("y")]
    fits = []
    for rows in (table(), as_floats):
        plan = {"public": [{"columns": [name for name in names if name in ("w", "price")]}], "private": hidden}
        fits.append(estimate.regression(formula, release(rows, plan, randomness=Randomness.seeded(3))))
    assert fits[0].names == fits[1].names
    np.testing.assert_allclose(fits[0].coefficients, fits[1].coefficients, rtol=1e-6)


@pytest.mark.parametrize("wrong", [0.0, -1.0, None, float("nan"), float("inf")])
@pytest.mark.parametrize("formula", ["y ~ x + w", "w ~ x", "y ~ w"])
def test_a_weight_that_is_none_is_refused_by_every_fit(formula, wrong):
    """With missing="drop" too: nobody knows how many people such a row stands for."""
    good = made((("weight", "weight"),))
    weights = good.to_arrow()["weight"].to_pylist()
    weights[7] = wrong
    place = good.columns.index("weight")
    bad = Release.from_table(good.manifest, good.to_arrow().set_column(place, "weight", pa.array(weights)))
    for missing in ("error", "drop"):
        with pytest.raises(EstimationError, match=r'column "weight": row 7 \(counted from 0\) must be positive'):
            estimate.regression(formula, bad, missing=missing)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ({"x": ["no"], "w": ["tall"]}, 'column "w" must hold numbers'),
        ({"x": [], "w": []}, "no rows to predict for"),
        ({"x": ["maybe"], "w": [1.0]}, "not one that the model knows"),
        ({"x": [1], "w": [1.0]}, "not of the type"),
        ({"x": ["no"], "w": [float("inf")]}, "infinite"),
    ],
)
def test_rows_that_nothing_can_be_predicted_for(rows, message):
    """The column, and what is wrong with it."""
    with pytest.raises(EstimationError, match=message):
        estimate.regression("y ~ x + w", made()).predict(rows)


def test_numbers_to_predict_for_are_asked_for_by_likelihoods_too():
    """The same sentence from the same reader."""
    with pytest.raises(EstimationError, match='column "w" must hold numbers'):
        estimate.regression("y ~ w", made()).predict({"w": ["tall"]})
