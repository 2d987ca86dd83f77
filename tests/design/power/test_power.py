"""Power: the figures are those of the tests that users get, checked by enumeration and by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from discreet import Randomness, design, estimate
from discreet.errors import DesignError
from discreet.estimate.proportions.grouped import difference_of_frequencies
from discreet.mechanisms import BinaryResponse, GeneralizedResponse

#: Simulated tests per setting; a figure may be off by this many Monte Carlo errors (p < 1e-9) and by the tolerance.
RUNS, SIX = 400, 6.2


def close(power: float, hits: int, tolerance: float = 0.03) -> bool:
    """Whether a share of findings is that of the power."""
    return abs(hits / RUNS - power) < tolerance + SIX * math.sqrt(max(power * (1 - power), 0.01) / RUNS) / 2


def interval_finds(mechanism, n: int, yes: int, null: float, expected: float) -> bool:
    """Whether the default interval of the estimate excludes the hypothesis on the side of the truth."""
    low, high = estimate.frequencies(counts=[n - yes, yes], mechanism=mechanism).interval()[1]
    return low > null if expected > null else high < null


@pytest.mark.parametrize(
    ("mechanism", "expected", "null", "n"),
    [
        (design.binary(1.0).mechanism, 0.3, 0.1, 60),
        (design.binary(3.0).mechanism, 0.05, 0.0, 80),
        (BinaryResponse.crosswise("1/4"), 0.3, 0.0, 70),
        (BinaryResponse.forced("1/6", "1/6"), 0.05, 0.5, 40),
    ],
)
def test_power_for_a_prevalence_is_the_sum_over_the_intervals_of_the_estimator(mechanism, expected, null, n):
    """Every count of reports, its probability, and whether the interval that users get excludes the hypothesis."""
    share = float(np.array([1 - expected, expected]) @ mechanism.matrix()[:, 1])
    summed = sum(binom.pmf(yes, n, share) for yes in range(n + 1) if interval_finds(mechanism, n, yes, null, expected))
    assert design.power(mechanism, design.Prevalence(expected, null), n).power == pytest.approx(summed, abs=1e-9)


def test_power_for_a_difference_is_the_sum_over_the_comparisons_of_groups():
    """Every pair of counts through ``compare`` of the estimates."""
    mechanism, first, second, n = design.binary(2.0).mechanism, 0.1, 0.5, 30
    sizes = (9, 21)
    tables = [
        [estimate.frequencies(counts=[size - yes, yes], mechanism=mechanism) for yes in range(size + 1)]
        for size in sizes
    ]
    chances = [
        binom.pmf(np.arange(size + 1), size, float(np.array([1 - p, p]) @ mechanism.matrix()[:, 1]))
        for size, p in zip(sizes, (first, second), strict=True)
    ]
    summed = 0.0
    for one, p in zip(tables[0], chances[0], strict=True):
        for two, q in zip(tables[1], chances[1], strict=True):
            with np.errstate(all="ignore"):
                found = difference_of_frequencies(one, two, ("a", "b"))
                summed += p * q * float(found.estimate[0] < 0 and abs(found.z[0]) > 1.959963984540054)
    assert design.power(mechanism, design.Difference(first, second, 0.3), n).power == pytest.approx(summed, abs=1e-6)


def test_the_normal_form_of_a_difference_meets_the_exact_one_at_large_n():
    """Where there are too many pairs of counts the two agree."""
    from discreet.design.planning import frequency_effects

    mechanism, aim = design.binary(1.0).mechanism, design.Difference(0.1, 0.11, 0.2)
    exact = design.power(mechanism, aim, 60_000).power
    limit = frequency_effects._MAX_PAIRS
    try:
        frequency_effects._MAX_PAIRS = 0
        assert design.power(mechanism, aim, 60_000).power == pytest.approx(exact, abs=0.004)
    finally:
        frequency_effects._MAX_PAIRS = limit


def _covariates(rng, n):
    return np.column_stack([np.ones(n), rng.standard_normal(n), rng.random(n) < 0.1])


def _fits(mechanism, beta, n, runs, noncompliance=0.0):
    """Z of the last coefficient in many simulated surveys, by Fisher scoring on all of them at once."""
    rng, channel = np.random.default_rng(7), mechanism.matrix()
    x = np.stack([_covariates(rng, n) for _ in range(runs)])
    truth = rng.random((runs, n)) < 1 / (1 + np.exp(-(x @ beta)))
    reports = rng.random((runs, n)) < np.where(truth, channel[1, 1], channel[0, 1])
    reports &= rng.random((runs, n)) >= noncompliance
    b = np.tile([-1.0, 0.0, 0.0], (runs, 1))
    for _ in range(30):
        g = 1 / (1 + np.exp(-np.einsum("rnd,rd->rn", x, b)))
        share = channel[0, 1] * (1 - g) + channel[1, 1] * g
        slope = (channel[1, 1] - channel[0, 1]) * g * (1 - g)
        rate = slope / (share * (1 - share))
        information = np.einsum("rnd,rn,rne->rde", x, slope * rate, x)
        step = np.linalg.solve(information, np.einsum("rnd,rn->rd", x, rate * (reports - share))[..., None])[..., 0]
        b += step / np.maximum(1, 2 * np.abs(step).max(axis=1))[:, None]
    return b[:, -1] / np.sqrt(np.linalg.inv(information)[:, -1, -1]), x, reports


@pytest.mark.parametrize(
    ("beta", "n", "noncompliance"),
    [([-1.0, 0.3, -0.5], 2500, 0.0), ([-2.5, 0.3, 0.9], 2500, 0.0), ([0.0, 0.3, 0.5], 2000, 0.1)],
)
def test_power_for_a_coefficient_is_that_of_the_fits(beta, n, noncompliance):
    """An uneven covariate, rare outcomes, people who do not comply: as many fits find it as the power says."""
    mechanism = design.binary(2.0).mechanism
    z, x, reports = _fits(mechanism, np.array(beta), n, RUNS, noncompliance)
    aim = design.Coefficient(_covariates(np.random.default_rng(99), 4000), beta)
    power = design.power(mechanism, aim, n, noncompliance=noncompliance).power
    assert close(power, int(np.sum(z * np.sign(beta[-1]) > 1.96)))
    fit = estimate.binary_regression(x[0], reports[0].astype(int), mechanism.p00, mechanism.p11)
    assert fit.coefficients[-1] / fit.std_error[-1] == pytest.approx(z[0], abs=1e-4)


def test_the_textbook_power_of_a_coefficient_would_be_noticed():
    """Φ(|β|/se − z) is off by more than the tolerance where a group is small: the check can see it."""
    beta, n, mechanism = [-2.5, 0.3, 0.9], 2500, design.binary(2.0).mechanism
    z, _, _ = _fits(mechanism, np.array(beta), n, RUNS)
    aim = design.Coefficient(_covariates(np.random.default_rng(99), 4000), beta)
    assert design.power(mechanism, aim, n).power == pytest.approx(np.mean(z > 1.96), abs=0.05)
    assert not close(design.power(mechanism, aim, int(1.6 * n)).power, int(np.sum(z > 1.96)))


TABLE = np.array([[0.55, 0.35], [0.03, 0.07]])


def _crossed(mechanism, other, table, n, rng):
    cell = rng.choice(table.size, n, p=table.ravel())
    rows, columns = np.divmod(cell, table.shape[1])
    seed = int(rng.integers(1 << 30))
    reports = mechanism.privatize(rows, Randomness.seeded(seed))
    if other is not None:
        columns = other.privatize(columns, Randomness.seeded(seed + 1))
    labels = list(range(table.shape[1])) if other is None else None
    return estimate.crosstab_of_reports(reports, columns, mechanism, other, column_labels=labels)


@pytest.mark.parametrize(
    ("mechanism", "other", "table", "n"),
    [
        (design.binary(2.0).mechanism, None, TABLE, 600),
        (design.binary(2.0).mechanism, design.binary(1.0).mechanism, TABLE, 3000),
        (GeneralizedResponse(3, 2.0), None, np.array([[0.6, 0.1], [0.15, 0.05], [0.04, 0.06]]), 400),
        (design.binary(0.5, 0.1, prevalence=0.1, reports=4).mechanism, None, TABLE, 2500),
    ],
    ids=["yes/no", "both", "three values", "four reports"],
)
def test_power_for_an_association_is_that_of_the_test_of_independence(mechanism, other, table, n):
    """As many cross-tables reject as the non-central χ² says: Pearson's test and the one for more reports."""
    rng = np.random.default_rng(11)
    hits = sum(_crossed(mechanism, other, table, n, rng).chi_square().p_value < 0.05 for _ in range(RUNS))
    assert close(design.power(mechanism, design.Association(table, other), n).power, hits)


