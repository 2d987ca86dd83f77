"""Learning from columns that were randomised together."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binom

from discreet import Plan, design, estimate, release
from discreet.errors import EstimationError, NotIdentifiedError
from discreet.randomness import Randomness

LEVELS = [1.0, 1.0, 1.0]


def _skewed(joint, n, runs, seed, odds=1.0):
    """Reports of two attributes with rare yes, independent unless odds say otherwise, and a third one."""
    generator = np.random.default_rng(seed)
    source = Randomness.seeded(seed)
    for _ in range(runs):
        first = generator.random(n) < 0.1
        chance = np.where(first, 0.1 * odds / (0.9 + 0.1 * odds), 0.1)
        truth = np.column_stack([first, generator.random(n) < chance, generator.random(n) < 0.3]).astype(int)
        yield truth, joint.privatize(truth, source)


def test_independence_test_keeps_its_level_where_pearson_does_not():
    """With n = 1,000 and true independence: ours rejects 5 %, Pearson's χ² on the reports far more."""
    joint = design.attributes([2] * 3, [2.0] * 3, pairs="free").mechanism
    ours = naive = 0
    runs = 400
    for _, reports in _skewed(joint, 1000, runs, 1):
        table = estimate.crosstab_of_reports(reports[:, 0], reports[:, 1], joint.view(0), joint.view(1))
        ours += table.chi_square().p_value < 0.05
        counts = np.histogram2d(reports[:, 0], reports[:, 1], bins=2)[0]
        expected = np.outer(counts.sum(1), counts.sum(0)) / counts.sum()
        naive += ((counts - expected) ** 2 / expected).sum() > 3.841459
    assert binom.cdf(ours, runs, 0.05) > 1e-4
    assert binom.sf(ours - 1, runs, 0.05) > 1e-4
    assert naive / runs > 0.15


def test_independence_test_has_power():
    """A strong association is found."""
    joint = design.attributes([2] * 3, [2.0] * 3).mechanism
    found = [
        estimate.crosstab_of_reports(y[:, 0], y[:, 1], joint.view(0), joint.view(1)).chi_square().p_value < 0.05
        for _, y in _skewed(joint, 4000, 20, 2, odds=30.0)
    ]
    assert np.mean(found) > 0.9


@pytest.mark.parametrize("pairs", ["keep", "free"])
def test_covariance_accounts_for_correlated_errors(pairs):
    """Estimates are unbiased, and their spread over simulations is the stated covariance."""
    joint = design.attributes([2, 2, 3], [1.0, 1.5, 1.0], pairs=pairs).mechanism
    tables, stated = [], []
    for truth, reports in _skewed(joint, 2000, 500, 3):
        table = estimate.joint_table(reports, joint, (0, 1))
        tables.append(table.estimate.reshape(-1) - np.bincount(truth[:, 0] * 2 + truth[:, 1], minlength=4) / 2000)
        stated.append(estimate.joint_table(reports, joint, (0, 1), target="table").covariance)
    spread, expected = np.cov(np.array(tables).T), np.mean(stated, axis=0)
    assert np.all(np.abs(np.mean(tables, axis=0)) < 6 * np.sqrt(np.diag(expected) / 500))
    scale = np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
    np.testing.assert_allclose(spread / scale, expected / scale, atol=0.25)


def test_three_attributes_and_odds_ratio():
    """A table of three attributes is unbiased, and the odds ratio's interval covers."""
    joint = design.attributes([2] * 3, [2.5] * 3).mechanism
    covered, sums = 0, np.zeros((2, 2, 2))
    truths = np.zeros((2, 2, 2))
    runs = 60
    for truth, reports in _skewed(joint, 20_000, runs, 4, odds=4.0):
        table = estimate.joint_table(reports, joint, (0, 1, 2))
        sums += table.estimate
        truths += np.histogramdd(truth, bins=(2, 2, 2))[0] / 20_000
        _, low, high = estimate.joint_table(reports, joint, (0, 1)).odds_ratio()
        covered += low <= 4.0 <= high
    np.testing.assert_allclose(sums / runs, truths / runs, atol=0.01)
    assert binom.cdf(covered, runs, 0.95) > 1e-4
    with pytest.raises(EstimationError, match="two attributes"):
        estimate.joint_table(reports, joint, (0, 1, 2)).chi_square()


def test_erased_association_is_refused():
    """A majority vote tells nothing about pairs: refused with the reason, and single columns still work."""
    joint = design.attributes([2] * 3, [0.5] * 3, pairs="free").mechanism
    reports = joint.privatize(np.zeros((100, 3), int), Randomness.seeded(1))
    with pytest.raises(NotIdentifiedError, match=r'association of attributes 0 and 1.*pairs="keep"'):
        estimate.crosstab_of_reports(reports[:, 0], reports[:, 1], joint.view(0), joint.view(1))
    assert estimate.frequencies(reports[:, 0], joint.view(0)).n == 100


