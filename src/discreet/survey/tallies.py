"""What the database of a running survey is asked: counts, never single rows."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.survey.database import Database
from discreet.survey.questionnaire import Questionnaire

if TYPE_CHECKING:
    from sqlalchemy import Table


@dataclass(frozen=True)
class Progress:
    """How far a survey is.

    Attributes
    ----------
    reports : int
        That are there now.
    days : dict
        For every day how many were received, withdrawn and refused.
    invited, used : int
        Codes that were given out, and used.
    """

    reports: int
    days: dict[str, Counter[str]]
    invited: int
    used: int

    def total(self, what: str) -> int:
        """Over all days."""
        return sum(day[what] for day in self.days.values())


def progress(database: Database) -> Progress:
    """Counts of everything."""
    import sqlalchemy as sa

    tables = database.tables
    with database.working(), database.engine.connect() as connection:
        reports = connection.execute(sa.select(sa.func.count()).select_from(_source(database))).scalar() or 0
        days: dict[str, Counter[str]] = {}
        query = sa.select(tables.days.c.day, tables.days.c.what, tables.days.c.count).order_by(tables.days.c.day)
        for day, what, count in connection.execute(query):
            days.setdefault(str(day), Counter())[str(what)] += int(count)
        codes = tables.invitations
        counted = sa.select(sa.func.count(), sa.func.count().filter(codes.c.used.is_(True))).select_from(codes)
        invited, used = connection.execute(counted).one()
    if database.closed:  # the codes are gone, their numbers are kept
        invited, used = int(database.value("invited") or 0), int(database.value("used") or 0)
    return Progress(int(reports), days, int(invited), int(used))


def tally(database: Database, survey: Questionnaire, *names: str) -> Counter[tuple[int, ...]]:
    """How many reports have each combination of codes of some columns."""
    import sqlalchemy as sa

    source = _source(database)
    starts, start = {}, 1
    for field in survey.fields:
        starts[field.name] = (start, field.width)
        start += field.width
    pieces = [sa.func.substr(source.c.report, *starts[name]).label(f"piece_{i}") for i, name in enumerate(names)]
    query = sa.select(*pieces, sa.func.count()).group_by(*pieces)
    with database.working(), database.engine.connect() as connection:
        return Counter({tuple(map(int, row[:-1])): int(row[-1]) for row in connection.execute(query)})


def all_reports(database: Database) -> list[str]:
    """Every report, in the order of what has none: random digests, or places that were drawn."""
    import sqlalchemy as sa

    source = _source(database)
    first: Any = next(iter(source.primary_key.columns))
    with database.working(), database.engine.connect() as connection:
        return [str(report) for (report,) in connection.execute(sa.select(source.c.report).order_by(first))]


def counts_of(counted: Counter[tuple[int, ...]], size: int, *design: int) -> NDArray[np.int64]:
    """Counts of one column under one design, as an array over its report codes; blanks beyond them are left out."""
    return np.array([counted[(code, *design)] for code in range(size)], np.int64)


def _source(database: Database) -> Table:
    return database.tables.closed if database.closed else database.tables.reports
