"""Coverage of every interval method, computed exactly by summing the probabilities of all outcomes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from discreet.errors import EstimationError
from discreet.estimate import binary_regression, frequencies
from discreet.estimate.channels.moments import conditional_variances
from discreet.mechanisms import BinaryResponse, ChannelResponse, GeneralizedResponse
from tests.estimate.enumeration import count_law, report_tables, report_vectors

DESIGNS = {
    "ε = .1": BinaryResponse(GeneralizedResponse(2, 0.1).matrix()[0, 0], GeneralizedResponse(2, 0.1).matrix()[0, 0]),
    "ε = 1": GeneralizedResponse(2, 1.0),
    "ε = 4": GeneralizedResponse(2, 4.0),
    "crosswise": BinaryResponse.crosswise("1/4"),
    "a yes proves yes": BinaryResponse(1, "1/3"),
    "direct": BinaryResponse.direct(),
}
PREVALENCES = np.array([0.0, 1e-3, 0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 0.97, 0.999, 1.0])


def all_intervals(mechanism, n, method, level=0.95, target="population"):
    """Intervals for "yes" at every possible count of yes reports."""
    return np.array(
        [
            frequencies(counts=[n - k, k], mechanism=mechanism, target=target).interval(level, method)[1]
            for k in range(n + 1)
        ]
    )


def coverage(bounds, prevalence, law):
    inside = (bounds[:, 0] <= prevalence + 1e-12) & (prevalence - 1e-12 <= bounds[:, 1])
    return float(law[inside].sum())


@pytest.mark.parametrize("name", DESIGNS)
@pytest.mark.parametrize("method", ["clopper-pearson", "chebyshev", "simultaneous"])
def test_rigorous_methods_never_fall_below_the_level(name, method):
    """Clopper–Pearson, Chebyshev and (for two values) simultaneous cover at every π and every n, exactly."""
    mechanism = DESIGNS[name]
    Q = mechanism.matrix()
    for n in (1, 2, 3, 10, 50, 200):
        for level in (0.8, 0.95) if n <= 10 else (0.95,):
            bounds = all_intervals(mechanism, n, method, level)
            for prevalence in PREVALENCES:
                law = binom.pmf(np.arange(n + 1), n, (1 - prevalence) * Q[0, 1] + prevalence * Q[1, 1])
                assert coverage(bounds, prevalence, law) >= level - 1e-9, (n, level, prevalence)


@pytest.mark.parametrize("name", DESIGNS)
@pytest.mark.parametrize("method", ["clopper-pearson", "chebyshev"])
def test_rigorous_methods_cover_the_table(name, method):
    """Given the truths, the count is not binomial; both methods still cover for every table and every n."""
    mechanism = DESIGNS[name]
    Q = mechanism.matrix()
    for n in (1, 2, 5, 12, 40):
        bounds = all_intervals(mechanism, n, method, 0.95, "table")
        for ones in range(n + 1):
            law = count_law(n, ones, Q[1, 1], Q[0, 1])
            assert coverage(bounds, ones / n, law) >= 0.95 - 1e-9, (n, ones)


def test_plugged_in_chebyshev_fails_and_inversion_does_not():
    """At ε = 4, n = 10, π = .01 Chebyshev with a plugged-in σ covers 24 % of the time; by inversion 95 %."""
    mechanism = GeneralizedResponse(2, 4.0)
    n, prevalence = 10, 0.01
    q = np.array([1 - prevalence, prevalence]) @ mechanism.matrix()
    law = binom.pmf(np.arange(n + 1), n, q[1])
    results = [frequencies(counts=[n - k, k], mechanism=mechanism) for k in range(n + 1)]
    factor = 1 / math.sqrt(0.05)
    plugged = np.array([r.estimate[1] + factor * r.std_error[1] * np.array([-1, 1]) for r in results])
    assert coverage(plugged, prevalence, law) == pytest.approx(0.24, abs=0.005)
    assert coverage(all_intervals(mechanism, n, "chebyshev"), prevalence, law) >= 0.95


@pytest.mark.parametrize("target", ["population", "table"])
@pytest.mark.parametrize("name", ["ε = 1", "ε = 4", "crosswise"])
def test_wilson_covers_on_average(name, target):
    """Wilson's mean coverage over π is near 95 % and never far below."""
    mechanism = DESIGNS[name]
    Q, n = mechanism.matrix(), 100
    bounds = all_intervals(mechanism, n, "wilson", target=target)
    found = []
    for ones in range(2, n - 1, 2):
        q = (ones * Q[1, 1] + (n - ones) * Q[0, 1]) / n
        law = binom.pmf(np.arange(n + 1), n, q) if target == "population" else count_law(n, ones, Q[1, 1], Q[0, 1])
        found.append(coverage(bounds, ones / n, law))
    assert 0.942 < np.mean(found) < 0.962
    assert min(found) > 0.92


