"""Bad input: one clear sentence, and nothing is written."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet import DiscreetError, DomainError, PlanError, ReleaseError
from discreet.publish import Plan, check, release
from tests.publish.conftest import block_of, plan_of

OK = pa.table({"sex": ["f", "m"], "cheated": ["no", "yes"]})

CASES = {
    "unknown private column": (OK, plan_of(block_of(columns=["lied"])), ReleaseError, 'no column "lied"'),
    "unknown public column": (OK, plan_of(public=[{"columns": ["age"]}]), ReleaseError, 'no column "age"'),
    "unknown survey column": (OK, plan_of(survey={"weight": "w"}), ReleaseError, 'no column "w"'),
    "unknown person": (OK, plan_of(budget={"person": "who"}), ReleaseError, 'no column "who"'),
    "duplicate column in the table": (
        pa.Table.from_arrays([pa.array(["no"]), pa.array(["no"])], names=["cheated", "cheated"]),
        plan_of(),
        ReleaseError,
        'two columns called "cheated"',
    ),
    "duplicate column in the plan": (OK, plan_of(block_of(), block_of()), PlanError, "already"),
    "value outside the domain": (
        pa.table({"cheated": ["no", "perhaps"]}),
        plan_of(),
        DomainError,
        r'column "cheated", row 1 .*not in the domain; expected one of "no", "yes"',
    ),
    "number outside the grid": (
        pa.table({"cheated": [0.5, 1.5]}),
        plan_of(block_of(domain={"grid": {"low": 0, "high": 1, "points": 3}})),
        DomainError,
        "row 1 .*from 0 to 1",
    ),
    "null without policy": (pa.table({"cheated": ["no", None]}), plan_of(), DomainError, "row 1 .*missing"),
    "wrong type": (pa.table({"cheated": [0, 1]}), plan_of(), DomainError, "holds int64 where text is declared"),
    "text for numbers": (
        OK,
        plan_of(block_of(domain={"binary": [0, 1]})),
        DomainError,
        "holds string where a whole number is declared",
    ),
    "text for booleans": (
        OK,
        plan_of(block_of(domain={"binary": [False, True]})),
        DomainError,
        "a boolean is declared",
    ),
    "lists": (pa.table({"cheated": [["no"]]}), plan_of(), DomainError, "holds list"),
    "empty table": (OK.slice(0, 0), plan_of(), ReleaseError, "no rows"),
    "epsilon zero": (OK, plan_of(block_of(epsilon=0)), PlanError, r"private\[0\]\.epsilon must be above 0"),
    "epsilon infinite": (OK, plan_of(block_of(epsilon=float("inf"))), PlanError, "must be finite"),
    "epsilon too large": (OK, plan_of(block_of(epsilon=500.0)), PlanError, "too large"),
    "delta outside": (OK, plan_of(block_of(delta=2.0)), PlanError, r"delta must lie between 0 and 1"),
    "unknown key": (OK, plan_of(block_of(epsilom=1.0)), PlanError, 'did you mean "epsilon"'),
    "plan of another kind": (OK, 7, PlanError, "a Plan, the path of one or a dictionary, not int"),
}


@pytest.mark.parametrize("action", ["release to parquet", "release to csv", "check"])
@pytest.mark.parametrize("case", CASES)
def test_bad_input_is_refused_in_one_sentence_and_leaves_nothing(case, action, out):
    """The right error, one line, no file."""
    table, plan, error, message = CASES[case]
    act = check if action == "check" else release
    with pytest.raises(error, match=message) as caught:
        act(table, plan, out / ("out.csv" if action.endswith("csv") else "out.parquet"))
    assert isinstance(caught.value, DiscreetError)
    assert "\n" not in str(caught.value)
    assert list(out.iterdir()) == []


def test_an_empty_file_is_refused(source, out, table):
    """Zero rows on disk are zero rows."""
    if source.suffix == ".parquet":
        pq.write_table(table.slice(0, 0), source)
    else:
        source.write_text("id,sex,cheated,secret\n")
    with pytest.raises(ReleaseError, match="no rows"):
        release(source, plan_of(), out / "out.parquet")
    assert list(out.iterdir()) == []


def test_malformed_toml_is_refused(source, out, tmp_path):
    """With the line."""
    (tmp_path / "plan.toml").write_text("format = = 1\n")
    with pytest.raises(PlanError, match="line 1"):
        release(source, tmp_path / "plan.toml", out / "out.parquet")


@pytest.mark.parametrize("act", [release, check])
def test_wrong_outputs_are_refused(source, out, act):
    """Existing without overwrite, the input itself, a missing folder, a folder, an unknown ending."""
    existing = out / "existing.parquet"
    existing.write_text("precious")
    with pytest.raises(ReleaseError, match=r"existing\.parquet exists already; overwrite=True"):
        act(source, plan_of(), existing)
    with pytest.raises(ReleaseError, match="the output is the input"):
        act(source, plan_of(), source, overwrite=True)
    link = out / f"link{source.suffix}"
    link.symlink_to(source)
    with pytest.raises(ReleaseError, match="the output is the input"):
        act(source, plan_of(), link, overwrite=True)
    with pytest.raises(ReleaseError, match="there is no folder"):
        act(source, plan_of(), out / "absent" / "out.csv")
    (out / "folder.csv").mkdir()
    with pytest.raises(ReleaseError, match="is a folder"):
        act(source, plan_of(), out / "folder.csv", overwrite=True)
    for name in ("out.xlsx", "out.parquet.gz"):
        with pytest.raises(ReleaseError, match=r"use \.parquet or \.csv"):
            act(source, plan_of(), out / name)
    assert existing.read_text() == "precious"
    assert sorted(path.name for path in out.iterdir()) == ["existing.parquet", "folder.csv", link.name]


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_file_that_is_no_manifest_stays(source, out, overwrite):
    """A CSV release writes two files, and neither replaces one that is not ours."""
    (out / "out.csv.manifest.json").write_text("precious")
    with pytest.raises(ReleaseError, match=r"out\.csv\.manifest\.json exists and is not a manifest of discreet"):
        release(source, plan_of(), out / "out.csv", overwrite=overwrite)
    assert (out / "out.csv.manifest.json").read_text() == "precious"
    assert [path.name for path in out.iterdir()] == ["out.csv.manifest.json"]


@pytest.mark.parametrize("name", ["absent.parquet", "absent.csv", "table.json", "table"])
def test_wrong_sources_are_refused(tmp_path, name):
    """Missing files and unknown endings."""
    if not name.startswith("absent"):
        (tmp_path / name).write_text("{}")
    with pytest.raises(ReleaseError, match=r"there is no file|use \.parquet or \.csv"):
        release(tmp_path / name, plan_of())


def test_a_broken_source_is_refused(tmp_path):
    """A file that only claims to be Parquet."""
    (tmp_path / "broken.parquet").write_bytes(b"PAR1" + b"\0" * 100)
    with pytest.raises(ReleaseError, match="cannot be read as a Parquet file"):
        release(tmp_path / "broken.parquet", plan_of())


def test_a_domain_is_never_taken_from_the_table_itself(tmp_path):
    """The values of a domain tell what is in the data, so the table cannot be its own codebook."""
    path = tmp_path / "in.csv"
    path.write_text("cheated\nno\nyes\n")
    plan = Plan.from_dict(
        plan_of(block_of(domain={"categorical": {"file": "in.csv", "column": "cheated"}})), folder=tmp_path
    )
    with pytest.raises(ReleaseError, match="never taken from private data"):
        release(path, plan)


def test_a_ledger_of_another_kind_is_refused(source):
    """Only the default, a path or none."""
    with pytest.raises(ReleaseError, match='"default", a path or None, not int'):
        release(source, plan_of(), ledger=7)


def test_the_person_is_never_published():
    """A person column that is also public is refused."""
    with pytest.raises(PlanError, match="never written"):
        Plan.parse("""
            [budget]
            epsilon = 1.0
            person = "id"
            [[public]]
            columns = ["id"]
            [[private]]
            columns = ["x"]
            domain = { binary = ["no", "yes"] }
            mechanism = "randomized-response"
            epsilon = 1.0
        """)


@pytest.mark.parametrize("arguments", [{"output": 5}, {"progress": 5}])
def test_arguments_of_the_wrong_kind_get_a_sentence(arguments):
    """Not a Python error."""
    with pytest.raises(ReleaseError, match="must be"):
        release(pa.table({"cheated": ["no", "yes"]}), plan_of(), **arguments)


def test_a_check_counts_everything_that_does_not_fit(tmp_path):
    """All columns and all rows, the near misses among them, and no value of anybody."""
    table = pa.table(
        {
            "smokes": ["Yes", "no", "yes ", "perhaps", "yes"] * 100,
            "x": [0.5, 7.25, 0.1, 0.2, None] * 100,
            "fine": ["a", "b"] * 250,
        }
    )
    asked = {"mechanism": "randomized-response", "epsilon": 1.0}
    noise = {"mechanism": "zero-inflated-laplace", "epsilon": 1.0, "delta": 0.1}
    plan = {
        "private": [
            {"columns": ["smokes"], "domain": {"binary": ["no", "yes"]}, **asked},
            {"columns": ["x"], "domain": {"box": {"low": [0.0], "high": [1.0]}}, **noise},
            {"columns": ["fine"], "domain": {"binary": ["a", "b"]}, **asked},
        ]
    }
    with pytest.raises(DomainError, match="2 private columns do not fit the plan") as found:
        check(table, plan)
    text = str(found.value)
    assert 'column "smokes": 300 rows, the first is row 0' in text
    assert "200 of them differ from a declared value in capitals or spaces only" in text
    assert 'column "x": 200 rows, the first is row 1' in text
    assert "fine" not in text
    for secret in ("perhaps", "Yes", "7.25"):
        assert secret not in text
        assert secret not in repr(found.value.violations)
    smokes, x = found.value.violations
    assert (smokes.rows, smokes.near, smokes.value, x.rows, x.value) == (300, 200, "Yes", 200, 7.25)
    assert smokes.to_dict()["column"] == "smokes"
    assert "value" not in smokes.to_dict()
    numbers = pa.table({"x": np.linspace(0, 1.1, 20_000)})
    only_x = {"private": [plan["private"][1]]}
    with pytest.raises(DomainError, match=r"1,818 rows|at least 2,000 rows|1,819 rows"):
        check(numbers, only_x)
