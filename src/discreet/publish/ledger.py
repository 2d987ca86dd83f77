"""The ledger: which tables were released before, and what that has spent.

An SQLite file of mode 0600 in the state folder of the user. It holds where the table lay and what was promised, and no
trace of the truth. An entry is written before the first report can exist and says how the release ended, so a process
that is killed leaves an entry that counts: its reports could have been seen.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import sqlite3
import threading
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

from discreet import arguments
from discreet.errors import Argument, DiscreetError, ReleaseError, SystemFailureError, Worded
from discreet.files import ordinary_content, ordinary_file, refuse_other_kinds
from discreet.files.whole import create_private
from discreet.privacy import Guarantee
from discreet.publish.commit import refuse_place
from discreet.publish.plan import Plan
from discreet.tables.readers import part_names

if TYPE_CHECKING:
    from discreet.publish.memoising import Wave

#: ``started``: reports may exist and may have been seen. ``done``: they were released. ``abandoned``: all of them were
#: removed by the process that made them, before anybody else could read them.
State = Literal["started", "done", "abandoned"]

#: In the place of a path: no path of a file that is released starts so, since they are absolute.
_MEMORY = "memory:"


@dataclass(frozen=True)
class Fingerprint:
    """What tells a file apart without looking inside: where it lies, its size and when it was changed."""

    path: str
    size: int
    modified: int

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> Self:
        """Of a file that is there, or of all parts of a folder."""
        status = os.stat(path)
        if os.path.isdir(path):
            parts = [os.stat(os.path.join(path, name)) for name in part_names(Path(path))]
            changed = max((part.st_mtime_ns for part in parts), default=0)
            return cls(_writable(os.path.realpath(path)), sum(part.st_size for part in parts), changed)
        return cls(_writable(os.path.realpath(path)), status.st_size, status.st_mtime_ns)

    @classmethod
    def in_memory(cls, release: str) -> Self:
        """Of a table in memory, which no path tells apart."""
        return cls(f"{_MEMORY}{release}", -1, 0)

    @property
    def name(self) -> str:
        """What to call the table in a sentence."""
        return "a table in memory" if self.path.startswith(_MEMORY) else f'"{self.path}"'


@dataclass(frozen=True)
class Entry:
    """One release in the ledger."""

    source: Fingerprint
    title: str | None
    plan: str
    columns: tuple[str, ...]
    spent: Guarantee
    release: str
    time: str
    state: State = "done"

    @classmethod
    def of(cls, source: Fingerprint, plan: Plan, release: str, time: str) -> Self:
        """The entry of a release that is about to start."""
        title = None if plan.title is None else _writable(plan.title)
        return cls(source, title, plan.digest, plan.private, plan.guarantee, release, time, "started")

    @property
    def counts(self) -> bool:
        """Whether its guarantee is spent: unless it was undone, somebody could have seen the reports."""
        return self.state != "abandoned"

    def spends_on(self, source: Fingerprint, columns: Sequence[str] | None) -> bool:
        """Whether it was about the same truth, and counts."""
        if not self.counts:
            return False
        if self.source.path == source.path:
            return True
        copy = source.size >= 0 and (self.source.size, self.source.modified) == (source.size, source.modified)
        return copy and (columns is None or not set(columns).isdisjoint(self.columns))

    def in_state(self, state: State) -> Self:
        """The same entry later."""
        return replace(self, state=state)

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "path": self.source.path,
            "size": self.source.size,
            "modified": self.source.modified,
            "title": self.title,
            "plan": self.plan,
            "columns": list(self.columns),
            "spent": self.spent.to_dict(),
            "release": self.release,
            "time": self.time,
            "state": self.state,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read back what ``to_dict`` wrote; earlier versions wrote down finished releases only, without a state."""
        state = data.get("state", "done")
        if state not in get_args(State):
            raise ValueError("state")
        return cls(
            Fingerprint(str(data["path"]), int(data["size"]), int(data["modified"])),
            None if data["title"] is None else str(data["title"]),
            str(data["plan"]),
            tuple(str(column) for column in data["columns"]),
            Guarantee.from_dict(data["spent"]),
            str(data["release"]),
            str(data["time"]),
            state,
        )


def _writable(text: str) -> str:
    """Text that can be stored: bytes of a file name that are not UTF-8 are spelt out."""
    return text.encode("utf-8", "backslashreplace").decode()


