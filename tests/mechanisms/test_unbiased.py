"""Reports that are unbiased numbers: exact on integers, and for numbers between the points too."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet import DomainError, Grid, ManifestError, MechanismError, PrivacyError, Randomness, design, mechanisms
from discreet.mechanisms import UnbiasedResponse
from tests.randomness.scripted import Scripted

BY_HAND = UnbiasedResponse([[3, 1], [2, 2], [1, 3]], [-1, 0, 1], [-2, 2])


@pytest.mark.parametrize(
    "mechanism", [BY_HAND, design.mean(Grid(-1, 1, 7), 1.0).mechanism, design.mean(Grid(0.1, 0.7, 4), 2.5).mechanism]
)
def test_the_mean_of_the_reported_values_is_the_truth_exactly(mechanism):
    """In fractions, for every point."""
    values = [Fraction(value) for value in mechanism.values.tolist()]
    for row, point in zip(mechanism.weights(), mechanism.points, strict=True):
        assert sum(w * a for w, a in zip(row, values, strict=True)) == Fraction(point) * mechanism.denominator


def test_variances_are_those_of_the_reports():
    """Against simulation: the spread of the reported numbers under each truth."""
    mechanism = design.mean(Grid(-1, 1, 5), 1.0).mechanism
    n = 200_000
    for code, variance in enumerate(mechanism.variances()):
        numbers = mechanism.values[mechanism.privatize(np.full(n, code), Randomness.seeded(code))]
        assert abs(numbers.mean() - mechanism.points[code]) < 6.5 * math.sqrt(variance / n)
        fourth = np.mean((numbers - numbers.mean()) ** 4)
        assert abs(numbers.var() - variance) < 6.5 * math.sqrt((fourth - variance**2) / n)


def test_a_mean_that_misses_is_refused():
    """An object that exists is unbiased: a weight or a value that is off by little is noticed."""
    with pytest.raises(MechanismError, match="under point 0 is not the point"):
        UnbiasedResponse([[3, 1], [2, 2], [1, 3]], [-1, 0, 1], [-2, np.nextafter(2, 3)])
    with pytest.raises(MechanismError, match="increase"):
        UnbiasedResponse([[3, 1], [2, 2], [1, 3]], [0, -1, 1], [-2, 2])
    with pytest.raises(MechanismError, match="2 values"):
        UnbiasedResponse([[3, 1], [2, 2], [1, 3]], [-1, 0, 1], [-2, 2, 3])
    with pytest.raises(MechanismError, match="not unbiased"):
        UnbiasedResponse.private([[0.9, 0.1], [0.1, 0.9]], [-1, 1], [-0.5, 0.5], 3.0)
    with pytest.raises(PrivacyError, match="nine digits"):
        UnbiasedResponse.private([[0.75, 0.25], [0.25, 0.75]], [-1, 1], [-2, 2], 0.5)


def test_floats_become_exact_integers():
    """A channel that is private and unbiased up to rounding becomes exactly both."""
    e = math.exp(1.0 - 5e-10)
    p = e / (1 + e)
    scale = (e + 1) / (e - 1)
    mechanism = UnbiasedResponse.private([[p, 1 - p], [1 - p, p]], [-1.0, 1.0], [-scale, scale], 1.0)
    assert 1 - 1e-9 <= mechanism.guarantee.epsilon <= 1.0
    assert mechanism.variances() == pytest.approx(scale**2 - 1, rel=1e-9)


def test_numbers_between_the_points_stay_unbiased():
    """Random rounding keeps the mean; a number on a point stays there; the chances are exact."""
    mechanism = design.mean(Grid(-1, 1, 5), 1.0).mechanism
    points = np.array(mechanism.points)
    assert np.array_equal(mechanism.round(points), np.arange(5))
    n = 400_000
    for number in (-0.9, -0.3, 0.2):  # rounding to the nearest point would be a bias of 0.1 at least
        codes = mechanism.round(np.full(n, number), Randomness.seeded(1))
        assert set(codes) <= {np.searchsorted(points, number) - 1, np.searchsorted(points, number)}
        assert abs(points[codes].mean() - number) < 6.5 * 0.25 / math.sqrt(n)
    assert mechanism.round(np.zeros((2, 3))).shape == (2, 3)
    assert mechanism.round([]).size == 0


def test_a_draw_that_ties_with_the_chance_is_decided_by_more_bits():
    """A chance of 2⁻⁶⁵: 64 bits of zeros leave it open, and the next bit decides; and a quarter at its last bit."""
    tiny = [2.0**-65]
    assert BY_HAND.round(tiny, Scripted([0, (1 << 63) - 1])).tolist() == [2]
    assert BY_HAND.round(tiny, Scripted([0, 1 << 63])).tolist() == [1]
    assert BY_HAND.round(tiny, Scripted([1, 0])).tolist() == [1]
    assert BY_HAND.round([0.25], Scripted([1 << 62])).tolist() == [1]
    assert BY_HAND.round([0.25], Scripted([(1 << 62) - 1])).tolist() == [2]


def test_numbers_outside_are_named_by_row_only():
    """Nothing is clipped, and the number is not in the message."""
    for bad in (1.5, -7.25, math.nan, math.inf):
        with pytest.raises(DomainError, match="row 1") as caught:
            BY_HAND.round([0.0, bad])
        assert "7.25" not in str(caught.value)
    with pytest.raises(DomainError):
        BY_HAND.round(["x"])


@pytest.mark.parametrize(
    "change",
    [
        {"values": [-2.0, 2.1]},
        {"values": None},
        {"points": [0, 1]},
        {"denominator": "5"},
        {"rows": [["3", "1"]]},
        {"points": "x"},
    ],
)
def test_damaged_manifests_are_refused(change):
    """A manifest whose values are not unbiased for its weights is damaged."""
    good = BY_HAND.to_dict()
    assert mechanisms.from_dict(good) == BY_HAND
    with pytest.raises(ManifestError):
        mechanisms.from_dict(good | change)
    for key in ("values", "points"):
        with pytest.raises(ManifestError):
            mechanisms.from_dict({k: v for k, v in good.items() if k != key})