@pytest.mark.parametrize("name", ["ε = 1", "ε = 4"])
def test_wald_covers_in_the_middle(name):
    """Wald is good for a large sample and a middling prevalence: 95 % within two points."""
    mechanism = DESIGNS[name]
    n = 400
    bounds = all_intervals(mechanism, n, "wald")
    law = binom.pmf(np.arange(n + 1), n, 0.6 * mechanism.matrix()[0, 1] + 0.4 * mechanism.matrix()[1, 1])
    assert coverage(bounds, 0.4, law) == pytest.approx(0.95, abs=0.02)


def test_generalised_response_covers_value_by_value():
    """For N values each count is binomial: Clopper–Pearson and Chebyshev cover at every frequency."""
    mechanism = GeneralizedResponse(5, 2.0)
    keep, other = mechanism.matrix()[0, :2]
    for n in (1, 7, 60):
        for method in ("clopper-pearson", "chebyshev"):
            bounds = np.array(
                [
                    frequencies(counts=[k, n - k, 0, 0, 0], mechanism=mechanism).interval(method=method)[0]
                    for k in range(n + 1)
                ]
            )
            for frequency in (0, 0.01, 0.2, 0.6, 1):
                law = binom.pmf(np.arange(n + 1), n, other + (keep - other) * frequency)
                assert coverage(bounds, frequency, law) >= 0.95 - 1e-9


def test_simultaneous_covers_all_values_at_once():
    """The joint coverage of simultaneous intervals is at least the level, by enumerating all tables."""
    mechanism, n = GeneralizedResponse(3, 1.5), 14
    for f in ([0.2, 0.3, 0.5], [0.0, 0.02, 0.98], [1 / 3, 1 / 3, 1 / 3]):
        tables, probability = report_tables(np.array(f) @ mechanism.matrix(), n)
        joint = each = 0.0
        for table, weight in zip(tables, probability, strict=True):
            result = frequencies(counts=table, mechanism=mechanism)
            for method in ("simultaneous", "wald"):
                bounds = result.interval(0.9, method)
                inside = bool(np.all((bounds[:, 0] <= np.array(f) + 1e-12) & (np.array(f) - 1e-12 <= bounds[:, 1])))
                joint += weight * inside * (method == "simultaneous")
                each += weight * inside * (method == "wald")
        assert joint >= 0.9
        assert each < joint


GENERAL = [
    ChannelResponse([["1/5", 0, "1/2", "3/10"], [0, "1/5", "3/10", "1/2"]]),
    ChannelResponse([["1/2", "1/3", "1/6"], ["1/4", "1/2", "1/4"], ["1/6", "1/3", "1/2"]]),
    ChannelResponse([["9/10", "1/10", 0], ["1/10", "4/5", "1/10"], [0, "1/10", "9/10"]]),
]


@pytest.mark.parametrize("mechanism", GENERAL)
@pytest.mark.parametrize("n", [1, 3, 12])
def test_chebyshev_is_rigorous_for_any_channel(mechanism, n):
    """For general channels the variance is the worst possible at each π: coverage holds at every distribution."""
    size = mechanism.shape[0]
    corners = [np.eye(size)[x] for x in range(size)]
    spread = np.random.default_rng(1).dirichlet(np.full(size, 0.5), 12)
    for f in [*corners, *spread]:
        tables, probability = report_tables(f @ mechanism.matrix(), n)
        covered = np.zeros(size)
        for table, weight in zip(tables, probability, strict=True):
            bounds = frequencies(counts=table, mechanism=mechanism).interval(0.8, "chebyshev")
            covered += weight * ((bounds[:, 0] <= f + 1e-12) & (f - 1e-12 <= bounds[:, 1]))
        assert covered.min() >= 0.8


@pytest.mark.parametrize("mechanism", GENERAL)
def test_chebyshev_is_tighter_than_popoviciu(mechanism):
    """The worst variance at each π is never above ((max a − min a)/2)², the bound that knows only the range."""
    A, Q = mechanism.inverse.as_matrix(), mechanism.matrix()
    used = Q.sum(axis=0) > 0
    popoviciu = ((A[:, used].max(axis=1) - A[:, used].min(axis=1)) / 2) ** 2
    own, other = conditional_variances(mechanism)
    grid = np.linspace(0, 1, 101)[:, None]
    assert np.all(grid * own + (1 - grid) * other + grid * (1 - grid) <= popoviciu + 1e-12)


