"""The three ways in and out: what the opener, the gate for TOML, the writer and the lock refuse."""

from __future__ import annotations

import builtins
import os
import stat
import subprocess
import sys
import time

import pytest

from discreet.errors import InputError, PlanError, ReleaseError, SystemFailureError
from discreet.estimate.sampling.calibration.totals_file import read_totals
from discreet.files import Identity, Lock, ordinary_file, parse_toml, path_inside, read_toml, whole_file, write_whole
from discreet.files import lock as locks
from discreet.files.whole import exchange, temporary_path
from discreet.publish.commit import claim
from tests.security.conftest import bounded

# The opener.


def test_a_file_that_was_replaced_is_not_the_one_that_was_opened(tmp_path):
    """Another file of the same name, a changed one and none are refused."""
    path = tmp_path / "a"
    path.write_text("one")
    with ordinary_file(path) as file:
        known = Identity.of(os.fstat(file.fileno()))
    ordinary_file(path, same=known).close()
    path.write_text("another")
    with pytest.raises(ReleaseError, match="open it again"):
        ordinary_file(path, same=known)
    path.unlink()
    with pytest.raises(ReleaseError, match="open it again"):
        ordinary_file(path, same=known)


# The gate.

QUOTED = r'"\""'
TOML = {
    "long dotted key": "a" + ".a" * 1_000_000 + " = 1",
    "long quoted key": '"a"' + '."a"' * 500_000 + " = 1",
    "long key with escapes": QUOTED + f".{QUOTED}" * 400_000 + " = 1",
    "long key in a header": "[" + "a." * 1_000_000 + "a]",
    "long key in an inline table": "x = { " + "a." * 1_000_000 + "a = 1 }",
    "nested lists": "a = " + "[" * 100_000,
    "nested tables": "a = " + "{ a = " * 100_000,
    "too long": "a = 1\n#" + "x" * 3_000_000,
    "infinite": "a = inf",
    "negative infinite": "a = [1, { b = -inf }]",
    "not a number": "a = nan",
    "too large": "a = 1e308",
    "too large whole number": "a = 1" + "0" * 200,
    "more digits than Python reads": "a = " + "9" * 5_000,
    "zero character": "a = '\0'",
    "no TOML": "a",
}


@pytest.mark.parametrize("what", TOML)
def test_the_gate_for_toml_refuses_in_one_sentence(tmp_path, what):
    """In time that grows with the length alone, for plans, known totals and whatever is read through it later."""
    path = tmp_path / "received.toml"
    path.write_text(TOML[what])
    with bounded(10), pytest.raises(PlanError) as said:
        parse_toml(TOML[what], "the plan", PlanError)
    assert "\n" not in str(said.value)
    with bounded(10), pytest.raises(InputError):
        read_totals(path)


@pytest.mark.parametrize(
    "name", ["../outside.csv", "/etc/passwd", "link.csv", "below/../../outside.csv", "a\0b", "loop"]
)
def test_received_text_names_no_file_outside_its_folder(tmp_path, name):
    """Not by an absolute path, not by dots, not through a link, and never by a name that no file has."""
    folder = tmp_path / "inside"
    (folder / "below").mkdir(parents=True)
    (tmp_path / "outside.csv").write_text("town,total\nn,1\n")
    (folder / "link.csv").symlink_to(tmp_path / "outside.csv")
    (folder / "loop").symlink_to("loop")
    if name != "loop":
        with pytest.raises(PlanError, match=r"^key: "):
            path_inside(folder, name, "key", PlanError)
    quoted = name.replace("\0", "\\u0000")
    (folder / "totals.toml").write_text(f'[[margin]]\ncolumns = ["town"]\nfile = "{quoted}"\n')
    with pytest.raises(InputError, match="margin") as said:
        read_totals(folder / "totals.toml")
    assert "total" not in str(said.value).partition("margin")[2]


def test_plain_toml_comes_through(tmp_path):
    """With a mark of UTF-8 at its start or without, and with keys as deep as tables may be."""
    path = tmp_path / "a.toml"
    path.write_bytes(b"\xef\xbb\xbf" + ".".join(["a"] * 40).encode() + b" = 1e99\n")
    text, data = read_toml(path, "the file", PlanError)
    assert text.startswith("a.a")
    for _ in range(40):
        data = data["a"]
    assert data == 1e99


