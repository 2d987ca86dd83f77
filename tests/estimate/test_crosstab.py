"""Cross-tables: unbiased cells, their covariance, and a test of independence with the right level."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest
from scipy.stats import chi2, chi2_contingency

from discreet.domains import Binary
from discreet.errors import EstimationError
from discreet.estimate import crosstab_of_reports
from discreet.estimate.channels.moments import KroneckerInverse
from discreet.estimate.tables.cells import odds_ratio
from discreet.mechanisms import BinaryResponse, ChannelResponse, GeneralizedResponse
from tests.estimate.enumeration import mean_and_covariance, report_tables

WARNER = BinaryResponse("4/5", "7/10")
CROSSWISE = BinaryResponse.crosswise("1/4")
THREE = GeneralizedResponse(3, 1.2)
ORDERED = ChannelResponse([["1/2", "1/3", "1/6"], ["1/4", "1/2", "1/4"], ["1/6", "1/3", "1/2"]])
FOUR = ChannelResponse([["1/5", 0, "1/2", "3/10"], [0, "1/5", "3/10", "1/2"]])
PAIRS = {"two by two": (WARNER, CROSSWISE), "two by three": (WARNER, THREE), "rectangular": (FOUR, WARNER)}


def rows_of(table):
    """Two columns of codes with this table of counts."""
    pairs = np.array(list(itertools.product(*(range(size) for size in table.shape))))
    return np.repeat(pairs, np.asarray(table).reshape(-1), axis=0).T


@pytest.mark.parametrize("name", PAIRS)
def test_mean_and_covariance_by_enumeration(name):
    """Over all tables of report pairs: E F̂ = F and Cov F̂ = (A₁⊗A₂)(diag p − pp')(A₁⊗A₂)'/n."""
    first, second = PAIRS[name]
    shape = first.shape[0], second.shape[0]
    F = np.random.default_rng(0).dirichlet(np.ones(shape[0] * shape[1])).reshape(shape)
    p = (first.matrix().T @ F @ second.matrix()).reshape(-1)
    n = 2
    tables, probability = report_tables(p, n)
    results = [crosstab_of_reports(*rows_of(t.reshape(first.shape[1], second.shape[1])), first, second) for t in tables]
    mean, covariance = mean_and_covariance(np.array([r.estimate.reshape(-1) for r in results]), probability)
    A = np.kron(first.inverse.as_matrix(), second.inverse.as_matrix())
    np.testing.assert_allclose(mean, F.reshape(-1), atol=1e-12)
    np.testing.assert_allclose(covariance, A @ (np.diag(p) - np.outer(p, p)) @ A.T / n, atol=1e-12)
    expected = np.tensordot(probability, np.array([r.covariance for r in results]), 1)
    np.testing.assert_allclose(expected, covariance * (n - 1) / n, atol=1e-12)
    for r in results:
        np.testing.assert_allclose(r.std_error.reshape(-1) ** 2, np.diag(r.covariance), atol=1e-12)


def test_structured_map_equals_its_matrix():
    """A₁⊗A₂ applied without writing it out is the same as with."""
    inverse = KroneckerInverse(THREE.inverse, FOUR.inverse)
    p = np.random.default_rng(1).dirichlet(np.ones(12))
    A = np.kron(THREE.inverse.as_matrix(), FOUR.inverse.as_matrix())
    np.testing.assert_allclose(inverse.as_matrix(), A)
    np.testing.assert_allclose(inverse.apply(p), A @ p, atol=1e-13)
    np.testing.assert_allclose(inverse.variances(p), np.diag(A @ (np.diag(p) - np.outer(p, p)) @ A.T), atol=1e-12)


def test_public_column_is_left_alone():
    """Crossed with a public column: each row of the table is that group's corrected frequencies times its share."""
    rng = np.random.default_rng(3)
    public = np.array(["f", "m"])[rng.integers(0, 2, 600)]
    reports = rng.integers(0, 3, 600)
    table = crosstab_of_reports(public, reports, None, THREE, column_labels=["x", "y", "z"])
    assert table.row_labels == ["f", "m"]
    assert table.column_labels == ["x", "y", "z"]
    for i, label in enumerate(["f", "m"]):
        own = reports[public == label]
        expected = THREE.inverse.apply(np.bincount(own, minlength=3) / 600)
        np.testing.assert_allclose(table.estimate[i], expected, atol=1e-13)


@pytest.mark.parametrize("name", PAIRS)
def test_chebyshev_covers_cells(name):
    """Chebyshev on cells is rigorous: coverage by enumeration at level 80 %."""
    first, second = PAIRS[name]
    shape = first.shape[0], second.shape[0]
    for seed in range(3):
        F = np.random.default_rng(seed).dirichlet(np.full(shape[0] * shape[1], 0.4)).reshape(shape)
        p = (first.matrix().T @ F @ second.matrix()).reshape(-1)
        tables, probability = report_tables(p, 3)
        covered = np.zeros(shape)
        for t, chance in zip(tables, probability, strict=True):
            bounds = crosstab_of_reports(*rows_of(t.reshape(first.shape[1], second.shape[1])), first, second).interval(
                0.8, "chebyshev"
            )
            covered += chance * ((bounds[..., 0] <= F + 1e-12) & (bounds[..., 1] >= F - 1e-12))
        assert covered.min() >= 0.8


def test_table_target():
    """Randomisation error only: the sampling covariance (diag F − FF')/n is gone."""
    counts = np.array([[300, 200, 250], [180, 260, 210]])
    whole = crosstab_of_reports(*rows_of(counts), WARNER, THREE)
    table = crosstab_of_reports(*rows_of(counts), WARNER, THREE, target="table")
    f = whole.estimate.reshape(-1)
    sampling = (np.diag(f) - np.outer(f, f)) / whole.n
    np.testing.assert_allclose(table.covariance, whole.covariance - sampling, atol=1e-12)
    with pytest.raises(EstimationError, match="population"):
        table.chi_square()


def simulate_p_values(first, second, F, n, runs, seed, corrected=False):
    """p-values of the test over simulated tables of reports; or of Pearson on the corrected table."""
    rng = np.random.default_rng(seed)
    p = (first.matrix().T @ F @ second.matrix()).reshape(-1)
    values = []
    for counts in rng.multinomial(n, p, runs):
        result = crosstab_of_reports(*rows_of(counts.reshape(first.shape[1], second.shape[1])), first, second)
        if corrected:
            T = n * result.estimate
            expected = np.outer(T.sum(axis=1), T.sum(axis=0)) / n
            values.append(chi2.sf(np.sum((T - expected) ** 2 / expected), (T.shape[0] - 1) * (T.shape[1] - 1)))
        else:
            values.append(result.chi_square().p_value)
    return np.array(values)


@pytest.mark.parametrize(
    ("first", "second", "method"),
    [(WARNER, THREE, "pearson"), (FOUR, WARNER, "wald"), (FOUR, ORDERED, "wald")],
)
def test_level_under_independence(first, second, method):
    """Independent truths are rejected 5 % of the time (2,000 tables: ± 6 standard errors); Pearson on the
    corrected table rejects far more often.
    """
    r = np.array([0.3, 0.7])
    c = np.full(second.shape[0], 1 / second.shape[0])
    runs = 2000
    values = simulate_p_values(first, second, np.outer(r, c), 800, runs, seed=5)
    margin = 6 * np.sqrt(0.05 * 0.95 / runs)
    assert np.mean(values < 0.05) == pytest.approx(0.05, abs=margin)
    assert np.mean(values < 0.5) == pytest.approx(0.5, abs=6 * np.sqrt(0.25 / runs))
    wrong = simulate_p_values(first, second, np.outer(r, c), 800, 300, seed=6, corrected=True)
    assert np.mean(wrong < 0.05) > 0.2
    assert crosstab_of_reports([0, 1, 0, 1], [0, 0, 1, 1], first, second).chi_square().method == method


def test_power_against_association():
    """An association of the truths is found in spite of the randomisation."""
    F = np.array([[0.25, 0.05], [0.15, 0.55]])
    values = simulate_p_values(WARNER, CROSSWISE, F, 2000, 100, seed=9)
    assert np.mean(values < 0.05) > 0.95


def test_pearson_is_scipys_on_the_reports():
    """For square channels the statistic is Pearson's on the table of reports, and equals the general formula."""
    counts = np.array([[90, 60, 70], [55, 80, 45]])
    test = crosstab_of_reports(*rows_of(counts), WARNER, THREE).chi_square()
    reference = chi2_contingency(counts, correction=False)
    assert test.method == "pearson"
    assert test.statistic == pytest.approx(reference.statistic, rel=1e-12)
    assert test.p_value == pytest.approx(reference.pvalue, rel=1e-9)
    assert test.df == 2
    # Equal weights take the Rao–Scott road, whose statistic before correction is the same.
    weighted = crosstab_of_reports(*rows_of(counts), WARNER, THREE, weights=np.ones(400)).chi_square()
    assert weighted.method == "rao-scott"
    assert weighted.statistic * weighted.df == pytest.approx(test.statistic, rel=0.15)
    assert weighted.p_value == pytest.approx(test.p_value, rel=0.3)


def test_tail_is_accurate_far_out():
    """Tiny p-values come from the survival function, not from 1 − cdf."""
    test = crosstab_of_reports(*rows_of(np.array([[500, 0], [0, 500]])), WARNER, CROSSWISE).chi_square()
    assert 0 < test.p_value < 1e-200
    assert test.p_value == pytest.approx(chi2.sf(test.statistic, 1), rel=1e-6)


def test_clusters_need_the_correction():
    """Clustered people and independent truths: Rao–Scott keeps the level, the plain test does not."""
    rng = np.random.default_rng(21)
    rejected = np.zeros(2)
    runs, clusters, size = 400, 40, 15
    who = np.repeat(np.arange(clusters), size)
    for _ in range(runs):
        a = np.where(rng.random(who.size) < 0.8, (rng.random(clusters) < 0.5)[who], rng.random(who.size) < 0.5)
        b = np.where(rng.random(who.size) < 0.8, (rng.random(clusters) < 0.5)[who], rng.random(who.size) < 0.5)
        reports = [
            np.where(rng.random(who.size) < 0.9, column, 1 - column).astype(int)
            for column in (a.astype(int), b.astype(int))
        ]
        mechanism = BinaryResponse.warner("9/10")
        plain = crosstab_of_reports(*reports, mechanism, mechanism).chi_square()
        corrected = crosstab_of_reports(*reports, mechanism, mechanism, clusters=who).chi_square()
        rejected += [plain.p_value < 0.05, corrected.p_value < 0.05]
    assert rejected[0] / runs > 0.2
    assert rejected[1] / runs < 0.05 + 6 * np.sqrt(0.05 * 0.95 / runs)
    assert corrected.method == "rao-scott"
    assert corrected.df_denominator == pytest.approx(corrected.df * (clusters - 1))


def test_designs_by_row_are_tested_with_the_robust_variance():
    """Rows asked in two ways: the estimate is the mean of φ₁φ₂', and the level is right."""
    rng = np.random.default_rng(2)
    mechanisms = {"direct": BinaryResponse.direct(), "crosswise": CROSSWISE}
    public, runs, n = rng.integers(0, 3, 600), 600, 600
    values = []
    for _ in range(runs):
        mode = np.array(["direct", "crosswise"])[rng.integers(0, 2, n)]
        truth = (rng.random(n) < 0.4).astype(int)
        same = np.where(rng.random(n) < 0.25, truth, 1 - truth)
        reports = np.where(mode == "direct", truth, same)
        table = crosstab_of_reports(reports, public, mechanisms, None, row_designs=mode)
        values.append(table.chi_square().p_value)
    phi = np.array([mechanisms[m].inverse.as_matrix()[:, y] for m, y in zip(mode, reports, strict=True)])
    np.testing.assert_allclose(table.estimate, phi.T @ np.eye(3)[public] / n, atol=1e-12)
    assert np.mean(np.array(values) < 0.05) == pytest.approx(0.05, abs=6 * np.sqrt(0.05 * 0.95 / runs))
    assert table.chi_square().method == "rao-scott"


def test_weights_equal_brute_force():
    """Weighted cells and their linearised covariance, by explicit sums."""
    rng = np.random.default_rng(8)
    a, b, w = rng.integers(0, 2, 200), rng.integers(0, 3, 200), rng.uniform(1, 4, 200)
    table = crosstab_of_reports(a, b, WARNER, ORDERED, weights=w)
    phi = np.array(
        [
            np.outer(WARNER.inverse.as_matrix()[:, i], ORDERED.inverse.as_matrix()[:, j]).reshape(-1)
            for i, j in zip(a, b, strict=True)
        ]
    )
    estimate = w @ phi / w.sum()
    z = w[:, None] * (phi - estimate) / w.sum()
    np.testing.assert_allclose(table.estimate.reshape(-1), estimate, atol=1e-12)
    np.testing.assert_allclose(table.covariance, 200 / 199 * z.T @ z, atol=1e-13)


def test_large_tables_have_errors_but_no_matrix():
    """Seventy by seventy cells: standard errors yes, the full matrix refused with a clear sentence."""
    mechanism = GeneralizedResponse(70, 3.0)
    rng = np.random.default_rng(0)
    table = crosstab_of_reports(rng.integers(0, 70, 5000), rng.integers(0, 70, 5000), mechanism, mechanism)
    assert table.std_error.shape == (70, 70)
    assert table.interval().shape == (70, 70, 2)
    assert table.interval(method="chebyshev").shape == (70, 70, 2)
    assert table.chi_square().df == 69**2
    assert "more cells" in table.summary()
    with pytest.raises(EstimationError, match="4,096"):
        _ = table.covariance


def test_results_print_and_serialise():
    """Summary, repr and JSON of the table and of the test."""
    table = crosstab_of_reports(
        *rows_of(np.array([[90, 60], [55, 80]])), WARNER, CROSSWISE, row_labels=Binary(), column_labels=["n", "s"]
    )
    assert table.shape == (2, 2)
    assert "Joint frequencies of the population: unbiased, n = 285" in str(table)
    assert "no × n 0.0263 (0.0682)" in repr(table)
    assert json.loads(json.dumps(table.to_dict()))["row_labels"] == ["no", "yes"]
    test = table.chi_square()
    assert "χ²" in str(test)
    assert "df = 1" in str(test)
    assert json.loads(json.dumps(test.to_dict()))["p_value"] == test.p_value
    assert not table.empty(method="chebyshev").any()
    assert (table.interval(method="wilson") >= 0).all()
    with pytest.raises(EstimationError, match="share of one report"):
        table.interval(method="clopper-pearson")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0, 1], [0, 1, 1], WARNER, WARNER), "same rows"),
        (([0, 3], [0, 1], WARNER, WARNER), "row 1 .*out of range"),
        (([0, 1], [0, 5], WARNER, WARNER), "row 1 .*out of range"),
        (([], [], WARNER, WARNER), "n = 0"),
        ((["a", "a"], [0, 1], None, WARNER), "fewer than two"),
        (([1, -1], [0, 1], None, WARNER), "row 1 .*out of range"),
        (([0, 1], [0, 1], WARNER, "b"), "mechanism"),
    ],
)
def test_bad_input(arguments, message):
    """What is wrong is said in one sentence."""
    with pytest.raises(EstimationError, match=message):
        crosstab_of_reports(*arguments)


