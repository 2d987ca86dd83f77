"""A table in, a private table out: what is copied, randomised, dropped and promised."""

from __future__ import annotations

import datetime as dt
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet import BudgetError, DomainError, Randomness, ReleaseError
from discreet.publish import Plan, release
from discreet.reading import Release
from tests.publish.conftest import block_of, plan_of

SIZE = 40_000


def reports(done, column="cheated"):
    return done.block(column).reports.encode(done.to_arrow().column(column))


def test_unlisted_columns_are_dropped(source, out):
    """The safe default: nothing of them is left, not even the name."""
    release(source, plan_of(public=[{"columns": ["sex"]}]), out / "out.parquet")
    assert Release.open(out / "out.parquet").columns == ["sex", "cheated"]
    assert b"secret" not in (out / "out.parquet").read_bytes()


def test_public_columns_are_copied_and_stay_with_their_row(out):
    """Every row keeps its public cells together, in whatever order the rows come out."""
    table = pa.table({"a": range(1000), "b": [f"t{i}" for i in range(1000)], "cheated": ["no"] * 1000})
    done = release(table, plan_of(public=[{"columns": ["b", "a"]}]), out / "out.parquet")
    rows = done.to_arrow().to_pydict()
    assert rows["b"] == [f"t{i}" for i in rows["a"]]
    assert sorted(rows["a"]) == list(range(1000))
    assert rows["a"] != list(range(1000))


def test_public_types_survive_a_parquet_release(out):
    """Times, decimals and lists are copied as they are."""
    table = pa.table(
        {
            "when": pa.array([dt.datetime(2024, 1, 1, 3)] * 2, pa.timestamp("ms", "Europe/Rome")),
            "tags": [["x"], None],
            "pair": [{"a": 1}, {"a": 2}],
            "cheated": ["no", "yes"],
        }
    )
    names = ["when", "tags", "pair"]
    done = release(table, plan_of(public=[{"columns": names}], output={"order": "keep"}), out / "out.parquet")
    assert done.to_arrow(names).equals(table.select(names))


@pytest.mark.parametrize("domain", [["no", "yes"], [False, True], [0, 1]], ids=str)
def test_reports_follow_the_mechanism(domain):
    """The share of "yes" among truths 0 and 1 is within 6 standard errors of the channel, and not of a wrong one."""
    truth = np.arange(SIZE) % 2
    table = pa.table({"x": truth, "cheated": [domain[i] for i in truth]})
    plan = plan_of(block_of(domain={"binary": domain}, delta=0.1, prevalence=0.25), public=[{"columns": ["x"]}])
    done = release(table, plan, randomness=Randomness.seeded(11))
    x, y = done.to_arrow().column("x").to_numpy(), reports(done)
    channel = done.mechanism("cheated").matrix()
    for value in (0, 1):
        share, expected = y[x == value].mean(), channel[value, 1]
        error = 6 * np.sqrt(0.25 / (SIZE / 2))
        assert abs(share - expected) < error
        assert abs(share - (1 - expected)) > error


def test_columns_of_a_block_are_randomised_independently():
    """The lies in one column say nothing about those in the other."""
    table = pa.table({"a": ["no"] * SIZE, "b": ["no"] * SIZE})
    done = release(table, plan_of(block_of(columns=["a", "b"])), randomness=Randomness.seeded(4))
    a, b = (reports(done, name).astype(float) for name in "ab")
    assert abs(np.corrcoef(a, b)[0, 1]) < 6 / np.sqrt(SIZE)
    assert a.mean() > 0.2


def test_a_categorical_column_is_randomised_over_its_whole_domain():
    """Values that nobody has are reported too."""
    plan = plan_of(block_of(domain={"categorical": ["a", "b", "c", "d"]}, epsilon=0.1))
    done = release(pa.table({"cheated": ["a"] * SIZE}), plan, randomness=Randomness.seeded(4))
    counts = np.bincount(reports(done), minlength=4)
    assert counts.min() > SIZE / 5


def test_a_rectangular_channel_releases_its_own_labels(out):
    """Report labels differ from truth labels."""
    block = block_of(
        mechanism="channel",
        epsilon=None,
        matrix=[["1/2", "1/4", "1/4"], ["1/4", "1/4", "1/2"]],
        reports=["rather no", "cannot say", "rather yes"],
    )
    done = release(pa.table({"cheated": ["no", "yes"] * 100}), plan_of(block), out / "out.csv")
    assert set(done.to_arrow().column("cheated").to_pylist()) == {"rather no", "cannot say", "rather yes"}


def test_four_reports_are_released_with_their_flags(out):
    """A flagged report is the truth."""
    table = pa.table({"x": ["no", "yes"] * 500, "cheated": ["no", "yes"] * 500})
    plan = plan_of(block_of(delta=0.3, reports=4), public=[{"columns": ["x"]}])
    done = release(table, plan, out / "out.parquet").to_arrow().to_pylist()
    certain = [row for row in done if row["cheated"].endswith("(certain)")]
    assert certain
    assert all(row["cheated"] == f"{row['x']} (certain)" for row in certain)


