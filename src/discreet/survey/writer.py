"""One writer for all reports: what comes in while a commit is under way goes into the next one together.

A report is committed first, the use of its code second, and both before it is acknowledged. Whoever dies in between
is sent again by the page, with the same id and the same bytes, and acknowledged then.
"""

from __future__ import annotations

import asyncio
import datetime
import queue
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from discreet.publish.plan.questions import MOST_REPORTS
from discreet.survey.database import CHUNK, Database
from discreet.survey.statements import add_count, insert_new

if TYPE_CHECKING:
    from sqlalchemy import Connection

#: Reports of one commit at most, so that none waits for a very long one.
_BATCH = 1_000
#: Turns of the event loop without a new report after which a group is complete: a request takes two, from its bytes to
#: its task.
_QUIET_TURNS = 3


class Outcome(Enum):
    """What became of a request."""

    STORED = "stored"
    KNOWN = "known"
    OTHER = "other"
    UNKNOWN_CODE = "unknown code"
    USED_CODE = "used code"
    DELETED = "deleted"
    ABSENT = "absent"
    FAILED = "failed"
    FULL = "the survey has all reports that it takes"


@dataclass(eq=False)
class Job:
    """A report to be stored, or (without one) to be deleted."""

    ticket: bytes
    report: str | None
    code: bytes | None
    done: asyncio.Future[Outcome]
    outcome: Outcome = Outcome.FAILED