def test_chebyshev_with_weights_covers_the_table():
    """With weights and the table as target Chebyshev stays rigorous: enumerated over all reports."""
    mechanism = GeneralizedResponse(2, 2.0)
    weights = np.array([1.0, 5.0, 0.3, 2.0, 8.0, 1.0])
    for truths in ([0, 0, 0, 0, 1, 0], [1, 1, 0, 1, 0, 0], [0] * 6):
        vectors, probability = report_vectors(mechanism, truths)
        wanted = weights[np.array(truths) == 1].sum() / weights.sum()
        covered = 0.0
        for vector, chance in zip(vectors, probability, strict=True):
            low, high = frequencies(vector, mechanism, weights=weights, target="table").interval(0.8, "chebyshev")[1]
            covered += chance * (low <= wanted <= high)
        assert covered >= 0.8


def test_crosswise_swaps_the_ends():
    """With p00 + p11 < 1 low ≤ high, and the interval mirrors that of the mirrored design."""
    crosswise = frequencies(counts=[700, 300], mechanism=BinaryResponse.crosswise("1/4"))
    mirrored = frequencies(counts=[300, 700], mechanism=BinaryResponse.warner("3/4"))
    for method in ("wilson", "clopper-pearson", "chebyshev", "wald"):
        bounds = crosswise.interval(method=method)
        assert np.all(bounds[:, 0] < bounds[:, 1])
        np.testing.assert_allclose(bounds, mirrored.interval(method=method), atol=1e-12)