def test_a_missing_answer_as_a_category_is_protected():
    """Blanks appear among those who answered, and some of the blank are not blank."""
    table = pa.table({"x": [0, 1] * 2000, "cheated": ["no", None] * 2000})
    plan = plan_of(block_of(missing="category"), public=[{"columns": ["x"]}])
    done = release(table, plan, randomness=Randomness.seeded(1)).to_arrow().to_pylist()
    blank = {x: sum(row["cheated"] is None for row in done if row["x"] == x) for x in (0, 1)}
    assert 0 < blank[0] < blank[1] < 2000


def test_public_blanks_are_copied_and_said_so(out):
    """The blank stays where it was, and the guarantee names it."""
    table = pa.table({"x": [0, 1] * 50, "cheated": ["no", None] * 50})
    plan = plan_of(block_of(missing="public"), public=[{"columns": ["x"]}])
    for name in ("out.parquet", "out.csv"):
        done = release(table, plan, out / name)
        assert all((row["cheated"] is None) == (row["x"] == 1) for row in done.to_arrow().to_pylist())
        assert done.guarantee.caveats == ('whether "cheated" is blank is published as it is',)


def test_nan_is_missing():
    """Not-a-number in a private column is a blank, not a value."""
    block = block_of(domain={"grid": {"low": 0, "high": 1, "points": 3}})
    table = pa.table({"cheated": [0.1, float("nan")]})
    with pytest.raises(DomainError, match=r"row 1 .*missing"):
        release(table, plan_of(block))


def test_without_policy_a_null_is_refused():
    """Row and column are named."""
    with pytest.raises(DomainError, match=r'column "cheated", row 2 \(counted from 0\): the value is missing'):
        release(pa.table({"cheated": ["no", "yes", None]}), plan_of())


def test_rows_are_counted_across_batches(monkeypatch):
    """The row of an error is the row of the table, not of a batch."""
    table = pa.table({"cheated": pa.chunked_array([["no"] * 10, ["yes"] * 5, ["no", "maybe"]])})
    with pytest.raises(DomainError, match="row 16 ") as caught:
        release(table, plan_of())
    assert caught.value.row == 16
    assert caught.value.value == "maybe"
    assert "maybe" not in str(caught.value)


def test_the_guarantee_adds_up_and_ends_up_in_the_manifest(table, out):
    """Blocks compose; the stated figure is never below what was asked, and hardly above."""
    plan = plan_of(
        block_of(), block_of(columns=["sex"], domain={"categorical": ["f", "m", "x"]}, epsilon=0.5), title="Two"
    )
    done = release(table, plan, out / "out.parquet")
    assert done.guarantee == Plan.from_dict(plan).guarantee
    assert done.guarantee.epsilon == pytest.approx(1.5, rel=1e-8)
    assert done.manifest.title == "Two"
    assert done.manifest.secure is True


def test_a_seed_is_marked_into_the_manifest_and_not_written(table, out):
    """Insecure all the way, reproducible, and the seed itself stays out."""
    first = release(table, plan_of(), out / "a.parquet", randomness=Randomness.seeded(987654321))
    second = release(table, plan_of(), out / "b.parquet", randomness=Randomness.seeded(987654321))
    assert first.to_arrow().equals(second.to_arrow())
    assert first.manifest.insecure
    assert b"987654321" not in (out / "a.parquet").read_bytes()


def test_only_our_randomness_is_accepted(table):
    """A numpy generator is not secure and is refused."""
    with pytest.raises(ValueError, match="Randomness"):
        release(table, plan_of(), randomness=np.random.default_rng(1))


def test_a_plan_over_budget_is_refused_before_the_source_is_touched(out):
    """Not even the schema is asked for."""

    class Untouchable:
        def __arrow_c_stream__(self, requested_schema=None):
            raise AssertionError("the source was read")

    with pytest.raises(BudgetError, match=r"needs ε = 1, .*allows ε = 0\.5"):
        release(Untouchable(), plan_of(budget={"epsilon": 0.5}), out / "out.parquet")
    assert list(out.iterdir()) == []


@pytest.mark.parametrize("batch", [1, 3, 1000])
@pytest.mark.parametrize("column", ["text", "number", "dictionary"])
def test_more_rows_per_person_than_declared_are_refused(batch, column):
    """Counted across batches; the error names no person."""
    people = [f"person-{i}" for i in range(20)] * 2
    values = {
        "text": people,
        "number": [int(p[7:]) for p in people],
        "dictionary": pa.array(people).dictionary_encode(),
    }
    table = pa.table({"who": values[column], "cheated": ["no"] * 40})
    with pytest.raises(ReleaseError, match=r"^a person has more than 1 row, which is what rows_per_person") as caught:
        release(table.to_reader(batch), plan_of(budget={"person": "who"}))
    assert "person-" not in str(caught.value)
    done = release(table.to_reader(batch), plan_of(budget={"person": "who", "rows_per_person": 2}))
    assert done.guarantee.unit == "person"
    assert done.guarantee.epsilon == pytest.approx(2.0, rel=1e-8)
    assert (done.manifest.rows_per_person, done.manifest.person_checked) == (2, True)
    assert done.columns == ["cheated"]


