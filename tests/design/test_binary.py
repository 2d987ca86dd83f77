"""The binary designer against the paper's figures, brute force over the feasible region, and its own certificate."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import DesignError, PrivacyError, design
from discreet.design.binary_response.feasible_region import switch_prevalence, variance
from discreet.mechanisms import BinaryResponse, ChannelResponse


def feasible_grid(epsilon, delta, steps=400):
    """A fine grid of (p00, p11) inside the feasible region, corners included."""
    e = math.exp(epsilon)
    axis = np.unique(np.concatenate([np.linspace(0, 1, steps), [delta, (e + delta) / (e + 1)]]))
    p00, p11 = np.meshgrid(axis, axis)
    ok = (p00 <= e * (1 - p11) + delta + 1e-12) & (p11 <= e * (1 - p00) + delta + 1e-12) & (p00 + p11 > 1 + 1e-9)
    return p00[ok], p11[ok]


def float_variance(p00, p11, prevalence):
    """q(1 − q)/s² in floats."""
    s = p00 + p11 - 1
    q = 1 - p00 + prevalence * s
    return q * (1 - q) / s**2


@pytest.mark.parametrize(
    ("epsilon", "delta", "prevalence", "g", "warner", "corner", "four"),
    [
        (0.5, 0.1, 0.25, 0.2428, 2.3724, 2.4375, 1.329),
        (1.0, 0.4, 0.1, 0.1967, 0.3850, 0.2400, 0.198),
        (0.5, 1 / 3, 0.9, 0.3818, 0.8537, 0.2900, None),
        (math.log(2), 0.25, 0.25, 0.25, 15 / 16, 15 / 16, 0.597),
    ],
)
def test_the_papers_examples_corrected(epsilon, delta, prevalence, g, warner, corner, four):
    """Example 1 of Holohan et al., with the printed .143 of its third case corrected to .290."""
    assert switch_prevalence(epsilon, delta) == pytest.approx(g, abs=5e-5)
    symmetric = design.binary(epsilon, delta, prevalence, symmetric=True)
    assert symmetric.objective == pytest.approx(warner, abs=5e-5)
    point = (1, delta) if prevalence <= 0.5 else (delta, 1)
    assert float_variance(*point, prevalence) == pytest.approx(corner, abs=5e-5)
    assert design.binary(epsilon, delta, prevalence).objective == pytest.approx(min(warner, corner), abs=5e-5)
    if four:
        assert design.binary(epsilon, delta, prevalence, reports=4).objective == pytest.approx(four, abs=5e-4)


@given(epsilon=st.floats(0.05, 4), delta=st.floats(0.001, 0.9), prevalence=st.floats(0.01, 0.99))
@settings(max_examples=40)
def test_nothing_on_a_grid_of_the_feasible_region_does_better(epsilon, delta, prevalence):
    """Brute force over 160,000 designs never beats the optimum, and the corners on the grid reach it."""
    p00, p11 = feasible_grid(epsilon, delta)
    best = float_variance(p00, p11, prevalence).min()
    found = design.binary(epsilon, delta, prevalence)
    assert found.objective <= best * (1 + 1e-9)
    assert found.objective == pytest.approx(best, rel=1e-6)
    assert 0 <= found.certificate.gap <= 1e-6 * found.objective
    assert found.guarantee.fits(epsilon, delta)


@given(epsilon=st.floats(0.05, 6), prevalence=st.floats(0, 1))
@settings(max_examples=25)
def test_without_delta_warner_is_best_everywhere(epsilon, prevalence):
    """δ = 0: the prevalence does not matter, and nothing on the grid does better."""
    p00, p11 = feasible_grid(epsilon, 0.0)
    mechanism = design.binary(epsilon, prevalence=prevalence).mechanism
    value = float(variance(mechanism.p00, mechanism.p11, Fraction(prevalence)))
    assert value <= float_variance(p00, p11, prevalence).min() * (1 + 1e-9)
    assert mechanism.p00 == mechanism.p11


@given(epsilon=st.floats(0.1, 3), delta=st.floats(0.01, 0.8), a=st.floats(0.02, 0.98), b=st.floats(0.02, 0.98))
@settings(max_examples=25)
def test_minimax_regret_is_not_beaten_by_any_design_on_the_grid(epsilon, delta, a, b):
    """With an interval the worst relative regret is the smallest there is, by brute force over designs and π."""
    low, high = min(a, b), max(a, b)
    prevalences = np.linspace(low, high, 60)
    p00, p11 = feasible_grid(epsilon, delta, 120)
    e = math.exp(epsilon)
    keep = (e + delta) / (e + 1)
    best = np.min([float_variance(*c, prevalences) for c in ((keep, keep), (1, delta), (delta, 1))], axis=0)
    regret = lambda m: np.max(float_variance(float(m.p00), float(m.p11), prevalences) / best) - 1  # noqa: E731
    grid = np.max(float_variance(p00[:, None], p11[:, None], prevalences) / best, axis=1).min() - 1
    mechanism = design.binary(epsilon, delta, (low, high)).mechanism
    assert regret(mechanism) <= grid + 1e-6
    assert mechanism.guarantee.fits(epsilon, delta)


@given(epsilon=st.floats(0.1, 3), delta=st.floats(0.01, 0.8))
@settings(max_examples=25)
def test_nothing_known_minimises_the_largest_variance(epsilon, delta):
    """With no prevalence at all, no design on the grid has a smaller worst variance."""
    prevalences = np.linspace(0, 1, 101)
    p00, p11 = feasible_grid(epsilon, delta, 120)
    grid = np.max(float_variance(p00[:, None], p11[:, None], prevalences), axis=1).min()
    found = design.binary(epsilon, delta)
    worst = np.max(float_variance(float(found.mechanism.p00), float(found.mechanism.p11), prevalences))
    assert worst <= grid * (1 + 1e-6)
    assert found.certificate.gap <= 1e-6 * found.objective


def test_a_point_inside_an_edge_can_beat_all_three_corners():
    """For (1, .4) and prevalences from .05 to .6 the least regret is at none of the corners."""
    mechanism = design.binary(1.0, 0.4, (0.05, 0.6)).mechanism
    assert mechanism.p00 != mechanism.p11
    assert max(mechanism.p00, mechanism.p11) < 1


def test_an_interval_in_which_one_design_is_always_best_is_recognised():
    """From .3 to .7 Warner is best throughout; from .01 to .1 the corner is."""
    assert any("best at every prevalence" in note for note in design.binary(0.5, 0.1, (0.3, 0.7)).notes)
    corner = design.binary(1.0, 0.4, (0.01, 0.1))
    assert corner.mechanism.p00 == 1
    assert any("exposed" in note for note in corner.notes)


@given(epsilon=st.floats(0.1, 3), delta=st.floats(0.01, 0.8), prevalence=st.floats(0.05, 0.95))
@settings(max_examples=40)
def test_four_reports_dominate_two(epsilon, delta, prevalence):
    """The four-report channel has a smaller efficient variance than every two-report design."""
    two = design.binary(epsilon, delta, prevalence)
    four = design.binary(epsilon, delta, prevalence, reports=4)
    assert four.objective <= two.objective * (1 + 1e-9)
    assert isinstance(four.mechanism, ChannelResponse)
    assert four.guarantee.fits(epsilon, delta)
    assert four.guarantee.exposure == pytest.approx(delta)


def test_four_report_variance_is_the_inverse_information_of_the_channel():
    """The objective is 1/I computed from the matrix by finite differences of the log-likelihood."""
    found = design.binary(0.5, 0.1, 0.25, reports=4)
    Q = found.mechanism.matrix()
    p = lambda t: (1 - t) * Q[0] + t * Q[1]  # noqa: E731
    h = 1e-5
    score = (np.log(p(0.25 + h)) - np.log(p(0.25 - h))) / (2 * h)
    assert found.objective == pytest.approx(1 / (p(0.25) * score**2).sum(), rel=1e-6)


def test_symmetric_design_is_in_truth_pure():
    """Warner's design for (ε, δ) is ε'-private with ε' = ln((e^ε + δ)/(1 − δ))."""
    mechanism = design.binary(1.0, 0.1, symmetric=True).mechanism
    pure = BinaryResponse(mechanism.p00, mechanism.p11).guarantee.epsilon
    assert pure == pytest.approx(math.log((math.e + 0.1) / 0.9), rel=1e-12)


