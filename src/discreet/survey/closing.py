"""Closing a survey: an ordinary release of its reports, and a database that has forgotten who came when.

Reports are written out in a random order, with the manifest that every release has. Then they are put into a table of
their own under places that are drawn at random; the tables with digests of ids and codes are dropped, and an SQLite
file is checkpointed and rewritten. Whoever takes a copy of the file before that, or keeps PostgreSQL's write-ahead
log, a replica or a backup, has the order still.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from discreet import arguments
from discreet.blocks import Block
from discreet.domains import FiniteDomain
from discreet.errors import ReleaseError
from discreet.publish import release
from discreet.publish.plan.questions import Question
from discreet.randomness import Randomness
from discreet.randomness.sampling import permutation
from discreet.reading import Release
from discreet.survey.database import CHUNK, Database
from discreet.survey.questionnaire import Questionnaire
from discreet.survey.tallies import Progress, all_reports, progress

#: What to do with people whose public answers only few others share.
SMALL_CELLS = ("refuse", "blank", "keep")


@dataclass(frozen=True)
class Closed:
    """What was released when a survey closed.

    Attributes
    ----------
    release : Release
        The file.
    progress : Progress
        What had been received, withdrawn and refused.
    small : int
        Rows whose public answers fewer people shared than the plan's smallest cell, with those blanked beside them.
    blanked : bool
        Whether the public answers of these rows were left out.
    """

    release: Release
    progress: Progress
    small: int
    blanked: bool


def close_survey(
    survey: Questionnaire,
    database: Database,
    output: str | os.PathLike[str],
    *,
    small_cells: str = "refuse",
    overwrite: bool = False,
    signing_key: Any = None,
) -> Closed:
    """End a survey and write its reports as a release; closing again writes the same reports again.

    Parameters
    ----------
    survey : Questionnaire
        The plan as it was served.
    database : Database
        Where the reports are; nobody may be serving it.
    output : path
        ``.parquet`` or ``.csv``.
    small_cells : {"refuse", "blank", "keep"}
        What to do with rows whose public answers fewer people share than ``smallest_cell``. At least that many rows are
        blanked, or none.
    overwrite, signing_key
        As for :func:`discreet.release`.
    """
    chosen = arguments.choice(small_cells, "small_cells", SMALL_CELLS, ReleaseError)
    database.open(survey.design, create=False)
    with database.held():
        reports = all_reports(database)
        if not reports:
            raise ReleaseError("there are no reports to release")
        codes = np.array([survey.split(report) for report in reports], np.int64)
        small = _small_rows(survey, codes, blank=chosen == "blank")
        if small.any() and chosen == "refuse":
            raise ReleaseError(
                f"{int(small.sum()):,} people share their public answers with fewer than "
                f"{survey.collect.smallest_cell} in all and could be picked out; leave these answers out "
                "(--small-cells blank), or decide to keep them"
            )
        table = _table(survey, codes, small if chosen == "blank" else np.zeros(len(codes), bool))
        done = release(table, survey.plan, output, overwrite=overwrite, ledger=None, signing_key=signing_key)
        if not database.closed:
            forget(database, reports)
        return Closed(done, progress(database), int(small.sum()), chosen == "blank")


def _small_rows(survey: Questionnaire, codes: np.ndarray[Any, Any], *, blank: bool) -> np.ndarray[Any, Any]:
    """Rows whose combination of public answers is too rare.

    Rows without public answers are a group too: to blank, the next larger ones follow until it is no small one.
    """
    public = [i for i, field in enumerate(survey.fields) if field.name in survey.plan.public]
    if not public:
        return np.zeros(len(codes), bool)
    _, cell = np.unique(codes[:, public], axis=0, return_inverse=True)
    sizes, smallest = np.bincount(cell.reshape(-1)), survey.collect.smallest_cell
    small = sizes < smallest
    for group in np.argsort(sizes, kind="stable") if blank else ():
        small[group] |= 0 < sizes[small].sum() < smallest
    return np.asarray(small[cell.reshape(-1)])


def _table(survey: Questionnaire, codes: np.ndarray[Any, Any], blank: np.ndarray[Any, Any]) -> pa.Table:
    """Reports as a table of labels, in the order of the plan."""
    place = {field.name: i for i, field in enumerate(survey.fields)}
    asked = {question.column: question for question in survey.questions}
    arrays: dict[str, pa.Array] = {}
    for name in survey.plan.public:
        arrays[name] = _public(survey, name, asked.get(name), codes[:, place[name]], blank)
    for block in survey.plan.blocks:
        for name in block.columns:
            arrays[name] = _private(block, name, codes[:, place[name]])
    return pa.table(arrays)


def _public(
    survey: Questionnaire,
    name: str,
    question: Question | None,
    codes: np.ndarray[Any, Any],
    blank: np.ndarray[Any, Any],
) -> pa.Array:
    designing = next((block for block in survey.plan.blocks if block.by == name), None)
    if question is None:
        assert designing is not None
        return pa.array([list(designing.designs)[code] for code in codes])
    if question.grid is not None:
        numbers = question.grid.decode(np.minimum(codes, question.size - 1)).tolist()
        whole = all(value.is_integer() for value in question.grid.positions.tolist())
        values: list[Any] = [int(value) for value in numbers] if whole else numbers
    else:
        listed = [choice.value for choice in question.choices]
        values = [listed[min(code, len(listed) - 1)] for code in codes]
    # The design of a row is needed to read it, so it is never left out.
    left_out = (codes >= question.size) | (blank if designing is None else False)
    return pa.array([None if gone else value for value, gone in zip(values, left_out, strict=True)])


def _private(block: Block, name: str, codes: np.ndarray[Any, Any]) -> pa.Array:
    reports = block.reports_of(name)
    assert isinstance(reports, FiniteDomain)
    gone = codes >= reports.size
    decoded = reports.decode(np.where(gone, 0, codes)).tolist()
    return pa.array([None if out else value for value, out in zip(decoded, gone, strict=True)])


def forget(database: Database, reports: list[str]) -> None:
    """Keep reports under random places, and counts; drop every digest, and what the file still holds of them."""
    import sqlalchemy as sa

    tables, before = database.tables, progress(database)
    order = permutation(len(reports), Randomness()).tolist()
    rows = [{"place": place, "report": reports[source]} for place, source in enumerate(order)]
    with database.working(), database.engine.begin() as connection:
        for start in range(0, len(rows), CHUNK):
            connection.execute(sa.insert(tables.closed), rows[start : start + CHUNK])
        kept = Counter(invited=before.invited, used=before.used)
        connection.execute(sa.insert(tables.survey), [{"key": key, "value": str(n)} for key, n in kept.items()])
        tables.reports.drop(connection)
        tables.invitations.drop(connection)
        connection.execute(sa.update(tables.survey).where(tables.survey.c.key == "state").values(value="closed"))
    if not database.server:
        with database.working(), database.engine.connect() as plain:
            outside = plain.execution_options(isolation_level="AUTOCOMMIT")
            for step in ("PRAGMA wal_checkpoint(TRUNCATE)", "VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"):
                outside.execute(sa.text(step))
    database.tables.metadata.create_all(database.engine)
