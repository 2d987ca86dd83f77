"""The ledger knows a table again under another name, as a file or in memory, by digests under a key of their own."""

from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
import stat
import warnings
from contextlib import closing

import pandas as pd
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from discreet.publish import Ledger, LedgerWarning, release
from tests.publish.conftest import block_of, plan_of

ANSWERS = ["yes" if i % 3 == 0 else "no" for i in range(5_000)]
AGAIN = "the same answers were released from"


@pytest.fixture
def key(tmp_path, monkeypatch):
    path = tmp_path / "config" / "ledger.key"
    monkeypatch.setenv("DISCREET_LEDGER_KEY", str(path))
    return path


@pytest.fixture
def frame():
    return pd.DataFrame({"id": range(5_000), "cheated": ANSWERS})


def written(frame, path):
    table = pa.Table.from_pandas(frame, preserve_index=False)
    pa_csv.write_csv(table, path) if path.suffix == ".csv" else pq.write_table(table, path, row_group_size=700)
    return path


PLAN = plan_of(block_of(), public=[])


def quietly(*args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return release(*args, **kwargs)


@pytest.mark.parametrize("how", ["copied", "renamed", "as CSV", "in memory"])
def test_the_same_answers_are_known_again(how, frame, key, tmp_path):
    """A copy, a renamed file, another format and a data frame all spend on the same truth."""
    first = written(frame, tmp_path / "first.parquet")
    quietly(first, PLAN, tmp_path / "a.parquet")
    if how == "copied":
        again = shutil.copyfile(first, tmp_path / "second.parquet")
    elif how == "renamed":
        again = first.rename(tmp_path / "second.parquet")
        os.utime(again, ns=(1, 1))
    elif how == "as CSV":
        again = written(frame, tmp_path / "second.csv")
    else:
        again = frame
    with pytest.warns(LedgerWarning, match=rf'{AGAIN} ".*first.parquet" once before.*together .*ε = 2, δ = 0 per row'):
        release(again, PLAN, tmp_path / "b.parquet")


@pytest.mark.parametrize("kinds", [(pd, pd), (pa, pd), (pd, pa)])
def test_the_same_frame_is_known_again(kinds, frame, key, tmp_path):
    """Twice the same frame, or an Arrow table and a data frame of pandas with the same answers."""
    first, second = (frame if kind is pd else pa.Table.from_pandas(frame) for kind in kinds)
    quietly(first, PLAN, tmp_path / "a.parquet")
    with pytest.warns(LedgerWarning, match=f"{AGAIN} a table in memory once before"):
        release(second, PLAN, tmp_path / "b.parquet")


def test_each_earlier_release_is_told_once(frame, key, tmp_path):
    """The same path is told at the start and a copy at the end; all of them add up, and none counts twice."""
    first = written(frame, tmp_path / "first.parquet")
    copy = shutil.copyfile(first, tmp_path / "copy.parquet")
    quietly(first, PLAN, tmp_path / "a.parquet")
    with pytest.warns(LedgerWarning, match=AGAIN):
        release(copy, PLAN, tmp_path / "b.parquet")
    with pytest.warns(LedgerWarning) as told:
        release(first, PLAN, tmp_path / "c.parquet")
    said = [str(one.message) for one in told]
    assert "this table was released once before" in said[0]
    assert f'{AGAIN} "{copy}" once before' in said[1]
    assert "ε = 3, δ = 0 per row" in said[1]
    assert len(said) == 2


def test_other_answers_are_not(frame, key, tmp_path):
    """One changed answer, one row less, and another column with the same answers are other truths."""
    quietly(frame, PLAN, tmp_path / "a.parquet")
    changed = frame.copy()
    changed.loc[4_999, "cheated"] = "yes"
    assert frame["cheated"][4_999] == "no"
    quietly(changed, PLAN, tmp_path / "b.parquet")
    quietly(frame[:-1], PLAN, tmp_path / "c.parquet")
    other = frame.rename(columns={"cheated": "copied"})
    quietly(other, plan_of(block_of(columns=["copied"]), public=[]), tmp_path / "d.parquet")


def test_blanks_are_part_of_what_is_known(frame, key, tmp_path):
    """Where answers are missing makes a difference."""
    plan = plan_of(block_of(missing="public"), public=[])
    one, two = frame.copy(), frame.copy()
    one.loc[7, "cheated"] = None
    two.loc[8, "cheated"] = None
    assert frame["cheated"][7] == frame["cheated"][8] == "no"
    quietly(one, plan, tmp_path / "a.parquet")
    quietly(two, plan, tmp_path / "b.parquet")
    with pytest.warns(LedgerWarning, match=AGAIN):
        release(one, plan, tmp_path / "c.parquet")


def test_the_ledger_without_the_key_says_nothing(frame, key, tmp_path, own_ledger):
    """The key is no part of the ledger, readable by its owner only; no plain digest of the table is in the ledger."""
    source = written(frame, tmp_path / "first.csv")
    quietly(source, PLAN, tmp_path / "a.parquet")
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert key.parent != own_ledger.parent
    kept = own_ledger.read_bytes()
    assert key.read_bytes() not in kept
    guesses = [source.read_bytes(), "\n".join(ANSWERS).encode(), bytes(int(one == "yes") for one in ANSWERS)]
    for guess in guesses:
        assert hashlib.sha256(guess).hexdigest().encode() not in kept
        assert hashlib.sha256(guess).digest() not in kept
    with closing(sqlite3.connect(own_ledger)) as book:
        (digest,) = book.execute("SELECT digest FROM contents").fetchone()
    key.unlink()
    quietly(written(frame, tmp_path / "second.csv"), PLAN, tmp_path / "b.parquet")  # a new key knows nothing
    with closing(sqlite3.connect(own_ledger)) as book:
        assert digest not in book.execute("SELECT digest FROM contents WHERE rowid = 2").fetchone()


def test_without_a_key_there_are_no_digests(frame, monkeypatch, tmp_path, own_ledger):
    """An empty name of the key turns it off: paths are compared as before."""
    monkeypatch.setenv("DISCREET_LEDGER_KEY", "")
    quietly(written(frame, tmp_path / "first.csv"), PLAN, tmp_path / "a.parquet")
    quietly(written(frame, tmp_path / "second.csv"), PLAN, tmp_path / "b.parquet")
    with closing(sqlite3.connect(own_ledger)) as book:
        assert book.execute("SELECT count(*) FROM sqlite_master WHERE name = 'contents'").fetchone() == (0,)


@pytest.mark.parametrize("fault", ["mode", "content"])
def test_a_key_that_cannot_be_used_is_said(fault, frame, key, tmp_path):
    """A key that others can read, or that is none, is not used; the release is made, and this is said."""
    key.parent.mkdir()
    key.write_bytes(b"k" * (32 if fault == "mode" else 31))
    key.chmod(0o644 if fault == "mode" else 0o600)
    words = "chmod 600" if fault == "mode" else "holds no key"
    with pytest.warns(LedgerWarning, match=f"will not recognise this table under another name.*{words}"):
        release(frame, PLAN, tmp_path / "a.parquet")
    assert (tmp_path / "a.parquet").exists()


def test_a_release_that_stays_in_memory_is_not_entered(frame, key, own_ledger):
    """Simulations on a frame write nothing; what leaves the memory is entered."""
    quietly(frame, PLAN)
    quietly(frame, PLAN)
    assert Ledger(own_ledger).entries() == ()
