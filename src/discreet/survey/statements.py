"""What every group of reports needs of the database, in as few statements as it takes.

SQLAlchemy would write the same; written out, its text is the same every time and is not put together for every group.
The names of tables are ours, and all values travel as parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from discreet.survey.database import Tables

Rows = Sequence[tuple[bytes, str]]


def insert_new(connection: Connection, tables: Tables, rows: Rows, day: str) -> set[bytes]:
    """Insert digests and reports, and count them on a day; returns the digests that were not there before."""
    if not rows:
        return set()
    if connection.dialect.name == "postgresql":
        return _insert_at_once(connection, tables, rows, day)
    # One process writes (it holds the lock) and a file is near: looking first costs less than being told what was new.
    reports, marks = tables.reports.name, ",".join("?" * len(rows))
    search = f"SELECT ticket FROM {reports} WHERE ticket IN ({marks})"
    known = {bytes(one) for (one,) in connection.exec_driver_sql(search, tuple(ticket for ticket, _ in rows))}
    new = [row for row in rows if row[0] not in known]
    if new:
        command = f"INSERT INTO {reports} (ticket, report) VALUES " + ",".join(["(?,?)"] * len(new))
        connection.exec_driver_sql(command, tuple(chain.from_iterable(new)))
        add_count(connection, tables, day, "received", len(new))
    return {ticket for ticket, _ in new}


def _insert_at_once(connection: Connection, tables: Tables, rows: Rows, day: str) -> set[bytes]:
    """PostgreSQL: one statement, so one journey, that says what it stored. Reports are digits: a comma parts them."""
    days = tables.days.name
    command = (
        f"WITH stored AS (INSERT INTO {tables.reports.name} (ticket, report) "
        "SELECT decode(ticket, 'hex'), report "
        "FROM unnest(string_to_array(%s, ','), string_to_array(%s, ',')) AS sent (ticket, report) "
        "ON CONFLICT DO NOTHING RETURNING ticket), "
        f"counted AS (INSERT INTO {days} (day, what, count) "
        "SELECT %s, 'received', count(*) FROM stored HAVING count(*) > 0 "
        f"ON CONFLICT (day, what) DO UPDATE SET count = {days}.count + excluded.count) "
        "SELECT ticket FROM stored"
    )
    sent = (",".join(ticket.hex() for ticket, _ in rows), ",".join(report for _, report in rows), day)
    return {bytes(ticket) for (ticket,) in connection.exec_driver_sql(command, sent)}


def add_count(connection: Connection, tables: Tables, day: str, what: str, more: int) -> None:
    """Add to what is counted on a day."""
    mark, days = "%s" if connection.dialect.name == "postgresql" else "?", tables.days.name
    command = (
        f"INSERT INTO {days} (day, what, count) VALUES ({mark}, {mark}, {mark}) "
        f"ON CONFLICT (day, what) DO UPDATE SET count = {days}.count + excluded.count"
    )
    connection.exec_driver_sql(command, (day, what, more))
