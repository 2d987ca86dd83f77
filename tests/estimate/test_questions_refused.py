"""Questions that a release cannot answer: one clear sentence each, in Python and on the command line."""

from __future__ import annotations

from functools import cache

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

from discreet import EstimationError, Randomness, estimate, release
from discreet.cli.app import app
from discreet.mechanisms import BinaryResponse

N = 400
ASKED = BinaryResponse.warner("3/4")
REPORTS = np.array([0, 1] * 50)


@cache
def released():
    """Three columns of forty values, two yes/no answers, numbers, and a group of one row."""
    rng = np.random.default_rng(3)
    many = {f"c{j}": rng.integers(0, 40, N) for j in range(3)}
    yes_no = {name: np.where(rng.random(N) < 0.5, "yes", "no") for name in ("a", "b")}
    public = {"v": rng.normal(size=N), "g": np.where(np.arange(N) == 0, "lonely", "many")}
    asked = {"mechanism": "randomized-response", "epsilon": 6.0}
    private = [{**asked, "columns": [name], "domain": {"ordinal": list(range(40))}} for name in many]
    private += [{**asked, "columns": [name], "domain": {"binary": ["no", "yes"]}} for name in yes_no]
    plan = {"public": [{"columns": list(public)}], "private": private}
    return release(pa.table(public | many | yes_no), plan, randomness=Randomness.seeded(1))


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        (
            "a ~ c0 + c1 + c2",
            '40 × 40 × 40 × 2 = 128,000 combinations of true values, above the limit of 4,096; release "c0" with fewer',
        ),
        ("v ~ c0 + I(2 * c0) + a", 'column "I(2 * c0)" is a linear combination of "c0"; leave one of them out'),
        ("a ~ c0 + I(c0 + 1) + b", 'column "I(c0 + 1)" is a linear combination of "Intercept", "c0"'),
    ],
)
def test_regressions(tmp_path, formula, said):
    """Too many cells: how many, and which column to coarsen. A singular model matrix over the cells: which columns."""
    with pytest.raises(EstimationError) as error:
        estimate.regression(formula, released())
    assert said in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("formula", ["v ~ C(x)", "v ~ C(x) + a", "v ~ a:C(x)", "a ~ v + C(x)"])
def test_categories_of_numbers_with_noise(formula):
    """A number with noise has no list of values; its slope is not what was asked for."""
    rng = np.random.default_rng(5)
    noise = {"mechanism": "zero-inflated-laplace", "epsilon": 4.0, "delta": 0.2, "zero_probability": 0.1}
    yes_no = {"columns": ["a"], "domain": {"binary": ["no", "yes"]}, "mechanism": "randomized-response", "epsilon": 3}
    numbers = {"columns": ["x"], "domain": {"box": {"low": 0, "high": 1}}, **noise}
    table = pa.table({"v": rng.normal(size=N), "x": rng.random(N), "a": np.where(rng.random(N) < 0.5, "yes", "no")})
    plan = {"public": [{"columns": ["v"]}], "private": [yes_no, numbers]}
    made = release(table, plan, randomness=Randomness.seeded(1))
    with pytest.raises(EstimationError, match=r'C\(x\): "x" was released with noise.*write x for a slope'):
        estimate.regression(formula, made)


@pytest.mark.parametrize("p", [0.0, 1.0, 1.2, -0.1, float("nan")])
def test_quantiles_that_are_none(p):
    """The share of a quantile lies strictly between 0 and 1."""
    with pytest.raises(EstimationError, match="must be a number above 0 and below 1"):
        estimate.quantile(released(), "c0", p)


def test_a_quantile_beyond_the_rows():
    """Of a public column with too few rows one end is infinite, and said to be; a list of values ends where it ends."""
    found = estimate.quantile(released(), "v", 0.9999)
    assert np.isinf(found.interval()[0, 1])
    assert "too few rows to bound a quantile at 0.9999" in found.summary()
    assert estimate.quantile(released(), "c0", 0.9999).interval()[0, 1] == 39


def test_a_group_of_one_row():
    """No standard error; of a share there is an interval all the same, and the note says which."""
    number = estimate.mean(released(), "v", by="g")
    assert np.isnan(number["lonely"].std_error).all()
    assert "groups of one row have no standard error and no interval: lonely" in number.summary()
    share = estimate.mean(released(), "a", by="g")
    assert np.isfinite(share["lonely"].interval()).all()
    assert "groups of one row have no standard error: lonely" in share.summary()
    with pytest.raises(EstimationError, match="lonely has no standard error, so it cannot be compared"):
        number.compare("lonely", "many")


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf, None])
@pytest.mark.parametrize("function", [estimate.frequencies, estimate.mean, estimate.quantile, estimate.total])
def test_weights(function, bad):
    """Zero, negative, missing: the row is named, and what to do."""
    weights = [bad, *[1.0] * 99]
    with pytest.raises(EstimationError, match=r"weights: row 0 \(counted from 0\) must be positive.*leave out rows"):
        function(REPORTS, ASKED, weights=weights)
    with pytest.raises(EstimationError, match=r"weights: row 0 \(counted from 0\) must be positive"):
        estimate.binary_regression(np.ones((100, 1)), REPORTS, 0.75, 0.75, weights=weights)


def test_on_the_command_line(tmp_path):
    """Exit code 2, and the sentence."""
    path = tmp_path / "out.parquet"
    rng = np.random.default_rng(4)
    table = pa.table({f"c{j}": rng.integers(0, 70, 200) for j in range(2)} | {"v": rng.normal(size=200)})
    asked = {"mechanism": "randomized-response", "epsilon": 6.0, "domain": {"ordinal": list(range(70))}}
    plan = {"public": [{"columns": ["v"]}], "private": [{**asked, "columns": [f"c{j}"]} for j in range(2)]}
    release(table, plan, path, randomness=Randomness.seeded(1))
    for arguments, said in [
        (["regression", str(path), "v ~ c0 * c1"], "70 × 70 = 4,900 combinations"),
        (["quantile", str(path), "c0", "1.5"], "above 0 and below 1"),
    ]:
        result = CliRunner().invoke(app, ["estimate", *arguments])
        assert result.exit_code == 2
        assert said in " ".join(result.stderr.split())
