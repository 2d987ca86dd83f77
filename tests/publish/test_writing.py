"""An output appears complete or not at all, whatever goes wrong on the way."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from discreet import ReleaseError, SystemFailureError
from discreet.manifest import storage as manifest_file
from discreet.publish import Ledger, commit, outputs, release
from discreet.reading import Release
from discreet.tables import readers as tables
from tests.publish.conftest import block_of, plan_of

KEEP = {"order": "keep"}
BOOL = block_of(domain={"binary": [False, True]})


@pytest.fixture(params=["parquet", "csv"])
def target(request, out):
    return out / f"out.{request.param}"


@pytest.fixture
def small_batches(monkeypatch):
    monkeypatch.setattr(tables, "MAX_BATCH_ROWS", 100)
    monkeypatch.setattr(tables, "MIN_BATCH_ROWS", 100)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def interrupted(*_args, **_kwargs):
    raise KeyboardInterrupt


class Stop(BaseException):
    """An exception that nobody expects."""


@pytest.mark.parametrize("stop", [KeyboardInterrupt, MemoryError, Stop, ZeroDivisionError])
@pytest.mark.parametrize("order", ["keep", "shuffle"])
@pytest.mark.parametrize("overwrite", [False, True])
def test_an_interruption_in_the_middle_leaves_nothing(stop, order, overwrite, target, small_batches):
    """Neither a partial output nor a temporary file; what was there before is still there."""
    release(pa.table({"cheated": ["no"]}), plan_of(), target)
    before = {path: path.read_bytes() for path in target.parent.iterdir()}
    if not overwrite:
        target = target.with_stem("other")

    def interrupt(rows):
        if rows >= 300:
            raise stop

    with pytest.raises(stop):
        release(
            pa.table({"cheated": ["no"] * 1000}),
            plan_of(output={"order": order}),
            target,
            overwrite=overwrite,
            progress=interrupt,
        )
    assert {path: path.read_bytes() for path in target.parent.iterdir()} == before


@pytest.mark.parametrize("step", ["flush", "sync_folder", "take_name"])
def test_an_interruption_before_the_table_has_its_name_leaves_nothing(step, target, monkeypatch, table):
    """Also when the manifest waits beside it already."""
    monkeypatch.setattr(manifest_file, "EMBEDDED_BYTES", 100)
    monkeypatch.setattr(commit, step, interrupted)
    monkeypatch.setattr(outputs, "flush", commit.flush)
    with pytest.raises(KeyboardInterrupt):
        release(table, plan_of(), target)
    assert names(target.parent) == []


@pytest.mark.parametrize("epsilon", [1.0, 40.0])
@pytest.mark.parametrize("step", ["flush", "sync_folder", "take_name"])
def test_an_interruption_before_a_replacement_keeps_the_old_files(step, epsilon, target, monkeypatch, table):
    """Old table and old manifest, which belong together, also when both tables have the same bytes."""
    monkeypatch.setattr(manifest_file, "EMBEDDED_BYTES", 100)
    block, one_row = block_of(epsilon=epsilon), table.slice(0, 1)  # at 40 the one report is the truth
    release(one_row, plan_of(block, title="old"), target)
    before = {path: path.read_bytes() for path in target.parent.iterdir()}
    monkeypatch.setattr(commit, step, interrupted)
    monkeypatch.setattr(outputs, "flush", commit.flush)
    with pytest.raises(KeyboardInterrupt):
        release(one_row, plan_of(block, title="new"), target, overwrite=True)
    assert {path: path.read_bytes() for path in target.parent.iterdir()} == before
    assert Release.open(target).manifest.title == "old"


@pytest.mark.parametrize("overwrite", [False, True])
def test_an_interruption_after_the_table_has_its_name_leaves_the_whole_release(
    overwrite, target, monkeypatch, source, own_ledger
):
    """The rest is done all the same, and the ledger knows that the release is out."""
    monkeypatch.setattr(manifest_file, "EMBEDDED_BYTES", 100)
    if overwrite:
        release(pq.read_table(source) if source.suffix == ".parquet" else pa_csv.read_csv(source), plan_of(), target)

    def take_name(*args, **kwargs):
        taken(*args, **kwargs)
        raise KeyboardInterrupt

    taken = commit.take_name
    monkeypatch.setattr(commit, "take_name", take_name)
    with pytest.raises(KeyboardInterrupt):
        release(source, plan_of(title="new"), target, overwrite=overwrite)
    assert Release.open(target).manifest.title == "new"
    assert names(target.parent) == [target.name, f"{target.name}.manifest.json"]
    assert [entry.state for entry in Ledger(own_ledger).entries()] == ["done"] * (1 + overwrite)


def test_replacing_works_when_asked_for(target, table):
    """The new release opens, and nothing else lies there."""
    release(table, plan_of(title="old"), target)
    files = names(target.parent)
    release(table, plan_of(title="new"), target, overwrite=True)
    assert Release.open(target).manifest.title == "new"
    assert names(target.parent) == files


def test_replacing_works_without_hard_links(target, table, monkeypatch):
    """Some file systems have none."""

    def no_links(*_args, **_kwargs):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(os, "link", no_links)
    release(table, plan_of(title="old"), target)
    release(table, plan_of(title="new"), target, overwrite=True)
    assert Release.open(target).manifest.title == "new"
    with pytest.raises(ReleaseError, match="exists already"):
        release(table, plan_of(), target)


def test_a_stale_manifest_does_not_stay_beside_a_new_parquet_file(out, table, monkeypatch):
    """A sidecar of the replaced file would contradict the new one."""
    target = out / "out.parquet"
    with monkeypatch.context() as patched:
        patched.setattr(manifest_file, "EMBEDDED_BYTES", 100)
        release(table, plan_of(), target)
    assert names(out) == ["out.parquet", "out.parquet.manifest.json"]
    release(table, plan_of(), target, overwrite=True)
    assert names(out) == ["out.parquet"]
    assert Release.open(target).rows == 4


def test_a_file_that_turns_up_meanwhile_is_not_replaced(target, table):
    """Without overwrite the last step looks once more."""

    def appear(_):
        target.write_text("precious")

    with pytest.raises(ReleaseError, match="exists already"):
        release(table, plan_of(), target, progress=appear)
    assert names(target.parent) == [target.name]
    assert target.read_text() == "precious"


@pytest.mark.parametrize("failing", ["write", "flush", "open"])
def test_a_full_disk_is_a_failure_of_the_machine_and_leaves_nothing(failing, target, monkeypatch, table):
    """One sentence with the reason of the operating system."""

    class Full:
        """A file on a disk without space."""

        def __init__(self, file):
            self._file = file

        def write(self, content):
            if failing == "write":
                raise OSError(28, "No space left on device")
            return self._file.write(content)

        def flush(self):
            if failing == "flush":
                raise OSError(28, "No space left on device")
            self._file.flush()

        def __getattr__(self, name):
            return getattr(self._file, name)

    def opened(path):
        if failing == "open":
            raise OSError(28, "No space left on device")
        return Full(commit.create_private(path))

    monkeypatch.setattr(outputs, "create_private", opened)
    with pytest.raises(SystemFailureError, match="cannot be written: No space left on device"):
        release(table, plan_of(), target)
    assert names(target.parent) == []


SCRIPT = """
import resource, signal, sys
import numpy as np, pyarrow as pa
from discreet import SystemFailureError
from discreet.publish import release
mode, path, order = sys.argv[1:]
rows = 3_000_000
table = pa.table({"x": np.random.default_rng(1).random(rows), "cheated": np.arange(rows) % 2 == 0})
plan = {
    "output": {"order": order},
    "public": [{"columns": ["x"]}],
    "private": [{"columns": ["cheated"], "domain": {"binary": [False, True]},
                 "mechanism": "randomized-response", "epsilon": 1.0}],
}
def progress(done):
    print("rows", done, flush=True)
    if mode == "kill" or mode == "interrupt":
        signal.pause() if done > 1_000_000 else None
