"""What the database of a running survey is asked: counts, never single rows."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

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


class Tallies:
    """Counts of codes of one moment: all are read in one transaction.

    Parameters
    ----------
    survey : Questionnaire
        What is asked.
    reports : int
        All reports of that moment.
    counted : dict
        For each column, alone or beside the one that names its design, how many reports have each code or pair.
    """

    def __init__(
        self, survey: Questionnaire, reports: int, counted: dict[tuple[str, ...], Counter[tuple[int, ...]]]
    ) -> None:
        self.survey = survey
        self.reports = reports
        self._counted = counted

    @classmethod
    def of(cls, database: Database, survey: Questionnaire) -> Self:
        """Of all reports that are there."""
        import sqlalchemy as sa

        source, starts, start = _source(database), {}, 1
        for field in survey.fields:
            starts[field.name] = (start, field.width)
            start += field.width
        wanted: dict[tuple[str, ...], None] = {(name,): None for name in survey.plan.public}
        for block in survey.plan.blocks:
            by = () if block.by is None else (block.by,)
            wanted |= {(*by, *names): None for names in [(), *((name,) for name in block.columns)]}
        counted = {}
        with database.one_moment() as connection:
            total = connection.execute(sa.select(sa.func.count()).select_from(source)).scalar() or 0
            for names in filter(None, wanted):
                pieces = [sa.func.substr(source.c.report, *starts[one]).label(f"p{i}") for i, one in enumerate(names)]
                query = sa.select(*pieces, sa.func.count()).group_by(*pieces)
                counted[names] = Counter({tuple(map(int, row[:-1])): int(row[-1]) for row in connection.execute(query)})
        return cls(survey, int(total), counted)

    def public(self, name: str) -> list[int]:
        """Reports with each code of a public column; where it may be left out, that is the last code."""
        size = next(field.size for field in self.survey.fields if field.name == name)
        return [self._counted[(name,)][(code,)] for code in range(size)]

    def reports_of(self, name: str, by: str | None, group: tuple[int, ...], size: int) -> tuple[NDArray[np.int64], int]:
        """Reports with each code of a private column under one design, and how many left it out in public."""
        counted = self._counted[(name,) if by is None else (by, name)]
        counts = np.array([counted[(*group, code)] for code in range(size)], np.int64)
        return counts, counted[(*group, size)]


def all_reports(database: Database) -> list[str]:
    """Every report, in the order of what has none: random digests, or places that were drawn."""
    import sqlalchemy as sa

    source = _source(database)
    first: Any = next(iter(source.primary_key.columns))
    with database.working(), database.engine.connect() as connection:
        return [str(report) for (report,) in connection.execute(sa.select(source.c.report).order_by(first))]


def _source(database: Database) -> Table:
    return database.tables.closed if database.closed else database.tables.reports
