"""Cells that a spreadsheet would run: unchanged unless asked, marked when asked."""

from __future__ import annotations

import csv
import subprocess
import sys

import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest

from discreet import Release
from discreet.errors import ReleaseError
from discreet.manifest import Manifest, json_schema
from discreet.publish import release
from tests.security.examples import PLAN

CELLS = ["=cmd()", "+1+cmd", "-2+3", "@SUM(A1)", "\tx", "\rx", "-5", "+5", "-1.5e3", "007", "plain", "", "a=b", "'=x"]
CELLS += ["\n=x", "＝x"]
MARKED = [
    "'=cmd()",
    "'+1+cmd",
    "'-2+3",
    "'@SUM(A1)",
    "'\tx",
    "'\rx",
    "-5",
    "+5",
    "-1.5e3",
    "007",
    "plain",
    "",
    "a=b",
    "'=x",
    "'\n=x",
    "'＝x",
]


@pytest.fixture
def source(tmp_path):
    n = len(CELLS)
    table = pa.table(
        {"age": list(range(-3, n - 3)), "income": ["-7.5"] * n, "sex": CELLS, "rr.q1": ["no", "yes"] * (n // 2)}
    )
    pa_csv.write_csv(table, tmp_path / "in.csv")
    return tmp_path / "in.csv"


def cells(path, column):
    with path.open(newline="") as lines:
        return [row[column] for row in csv.DictReader(lines)]


KEEP = PLAN | {"output": {"order": "keep"}}


def test_public_cells_are_unchanged_by_default(source, tmp_path):
    """What was public is copied as it is, whatever a spreadsheet makes of it."""
    done = release(source, KEEP, tmp_path / "out.csv", ledger=None)
    assert cells(tmp_path / "out.csv", "sex") == CELLS
    assert "spreadsheet_safe" not in done.manifest.to_dict()


def test_safe_csv_marks_what_would_run_and_nothing_else(source, tmp_path):
    """An apostrophe before formulas, none before numbers; the manifest and the summary say so."""
    release(source, KEEP, tmp_path / "out.csv", ledger=None, safe_csv=True)
    assert cells(tmp_path / "out.csv", "sex") == MARKED
    assert cells(tmp_path / "out.csv", "age") == [str(i) for i in range(-3, len(CELLS) - 3)]
    assert cells(tmp_path / "out.csv", "income") == ["-7.5"] * len(CELLS)
    opened = Release.open(tmp_path / "out.csv")
    assert opened.manifest.spreadsheet_safe
    assert "apostrophe" in opened.summary()
    assert Manifest.from_json(opened.manifest.to_json()) == opened.manifest
    assert "spreadsheet_safe" in json_schema()["properties"]


def test_what_is_looked_up_is_refused_instead_of_marked(source, tmp_path):
    """Column names and labels must stay what they are, so dangerous ones are named."""
    block = PLAN["private"][0] | {"domain": {"categorical": ["no", "yes", "=cmd()"]}}
    with pytest.raises(ReleaseError, match="rename it"):
        release(source, KEEP | {"private": [block]}, tmp_path / "out.csv", ledger=None, safe_csv=True)
    with pytest.raises(ReleaseError, match="CSV"):
        release(source, KEEP, tmp_path / "out.parquet", ledger=None, safe_csv=True)
    assert [path.name for path in tmp_path.iterdir()] == ["in.csv"]


def test_bytes_are_refused_because_they_cannot_be_marked(tmp_path):
    """A CSV file makes text of them, which would run like any other."""
    table = pa.table({"age": [1], "income": [1.0], "sex": [b"=cmd()"], "rr.q1": ["no"]})
    with pytest.raises(ReleaseError, match="holds bytes"):
        release(table, KEEP, tmp_path / "out.csv", ledger=None, safe_csv=True)


def test_the_flag_of_the_command_line(source, tmp_path):
    """`discreet release --safe-csv`."""
    (tmp_path / "plan.toml").write_text(
        '[output]\norder = "keep"\n[[public]]\ncolumns = ["sex"]\n[[private]]\ncolumns = ["rr.q1"]\n'
        'domain = { binary = ["no", "yes"] }\nmechanism = "randomized-response"\nepsilon = 1.0\n'
    )
    arguments = ["release", "in.csv", "plan.toml", "-o", "out.csv", "--no-ledger", "--safe-csv"]
    run = subprocess.run(
        [sys.executable, "-m", "discreet", *arguments], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert cells(tmp_path / "out.csv", "sex") == MARKED
