"""What a release may write to, what it may sweep, and what counts as a release."""

from __future__ import annotations

import os
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet import ManifestError, ReleaseError
from discreet.files import Lock, write_whole
from discreet.manifest import storage as manifest_file
from discreet.publish import Ledger, Plan, ReplacedWarning, check, release, write_plan
from discreet.publish.commit import claim
from discreet.reading import Release
from tests.publish.conftest import plan_of


@pytest.fixture(autouse=True)
def own_state(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))


@pytest.fixture
def table():
    return pa.table({"cheated": ["no", "yes", "no", "no"]})


@pytest.fixture
def out(tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    return folder


def names(folder):
    return sorted(path.name for path in folder.iterdir())


HOLDER = """
import sys
from pathlib import Path
from discreet.files.whole import create_private, temporary_path
from discreet.publish.commit import claim
path = Path(sys.argv[1])
with claim(path), create_private(temporary_path(path)):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def holder(out):
    """Another process that is writing out.csv."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(out / "out.csv")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.communicate()


def test_one_writer_per_output(holder, out, table):
    """A second one is refused while the first lives, and takes over when it was killed."""
    with pytest.raises(ReleaseError, match=r"out\.csv is being written by another process"):
        release(table, plan_of(), out / "out.csv")
    release(table, plan_of(), out / "other.csv")
    assert {".discreet-out.csv.lock", ".discreet-out.csv.tmp"} <= set(names(out))
    holder.kill()
    holder.wait()
    assert {".discreet-out.csv.lock", ".discreet-out.csv.tmp"} <= set(names(out))
    release(table, plan_of(), out / "out.csv")
    assert names(out) == ["other.csv", "other.csv.manifest.json", "out.csv", "out.csv.manifest.json"]


def test_left_overs_of_earlier_versions_are_swept(out, table):
    """They have no lock, and other hidden files stay."""
    (out / ".discreet-0123456789abcdef.tmp").write_text("reports")
    (out / ".other.tmp").write_text("precious")
    (out / ".discreet-link.tmp").symlink_to(out / ".other.tmp")
    release(table, plan_of(), out / "out.parquet")
    assert names(out) == [".discreet-link.tmp", ".other.tmp", "out.parquet"]


def test_checking_sweeps_nothing(out, table):
    """--check writes nothing, and so removes nothing."""
    (out / ".discreet-0123456789abcdef.tmp").write_text("reports")
    check(table, plan_of(), out / "out.parquet")
    assert names(out) == [".discreet-0123456789abcdef.tmp"]


def test_two_threads_are_two_writers(out):
    """A lock is held by whoever took it, not by the process."""
    with claim(out / "out.csv"):
        assert Lock.take(out / ".discreet-out.csv.lock") is None
    with claim(out / "out.csv"):
        pass
    assert names(out) == []


def test_a_file_system_without_locks_is_not_swept(out, table, monkeypatch):
    """Where nobody can know whether a writer lives, its files stay."""
    monkeypatch.setattr("discreet.files.lock._lock", lambda _: None)
    (out / ".discreet-other.csv.tmp").write_text("perhaps in use")
    release(table, plan_of(), out / "out.csv")
    assert names(out) == [".discreet-other.csv.tmp", "out.csv", "out.csv.manifest.json"]


@pytest.mark.parametrize("name", ["out.csv", "out.parquet"])
def test_a_table_that_does_not_match_its_manifest_is_no_release(name, out, table, monkeypatch):
    """Opening says so, and a rerun replaces it without being asked to, which it says."""
    monkeypatch.setattr(manifest_file, "EMBEDDED_BYTES", 100)
    path, beside = out / name, out / f"{name}.manifest.json"
    release(table, plan_of(title="old"), path)
    other = release(table.slice(0, 3), plan_of(title="other"), out / f"other{path.suffix}")
    beside.write_bytes((out / f"other{path.suffix}.manifest.json").read_bytes())
    with pytest.raises(ManifestError, match="SHA-256 differs"):
        Release.open(path)
    with pytest.warns(ReplacedWarning, match=f"{name} does not match the manifest beside it"):
        release(table, plan_of(title="new"), path)
    assert Release.open(path).manifest.title == "new"
    assert other.manifest.title == "other"


def test_a_manifest_without_its_table_does_not_block(out, table):
    """It is half a release, which is none."""
    release(table, plan_of(title="old"), out / "out.csv")
    (out / "out.csv").unlink()
    release(table, plan_of(title="new"), out / "out.csv")
    assert Release.open(out / "out.csv").manifest.title == "new"


def test_a_table_without_a_manifest_is_somebodys(out, table):
    """It was never a release."""
    (out / "out.csv").write_text("precious")
    with pytest.raises(ReleaseError, match="exists already"):
        release(table, plan_of(), out / "out.csv")
    assert (out / "out.csv").read_text() == "precious"


def test_an_unrelated_manifest_beside_a_parquet_file_stays(out, table):
    """Only the one that the replaced file points to goes with it."""
    release(table, plan_of(), out / "out.parquet")
    (out / "out.parquet.manifest.json").write_text("precious")
    release(table, plan_of(), out / "out.parquet", overwrite=True)
    assert (out / "out.parquet.manifest.json").read_text() == "precious"


def test_readers_see_old_or_new_in_the_middle_of_a_replacement(out, table, monkeypatch):
    """Between the two renames the table is read with the manifest that waits."""
    from discreet.publish import commit

    path, seen = out / "out.csv", []
    release(table.slice(0, 3), plan_of(title="old"), path)  # with as many rows the bytes could be the same
    real = commit.take_name, commit.finish

    def look(step):
        def looking(*args, **kwargs):
            seen.append(Release.open(path).manifest.title)
            step(*args, **kwargs)
            seen.append(Release.open(path).manifest.title)

        return looking

    monkeypatch.setattr(commit, "take_name", look(real[0]))
    monkeypatch.setattr(commit, "finish", look(real[1]))
    release(table, plan_of(title="new"), path, overwrite=True)
    assert seen == ["old", "new", "new", "new"]


@pytest.fixture
def files(tmp_path, table):
    """A table, a plan that reads a domain and a matrix, and the ledger."""
    pq.write_table(pa.table({"a": ["x"], "b": ["u"]}), tmp_path / "truth.parquet")
    (tmp_path / "domain.csv").write_text("value\nx\ny\n")
    (tmp_path / "matrix.csv").write_text("0.7,0.3\n0.3,0.7\n")
    (tmp_path / "plan.csv").write_text(
        """
        [[private]]
        columns = ["a"]
        domain = { categorical = { file = "domain.csv", column = "value" } }
        mechanism = "randomized-response"
        epsilon = 1.0
        [[private]]
        columns = ["b"]
        domain = { categorical = ["u", "v"] }
        mechanism = "channel"
        file = "matrix.csv"
        epsilon = 1.0
        """
    )
    return tmp_path


INPUTS = {
    "truth.parquet": "the output is the input",
    "domain.csv": "is a file that the plan reads",
    "matrix.csv": "is a file that the plan reads",
    "plan.csv": "is the plan",
    "ledger.csv": "is the ledger",
}


@pytest.mark.parametrize("way", ["itself", "symbolic link", "hard link", "manifest"])
@pytest.mark.parametrize("name", INPUTS)
def test_what_the_run_reads_is_never_written_to(name, way, files, out):
    """Not by its name, not through a link, not as the manifest of another output."""
    ledger = files / "ledger.csv"
    release(files / "truth.parquet", files / "plan.csv", ledger=ledger)
    before = (files / name).read_bytes()
    target = out / f"out{(files / name).suffix}"
    if way == "itself":
        target = files / name
    elif way == "symbolic link":
        target.symlink_to(files / name)
    elif way == "hard link":
        os.link(files / name, target)
    else:
        (out / f"{target.name}.manifest.json").symlink_to(files / name)
    with pytest.raises(ReleaseError, match=INPUTS[name]):
        release(files / "truth.parquet", files / "plan.csv", target, overwrite=True, ledger=ledger)
    assert (files / name).read_bytes() == before
    assert len(Ledger(ledger).entries()) == 1


def test_a_ledger_that_is_not_there_yet_is_not_the_output_either(files, out):
    """However the name is written."""
    for name in ("out.csv", "OUT.csv"):
        with pytest.raises(ReleaseError, match="is the ledger"):
            release(files / "truth.parquet", files / "plan.csv", out / name, ledger=out / "out.csv")


def test_a_plan_remembers_its_file(files):
    """So that an output cannot replace it; a plan from text has none."""
    assert Plan.read(files / "plan.csv").path == files / "plan.csv"
    assert Plan.from_dict(plan_of()).path is None


def test_a_plan_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    """A full disk leaves the edited plan; the table is never replaced; permissions stay; no link is followed."""
    table, plan, link = tmp_path / "t.csv", tmp_path / "plan.toml", tmp_path / "link.toml"
    table.write_text("a\n1\n")
    plan.write_text("edited")
    plan.chmod(0o640)
    link.symlink_to(plan)
    with pytest.raises(ReleaseError, match="exists already"):
        write_plan("text", plan, table)
    with pytest.raises(ReleaseError, match="the output is the input"):
        write_plan("text", table, table, overwrite=True)
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space left"):
            write_plan("text", plan, table, overwrite=True)
    assert plan.read_text() == "edited"
    with pytest.raises(ReleaseError, match="is a link"):
        write_plan("text", link, table, overwrite=True)
    write_plan("text", plan, table, overwrite=True)
    assert plan.read_text() == "text"
    assert plan.stat().st_mode & 0o777 == 0o640
    assert names(tmp_path) == ["link.toml", "plan.toml", "t.csv"]


def full(*_):
    raise OSError(28, "No space left on device")


def test_a_new_plan_that_cannot_be_written_leaves_no_empty_file(tmp_path, monkeypatch):
    """Nothing, instead of a file without a plan."""
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_whole(tmp_path / "plan.toml", b"text", overwrite=False)
    assert names(tmp_path) == []