def test_frequencies_of_one_column():
    """One column is corrected by its own exact channel."""
    joint = design.attributes([4, 3, 2], [1.0, 0.5, 2.0]).mechanism
    truth = np.tile([[3, 1, 0]], (50_000, 1))
    reports = joint.privatize(truth, Randomness.seeded(9))
    result = estimate.frequencies(reports[:, 0], joint.view(0))
    assert abs(result.estimate[3] - 1) < 6 * result.std_error[3]


PLAN = """
[[private]]
columns = ["smokes", "region", "drinks"]
domains = [{ binary = ["no", "yes"] }, { categorical = ["n", "s", "e"] }, { binary = ["no", "yes"] }]
mechanism = "joint"
epsilons = [2.0, 2.0, 1.5]
"""


def _table(n):
    generator = np.random.default_rng(0)
    smokes = generator.random(n) < 0.3
    drinks = generator.random(n) < np.where(smokes, 0.8, 0.3)
    words = np.array(["no", "yes"])
    return pa.table(
        {
            "smokes": words[smokes.astype(int)],
            "region": generator.choice(["n", "s", "e"], n),
            "drinks": words[drinks.astype(int)],
        }
    )


def test_release_with_a_joint_block(tmp_path):
    """A joint block is released, read back, learned from and audited."""
    from discreet import Release
    from discreet.audit import audit

    release(_table(20_000), Plan.parse(PLAN), tmp_path / "out.parquet")
    opened = Release.open(tmp_path / "out.parquet")
    assert opened.guarantee.unit == "record"
    assert opened.guarantee.epsilon < 5.0
    pair = estimate.crosstab(opened, "smokes", "drinks")
    assert pair.chi_square().p_value < 1e-6
    assert pair.row_labels == ["no", "yes"]
    three = estimate.joint_table(opened, ["smokes", "region", "drinks"])
    np.testing.assert_allclose(three.estimate.sum(axis=1), pair.estimate, atol=1e-9)
    assert abs(three.estimate[1, :, 1].sum() - 0.24) < 0.05
    assert audit(opened).passed is True
    with pytest.raises(EstimationError, match="two or three"):
        estimate.joint_table(opened, ["smokes"])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("epsilons = [2.0, 2.0, 1.5]", "epsilons = [2.0, 2.0]", r"private\[0\]\.epsilons has 2 numbers"),
        ("epsilons = [2.0, 2.0, 1.5]", "", "needs either epsilons, or total and ratios"),
        ("epsilons = [2.0, 2.0, 1.5]", "total = 3.0", r"private\[0\]\.ratios is missing"),
        ("epsilons = [2.0, 2.0, 1.5]", "epsilons = [2.0, 0.0, 1.5]", r"epsilons\[1\] must be a number above 0"),
        ('mechanism = "joint"', 'mechanism = "joint"\ndelta = 0.1', r"delta does not belong"),
        ('["smokes", "region", "drinks"]', '["smokes", "region"]', "has 3 domains, but there are 2 columns"),
    ],
)
def test_bad_joint_plans(old, new, message):
    """A plan that does not fit together is one clear sentence with the key."""
    from discreet.errors import PlanError

    with pytest.raises(PlanError, match=message):
        Plan.parse(PLAN.replace(old, new))


def test_plan_with_a_total():
    """A total and ratios: the block meets the total."""
    plan = Plan.parse(PLAN.replace("epsilons = [2.0, 2.0, 1.5]", "total = 3.0\nratios = [1, 1, 2]"))
    assert 2.999 < plan.guarantee.epsilon <= 3.0


def test_equal_blocks_are_not_one_block():
    """Two joint responses of the same design are independent of each other: their cross-table is still unbiased."""
    one, other = (design.attributes([2, 2, 4], [1, 1, 2.0]).mechanism for _ in range(2))
    assert one == other
    generator = np.random.default_rng(0)
    n = 100_000
    same = generator.integers(0, 2, n)
    first = np.column_stack([same, generator.integers(0, 2, n), generator.integers(0, 4, n)])
    second = np.column_stack([generator.integers(0, 2, n), same, generator.integers(0, 4, n)])
    a, b = one.privatize(first, Randomness.seeded(1)), other.privatize(second, Randomness.seeded(2))
    table = estimate.crosstab_of_reports(a[:, 0], b[:, 1], one.view(0), other.view(1))
    assert np.max(np.abs(table.estimate - [[0.5, 0], [0, 0.5]]) / table.std_error) < 6.5
    with pytest.raises(EstimationError, match="two different attributes"):
        estimate.crosstab_of_reports(a[:, 0], a[:, 0], one.view(0), one.view(0))


def test_refusal_of_a_triple_does_not_recommend_what_was_done():
    """pairs="keep" keeps tables of two; advice on a table of three names what keeps it."""
    joint = design.attributes([2] * 5, [1.0] * 5).mechanism
    reports = joint.privatize(np.zeros((100, 5), int), Randomness.seeded(1))
    with pytest.raises(NotIdentifiedError, match='pairs="triples" keeps it'):
        estimate.joint_table(reports, joint, (0, 1, 4))
