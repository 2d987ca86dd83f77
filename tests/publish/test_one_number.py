"""``report = "one"``: every row reports one of several numbers, drawn at random, and each mean keeps its interval."""

from __future__ import annotations

import json
import math

import numpy as np
import pyarrow as pa
import pytest

from discreet import DomainError, ManifestError, Plan, PlanError, Randomness, Release, estimate, release
from discreet.audit import audit
from discreet.blocks import OneNumberBlock
from discreet.errors import EstimationError
from discreet.manifest import Manifest
from discreet.publish.layout import Layout
from discreet.publish.plan import as_plan
from tests.cli.test_commands import discreet

COLUMNS = ["hours", "income", "age"]
BLOCK = {
    "columns": COLUMNS,
    "domains": [
        {"grid": {"low": 0, "high": 60, "points": 4}},
        {"grid": {"low": 0, "high": 1, "points": 3}},
        {"grid": {"low": 18, "high": 65, "points": 3}},
    ],
    "mechanism": "unbiased",
    "report": "one",
    "epsilon": 1.0,
}
N = 30_000


def plan(**more):
    return {"format": 1, "private": [BLOCK | more], "public": [{"columns": ["sex"]}]}


def people(n=N, seed=1):
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], n)
    return pa.table(
        {
            "hours": np.clip(rng.gamma(4, 7, n) + 5 * (sex == "m"), 0, 60),
            "income": rng.beta(2, 5, n),
            "age": rng.uniform(18, 65, n),
            "sex": sex,
        }
    )


@pytest.fixture(scope="module")
def released():
    """One release for the questions below."""
    return release(people(), plan(), randomness=Randomness.seeded(3))


def test_nothing_lies_under_blanks():
    """The memory of a cell that was not drawn does not hold what it would have reported, nor the truth."""
    table = people(1_000)
    layout = Layout(as_plan(plan()), table.schema)
    coded = layout.encode(table.combine_chunks().to_batches()[0], 0)
    randomised = layout.randomize(coded, Randomness.seeded(1))
    for batch in (randomised, layout.decode(randomised)):
        for name in COLUMNS:
            cells = batch.column(name)
            assert 0 < cells.null_count < 1_000
            stored = pa.Array.from_buffers(cells.type, 1_000, [None, cells.buffers()[1]], offset=cells.offset)
            assert len(set(stored.filter(cells.is_null()).to_pylist())) == 1


@pytest.mark.parametrize("name", ["out.parquet", "out.csv"])
def test_from_plan_to_means(tmp_path, name):
    """A row has one number; every mean is near the truth, by group too; the record has the ε of one number."""
    table = people()
    release(table, plan(), tmp_path / name, randomness=Randomness.seeded(2), ledger=None)
    opened = Release.open(tmp_path / name)
    assert opened.guarantee.pure
    assert 1 - 1e-9 <= opened.guarantee.epsilon <= 1.0
    cells = opened.to_arrow()
    there = np.array([cells.column(column).is_valid().to_numpy() for column in COLUMNS])
    assert (there.sum(axis=0) == 1).all()
    shares = opened.manifest.blocks[0].mechanism.shares
    assert np.all(np.abs(there.mean(axis=1) - shares) < 6.5 * np.sqrt(shares * (1 - shares) / N))
    for column in COLUMNS:
        found, truth = estimate.mean(opened, column), table[column].to_numpy()
        assert abs(found.estimate[0] - truth.mean()) < 6.5 * found.std_error[0]
        reported = cells.column(column).drop_null().to_numpy()
        assert set(reported.tolist()) <= set(opened.mechanism(column).values.tolist())
        groups = estimate.mean(opened, column, by="sex")
        means = [truth[table["sex"].to_numpy() == sex].mean() for sex in "fm"]
        assert np.all(np.abs(groups.estimate - means) < 6.5 * groups.std_error)
    assert [one.subject for one in audit(opened).findings if one.verdict == "failure"] == ["randomness"]  # seeded