#: Bytes of a ledger of earlier versions: a million entries.
_MOST_BYTES = 1_000_000_000
#: How every line began, and how an SQLite file begins.
_START, _SQLITE = b'{"path": ', b"SQLite format 3\0"


def read_text_ledger(path: Path) -> tuple[list[Entry], int]:
    """The entries of a text ledger, and the number of lines that hold none.

    A line ends at a line feed and nowhere else: titles may hold other characters that look like one. An entry that
    was written behind a truncated one, on the same line, is found.
    """
    entries, damaged = [], 0
    for line in ordinary_content(path, _MOST_BYTES).split(b"\n"):
        if not line.strip():
            continue
        whole = _entry(line)
        found = whole or _entry(line[max(line.rfind(_START), 0) :])
        if found is not None:
            entries.append(found)
        damaged += whole is None
    return entries, damaged


def is_text_ledger(path: Path) -> bool:
    """Whether a file is a ledger of earlier versions, however damaged."""
    if not path.is_file():
        return False
    with ordinary_file(path) as file:
        beginning = file.read(len(_SQLITE))
    if beginning == _SQLITE:  # whatever its titles look like
        return False
    return beginning.startswith(_START) or bool(read_text_ledger(path)[0])


def _entry(line: bytes) -> Entry | None:
    try:
        data = json.loads(line)
        return Entry.from_dict(data) if isinstance(data, dict) else None
    except (KeyError, TypeError, ValueError, RecursionError, DiscreetError):
        return None


#: How long another process may hold the ledger; each holds it for some milliseconds.
BUSY_SECONDS = 30.0
#: Longest time between two looks whether it is free.
_LOOK_SECONDS = 0.02
#: Whoever closes a file lets go of all locks that the same process has on it, so threads take turns as well.
_ONE_THREAD = threading.RLock()
#: Marks an SQLite file as a ledger ("dscr"), and the version of its tables.
_APPLICATION, _VERSION = 0x64736372, 1
_TABLES = """
CREATE TABLE releases (
    number   INTEGER PRIMARY KEY AUTOINCREMENT,
    release  TEXT NOT NULL UNIQUE,
    state    TEXT NOT NULL CHECK (state IN ('started', 'done', 'abandoned')),
    path     TEXT NOT NULL,
    size     INTEGER NOT NULL,
    modified INTEGER NOT NULL,
    title    TEXT,
    plan     TEXT NOT NULL,
    columns  TEXT NOT NULL,
    spent    TEXT NOT NULL,
    time     TEXT NOT NULL
);
CREATE INDEX releases_by_path ON releases (path);
CREATE TABLE imports (path TEXT PRIMARY KEY, size INTEGER NOT NULL, modified INTEGER NOT NULL)
"""
#: Releases with memoised reports; made when the first one is written down, and of no concern to earlier versions.
_WAVES = """
CREATE TABLE IF NOT EXISTS waves (
    release TEXT PRIMARY KEY, key TEXT NOT NULL, purposes TEXT NOT NULL, once TEXT NOT NULL, rest TEXT NOT NULL
)
"""
#: Digests of private columns under a key that is not here (``publish/recognition.py``); made like the waves.
_CONTENTS = """
CREATE TABLE IF NOT EXISTS contents (release TEXT NOT NULL, name TEXT NOT NULL, digest TEXT NOT NULL)
"""
_ANOTHER = ("choose another with ", Argument('ledger="FILE"'))
_FIELDS = ("release", "state", "path", "size", "modified", "title", "plan", "columns", "spent", "time")
_SELECT = f"SELECT {', '.join(_FIELDS)} FROM releases"
_INSERT = f"INTO releases ({', '.join(_FIELDS)}) VALUES ({', '.join('?' * len(_FIELDS))})"


class LedgerWarning(Worded, UserWarning):
    """The same truth was released before, or the ledger could not be read or written in full."""


