"""Near reports: the paper's search, its corrected formula, the best number, and the check numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import DesignError, Grid, Ordinal, PrivacyError, design
from discreet.design.ordered_values.bipartite_response import nearest_reports, truth_errors
from discreet.design.ordered_values.near_count import equidistant_near, equidistant_nearest, local_search
from discreet.domains import Binary, Metric

LEVELS = (1e-6, 0.01, 0.1, 0.25, 0.5, math.log(2), 0.9624, 1.0, math.log(4), 1.5, 2.0, 2 * math.log(3), 3.0, 5.0, 20.0)


def line(size: int) -> np.ndarray:
    """Losses of equidistant points."""
    return np.abs(np.subtract.outer(np.arange(size), np.arange(size))).astype(float)


def plain_search(losses: np.ndarray, epsilon: float) -> int:
    """Algorithms 1 and 2 as printed, in loops."""
    ratio, found = math.exp(epsilon), []
    for row in losses:
        ordered, m = np.sort(row), 1
        s = np.ones(len(row))
        s[0] = ratio
        for i in range(1, len(row)):
            if ((ordered[i] - ordered) * s).sum() < 0:
                s[i] = ratio
                m = i + 1
            else:
                break
        found.append(m)
    return min(found)


def domains(seed: int, size: int):
    """A line, uneven positions, points in a plane, any losses, and Jaccard similarity."""
    rng = np.random.default_rng(seed)
    losses = rng.random((size, size)) ** 2
    np.fill_diagonal(losses, 0)
    sets = rng.random((size, 8)) < 0.5
    sets[:, 0] = True
    both, either = sets.astype(int) @ sets.T, (sets[:, None] | sets[None]).sum(axis=2)
    return [
        Ordinal(range(size)),
        Grid(0, 3, size),
        Ordinal(range(size), positions=np.cumsum(rng.random(size) + 0.01).tolist()),
        Metric.points(range(size), rng.random((size, 2))),
        Metric(range(size), losses),
        Metric.from_similarity(range(size), both / either),
    ]


@pytest.mark.parametrize(
    ("size", "epsilon", "generalised", "search", "best", "numbers"),
    [
        (12, 1.0, 3.474682, 2.885099, 2.885099, (5, 5)),
        (25, 1.0, 7.784932, 6.091495, 6.079621, (9, 10)),
        (32, 2.0, 8.882740, 5.371537, 5.371537, (9, 9)),
    ],
)
def test_check_numbers(size, epsilon, generalised, search, best, numbers):
    """Expected errors on a line, to six places."""
    domain = Ordinal(range(size))
    found = [design.bipartite(domain, epsilon, high) for high in (1, "search", "best")]
    assert [round(one.objective, 6) for one in found] == [generalised, search, best]
    assert (found[1].mechanism.near, found[2].mechanism.near) == numbers
    for one in found:
        brute = (one.mechanism.matrix() * line(size)).sum() / size
        assert one.objective == pytest.approx(brute, rel=1e-12)
        assert truth_errors(domain, one.mechanism).mean() == pytest.approx(brute, rel=1e-12)
        assert one.certificate.bound <= one.certificate.value


def test_the_formula_is_the_search_for_every_size_up_to_300():
    """The corrected closed form, also at levels where the quadratic has a whole root."""
    for size in range(2, 301):
        ordered = np.sort(line(size), axis=1)
        sums = np.cumsum(ordered, axis=1)
        for epsilon in LEVELS:
            assert equidistant_near(size, epsilon) == local_search(ordered, sums, epsilon).min(), (size, epsilon)


def test_the_printed_formula_is_not():
    """Algorithm 3 as printed disagrees in a quarter of the cases: N = 4, ε = .1 and N = 10, ε = 1 among them."""

    def printed(size, epsilon):
        E = math.exp(epsilon)
        m1 = math.floor((math.sqrt(size**2 * E + (1 - E) ** 2 / 4) - (size - E / 2 + 0.5)) / (E - 1))
        if epsilon >= 1:
            return m1
        if size % 2 == 0:
            i = math.floor(size / (math.exp(epsilon / 2) + 1)) + 1
        else:
            i = math.floor((math.sqrt(E * (size**2 - 1) + 1) - size) / (E - 1) + 1)
        return min(m1, i if i % 2 else i + 1)

    levels = np.linspace(0.1, 3, 16)
    wrong = [printed(n, e) != equidistant_near(n, e) for n in range(2, 301) for e in levels]
    assert 0.1 < np.mean(wrong) < 0.4
    assert (equidistant_near(4, 0.1), equidistant_near(10, 1.0)) == (1, 3)


@given(st.integers(0, 10**6), st.integers(2, 25), st.floats(0.01, 6))
@settings(max_examples=60, deadline=None)
def test_the_search_is_the_printed_algorithm(seed, size, epsilon):
    """Prefix sums find the same m as the loops of Algorithms 1 and 2, on every kind of domain."""
    for domain in domains(seed, size):
        losses = domain.loss_rows(np.arange(size))
        assert design.bipartite(domain, epsilon).mechanism.near == plain_search(losses, epsilon)


@given(st.integers(0, 10**6), st.integers(2, 25), st.floats(0.01, 6), st.booleans())
@settings(max_examples=60, deadline=None)
def test_best_is_never_above_search_or_generalised_response(seed, size, epsilon, with_prior):
    """For every domain tried, and any prior; and best is the least over all m."""
    rng = np.random.default_rng(seed)
    prior = rng.dirichlet(np.ones(size)) if with_prior else None
    for domain in domains(seed, size):
        objective = {m: design.bipartite(domain, epsilon, m, prior).objective for m in ("best", "search", 1)}
        slack = 1e-9 * max(objective.values())
        assert objective["best"] <= objective["search"] + slack
        assert objective["best"] <= objective[1] + slack
        each = [design.bipartite(domain, epsilon, m, prior).objective for m in range(1, size + 1)]
        assert objective["best"] == pytest.approx(min(each), rel=1e-9, abs=1e-15)
        if prior is None:
            assert objective["search"] <= objective[1] + slack


@given(st.integers(0, 10**6), st.integers(2, 25), st.data())
@settings(max_examples=40, deadline=None)
def test_near_reports_are_the_nearest(seed, size, data):
    """The lists of a metric domain are the m smallest losses, ties to the smaller code."""
    near = data.draw(st.integers(1, size))
    rng = np.random.default_rng(seed)
    losses = rng.integers(0, 4, (size, size)).astype(float)  # many ties
    np.fill_diagonal(losses, 0)
    lists = nearest_reports(Metric(range(size), losses), near)
    for x in range(size):
        assert lists[x].tolist() == sorted(np.argsort(losses[x], kind="stable")[:near].tolist())


@given(st.integers(2, 40), st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_sums_of_equidistant_losses_in_closed_form(size, seed):
    """Prior-weighted sums of the m smallest losses, for every m."""
    prior = np.random.default_rng(seed).dirichlet(np.ones(size))
    brute = prior @ np.cumsum(np.sort(line(size), axis=1), axis=1)
    assert np.allclose(equidistant_nearest(size, prior)[1:], brute, rtol=1e-10, atol=1e-12)


def test_a_grid_is_scaled_by_its_step():
    """The same design as for codes, with errors in the units of the grid."""
    codes, grid = design.bipartite(Ordinal(range(11)), 1.0), design.bipartite(Grid(0, 5, 11), 1.0)
    assert codes.mechanism == grid.mechanism
    assert grid.objective == pytest.approx(codes.objective / 2)


def test_a_million_points():
    """Design, guarantee and limits of the theorems without a matrix."""
    found = design.bipartite(Ordinal(range(10**6)), 1.0)
    root = math.exp(0.5)
    assert found.mechanism.near / 10**6 == pytest.approx(1 / (root + 1), abs=1e-5)
    generalised = design.bipartite(Ordinal(range(10**6)), 1.0, 1).objective
    assert found.objective / generalised == pytest.approx((7 * root + 9) / (4 * (root + 1) ** 2), abs=1e-4)
    assert design.bipartite(Ordinal(range(10**6)), 1.0, "best").objective < found.objective


def test_three_thousand_places():
    """The design of a metric domain, neighbour lists and guarantee included."""
    rng = np.random.default_rng(1)
    places = Metric.points(range(3000), np.column_stack([rng.uniform(25, 49, 3000), rng.uniform(-124, -70, 3000)]),
                           "haversine")  # fmt: skip
    found = design.bipartite(places, 1.0)
    assert found.guarantee.epsilon <= 1.0
    assert found.mechanism.neighbours.shape == (3000, found.mechanism.near)


def test_notes_say_what_is_lost():
    """Users are told that near reports are not frequencies, and what to take instead."""
    text = design.bipartite(Ordinal(range(100)), 1.0).summary()
    assert "rank 64" in text
    assert "bounds" in text
    assert "generalised response" in text
    assert "design.expected_error" in text


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: design.bipartite(Ordinal(range(5)), 1.0, 0), DesignError, "from 1 to 5"),
        (lambda: design.bipartite(Ordinal(range(5)), 1.0, 6), DesignError, "from 1 to 5"),
        (lambda: design.bipartite(Ordinal(range(5)), 1.0, "most"), DesignError, "search"),
        (lambda: design.bipartite(Ordinal(range(5)), 1.0, 2.5), DesignError, "whole number"),
        (lambda: design.bipartite(Ordinal(range(5)), -1.0), PrivacyError, "epsilon"),
        (lambda: design.bipartite(Ordinal(range(3)), 1.0, prior=[0.5, 0.5, 0.5]), DesignError, "sum to 1"),
        (lambda: design.bipartite(Ordinal(range(3)), 1.0, prior=[0.5, 0.5]), DesignError, "3 numbers"),
        (lambda: design.bipartite(Ordinal(range(3)), 1.0, prior=[-0.5, 0.5, 1]), DesignError, "≥ 0"),
        (lambda: design.bipartite(Ordinal(range(2)), 1.0, prior=["a", "b"]), DesignError, "numbers"),
        (lambda: design.bipartite(Binary(), 1.0), DesignError, "order or a distance"),
    ],
)
def test_bad_input_is_refused(call, error, message):
    """One clear sentence each."""
    with pytest.raises(error, match=message):
        call()


def test_a_budget_is_split_where_it_helps_most():
    """The total is never above equal budgets, budgets sum to the total, and equal coordinates share equally."""
    found = design.split_budget([Grid(0, 1, 30), Grid(0, 1, 30)], 2.0)
    assert found.epsilons[0] == pytest.approx(found.epsilons[1], rel=0.2)
    uneven = design.split_budget([Grid(0, 1, 30), Grid(0, 20, 30), Ordinal(range(4))], 3.0)
    assert uneven.objective <= uneven.even
    assert sum(uneven.epsilons) == pytest.approx(3.0, rel=1e-9)
    assert sum(one.guarantee.epsilon for one in uneven.designs) <= 3.0 * (1 + 1e-15)
    assert uneven.epsilons[1] > uneven.epsilons[0]
    grid = [
        sum(
            design.bipartite(d, e, "best").objective
            for d, e in zip((Grid(0, 1, 9), Grid(0, 3, 9)), (t, 2 - t), strict=True)
        )
        for t in np.linspace(0.01, 1.99, 67)
    ]
    assert design.split_budget([Grid(0, 1, 9), Grid(0, 3, 9)], 2.0).objective <= min(grid) * (1 + 1e-6)
    assert "equal budgets" in uneven.summary()
    with pytest.raises(DesignError, match="two coordinates"):
        design.split_budget([Grid(0, 1, 5)], 1.0)
    with pytest.raises(DesignError, match="weights"):
        design.split_budget([Grid(0, 1, 5)] * 2, 1.0, weights=[1, -1])