def test_intervals_cover():
    """300 groups of 600 rows: each mean covers in 95 of 100, of the population and of those who reported it."""
    groups, each = 300, 600
    rng = np.random.default_rng(5)
    truth = {"hours": 60 * rng.beta(2, 3, groups * each), "income": rng.beta(2, 5, groups * each)}
    table = pa.table(truth | {"sex": np.repeat(np.arange(groups), each)})
    small = plan(columns=["hours", "income"], domains=BLOCK["domains"][:2], epsilon=2.0)
    out = release(table, small, randomness=Randomness.seeded(7))
    for column, value in (("hours", 24.0), ("income", 2 / 7)):
        ends = estimate.mean(out, column, by="sex").interval()
        covered = np.mean((ends[:, 0] <= value) & (value <= ends[:, 1]))
        assert abs(covered - 0.95) < 6.5 * math.sqrt(0.95 * 0.05 / groups)
        # A share of them drawn twice as often as it was would make intervals too narrow by √2, which would be noticed.
        middle, half = ends.mean(axis=1), (ends[:, 1] - ends[:, 0]) / (2 * math.sqrt(3))
        assert np.mean(np.abs(middle - value) < half) < 0.95 - 6.5 * math.sqrt(0.95 * 0.05 / groups)


def test_which_number_is_drawn_says_nothing():
    """Two extreme records have the same chances of every column, whatever they hold."""
    n = 200_000
    for low in (True, False):
        table = pa.table({"hours": np.full(n, 0.0 if low else 60.0), "income": np.full(n, 0.0 if low else 1.0)})
        two = plan(columns=["hours", "income"], domains=BLOCK["domains"][:2]) | {"public": []}
        out = release(table, two, randomness=Randomness.seeded(11))
        share = out.manifest.blocks[0].mechanism.shares[0]
        seen = out.to_arrow().column("hours").is_valid().to_numpy().mean()
        assert abs(seen - share) < 6.5 * math.sqrt(share * (1 - share) / n)


def test_a_mean_of_one_number_beats_a_share_of_the_budget(released):
    """With three numbers at ε = 1 the standard error is well below that of ε/3 each."""
    third = {key: value for key, value in BLOCK.items() if key not in ("report", "domains")}
    split = [
        third | {"columns": [c], "domain": d, "epsilon": 1 / 3} for c, d in zip(COLUMNS, BLOCK["domains"], strict=True)
    ]
    other = release(people(), plan() | {"private": split}, randomness=Randomness.seeded(3))
    assert other.guarantee.epsilon == pytest.approx(released.guarantee.epsilon)
    for column in COLUMNS:
        assert estimate.mean(released, column).std_error[0] < 0.75 * estimate.mean(other, column).std_error[0]


def test_questions_that_it_answers(released):
    """Least squares by default, with the rows that report the outcome; frequencies; tables with a public column."""
    fit = estimate.regression("hours ~ sex", released, missing="drop")
    assert fit.coefficients.size == 2
    assert abs(fit.coefficients[1] - 5) < 6.5 * fit.std_error[1]
    assert any("left out" in note for note in fit.notes)
    reporting = estimate.mean(released, "hours").n
    assert estimate.frequencies(released, "hours", method="bounds").n == reporting
    assert estimate.crosstab(released, "income", "sex").n < N / 2
    assert "of those who reported" in str(estimate.mean(released, "hours", target="table"))


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda out: estimate.total(out, "hours"), "the mean times the number of people"),
        (lambda out: estimate.crosstab(out, "hours", "age"), 'no row has both "hours" and "age"'),
        (lambda out: estimate.correlation(out, "age", "income"), 'no row has both "income" and "age"'),
        (lambda out: estimate.regression("age ~ income", out, missing="drop"), 'no row has both "income" and "age"'),
        (lambda out: estimate.regression("sex ~ hours", out), "missing"),
    ],
)
def test_questions_that_it_cannot_answer(released, ask, message):
    """One sentence each, with the reason."""
    with pytest.raises(EstimationError, match=message):
        ask(released)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"report": "two"}, r"private\[0\].report must be"),
        ({"columns": ["hours"]}, r"private\[0\].report.*several columns"),
        ({"missing": "public"}, r"private\[0\].missing.*another number was drawn"),
        ({"mechanism": "frequencies"}, r'private\[0\].report goes with mechanism = "unbiased"'),
        ({"domain": {"grid": {"low": 0, "high": 1, "points": 3}}}, r"either domain"),
        ({"domains": BLOCK["domains"][:2]}, r"private\[0\].domains has 2 domains"),
        ({"domains": [{"binary": ["no", "yes"]}] * 3}, r"private\[0\].domains.*numbers, on grids"),
        ({"collected": True}, r"private\[0\].collected does not go"),
        ({"delta": 0.1}, r"private\[0\].delta does not go"),
        ({"epsilon": 0.0}, r"private\[0\].epsilon"),
        ({"epsilon": 50.0}, "from 0.01 to 8"),
        ({"repeat": "memoise"}, r"private\[0\].repeat"),
        ({"margin": 0.1}, r"private\[0\].margin"),
    ],
)
def test_bad_plans_are_one_sentence(changes, message):
    """The key is named, with what it should be."""
    with pytest.raises(PlanError, match=message):
        Plan.from_dict(plan(**changes))


