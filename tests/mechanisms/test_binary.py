"""Binary response and the classic survey procedures."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from discreet import MechanismError, privacy
from discreet.mechanisms import BinaryResponse


@pytest.mark.parametrize(
    ("mechanism", "p00", "p11", "epsilon"),
    [
        (BinaryResponse.warner("2/3"), "2/3", "2/3", math.log(2)),
        (BinaryResponse.forced("1/6", "1/6"), "5/6", "5/6", math.log(5)),
        (BinaryResponse.forced("1/6", "1/12"), "5/6", "11/12", math.log(10)),
        (BinaryResponse.crosswise("1/4"), "1/4", "1/4", math.log(3)),
        (BinaryResponse.unrelated("1/2", "1/4"), "7/8", "5/8", math.log(5)),
        (BinaryResponse.mangat("3/5"), "3/5", "1", math.inf),
        (BinaryResponse.kuk("4/5", "1/5"), "4/5", "4/5", math.log(4)),
        (BinaryResponse.direct(), "1", "1", math.inf),
        (BinaryResponse.triangular("1/4"), "3/4", "1", math.inf),
        (BinaryResponse.devore("3/5"), "3/5", "1", math.inf),
        (BinaryResponse.mangat_singh("1/2", "3/4"), "7/8", "7/8", math.log(7)),
        (BinaryResponse.mangat_singh_singh("1/2", "1/4"), "7/8", "1", math.inf),
        (BinaryResponse.two_stage_unrelated("1/3", "1/4", "1/2"), "3/4", "3/4", math.log(3)),
        (BinaryResponse.singh_joarder("3/5"), "3/5", "21/25", math.log(3.75)),
    ],
)
def test_procedures_give_their_textbook_channel_and_epsilon(mechanism, p00, p11, epsilon):
    """Each procedure has the probabilities of its paper, and ε follows from them."""
    assert (mechanism.p00, mechanism.p11) == (Fraction(p00), Fraction(p11))
    assert mechanism.guarantee.epsilon == pytest.approx(epsilon, rel=1e-15)
    assert len(mechanism.instructions()) > 50


def test_a_no_that_proves_no_has_no_finite_epsilon():
    """In Mangat's procedure only "no" people say "no": certify says so, with their exposure."""
    guarantee = BinaryResponse.mangat("3/5").guarantee
    assert math.isinf(guarantee.epsilon)
    assert guarantee.exposure == pytest.approx(0.6)
    assert "NO finite ε" in guarantee.explain()
    assert "about 600 of 1,000 people" in guarantee.explain(people=1000)


def test_stated_epsilon_gives_delta():
    """A design with infinite pure ε can be stated as (ε, δ)."""
    guarantee = BinaryResponse("1", "2/5", epsilon=1.0).guarantee
    assert (guarantee.epsilon, guarantee.delta, guarantee.exposure) == (1.0, pytest.approx(0.4), pytest.approx(0.4))


@pytest.mark.parametrize("bad", [-0.1, 1.1, "7/6", float("nan"), "x", None, True, "1/0"])
def test_probabilities_are_checked(bad):
    """What is not a probability is refused with its name."""
    with pytest.raises(MechanismError, match="p00"):
        BinaryResponse(bad, 0.5)


def test_forced_answers_must_leave_room():
    """The forced shares cannot exceed one."""
    with pytest.raises(MechanismError, match="must not exceed 1"):
        BinaryResponse.forced("2/3", "1/2")


def test_a_float_is_its_exact_binary_value():
    """No hidden rounding: 0.1 is the double nearest to one tenth."""
    assert BinaryResponse(0.1, 0.5).p00 == Fraction(0.1)


def test_useless_answers_certify_at_zero():
    """A channel with equal rows reveals nothing: ε = 0."""
    assert privacy.certify(BinaryResponse("1/2", "1/2")).epsilon == 0
    assert privacy.certify(BinaryResponse("1/2", "1/2")).trade_off(0.3) == pytest.approx(0.7)
