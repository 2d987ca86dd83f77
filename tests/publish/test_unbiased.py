"""A plan for unbiased numbers: from numbers between the points to their mean."""

from __future__ import annotations

import json
import math

import numpy as np
import pyarrow as pa
import pytest

from discreet import DomainError, Grid, Plan, PlanError, Randomness, Release, design, estimate, release
from discreet.audit import audit
from discreet.blocks import ColumnBlock, RoundedBlock
from discreet.errors import EstimationError
from discreet.mechanisms import UnbiasedResponse
from tests.cli.test_commands import discreet

HOURS = {
    "columns": ["hours"],
    "domain": {"grid": {"low": 0, "high": 60, "points": 7}},
    "mechanism": "unbiased",
    "epsilon": 1.0,
}
N = 60_000


def plan(**more):
    return {"format": 1, "private": [HOURS | more], "public": [{"columns": ["sex"]}]}


def people(n=N):
    rng = np.random.default_rng(1)
    sex = rng.choice(["f", "m"], n)
    hours = np.clip(rng.gamma(4, 8, n) + 5 * (sex == "m"), 0, 60)
    return pa.table({"hours": hours, "sex": sex})


@pytest.mark.parametrize("name", ["out.parquet", "out.csv"])
def test_numbers_from_release_to_mean(tmp_path, name):
    """The mean of the released numbers is the mean of the truths, overall and by group, and the audit agrees."""
    table = people()
    release(table, plan(), tmp_path / name, randomness=Randomness.seeded(2), ledger=None)
    opened = Release.open(tmp_path / name)
    block = opened.manifest.blocks[0]
    assert isinstance(block, RoundedBlock)
    assert opened.guarantee.pure
    assert 1 - 1e-9 <= opened.guarantee.epsilon <= 1.0
    reported = opened.to_arrow().column("hours").to_numpy()
    assert set(reported.tolist()) <= set(opened.mechanism("hours").values.tolist())
    found = estimate.mean(opened, "hours")
    assert found.estimate[0] == pytest.approx(reported.mean(), rel=1e-12)
    assert found.std_error[0] == pytest.approx(reported.std() / math.sqrt(N), rel=1e-4)
    assert abs(found.estimate[0] - np.mean(table["hours"].to_numpy())) < 6.5 * found.std_error[0]
    groups = estimate.mean(opened, "hours", by="sex")
    truth = [np.mean(table["hours"].to_numpy()[table["sex"].to_numpy() == sex]) for sex in "fm"]
    assert np.all(np.abs(groups.estimate - truth) < 6.5 * groups.std_error)
    assert [one.subject for one in audit(opened).findings if one.verdict == "failure"] == ["randomness"]  # seeded


def test_the_mean_is_unbiased_where_rounding_to_the_nearest_point_would_not_be():
    """All numbers at a third of the way between two points: the nearest point is ten off by a third."""
    n = 400_000
    given = pa.table({"hours": np.full(n, 13.0), "sex": ["f"] * n})
    out = release(given, plan(epsilon=4.0), randomness=Randomness.seeded(5))
    found = estimate.mean(out, "hours")
    assert abs(found.estimate[0] - 13) < 6.5 * found.std_error[0]
    assert abs(found.estimate[0] - 10) > 6.5 * found.std_error[0]


def test_intervals_cover():
    """400 groups of 300 numbers each, for the population and for the table."""
    groups, each = 400, 300
    truth = np.random.default_rng(3).beta(2, 3, (groups, each))
    table = pa.table({"hours": truth.reshape(-1), "sex": np.repeat(np.arange(groups), each)})
    small = plan(domain={"grid": {"low": 0, "high": 1, "points": 5}}, epsilon=2.0)
    out = release(table, small, randomness=Randomness.seeded(7))
    for target, value in (("population", 0.4), ("table", truth.mean(axis=1))):
        ends = estimate.mean(out, "hours", by="sex", target=target).interval()
        covered = np.mean((ends[:, 0] <= value) & (value <= ends[:, 1]))
        assert abs(covered - 0.95) < 6.5 * math.sqrt(0.95 * 0.05 / groups)


def test_a_regression_takes_them_for_numbers():
    """Least squares unless classes are asked for; a predictor says that it was rounded."""
    table = people(4_000)
    both = plan() | {"public": [{"columns": ["sex", "age"]}]}
    out = release(table.append_column("age", table["hours"]), both, randomness=Randomness.seeded(4))
    fit = estimate.regression("hours ~ sex", out)
    assert fit.coefficients.size == 2
    assert abs(fit.coefficients[1] - 5) < 6.5 * fit.std_error[1]
    assert any("rounded at random" in note for note in estimate.regression("age ~ hours", out).notes)
    assert any("rounded at random" in note for note in estimate.quantile(out, "hours", 0.5).notes)
    assert any("rounded at random" in note for note in estimate.frequencies(out, "hours").notes)
    assert not estimate.mean(out, "hours").notes


