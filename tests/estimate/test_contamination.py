"""How far made-up reports can move an estimate."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from discreet import EstimationError, estimate
from discreet.estimate.intervals.contamination import OF_WHOM, checked_share, widened
from discreet.mechanisms import BinaryResponse, ChannelResponse, GeneralizedResponse

MECHANISMS = [
    BinaryResponse("0.5", "0.9"),
    BinaryResponse.crosswise("1/4"),
    GeneralizedResponse(4, 1.0),
    ChannelResponse([[5, 3, 1, 1], [1, 3, 5, 1]]),
]


def attacks(A, channel, truths, forgers, of):
    """Every way in which some of ten people make their reports up: estimate on average, and the frequency meant."""
    ten = np.arange(len(truths))
    for reports in product(range(A.shape[1]), repeat=forgers):
        kept = (channel[truths] @ A.T)[forgers:]  # what honest people count on average: their truth
        mean = (A[:, list(reports)].T.sum(axis=0) + kept.sum(axis=0)) / len(truths)
        whose = ten[forgers:] if of == "honest" else ten
        yield mean, np.eye(A.shape[0])[truths[whose]].mean(axis=0)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
@pytest.mark.parametrize("of", ["everyone", "honest"])
def test_the_bounds_hold_for_every_forgery_and_are_reached(mechanism, of):
    """Ten people, three of whom send whatever they like; all reports and all truths of theirs are tried."""
    A, channel = mechanism.inverse.as_matrix(), mechanism.matrix()
    size = A.shape[0]
    slack = np.full((size, 2), np.inf)
    for own in product(range(size), repeat=3):
        truths = np.array([*own, *(np.arange(7) % size)])
        for mean, f in attacks(A, channel, truths, 3, of):
            low, high = widened(mean, mean, A, 0.3, of)
            slack = np.minimum(slack, np.stack([f - low, high - f], axis=1))
    np.testing.assert_allclose(slack, 0, atol=1e-12)  # never below zero, and zero for the worst of them


def test_reports_that_are_exchanged_move_by_the_whole_range():
    """The largest weight in place of the smallest, for a share of the reports."""
    mechanism = BinaryResponse("0.5", "0.9")
    A = mechanism.inverse.as_matrix()
    low, high = widened(np.array([0.5, 0.5]), np.array([0.5, 0.5]), A, 0.1, "replaced")
    np.testing.assert_allclose(high - 0.5, 0.1 * np.ptp(A, axis=1))
    np.testing.assert_allclose(0.5 - low, 0.1 * np.ptp(A, axis=1))


def test_the_largest_weight_alone_is_not_enough():
    """p00 = .5, p11 = .9: a forger moves "yes" by 2.25, not by max |A| = 1.25."""
    A = BinaryResponse("0.5", "0.9").inverse.as_matrix()
    low, high = widened(np.zeros(2), np.zeros(2), A, 1e-3)
    assert np.abs(A[1]).max() == pytest.approx(1.25)
    assert max(high[1], -low[1]) == pytest.approx(2.25e-3)


def test_the_result_widens_its_intervals():
    """One in fifty reports made up: by what the most extreme reports can do, and not beyond [0, 1]."""
    mechanism = BinaryResponse("0.5", "0.9")
    result = estimate.frequencies(counts=[600, 400], mechanism=mechanism)
    plain, wide = result.interval(), result.contaminated(0.02)
    A = mechanism.inverse.as_matrix()
    np.testing.assert_allclose(wide[:, 0], np.clip(plain[:, 0] - 0.02 * A.max(axis=1), 0, 1))
    np.testing.assert_allclose(wide[:, 1], np.clip(plain[:, 1] + 0.02 * (1 - A.min(axis=1)), 0, 1))
    np.testing.assert_array_equal(result.contaminated(0.0), plain)


def test_wrong_shares_and_names():
    """One sentence each."""
    for wrong in (-0.1, 1.0, float("nan"), "much"):
        with pytest.raises(EstimationError, match="contamination"):
            checked_share(wrong)
    assert OF_WHOM[0] == "everyone"
    with pytest.raises(EstimationError, match="of must be"):
        widened(np.zeros(2), np.zeros(2), np.eye(2), 0.1, "all")


def test_the_keyword_of_frequencies():
    """Every interval of the result is the one of ``contaminated``; estimates and errors stay, and a note says it."""
    plain = estimate.frequencies(counts=[400, 600], mechanism=MECHANISMS[0])
    wide = estimate.frequencies(counts=[400, 600], mechanism=MECHANISMS[0], contamination=0.02)
    assert wide.interval() == pytest.approx(plain.contaminated(0.02))
    assert np.ravel(wide[1].interval()) == pytest.approx(plain.contaminated(0.02)[1])
    assert wide.estimate == pytest.approx(plain.estimate)
    assert wide.std_error == pytest.approx(plain.std_error)
    assert wide.to_dict()["contamination"] == 0.02
    assert "0.02 of the reports being made up" in wide.summary()
    assert wide.contaminated(0.02) == pytest.approx(plain.contaminated(0.02))  # not twice
    by = estimate.frequencies([0, 1] * 50, MECHANISMS[0], by=[0, 0, 1, 1] * 25, contamination=0.1)
    assert by[0].contamination == 0.1


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"contamination": 1.0}, "contamination"),
        ({"contamination": 0.1, "method": "mle"}, 'method="unbiased"'),
        ({"contamination": 0.1, "weights": [1.0, 2.0] * 50}, "simple random samples"),
    ],
)
def test_contamination_that_cannot_be_allowed_for(more, said):
    """Refused when it is asked for, not when the interval is looked at."""
    with pytest.raises(EstimationError, match=said):
        estimate.frequencies([0, 1] * 50, MECHANISMS[0], **more)