if mode == "full":
    resource.setrlimit(resource.RLIMIT_FSIZE, (4_000_000, 4_000_000))
try:
    release(table, plan, path, progress=progress)
except SystemFailureError as error:
    print("failure:", error)
    sys.exit(1)
except KeyboardInterrupt:
    sys.exit(130)
"""


def run(mode, target, order, send=None):
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(SCRIPT), mode, str(target), order],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    if send is not None:
        for line in process.stdout:
            if int(line.split()[1]) > 1_000_000:
                break
        time.sleep(0.1)
        process.send_signal(send)
    output, errors = process.communicate(timeout=60)
    return process.returncode, output, errors


@pytest.mark.parametrize("order", ["keep", "shuffle"])
def test_a_real_limit_on_file_size_leaves_nothing(target, order):
    """The operating system refuses to write on; the exit is clean and so is the folder."""
    code, output, errors = run("full", target, order)
    assert code == 1, errors
    assert "failure:" in output
    assert "cannot be written: File too large" in output
    assert names(target.parent) == []


def test_a_real_ctrl_c_leaves_nothing(target):
    """SIGINT in the middle of a file."""
    code, _, errors = run("interrupt", target, "keep", signal.SIGINT)
    assert code == 130, errors
    assert names(target.parent) == []


def test_temporary_files_lie_in_the_folder_of_the_output_and_are_private(target, small_batches):
    """So that the last step is a rename and never a copy; nobody else may read them before that."""
    seen = {}

    def look(_):
        seen.update({path.name: stat.S_IMODE(path.stat().st_mode) for path in target.parent.iterdir()})

    release(pa.table({"cheated": ["no"] * 300}), plan_of(output=KEEP), target, progress=look)
    assert seen == {f".discreet-{target.name}.lock": 0o600, f".discreet-{target.name}.tmp": 0o600}


@pytest.mark.parametrize("mask", [0o022, 0o027, 0o077])
def test_an_output_has_the_ordinary_permissions(mask, target, table):
    """Those that the mask of the process gives, for the table and for the manifest."""
    before = os.umask(mask)
    try:
        release(table, plan_of(), target)
    finally:
        os.umask(before)
    assert {stat.S_IMODE(path.stat().st_mode) for path in target.parent.iterdir()} == {0o666 & ~mask}


@pytest.mark.parametrize("told", [True, False])
def test_the_mask_of_the_process_is_not_touched(told, tmp_path, table, monkeypatch):
    """Threads share it: two that set it and put it back can leave the other's value behind."""
    before = os.umask(0o027)
    try:
        monkeypatch.setattr(os, "umask", lambda _: pytest.fail("the mask was set"))
        if not told:
            monkeypatch.setattr(Path, "read_text", lambda *_, **__: "another system")
        for name in ("out.parquet", "out.csv", "out"):
            release(table, plan_of(), tmp_path / name, ledger=None)
        release(table, plan_of(), tmp_path / "out", append=True, ledger=None)
    finally:
        monkeypatch.undo()
        os.umask(before)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) == 6
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o640}


