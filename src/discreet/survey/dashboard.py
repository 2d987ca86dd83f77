"""The researcher's view of a running survey: estimates whose intervals stay valid however often one looks.

While a survey runs, intervals are those of a confidence sequence (:mod:`discreet.estimate.intervals.anytime`); after
closing, the usual ones. Estimates and counts of public answers change only in steps: when as many reports were added
as the smallest cell has. The last step is kept in the database, so a restart is not one more. Plots are drawn here, as
SVG; the page fetches them again by itself.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from discreet.blocks import Block
from discreet.errors import EstimationError
from discreet.mechanisms import FiniteMechanism
from discreet.survey.database import Database
from discreet.survey.page import Page, fill, policy_of
from discreet.survey.questionnaire import Questionnaire
from discreet.survey.svg import columns, interval, meter
from discreet.survey.tallies import Progress, Tallies, progress
from discreet.survey.wording import asset

LEVEL = 0.95
#: Reports from which on estimates are shown: a confidence sequence needs some dozens.
FEWEST = 30
#: Public answers with more choices than this have no table.
_MOST_ROWS = 30
#: The entry of the database that keeps what was shown last.
_STEP = "dashboard step"
_CONTRADICTION = (
    "The reports contradict the design: chance alone gives more of the other codes. Are reports being made up?"
)


@dataclass(frozen=True)
class Estimated:
    """One private question under one design."""

    question: str
    design: str
    n: int
    labels: tuple[str, ...]
    rows: tuple[tuple[float, float, float], ...]
    needed: int | None
    note: str = ""


class Dashboard:
    """Draws what is known so far."""

    def __init__(self, survey: Questionnaire, database: Database) -> None:
        self.survey = survey
        self.database = database
        self._lock = threading.Lock()

    def page(self, state: str) -> Page:
        """The whole page, which goes on fetching its figures."""
        script, style = asset("dashboard.js"), asset("page.css") + asset("dashboard.css")
        policy = policy_of(script, style, "'self'")
        content = fill(
            asset("dashboard.html"),
            TITLE=escape(self.survey.title),
            POLICY=escape(policy, quote=False),
            STYLE=style,
            FIGURES=self.figures(state),
            SCRIPT=script,
        )
        return Page(content.encode(), policy)

    def figures(self, state: str) -> str:
        """What changes while reports come in, as HTML."""
        with self._lock:
            now = progress(self.database)
            return _head(self.survey, now, state, self.database.test) + _days(now) + self._step(now.reports)

    def _step(self, reports: int) -> str:
        """Estimates and public counts as they were at the last step; a step is at least one smallest cell long."""
        if self.database.closed:
            return self._cards(Tallies.of(self.database, self.survey), closed=True)
        kept = json.loads(self.database.value(_STEP) or "null")

        def due(reports: int) -> bool:
            return kept is None or abs(reports - kept["reports"]) >= self.survey.collect.smallest_cell

        if due(reports):
            tallies = Tallies.of(self.database, self.survey)
            if due(tallies.reports):  # some may have been withdrawn since they were counted
                kept = {"reports": tallies.reports, "cards": self._cards(tallies, closed=False)}
                self.database.keep(_STEP, json.dumps(kept))
        return str(kept["cards"])

    def _cards(self, tallies: Tallies, *, closed: bool) -> str:
        found = []
        for block in self.survey.plan.blocks:
            for name in block.columns:
                text = next(q.text[self.survey.collect.languages[0]] for q in self.survey.questions if q.column == name)
                for place, (design, mechanism) in enumerate(block.channels_of(name).items()):
                    found.append(self._estimate(tallies, block, name, text, design, mechanism, place, closed=closed))
        return "".join([*(_card(one, closed=closed) for one in found), self._public(tallies)])

    def _estimate(
        self,
        tallies: Tallies,
        block: Block,
        name: str,
        text: str,
        design: str,
        mechanism: FiniteMechanism,
        place: int,
        *,
        closed: bool,
    ) -> Estimated:
        from discreet.estimate import frequencies

        group = () if block.by is None else (self._by_code(block, place),)
        counts, left_out = tallies.reports_of(name, block.by, group, mechanism.shape[1])
        n, labels = int(counts.sum()), self._labels(block, name)
        needed = self._needed(mechanism, n)
        if n < FEWEST:
            return Estimated(text, design, n, labels, (), needed, f"Estimates are shown from {FEWEST} reports on.")
        smallest = self.survey.collect.smallest_cell
        if 0 < left_out < smallest or (group and withheld(tallies.public(str(block.by)), smallest)[group[0]] is None):
            note = f"Withheld: its number of reports would show a group of fewer than {smallest} people."
            return Estimated(text, design, n, labels, (), needed, note)
        try:
            result = frequencies(counts=counts, mechanism=mechanism)
            ends = result.interval(LEVEL, None if closed else "anytime")
        except EstimationError as error:
            return Estimated(text, design, n, labels, (), needed, str(error))
        if np.isnan(ends).any():
            return Estimated(text, design, n, labels, (), needed, _CONTRADICTION)
        rows = tuple((float(e), float(lo), float(hi)) for e, (lo, hi) in zip(result.estimate, ends, strict=True))
        return Estimated(text, design, n, labels, rows, needed)

    def _by_code(self, block: Block, place: int) -> int:
        """The code that the column ``by`` has in reports under a design."""
        data = self.survey.data["blocks"][self.survey.plan.blocks.index(block)]
        return int(data["designs"].index(place))

    def _labels(self, block: Block, name: str) -> tuple[str, ...]:
        domain: Any = block.truths_of(name)
        question = next(q for q in self.survey.questions if q.column == name)
        language = self.survey.collect.languages[0]
        if question.choices:
            labels = [choice.label[language] for choice in question.choices]
        else:
            labels = [f"{domain.label(code):g}" for code in range(question.size)]
        return (*labels, "no answer") if domain.size > len(labels) else tuple(labels)

    def _needed(self, mechanism: FiniteMechanism, n: int) -> int | None:
        from discreet.design import sample_size

        if self.survey.collect.margin is None:
            return None
        try:
            return max(0, int(sample_size(mechanism, self.survey.collect.margin, LEVEL)) - n)
        except EstimationError:
            return None

    def _public(self, tallies: Tallies) -> str:
        """Counts of every public answer with those that could point at people withheld."""
        smallest, language = self.survey.collect.smallest_cell, self.survey.collect.languages[0]
        cards = []
        for question in self.survey.questions:
            if question.private or not question.choices or len(question.choices) > _MOST_ROWS:
                continue
            names = [choice.label[language] for choice in question.choices] + ["no answer"] * (not question.required)
            lines = "".join(
                f"<tr><th scope=row>{escape(name)}</th>"
                f"<td>{f'fewer than {smallest}, or beside one' if count is None else f'{count:,}'}</td></tr>"
                for name, count in zip(names, withheld(tallies.public(question.column), smallest), strict=True)
            )
            cards.append(
                f'<section class="card"><h2>{escape(question.text[language])}</h2>'
                f'<p class=quiet>Of {tallies.reports:,} reports.</p><table class="counts">{lines}</table></section>'
            )
        return "".join(cards)


def withheld(counts: Sequence[int], smallest: int) -> list[int | None]:
    """Counts of one question without those that are too small, and without what would show them beside the total.

    Counts below the smallest cell are left out, zeros too: a total of 1 beside two zeros shows whose answer it is.
    Then the next larger ones follow until at least two are left out that together make a smallest cell. Every number
    that is left out can then be anything from 0 to that sum, as far as the total and the others show; and so can no
    combination of answers to several questions be told closer than a smallest cell.

    >>> withheld([40, 3, 12], 5)
    [40, None, None]
    >>> withheld([40, 30, 12], 5)
    [40, 30, 12]
    >>> withheld([1, 0, 0], 5)
    [None, None, None]
    """
    out = {i for i, count in enumerate(counts) if count < smallest}
    for i in sorted(range(len(counts)), key=lambda i: counts[i]):
        if not out or (len(out) > 1 and sum(counts[j] for j in out) >= smallest):
            break
        out.add(i)
    return [None if i in out else count for i, count in enumerate(counts)]


def _head(survey: Questionnaire, now: Progress, state: str, test: bool) -> str:
    facts = [("Reports", now.reports), ("Withdrawn", now.total("withdrawn")), ("Refused", now.total("refused"))]
    tiles = "".join(f"<div><dt>{name}</dt><dd>{count:,}</dd></div>" for name, count in facts)
    if survey.invited:
        tiles += f"<div><dt>Invitations used</dt><dd>{now.used:,} of {now.invited:,}</dd></div>"
    badge = {"open": "Open", "early": "Not open yet", "closed": "Closed"}[state] + (" · test run" if test else "")
    return (
        f'<section class="card head"><p class="badge {state}">{badge}</p><h1>{escape(survey.title)}</h1>'
        f'<dl class="tiles">{tiles}</dl></section>'
    )


def _days(now: Progress) -> str:
    if not now.days:
        return ""
    days = [(day, counts["received"]) for day, counts in sorted(now.days.items())][-60:]
    most = max(count for _, count in days)
    told = f"{escape(days[0][0])} to {escape(days[-1][0])}; at most {most:,} on one day."
    return f'<section class="card"><h2>Reports per day</h2>{columns(days)}<p class="goal">{told}</p></section>'


def _card(one: Estimated, *, closed: bool) -> str:
    under = f" <small>({escape(one.design)})</small>" if one.design else ""
    if not one.rows:
        return f'<section class="card"><h2>{escape(one.question)}{under}</h2><p>{escape(one.note)}</p></section>'
    lines = "".join(
        f"<tr><th scope=row>{escape(label)}</th><td class=picture>{interval(estimate, low, high)}</td>"
        f"<td class=number><b>{estimate:.1%}</b> <span>{low:.1%} to {high:.1%}</span></td></tr>"
        for label, (estimate, low, high) in zip(one.labels, one.rows, strict=True)
    )
    kind = "95 % intervals, one for each answer" + ("" if closed else "; each holds at every look")
    goal = ""
    if one.needed is not None:
        told = (
            f"{one.needed:,} more reports reach the planned margin" if one.needed else "The planned margin is reached"
        )
        goal = f"<p class=goal>{meter(one.n, one.n + one.needed)}<span>{told}.</span></p>"
    return (
        f'<section class="card"><h2>{escape(one.question)}{under}</h2>'
        f"<p class=quiet>From {one.n:,} reports; {kind}.</p>"
        f'<table class="estimates">{lines}</table>{goal}</section>'
    )
