"""Certification against brute force and against the definition."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import chain, combinations, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import InputError, PrivacyError, privacy
from discreet.privacy.bounds import exp_bounds, log_bounds, log_up, round_down, round_up


def channels(max_truths=4, max_reports=4):
    """Random integer channels with equal row sums."""
    rows = st.integers(2, max_reports).flatmap(
        lambda r: st.lists(
            st.lists(st.integers(0, 30), min_size=r, max_size=r).filter(any), min_size=2, max_size=max_truths
        )
    )
    return rows.map(equalise)


def equalise(rows):
    """Scale rows to a common sum."""
    total = math.lcm(*(sum(row) for row in rows))
    return [[v * (total // sum(row)) for v in row] for row in rows]


@given(rows=channels(), epsilon=st.floats(0, 3))
def test_delta_is_the_largest_excess_over_all_events(rows, epsilon):
    """δ(ε) = max over truths and events of P(E|x) − e^ε P(E|x'), by enumerating every event."""
    d = sum(rows[0])
    events = list(chain.from_iterable(combinations(range(len(rows[0])), k) for k in range(len(rows[0]) + 1)))
    brute = max(
        sum(x[i] for i in event) / d - math.exp(epsilon) * sum(y[i] for i in event) / d
        for x, y in permutations(rows, 2)
        for event in events
    )
    certified = privacy.certify(rows).delta(epsilon)
    assert certified == pytest.approx(max(brute, 0), abs=1e-12)
    assert Fraction(certified) >= 0


@given(rows=channels(max_truths=3), alpha=st.floats(0, 1))
def test_trade_off_is_the_best_randomised_test(rows, alpha):
    """f(α) is the value of the adversary's linear programme, solved independently."""
    from scipy.optimize import linprog

    d = sum(rows[0])
    best = 1 - alpha
    for x, y in permutations(rows, 2):
        a, b = np.array(x) / d, np.array(y) / d
        solution = linprog(-b, A_ub=[a], b_ub=[alpha], bounds=(0, 1))
        best = min(best, 1 + solution.fun)
    assert privacy.certify(rows).trade_off(alpha) == pytest.approx(best, abs=1e-7)


@given(rows=channels())
def test_epsilon_is_where_delta_vanishes(rows):
    """δ is zero at the certified ε and positive just below it."""
    certificate = privacy.certify(rows)
    if math.isinf(certificate.epsilon):
        assert certificate.delta(50.0) > 0
    else:
        assert certificate.delta(certificate.epsilon) == 0
        if certificate.epsilon > 1e-3:
            assert certificate.delta(certificate.epsilon * 0.999) > 0


def test_many_rows_are_screened_without_changing_the_answer():
    """With thousands of pairs δ(ε) is still the exact maximum."""
    rng = np.random.default_rng(3)
    rows = equalise((rng.integers(1, 9, (40, 3))).tolist())
    certificate = privacy.certify(rows)
    d = sum(rows[0])
    low = exp_bounds(0.3)[0]
    exact = max(
        sum(max(Fraction(a) - low * b, Fraction(0)) for a, b in zip(x, y, strict=True)) / d
        for x, y in permutations(rows, 2)
    )
    assert certificate.delta(0.3) == round_up(exact)


def test_certify_takes_matrices_of_every_kind_of_number():
    """Integers, fractions, text and floats describe the same channel."""
    expected = math.log(3)
    for matrix in (
        [[3, 1], [1, 3]],
        [[Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(3, 4)]],
        [["3/4", "1/4"], ["1/4", "3/4"]],
        np.array([[0.75, 0.25], [0.25, 0.75]]),
        np.array([[3, 1], [1, 3]]),
    ):
        assert privacy.certify(matrix).epsilon == pytest.approx(expected, rel=1e-15)


def test_requested_epsilon_states_the_guarantee_there():
    """With ε given the certificate's guarantee is (ε, δ(ε))."""
    guarantee = privacy.certify([["3/4", "1/4"], ["1/4", "3/4"]], epsilon=0.5).guarantee
    assert guarantee.epsilon == 0.5
    assert guarantee.delta == pytest.approx(0.75 - math.exp(0.5) * 0.25)


@pytest.mark.parametrize("bad", [-1.0, math.nan])
def test_bad_epsilon_is_refused(bad):
    """ε must be a number ≥ 0."""
    with pytest.raises(PrivacyError):
        privacy.certify([[1, 1], [1, 1]]).delta(bad)


def test_bad_alpha_is_refused():
    """α is a probability."""
    with pytest.raises(InputError):
        privacy.certify([[1, 1], [1, 1]]).trade_off(1.5)


@given(st.floats(1e-9, 100))
def test_bounds_enclose(x):
    """The rational bounds on e^x and ln x are on either side, and tight."""
    low, high = exp_bounds(x)
    assert low < high
    assert high - low < low * Fraction(1, 10**80)
    assert log_bounds(low)[0] <= Fraction(x) <= log_bounds(high)[1]


@given(st.fractions(min_value=Fraction(1, 10**6), max_value=10**6))
def test_rounding_goes_the_stated_way(x):
    """round_up and round_down are the neighbouring floats; log_up is not below the logarithm."""
    assert Fraction(round_down(x)) <= x <= Fraction(round_up(x))
    assert round_up(x) - round_down(x) <= math.ulp(float(x)) * 2
    assert Fraction(log_up(x)) >= log_bounds(x)[0]
    assert log_up(x) == pytest.approx(math.log(x), abs=1e-12)


def test_small_floats_are_not_rounded_away():
    """Entries of 1e-30 and 1e-25 differ by a factor of 10⁵, and ε says so."""
    certificate = privacy.certify([[1e-30, 1 - 1e-30], [1e-25, 1 - 1e-25]])
    assert certificate.epsilon == pytest.approx(math.log(1e5), rel=1e-9)


def test_delta_at_infinity_is_the_mass_of_impossible_reports():
    """What no finite ε bounds remains."""
    assert privacy.certify([["1/2", "1/2"], [0, 1]]).delta(math.inf) == 0.5
    assert privacy.certify([[3, 1], [1, 3]]).delta(math.inf) == 0


def test_huge_epsilon_with_many_rows():
    """No overflow where the factor does not fit into a float."""
    rng = np.random.default_rng(1)
    rows = rng.integers(1, 9, (13, 6))
    rows[0, 0] = 0
    assert privacy.certify(equalise(rows.tolist())).delta(800.0) > 0


@pytest.mark.parametrize(
    "call",
    [
        lambda: privacy.certify([[1, 1], [1, 1]], epsilon="x"),
        lambda: privacy.certify([[1, 1], [1, 1]], epsilon=[1]),
        lambda: privacy.certify(float),
        lambda: privacy.certify([[1, 1], [1, 1]]).trade_off("a"),
    ],
)
def test_nonsense_gets_a_sentence(call):
    """Not a Python error."""
    with pytest.raises(PrivacyError):
        call()