def test_designs_print_and_serialise():
    """A design reads well and survives JSON."""
    found = design.binary(1.0, 0.4, 0.1)
    assert "Proven best" in str(found)
    assert "exposure" in str(found)
    data = json.loads(json.dumps(found.to_dict()))
    assert data["certificate"]["gap"] >= 0


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ({"epsilon": 0}, PrivacyError, "epsilon"),
        ({"epsilon": -1}, PrivacyError, "epsilon"),
        ({"epsilon": math.inf}, PrivacyError, "epsilon"),
        ({"epsilon": "x"}, PrivacyError, "epsilon"),
        ({"epsilon": 1, "delta": 1.5}, PrivacyError, "delta"),
        ({"epsilon": 1, "delta": -0.1}, PrivacyError, "delta"),
        ({"epsilon": 1, "delta": 0.1, "prevalence": 1.5}, DesignError, "prevalence"),
        ({"epsilon": 1, "delta": 0.1, "prevalence": (0.5, 0.2)}, DesignError, "prevalence"),
        ({"epsilon": 1, "delta": 0.1, "prevalence": (0.1, 0.2, 0.3)}, DesignError, "prevalence"),
        ({"epsilon": 1, "delta": 0.1, "prevalence": "x"}, DesignError, "prevalence"),
        ({"epsilon": 1, "reports": 3}, DesignError, "reports"),
        ({"epsilon": 1, "reports": 4}, PrivacyError, "delta > 0"),
        ({"epsilon": 1, "delta": 0.1, "reports": 4, "symmetric": True}, DesignError, "symmetric"),
        ({"epsilon": 300}, PrivacyError, "too large"),
    ],
)
def test_impossible_requests_are_refused(arguments, kind, message):
    """One clear sentence."""
    with pytest.raises(kind, match=message):
        design.binary(**arguments)


@pytest.mark.parametrize(("epsilon", "delta"), [(1e-6, 1e-12), (1e-6, 0.5), (50.0, 1e-9), (50.0, 0.5), (1.0, 1.0)])
def test_extreme_levels(epsilon, delta):
    """Tiny and huge levels give a right answer."""
    found = design.binary(epsilon, delta, 0.3)
    assert found.guarantee.fits(epsilon, delta)
    assert found.guarantee.delta >= delta * (1 - 1e-9)


@pytest.mark.parametrize("prevalence", [0.0, 1.0])
def test_four_reports_at_a_certain_prevalence(prevalence):
    """The variance vanishes, as it does for the best corner."""
    assert design.binary(1.0, 0.1, prevalence, reports=4).objective == 0