def test_a_declared_number_without_a_column_is_taken_as_declared(table):
    """It multiplies, and the manifest says that it was not checked."""
    done = release(table, plan_of(budget={"rows_per_person": 4}))
    assert (done.manifest.rows_per_person, done.manifest.person_checked) == (4, False)
    assert done.guarantee.epsilon == pytest.approx(4.0, rel=1e-8)


def test_an_unnamed_person_is_refused():
    """A row that belongs to nobody cannot be counted."""
    table = pa.table({"who": ["a", None], "cheated": ["no", "yes"]})
    with pytest.raises(ReleaseError, match=r'column "who", row 1 .*not named'):
        release(table, plan_of(budget={"person": "who"}))


def test_survey_columns_are_public_and_have_roles(out):
    """They are copied without being listed, and every role is in the manifest."""
    table = pa.table({"w": [1.0, 2.0], "s": ["a", "b"], "c": [1, 2], "cheated": ["no", "yes"]})
    plan = plan_of(survey={"weight": "w", "strata": "s", "cluster": "c"}, public=[{"columns": ["s"]}])
    done = release(table, plan, out / "out.csv")
    assert [(c.name, c.role) for c in done.manifest.columns] == [
        ("s", "strata"),
        ("w", "weight"),
        ("c", "cluster"),
        ("cheated", "private"),
    ]
    assert done.survey.to_dict() == {"weight": "w", "strata": "s", "cluster": "c"}


@pytest.mark.parametrize("weight", [-1.0, 0.0, None, float("inf"), float("nan"), "heavy"], ids=str)
def test_a_survey_weight_is_a_number_above_zero(weight):
    """Anything else is found before it spoils an estimate."""
    table = pa.table({"w": [weight if weight == "heavy" else 1.0, weight][::-1], "cheated": ["no", "yes"]})
    if weight == "heavy":
        table = pa.table({"w": ["heavy", "light"], "cheated": ["no", "yes"]})
    with pytest.raises(ReleaseError, match=r'"w".*weight'):
        release(table, plan_of(survey={"weight": "w"}))


def test_a_plan_can_be_given_in_three_ways(table, tmp_path):
    """A Plan, its path, or its plain data."""
    path = tmp_path / "plan.toml"
    path.write_text(
        '[[private]]\ncolumns = ["cheated"]\ndomain = { binary = ["no", "yes"] }\n'
        'mechanism = "randomized-response"\nepsilon = 1.0\n'
    )
    tables = [
        release(table, plan, randomness=Randomness.seeded(1)).to_arrow()
        for plan in (path, str(path), Plan.read(path), plan_of())
    ]
    assert all(other.equals(tables[0]) for other in tables)


def test_the_manifest_of_a_release_is_complete(table, out):
    """Everything that the design lists is there, and no path."""
    release(table, plan_of(title="T", budget={"person": "id"}), out / "out.csv")
    data = json.loads((out / "out.csv.manifest.json").read_text())
    assert data["format"] == 1
    assert data["rows"] == 4
    assert data["order"] == "shuffle"
    assert data["randomness"] == {"secure": True, "source": "AES-256-CTR, keyed by OpenSSL"}
    assert data["columns"] == [{"name": "cheated", "role": "private"}]
    assert data["release"]["title"] == "T"
    assert str(out) not in json.dumps(data)


def test_row_groups_have_a_fixed_size(tmp_path, monkeypatch):
    """Their borders depend on the columns alone, whatever the source's were."""
    from discreet.tables import readers as tables

    monkeypatch.setattr(tables, "MAX_BATCH_ROWS", 64)
    monkeypatch.setattr(tables, "MIN_BATCH_ROWS", 64)
    pq.write_table(pa.table({"cheated": ["no"] * 7 + ["yes"] * 193}), tmp_path / "in.parquet", row_group_size=7)
    for order in ("keep", "shuffle"):
        release(tmp_path / "in.parquet", plan_of(output={"order": order}), tmp_path / f"{order}.parquet", ledger=None)
        metadata = pq.read_metadata(tmp_path / f"{order}.parquet")
        assert [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)] == [64, 64, 64, 8]


def test_a_weight_is_a_number_however_it_is_written(tmp_path):
    """A CSV may write +1.5; the cell stays as it is, and the analyst gets a number."""
    (tmp_path / "in.csv").write_text("w,cheated\n+1.5,no\n2,yes\n")
    plan = plan_of(survey={"weight": "w"}, output={"order": "keep"})
    done = release(tmp_path / "in.csv", plan, tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text().splitlines()[1].startswith("+1.5,")
    assert done.to_arrow().column("w").to_pylist() == [1.5, 2.0]
