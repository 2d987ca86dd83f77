"""Sheets for interviews without a device: the same questions with dice or a spinner.

A channel with weights over six is a die; any other is brought to hundredths, for two ten-sided dice or a spinner,
without ever promising more than the plan: while the certified ε is above the plan's, a hundredth moves from the
likeliest report to the least likely one. What is drawn by hand is a design of its own, and the sheet says the lines
of a plan for it.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from html import escape

from discreet.errors import PlanError
from discreet.manifest import Block
from discreet.mechanisms import ChannelResponse, FiniteMechanism
from discreet.publish.plan.questions import Question
from discreet.survey.page import fill
from discreet.survey.questionnaire import Questionnaire
from discreet.survey.wording import asset, wording

#: Answers that fit on a sheet.
_MOST = 12
_SIDES = 100


@dataclass(frozen=True)
class ByHand:
    """A channel that dice can follow.

    Attributes
    ----------
    sides : int
        6 for a die, 100 for two ten-sided dice or a spinner.
    rows : tuple
        For every true answer how many sides give each report.
    mechanism : ChannelResponse
        What is then drawn, exactly.
    """

    sides: int
    rows: tuple[tuple[int, ...], ...]
    mechanism: ChannelResponse


def by_hand(mechanism: FiniteMechanism) -> ByHand | None:
    """The design for dice that is nearest to a channel, and not less private; None where there is none.

    >>> from discreet.mechanisms import BinaryResponse
    >>> by_hand(BinaryResponse.forced("1/6", "1/6")).rows
    ((5, 1), (1, 5))
    >>> by_hand(BinaryResponse("0.7311", "0.7311")).rows
    ((73, 27), (27, 73))
    """
    if max(mechanism.shape) > _MOST:
        return None
    weights, total = mechanism.weights(), mechanism.denominator
    exact = all((6 * weight) % total == 0 for row in weights for weight in row)
    if exact:
        rows = [[6 * weight // total for weight in row] for row in weights]
        return ByHand(6, tuple(map(tuple, rows)), ChannelResponse(rows))
    rows = [_hundredths(row, total) for row in weights]
    limit = mechanism.guarantee.epsilon
    for _ in range(_SIDES):
        drawn = ChannelResponse(rows)
        if drawn.guarantee.epsilon <= limit or not math.isfinite(limit):
            return ByHand(_SIDES, tuple(map(tuple, rows)), drawn)
        for row in rows:
            row[row.index(max(row))] -= 1
            row[row.index(min(row))] += 1
    return None


def _hundredths(row: tuple[int, ...], total: int) -> list[int]:
    """Whole hundredths by largest remainder; what is possible stays possible."""
    shares = [_SIDES * weight / total for weight in row]
    out = [max(math.floor(share), 1 if weight else 0) for share, weight in zip(shares, row, strict=True)]
    order = sorted(range(len(row)), key=lambda y: (out[y] - shares[y], y))
    for y in order[: max(_SIDES - sum(out), 0)]:
        out[y] += 1
    while sum(out) > _SIDES:
        out[out.index(max(out))] -= 1
    return out


def instructions(survey: Questionnaire) -> str:
    """All sheets in all languages, as one HTML page for printing."""
    sheets = []
    for language in survey.collect.languages:
        words, direction = json.loads(asset(f"by_hand/{language}.json")), wording(language)["dir"]
        parts = [
            _question_sheet(survey, block, name, language, words)
            for block in survey.plan.blocks
            for name in block.columns
        ]
        sheets.append(
            f'<article lang="{language}" dir="{direction}"><h1>{escape(words["title"])}</h1>{"".join(parts)}'
            f'<p class="hide">{escape(words["hide"])}</p></article>'
        )
    return fill(
        asset("by_hand.html"), TITLE=escape(survey.title), LANGUAGE=survey.collect.languages[0], BODY="".join(sheets)
    )


def _question_sheet(survey: Questionnaire, block: Block, name: str, language: str, words: dict[str, str]) -> str:
    question = next(one for one in survey.questions if one.column == name)
    heading = f"<h2>{escape(question.text[language])}</h2>"
    designs = [] if block.together else list(block.channels_of(name).items())
    parts = []
    for design, mechanism in designs:
        drawn = by_hand(mechanism)
        under = f"<h3>{escape(design)}</h3>" if design else ""
        parts.append(under + (_missing(words) if drawn is None else _rule(drawn, block, question, language, words)))
    return f'<section class="asked">{heading}{"".join(parts) or _missing(words)}</section>'


def _missing(words: dict[str, str]) -> str:
    return f"<p>{escape(words['device'])}</p>"


def _rule(drawn: ByHand, block: Block, question: Question, language: str, words: dict[str, str]) -> str:
    truths = _labels(question, block, language, drawn.mechanism.shape[0])
    reports = (
        truths if drawn.mechanism.shape[1] == len(truths) else [f"{i + 1}" for i in range(drawn.mechanism.shape[1])]
    )
    intro = words["die" if drawn.sides == 6 else "spinner"]
    rules = "".join(
        f'<div class="rule"><h3>{escape(words["if"].format(a=truth))}</h3>{_picture(row, drawn.sides)}<ul>'
        + "".join(
            f"<li>{_range(low, high, drawn.sides, words)}: {escape(words['say'].format(b=reports[y]))}</li>"
            for y, low, high in _ranges(row)
        )
        + "</ul></div>"
        for truth, row in zip(truths, drawn.rows, strict=True)
    )
    return f'<p>{escape(intro)}</p><div class="rules">{rules}</div>{_as_plan(drawn, question.column)}'


def _labels(question: Question, block: Block, language: str, size: int) -> list[str]:
    if question.choices:
        labels = [choice.label[language] for choice in question.choices]
    else:
        assert question.grid is not None
        labels = [f"{value:g}" for value in question.grid.positions.tolist()]
    if len(labels) < size and block.missing == "category":
        labels.append(wording(language)["no_answer"])
    return labels


def _ranges(row: tuple[int, ...]) -> list[tuple[int, int, int]]:
    """Which sides give which report: (report, first side, last side), counted from 0."""
    out, start = [], 0
    for y, sides in enumerate(row):
        if sides:
            out.append((y, start, start + sides - 1))
        start += sides
    return out


def _range(low: int, high: int, sides: int, words: dict[str, str]) -> str:
    first, last = (str(low + 1), str(high + 1)) if sides == 6 else (f"{low:02d}", f"{high:02d}")
    return f"<b>{first if first == last else escape(words['range'].format(low=first, high=last))}</b>"


def _picture(row: tuple[int, ...], sides: int) -> str:
    """The faces of a die, or a spinner with one sector for each report."""
    if sides == 6:
        return "".join(_face(n + 1, y) for y, low, high in _ranges(row) for n in range(low, high + 1))
    sectors = []
    for y, low, high in _ranges(row):
        a, b = (2 * math.pi * edge / sides for edge in (low, high + 1))
        (x1, y1), (x2, y2) = ((50 + 46 * math.sin(t), 50 - 46 * math.cos(t)) for t in (a, b))
        large = int(high + 1 - low > sides / 2)
        path = f"M50 50 L{x1:.2f} {y1:.2f} A46 46 0 {large} 1 {x2:.2f} {y2:.2f} Z"
        sectors.append(f'<path d="{path}" class="sector s{y % 6}"/>')
    hub = '<circle cx="50" cy="50" r="3"/>'
    return f'<svg viewBox="0 0 100 100" class="spinner" aria-hidden="true">{"".join(sectors)}{hub}</svg>'


#: Where the pips of a die are: columns and rows of thirds.
_PIPS = {1: "11", 2: "00 22", 3: "00 11 22", 4: "00 02 20 22", 5: "00 02 11 20 22", 6: "00 01 02 20 21 22"}


def _face(number: int, y: int) -> str:
    pips = "".join(
        f'<circle cx="{8 + 8 * int(p[0])}" cy="{8 + 8 * int(p[1])}" r="2.2"/>' for p in _PIPS[number].split()
    )
    edge = '<rect x="1" y="1" width="30" height="30" rx="5"/>'
    return f'<svg viewBox="0 0 32 32" class="face s{y % 6}" aria-hidden="true">{edge}{pips}</svg>'


def _as_plan(drawn: ByHand, column: str) -> str:
    matrix = json.dumps([[f"{n}/{drawn.sides}" for n in row] for row in drawn.rows])
    lines = f"[[private]]\ncolumns = [{json.dumps(column)}]\ndomain = …\ncollected = true\nmatrix = {matrix}"
    promise = escape(drawn.mechanism.guarantee.summary())
    return f'<details lang="en" dir="ltr" open><summary>{promise}</summary><pre>{escape(lines)}</pre></details>'


def check_by_hand(survey: Questionnaire) -> None:
    """Refuse where no question at all can be asked by hand."""
    for block in survey.plan.blocks:
        if not block.together and any(
            by_hand(one) for name in block.columns for one in block.channels_of(name).values()
        ):
            return
    raise PlanError("no private question of this survey can be asked with dice or a spinner; it needs a device")