def test_wilson_is_the_textbook_interval_mapped():
    """Wilson's centre and half-width for q, mapped through (q − (1 − p00))/(p00 + p11 − 1)."""
    mechanism, n, ones, z = BinaryResponse("4/5", "7/10"), 250, 120, 1.959963984540054
    q = ones / n
    centre = (q + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * math.sqrt(q * (1 - q) / n + z**2 / (4 * n**2))
    expected = (np.array([centre - half, centre + half]) - 0.2) / 0.5
    result = frequencies(counts=[n - ones, ones], mechanism=mechanism)
    np.testing.assert_allclose(result.interval(method="wilson")[1], expected, atol=1e-12)
    np.testing.assert_allclose(result.interval()[1], expected, atol=1e-12)


def test_clopper_pearson_at_the_ends():
    """No "yes" at all: [0, 1 − (α/2)^(1/n)] when asked directly."""
    bounds = frequencies(counts=[20, 0], mechanism=BinaryResponse.direct()).interval(method="clopper-pearson")
    np.testing.assert_allclose(bounds, [[0.025 ** (1 / 20), 1], [0, 1 - 0.025 ** (1 / 20)]], atol=1e-12)


def test_reports_that_contradict_the_design_are_named():
    """An interval wholly outside [0, 1] is (nan, nan), is listed by empty(), and the summary says why."""
    result = frequencies(counts=[990, 10], mechanism=BinaryResponse.warner("3/4"))
    for method in ("wilson", "clopper-pearson", "chebyshev"):
        assert np.all(np.isnan(result.interval(method=method)))
        assert result.empty(method=method).tolist() == [True, True]
    assert "empty: the reports contradict the design" in result.summary()
    assert result.to_dict()["interval"]["low"] == [None, None]
    assert not frequencies(counts=[600, 400], mechanism=BinaryResponse.warner("3/4")).empty().any()


def test_wald_is_not_clipped():
    """A Wald interval may leave [0, 1]: nothing is hidden."""
    result = frequencies(counts=[74, 26], mechanism=BinaryResponse.warner("3/4"))
    low, high = result.interval(method="wald")[1]
    assert low < 0 < high
    assert result.interval(method="wilson")[1, 0] == 0


def test_methods_that_need_one_share_are_refused_elsewhere():
    """Clopper–Pearson refuses a channel in which a frequency depends on several shares, and names Wilson."""
    result = frequencies(counts=[5, 6, 7, 8], mechanism=GENERAL[0])
    assert result.default_interval == "wald"
    with pytest.raises(EstimationError, match="share of one report; use wilson"):
        result.interval(method="clopper-pearson")
    assert np.isfinite(result.interval(method="wilson")).all()
    np.testing.assert_allclose(result.interval(method="simultaneous"), result.interval(method="wald"))


@pytest.mark.parametrize("level", [0, 1, -0.5, math.nan, "high"])
def test_level_is_checked(level):
    """A level outside (0, 1) is an error."""
    with pytest.raises(EstimationError, match="level must"):
        frequencies(counts=[5, 6], mechanism=GeneralizedResponse(2, 1.0)).interval(level)


def test_unknown_method_is_refused():
    """The message lists the methods there are."""
    with pytest.raises(EstimationError, match='"wilson", "clopper-pearson", "chebyshev", "wald", "simultaneous"'):
        frequencies(counts=[5, 6], mechanism=GeneralizedResponse(2, 1.0)).interval(method="bayes")


def test_wald_on_a_general_channel():
    """The default for general channels covers about as often as it says, at sixty people: by enumeration."""
    mechanism, f = GENERAL[1], np.array([0.3, 0.4, 0.3])
    tables, probability = report_tables(f @ mechanism.matrix(), 60)
    covered = np.zeros(3)
    for table, weight in zip(tables, probability, strict=True):
        bounds = frequencies(counts=table, mechanism=mechanism).interval()
        covered += weight * ((bounds[:, 0] <= f) & (f <= bounds[:, 1]))
    assert np.all(np.abs(covered - 0.95) < 0.02)


def test_chebyshev_with_several_designs():
    """Rows asked in two ways at random: Chebyshev stays rigorous, by enumerating who was asked how and said what."""
    designs = {"direct": BinaryResponse.direct(), "crosswise": BinaryResponse.crosswise("1/4")}
    cells = [("direct", 0), ("direct", 1), ("crosswise", 0), ("crosswise", 1)]
    for prevalence in (0.0, 0.1, 0.5):
        f = np.array([1 - prevalence, prevalence])
        p = np.concatenate([0.3 * f @ designs["direct"].matrix(), 0.7 * f @ designs["crosswise"].matrix()])
        for n in (1, 4):
            tables, probability = report_tables(p, n)
            covered = 0.0
            for table, chance in zip(tables, probability, strict=True):
                rows = [cell for cell, count in zip(cells, table, strict=True) for _ in range(count)]
                result = frequencies([y for _, y in rows], designs, designs=[mode for mode, _ in rows])
                low, high = result.interval(0.8, "chebyshev")[1]
                covered += chance * (low <= prevalence + 1e-12 and prevalence - 1e-12 <= high)
            assert covered >= 0.8


def test_clustered_intervals_cover_by_simulation():
    """Thirty clusters: Wald, Wilson and Clopper–Pearson cover 95 % within six standard errors of 1,000 runs,
    where intervals that ignore the clusters cover far less.
    """
    rng = np.random.default_rng(4)
    mechanism, runs = GeneralizedResponse(2, 2.0), 1000
    keep, clusters = mechanism.matrix()[0, 0], np.repeat(np.arange(30), 12)
    covered = dict.fromkeys(("wald", "wilson", "clopper-pearson", "ignored"), 0)
    for _ in range(runs):
        truth = rng.random(clusters.size) < rng.beta(1.2, 2.8, 30)[clusters]  # mean .3, strongly clustered
        reports = np.where(rng.random(clusters.size) < keep, truth, ~truth)
        result = frequencies(reports, mechanism, clusters=clusters)
        for method in ("wald", "wilson", "clopper-pearson"):
            low, high = result.interval(method=method)[1]
            covered[method] += low <= 0.3 <= high
        low, high = frequencies(reports, mechanism).interval()[1]
        covered["ignored"] += low <= 0.3 <= high
    for method in ("wald", "wilson", "clopper-pearson"):
        assert 0.95 - 6 * math.sqrt(0.05 * 0.95 / runs) < covered[method] / runs < 0.99
    assert covered["ignored"] / runs < 0.88


def test_synonyms_of_methods():
    """Exact limits are Clopper and Pearson's, and the likelihood ratio of one coefficient is its profile."""
    found = frequencies(counts=[60, 40], mechanism=BinaryResponse.warner("3/4"))
    np.testing.assert_array_equal(found.interval(method="exact"), found.interval(method="clopper-pearson"))
    X = np.column_stack([np.ones(200), np.linspace(-1, 1, 200)])
    fit = binary_regression(X, np.arange(200) % 3 == 0, 0.9, 0.9)
    np.testing.assert_array_equal(fit.interval(method="likelihood-ratio"), fit.interval(method="profile"))
