"""Extreme parameters, large sizes, and input that makes no estimate."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.domains import Binary, Categorical, WithBlank
from discreet.errors import EstimationError
from discreet.estimate import frequencies
from discreet.mechanisms import BinaryResponse, ChannelResponse, GeneralizedResponse
from discreet.randomness import Randomness


def test_tiny_and_huge_epsilon():
    """ε = 1e-6 says almost nothing and ε = 50 almost everything; both say so correctly."""
    faint = frequencies(counts=[500_000, 500_000], mechanism=GeneralizedResponse(2, 1e-6))
    assert faint.estimate[1] == pytest.approx(0.5, abs=1e-6)
    assert faint.std_error[1] == pytest.approx(1e-3 / (2 * math.tanh(5e-7)), rel=1e-6)
    assert faint.interval()[1].tolist() == [0, 1]
    sharp = GeneralizedResponse(2, 50.0)
    result = frequencies(counts=[70, 30], mechanism=sharp)
    assert result.estimate[1] == pytest.approx(0.3, abs=1e-15)
    assert result.std_error[1] == pytest.approx(math.sqrt(0.21 / 100), rel=1e-12)
    table = frequencies(counts=[70, 30], mechanism=sharp, target="table")
    assert table.std_error[1] == pytest.approx(math.sqrt(math.exp(-50) / 100), rel=1e-6)
    low, high = table.interval()[1]
    assert low == pytest.approx(0.3, abs=1e-9)
    assert high == pytest.approx(0.3, abs=1e-9)


def test_direct_question():
    """Without randomisation the table is known exactly and the population as in any survey."""
    result = frequencies(counts=[0, 8], mechanism=BinaryResponse.direct(), target="table")
    assert result.std_error.tolist() == [0, 0]
    assert result.interval().tolist() == [[0, 0], [1, 1]]


def test_single_report():
    """N = 1 works; the plug-in standard error is zero, and a note says that it means nothing."""
    result = frequencies([1], GeneralizedResponse(2, 1.0))
    assert result.n == 1
    assert result.estimate[1] > 1
    assert any("says nothing" in note for note in result.notes)
    assert result.interval(method="chebyshev").tolist() == [[0, 1], [0, 1]]


def test_no_reports_is_an_error():
    """N = 0 is refused, from reports and from counts."""
    for arguments in (
        {"reports": [], "mechanism": GeneralizedResponse(2, 1.0)},
        {"counts": [0, 0], "mechanism": GeneralizedResponse(2, 1.0)},
    ):
        with pytest.raises(EstimationError, match="n = 0"):
            frequencies(**arguments)
    with pytest.raises(EstimationError, match="n = 0"):
        frequencies([], GeneralizedResponse(2, 1.0), by=[])
    with pytest.raises(EstimationError, match="n = 0"):
        frequencies([], GeneralizedResponse(2, 1.0), weights=[])


def test_a_million_values():
    """Standard errors and every interval at 10⁶ values; the full matrix is refused clearly."""
    size = 1_000_000
    mechanism = GeneralizedResponse(size, 12.0)
    reports = mechanism.privatize(np.arange(2 * size) % 1000, Randomness.seeded(1))
    result = frequencies(reports, mechanism, labels=Categorical(range(size)))
    assert result.std_error.shape == (size,)
    for method in ("wilson", "clopper-pearson", "chebyshev", "wald", "simultaneous"):
        assert result.interval(method=method).shape == (size, 2)
    fitted = frequencies(reports, mechanism, method="mle")
    assert fitted.estimate.min() == 0
    assert fitted.std_error.shape == (size,)
    assert "999,980 more values" in result.summary()
    with pytest.raises(EstimationError, match="4,096"):
        _ = result.covariance
    # The thousand true values have 1/1000 each: their mean estimate is that, the others' zero.
    error = float(np.sqrt((result.std_error[:1000] ** 2).sum())) / 1000
    assert result.estimate[:1000].mean() == pytest.approx(1e-3, abs=8 * error)
    assert result.estimate.sum() == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint16, np.int32, np.uint64, np.int64, bool])
def test_any_integer_type_counts_the_same(dtype):
    """Codes of every width, and booleans, give the same estimate."""
    reports = np.array([0, 1, 1, 0, 1, 1, 1], dtype)
    mechanism = GeneralizedResponse(2, 1.0)
    expected = frequencies(counts=[2, 5], mechanism=mechanism).estimate
    np.testing.assert_array_equal(frequencies(reports, mechanism).estimate, expected)
    np.testing.assert_array_equal(frequencies(reports.tolist(), mechanism).estimate, expected)
    np.testing.assert_array_equal(frequencies(reports[::-1], mechanism).estimate, expected)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint16, np.int32, np.uint64, np.int64])
@pytest.mark.parametrize("size", [2, 3, 200])
def test_codes_out_of_range_name_the_row_only(dtype, size):
    """A code that is too large or negative is an error with its row; the value is not in the message."""
    mechanism = GeneralizedResponse(size, 1.0)
    reports = np.zeros(300_000, dtype)
    bad = [min(size + 35, np.iinfo(dtype).max)]
    bad += [np.iinfo(dtype).max] if np.iinfo(dtype).max >= size else []
    bad += [-77] if np.iinfo(dtype).min < 0 else []
    for value in bad:
        if 0 <= value < size:
            continue
        reports[280_001] = value
        with pytest.raises(EstimationError, match=r"row 280001 .*0 to") as caught:
            frequencies(reports, mechanism)
        assert str(value) not in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"reports": [0.5, 1.0], "mechanism": GeneralizedResponse(2, 1.0)}, "integer codes"),
        ({"reports": ["yes"], "mechanism": GeneralizedResponse(2, 1.0)}, "integer codes"),
        ({"reports": [[0, 1]], "mechanism": GeneralizedResponse(2, 1.0)}, "one column"),
        ({"reports": [0, 1], "mechanism": None}, "mechanism"),
        ({"mechanism": GeneralizedResponse(2, 1.0)}, "either reports or counts"),
        ({"counts": [1, 2, 3], "mechanism": GeneralizedResponse(2, 1.0)}, "2 reports"),
        ({"counts": [1, -2], "mechanism": GeneralizedResponse(2, 1.0)}, "whole numbers"),
        ({"counts": [1, 2.5], "mechanism": GeneralizedResponse(2, 1.0)}, "whole numbers"),
        ({"counts": [1, math.nan], "mechanism": GeneralizedResponse(2, 1.0)}, "whole numbers"),
        ({"counts": [1, 2], "reports": [0], "mechanism": GeneralizedResponse(2, 1.0)}, "stand alone"),
        ({"counts": [1, 2], "by": ["a"], "mechanism": GeneralizedResponse(2, 1.0)}, "stand alone"),
        ({"counts": [1, 2], "mechanism": GeneralizedResponse(2, 1.0), "method": "em"}, "method must be one of"),
        (
            {"counts": [1, 2], "mechanism": GeneralizedResponse(2, 1.0), "target": "all"},
            'target must be "population" or "table"',
        ),
        ({"counts": [1, 2], "mechanism": GeneralizedResponse(2, 1.0), "labels": ["a"]}, "1 labels"),
        ({"reports": [0, 1], "mechanism": GeneralizedResponse(2, 1.0), "weights": [1]}, "one entry per row"),
        ({"reports": [0, 1], "mechanism": GeneralizedResponse(2, 1.0), "weights": [1, 0]}, "row 1 .*positive"),
        ({"reports": [0, 1], "mechanism": GeneralizedResponse(2, 1.0), "weights": [-1, 1]}, "row 0 .*positive"),
        ({"reports": [0, 1], "mechanism": GeneralizedResponse(2, 1.0), "weights": [math.inf, 1]}, "row 0"),
        ({"reports": [0, 1], "mechanism": GeneralizedResponse(2, 1.0), "weights": [1, None]}, "row 1"),
        ({"reports": [0, 1], "mechanism": GeneralizedResponse(2, 1.0), "weights": ["a", "b"]}, "numbers"),
        ({"reports": [0, 1], "mechanism": GeneralizedResponse(2, 1.0), "weights": "w"}, "needs a release"),
        ({"reports": [0, 1], "mechanism": GeneralizedResponse(2, 1.0), "strata": ["a", None]}, "row 1 .*no value"),
        ({"reports": [0, 1], "mechanism": GeneralizedResponse(2, 1.0), "clusters": [1, 1]}, "single cluster"),
        (
            {"reports": [0, 1], "mechanism": GeneralizedResponse(2, 1.0), "strata": ["a", "b"]},
            "stratum has a single row",
        ),
        ({"reports": [0], "mechanism": GeneralizedResponse(2, 1.0), "weights": [2.0]}, "single row"),
        ({"reports": [0, 1], "mechanism": GeneralizedResponse(2, 1.0), "designs": ["a", "b"]}, "designs="),
        ({"reports": [0, 1], "mechanism": GeneralizedResponse(2, 1.0), "by": ["(missing)", None]}, r"\(missing\)"),
    ],
)
def test_bad_input_is_one_clear_sentence(arguments, message):
    """What is wrong with the input is said in an EstimationError."""
    with pytest.raises(EstimationError, match=message):
        frequencies(**arguments)


def test_results_are_frozen_and_print():
    """Arrays cannot be changed, attributes neither; labels, notes and plain data are there."""
    mechanism = GeneralizedResponse(3, 1.0)
    result = frequencies(counts=[5, 6, 7], mechanism=mechanism, labels=WithBlank(Binary()))
    for array in (result.estimate, result.std_error, result.covariance):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    with pytest.raises(AttributeError):
        result.target = "table"
    assert result.labels == ["no", "yes", None]
    assert result.mechanism is mechanism
    assert str(result) == result.summary()
    assert "(blank)" in str(result)
    assert repr(result).startswith("<Frequencies of the population: unbiased, n = 18: ")
    data = result.to_dict()
    assert data["labels"] == ["no", "yes", None]
    assert set(data) == {
        "kind",
        "column",
        "n",
        "method",
        "target",
        "labels",
        "estimate",
        "std_error",
        "interval",
        "design_effect",
        "contamination",
        "notes",
    }
    unlabelled = frequencies(counts=[5, 6, 7], mechanism=mechanism)
    assert list(unlabelled.labels) == [0, 1, 2]


def test_totals_without_weights_count_people():
    """Without weights totals are n times the frequencies, with their error."""
    result = frequencies(counts=[600, 400], mechanism=BinaryResponse.warner("3/4"))
    totals = result.totals()
    np.testing.assert_allclose(totals.estimate, [700, 300])
    np.testing.assert_allclose(totals.std_error, 1000 * result.std_error)
    np.testing.assert_allclose(totals.covariance, 1e6 * result.covariance)
    np.testing.assert_allclose(totals.interval(), 1000 * result.interval(method="wald"))
    assert "700.0" in str(totals)
    assert totals.to_dict()["kind"] == "totals"
    with pytest.raises(EstimationError, match="wald only"):
        totals.interval(method="wilson")


def test_covariance_at_the_limit():
    """4,096 values still have their full matrix, in closed form."""
    mechanism = GeneralizedResponse(4096, 3.0)
    counts = np.random.default_rng(0).integers(0, 40, 4096)
    result = frequencies(counts=counts, mechanism=mechanism)
    np.testing.assert_allclose(np.diag(result.covariance), result.std_error**2, rtol=1e-9, atol=1e-20)


def test_unused_report_code():
    """A report that no truth gives is ignored by the unbiased estimate when it does not occur."""
    mechanism = ChannelResponse([["2/3", 0, "1/3"], ["1/3", 0, "2/3"]])
    plain = frequencies(counts=[6, 4], mechanism=ChannelResponse([["2/3", "1/3"], ["1/3", "2/3"]]))
    np.testing.assert_allclose(frequencies(counts=[6, 0, 4], mechanism=mechanism).estimate, plain.estimate)
