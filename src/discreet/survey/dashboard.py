"""The researcher's view of a running survey: estimates whose error bars hold however often one looks.

While a survey runs, intervals are those of a confidence sequence (:mod:`discreet.estimate.intervals.anytime`); after
closing, the
usual ones. Estimates change only when as many reports have come in as the smallest cell: nobody who watches can see
what one arrival has changed. Pictures are drawn here, as SVG; the page fetches them again by itself.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from discreet.errors import EstimationError
from discreet.manifest import Block
from discreet.mechanisms import FiniteMechanism
from discreet.survey.database import Database
from discreet.survey.page import Page, fill, policy_of
from discreet.survey.questionnaire import Questionnaire
from discreet.survey.svg import columns, interval, meter
from discreet.survey.tallies import Progress, counts_of, progress, tally
from discreet.survey.wording import asset

LEVEL = 0.95
#: Reports from which on estimates are shown: a confidence sequence needs some dozens.
FEWEST = 30
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
        self._seen: int | None = None
        self._kept: tuple[list[Estimated], str] = ([], "")

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
            smallest = self.survey.collect.smallest_cell
            if self._seen is None or abs(now.reports - self._seen) >= smallest or state == "closed":
                self._seen = now.reports
                self._kept = (self._estimates(closed=self.database.closed), self._public())
            estimates, public = self._kept
            parts = [_head(self.survey, now, state, self.database.test), _days(now)]
            parts += [_card(one, closed=self.database.closed) for one in estimates]
            return "".join([*parts, public])

    def _estimates(self, *, closed: bool) -> list[Estimated]:
        found = []
        for block in self.survey.plan.blocks:
            for name in block.columns:
                text = next(q.text[self.survey.collect.languages[0]] for q in self.survey.questions if q.column == name)
                for place, (design, mechanism) in enumerate(block.channels_of(name).items()):
                    found.append(self._estimate(block, name, text, design, mechanism, place, closed=closed))
        return found

    def _estimate(
        self,
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

        if block.by is None:
            counts = counts_of(tally(self.database, self.survey, name), mechanism.shape[1])
        else:
            code = self._by_code(block, place)
            counts = counts_of(tally(self.database, self.survey, name, block.by), mechanism.shape[1], code)
        n, labels = int(counts.sum()), self._labels(block, name)
        needed = self._needed(mechanism, n)
        if n < FEWEST:
            return Estimated(text, design, n, labels, (), needed, f"Estimates are shown from {FEWEST} reports on.")
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

    def _public(self) -> str:
        """Counts of every public answer; cells that are too small, and one more beside a single one, are withheld."""
        smallest, language = self.survey.collect.smallest_cell, self.survey.collect.languages[0]
        cards = []
        for question in self.survey.questions:
            if question.private or not question.choices or len(question.choices) > 30:
                continue
            counted = tally(self.database, self.survey, question.column)
            counts = [counted[(code,)] for code in range(question.size)]
            shown = withheld(counts, smallest)
            lines = "".join(
                f"<tr><th scope=row>{escape(choice.label[language])}</th>"
                f"<td>{f'fewer than {smallest}, or beside one' if count is None else f'{count:,}'}</td></tr>"
                for choice, count in zip(question.choices, shown, strict=True)
            )
            heading = escape(question.text[language])
            cards.append(f'<section class="card"><h2>{heading}</h2><table class="counts">{lines}</table></section>')
        return "".join(cards)


def withheld(counts: list[int], smallest: int) -> list[int | None]:
    """Counts with those below the smallest cell left out; a single one could be worked out, so it gets company.

    >>> withheld([40, 3, 12], 5)
    [40, None, None]
    >>> withheld([40, 0, 12], 5)
    [40, 0, 12]
    """
    small = [i for i, count in enumerate(counts) if 0 < count < smallest]
    if len(small) == 1:
        others = [i for i, count in enumerate(counts) if count >= smallest]
        small += sorted(others, key=lambda i: counts[i])[:1]
    return [None if i in small else count for i, count in enumerate(counts)]


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
