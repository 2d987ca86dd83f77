"""Sheets for interviews without a device: the same questions with dice, a spinner, cards or a harmless statement.

A classic procedure is printed in its own words, with its exact fractions. Any other channel becomes a table: weights
over six are a die; others are brought to hundredths, for two ten-sided dice or a spinner, and never promise less
privacy than the plan: while they do, a hundredth moves from the likeliest report to the least likely one. What is drawn
by hand is then a design of its own, and the sheet has the lines of a plan for it.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from fractions import Fraction
from html import escape
from typing import Any

from discreet.blocks import Block
from discreet.errors import PlanError
from discreet.mechanisms import ChannelResponse, FiniteMechanism
from discreet.mechanisms.procedures import Procedure
from discreet.privacy import Guarantee, certify
from discreet.publish.plan.questions import Question
from discreet.survey.odds import procedure_of
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
    for _ in range(_SIDES):
        drawn = ChannelResponse(rows)
        if _as_private(drawn, mechanism.guarantee):
            return ByHand(_SIDES, tuple(map(tuple, rows)), drawn)
        for row in rows:
            row[row.index(max(row))] -= 1
            row[row.index(min(row))] += 1
    return None


def _as_private(drawn: ChannelResponse, stated: Guarantee) -> bool:
    """Whether a channel keeps what is stated: its ε with its δ, and the chance of a report that proves an answer."""
    if drawn.guarantee.exposure > stated.exposure:
        return False
    if stated.delta == 0:
        return drawn.guarantee.epsilon <= stated.epsilon
    return certify(drawn).delta(stated.epsilon) <= stated.delta


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
        words, direction = hand_words(language), wording(language)["dir"]
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


def hand_words(language: str) -> dict[str, Any]:
    """The words of a sheet; those of procedures have places for their fractions and for the two answers."""
    found: dict[str, Any] = json.loads(asset(f"by_hand/{language}.json"))
    return found


def _question_sheet(survey: Questionnaire, block: Block, name: str, language: str, words: dict[str, Any]) -> str:
    question = next(one for one in survey.questions if one.column == name)
    heading = f"<h2>{escape(question.text[language])}</h2>"
    parts = []
    for design, mechanism in ({} if block.together else block.channels_of(name)).items():
        how, under = procedure_of(mechanism), f"<h3>{escape(design)}</h3>" if design else ""
        if how is not None:
            parts.append(under + _procedure_sheet(mechanism, how, block, question, language, words))
        else:
            drawn = by_hand(mechanism)
            parts.append(under + (_missing(words) if drawn is None else _rule(drawn, block, question, language, words)))
    return f'<section class="asked">{heading}{"".join(parts) or _missing(words)}</section>'


#: What a spinner, a die or a pack of cards decides in a procedure: outcomes with their parameters; the last has the
#: rest.
_CHANCES: dict[str, tuple[tuple[tuple[str, str], ...], ...]] = {
    "warner": ((("asked", "p"), ("turned", "")),),
    "forced": ((("yes", "yes"), ("no", "no"), ("truth", "")),),
    "unrelated": ((("truth", "p"), ("harmless", "")),),
    "mangat": ((("no", "p"), ("yes", "")),),
    "kuk": ((("red", "yes"), ("other", "")), (("red", "no"), ("other", ""))),
    "devore": ((("truth", "p"), ("yes", "")),),
    "mangat_singh": ((("truth", "first"), ("second", "")), (("asked", "p"), ("turned", ""))),
    "mangat_singh_singh": ((("no", "p"), ("harmless", "")),),
    "two_stage_unrelated": ((("truth", "first"), ("second", "")), (("truth", "p"), ("harmless", ""))),
    "singh_joarder": ((("asked", "p"), ("turned", "")),),
}


def procedure_words(how: Procedure, block: Block, question: Question, language: str) -> str:
    """What a respondent does in a classic procedure, with its exact fractions."""
    no, yes = _labels(question, block, language, 2)
    said_no, said_yes = _said(how, block, question, language)
    values = {key: str(value) for key, value in how.parameters}
    text: str = hand_words(language)["procedures"][how.name]
    return text.format(**values, N=said_no, Y=said_yes, no_truth=no, yes_truth=yes)


def _said(how: Procedure, block: Block, question: Question, language: str) -> list[str]:
    """What may be said under a procedure, for code 0 and code 1: the plan's own names, or those of the language."""
    reports = block.reports_of(question.column)
    if reports != block.truths_of(question.column):
        return [str(reports.label(code)) for code in (0, 1)]  # type: ignore[attr-defined]
    named: list[str] | None = hand_words(language)["reports"].get(how.name)
    return _labels(question, block, language, 2) if named is None else named


