"""Guarantees: composition, units, words."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import Guarantee, PrivacyError, privacy
from discreet.mechanisms import BinaryResponse, ChannelResponse

levels = st.floats(0, 50)
chances = st.floats(0, 1)


@given(levels, chances, levels, chances)
def test_composition_is_never_too_optimistic(e1, d1, e2, d2):
    """ε adds and δ combines, rounded up, in either order."""
    both = Guarantee(e1, d1).compose(Guarantee(e2, d2))
    assert Fraction(both.epsilon) >= Fraction(e1) + Fraction(e2)
    assert Fraction(both.delta) >= 1 - (1 - Fraction(d1)) * (1 - Fraction(d2))
    assert both == Guarantee(e2, d2).compose(Guarantee(e1, d1))
    assert both.unit == "record"


def test_composition_agrees_with_the_product_channel():
    """Two binary answers together are exactly as private as the certified Kronecker product."""
    a, b = BinaryResponse("3/4", "3/4"), BinaryResponse("2/3", "2/3")
    product = ChannelResponse([[x * y for x in row_a for y in row_b] for row_a in a.weights() for row_b in b.weights()])
    composed = a.guarantee.compose(b.guarantee)
    assert composed.epsilon == pytest.approx(product.guarantee.epsilon, rel=1e-15)
    assert composed.epsilon >= product.guarantee.epsilon


def test_composition_of_approximate_guarantees_holds_for_the_product_channel():
    """The composed (ε, δ) bounds the certified δ of the product of two four-report channels."""
    from discreet import design

    a = design.binary(0.5, 0.1, reports=4).mechanism
    product = [[x * y for x in row_a for y in row_b] for row_a in a.weights() for row_b in a.weights()]
    composed = a.guarantee.compose(a.guarantee)
    assert privacy.certify(product).delta(composed.epsilon) <= composed.delta * (1 + 1e-12)
    assert composed.exposure == pytest.approx(0.19)


def test_rows_per_person_multiply():
    """Three rows of a person cost three times ε and 1 − (1 − δ)³."""
    person = Guarantee(0.5, 0.1, unit="record", exposure=0.2).for_person(3)
    assert (person.epsilon, person.unit) == (1.5, "person")
    assert person.delta == pytest.approx(1 - 0.9**3)
    assert person.exposure == pytest.approx(1 - 0.8**3)
    assert Guarantee(math.inf).for_person(2).epsilon == math.inf


def test_belief_moves_by_the_odds():
    """From 10 %, 50 % and 90 % the odds move by a factor of e^ε at most."""
    for prior in (0.1, 0.5, 0.9):
        low, high = Guarantee(1.0).belief_after(prior)
        odds = prior / (1 - prior)
        assert low / (1 - low) == pytest.approx(odds / math.e)
        assert high / (1 - high) == pytest.approx(odds * math.e)


def test_belief_bound_is_attained_by_randomised_response():
    """Bayes' rule on the actual channel reaches the stated ends."""
    mechanism = BinaryResponse("3/4", "3/4")
    Q = mechanism.matrix()
    posterior = [0.1 * Q[1, y] / (0.1 * Q[1, y] + 0.9 * Q[0, y]) for y in (0, 1)]
    assert sorted(posterior) == pytest.approx(mechanism.guarantee.belief_after(0.1))


def test_explanation_says_what_matters():
    """Factor, beliefs, δ, exposure in people, and what is not covered."""
    text = Guarantee(1.0, 0.1, unit="person", exposure=0.1, caveats=("whether x is blank",)).explain(people=2000)
    for part in (
        "2.719",
        "10 %",
        "50 %",
        "90 %",
        "δ = 0.1",
        "200 of 2,000",
        "EXPOSURE",
        "Not covered: whether x is blank",
    ):
        assert part in text
    assert "No report ever proves" in Guarantee(1.0).explain()
    assert "more than 3 times as likely" in Guarantee(math.log(3)).explain()  # not 3.001
    assert "between almost 0 % and almost 100 %" in Guarantee(16.0).explain()  # never certain, so never 100 %
    assert "without exception" in Guarantee(1.0).explain()


@given(levels, chances, st.sampled_from(["value", "label", "attribute", "record", "person"]), chances)
def test_round_trip(epsilon, delta, unit, exposure):
    """A guarantee survives JSON, also without a finite ε."""
    for e in (epsilon, math.inf):
        guarantee = Guarantee(e, delta, unit, exposure)
        assert Guarantee.from_dict(json.loads(json.dumps(guarantee.to_dict()))) == guarantee


@given(st.floats(1e-9, 1e6))
def test_printed_figures_never_understate(value):
    """The six digits shown are never below the figure itself."""
    shown = Guarantee(value).summary().split()[2].rstrip(",")
    assert float(shown) >= value * (1 - 1e-12)
    assert float(shown) <= value * 1.00002


@pytest.mark.parametrize(
    "arguments",
    [{"epsilon": -1}, {"epsilon": math.nan}, {"epsilon": 1, "delta": 1.5}, {"epsilon": 1, "delta": -0.1},
     {"epsilon": 1, "exposure": 2}, {"epsilon": 1, "unit": "household"}, {"epsilon": "x"}],
)  # fmt: skip
def test_impossible_guarantees_are_refused(arguments):
    """One clear sentence names the parameter."""
    with pytest.raises(PrivacyError, match=r"epsilon|delta|exposure|unit"):
        Guarantee(**arguments)


