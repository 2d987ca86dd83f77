"""What is printed for respondents, read back from the text, keeps the stated guarantee."""

from __future__ import annotations

import math
import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from discreet import MechanismError, design
from discreet.mechanisms import BinaryResponse, ChannelResponse, GeneralizedResponse
from discreet.mechanisms.procedures import PARAMETERS, procedure
from discreet.privacy import certify
from tests.mechanisms.catalogue import FINITE


def spinner(text, shape):
    """The channel of a spinner, from its words."""
    rows = [[Fraction(0)] * shape[1] for _ in range(shape[0])]
    for line in text.splitlines()[1:]:
        truth = int(re.search(r"your true answer is (\d+)", line)[1])
        for report, share in re.findall(r'"(\d+)" on (\S+) of the circle', line):
            rows[truth][int(report)] = Fraction(share[:-1]) / 100 if share.endswith("%") else Fraction(share)
    return rows


def read_back(mechanism):
    """The channel that the printed words describe."""
    text = mechanism.instructions()
    how = getattr(mechanism, "procedure", None)
    if how is None:
        return spinner(text, mechanism.shape)
    numbers = [Fraction(one) for one in re.findall(r"(?:probability|share of) (\d+/\d+|\d+\.\d+|[01]\b)", text)]
    p00, p11 = procedure(how.name, *numbers).probabilities()
    return [[p00, 1 - p00], [1 - p11, p11]]


def check(mechanism):
    """As printed: rows sum to one, at most as revealing as stated and hardly less, and by_hand() is that channel."""
    rows, stated = read_back(mechanism), mechanism.guarantee
    assert all(sum(row) == 1 for row in rows)
    found = certify(rows, mechanism.epsilon).guarantee
    assert found.epsilon <= stated.epsilon
    assert found.delta <= stated.delta
    assert found.exposure <= stated.exposure
    assert math.isinf(stated.epsilon) or found.epsilon >= stated.epsilon * (1 - 1.001e-4)
    by_hand = mechanism.by_hand()
    assert [[Fraction(w, by_hand.denominator) for w in row] for row in by_hand.weights()] == rows
    assert by_hand.guarantee == found
    exact = [Fraction(w, mechanism.denominator) for row in mechanism.weights() for w in row]
    for printed, one in zip((share for row in rows for share in row), exact, strict=True):
        assert abs(printed - one) <= one * Fraction(101, 10**6) or mechanism.shape == (2, 2)


@pytest.mark.parametrize("name", [name for name, (one, *_) in FINITE.items() if max(one.shape) <= 12])
def test_every_mechanism_of_the_catalogue_is_printed_as_certified(name):
    """Spinners and procedures alike, those with δ and with exposure too."""
    check(FINITE[name][0])


def test_a_rounded_percentage_is_not_above_the_stated_level():
    """73.1059 % would be ε = 1.000002."""
    text = design.binary(1.0).mechanism.instructions()
    assert "73.1058%" in text
    assert certify([["0.731059", "0.268941"], ["0.268941", "0.731059"]]).epsilon > 1


@given(st.floats(1e-6, 30), st.integers(2, 6))
def test_generalised_response_is_printed_as_certified(epsilon, size):
    """At every level and size that a person can follow."""
    check(GeneralizedResponse(size, epsilon))


@pytest.mark.parametrize("epsilon", [1e-6, 0.01, math.log(3), math.log(3) - 4.8e-12, 7.5, 50.0])
@pytest.mark.parametrize(("delta", "reports"), [(0.0, 2), (0.1, 2), (0.37, 4), (1e-5, 4)])
def test_designs_are_printed_as_certified(epsilon, delta, reports):
    """Optimal yes/no designs, whose probabilities are fractions over powers of two."""
    if delta or reports == 2:
        check(design.binary(epsilon, delta, 0.2, reports=reports).mechanism)


@given(st.floats(0.01, 0.99), st.floats(0.01, 0.99))
def test_floats_are_printed_as_certified(p00, p11):
    """A response given by two floats, also where reports are turned around."""
    assume(abs(p00 + p11 - 1) > 1e-3)
    check(BinaryResponse(p00, p11))


@given(
    st.sampled_from([name for name in PARAMETERS if name != "direct"]),
    st.lists(st.floats(0.02, 0.47), min_size=3, max_size=3),
)
def test_procedures_are_printed_as_certified(name, values):
    """Every procedure with parameters that are no short fractions."""
    check(getattr(BinaryResponse, name)(*values[: len(PARAMETERS[name])]))


@pytest.mark.parametrize("seed", range(10))
def test_channels_are_printed_as_certified(seed):
    """Channels of floats, some with reports that are impossible for some truths."""
    rng = np.random.default_rng(seed)
    matrix = rng.dirichlet(np.ones(4), size=3)
    if seed % 2:
        matrix[0, 0] = 0.0
        matrix /= matrix.sum(axis=1, keepdims=True)
    check(ChannelResponse(matrix.tolist()))


def test_large_channels_are_for_a_device():
    """Thirteen answers are refused, by both."""
    for refused in (GeneralizedResponse(13, 1.0).instructions, GeneralizedResponse(13, 1.0).by_hand):
        with pytest.raises(MechanismError, match="not for a spinner"):
            refused()