def test_degenerate_tables_cannot_be_tested():
    """A column with a single report has no association to test."""
    with pytest.raises(EstimationError, match="only one report"):
        crosstab_of_reports([0, 0, 0], [0, 1, 1], WARNER, CROSSWISE).chi_square()
    with pytest.raises(EstimationError, match="only one report"):
        crosstab_of_reports([0, 0, 0], [0, 1, 1], FOUR, CROSSWISE).chi_square()
    missing = crosstab_of_reports([0, 1, 0, 1], [0, 1, 1, 0], WARNER, THREE).chi_square()
    assert any("never occurred" in note for note in missing.notes)
    assert missing.df == 1


def test_negative_plug_in_variance_falls_back_and_says_so():
    """Few people, many cells: a table variance that would be negative is computed from the fitted frequencies."""
    mechanism = GeneralizedResponse(3, 3.0)
    table = crosstab_of_reports([0] * 8, [0] * 8, mechanism, mechanism, target="table")
    assert any("negative" in note for note in table.notes)
    assert np.all(table.std_error > 0)
    np.testing.assert_allclose(np.diag(table.covariance), table.std_error.reshape(-1) ** 2, atol=1e-14)


def test_a_cell_next_to_zero_has_no_odds_ratio():
    """The end of its interval would be no number; it is said, as for a cell that is not positive."""
    with pytest.raises(EstimationError, match="next to zero"):
        odds_ratio(np.array([[0.5, 1e-6], [0.2, 0.3]]), np.eye(4) * 1e-3, 0.95)
