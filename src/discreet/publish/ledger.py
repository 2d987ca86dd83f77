"""The ledger: which tables were released before, and what that has spent.

One JSON object per line, in the state folder of the user. It holds where the table lay and what was promised,
and no trace of the truth.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any, Self

from discreet.errors import ManifestError, ReleaseError, SystemFailureError
from discreet.manifest import Manifest
from discreet.privacy import Guarantee
from discreet.publish.plan import Plan


class LedgerWarning(UserWarning):
    """The same truth was released before, or the ledger could not be read or written in full."""


@dataclass(frozen=True)
class Fingerprint:
    """What tells a file apart without looking inside: where it lies, its size and when it was changed."""

    path: str
    size: int
    modified: int

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> Self:
        """Of a file that is there."""
        status = os.stat(path)
        return cls(os.path.realpath(path), status.st_size, status.st_mtime_ns)


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

    @classmethod
    def of(cls, source: Fingerprint, plan: Plan, manifest: Manifest) -> Self:
        """The entry of a finished release."""
        return cls(source, plan.title, plan.digest, plan.private, manifest.guarantee, manifest.id, manifest.created)

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
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read back what ``to_dict`` wrote."""
        return cls(
            Fingerprint(str(data["path"]), int(data["size"]), int(data["modified"])),
            data["title"],
            str(data["plan"]),
            tuple(data["columns"]),
            Guarantee.from_dict(data["spent"]),
            str(data["release"]),
            str(data["time"]),
        )


@dataclass(frozen=True)
class Ledger:
    """A file of entries, only ever appended to.

    Parameters
    ----------
    path : Path
        Where it lies.
    """

    path: Path

    @classmethod
    def default(cls) -> Self:
        """``$XDG_STATE_HOME/discreet/ledger.jsonl``, or ``~/.local/state/discreet/ledger.jsonl``."""
        state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
        return cls(Path(state) / "discreet" / "ledger.jsonl")

    @classmethod
    def choose(cls, ledger: Any) -> Self | None:
        """``"default"``, a path, a ledger, or None for no record."""
        if ledger is None or isinstance(ledger, cls):
            return ledger
        if isinstance(ledger, str) and ledger == "default":
            return cls.default()
        if isinstance(ledger, (str, os.PathLike)):
            return cls(Path(ledger))
        raise ReleaseError(f'ledger must be "default", a path or None, not {type(ledger).__name__}')

    def entries(self) -> tuple[Entry, ...]:
        """All entries; lines that cannot be read are reported, not guessed."""
        try:
            lines = self.path.read_text(encoding="utf-8").splitlines()
        except (FileNotFoundError, NotADirectoryError):
            return ()
        except (OSError, UnicodeDecodeError):
            raise SystemFailureError(f"the ledger {self.path} cannot be read; choose another, or none") from None
        found = []
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                found.append(Entry.from_dict(json.loads(line)))
            except (KeyError, TypeError, ValueError, ManifestError):
                message = f"line {number} of the ledger {self.path} cannot be read and does not count"
                warnings.warn(message, LedgerWarning, stacklevel=2)
        return tuple(found)

    def previous(self, path: str | os.PathLike[str], columns: Sequence[str] | None = None) -> tuple[Entry, ...]:
        """Earlier releases of the same truth.

        Parameters
        ----------
        path : path
            The table. What was released from this path counts, whether or not the file has changed since.
        columns : sequence of str, optional
            Private columns. A file elsewhere of the same size and time of change that released the same
            columns is taken to be a copy.
        """
        source = Fingerprint.of(path)
        wanted = None if columns is None else set(columns)
        return tuple(entry for entry in self.entries() if _same_truth(entry, source, wanted))

    def warn(self, path: str | os.PathLike[str], plan: Plan, stacklevel: int = 2) -> None:
        """Warn when a table was released before, with what all of it spends together."""
        before = self.previous(path, plan.private)
        if not before:
            return
        total = reduce(Guarantee.compose, [*(entry.spent for entry in before), plan.guarantee])
        times = "once" if len(before) == 1 else f"{len(before)} times"
        # Promises about rows and about persons add up to one about rows, and what that means for a person is unknown.
        if total.unit == "record" and any(entry.spent.unit == "person" for entry in before):
            unknown = "; some releases did not declare rows per person, so this is per row"
        else:
            unknown = ""
        message = (
            f"this table was released {times} before, last on {before[-1].time[:10]}; "
            f"together with this release {total.summary()} is spent{unknown}"
        )
        warnings.warn(message, LedgerWarning, stacklevel=stacklevel + 1)

    def prepare(self) -> None:
        """Make sure that an entry can be written, before anything is released."""
        new = not self.path.exists()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with self.path.open("ab"):
                pass
            if new:  # a release that fails later must not leave an empty ledger behind
                self.path.unlink()
        except OSError as error:
            raise SystemFailureError(
                f"the ledger {self.path} cannot be written ({error.strerror}); choose another, or none"
            ) from None

    def record(self, entry: Entry) -> None:
        """Append an entry, in one piece."""
        line = json.dumps(entry.to_dict(), ensure_ascii=False) + "\n"
        try:
            descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                os.write(descriptor, line.encode())
            finally:
                os.close(descriptor)
        except OSError as error:
            # The release is out; to fail now would hide that.
            message = f"the release was made, but the ledger {self.path} could not be written ({error.strerror})"
            warnings.warn(message, LedgerWarning, stacklevel=3)


def _same_truth(entry: Entry, source: Fingerprint, columns: set[str] | None) -> bool:
    if entry.source.path == source.path:
        return True
    copy = (entry.source.size, entry.source.modified) == (source.size, source.modified)
    return copy and (columns is None or not columns.isdisjoint(entry.columns))