def _procedure_sheet(
    mechanism: FiniteMechanism, how: Procedure, block: Block, question: Question, language: str, words: dict[str, Any]
) -> str:
    """The words of a procedure, and every spinner, die or pack that it needs."""
    said = _said(how, block, question, language)
    named = dict(words["chances"]) | {key: words["say"].format(b=b) for key, b in zip(("no", "yes"), said, strict=True)}
    spinners = _CHANCES.get(how.name, ())
    parts = []
    for place, outcomes in enumerate(spinners):
        values = dict(how.parameters)
        shares = [values[key] for _, key in outcomes[:-1]]
        shares.append(1 - sum(shares, Fraction(0)))
        title = named["pack" if how.name == "kuk" else "chance"]
        heading = title.format(c="AB"[place] if how.name == "kuk" else place + 1)
        shown = f"<h3>{escape(heading)}</h3>" if len(spinners) > 1 else ""
        parts.append(_chance([named[key] for key, _ in outcomes], shares, shown, words, cards=how.name == "kuk"))
    text = f"<p>{escape(procedure_words(how, block, question, language))}</p>"
    rules = f'<div class="rules">{"".join(parts)}</div>' if parts else ""
    given = ", ".join(f'{key} = "{value}"' for key, value in how.parameters)
    design = f"{{ {given} }}" if len(how.parameters) > 1 else given.partition(" = ")[2] or "true"
    named_reports = how.name in words["reports"] or said != _labels(question, block, language, 2)
    lines = f"{how.name} = {design}" + (f"\nreports = {json.dumps(said, ensure_ascii=False)}" if named_reports else "")
    return text + rules + _as_plan(mechanism, question.column, lines)


def _chance(outcomes: list[str], shares: list[Fraction], heading: str, words: dict[str, Any], *, cards: bool) -> str:
    """One spinner, die or pack: its exact sides for every outcome."""
    parts = math.lcm(*(share.denominator for share in shares))
    sides = next((sides for sides in (6, _SIDES) if sides % parts == 0 and not cards), parts)
    row = tuple(int(share * sides) for share in shares)
    drawn = "" if cards else _picture(row, sides)
    lines = "".join(
        f"<li>{_range(low, high, sides, words, cards=cards)}: {escape(outcomes[y])}</li>"
        for y, low, high in _ranges(row)
    )
    return f'<div class="rule">{heading}{drawn}<ul>{lines}</ul></div>'


def _missing(words: dict[str, Any]) -> str:
    return f"<p>{escape(words['device'])}</p>"


def _rule(drawn: ByHand, block: Block, question: Question, language: str, words: dict[str, Any]) -> str:
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
    matrix = f"matrix = {json.dumps([[f'{n}/{drawn.sides}' for n in row] for row in drawn.rows])}"
    plan = _as_plan(drawn.mechanism, question.column, matrix)
    return f'<p>{escape(intro)}</p><div class="rules">{rules}</div>{plan}'


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


def _range(low: int, high: int, sides: int, words: dict[str, Any], *, cards: bool = False) -> str:
    if cards or sides not in (6, _SIDES):
        return f"<b>{escape(words['chances']['parts'].format(n=high + 1 - low, m=sides))}</b>"
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


def _as_plan(mechanism: FiniteMechanism, column: str, design: str) -> str:
    """What is certified of a sheet, and the lines of a plan that take its answers in."""
    lines = f"[[private]]\ncolumns = [{json.dumps(column)}]\ndomain = …\ncollected = true\n{design}"
    promise = escape(mechanism.guarantee.summary())
    return f'<details lang="en" dir="ltr" open><summary>{promise}</summary><pre>{escape(lines)}</pre></details>'


def check_by_hand(survey: Questionnaire) -> None:
    """Refuse where no question at all can be asked by hand."""
    for block in survey.plan.blocks:
        if not block.together and any(
            procedure_of(one) or by_hand(one) for name in block.columns for one in block.channels_of(name).values()
        ):
            return
    raise PlanError("no private question of this survey can be asked with dice or a spinner; it needs a device")
