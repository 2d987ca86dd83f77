"""A reader of a folder that is replaced and added to, by processes that are killed, always gets a whole release."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from discreet import DiscreetError, Release, ReleaseError, release
from discreet.files.whole import replaced_path
from discreet.publish import outputs
from discreet.reading import releases as replacing

PLAN = {
    "budget": {"rows_per_person": 1},
    "private": [
        {
            "columns": ["a"],
            "domain": {"binary": ["no", "yes"]},
            "mechanism": "randomized-response",
            "epsilon": 1.0,
        }
    ],
}
TABLE = pa.table({"a": ["no", "yes"] * 50})

#: Replaces and adds to a folder until it is killed; says so each time.
WRITER = """
import sys, warnings
from pathlib import Path
warnings.simplefilter("ignore")
from discreet import release
from tests.security.test_replacing import PLAN, TABLE
for number in range(1_000_000):
    again = {"append": True} if number % 2 else {"overwrite": True}
    release(TABLE, PLAN, Path(sys.argv[1]), ledger=None, **again)
    print(number, flush=True)
"""


def look(out):
    """Open a release and read it; one that was replaced in between is refused."""
    found = Release.open(out)
    try:
        rows = found.to_arrow().num_rows
    except ReleaseError as error:
        if "after it was opened" not in str(error):
            raise
    else:
        assert rows == found.rows


def test_a_folder_can_be_opened_at_every_moment(tmp_path):
    """Each writer is killed where it happens to be; no opening fails, and what is read is one release."""
    out = tmp_path / "out"
    release(TABLE, PLAN, out, ledger=None)
    for kills in range(4):
        command = [
            sys.executable,
            "-c",
            WRITER,
            str(out),
        ]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
            try:
                for _ in range(3 + kills):
                    assert writer.stdout.readline()
                for _ in range(15):
                    look(out)
            finally:
                writer.send_signal(signal.SIGKILL)
        found = Release.open(out)
        assert found.to_arrow().num_rows == found.rows
        assert ds.dataset(out, format="parquet").count_rows() == found.rows
        assert pl.read_parquet(out / "*.parquet").height == found.rows
    release(TABLE, PLAN, out, overwrite=True, ledger=None)
    assert os.listdir(tmp_path) == ["out"]


def test_a_reader_waits_for_the_moment_without_a_name(tmp_path, monkeypatch):
    """Where two names cannot be exchanged, the folder comes back, or the sentence says where the release is."""
    out = tmp_path / "out"
    release(TABLE, PLAN, out, ledger=None)
    out.rename(replaced_path(out))
    monkeypatch.setattr(replacing, "_GAP_SECONDS", 0.1)
    with pytest.raises(ReleaseError, match=r"complete in .*\.discreet-out\.old"):
        Release.open(out)

    def come_back(_):
        replaced_path(out).rename(out)

    monkeypatch.setattr(replacing.time, "sleep", come_back)
    assert Release.open(out).rows == TABLE.num_rows


def test_without_an_exchange_a_folder_is_replaced_and_added_to_all_the_same(tmp_path, monkeypatch):
    """In two steps, as on systems that have no better way."""
    monkeypatch.setattr(outputs, "exchange", lambda *_: False)
    out = tmp_path / "out"
    release(TABLE, PLAN, out, ledger=None)
    (out / "notes.txt").write_text("kept")
    release(TABLE, PLAN, out, append=True, ledger=None)
    assert Release.open(out).rows == 2 * TABLE.num_rows
    assert (out / "notes.txt").read_text() == "kept"
    release(TABLE, PLAN, out, overwrite=True, ledger=None)
    assert Release.open(out).rows == TABLE.num_rows
    assert os.listdir(tmp_path) == ["out"]


def test_a_release_is_read_on_after_a_table_was_added(tmp_path):
    """The parts of the old one are still there."""
    out = tmp_path / "out"
    release(TABLE, PLAN, out, ledger=None)
    before = Release.open(out)
    release(TABLE, PLAN, out, append=True, ledger=None)
    assert before.to_arrow().num_rows == TABLE.num_rows


@pytest.mark.parametrize("name", ["out", "out.parquet", "out.csv"])
def test_rows_of_another_release_are_never_read_under_an_old_manifest(tmp_path, name):
    """What was opened before it was replaced is refused in a sentence."""
    out = tmp_path / name
    release(TABLE, PLAN, out, ledger=None)
    before = Release.open(out)
    release(TABLE, PLAN, out, overwrite=True, ledger=None)
    with pytest.raises(ReleaseError, match="open it again"):
        before.to_arrow()


def test_a_table_is_added_through_a_link_to_the_folder(tmp_path):
    """The link stays one, and the folder behind it has the rows."""
    out, link = tmp_path / "out", tmp_path / "link"
    release(TABLE, PLAN, out, ledger=None)
    link.symlink_to(out)
    release(TABLE, PLAN, link, append=True, ledger=None)
    assert link.is_symlink()
    assert Release.open(out).rows == 2 * TABLE.num_rows


def test_a_folder_keeps_its_permissions_when_a_table_is_added(tmp_path):
    """As it was opened to others, or closed."""
    out = tmp_path / "out"
    release(TABLE, PLAN, out, ledger=None)
    out.chmod(0o750)
    release(TABLE, PLAN, out, append=True, ledger=None)
    assert out.stat().st_mode & 0o777 == 0o750


def test_an_interrupt_after_the_exchange_leaves_the_new_release(tmp_path, monkeypatch):
    """The names were exchanged: that counts, whatever comes next."""
    out = tmp_path / "out"
    release(TABLE, PLAN, out, ledger=None)
    real = outputs.exchange

    def interrupted(*names):
        real(*names)
        raise KeyboardInterrupt

    monkeypatch.setattr(outputs, "exchange", interrupted)
    with pytest.raises((KeyboardInterrupt, DiscreetError)):
        release(TABLE.slice(0, 10), PLAN, out, overwrite=True, ledger=None)
    assert Release.open(out).rows == 10
    assert os.listdir(tmp_path) == ["out"]
