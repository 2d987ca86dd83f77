"""One writer for all reports: what comes in while a commit is under way goes into the next one together.

A report is committed first, the use of its code second, and both before it is acknowledged. Whoever dies in between
is sent again by the page, with the same id and the same bytes, and acknowledged then.
"""

from __future__ import annotations

import asyncio
import datetime
import queue
import threading
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from discreet.survey.database import CHUNK, Database

if TYPE_CHECKING:
    from sqlalchemy import Connection

#: Reports of one commit at most, so that none waits for a very long one.
_BATCH = 1_000


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
    """

    def __init__(self, database: Database, *, invited: bool) -> None:
        self.database = database
        self.invited = invited
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="survey writer", daemon=True)
        self._refused = 0
        self.failures = 0
        self._lock = threading.Lock()

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """Finish what was handed in, and end."""
        self._jobs.put(None)
        self._thread.join()

    def refused(self) -> None:
        """Count a request that never became a job; the count is written with the next commit."""
        with self._lock:
            self._refused += 1

    async def ask(self, ticket: bytes, report: str | None, code: bytes | None = None) -> Outcome:
        """Store a report, or delete it; returns when that is on the disk."""
        job = Job(ticket, report, code, asyncio.get_running_loop().create_future())
        self._jobs.put(job)
        return await job.done

    def _run(self) -> None:
        going = True
        while going:
            batch, going = self._next()
            if batch or not going:
                try:
                    self._commit(batch)
                except Exception:
                    # Whoever waits is told that it failed, and sends again; the next group may succeed.
                    self.failures += 1
                _answer(batch)

    def _next(self) -> tuple[list[Job], bool]:
        """Everything that is waiting; and whether there is more to come."""
        batch: list[Job] = []
        job = self._jobs.get()
        while job is not None:
            batch.append(job)
            if len(batch) >= _BATCH:
                break
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                break
        return batch, job is not None

    def _commit(self, batch: list[Job]) -> None:
        """All reports of a group, then their codes, then deletions: three transactions on one connection."""
        with self.database.working(), self.database.engine.connect() as connection:
            puts = [job for job in batch if job.report is not None]
            with connection.begin():
                decided = self._store(connection, puts)
            taken = [job.code for job in puts if decided[job] in (Outcome.STORED, Outcome.KNOWN)]
            self._use_codes(connection, taken)
            for job, outcome in decided.items():
                job.outcome = outcome
            deleted = [job for job in batch if job.report is None]
            if deleted:
                self._delete(connection, deleted)

    def _store(self, connection: Connection, puts: list[Job]) -> dict[Job, Outcome]:
        """The first transaction: reports, in the order of their random digests, and the counts of the day."""
        import sqlalchemy as sa

        decided = self._decide(connection, puts)
        with self._lock:
            refused, self._refused = self._refused, 0
        refused += sum(outcome not in (Outcome.STORED, Outcome.KNOWN) for outcome in decided.values())
        new = sorted((job.ticket, job.report) for job, outcome in decided.items() if outcome is Outcome.STORED)
        if new:
            rows = [{"ticket": ticket, "report": report} for ticket, report in new]
            connection.execute(sa.insert(self.database.tables.reports), rows)
        self._count(connection, Counter(received=len(new), refused=refused))
        return decided

    def _decide(self, connection: Connection, puts: list[Job]) -> dict[Job, Outcome]:
        """What becomes of every report, in the order in which they came."""
        tables = self.database.tables
        known = dict(_rows(connection, tables.reports.c.ticket, tables.reports.c.report, [j.ticket for j in puts]))
        wanted = [job.code for job in puts if job.code is not None] if self.invited else []
        codes = dict(_rows(connection, tables.invitations.c.code, tables.invitations.c.used, wanted))
        decided: dict[Job, Outcome] = {}
        for job in puts:
            decided[job] = self._outcome(job, known, codes)
            if decided[job] is Outcome.STORED:
                known[job.ticket] = job.report
                if job.code is not None:
                    codes[job.code] = True
        return decided

    def _outcome(self, job: Job, known: dict[bytes, Any], codes: dict[bytes, Any]) -> Outcome:
        if job.ticket in known:
            return Outcome.KNOWN if known[job.ticket] == job.report else Outcome.OTHER
        if not self.invited:
            return Outcome.STORED
        if job.code not in codes:
            return Outcome.UNKNOWN_CODE
        return Outcome.USED_CODE if codes[job.code] else Outcome.STORED

    def _use_codes(self, connection: Connection, codes: Iterable[bytes | None]) -> None:
        """The second transaction: which codes were used, in no order that they came in."""
        import sqlalchemy as sa

        used = sorted({code for code in codes if code is not None})
        if not used or not self.invited:
            return
        table = self.database.tables.invitations
        with connection.begin():
            for start in range(0, len(used), CHUNK):
                chosen = table.c.code.in_(used[start : start + CHUNK])
                connection.execute(sa.update(table).where(chosen, table.c.used.is_(False)).values(used=True))

    def _delete(self, connection: Connection, jobs: list[Job]) -> None:
        import sqlalchemy as sa

        table = self.database.tables.reports
        found: dict[Job, Outcome] = {}
        with connection.begin():
            for job in jobs:
                gone = connection.execute(sa.delete(table).where(table.c.ticket == job.ticket)).rowcount
                found[job] = Outcome.DELETED if gone else Outcome.ABSENT
            withdrawn = sum(outcome is Outcome.DELETED for outcome in found.values())
            self._count(connection, Counter(withdrawn=withdrawn))
        for job, outcome in found.items():
            job.outcome = outcome

    def _count(self, connection: Connection, what: Counter[str]) -> None:
        """Add to the counts of today; there is one writer, so nobody else does."""
        import sqlalchemy as sa

        table, today = self.database.tables.days, datetime.datetime.now(datetime.UTC).date().isoformat()
        for name, more in what.items():
            if not more:
                continue
            chosen = (table.c.day == today, table.c.what == name)
            if not connection.execute(sa.update(table).where(*chosen).values(count=table.c.count + more)).rowcount:
                connection.execute(sa.insert(table).values(day=today, what=name, count=more))


def _rows(connection: Connection, key: Any, value: Any, wanted: list[bytes]) -> Iterable[tuple[bytes, Any]]:
    """Key and value of all rows that are asked for."""
    import sqlalchemy as sa

    different = list(set(wanted))
    for start in range(0, len(different), CHUNK):
        query = sa.select(key, value).where(key.in_(different[start : start + CHUNK]))
        yield from ((bytes(found), said) for found, said in connection.execute(query))


def _answer(batch: list[Job]) -> None:
    """Tell everybody who waits, with one visit to the event loop."""

    def tell() -> None:
        for job in batch:
            if not job.done.done():
                job.done.set_result(job.outcome)

    if batch:
        batch[0].done.get_loop().call_soon_threadsafe(tell)