@pytest.mark.parametrize(
    ("a", "b", "unit"),
    [
        ("person", "person", "person"),
        ("record", "person", "record"),
        ("value", "person", "record"),
        ("value", "label", "record"),
        ("attribute", "attribute", "attribute"),
        ("record", "attribute", "attribute"),
    ],
)
def test_a_composition_never_claims_a_larger_unit(a, b, unit):
    """A promise about a row says nothing about a person, one about a coordinate nothing about the record."""
    assert Guarantee(1, unit=a).compose(Guarantee(1, unit=b)).unit == unit
    assert Guarantee(1, unit=b).compose(Guarantee(1, unit=a)).unit == unit


@given(st.floats(1e-6, 30))
def test_the_factor_in_words_is_not_below_the_true_one(epsilon):
    """It is no more than so many times as likely, as printed."""
    words = Guarantee(epsilon).explain().split("more than ")[1].split(" times")[0]
    assert float(words.replace(",", "")) >= math.exp(epsilon) * (1 - 1e-12)
    assert float(words.replace(",", "")) <= math.exp(epsilon) * 1.002


def test_huge_levels_are_explained_without_a_false_number():
    """Beyond what a number can show, the factor stays a formula."""
    assert "e^1000 times" in Guarantee(1000.0).explain()


@pytest.mark.parametrize(
    "call", [lambda g: g.compose(3), lambda g: g.for_person("a"), lambda g: g.explain(people="x") if g.delta else 1 / 0]
)
def test_nonsense_gets_a_sentence(call):
    """Not a Python error."""
    with pytest.raises(PrivacyError):
        call(Guarantee(1.0, 0.1))


def test_a_promise_about_an_attribute_is_none_about_a_person():
    """A person has all attributes: .086 about one would be .501 about the record."""
    from discreet import Box
    from discreet.mechanisms import ZeroInflatedLaplace

    mechanism = ZeroInflatedLaplace(Box([0] * 6, [1] * 6), 2.0, 0.05, unit="attribute")
    with pytest.raises(PrivacyError, match="start from that of the record"):
        mechanism.guarantee.for_person(1)
    assert (
        mechanism.record_guarantee.for_person(1).delta == mechanism.record_guarantee.delta > mechanism.guarantee.delta
    )


REASSURING = ("without exception", "No report ever proves")


@given(
    st.one_of(st.floats(0, 60), st.just(math.inf), st.sampled_from([5.0, 5.0000001, 32.0])),
    st.sampled_from([0.0, 1e-12, 0.3, 1.0]),
    st.sampled_from([0.0, 1e-12, 0.3, 1.0]),
    st.sampled_from(["value", "label", "attribute", "record", "person"]),
)
def test_no_closing_sentence_is_untrue(epsilon, delta, exposure, unit):
    """Reassured is only where ε is finite and at most 5, and neither δ nor exposure is above 0."""
    text = Guarantee(epsilon, delta, unit, exposure).explain(people=1000)
    holds = epsilon <= 5 and delta == 0 and exposure == 0
    assert all((part in text) == holds for part in REASSURING)
    assert ("EXPOSURE" in text) == (exposure > 0)
    assert ("This can fail" in text) == (delta > 0)
    assert ("NO finite ε" in text) == math.isinf(epsilon)
    assert ("close to proving" in text) == (5 < epsilon < math.inf and delta == 0 and exposure == 0)


def test_no_closing_sentence_is_untrue_for_mechanisms_and_what_is_made_of_them():
    """Identity channels, compositions, persons with several rows, and numbers of which one is reported."""
    from discreet.mechanisms import BinaryResponse, OneNumberResponse, UnbiasedResponse

    identity = BinaryResponse.direct().guarantee
    exact = UnbiasedResponse([[1, 0], [0, 1]], points=[0, 1], values=[0, 1])
    coin = UnbiasedResponse([[3, 1], [1, 3]], points=[0, 1], values=[-0.5, 1.5])
    half = 1 << 31
    for guarantee, exposure in (
        (identity, 1.0),
        (identity.compose(Guarantee(1.0)), 1.0),
        (Guarantee(1.0).for_person(6), 0.0),
        (Guarantee(3.0).compose(Guarantee(3.0)), 0.0),
        (OneNumberResponse([exact, exact], [half, half]).guarantee, 1.0),
        (OneNumberResponse([exact, coin], [half, half]).guarantee, 0.5),
    ):
        assert guarantee.exposure == exposure
        assert not any(part in guarantee.explain() for part in REASSURING)
    assert all(part in OneNumberResponse([coin, coin], [half, half]).guarantee.explain() for part in REASSURING)


@given(levels, chances, chances, st.integers(1, 50))
def test_a_person_of_one_column_is_protected_in_that_column_alone(epsilon, delta, exposure, rows):
    """All rows of the person, no other column: in what is protected, and in the caveats, also after composition."""
    record = Guarantee(epsilon, delta, "record", exposure).for_person(rows)
    assert "all private columns" in record.explain()
    assert record.caveats == ()
    for unit in ("value", "label"):
        column = Guarantee(epsilon, delta, unit, exposure).for_person(rows)
        assert column.unit == "person"
        assert (column.epsilon, column.delta, column.exposure) == (record.epsilon, record.delta, record.exposure)
        for one in (column, column.compose(record), Guarantee.from_dict(column.to_dict()), column.for_person(1)):
            assert "Not covered: the other columns of that person." in one.explain()
            assert "all private columns" not in one.explain()


@given(st.lists(st.tuples(levels, chances, chances), min_size=1, max_size=5))
def test_exposure_survives_composition(parts):
    """The chance that one of several independent reports proves its answer, never below that of any part."""
    whole = Guarantee.composed(Guarantee(e, d, "value", x) for e, d, x in parts)
    exact = 1 - math.prod((1 - Fraction(x) for _, _, x in parts), start=Fraction(1))
    assert Fraction(whole.exposure) >= exact
    assert whole.exposure <= float(exact) + 1e-12
    assert whole.exposure >= max(x for _, _, x in parts)
