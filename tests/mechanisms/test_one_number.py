"""One of several numbers is reported: what is stated about the record, against its written-out channel."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from itertools import product

import pytest

from discreet.mechanisms import OneNumberResponse, UnbiasedResponse
from discreet.privacy import certify

PARTS = {
    "identity": UnbiasedResponse([[1, 0], [0, 1]], [0, 1], [0, 1]),
    "coin": UnbiasedResponse([[3, 1], [1, 3]], [0, 1], [-0.5, 1.5]),
    "proof of one": UnbiasedResponse([[1, 1], [0, 2]], [0, 1], [-1, 1]),
    "proof of either": UnbiasedResponse([[1, 1, 0], [0, 1, 1]], [0, 1], [0, 0, 2]),
}


@pytest.mark.parametrize(("one", "other"), list(product(PARTS, PARTS)))
def test_the_record_keeps_the_exposure_and_delta_of_its_parts(one, other):
    """ε is the largest of the parts; a proof of a number is as likely as the number is drawn and then proven."""
    parts = [PARTS[one], PARTS[other]]
    chances = [1_234_567_891, 2**32 - 1_234_567_891]
    mechanism = OneNumberResponse(parts, chances)
    mechanism = OneNumberResponse.from_dict(json.loads(json.dumps(mechanism.to_dict())))
    shares = [Fraction(chance, 2**32) for chance in chances]
    rows = [
        [s * Fraction(w, p.denominator) for s, p, x in zip(shares, parts, truth, strict=True) for w in p.weights()[x]]
        for truth in product(*(range(p.shape[0]) for p in parts))
    ]
    assert mechanism.guarantee.epsilon == pytest.approx(certify(rows).epsilon, rel=1e-15)
    proven = Fraction(0)
    for share, part in zip(shares, parts, strict=True):
        alone = [
            column.index(max(column)) for column in zip(*part.weights(), strict=True) if sum(map(bool, column)) == 1
        ]
        proofs = [column for column in zip(*part.weights(), strict=True) if sum(map(bool, column)) == 1]
        each = [sum(c[x] for a, c in zip(alone, proofs, strict=True) if a == x) for x in range(part.shape[0])]
        proven += share * Fraction(max(each), part.denominator)
    assert Fraction(mechanism.guarantee.exposure) >= proven
    assert mechanism.guarantee.exposure <= math.nextafter(float(proven), 2)
    for j, part in enumerate(parts):
        assert mechanism.view(j).guarantee == part.guarantee