def test_threads_that_release_at_once_leave_the_mask_as_it_was(tmp_path, table, monkeypatch):
    """And every file has the ordinary permissions, also those that another thread makes meanwhile.

    Whoever sets the mask has to wait, so that threads that did would meet.
    """
    before, at_once = os.umask(0o022), os.umask

    def slowly(mask):
        earlier = at_once(mask)
        time.sleep(0.02)
        return earlier

    monkeypatch.setattr(os, "umask", slowly)
    try:
        with ThreadPoolExecutor(4) as pool:
            folders = [tmp_path / str(number) for number in range(40)]
            for folder in folders:
                folder.mkdir()
            runs = [pool.submit(release, table, plan_of(), folder / "out.csv", ledger=None) for folder in folders]
            for number in range(2_000):
                (tmp_path / f"{number}.own").write_bytes(b"")
            for run in runs:
                run.result()
    finally:
        found = at_once(before)
    assert found == 0o022
    assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.rglob("*") if path.is_file()} == {0o644}


def test_compression_is_the_default_one(out):
    """A Parquet file is compressed as Arrow does it by default."""
    release(pa.table({"cheated": np.arange(1000) % 2 == 0}), plan_of(BOOL), out / "out.parquet")
    column = pq.read_metadata(out / "out.parquet").row_group(0).column(0)
    assert column.compression == "SNAPPY"


def test_the_file_says_where_no_cell_can_be_blank(tmp_path):
    """Reports that cannot be blank are written so, with no least and largest of a group; public cells as ever."""
    table = pa.table({"cheated": ["no", "yes", None] * 5, "smokes": ["no", "yes", "no"] * 5, "age": list(range(15))})
    plan = plan_of(block_of(missing="public"), block_of(columns=["smokes"]), public=[{"columns": ["age"]}])
    first = release(table, plan, tmp_path / "out.parquet")
    for out in (first, Release.open(first.path).save(tmp_path / "two.pq")):
        stored = pq.ParquetFile(out.path)
        fields = {field.name: field.nullable for field in stored.schema_arrow}
        assert fields == {"age": True, "cheated": True, "smokes": False}
        group = stored.metadata.row_group(0)
        has = {group.column(i).path_in_schema: group.column(i).is_stats_set for i in range(3)}
        assert has == {"age": True, "cheated": False, "smokes": False}
        assert out.to_arrow()["cheated"].null_count == 5
        assert Release.open(out.path).to_arrow()["smokes"].null_count == 0
