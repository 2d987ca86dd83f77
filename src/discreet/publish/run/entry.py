"""An entry of the ledger: which table was released, by which plan, and what that spends."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Self, get_args

from discreet.privacy import Guarantee
from discreet.publish.plan import Plan
from discreet.tables.readers import part_names

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