class Writer:
    """A thread that stores reports in groups.

    Parameters
    ----------
    database : Database
        Opened.
    invited : bool
        Whether every report needs a code.
    most : int
        Reports that are kept; further ones are refused.
    """

    def __init__(self, database: Database, *, invited: bool, most: int = MOST_REPORTS) -> None:
        self.database = database
        self.invited = invited
        self.most = most
        self._kept: int | None = None  # reports that are there, the thread's own; None where that is to be counted
        self._groups: queue.SimpleQueue[list[Job] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="survey writer", daemon=True)
        self._waiting: list[Job] = []  # this and the next are touched by the event loop only
        self._busy = False
        self._refused = 0
        self._shaken = False  # whether the last group failed; the thread's own
        self._lock = threading.Lock()

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """Finish what was handed in, and end."""
        if self._waiting:
            self._groups.put(self._waiting)
            self._waiting = []
        self._groups.put(None)
        self._thread.join()

    def refused(self) -> None:
        """Count a request that never became a job; the count is written with the next commit."""
        with self._lock:
            self._refused += 1

    async def ask(self, ticket: bytes, report: str | None, code: bytes | None = None) -> Outcome:
        """Store a report, or delete it; returns when that is on the disk."""
        loop = asyncio.get_running_loop()
        job = Job(ticket, report, code, loop.create_future())
        if not self._waiting:
            self._gather()
        self._waiting.append(job)
        return await job.done

    def _gather(self, seen: int = 0, quiet: int = 0) -> None:
        """Wait while requests come in at every turn of the event loop, then hand over what there is.

        A commit takes milliseconds whatever it holds, and a turn microseconds: a whole crowd in one commit is
        answered sooner than half of it now and half of it after another.
        """
        if self._busy or quiet >= _QUIET_TURNS or seen >= _BATCH:
            self._hand_over()
            return
        now = len(self._waiting)
        asyncio.get_running_loop().call_soon(self._gather, now, quiet + 1 if now == seen else 0)

    def _hand_over(self) -> None:
        """Give the thread all that is waiting, unless it is at work: then when it is done."""
        if self._waiting and not self._busy:
            group, self._waiting = self._waiting[:_BATCH], self._waiting[_BATCH:]
            self._busy = True
            self._groups.put(group)

    def _run(self) -> None:
        while (group := self._groups.get()) is not None:
            self._work(group)
        self._work([])  # requests that were refused since

    def _work(self, group: list[Job]) -> None:
        try:
            if self._shaken:
                self.database.hold_again()
            self._commit(group)
            self._shaken = False
        except Exception:
            # Whoever waits is told that it failed, and sends again; the next group may succeed.
            self._shaken, self._kept = True, None
        if group:
            group[0].done.get_loop().call_soon_threadsafe(self._answer, group)

    def _answer(self, group: list[Job]) -> None:
        """Tell everybody who waits, with one visit to the event loop, and hand over who came meanwhile."""
        self._busy = False
        for job in group:
            if not job.done.done():
                job.done.set_result(job.outcome)
        if self._waiting:
            self._gather()

    def _commit(self, group: list[Job]) -> None:
        """All reports of a group, then their codes, then deletions: three transactions."""
        with self.database.working():
            puts = [job for job in group if job.report is not None]
            with self.database.storing() as connection:
                decided = self._store(connection, puts)
            self._use_codes(job.code for job in puts if decided[job] in (Outcome.STORED, Outcome.KNOWN))
            for job, outcome in decided.items():
                job.outcome = outcome
            self._delete([job for job in group if job.report is None])

    def _store(self, connection: Connection, puts: list[Job]) -> dict[Job, Outcome]:
        """The first transaction: reports, in the order of their random digests, and the counts of the day."""
        decided = self._decide(connection, puts)
        with self._lock:
            refused, self._refused = self._refused, 0
        refused += sum(outcome not in (Outcome.STORED, Outcome.KNOWN) for outcome in decided.values())
        if refused:
            add_count(connection, self.database.tables, _today(), "refused", refused)
        return decided

    def _decide(self, connection: Connection, puts: list[Job]) -> dict[Job, Outcome]:
        """Store what is new, first come first served, and say what became of every report.

        Nearly all are new: they are inserted without being looked for, and the database says which it took.
        """
        tables = self.database.tables
        wanted = [job.code for job in puts if job.code is not None] if self.invited else []
        codes: dict[bytes | None, Any] = {}
        codes |= dict(_rows(connection, tables.invitations.c.code, tables.invitations.c.used, wanted))
        chosen: dict[bytes, Job] = {}
        for job in puts:
            if job.ticket not in chosen and (not self.invited or codes.get(job.code) is False):
                chosen[job.ticket] = job
                if job.code is not None:
                    codes[job.code] = True
        full = self._too_many(connection, chosen)
        chosen = {ticket: job for ticket, job in chosen.items() if ticket not in full}
        rows = sorted((ticket, str(job.report)) for ticket, job in chosen.items())
        stored = insert_new(connection, tables, rows, _today())
        self._kept = (self._kept or 0) + len(stored)
        decided = {job: Outcome.STORED for ticket, job in chosen.items() if ticket in stored}
        others = [job for job in puts if job not in decided]
        known = dict(_rows(connection, tables.reports.c.ticket, tables.reports.c.report, [j.ticket for j in others]))
        return decided | {job: self._otherwise(job, known, codes, full) for job in others}

    def _too_many(self, connection: Connection, chosen: dict[bytes, Job]) -> set[bytes]:
        """Digests of new reports for which there is no room, the last ones that came."""
        import sqlalchemy as sa

        reports = self.database.tables.reports
        if self._kept is None:
            self._kept = int(connection.execute(sa.select(sa.func.count()).select_from(reports)).scalar() or 0)
        room = max(self.most - self._kept, 0)
        if len(chosen) <= room:
            return set()
        there = dict(_rows(connection, reports.c.ticket, reports.c.ticket, list(chosen)))
        return set([ticket for ticket in chosen if ticket not in there][room:])

    def _otherwise(
        self, job: Job, known: dict[bytes, Any], codes: dict[bytes | None, Any], full: set[bytes]
    ) -> Outcome:
        """What becomes of a report that was not stored just now."""
        if job.ticket in full:
            return Outcome.FULL
        if job.ticket in known:
            return Outcome.KNOWN if known[job.ticket] == job.report else Outcome.OTHER
        return Outcome.USED_CODE if job.code in codes else Outcome.UNKNOWN_CODE

    def _use_codes(self, codes: Iterable[bytes | None]) -> None:
        """The second transaction: which codes were used, in no order that they came in."""
        import sqlalchemy as sa

        used = sorted({code for code in codes if code is not None})
        if not used or not self.invited:
            return
        table = self.database.tables.invitations
        with self.database.engine.begin() as connection:
            for start in range(0, len(used), CHUNK):
                chosen = table.c.code.in_(used[start : start + CHUNK])
                connection.execute(sa.update(table).where(chosen, table.c.used.is_(False)).values(used=True))

    def _delete(self, jobs: list[Job]) -> None:
        """The third: reports that were taken back."""
        import sqlalchemy as sa

        if not jobs:
            return
        tables, found = self.database.tables, {}
        with self.database.engine.begin() as connection:
            for job in jobs:
                chosen = tables.reports.c.ticket == job.ticket
                gone = connection.execute(sa.delete(tables.reports).where(chosen)).rowcount
                found[job] = Outcome.DELETED if gone else Outcome.ABSENT
            withdrawn = sum(outcome is Outcome.DELETED for outcome in found.values())
            if withdrawn:
                add_count(connection, tables, _today(), "withdrawn", withdrawn)
        self._kept = None if self._kept is None else self._kept - withdrawn
        for job, outcome in found.items():
            job.outcome = outcome


def _today() -> str:
    return datetime.datetime.now(datetime.UTC).date().isoformat()


def _rows(connection: Connection, key: Any, value: Any, wanted: list[bytes]) -> Iterable[tuple[bytes, Any]]:
    """Key and value of all rows that are asked for."""
    import sqlalchemy as sa

    different = list(set(wanted))
    for start in range(0, len(different), CHUNK):
        query = sa.select(key, value).where(key.in_(different[start : start + CHUNK]))
        yield from ((bytes(found), said) for found, said in connection.execute(query))
