"""``release --check`` is the release without its output: the same refusals, and nothing is written."""

from __future__ import annotations

import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from discreet import Plan, Randomness, release
from discreet.cli.app import app
from discreet.manifest.signature import SigningKey, new_keys

PLAN = """
format = 1
[budget]
person = "who"
rows_per_person = 1
[[public]]
columns = ["town"]
[[private]]
columns = ["x"]
domain = { binary = ["no", "yes"] }
mechanism = "randomized-response"
epsilon = 1.0
"""
MEMO = PLAN + 'repeat = "memoise"\n'


def table(rows: int = 40) -> pa.Table:
    return pa.table(
        {
            "who": list(range(rows)),
            "town": [("a", "b")[i % 2] for i in range(rows)],
            "x": [("no", "yes")[i % 3 == 0] for i in range(rows)],
        }
    )


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("COLUMNS", "500")
    monkeypatch.delenv("DISCREET_KEY_PASSPHRASE", raising=False)
    pq.write_table(table(), "data.parquet")
    (tmp_path / "plan.toml").write_text(PLAN)
    (tmp_path / "memo.toml").write_text(MEMO)
    (tmp_path / "tight.toml").write_text(PLAN.replace("rows_per_person = 1", "rows_per_person = 1\nepsilon = 0.5"))
    (tmp_path / "narrow.toml").write_text(PLAN.replace('["no", "yes"]', '["no", "never"]'))
    (tmp_path / "other.toml").write_text(PLAN.replace("epsilon = 1.0", "epsilon = 2.0"))
    (tmp_path / "text.txt").write_text("no ledger\n" * 50)
    (tmp_path / "stranger").mkdir()
    (tmp_path / "open.key").write_text("00" * 32 + "\n")
    (tmp_path / "open.key").chmod(0o644)
    (tmp_path / "memo.key").write_text("11" * 32 + "\n")
    (tmp_path / "memo.key").chmod(0o600)
    new_keys(tmp_path / "key.pem", None)
    plan = Plan.parse(PLAN)
    release("data.parquet", plan, "there.parquet", Randomness.seeded(1), ledger=None)
    release("data.parquet", plan, "there", Randomness.seeded(1), ledger=None)
    release("data.parquet", plan, "signed", Randomness.seeded(1), ledger=None, signing_key=SigningKey.read("key.pem"))
    return tmp_path


def contents(folder) -> dict[str, bytes | None]:
    """Everything below a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


#: Settings that a release refuses, as the rest of the command after the table.
REFUSED = [
    "plan.toml -o there.parquet",
    "plan.toml -o there",
    "plan.toml -o stranger",
    "plan.toml -o stranger --overwrite",
    "plan.toml -o data.parquet --overwrite",
    "plan.toml -o plan.toml --overwrite",
    "plan.toml -o out.xlsx",
    "plan.toml -o nowhere/out.parquet",
    "plan.toml -o key.csv --sign no.pem",
    "plan.toml -o out.parquet --sign plan.toml",
    "plan.toml -o key.pem --sign key.pem --overwrite",
    "plan.toml -o out.parquet --safe-csv",
    "plan.toml -o out.parquet --engine cloud",
    "plan.toml -o out.parquet --master spark://host:7077",
    "plan.toml -o out.parquet --ledger text.txt",
    "plan.toml -o out.parquet --ledger stranger",
    "plan.toml -o out.parquet --ledger text.txt/ledger",
    "plan.toml -o out.parquet --ledger text.txt/deeper/ledger",
    "plan.toml -o out.parquet --ledger out.parquet",
    "plan.toml -o out.parquet --memoise-key memo.key",
    "plan.toml -o out.parquet --new-memoise-key",
    "memo.toml -o out.parquet",
    "memo.toml -o out.parquet --memoise-key none.key",
    "memo.toml -o out.parquet --memoise-key open.key",
    "memo.toml -o out.parquet --memoise-key nowhere/new.key --new-memoise-key",
    "memo.toml -o there.parquet --memoise-key new.key --new-memoise-key",
    "memo.toml -o out.csv --memoise-key out.csv --new-memoise-key",
    "plan.toml -o there --append --overwrite",
    "plan.toml -o nothing --append",
    "plan.toml -o there.parquet --append",
    "other.toml -o there --append",
    "plan.toml -o signed --append",
    "tight.toml -o out.parquet",
    "narrow.toml -o out.parquet --no-ledger",
]


@pytest.mark.parametrize("rest", REFUSED)
def test_a_check_refuses_what_a_release_refuses(folder, rest):
    """One sentence, one exit code, from both, and every file stays as it was."""
    before = contents(folder)
    said = []
    for words in ([], ["--check"]):
        done = CliRunner().invoke(app, ["release", "data.parquet", *rest.split(), *words])
        assert done.exit_code in (1, 2), done.output
        assert contents(folder) == before
        said.append((done.exit_code, done.stderr))
    assert said[0] == said[1] or "narrow" in rest  # a check counts what does not fit


PASSED = [
    "plan.toml -o out.parquet",
    "plan.toml -o out.csv --safe-csv",
    "plan.toml -o out",
    "plan.toml -o there.parquet --overwrite",
    "plan.toml -o there --overwrite",
    "plan.toml -o there --append",
    "plan.toml -o signed --append --sign key.pem",
    "plan.toml -o out.parquet --sign key.pem --no-ledger",
    "plan.toml -o out.parquet --ledger deep/er/ledger --workers 1",
    "memo.toml -o out.parquet --memoise-key memo.key",
    "memo.toml -o out.parquet --memoise-key new.key --new-memoise-key",
]


@pytest.mark.parametrize("rest", PASSED)
def test_a_check_passes_what_a_release_makes(folder, rest):
    """A check that passes writes nothing, no key, ledger, lock or temporary file, and the release is made."""
    before = contents(folder)
    checked = CliRunner().invoke(app, ["release", "data.parquet", *rest.split(), "--check"])
    assert checked.exit_code == 0, checked.output
    assert contents(folder) == before
    done = CliRunner().invoke(app, ["release", "data.parquet", *rest.split()])
    assert done.exit_code == 0, done.output
    again = contents(folder)
    CliRunner().invoke(app, ["release", "data.parquet", *rest.split(), "--check"])
    assert contents(folder) == again


@pytest.mark.skipif(os.geteuid() == 0, reason="everything is open to root")
def test_a_check_notices_a_folder_that_cannot_be_written(folder):
    """The sentence of the release, before any row is read."""
    folder.joinpath("closed").mkdir(mode=0o500)
    said = [
        CliRunner().invoke(app, ["release", "data.parquet", "plan.toml", "-o", "closed/out.parquet", *words]).stderr
        for words in ([], ["--check"])
    ]
    assert said[0] == said[1]


def test_a_new_key_is_kept_only_when_the_release_starts(folder):
    """A release that is refused leaves no key behind, and one that is made can be repeated with it."""
    words = ["release", "data.parquet", "memo.toml", "--memoise-key", "new.key", "--new-memoise-key"]
    assert CliRunner().invoke(app, [*words, "-o", "there.parquet"]).exit_code == 2
    assert not folder.joinpath("new.key").exists()
    assert CliRunner().invoke(app, [*words, "-o", "one.csv"]).exit_code == 0
    assert folder.joinpath("new.key").stat().st_mode & 0o777 == 0o600
    assert CliRunner().invoke(app, [*words, "-o", "two.csv"]).exit_code == 0
    one, two = (sorted(folder.joinpath(name).read_text().splitlines()) for name in ("one.csv", "two.csv"))
    assert one == two
