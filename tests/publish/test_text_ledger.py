"""The ledger keeps every entry: of many processes at once, and of the text files that earlier versions wrote."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys

import pytest

from discreet import Guarantee, SystemFailureError
from discreet.publish import Ledger, LedgerWarning, Plan, ledger, release
from discreet.publish.ledger import Entry, Fingerprint
from tests.publish.conftest import plan_of


def line(number, title="First", path="/data/truth.csv"):
    """A line as earlier versions wrote it."""
    return json.dumps(
        {
            "path": path,
            "size": 10,
            "modified": 20,
            "title": title,
            "plan": "0" * 64,
            "columns": ["cheated"],
            "spent": Guarantee(1.0, unit="record").to_dict(),
            "release": f"release {number}",
            "time": "2024-01-01T00:00:00+00:00",
        },
        ensure_ascii=False,
    )


def test_the_old_default_ledger_is_taken_over_once(own_ledger, source):
    """Its entries count, it stays as it is, and what an earlier version adds to it later is found."""
    old = own_ledger.with_suffix(".jsonl")
    old.parent.mkdir(parents=True)
    old.write_text(line(1, path=str(source.resolve())) + "\n")
    before = old.read_bytes()
    with pytest.warns(LedgerWarning, match="released once before"):
        release(source, plan_of())
    assert old.read_bytes() == before
    assert len(Ledger.default().entries()) == 2
    with old.open("a") as file:
        file.write(line(2) + "\n")
    assert [entry.release for entry in Ledger.default().entries()][::2] == ["release 1", "release 2"]


def test_a_text_ledger_of_ones_own_is_taken_over_beside_it(tmp_path):
    """book.jsonl stays, book.jsonl.sqlite goes on, also when the text is gone one day."""
    book = tmp_path / "book.jsonl"
    book.write_text(line(1) + "\n" + line(2) + "\n")
    assert len(Ledger(book).entries()) == 2
    assert Ledger(book).path == tmp_path / "book.jsonl.sqlite"
    book.unlink()
    assert len(Ledger(book).entries()) == 2


@pytest.mark.parametrize("character", ["\u2028", "\u0085", "\x0b", "\x1c"])
def test_a_title_may_hold_what_looks_like_a_line_end(character, tmp_path):
    """Only a line feed ends a line."""
    book = tmp_path / "book.jsonl"
    book.write_text(line(1, title=f"a{character}b") + "\n" + line(2) + "\n", encoding="utf-8")
    assert [entry.title for entry in Ledger(book).entries()] == [f"a{character}b", "First"]


def test_a_ledger_is_not_taken_for_text_because_of_what_is_in_it(tmp_path):
    """A title may hold lines that look like entries, or like anything else."""
    book = tmp_path / "book"
    titles = [f"a\n{line(7)}\nb", "\n7\n"]
    for number, title in enumerate(titles):
        spent = Guarantee(1.0, unit="record")
        Ledger(book).begin(Entry(Fingerprint("/t", 1, 2), title, "p", ("c",), spent, str(number), "t"))
    assert [entry.title for entry in Ledger(book).entries()] == titles
    assert Ledger(book).path == book


def test_damaged_lines_are_counted_and_stop_nothing(tmp_path):
    """Said once; an entry behind a truncated one is found."""
    book = tmp_path / "book.jsonl"
    broken = [b"not json", b"7", b"\xff\xfe", b'{"path": 1}', b"[" * 100_000, line(3)[:50].encode() + line(4).encode()]
    book.write_bytes(b"\n".join([line(1).encode(), *broken, line(2).encode()]))
    with pytest.warns(LedgerWarning, match=r"6 lines of the ledger .*book\.jsonl cannot be read and do not count"):
        found = Ledger(book).entries()
    assert [entry.release for entry in found] == ["release 1", "release 4", "release 2"]
    assert len(Ledger(book).entries()) == 3


WRITER = """
import sys
from pathlib import Path
from discreet import Guarantee
from discreet.publish.ledger import Ledger
from discreet.publish.ledger import Entry, Fingerprint
who, count = sys.argv[2:]
sys.stdin.readline()
for i in range(int(count)):
    spent = Guarantee(1.0, unit="record")
    entry = Entry(Fingerprint("/t", 1, 2), None, "p", ("c",), spent, f"{who}-{i}", "t", "started")
    Ledger(Path(sys.argv[1])).begin(entry)
    Ledger(Path(sys.argv[1])).end(entry, "done")
