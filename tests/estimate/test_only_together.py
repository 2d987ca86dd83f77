"""Designs that tell the values apart only together: one estimate from all of them, with its error."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import EstimationError, NotIdentifiedError
from discreet.estimate import frequencies
from discreet.estimate.channels.channel import Channels
from discreet.mechanisms import ChannelResponse


def mangat(p):
    """Non-carriers say "no" with probability p, honest carriers "yes", liars "no"."""
    return ChannelResponse([[Fraction(p, 12), Fraction(12 - p, 12)], [0, 1], [1, 0]])


DESIGNS = {"1": mangat(2), "2": mangat(10)}
#: Answers under the two designs, (no, yes), and what RRreg's RRuni makes of them (Heck and Moshagen 2018, section 4.1):
#: 1 − π, πt and π(1 − t) for π = .870695, t = .635806. The data are those of Radukic and Musch (2014).
MINARETS = {"1": (191, 373), "2": (294, 398)}
PUBLISHED = np.array([1 - 0.870695, 0.870695 * 0.635806, 0.870695 * (1 - 0.635806)])


def rows(counts):
    """Reports and design names, one per row."""
    reports = np.concatenate([np.repeat([0, 1], pair) for pair in counts.values()])
    return reports, np.concatenate([np.repeat(name, sum(pair)) for name, pair in counts.items()])


def estimated(counts, method="unbiased", **options):
    reports, names = rows(counts)
    return frequencies(reports, DESIGNS, designs=names, method=method, **options)


@pytest.mark.parametrize("method", ["unbiased", "mle"])
def test_both_estimates_are_those_published(method):
    """Neither design alone tells three classes apart; together they do, and both methods agree with RRreg."""
    result = estimated(MINARETS, method)
    np.testing.assert_allclose(result.estimate, PUBLISHED, atol=2e-6)
    assert result.std_error[0] == pytest.approx(0.041118, rel=2e-3)  # theirs divides by n − 1
    assert not any("one of many" in note for note in result.notes)


def test_the_error_is_that_of_the_closed_form():
    """1 − π = (λ₁ − λ₂)/(p₂ − p₁): its variance is the sum of two binomial ones, within designs only."""
    result = estimated(MINARETS)
    shares = {name: yes / (no + yes) for name, (no, yes) in MINARETS.items()}
    variance = sum(q * (1 - q) / sum(MINARETS[name]) for name, q in shares.items()) / (8 / 12) ** 2
    assert result.std_error[0] == pytest.approx(np.sqrt(variance), rel=1e-12)


def test_the_unbiased_estimate_is_unbiased_and_its_error_right():
    """Over all outcomes of two small groups the mean is the truth to rounding; the error is the spread of estimates."""
    from scipy.stats import binom

    truth, sizes = np.array([0.5, 0.3, 0.2]), (9, 7)
    channels = Channels.of(DESIGNS)
    chances = [float(truth @ one.matrix()[:, 1]) for one in channels.mechanisms]
    outcomes, weight, reported = [], [], []
    for first in range(sizes[0] + 1):
        for second in range(sizes[1] + 1):
            result = estimated({"1": (sizes[0] - first, first), "2": (sizes[1] - second, second)})
            outcomes.append(result.estimate)
            reported.append(result.std_error**2)
            weight.append(binom.pmf(first, sizes[0], chances[0]) * binom.pmf(second, sizes[1], chances[1]))
    outcomes, weight = np.array(outcomes), np.array(weight)
    np.testing.assert_allclose(weight @ outcomes, truth, atol=1e-12)
    spread = weight @ (outcomes - truth) ** 2
    # The plug-in q(1 − q)/n falls short by the factor 1 − 1/n in each group, and by nothing else.
    assert np.all(np.abs(weight @ np.array(reported) / spread - 1) < 1.05 / min(sizes))


def test_weights_move_the_estimate_as_repeated_rows_would():
    """A weight of two is a row that counts twice."""
    reports, names = rows(MINARETS)
    double = frequencies(reports, DESIGNS, designs=names, weights=np.where(reports == 1, 2.0, 1.0))
    repeated = estimated({name: (no, 2 * yes) for name, (no, yes) in MINARETS.items()})
    np.testing.assert_allclose(double.estimate, repeated.estimate, atol=1e-12)
    assert np.all(double.std_error > repeated.std_error)


def test_three_designs_are_combined():
    """With more designs than needed the two methods weigh them differently and agree within their errors."""
    designs = DESIGNS | {"3": mangat(6)}
    truth, generator = np.array([0.3, 0.5, 0.2]), np.random.default_rng(4)
    names = generator.choice(list(designs), 30_000)
    reports = np.empty(names.size, int)
    for name, one in designs.items():
        chosen = names == name
        reports[chosen] = generator.random(chosen.sum()) < truth @ one.matrix()[:, 1]
    unbiased = frequencies(reports, designs, designs=names)
    likely = frequencies(reports, designs, designs=names, method="mle")
    assert np.all(np.abs(unbiased.estimate - truth) < 6 * unbiased.std_error)
    assert np.all(likely.std_error < 1.0001 * unbiased.std_error)
    assert np.all(np.abs(likely.estimate - unbiased.estimate) < 0.3 * unbiased.std_error)


def test_a_design_without_rows_does_not_help():
    """Designs that are identified together are not when all rows at hand were asked under one of them."""
    reports = np.repeat([0, 1], 50)
    names = np.repeat("1", 100)
    with pytest.raises(NotIdentifiedError, match="the designs that have rows do not together tell"):
        frequencies(reports, DESIGNS, designs=names)
    likely = frequencies(reports, DESIGNS, designs=names, method="mle")
    assert np.isnan(likely.std_error).all()
    assert any("one of many" in note for note in likely.notes)


def test_what_there_is_not_is_said():
    """Intervals and targets that need every design to be identified are refused in one sentence."""
    result = estimated(MINARETS)
    for method in ("chebyshev", "score"):
        with pytest.raises(EstimationError, match=r"use .*wald"):
            result.interval(method=method)
    with pytest.raises(EstimationError, match="population"):
        estimated(MINARETS, target="table")
    with pytest.raises(EstimationError, match='use method="mle" or "unbiased"'):
        estimated(MINARETS, "bounds")
    inside = result.interval()[:, 0] < PUBLISHED
    assert inside.all()


def test_a_hopeless_pair_of_designs_is_named():
    """Two equal designs are one: the refusal does not advise bounds, which would refuse as well."""
    reports, names = rows(MINARETS)
    with pytest.raises(NotIdentifiedError) as caught:
        frequencies(reports, {"1": mangat(2), "2": mangat(2)}, designs=names)
    assert "bounds" not in str(caught.value)


def test_corrections_row_by_row_do_not_exist():
    """What needs a debiased answer of every row says that the designs are enough for frequencies, not for it."""
    with pytest.raises(NotIdentifiedError, match="only together, which is enough for frequencies"):
        _ = Channels.of(DESIGNS).inverse
