"""Extreme but lawful input: the answer is right, or refused before anything is written."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import discreet
from discreet import Box, DiscreetError, EstimationError, PlanError, PrivacyError, Randomness, design, estimate, publish
from discreet.mechanisms import BinaryResponse

WARNER = BinaryResponse(0.75, 0.75)
REPORTS = np.array([0, 1, 1, 0, 1] * 20)
X = np.column_stack([np.ones(100), np.linspace(-1, 1, 100)])


def block(values, **more):
    return {
        "columns": ["a"],
        "domain": {"categorical": values},
        "mechanism": "randomized-response",
        "epsilon": 40.0,
        **more,
    }


def test_levels_at_the_ends_of_the_floats():
    """A tiny ε is met to nine digits; one that no denominator holds is refused."""
    assert 1 - 1e-9 <= design.binary(1e-16).mechanism.guarantee.epsilon / 1e-16 <= 1
    with pytest.raises(PrivacyError, match="too large"):
        design.binary(710)


@pytest.mark.parametrize("delta", [5e-8, 1e-8])
def test_a_small_delta_is_kept(delta):
    """The finished noise keeps what was asked."""
    found = design.zero_inflated_laplace(Box([0.0, 0.0], [1.0, 1.0]), 1.0, delta)
    assert found.mechanism.guarantee.fits(1.0, delta)


@pytest.mark.parametrize("delta", [2e-9, 1e-300])
def test_a_delta_below_the_precision_of_the_curve_is_refused(delta):
    """The exact curve is known to about 1e-11."""
    with pytest.raises(PrivacyError, match="delta"):
        design.zero_inflated_laplace(Box([0.0, 0.0], [1.0, 1.0]), 1.0, delta)


@pytest.mark.parametrize("weight", [1e300, 1e-300])
def test_weights_whose_squares_no_float_holds_are_refused(weight):
    """They gave standard errors of zero and warnings of overflow."""
    with pytest.raises(EstimationError, match="weights: row 0"):
        estimate.frequencies(REPORTS, WARNER, weights=np.full(100, weight))
    with pytest.raises(EstimationError, match="weights: row 0"):
        estimate.binary_regression(X, REPORTS, 0.75, 0.75, weights=np.full(100, weight))


def test_the_unit_of_weights_does_not_matter():
    """Weights far from one, within the bound, give the same standard errors."""
    plain = estimate.frequencies(REPORTS, WARNER, weights=np.ones(100)).std_error
    for weight in (1e90, 1e-90):
        scaled = estimate.frequencies(REPORTS, WARNER, weights=np.full(100, weight)).std_error
        np.testing.assert_allclose(scaled, plain, rtol=1e-9)


def test_one_person_and_identical_reports():
    """One person says nothing: the interval is everything. Impossible shares of reports are said to be."""
    np.testing.assert_array_equal(estimate.frequencies(np.array([1]), WARNER).interval(), [[0, 1], [0, 1]])
    assert "empty" in estimate.frequencies(np.ones(50, int), WARNER).summary()


@pytest.mark.parametrize("missing", ["category", "reject"])
def test_a_categorical_column_of_polars_with_nulls(missing):
    """It is released with the blank as a value, or refused by row."""
    polars = pytest.importorskip("polars")
    table = polars.DataFrame({"a": polars.Series(["x", None, "y"], dtype=polars.Categorical)})
    plan = {"private": [block(["x", "y"], missing=missing)]}
    if missing == "reject":
        with pytest.raises(DiscreetError, match="row 1"):
            discreet.release(table, plan)
        with pytest.raises(DiscreetError, match="row 1"):
            publish.check(table, plan)
    else:
        released = discreet.release(table, plan, randomness=Randomness.seeded(1))
        assert sorted(released.to_arrow()["a"].to_pylist(), key=str) == [None, "x", "y"]


def test_half_precision_and_large_integers():
    """Halves that are whole are codes; an integer above 2^63 is outside the domain, and its value is not said."""
    plan = {"private": [block([0, 1])]}
    halves = pa.table({"a": pa.array(np.array([0, 1], np.float16))})
    assert sorted(discreet.release(halves, plan).to_arrow()["a"].to_pylist()) == [0, 1]
    with pytest.raises(DiscreetError, match="row 1") as caught:
        discreet.release(pa.table({"a": pa.array([0, 2**63 + 5], pa.uint64())}), plan)
    assert str(2**63 + 5) not in str(caught.value)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_column_without_a_name_is_refused(ending, tmp_path):
    """Before anything is written: such a release could not be opened again."""
    plan = {"public": [{"columns": [""]}], "private": [block([0, 1])]}
    output = tmp_path / f"out.{ending}"
    with pytest.raises(PlanError, match="without a name"):
        discreet.release(pa.table({"a": [0, 1], "": [1, 2]}), plan, output)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_large_unsigned_public_numbers_come_back(ending, tmp_path):
    """A public column beyond 2^63 is written and read back; in a CSV, where whole numbers have a sign, as text."""
    plan = {"output": {"order": "keep"}, "public": [{"columns": ["id"]}], "private": [block([0, 1])]}
    table = pa.table({"a": [0, 1], "id": pa.array([3, 2**63 + 5], pa.uint64())})
    output = tmp_path / f"out.{ending}"
    discreet.release(table, plan, output)
    read = discreet.Release.open(output).to_arrow()["id"].to_pylist()
    assert [int(value) for value in read] == [3, 2**63 + 5]
