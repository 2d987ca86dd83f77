"""Simulated respondents: for a demonstration, and to rehearse a survey before anybody is asked."""

from __future__ import annotations

import datetime
import secrets
from collections import Counter
from collections.abc import Sequence

import numpy as np

from discreet.randomness import Randomness
from discreet.survey.database import Database
from discreet.survey.questionnaire import Questionnaire
from discreet.survey.sampling import coin, drawn_channels, report
from discreet.survey.statements import add_count

#: Days over which simulated people answer.
_DAYS = 7


def simulated_reports(survey: Questionnaire, people: int, generator: np.random.Generator) -> list[str]:
    """Reports of people whose answers are drawn at random, each randomised by the rule of the page.

    Columns that are randomised together, and rows whose design differs, are not simulated.
    """

    def bytes_of(count: int) -> bytes:
        return generator.bytes(count)

    out = []
    for _ in range(people):
        codes = []
        for question, field in zip(survey.questions, survey.fields, strict=True):
            block = survey.block_of(question.column)
            size = question.size
            truth = int(min(generator.geometric(0.45) - 1, size - 1))
            if block is None:
                codes.append(truth)
                continue
            mechanism = next(iter(drawn_channels(block).values()))
            codes.append(report(mechanism, truth, coin(mechanism.denominator, bytes_of)) % field.size)
        out.append(survey.joined(tuple(codes)))
    return out


def fill_database(database: Database, reports: Sequence[str]) -> None:
    """Put simulated reports where real ones would be, spread over the last days."""
    import sqlalchemy as sa

    tables = database.tables
    today = datetime.datetime.now(datetime.UTC).date()
    shares = Randomness().words(len(reports), np.uint16) % _DAYS
    days = Counter((today - datetime.timedelta(days=int(back))).isoformat() for back in shares)
    with database.working(), database.engine.begin() as connection:
        rows = [{"ticket": secrets.token_bytes(16), "report": one} for one in reports]
        connection.execute(sa.insert(tables.reports), rows)
        for day, count in days.items():
            add_count(connection, tables, day, "received", count)
