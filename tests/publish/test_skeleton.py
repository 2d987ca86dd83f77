"""A plan to start from: names and types, no values."""

from __future__ import annotations

import re
import tomllib

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet import PlanError, ReleaseError
from discreet.publish import Plan, columns_of, count_rows, release, skeleton


def test_a_skeleton_holds_names_and_types_and_no_values(source):
    """Valid TOML; no cell of the table occurs in it."""
    text = skeleton(source)
    assert tomllib.loads(text)["title"] == "truth"
    for name in ("id", "sex", "cheated", "secret"):
        assert f'"{name}"' in text
    private = text.replace('"no", "yes"', "").replace('columns = ["', "").replace("[", "").split("\n")
    cells = {"a", "b", "c", "d", "f", "m", "w", "x", "y", "z"}
    assert not any(f'"{cell}"' in line for cell in cells for line in private)


@pytest.mark.parametrize("suggest", [False, True])
def test_a_skeleton_is_a_valid_plan_as_it_is(tmp_path, suggest):
    """Every type has a domain to start from; identifiers are dropped, and the budget covers what is there."""
    columns = {"flag": [True], "count": [3], "share": [0.5], "answer": ["no"], "person_id": ["x"], "w": [1.5]}
    pq.write_table(pa.table(columns), tmp_path / "in.parquet")
    text = skeleton(tmp_path / "in.parquet", suggest=suggest)
    plan = Plan.parse(text)
    plan.check_budget()
    assert plan.private == ("flag", "count", "share", "answer", "w")
    assert '# person = "person_id"' in text
    assert '# weight = "w"' in text
    assert "int64" in text
    released = release(tmp_path / "in.parquet", text_without(text, "w"))
    assert released.rows == 1
    assert "person_id" not in released.columns


def text_without(text, column):
    """The plan without the block of one column."""
    return Plan.parse(re.sub(rf'\[\[private\]\]\ncolumns = \["{column}"\]\n(.+\n)+', "", text))


def test_a_suggestion_names_mechanisms_by_type(tmp_path):
    """Whole numbers by frequencies; order, grid, box and unbiased numbers are offered; surveys may be collected."""
    columns = {"count": [3], "share": [0.5], "answer": ["no"]}
    pq.write_table(pa.table(columns), tmp_path / "in.parquet")
    text = skeleton(tmp_path / "in.parquet", suggest=True)
    assert tomllib.loads(text)["private"][0]["mechanism"] == "frequencies"
    for word in ("ordinal", "grid", "box", "unbiased", "bipartite", "zero-inflated-laplace", "collected = true"):
        assert word in text


def test_a_skeleton_of_any_table_is_valid(tmp_path):
    """Also where every column is an identifier, of another type, or cannot be named in a plan."""
    table = pa.table({"id": [1], "birthday": pa.array([0], pa.date32()), "a\x07b": [1]})
    pq.write_table(table, tmp_path / "in.parquet")
    assert Plan.parse(skeleton(tmp_path / "in.parquet")).private == ("birthday",)
    pq.write_table(pa.table({"id": [1]}), tmp_path / "one.parquet")
    assert Plan.parse(skeleton(tmp_path / "one.parquet")).private == ("id",)


LATIN = "person;cheated;town\n1;no;K\xf6ln\n2;yes;Z\xfcrich\n".encode("latin-1")


def test_a_file_with_semicolons_in_another_encoding_is_planned_and_released(tmp_path):
    """The options of the skeleton become keys of the plan, which reads the file as it is written."""
    (tmp_path / "in.csv").write_bytes(LATIN)
    text = skeleton(tmp_path / "in.csv", delimiter=";", encoding="latin-1")
    data = tomllib.loads(text)
    assert (data["delimiter"], data["encoding"]) == (";", "latin-1")
    plan = {"delimiter": ";", "encoding": "latin-1", "public": [{"columns": ["town"]}], "private": [data["private"][1]]}
    done = release(tmp_path / "in.csv", plan, tmp_path / "out.csv", ledger=None)
    assert sorted(done.to_arrow()["town"].to_pylist()) == ["K\xf6ln", "Z\xfcrich"]
    assert "K\xf6ln" in (tmp_path / "out.csv").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("content", "options", "words"),
    [
        (LATIN, {}, "encoding = .latin-1."),
        (b"a;b\n1;2\n", {}, r'seems to be separated by ";": delimiter=";"'),
        (b"a\tb\n1\t2\n", {}, "a tab: delimiter="),
        (b"a,b\n", {"delimiter": ";;"}, "delimiter must be one character"),
        (b"a,b\n", {"encoding": "klingon"}, "must name a character encoding"),
    ],
)
def test_another_delimiter_or_encoding_is_named(tmp_path, content, options, words):
    """What to say is said."""
    (tmp_path / "in.csv").write_bytes(content)
    with pytest.raises((ReleaseError, PlanError), match=words):
        skeleton(tmp_path / "in.csv", **options)


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"delimiter": "ab"}, "delimiter must be one character"),
        ({"delimiter": '"'}, "delimiter must be one character"),
        ({"encoding": "base64"}, "encoding must name a character encoding"),
        ({"encoding": 7}, "encoding must be text"),
    ],
)
def test_wrong_keys_are_refused_with_the_plan(keys, words):
    """One sentence, before any data."""
    block = {"columns": ["a"], "domain": {"binary": [0, 1]}, "mechanism": "randomized-response", "epsilon": 1.0}
    with pytest.raises(PlanError, match=words):
        Plan.from_dict({**keys, "private": [block]})


def test_a_delimiter_is_for_a_csv_file(tmp_path):
    """Elsewhere the key would be ignored, so it is refused."""
    pq.write_table(pa.table({"a": [0]}), tmp_path / "in.parquet")
    block = {"columns": ["a"], "domain": {"binary": [0, 1]}, "mechanism": "randomized-response", "epsilon": 1.0}
    with pytest.raises(ReleaseError, match="delimiter is for a CSV file"):
        release(tmp_path / "in.parquet", {"delimiter": ";", "private": [block]})


def test_odd_names_stay_valid(tmp_path):
    """Quotes, line ends, control characters and other alphabets."""
    names = ['a"b', "c\nd", "e\\f", "g\x7fh", "Größe", "[x]", "# y"]
    pq.write_table(pa.table({name: [1] for name in names}), tmp_path / "odd.parquet")
    text = skeleton(tmp_path / "odd.parquet")
    tomllib.loads(text)
    block = re.search(r"# columns = \[\n((?:#   .*\n)+)# \]", text).group(1)
    assert tomllib.loads("c = [" + re.sub(r"^#", "", block, flags=re.MULTILINE) + "]")["c"] == names


def test_columns_and_rows_of_a_file(source):
    """For the command line: names with types, and the number of rows where the file says it."""
    assert columns_of(source)["cheated"] == "string"
    assert count_rows(source) == (4 if source.suffix == ".parquet" else None)


def test_a_missing_file_has_no_skeleton(tmp_path):
    """The usual sentence."""
    with pytest.raises(ReleaseError, match="there is no file"):
        skeleton(tmp_path / "absent.parquet")