def test_power_for_columns_randomised_together_is_that_of_their_score_test():
    """The joint channel, and the efficient score test."""
    joint = design.attributes([2, 3], [1.0, 1.5]).mechanism
    table = np.array([[0.5, 0.2, 0.1], [0.1, 0.05, 0.05]])
    rng, n = np.random.default_rng(5), 1500
    hits = 0
    for _ in range(RUNS // 2):
        cell = rng.choice(6, n, p=table.ravel())
        records = np.stack(np.divmod(cell, 3), axis=1)
        reports = joint.privatize(records, Randomness.seeded(int(rng.integers(1 << 30))))
        hits += 2 * (estimate.joint_table(reports, joint, (0, 1)).chi_square().p_value < 0.05)
    assert close(design.power(joint.view(0, 1), design.Association(table), n).power, hits, 0.06)


def test_who_does_not_answer_or_comply_costs_people():
    """Response rate and design effect multiply the sample; people who always give the first report cost power."""
    mechanism, aim = design.binary(1.0).mechanism, design.Difference(0.1, 0.25)
    plain = design.sample_size(mechanism, aim)
    assert design.sample_size(mechanism, aim, design_effect=1.5) == pytest.approx(1.5 * plain, abs=2)
    assert design.sample_size(mechanism, aim, response_rate=0.5) == pytest.approx(2 * plain, abs=2)
    assert design.sample_size(mechanism, aim, noncompliance=0.1) > 1.15 * plain
    for found in (design.power(mechanism, aim, plain), design.power(mechanism, aim, plain, noncompliance=0.2)):
        assert (found.power >= 0.8) == (found.conduct.noncompliance == 0)


@settings(max_examples=25, deadline=None)
@given(
    epsilon=st.floats(0.3, 4),
    low=st.floats(0.01, 0.5),
    gap=st.floats(0.05, 0.4),
    share=st.floats(0.1, 0.9),
    wanted=st.floats(0.3, 0.95),
)
def test_the_sample_size_reaches_its_power_and_hardly_fewer_people_do(epsilon, low, gap, share, wanted):
    """For all designs, differences and groups."""
    mechanism, aim = design.binary(epsilon).mechanism, design.Difference(low, low + gap, share)
    n = design.sample_size(mechanism, aim, power=wanted)
    assert design.power(mechanism, aim, n).power >= wanted
    assert n < 20 or design.power(mechanism, aim, int(0.8 * n)).power < wanted + 0.02


def test_a_margin_makes_room_for_people_who_do_not_comply():
    """Simulated: the estimate of a survey in which some always say no is off by no more than the stated shift."""
    mechanism = design.binary(2.0).mechanism
    plain = design.sample_size(mechanism, 0.05, prevalence=0.3)
    more = design.sample_size(mechanism, 0.05, prevalence=0.3, noncompliance=0.03)
    assert more > plain
    gained = float(mechanism.inverse.apply(np.array([1.0, 0.0]))[1])
    shift = design.margin(mechanism, 10**9, prevalence=0.3, noncompliance=0.03) - design.margin(
        mechanism, 10**9, prevalence=0.3
    )
    assert shift == pytest.approx(0.03 * abs(gained - 0.3))
    with pytest.raises(DesignError, match="cannot hold however many"):
        design.sample_size(mechanism, 0.05, noncompliance=0.2)


def test_a_power_has_a_picture_and_plain_data(tmp_path):
    """The curve rises to the planned point, and everything can be written down."""
    found = design.power(design.binary(1.0), design.Prevalence(0.2, 0.1), 1000, response_rate=0.8)
    _, chances = found.curve([500, 1000, 5000])
    assert chances[1] == found.power
    assert chances[0] < chances[1] < chances[2]
    axes = found.plot()
    assert axes.get_xlabel() == "people"
    data = found.to_dict()
    assert data["power"] == float(found)
    assert data["effective"] == 800
    assert "80% of those asked answer" in found.summary()
    assert repr(found).startswith("Power(power=")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: design.power(design.binary(1.0), 0.02, 100), "aim must say what is to be found"),
        (lambda: design.power(design.binary(1.0), design.Difference(0.1, 0.1), 100), "there is nothing to find"),
        (lambda: design.power(design.binary(1.0), design.Difference(0.1, 1.1), 100), "between 0 and 1"),
        (lambda: design.Coefficient([[1.0, 2.0]], [1.0, 0.0]), "depend on each other"),
        (lambda: design.Coefficient([[1, 0], [1, 1]], [1, 0]), "there is nothing to find"),
        (lambda: design.Association([[0.25, 0.25], [0.25, 0.25]]), "independent rows and columns"),
        (lambda: design.power(GeneralizedResponse(3, 1.0), design.Association(TABLE), 9), "has 2 rows, but"),
        (lambda: design.power(design.binary(1.0), design.Prevalence(0.1), 100, noncompliance=1), "noncompliance"),
        (lambda: design.sample_size(design.binary(1e-6), design.Difference(0.1, 0.11)), "more than 10,000,000,000"),
    ],
)
def test_bad_input_is_one_sentence(call, words):
    """What, where, which bound."""
    with pytest.raises(DesignError, match=words):
        call()
