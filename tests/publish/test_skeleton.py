"""A plan to start from: names and types, no values."""

from __future__ import annotations

import re
import tomllib

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet import PlanError, ReleaseError
from discreet.publish import Plan, columns_of, count_rows, release, skeleton


def uncommented(text, *columns):
    """The skeleton with the blocks of these columns switched on."""
    for column in columns:
        pattern = re.compile(rf"# \[\[private\]\]\n# columns = \[{re.escape(column)}\]\n(# .*\n)+")
        block = pattern.search(text).group()
        text = text.replace(block, re.sub(r"^# ", "", block, flags=re.MULTILINE))
    return text


def test_a_skeleton_holds_names_and_types_and_no_values(source):
    """Valid TOML; no cell of the table occurs in it."""
    text = skeleton(source)
    assert tomllib.loads(text)["title"] == "truth"
    for name in ("id", "sex", "cheated", "secret"):
        assert f'"{name}"' in text
    private = text.replace('"no", "yes"', "").replace('columns = ["', "").replace("[", "").split("\n")
    cells = {"a", "b", "c", "d", "f", "m", "w", "x", "y", "z"}
    assert not any(f'"{cell}"' in line for cell in cells for line in private)


def test_a_skeleton_releases_nothing_before_it_is_edited(source):
    """Every column is commented out, so the plan is refused."""
    with pytest.raises(PlanError):
        Plan.parse(skeleton(source))


def test_blocks_of_a_skeleton_can_be_switched_on(tmp_path):
    """Each type has a domain to start from that is a valid plan as it stands."""
    table = pa.table({"flag": [True], "count": [3], "share": [0.5], "answer": ["no"]})
    pq.write_table(table, tmp_path / "in.parquet")
    text = skeleton(tmp_path / "in.parquet")
    assert "int64" in text
    text = uncommented(text, '"flag"', '"count"', '"share"', '"answer"').replace("epsilon = 1.0   ", "epsilon = 9.0   ")
    plan = Plan.parse(text.replace("columns = [\n", "columns = [ 'x',\n").replace("'x'", '"other"'))
    assert plan.private == ("flag", "count", "share", "answer")
    text = re.sub(r"\[\[public\]\]\ncolumns = \[\n(#.*\n)*\]\n", "", text)
    assert release(tmp_path / "in.parquet", Plan.parse(text)).rows == 1


def test_odd_names_stay_valid(tmp_path):
    """Quotes, line ends, control characters and other alphabets."""
    names = ['a"b', "c\nd", "e\\f", "g\x7fh", "Größe", "[x]", "# y"]
    pq.write_table(pa.table({name: [1] for name in names}), tmp_path / "odd.parquet")
    text = skeleton(tmp_path / "odd.parquet")
    tomllib.loads(text)
    block = re.search(r"columns = \[\n((?:#   .*\n)+)\]", text).group(1)
    assert tomllib.loads("c = [" + re.sub(r"^#", "", block, flags=re.MULTILINE) + "]")["c"] == names


def test_columns_and_rows_of_a_file(source):
    """For the command line: names with types, and the number of rows where the file says it."""
    assert columns_of(source)["cheated"] == "string"
    assert count_rows(source) == (4 if source.suffix == ".parquet" else None)


def test_a_missing_file_has_no_skeleton(tmp_path):
    """The usual sentence."""
    with pytest.raises(ReleaseError, match="there is no file"):
        skeleton(tmp_path / "absent.parquet")
