"""Pipes, devices, folders and links in place of every file that a command reads: one sentence, code 2, at once."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet import release
from discreet.cli.app import app
from discreet.engines.ahead import side_by_side
from discreet.manifest.signature import new_keys
from tests.security.conftest import bounded

PLAN = """
[[public]]
columns = ["town"]
[[private]]
columns = ["cheated"]
domain = { categorical = { file = "values.csv", column = "cheated" } }
mechanism = "randomized-response"
epsilon = 1.0
"""
TOTALS = '[[margin]]\ncolumns = ["town"]\nfile = "cells.csv"\n'
TABLE = pa.table({"town": ["n", "s"] * 20, "cheated": ["no", "yes"] * 20})


@pytest.fixture
def work(tmp_path, monkeypatch):
    """A folder with everything that the commands below read."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "values.csv").write_text("cheated\nno\nyes\n")
    (tmp_path / "plan.toml").write_text(PLAN)
    (tmp_path / "totals.toml").write_text(TOTALS)
    (tmp_path / "cells.csv").write_text("town,total\nn,20\ns,20\n")
    pq.write_table(TABLE, tmp_path / "data.parquet")
    (tmp_path / "data.csv").write_text("town,cheated\nn,no\ns,yes\n")
    new_keys(tmp_path / "key.pem")
    for name in ("out.parquet", "out.csv", "folder"):
        release(TABLE, tmp_path / "plan.toml", tmp_path / name, signing_key=tmp_path / "key.pem", ledger=None)
    (tmp_path / "parts").mkdir()
    pq.write_table(TABLE, tmp_path / "parts" / "part-1.parquet")
    return tmp_path


RELEASE = ["release", "data.parquet", "plan.toml", "-o", "new.parquet", "--no-ledger"]
#: Which file is replaced, and a command that reads it.
READ = {
    "plan.toml": RELEASE,
    "values.csv": RELEASE,
    "data.parquet": RELEASE,
    "data.csv": ["release", "data.csv", "plan.toml", "-o", "new.parquet", "--no-ledger"],
    "parts/part-1.parquet": ["release", "parts", "plan.toml", "-o", "new.parquet", "--no-ledger"],
    "key.pem": [*RELEASE, "--sign", "key.pem"],
    "key.public.pem": ["audit", "out.parquet", "--key", "key.public.pem"],
    "out.parquet": ["audit", "out.parquet"],
    "out.csv": ["audit", "out.csv"],
    "out.csv.manifest.json": ["audit", "out.csv"],
    "folder/_manifest.json": ["audit", "folder"],
    "folder/part-00000.parquet": ["audit", "folder"],
    "totals.toml": ["estimate", "calibrate", "out.parquet", "totals.toml"],
    "cells.csv": ["estimate", "calibrate", "out.parquet", "totals.toml"],
    "ledger.sqlite": [*RELEASE[:-1], "--ledger", "ledger.sqlite"],
}
KINDS = ["pipe", "endless device", "socket", "folder", "link to nothing", "link to itself"]


def lay(kind, path):
    """Put something that is no file in the place of a file."""
    path.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "endless device":
        path.symlink_to("/dev/zero")
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(path.name) if path.parent == path.cwd() else one.bind(os.path.relpath(path))
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to("nowhere" if kind == "link to nothing" else path.name)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", READ)
def test_what_is_no_file_is_refused_in_one_sentence(work, capsys, name, kind):
    """No command waits for it, reads it to its end or leaves anything behind."""
    lay(kind, work / name)
    before = sorted(os.listdir(work))
    with bounded(20), pytest.raises(SystemExit) as left:
        app(READ[name])
    said = capsys.readouterr().err
    if name == "ledger.sqlite" and kind.startswith("link to"):
        assert left.value.code in (1, 2)
    else:
        assert left.value.code == 2, said
    assert [line for line in said.splitlines() if line.startswith("error: ")] == said.splitlines()
    assert len(said.splitlines()) == 1
    assert sorted(os.listdir(work)) == before


def test_leaving_does_not_wait_for_a_thread_that_is_blocked_in_a_read():
    """The next part is read ahead and its bytes never come; whoever stops asking goes on."""
    reading, writing = os.pipe()
    begun = threading.Event()

    def first():
        begun.wait()
        yield 0

    def second():
        begun.set()
        yield os.read(reading, 1)

    try:
        with bounded(20):
            results = side_by_side([first(), second()], 2)
            assert next(results) == 0
            results.close()
    finally:
        os.write(writing, b"x")
        os.close(writing)


#: Two workers read parts; one of them never gets its bytes. One signal must end the process.
BLOCKED = """
import os, sys, threading
from discreet.engines.at_once import at_once
reading, writing = os.pipe()
def work(number):
    if threading.current_thread() is not threading.main_thread():
        print("blocked", flush=True)
        os.read(reading, 1)
    return number
list(at_once(range(1000), work, 2))
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_one_signal_ends_a_process_whose_workers_are_blocked(number):
    """Ctrl-C or the signal to terminate, once."""
    handler = "import signal\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit(143))\n"
    source = BLOCKED.replace("reading, writing", handler + "reading, writing", 1)
    with subprocess.Popen(
        [sys.executable, "-c", source], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout.readline() == "blocked\n"
        process.send_signal(number)
        try:
            assert process.wait(60) != 0
        finally:
            process.kill()