# The writer.


def names(folder):
    return sorted(os.listdir(folder))


def test_a_file_is_written_whole_and_private_if_asked(tmp_path):
    """A new file has the mode of new files, a private one that of its owner, a replaced one its own."""
    write_whole(tmp_path / "open", b"1")
    write_whole(tmp_path / "closed", b"2", private=True)
    (tmp_path / "open").chmod(0o640)
    write_whole(tmp_path / "open", b"3", overwrite=True)
    assert (tmp_path / "open").read_bytes() == b"3"
    modes = {name: stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("open", "closed")}
    assert modes == {"open": 0o640, "closed": 0o600}
    assert names(tmp_path) == ["closed", "open"]


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("way", ["itself", "hard link", "link", "another spelling"])
def test_what_is_read_is_never_written(tmp_path, way, overwrite):
    """Whatever its name; with or without overwriting."""
    read, target = tmp_path / "read", tmp_path / "target"
    read.write_text("kept")
    if way == "hard link":
        os.link(read, target)
    elif way == "link":
        target.symlink_to(read)
    else:
        target = read if way == "itself" else tmp_path / "below" / ".." / "read"
        (tmp_path / "below").mkdir()
    with pytest.raises(ReleaseError, match="the survey"):
        write_whole(target, b"lost", overwrite=overwrite, inputs=[("the survey", read)])
    assert read.read_text() == "kept"


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("kind", ["link", "dangling link", "pipe", "folder", "link to a folder"])
def test_nothing_but_an_ordinary_file_is_written_to(tmp_path, kind, overwrite):
    """No link is followed, no pipe is waited for, and what stands there stays."""
    other, target = tmp_path / "other", tmp_path / "target"
    other.mkdir() if kind == "link to a folder" else other.write_text("kept")
    if kind == "pipe":
        os.mkfifo(target)
    elif kind == "folder":
        target.mkdir()
    else:
        target.symlink_to("nowhere" if kind == "dangling link" else "other")
    before = target.lstat()
    with bounded(10), pytest.raises(ReleaseError):
        write_whole(target, b"new", overwrite=overwrite)
    assert os.path.samestat(before, target.lstat())
    assert names(tmp_path) == ["other", "target"]


def test_a_file_that_appears_meanwhile_is_not_replaced(tmp_path):
    """The name is taken without overwriting, not looked at and then taken."""
    path = tmp_path / "a"

    def write():
        with whole_file(path) as sink:
            sink.write(b"ours")
            path.write_text("theirs")

    with pytest.raises(ReleaseError, match="exists already"):
        write()
    assert path.read_text() == "theirs"
    assert names(tmp_path) == ["a"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, OSError])
def test_an_error_on_the_way_leaves_what_was_there(tmp_path, error):
    """Neither half a file nor a temporary one."""
    path = tmp_path / "a"
    path.write_text("old")

    def write():
        with whole_file(path, overwrite=True) as sink:
            sink.write(b"half")
            raise error

    with pytest.raises((error, SystemFailureError)):
        write()
    assert path.read_text() == "old"
    assert names(tmp_path) == ["a"]


def test_what_a_killed_writer_left_is_no_hindrance(tmp_path):
    """Its temporary file goes, whatever it is."""
    temporary_path(tmp_path / "a").write_text("half")
    write_whole(tmp_path / "a", b"whole")
    assert names(tmp_path) == ["a"]


