"""The table of mechanisms for large domains: its formulas, and that the documentation shows what is computed."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from benchmarks.cyclic import squared_error

from discreet.mechanisms import CyclicResponse
from experiments import large_domains

PAGES = Path(__file__).parents[2] / "docs" / "mathematics"


def test_the_documentation_shows_the_computed_table():
    """Every line of the page is what the experiment prints now."""
    page = (PAGES / "large_domains.md").read_text(encoding="utf-8")
    for line in large_domains.table():
        assert line in page


def test_published_variances():
    """At ε = 1: OUE 4e/(e − 1)², Hadamard ((e + 1)/(e − 1))², generalised response at k = 1,000."""
    e = math.e
    assert large_domains.unary(1.0) == pytest.approx(4 * e / (e - 1) ** 2)
    assert large_domains.hadamard(1.0) == pytest.approx(((e + 1) / (e - 1)) ** 2)
    assert large_domains.generalized(1_000, 1.0) == pytest.approx(338.94, abs=5e-3)
    assert float(large_domains.cyclic(10**6, 1.0)[0]) == pytest.approx(3.692, abs=5e-4)
    assert float(large_domains.cyclic(100, 4.0)[0]) == pytest.approx(0.0753, abs=5e-5)


def test_subset_selection_by_enumeration():
    """Its two support probabilities on six values, from all subsets of two."""
    e, size, w = 2.0, 6, 2
    subsets = [(a, b) for a in range(size) for b in range(a)]
    weights = np.array([[e if x in one else 1.0 for one in subsets] for x in range(size)])
    weights /= weights.sum(axis=1, keepdims=True)
    holds = np.array([0 in one for one in subsets])
    own, other = weights[0] @ holds, weights[1] @ holds
    assert large_domains.subset(size, math.log(e)) == pytest.approx(large_domains.from_supports(own, other))
    assert round(size / (e + 1)) == w


def test_the_benchmark_judges_the_error():
    """A small run passes."""
    assert squared_error(CyclicResponse(20_000, 1.0), 40_000).passed