def test_one_domain_for_all_columns():
    """``domain`` in place of ``domains``; equal columns are drawn equally often."""
    both = {key: value for key, value in BLOCK.items() if key != "domains"} | {"domain": BLOCK["domains"][1]}
    block = Plan.from_dict({"format": 1, "private": [both]}).blocks[0]
    assert isinstance(block, OneNumberBlock)
    np.testing.assert_allclose(block.mechanism.shares, 1 / 3, atol=1e-9)


def test_bad_cells_are_refused_without_being_told():
    """A number outside, or a blank, in any column, drawn or not."""
    table = people(50)
    for bad in (pa.array([61.5] + [1.0] * 49), pa.array([None] + [1.0] * 49)):
        with pytest.raises(DomainError, match=r'"hours", row 0') as caught:
            release(table.set_column(0, "hours", bad), plan())
        assert "61.5" not in str(caught.value)


def test_an_audit_sees_a_row_with_two_numbers(released):
    """A row that reports two numbers, or none, is no row of this mechanism."""
    batch = next(iter(released.coded()))
    block = released.manifest.blocks[0]
    block.check_rows(batch)
    codes = batch.column("hours").fill_null(0)
    with pytest.raises(DomainError, match="one number"):
        block.check_rows(batch.set_column(batch.schema.get_field_index("hours"), "hours", codes))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("chances",), ["1", "2", "3"]),
        (("chances",), None),
        (("parts",), []),
        (("parts", 0), None),
    ],
)
def test_a_damaged_manifest_is_refused(released, path, value):
    """Chances that do not sum to one, and parts that are missing."""
    data = json.loads(json.dumps(released.manifest.to_dict()))
    place = data["blocks"][0]["mechanism"]
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    with pytest.raises(ManifestError, match="damaged"):
        Manifest.from_dict(data)


def test_the_command_line_shows_it(tmp_path):
    """``design`` says how often each number is reported and how well its mean is known; ``show`` what can be asked."""
    file = tmp_path / "plan.toml"
    file.write_text("""
format = 1
[[private]]
columns = ["hours", "income"]
domains = [{ grid = { low = 0, high = 60, points = 4 } }, { grid = { low = 0, high = 1, points = 3 } }]
mechanism = "unbiased"
report = "one"
epsilon = 1.0
""")
    said = discreet("design", file, "--rows", 20_000)
    assert '"hours": reported by' in said.stdout
    assert "one of 2 numbers per row" in said.stdout
    facts = json.loads(discreet("design", file, "--rows", 20_000, "--json").stdout)["blocks"][0]
    assert sum(facts["shares"]) == pytest.approx(1)
    assert len(facts["mean_margin"]) == 2
    table = people(2_000).select(["hours", "income"])
    release(table, Plan.read(file), tmp_path / "out.parquet", ledger=None)
    shown = discreet("show", tmp_path / "out.parquet").stdout
    assert "drawn at random" in shown
    audited = discreet("audit", tmp_path / "out.parquet", "--attack").stdout
    assert "Nothing was found that contradicts the promise" in audited
    assert "FAILURE" not in audited
