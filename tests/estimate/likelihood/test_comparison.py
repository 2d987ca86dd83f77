"""Fits side by side."""

from __future__ import annotations

import numpy as np
import pytest

from discreet import EstimationError
from discreet.estimate import binary_regression, compare

from .simulated import rows


def test_corrected_naive_and_true_fits_side_by_side():
    """The naive fit reads reports as truths; the table has a line per coefficient and fit."""
    X, y, truth = rows(5000, 0.75, 0.75, seed=40)
    fit = binary_regression(X, y, 0.75, 0.75)
    table = compare({"corrected": fit, "naive": fit.naive(), "true labels": binary_regression(X, truth, 1, 1)})
    np.testing.assert_allclose(table.estimate[1], binary_regression(X, y, 1, 1).coefficients, rtol=1e-9)
    assert table.interval().shape == (3, 4, 2)
    assert len(table.rows()) == 12
    assert table.rows()[1]["method"] == "naive"
    text = table.summary()
    assert "true labels" in text
    assert "95 % interval" in text
    assert len(table.to_dict()["rows"]) == 12
    assert (table.std_error[2] < table.std_error[0]).all()


def test_only_like_is_compared_with_like():
    """Different coefficients, or no fits at all, are refused."""
    X, y, _ = rows(500, 0.9, 0.9, seed=41)
    fit, short = binary_regression(X, y, 0.9, 0.9), binary_regression(X[:, :3], y, 0.9, 0.9)
    with pytest.raises(EstimationError, match="same coefficients"):
        compare([fit, short])
    with pytest.raises(EstimationError, match="no fits"):
        compare([])