@dataclass(frozen=True)
class Ledger:
    """A record of releases.

    Parameters
    ----------
    path : Path
        Where it lies. A text file that earlier versions wrote is taken over into ``<path>.sqlite`` and stays as it is.
    text : Path, optional
        A text file of earlier versions to take over.
    """

    path: Path
    text: Path | None = None

    def __post_init__(self) -> None:
        path = Path(self.path)
        beside = path.with_name(path.name + ".sqlite")
        with contextlib.suppress(OSError), _ONE_THREAD:
            if self.text is None and (beside.exists() or is_text_ledger(path)):
                object.__setattr__(self, "text", path)
                path = beside
        object.__setattr__(self, "path", path)

    @classmethod
    def default(cls) -> Self:
        """``$XDG_STATE_HOME/discreet/ledger.sqlite``, or ``~/.local/state/discreet/ledger.sqlite``."""
        try:
            state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
        except RuntimeError:
            where = ("there is no home folder to keep the ledger in; say where with ", _ANOTHER[1])
            raise SystemFailureError(*where, ", or keep none with ", Argument("ledger=None")) from None
        folder = Path(state) / "discreet"
        return cls(folder / "ledger.sqlite", folder / "ledger.jsonl")

    @classmethod
    def choose(cls, ledger: Any) -> Self | None:
        """``"default"``, a path, a ledger, or None for no record."""
        if ledger is None or isinstance(ledger, cls):
            return ledger
        if isinstance(ledger, str) and ledger == "default":
            return cls.default()
        if isinstance(ledger, (str, os.PathLike)):
            path = arguments.path(ledger, "ledger", ReleaseError)
            if not path.name:
                raise ReleaseError(Argument("ledger"), " must be the name of a file")
            return cls(path)
        raise ReleaseError(Argument("ledger"), f' must be "default", a path or None, not {type(ledger).__name__}')

    def entries(self) -> tuple[Entry, ...]:
        """All entries, in the order in which the releases started."""
        if not self.path.exists() and not (self.text is not None and self.text.exists()):
            return ()
        with self._transaction() as book:
            return self._read(book, f"{_SELECT} ORDER BY number")

    def previous(self, path: str | os.PathLike[str], columns: Sequence[str] | None = None) -> tuple[Entry, ...]:
        """Earlier releases of the same truth whose guarantee is spent.

        Parameters
        ----------
        path : path
            The table. What was released from this path counts, whether or not the file has changed since.
        columns : sequence of str, optional
            Private columns. A file elsewhere of the same size and time of change that released the same
            columns is taken to be a copy.
        """
        source = Fingerprint.of(path)
        return tuple(entry for entry in self.entries() if entry.spends_on(source, columns))

    def begin(self, entry: Entry) -> tuple[Entry, ...]:
        """Write down that a release starts, and return the earlier ones of the same truth."""
        source = entry.source
        with self._transaction() as book:
            near = f"{_SELECT} WHERE path = ? OR (size = ? AND modified = ?) ORDER BY number"
            found = self._read(book, near, (source.path, source.size, source.modified))
            book.execute(f"INSERT {_INSERT}", _row(entry))
        return tuple(earlier for earlier in found if earlier.spends_on(source, entry.columns))

    def begin_wave(self, entry: Entry, wave: Wave) -> dict[str, Guarantee]:
        """Write down a wave, and return the earlier ones that count under its key: what each spent on other blocks.

        An earlier release counts as a wave of the same truth when all that is memoised now was memoised then.
        """
        with self._transaction() as book:
            book.execute(_WAVES)
            query = (
                "SELECT waves.release, purposes, rest FROM waves JOIN releases USING (release) "
                "WHERE key = ? AND state != 'abandoned' AND waves.release != ? ORDER BY number"
            )
            found = book.execute(query, (wave.key, entry.release)).fetchall()
            values = [json.dumps(wave.once.to_dict()), json.dumps(wave.rest.to_dict())]
            row = (entry.release, wave.key, json.dumps(wave.purposes), *values)
            book.execute("INSERT OR REPLACE INTO waves VALUES (?, ?, ?, ?, ?)", row)
        return {
            release: Guarantee.from_dict(json.loads(rest))
            for release, purposes, rest in found
            if set(wave.purposes) <= set(json.loads(purposes))
        }

    def recognise(self, entry: Entry, digests: Mapping[str, str]) -> tuple[Entry, ...]:
        """Write down the digests of a table, and return earlier releases of the same column, wherever it lay."""
        marks = ", ".join("?" * len(digests))
        with self._transaction() as book:
            book.execute(_CONTENTS)
            known = f"SELECT release FROM contents WHERE digest IN ({marks})"
            found = self._read(book, f"{_SELECT} WHERE release IN ({known}) ORDER BY number", tuple(digests.values()))
            rows = [(entry.release, name, digest) for name, digest in digests.items()]
            book.executemany("INSERT INTO contents VALUES (?, ?, ?)", rows)
        return tuple(earlier for earlier in found if earlier.counts and earlier.release != entry.release)

    def end(self, entry: Entry, state: State) -> None:
        """Write down how a release ended."""
        with self._transaction() as book:
            done = book.execute("UPDATE releases SET state = ? WHERE release = ?", (state, entry.release))
            if done.rowcount == 0 and state == "done":  # the ledger was moved away meanwhile
                book.execute(f"INSERT {_INSERT}", _row(entry.in_state(state)))

    def _read(self, book: sqlite3.Connection, query: str, values: tuple[Any, ...] = ()) -> tuple[Entry, ...]:
        found, damaged = [], 0
        for row in book.execute(query, values):
            data = dict(zip(_FIELDS, row, strict=True))
            try:
                lists = {name: json.loads(data[name]) for name in ("columns", "spent")}
                found.append(Entry.from_dict(data | lists))
            except (KeyError, TypeError, ValueError, RecursionError, DiscreetError):
                damaged += 1
        if damaged:
            _tell_damaged(damaged, "row", self.path)
        return tuple(found)

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """The ledger, alone with it; what happens inside happens completely or not at all."""
        with _ONE_THREAD, self._speaking():
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with contextlib.suppress(FileExistsError):
                create_private(self.path).close()
            refuse_other_kinds(self.path, os.stat(self.path), ReleaseError)
            with contextlib.closing(sqlite3.connect(self.path, timeout=0, isolation_level=None)) as book:
                _wait_for_turn(book)
                self._set_up(book)
                damaged = self._take_over(book)
                yield book
                book.execute("COMMIT")
            if damaged and self.text is not None:
                _tell_damaged(damaged, "line", self.text)

    @contextlib.contextmanager
    def _speaking(self) -> Iterator[None]:
        """Say in one sentence what is wrong with the ledger."""
        try:
            yield
        except sqlite3.Error as error:
            raise self._failure(error) from None
        except OSError as error:
            if isinstance(error, SystemFailureError):
                raise
            raise SystemFailureError(
                f"the ledger {self.path} cannot be written ({error.strerror}); choose another, or none"
            ) from None

    def check(self) -> None:
        """Refuse a ledger that could not be written to; nothing is written, and a missing one is not made."""
        with _ONE_THREAD, self._speaking():
            refuse_place(self.path.parent)
            if self.path.exists():
                refuse_other_kinds(self.path, os.stat(self.path), ReleaseError)
                with contextlib.closing(sqlite3.connect(self.path, timeout=0, isolation_level=None)) as book:
                    _wait_for_turn(book)
                    self._is_new(book)

    def _set_up(self, book: sqlite3.Connection) -> None:
        """Make the tables of a new ledger."""
        if not self._is_new(book):
            return
        for statement in _TABLES.split(";"):
            book.execute(statement)
        book.execute(f"PRAGMA application_id = {_APPLICATION}")
        book.execute(f"PRAGMA user_version = {_VERSION}")

    def _is_new(self, book: sqlite3.Connection) -> bool:
        """Whether there is nothing in it; what is not a ledger, or a newer one, is refused."""
        mark, version = (book.execute(f"PRAGMA {what}").fetchone()[0] for what in ("application_id", "user_version"))
        if mark == _APPLICATION and version <= _VERSION:
            return False
        if mark == _APPLICATION:
            raise SystemFailureError(f"the ledger {self.path} is from a newer version of discreet; install it")
        if book.execute("SELECT count(*) FROM sqlite_master").fetchone() != (0,):
            raise SystemFailureError(f"{self.path} is not a ledger of discreet; ", *_ANOTHER)
        return True

    def _take_over(self, book: sqlite3.Connection) -> int:
        """Import the text ledger of earlier versions, once, and again only if one of them wrote to it since.

        Returns the number of lines that cannot be read.
        """
        if self.text is None or not self.text.is_file():
            return 0
        now = Fingerprint.of(self.text)
        known = book.execute("SELECT size, modified FROM imports WHERE path = ?", (now.path,)).fetchone()
        if known == (now.size, now.modified):
            return 0
        entries, damaged = read_text_ledger(self.text)
        for entry in entries:
            try:
                book.execute(f"INSERT OR IGNORE {_INSERT}", _row(entry))
            except (OverflowError, UnicodeEncodeError):
                damaged += 1
        book.execute("INSERT OR REPLACE INTO imports VALUES (?, ?, ?)", (now.path, now.size, now.modified))
        return damaged

    def _failure(self, error: sqlite3.Error) -> SystemFailureError:
        """What is wrong with the ledger, and what to do."""
        match getattr(error, "sqlite_errorcode", 0) & 0xFF:  # the rest of the code is a detail
            case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
                said: tuple[str, ...] = ("is held by another program; end that, or ", *_ANOTHER)
            case sqlite3.SQLITE_NOTADB | sqlite3.SQLITE_CORRUPT:
                said = ("is damaged or is no ledger; restore it, or ", *_ANOTHER)
            case sqlite3.SQLITE_FULL:
                said = ("cannot be written (no space left); make room, or choose another",)
            case _:
                said = (f"cannot be written ({error}); ", *_ANOTHER, ", or none with ", Argument("ledger=None"))
        return SystemFailureError(f"the ledger {self.path} ", *said)


