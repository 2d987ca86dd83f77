"""Means, totals and expectations: unbiased, with the right variance for every kind of column and survey."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

from discreet import Box, EstimationError, Grid, NotIdentifiedError, Ordinal, Randomness, design, estimate, release
from discreet.domains import Binary, WithBlank
from discreet.estimate import Range, Statistic, expectation, frequencies, mean, total
from discreet.mechanisms import BinaryResponse, ChannelResponse, GeneralizedResponse
from discreet.mechanisms.laplace import ZeroInflatedLaplace

ASKED = GeneralizedResponse(4, 1.5)
RNG = np.random.default_rng(5)
N = 800
REPORTS = ASKED.privatize(RNG.choice(4, N, p=[0.4, 0.3, 0.2, 0.1]), Randomness.seeded(1))
GROUP = np.where(RNG.random(N) < 0.4, "north", "south")
SURVEY = {"weights": RNG.uniform(0.5, 3, N), "strata": RNG.integers(0, 3, N), "clusters": RNG.integers(0, 60, N)}
NUMBERS = np.array([0.0, 1.0, 5.0, 20.0])
DESIGNS = [dict(itertools.islice(SURVEY.items(), k)) for k in range(4)] + [{"clusters": SURVEY["clusters"]}]


@pytest.mark.parametrize("aside", DESIGNS)
@pytest.mark.parametrize("target", ["population", "table"])
def test_a_mean_is_the_functional_of_the_frequencies(aside, target):
    """Row by row or through the tally: the same mean, the same variance, under every design of the sample."""
    found = mean(REPORTS, ASKED, positions=NUMBERS, target=target, **aside)
    f = frequencies(REPORTS, ASKED, target=target, **aside)
    np.testing.assert_allclose(found.estimate, NUMBERS @ f.estimate, rtol=1e-12)
    np.testing.assert_allclose(found.covariance[0, 0], NUMBERS @ f.covariance @ NUMBERS, rtol=1e-9)
    np.testing.assert_allclose(f.mean(NUMBERS).std_error, found.std_error, rtol=1e-9)
    np.testing.assert_allclose(f.functional(NUMBERS).std_error, found.std_error, rtol=1e-9)
    simple = target == "population" and not aside
    stated = N - 1 if simple else f.spread.degrees_of_freedom  # over strata those of all frequencies together
    np.testing.assert_allclose(found.degrees_of_freedom[0], stated, rtol=0.1 if "strata" in aside else 1e-12)
    for through in (f.mean(NUMBERS), f.functional(NUMBERS)):
        np.testing.assert_allclose(through.interval(), found.interval(), rtol=1e-3 if "strata" in aside else 1e-9)
        assert through.default_interval == found.default_interval == ("wilson" if target == "population" else "wald")


def test_a_mean_of_ordered_words_says_what_was_averaged():
    """Words, even those that read like numbers, have places 0, 1, 2, …, and the result says so; numbers say nothing."""
    words = Ordinal(["1", "2", "3", "4"])
    for found in (mean(REPORTS, ASKED, labels=words), frequencies(REPORTS, ASKED, labels=words).mean()):
        assert "places 0, 1, 2" in str(found)
        assert any("places" in note for note in found.to_dict()["notes"])
    plain = frequencies(REPORTS, ASKED).estimate
    for values, numbers in (([1, 2, 3, 4], [1, 2, 3, 4]), (words, [2, 3, 5, 7])):
        given = {"positions": numbers} if values is words else {}
        labels = values if values is words else Ordinal(values)
        found = mean(REPORTS, ASKED, labels=labels, **given)
        assert found.estimate == pytest.approx(numbers @ plain)
        assert not any("places" in note for note in found.notes)
    assert not any("places" in note for note in expectation(REPORTS, ASKED, lambda x: x == "1", labels=words).notes)


@pytest.mark.parametrize("aside", DESIGNS)
def test_totals_are_those_of_the_frequencies(aside):
    """Horvitz and Thompson with weights, n times the mean without."""
    found, totals = total(REPORTS, ASKED, positions=NUMBERS, **aside), frequencies(REPORTS, ASKED, **aside).totals()
    np.testing.assert_allclose(found.estimate, NUMBERS @ totals.estimate, rtol=1e-12)
    np.testing.assert_allclose(found.covariance[0, 0], NUMBERS @ totals.covariance @ NUMBERS, rtol=1e-9)


@pytest.mark.parametrize("aside", DESIGNS)
def test_groups_have_one_covariance_matrix(aside):
    """It is that of the linearised values written out row by row, clusters that reach into both groups included."""
    found = mean(REPORTS, ASKED, positions=NUMBERS, by=GROUP, **aside)
    scores = ASKED.inverse.as_matrix().T @ NUMBERS
    w = aside.get("weights", np.ones(N))
    u = np.zeros((N, 2))
    for g, label in enumerate(("north", "south")):
        own = label == GROUP
        u[own, g] = w[own] * (scores[REPORTS[own]] - found.estimate[g]) / w[own].sum()
    if not aside:
        expected = u.T @ u
    else:
        stratum = aside.get("strata", np.zeros(N, int))
        unit = np.unique(np.stack([stratum, aside.get("clusters", np.arange(N))]), axis=1, return_inverse=True)[
            1
        ].ravel()
        expected = np.zeros((2, 2))
        for h in np.unique(stratum):
            sums = np.array([u[(unit == c) & (stratum == h)].sum(axis=0) for c in np.unique(unit[stratum == h])])
            centred = sums - sums.mean(axis=0)
            expected += len(sums) / (len(sums) - 1) * centred.T @ centred
    np.testing.assert_allclose(found.covariance, expected, rtol=1e-9, atol=1e-15)
    difference = found.compare("north", "south")
    variance = expected[0, 0] + expected[1, 1] - 2 * expected[0, 1]
    np.testing.assert_allclose(difference.std_error**2, variance, rtol=1e-9)
    np.testing.assert_allclose(difference.estimate, found.estimate[0] - found.estimate[1])


def test_the_variance_is_exact_by_enumeration():
    """Over all reports of three people: the mean is unbiased, and the variance given the table is too."""
    asked = ChannelResponse([["1/2", "1/4", "1/4"], ["1/8", "3/4", "1/8"], ["1/8", "1/8", "3/4"]])
    truths, c, Q = [0, 2, 1], np.array([1.0, 4.0, 10.0]), asked.matrix()
    chance, means, stated = [], [], []
    for reports in itertools.product(range(3), repeat=3):
        chance.append(np.prod([Q[t, y] for t, y in zip(truths, reports, strict=True)]))
        one = mean(list(reports), asked, positions=c, target="table")
        means.append(one.estimate[0])
        stated.append(one.covariance[0, 0])
    chance, means, stated = np.array(chance), np.array(means), np.array(stated)
    assert chance @ means == pytest.approx(c[truths].mean())
    kept = np.isfinite(stated)
    spread = chance @ means**2 - (chance @ means) ** 2
    scores = asked.inverse.as_matrix().T @ c
    exact = sum(Q[t] @ scores**2 - (Q[t] @ scores) ** 2 for t in truths) / 9
    assert spread == pytest.approx(exact)
    # Negative plug-in variances are not shown; what is left is checked against its own formula.
    squares = asked.inverse.as_matrix().T @ (c * c)
    own = np.array([sum(scores[y] ** 2 - squares[y] for y in r) / 9 for r in itertools.product(range(3), repeat=3)])
    np.testing.assert_allclose(stated[kept], own[kept])
    assert (own[~kept] < 0).all()
    assert chance @ own == pytest.approx(exact)


def test_a_blank_has_no_number_and_is_left_out_of_the_mean():
    """The mean is over those who have a number: a ratio, not a mean with blanks as zero."""
    asked, truth = GeneralizedResponse(4, 6.0), np.repeat([0, 1, 2, 3], [300, 300, 300, 900])
    reports = asked.privatize(truth, Randomness.seeded(2))
    found = mean(reports, asked, labels=WithBlank(Ordinal([10, 20, 30])))
    assert float(found) == pytest.approx(20.0, abs=5 * found.std_error[0])
    assert found.std_error[0] < 0.5
    through = frequencies(reports, asked, labels=WithBlank(Ordinal([10, 20, 30]))).mean()
    np.testing.assert_allclose(found.estimate, through.estimate)
    np.testing.assert_allclose(found.std_error, through.std_error, rtol=1e-9)


def test_of_a_yes_no_column_the_mean_is_a_share_with_wilsons_interval():
    """It is the interval of the frequency of yes; numbers as labels only move and stretch it."""
    asked, reports = BinaryResponse.warner("3/4"), REPORTS % 2
    share = mean(reports, asked, labels=Binary())
    f = frequencies(reports, asked, labels=Binary())
    np.testing.assert_allclose(share.interval(0.9), f.interval(0.9, "wilson")[1:])
    moved = mean(reports, asked, labels=[10, 30])
    np.testing.assert_allclose(moved.interval(0.9), 10 + 20 * share.interval(0.9))
    weighted = mean(reports, asked, weights=SURVEY["weights"], clusters=SURVEY["clusters"])
    expected = frequencies(reports, asked, weights=SURVEY["weights"], clusters=SURVEY["clusters"])
    np.testing.assert_allclose(weighted.interval(), expected.interval(method="wilson")[1:], rtol=2e-3)


def test_public_numbers_are_plain_statistics():
    """s/√n, survey linearisation with weights; large numbers keep their figures, and blanks are counted."""
    x = 1e9 + RNG.normal(size=N)
    found = mean(x)
    assert float(found) == pytest.approx(x.mean(), abs=1e-6)
    assert found.std_error[0] == pytest.approx(x.std(ddof=1) / np.sqrt(N), rel=1e-6)
    gone = np.where(np.arange(N) % 10 == 0, np.nan, x)
    rest = mean(gone)
    assert float(rest) == pytest.approx(np.nanmean(gone), abs=1e-6)
    assert rest.n[0] == N - N // 10
    assert any("80 rows without an answer" in note for note in rest.notes)
    np.testing.assert_allclose(total(np.arange(N)).estimate, np.arange(N).sum())
    table = mean(x, target="table")
    np.testing.assert_allclose(table.std_error, 0.0, atol=1e-12)


def test_numbers_in_a_box():
    """The mean of the best function on the box, as m_estimate gives it: less noisy than the reports."""
    noise = ZeroInflatedLaplace(Box([0], [10]), 2.0, 0.3)
    truth = RNG.uniform(0, 10, (4000, 1))
    reports = noise.privatize(truth, Randomness.seeded(3))
    found = mean(reports, noise)
    loss = estimate.losses.Expectation(lambda x: x[:, 0], lambda x: np.zeros(len(x)))
    other = estimate.m_estimate(loss, reports, noise, method="box")
    np.testing.assert_allclose(found.estimate, other.estimate, rtol=1e-9)
    np.testing.assert_allclose(found.std_error, other.std_error, rtol=1e-9)
    assert found.std_error[0] < estimate.m_estimate(loss, reports, noise, method="exact").std_error[0]
    assert abs(float(found) - truth.mean()) < 5 * found.std_error[0]
    share = expectation(reports, noise, lambda x: x > 7)
    assert abs(float(share) - (truth > 7).mean()) < 5 * share.std_error[0]
    assert abs(float(share) - (reports > 7).mean()) > 2 * share.std_error[0] or share.std_error[0] > 0.01
    given = mean(reports, noise, target="table")
    noise_alone = np.sqrt(0.7 * noise.noise_scale[0] ** 2 / 4000)
    assert 0.5 * noise_alone < given.std_error[0] < noise_alone


def test_functions_see_numbers_or_labels():
    """An expectation takes a function of the values as people know them."""
    of_labels = expectation(REPORTS, ASKED, lambda x: x == "d", labels=Ordinal(list("abcd")))
    f = frequencies(REPORTS, ASKED)
    np.testing.assert_allclose(of_labels.estimate, f.estimate[3])
    of_numbers = expectation(REPORTS, ASKED, lambda x: x**2, labels=[0, 1, 5, 20])
    np.testing.assert_allclose(of_numbers.estimate, NUMBERS**2 @ f.estimate)


def test_where_the_mean_is_not_identified_its_range_is_given():
    """Two values with the same row: the mean is a range; a functional that does not tell them apart is a number."""
    merged = ChannelResponse([["3/4", "1/4"], ["3/4", "1/4"], ["1/4", "3/4"]])
    reports = REPORTS % 2
    found = mean(reports, merged)
    assert isinstance(found, Range)
    assert found.identified[0] < found.identified[1]
    same = mean(reports, merged, positions=[0.0, 0.0, 1.0])
    assert isinstance(same, Statistic)
    two = mean(reports, BinaryResponse(0.75, 0.75))
    np.testing.assert_allclose(same.estimate, two.estimate)
    np.testing.assert_allclose(same.std_error, two.std_error)
    with pytest.raises(NotIdentifiedError):
        frequencies(reports, merged)


def test_comparisons_of_all_pairs_hold_together():
    """Bonferroni over the pairs; a pair on its own has a shorter interval; ratios are made on the logarithm."""
    groups = np.array(list("abcd"))[RNG.integers(0, 4, N)]
    found = mean(REPORTS, ASKED, positions=NUMBERS, by=groups)
    pairs = found.compare()
    assert len(pairs.pairs) == 6
    wide, own = pairs.interval()[0], found.compare("a", "b").interval()[0]
    degrees = pairs.degrees_of_freedom[0]
    t = [stats.t.ppf(1 - tail, degrees) for tail in (0.025 / 6, 0.025)]
    assert (wide[1] - wide[0]) / (own[1] - own[0]) == pytest.approx(t[0] / t[1], rel=1e-9)
    assert (pairs.p_values >= found.compare("a", "b").p_values[0] * 0).all()
    ratio, back = found.compare("a", "b", "ratio"), found.compare("b", "a", "ratio")
    np.testing.assert_allclose(ratio.interval(), 1 / back.interval()[:, ::-1])
    np.testing.assert_allclose(ratio.p_values, back.p_values)
    assert found["c"].estimate == found.estimate[2]
    assert list(found) == list("abcd")
    with pytest.raises(KeyError):
        found["e"]
    with pytest.raises(TypeError, match="groups"):
        float(found)


def test_frequencies_of_groups_are_compared_with_the_clusters_they_share():
    """The variance of a difference is that of the linearised difference, written out."""
    aside = {"weights": SURVEY["weights"], "clusters": SURVEY["clusters"]}
    found = frequencies(REPORTS, ASKED, by=GROUP, **aside).compare("north", "south")
    for code in range(4):
        same = mean(REPORTS, ASKED, positions=np.eye(4)[code], by=GROUP, **aside).compare("north", "south")
        np.testing.assert_allclose(found.std_error[code], same.std_error[0], rtol=1e-8)
        np.testing.assert_allclose(found.estimate[code], same.estimate[0])


def test_top_values_have_intervals_for_all_values():
    """Whichever values are picked out, all intervals hold at once."""
    f = frequencies(REPORTS, ASKED, labels=list("abcd"))
    found = f.top(2)
    assert found.labels == ["a", "b"]
    np.testing.assert_array_equal(found.interval(), f.interval(method="simultaneous")[:2])
    with pytest.raises(EstimationError, match="k must be"):
        f.top(0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mean(REPORTS, ASKED, labels=list("abcd")), "values without numbers"),
        (lambda: mean(REPORTS, ASKED, positions=[1, 2]), "positions must be 4 numbers"),
        (
            lambda: mean(REPORTS, ASKED, weights=np.zeros(N)),
            "row 0 .* must be positive",
        ),
        (
            lambda: mean(REPORTS, ASKED, weights=-np.ones(N)),
            "row 0 .* must be positive",
        ),
        (
            lambda: mean(REPORTS, ASKED, weights=np.full(N, np.nan)),
            "row 0 .* must be positive",
        ),
        (lambda: mean(REPORTS, ASKED, weights=[1.0]), "one entry per row"),
        (lambda: mean(["a", "b"]), "must hold numbers"),
        (lambda: mean([1.0, np.inf]), "row 1 .* finite"),
        (lambda: mean([], ASKED), "n = 0"),
        (lambda: mean(None), "needs reports"),
        (lambda: mean(REPORTS, "hours"), "needs a release"),
        (lambda: mean(REPORTS + 4, ASKED), "row 0 .* out of range"),
        (lambda: mean(REPORTS, ASKED, target="people"), "target must be"),
        (lambda: mean([1.0, 2.0], positions=[1]), "positions are for"),
        (lambda: mean(np.zeros((3, 2)), ZeroInflatedLaplace(Box([0, 0], [1, 1]), 1.0, 0.1)), "of one"),
        (lambda: expectation(REPORTS, ASKED, 3), "callable"),
        (lambda: expectation(REPORTS, ASKED, lambda x: x / 0), "finite"),
        (lambda: expectation(REPORTS, ASKED, lambda x: 1.0), "one real number for each"),
        (lambda: mean(REPORTS, ASKED).compare("a", "b"), "one group"),
        (lambda: mean(REPORTS, ASKED, by=GROUP).compare("north", "west"), "groups are north, south"),
        (lambda: mean(REPORTS, ASKED, by=GROUP).compare("north"), "name two groups"),
        (lambda: mean(REPORTS, ASKED, by=GROUP).compare("north", "south", "product"), "difference"),
        (lambda: mean(-RNG.random(N), by=GROUP).compare("north", "south", "ratio"), "above 0"),
        (lambda: mean(RNG.random(N)).interval(method="wilson"), "wald"),
        (lambda: mean(REPORTS, ASKED, strata=np.arange(N)), "single row"),
    ],
)
def test_bad_input(call, message):
    """One sentence that says what is wrong and what to do."""
    with pytest.raises(EstimationError, match=message):
        call()


def test_a_group_of_one_row_has_no_standard_error_and_says_so():
    """One row shows no spread: nan, a note, and no comparison with it."""
    lonely = np.where(np.arange(N) == 3, "alone", "others")
    found = mean(RNG.random(N), by=lonely)
    assert np.isnan(found.std_error[0])
    assert np.isnan(found.interval()[0]).all()
    assert any("one row" in note and "alone" in note for note in found.notes)
    with pytest.raises(EstimationError, match="alone has no standard error"):
        found.compare()


def test_a_release_gives_numbers_designs_and_survey_columns():
    """Columns of every kind by name, with the weights that the manifest declares."""
    n = 6000
    rng = np.random.default_rng(8)
    truth = {"hours": rng.integers(0, 11, n).astype(float), "age": rng.uniform(18, 90, n), "w": rng.uniform(1, 3, n)}
    table = pa.table({**truth, "cheated": np.where(rng.random(n) < 0.3, "yes", "no"), "sex": rng.integers(0, 2, n)})
    asked = {"mechanism": "randomized-response", "epsilon": 4}
    noise = {"mechanism": "zero-inflated-laplace", "epsilon": 4, "delta": 0.3, "zero_probability": 0.2}
    plan = {
        "survey": {"weight": "w"},
        "public": [{"columns": ["sex"]}],
        "private": [
            {"columns": ["cheated"], "domain": {"binary": ["no", "yes"]}, **asked},
            {"columns": ["hours"], "domain": {"grid": {"low": 0, "high": 10, "points": 11}}, **asked},
            {"columns": ["age"], "domain": {"box": {"low": [18], "high": [90]}}, **noise},
        ],
    }
    private = release(table, plan, randomness=Randomness.seeded(9))
    w = truth["w"]
    for name, own in (("hours", truth["hours"]), ("age", truth["age"]), ("sex", np.asarray(table["sex"]))):
        found = mean(private, name, target="table")
        assert abs(float(found) - np.average(own, weights=w)) < 5 * found.std_error[0] + 1e-9
        assert mean(private, name, weights=False).n[0] == n
    by_sex = mean(private, "hours", by="sex")
    assert by_sex.groups == (0, 1)
    assert 'Mean of "hours"' in str(by_sex)
    with pytest.raises(EstimationError, match="name a column"):
        mean(private)
    with pytest.raises(EstimationError, match="manifest"):
        mean(private, "hours", labels=[1])


def test_a_mechanism_that_knows_its_numbers_gives_means_in_their_units():
    """Reports in memory need no positions: the points of the mechanism are the true values."""
    mechanism = design.mean(Grid(0, 60, 13), 1.0).mechanism
    truth = np.random.default_rng(3).gamma(2.0, 8.0, 40_000).clip(0, 60)
    codes = mechanism.round(truth, Randomness.seeded(4))
    found = estimate.mean(mechanism.privatize(codes, Randomness.seeded(5)), mechanism)
    assert abs(float(found) - truth.mean()) < 6 * found.std_error[0]
    assert found.std_error[0] == pytest.approx(np.sqrt(3_600 / 40_000), rel=0.1)
    assert estimate.frequencies(mechanism.privatize(codes), mechanism).labels[-1] == 60.0


def test_reports_that_are_all_the_same_show_no_spread():
    """A group of equal reports has a standard error of zero, not one that rounding made unknown; Wilson has an end."""
    mechanism = BinaryResponse.warner("0.7310585")
    rng = np.random.default_rng(8)
    reports = np.concatenate([rng.integers(0, 2, 190), np.zeros(10, int)])
    groups = np.repeat(["a", "b", "c"], [150, 40, 10])
    for size in range(3, 11):
        found = estimate.mean(reports[: 190 + size], mechanism, by=groups[: 190 + size])
        assert found["c"].std_error[0] == 0.0
        assert not found.notes
        assert np.isfinite(found["c"].interval()).all()


def test_the_total_of_a_yes_no_column_has_the_interval_of_its_mean():
    """Without weights a total is n times the mean, and so are its ends: Wilson's, which small groups need."""
    mechanism, groups = BinaryResponse.warner("0.8"), np.repeat(["a", "b"], [180, 12])
    reports = np.random.default_rng(9).integers(0, 2, 192)
    average, summed = mean(reports, mechanism, by=groups), total(reports, mechanism, by=groups)
    np.testing.assert_allclose(summed.interval(), average.interval() * [[180], [12]])
    np.testing.assert_allclose(summed["b"].interval(), average["b"].interval() * 12)
    weighted = total(reports, mechanism, by=groups, weights=np.ones(192))
    np.testing.assert_allclose(weighted.estimate, summed.estimate)
    assert weighted.default_interval == "wald"  # the number of people is estimated too