def test_two_folders_exchange_their_names(tmp_path):
    """In one step on Linux; where that cannot be, nothing happens."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).touch()
    done = exchange(tmp_path / "a", tmp_path / "b")
    assert names(tmp_path / "a") == (["b"] if done else ["a"])
    if sys.platform == "linux":
        assert done
    with pytest.raises(FileNotFoundError):
        exchange(tmp_path / "a", tmp_path / "none")


# Locks.


def held_on(path, machine, age=0.0):
    """A lock that says that it is held by a process of another machine."""
    path.write_bytes(machine)
    os.utime(path, (time.time() - age, time.time() - age))


DAY = 24 * 3600.0
HERE = locks.machine().partition(b" ")


@pytest.mark.parametrize(
    ("machine", "age", "alive"),
    [
        (b"1234 elsewhere", 0.0, True),
        (b"1234 elsewhere", 3 * DAY, True),
        (b"1234 elsewhere", 8 * DAY, False),
        (b"1234 " + HERE[2], 0.0, True),  # the same name, and started after this machine was
        (b"1234 " + HERE[2], None, HERE[2].startswith(b"localhost")),  # before it was started last
        (HERE[0] + b" " + HERE[2], 0.0, False),
        (HERE[0] + b" container", 0.0, False),
        (b"", 0.0, False),
    ],
    ids=["elsewhere", "days ago", "last week", "same name", "before the start", "this machine", "container", "unnamed"],
)
def test_what_a_writer_on_another_machine_has_begun_stays(tmp_path, machine, age, alive):
    """Where locks end at the machine, a lock that names another one is believed for a week."""
    age = time.monotonic() + DAY if age is None else age  # None: before this machine was started
    held_on(tmp_path / ".discreet-their.csv.lock", machine, age)
    temporary_path(tmp_path / "their.csv").write_text("half")
    with claim(tmp_path / "ours.csv"):
        assert temporary_path(tmp_path / "their.csv").exists() == alive
    if alive:
        with pytest.raises(ReleaseError, match=r"on the machine .*remove \.discreet-their\.csv\.lock"):
            write_whole(tmp_path / "their.csv", b"ours")
        (tmp_path / ".discreet-their.csv.lock").unlink()
    write_whole(tmp_path / "their.csv", b"ours")
    assert names(tmp_path) == ["their.csv"]


def test_a_lock_names_its_machine(tmp_path):
    """While it is held; its file goes with it."""
    path = tmp_path / ".discreet-a.lock"
    with Lock.take(path):
        assert path.read_bytes() == locks.machine()
    assert names(tmp_path) == []


def test_a_system_without_locks_gets_one_sentence(tmp_path, monkeypatch):
    """Nothing is written, and nothing is left."""
    real = builtins.__import__

    def missing(name, *rest, **named):
        if name in ("fcntl", "msvcrt"):
            raise ImportError(name)
        return real(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(SystemFailureError, match="no locks for files"):
        write_whole(tmp_path / "a", b"1")
    assert names(tmp_path) == []


#: As on a system that has neither of these.
WITHOUT = """
import os, sys, tempfile
for name in ("fcntl", "resource", "termios"):
    sys.modules[name] = None
for name in ("pread", "O_NONBLOCK", "O_CLOEXEC", "O_NOCTTY", "O_NOFOLLOW", "geteuid", "sched_getaffinity", "fchmod"):
    if hasattr(os, name):
        delattr(os, name)
import pyarrow as pa
import discreet
from discreet.publish import shuffle
plan = {"private": [{"columns": ["a"], "domain": {"binary": ["no", "yes"]},
        "mechanism": "randomized-response", "epsilon": 1.0}]}
table = pa.table({"a": ["no", "yes"] * 5000})
print(discreet.release(table, plan, ledger=None).rows)
shuffle.MEMORY_BYTES = 1000
from discreet.publish.shuffle import Shuffler
from pathlib import Path
with Shuffler(discreet.Randomness(), Path(tempfile.mkdtemp())) as dealt:
    for batch in table.to_batches(max_chunksize=1000):
        dealt.add(batch)
    print(sum(batch.num_rows for batch in dealt.rows(1000)))
try:
    discreet.release(table, plan, Path(tempfile.mkdtemp()) / "out.parquet", ledger=None)
except discreet.SystemFailureError as error:
    print(error)
"""


def test_the_package_works_in_memory_where_files_cannot_be_locked():
    """It is imported, releases in memory and shuffles; where a file is written, one sentence says why it is not."""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", WITHOUT], capture_output=True, text=True, check=True)
    rows, shuffled, sentence = done.stdout.splitlines()
    assert (rows, shuffled) == ("10000", "10000")
    assert "no locks for files" in sentence