"""


def test_many_processes_on_a_new_ledger_lose_nothing(tmp_path):
    """They all start at the same moment."""
    book, processes, each = tmp_path / "ledger", 6, 10
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(book), str(i), str(each)], stdin=subprocess.PIPE, text=True)
        for i in range(processes)
    ]
    for writer in writers:
        writer.stdin.write("go\n")
        writer.stdin.flush()
    for writer in writers:
        writer.communicate()
        assert writer.returncode == 0
    entries = Ledger(book).entries()
    assert {entry.release for entry in entries} == {f"{i}-{j}" for i in range(processes) for j in range(each)}
    assert {entry.state for entry in entries} == {"done"}


def test_a_release_cut_short_counts(source):
    """Its reports could have been seen."""
    started = Entry.of(Fingerprint.of(source), Plan.from_dict(plan_of()), "killed", "2025-01-01T00:00:00+00:00")
    Ledger.default().begin(started)
    with pytest.warns(LedgerWarning, match=r"once \(1 not seen to its end, which counts\) before.* ε = 2"):
        release(source, plan_of())


def test_two_releases_at_once_know_of_each_other(source):
    """Looking and writing down are one step."""
    plan = Plan.from_dict(plan_of())
    one, two = (Entry.of(Fingerprint.of(source), plan, name, "2025-01-01") for name in "ab")
    assert Ledger.default().begin(one) == ()
    assert [entry.release for entry in Ledger.default().begin(two)] == ["a"]


def test_names_that_are_not_text_are_spelt_out(table, tmp_path, own_ledger):
    """A file name may hold any bytes."""
    import pyarrow.parquet as pq

    path = os.fsdecode(os.fsencode(tmp_path) + b"/\xff.parquet")
    try:
        pq.write_table(table, tmp_path / "plain.parquet")
        os.rename(tmp_path / "plain.parquet", path)
    except OSError:
        pytest.skip("this file system wants names in UTF-8")
    fingerprint = Fingerprint.of(path)
    entry = Entry.of(fingerprint, Plan.from_dict(plan_of(title="ok")), "x", "2025")
    Ledger(own_ledger).begin(entry)
    assert Ledger(own_ledger).entries()[0].source.path.endswith("\\udcff.parquet")


def locked(path, monkeypatch):
    Ledger(path).entries()
    release_nothing(path)
    monkeypatch.setattr(ledger, "BUSY_SECONDS", 0.05)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    return other


def release_nothing(path):
    Ledger(path).begin(Entry(Fingerprint("/t", 1, 2), None, "p", ("c",), Guarantee(1.0), "r", "t"))


def corrupt(path, _):
    release_nothing(path)
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xa5" * (len(content) - 4096)
    content[100:200] = b"\xa5" * 100
    path.write_bytes(content)


def somebodys_database(path, _):
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE patients (name TEXT)")
    other.close()


def newer(path, _):
    release_nothing(path)
    other = sqlite3.connect(path)
    other.execute("PRAGMA user_version = 2")
    other.close()


TROUBLES = {
    "held by another program": locked,
    "is damaged or is no ledger": corrupt,
    "is not a ledger of discreet": somebodys_database,
    "from a newer version": newer,
    "is damaged or is no ledger; restore": lambda path, _: path.write_text("name,diagnosis\n" * 100),
}


@pytest.mark.parametrize("sentence", TROUBLES)
def test_a_ledger_in_trouble_is_one_sentence(sentence, source, tmp_path, out, monkeypatch):
    """Nothing is released, and the file stays as it is."""
    path = tmp_path / "ledger"
    held = TROUBLES[sentence](path, monkeypatch)
    before = path.read_bytes()
    with pytest.raises(SystemFailureError, match=sentence):
        release(source, plan_of(), out / "out.csv", ledger=path)
    if hasattr(held, "close"):
        held.close()
    assert path.read_bytes() == before
    assert list(out.iterdir()) == []