def test_blanks_are_public_or_refused():
    """A blank has no number: it is published as it is, or it is an error."""
    table = pa.table({"hours": pa.array([1.5, None, 58.0] * 500), "sex": ["f"] * 1500})
    out = release(table, plan(missing="public"), randomness=Randomness.seeded(1))
    assert out.to_arrow().column("hours").null_count == 500
    assert estimate.mean(out, "hours").n == 1000
    with pytest.raises(DomainError, match="row 1"):
        release(table, plan())
    with pytest.raises(PlanError, match=r"private\[0\].missing.*no number"):
        Plan.from_dict(plan(missing="category"))


def test_numbers_outside_are_refused_without_being_told():
    """The row and the bounds are named, not the number."""
    table = pa.table({"hours": [1.0, 61.5], "sex": ["f", "f"]})
    with pytest.raises(DomainError, match=r'"hours", row 1.*from 0 to 60') as caught:
        release(table, plan())
    assert "61.5" not in str(caught.value)


def test_ordered_values_are_points_as_they_are():
    """No rounding where values are words with positions."""
    given = plan(domain={"ordinal": ["none", "some", "much"], "positions": [0, 1, 5]})
    out = release(
        pa.table({"hours": ["none", "much"] * 4000, "sex": ["f"] * 8000}), given, randomness=Randomness.seeded(6)
    )
    assert type(out.manifest.blocks[0]) is ColumnBlock
    found = estimate.mean(out, "hours")
    assert abs(found.estimate[0] - 2.5) < 6.5 * found.std_error[0]


def test_reports_of_respondents_are_taken_in():
    """Collected answers are numbers of reports; nothing is rounded or randomised again."""
    mechanism = design.mean(Grid(0, 60, 7), 1.0).mechanism
    answers = mechanism.values[mechanism.privatize(np.full(5000, 3), Randomness.seeded(1))]
    out = Release.from_reports(pa.table({"hours": answers, "sex": ["f"] * 5000}), Plan.from_dict(plan(collected=True)))
    assert isinstance(out.mechanism("hours"), UnbiasedResponse)
    found = estimate.mean(out, "hours")
    assert abs(found.estimate[0] - 30) < 6.5 * found.std_error[0]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"domain": {"categorical": ["a", "b"]}}, r"private\[0\].mechanism.*numbers"),
        ({"delta": 0.1}, r"private\[0\].delta does not belong"),
        ({"high": 3}, r"private\[0\].high does not belong"),
        ({"epsilon": 0.001}, r"from 0.01 to 8"),
        ({"domain": {"grid": {"low": 0, "high": 1, "points": 900}}}, "up to 64 points"),
        ({"prior": [0.5, 0.5]}, r"private\[0\].prior"),
        ({"prior": [0.5] * 7}, r"private\[0\].prior.*sum"),
    ],
)
def test_what_does_not_fit_is_one_sentence(changes, message):
    """Each names its key."""
    with pytest.raises(PlanError, match=message):
        Plan.from_dict(plan(**changes))


def test_squares_that_are_not_identified_are_not_guessed():
    """Two reports tell the mean of three points but not their squares: no error of the mean of this very table."""
    mechanism = UnbiasedResponse([[3, 1], [2, 2], [1, 3]], [-1, 0, 1], [-2, 2])
    reports = mechanism.privatize(np.ones(1000, int), Randomness.seeded(1))
    estimate.mean(reports, mechanism, labels=[-1, 0, 1])
    with pytest.raises(EstimationError, match="squares"):
        estimate.mean(reports, mechanism, labels=[-1, 0, 1], target="table")


def test_the_command_line_says_what_a_mean_will_be_worth(tmp_path):
    """The margin of the mean, before any data is read; then the mean."""
    file = tmp_path / "plan.toml"
    file.write_text(
        'format = 1\n[[private]]\ncolumns = ["hours"]\ndomain = { grid = { low = 0, high = 60, points = 7 } }\n'
        'mechanism = "unbiased"\nepsilon = 1.0\n'
    )
    told = discreet("design", str(file), "--rows", "10000")
    assert "mean to ± " in told.stdout
    facts = json.loads(discreet("design", str(file), "--rows", "10000", "--json").stdout)["blocks"][0]
    assert facts["mean_margin"] == pytest.approx(1.96 * 30 * math.sqrt(4.985 / 10_000), rel=1e-3)
