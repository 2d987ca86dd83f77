"""What else there was: alternatives keep the same promise, by the same measure, and never beat a proven optimum."""

from __future__ import annotations

import numpy as np
import pytest

from discreet import Metric, Ordinal, design
from discreet.design.binary_response.feasible_region import variance
from discreet.mechanisms import BinaryResponse, ExponentialResponse, GeneralizedResponse

X = np.column_stack([np.ones(300), np.linspace(-1, 1, 300)])


def two_reports(found):
    """Alternatives by value, those with four reports left out."""
    return [one.value for one in found.alternatives if "four" not in one.name]


@pytest.mark.parametrize("prevalence", [0.02, 0.1, 0.3, 0.5, 0.9])
def test_the_best_binary_design_beats_every_alternative_with_two_reports(prevalence):
    """The other corners have at least the variance of the design; four reports have at most it, as designed."""
    found = design.binary(1.0, 0.1, prevalence)
    keep = (np.e + 0.1) / (np.e + 1)
    corners = [float(variance(*point, prevalence)) for point in ((keep, keep), (1, 0.1), (0.1, 1))]
    assert sorted([found.objective, *two_reports(found)]) == pytest.approx(sorted(corners), rel=1e-9)
    assert min(two_reports(found)) >= found.objective * (1 - 1e-9)
    (four,) = (one.value for one in found.alternatives if "four" in one.name)
    assert four == pytest.approx(design.binary(1.0, 0.1, prevalence, reports=4).objective, rel=1e-8)
    assert four <= found.objective


def test_the_alternatives_of_an_interval_are_worst_cases():
    """By brute force over prevalences: the largest regret of each corner, none below that of the design."""
    low, high, grid = 0.05, 0.3, np.linspace(0.05, 0.3, 2001)
    found = design.binary(1.0, 0.1, (low, high))
    keep = (np.e + 0.1) / (np.e + 1)
    by_corner = np.array([variance(*point, grid) for point in ((keep, keep), (1, 0.1), (0.1, 1))])
    regrets = (by_corner / by_corner.min(axis=0)).max(axis=1) - 1
    assert two_reports(found) == pytest.approx(sorted(regrets)[-len(found.alternatives) :], rel=1e-6)
    assert len(found.alternatives) == 2
    assert min(two_reports(found)) >= found.objective


def test_a_pure_level_leaves_no_alternative():
    """With δ = 0 there is one candidate, and nothing to list; the summary has no empty line for it."""
    assert design.binary(1.0).alternatives == ()
    assert "Instead" not in str(design.binary(1.0))
    assert "Instead: four reports" in str(design.binary(1.0, 0.1, 0.05))


@pytest.mark.parametrize("coefficients", [[-3.0, 0.5], [[-3.0, 0.5], [0.0, 1.0]], ([-3.0, 0.0], [0.0, 1.0])])
def test_no_alternative_of_a_label_is_better(coefficients):
    """For one set of coefficients, several, or a range; four reports, which dominate, apart."""
    found = design.label(1.0, 0.1, X, coefficients)
    assert two_reports(found)
    assert min(two_reports(found)) >= found.objective * (1 - 1e-9)
    four = design.label(1.0, 0.1, X, coefficients, reports=4)
    if not isinstance(coefficients, tuple):  # regrets in a range are relative to two reports
        assert min(two_reports(four)) >= four.objective


def test_a_certificate_says_whether_the_best_is_proven():
    """One line: proven best, or how far from the bound."""
    proven, open_ = design.binary(1.0).certificate, design.bipartite(Ordinal(range(25)), 1.0).certificate
    assert proven.proven
    assert proven.to_dict()["proven"] is True
    assert str(proven).startswith("Proven best: ")
    assert not open_.proven
    assert str(open_).startswith("At most 0.0119 (0.20%) above the bound: ")
    assert open_.gap == pytest.approx(0.0119, abs=1e-4)


def test_mechanisms_for_an_ordered_domain_instead_of_one():
    """All that keep ε, nearest first, one name per channel, and whether frequencies are lost."""
    domain = Ordinal(range(12))
    table = design.compare(domain, 1.0, 1000)
    found = table.instead_of(GeneralizedResponse(12, 1.0))
    errors = [one.value for one in found]
    assert errors == sorted(errors)
    assert "generalised" not in {one.name for one in found}
    assert found[0].name == "optimum, frequencies not identified"
    assert found[0].value == pytest.approx(design.expected_error(domain, 1.0).objective)
    assert not any("published" in one.name for one in found)
    exponential = ExponentialResponse(domain, 1.0)
    assert table.of(exponential).name == "exponential"
    assert table.of(BinaryResponse.direct()) is None


def test_one_channel_with_two_names_is_named_once():
    """For four values bipartite response is generalised response, whichever way its near reports are found."""
    domain = Ordinal(range(4))
    found = design.bipartite(domain, 1.0)
    names = [one.name for one in design.compare(domain, 1.0, 100).instead_of(found.mechanism)]
    assert not any("bipartite" in name or "generalised" in name for name in names)


def test_a_metric_design_remembers_what_it_was_made_for():
    """Losses and prior, so that others can be compared on the same terms."""
    domain, prior = Metric(["a", "b", "c"], [[0, 1, 2], [1, 0, 3], [2, 3, 0]]), [0.7, 0.2, 0.1]
    for found in (design.bipartite(domain, 1.0, "best", prior), design.expected_error(domain, 1.0, prior)):
        assert found.domain == domain
        assert found.prior == pytest.approx(prior)
        table = design.compare(found.domain, 1.0, 10, prior=found.prior)
        assert table.of(found.mechanism).expected_error == pytest.approx(found.objective)


def test_a_notebook_shows_a_design_as_its_summary():
    """In words, escaped; the fractions of the mechanism are for ``repr``."""
    best = design.binary(1.0)
    page = best._repr_html_()
    assert page.startswith("<pre")
    assert "Proven best" in page
    assert "Holohan et al. 2017, Theorem 2" in page
    assert "6742825251438785381" not in page