class Spending:
    """The time in which a release spends: an entry is there from the start, and says at the end how it went.

    Parameters
    ----------
    ledger : Ledger
        Where it is written down.
    entry : Entry
        What is spent.
    wave : Wave, optional
        What of it is memoised.
    """

    def __init__(self, ledger: Ledger, entry: Entry, wave: Wave | None = None) -> None:
        self._ledger = ledger
        self._entry = entry
        self._wave = wave
        self._waves: dict[str, Guarantee] = {}
        self._before: list[Entry] = []

    def begin(self, stacklevel: int = 2) -> None:
        """Write it down, and warn when the table was released before, with what all of it spends together."""
        before = self._ledger.begin(self._entry)
        if self._wave is not None:
            self._waves = self._ledger.begin_wave(self._entry, self._wave)
            if self._waves:
                warnings.warn(self._wave.message(len(self._waves)), LedgerWarning, stacklevel=stacklevel + 1)
        self._tell(before, "this table was released", stacklevel + 1)

    def recognise(self, digests: Mapping[str, str], stacklevel: int = 2) -> None:
        """Write down what was in the table, and warn of releases of the same columns that its name did not show."""
        told = {entry.release for entry in self._before}
        unseen = [entry for entry in self._ledger.recognise(self._entry, digests) if entry.release not in told]
        where = " and ".join(sorted({entry.source.name for entry in unseen}))
        self._tell(unseen, f"the same answers were released from {where}", stacklevel + 1)

    def _tell(self, found: Sequence[Entry], what: str, stacklevel: int) -> None:
        if not found:
            return
        self._before.extend(found)
        before = self._before
        # The memoised reports of an earlier wave of the same rows are the same reports: they count once.
        spent = [self._waves.get(entry.release, entry.spent) for entry in before]
        total = reduce(Guarantee.compose, [*spent, self._entry.spent])
        times = "once" if len(found) == 1 else f"{len(found)} times"
        cut_short = sum(entry.state == "started" for entry in found)
        if cut_short:
            times += f" ({cut_short} not seen to its end, which counts)"
        # Promises about rows and about persons add up to one about rows, and what that means for a person is unknown.
        if total.unit == "record" and any(entry.spent.unit == "person" for entry in before):
            unknown = "; some releases did not declare rows per person, so this is per row"
        else:
            unknown = ""
        message = (
            f"{what} {times} before, last on {found[-1].time[:10]}; "
            f"together with this release {total.summary()} is spent{unknown}"
        )
        warnings.warn(message, LedgerWarning, stacklevel=stacklevel + 1)

    def end(self, state: State) -> None:
        """Write down how it went; a release that is out is not undone because that fails."""
        try:
            self._ledger.end(self._entry, state)
        except DiscreetError as error:
            if state == "done":
                made = LedgerWarning("the release was made, and the ledger knows it only as started: ", error)
                warnings.warn(made, stacklevel=4)


def _wait_for_turn(book: sqlite3.Connection) -> None:
    """Begin to write, as soon as nobody else does.

    SQLite would wait longer and longer between two looks, and a process that writes often would always be first.
    """
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            book.execute("BEGIN IMMEDIATE")
            break
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
        time.sleep(random.uniform(0.0, _LOOK_SECONDS))
    book.execute(f"PRAGMA busy_timeout = {int(1000 * BUSY_SECONDS)}")  # for a reader who is there when this is written


def _tell_damaged(count: int, noun: str, where: Path) -> None:
    what = f"1 {noun}" if count == 1 else f"{count} {noun}s"
    message = f"{what} of the ledger {where} cannot be read and {'does' if count == 1 else 'do'} not count"
    warnings.warn(message, LedgerWarning, stacklevel=5)


def _row(entry: Entry) -> tuple[Any, ...]:
    data = entry.to_dict()
    lists = {name: json.dumps(data[name]) for name in ("columns", "spent")}
    return tuple((data | lists)[name] for name in _FIELDS)
