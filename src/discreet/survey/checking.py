"""What a survey promises, which error bars it allows, and where its public answers could point at somebody."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from discreet import arguments
from discreet.errors import NotIdentifiedError, PlanError
from discreet.plain_text import one_line
from discreet.survey.by_hand import procedure_words
from discreet.survey.odds import odds, procedure_of, sentence
from discreet.survey.page import Page, build_page, undrawn
from discreet.survey.questionnaire import Questionnaire
from discreet.survey.wording import wording


@dataclass(frozen=True)
class Checked:
    """A survey as its researcher should know it before anybody is asked.

    Attributes
    ----------
    survey : Questionnaire
    people : int
        How many answers are expected.
    page : Page or None
        As it would be served; None where a procedure is for the respondent's own hands.
    margins : dict
        For every private column, by design, the half-width of a 95 % interval of a frequency at the worst distribution
        of answers; or why there is none.
    cells : int
        Number of combinations of public answers.
    """

    survey: Questionnaire
    people: int
    page: Page | None
    margins: dict[str, dict[str, float | str]]
    cells: int

    @property
    def small(self) -> bool:
        """Whether combinations of public answers are so many that most hold fewer people than the plan allows."""
        return self.people < self.survey.collect.smallest_cell * self.cells

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "design": self.survey.design,
            "page": None if self.page is None else {"sha256": self.page.sha256, "bytes": len(self.page.content)},
            "people": self.people,
            "guarantee": self.survey.plan.guarantee.to_dict(),
            "access": self.survey.collect.access,
            "margins": self.margins,
            "public_cells": self.cells,
            "small_cells": self.small,
            "untranslated": untranslated(self.survey),
        }

    def summary(self) -> str:
        """For people."""
        survey, guarantee = self.survey, self.survey.plan.guarantee
        lines = [f"Survey: {one_line(survey.title)}", "", "The promise", guarantee.explain(), *self._access(), ""]
        lines.append("What a respondent reads about every private question")
        lines += [f'  "{one_line(name)}": {sentence}' for name, sentence in said_odds(survey)]
        lines += ["", f"Error bars to expect with {self.people:,} people (95 %, at the worst distribution of answers)"]
        for name, each in self.margins.items():
            for design, value in each.items():
                under = f" ({one_line(design)})" if design else ""
                told = f"every frequency to ± {value:.1%}" if isinstance(value, float) else value
                lines.append(f'  "{one_line(name)}"{under}: {told}')
        lines += ["", *self._cells()]
        for name, labels in untranslated(survey).items():
            listed = ", ".join(f'"{one_line(label)}"' for label in labels)
            languages = ", ".join(survey.collect.languages)
            lines.append(f'warning: "{one_line(name)}" is answered with {listed} in {languages}: no labels are given.')
        if self.page is None:
            lines.append(f"Page: none. {undrawn(survey)}.")
        else:
            lines.append(f"Page: {len(self.page.content):,} bytes, SHA-256 {self.page.sha256}")
        return "\n".join(lines)

    def _access(self) -> list[str]:
        if self.survey.invited:
            return ["Whoever has an invitation answers once."]
        return [
            "Access is open: whoever answers twice spends twice, and reports can be made up. The promise is per report."
        ]

    def _cells(self) -> list[str]:
        smallest, listed = self.survey.collect.smallest_cell, ", ".join(self.survey.plan.public)
        if not self.survey.plan.public:
            return ["No public answers: nobody can be picked out by them."]
        told = (
            f"Public answers ({one_line(listed)}): {self.cells:,} combinations, "
            f"{self.people / self.cells:,.1f} people in each on average"
        )
        if self.small:
            return [
                f"{told}.",
                f"warning: many will hold fewer than {smallest} people, who could be picked out; ask less.",
            ]
        return [f"{told}; fewer than {smallest} in one are not shown, nor released unasked."]


def check_survey(survey: Questionnaire, people: int = 1_000) -> Checked:
    """Everything that can be said before anybody is asked; reads no answers.

    >>> from discreet.survey import TEMPLATE
    >>> checked = check_survey(Questionnaire.parse(TEMPLATE), people=2_000)
    >>> round(checked.margins["cheated"][""], 3), checked.cells, checked.small
    (0.047, 3, False)
    """
    from discreet.design import margin

    people = arguments.whole(people, "people", PlanError, least=1)
    margins: dict[str, dict[str, float | str]] = {}
    for block in survey.plan.blocks:
        for name in block.columns:
            margins[name] = {}
            for design, mechanism in block.channels_of(name).items():
                try:
                    margins[name][design] = float(margin(mechanism, people))
                except NotIdentifiedError as error:
                    margins[name][design] = str(error)
    sizes = [field.size for field in survey.fields if field.name in survey.plan.public]
    page = None if undrawn(survey) else build_page(survey)
    return Checked(survey, people, page, margins, math.prod(sizes))


def untranslated(survey: Questionnaire) -> dict[str, list[str]]:
    """For every question the choices that people read as they are in the table, in every language."""
    missing = {
        question.column: [str(choice.value) for choice in question.choices if not choice.translated]
        for question in survey.questions
    }
    return {column: labels for column, labels in missing.items() if labels}


def said_odds(survey: Questionnaire, language: str | None = None) -> list[tuple[str, str]]:
    """For every private column the sentence that its respondents read, one for each design."""
    language = language or survey.collect.languages[0]
    words, asked, said = wording(language), {question.column: question for question in survey.questions}, []
    for block in survey.plan.blocks:
        for name in block.columns:
            labels = [choice.label[language] for choice in asked[name].choices]
            for design, mechanism in block.channels_of(name).items():
                found = odds(mechanism, block.truths_of(name), block.reports_of(name))
                how = procedure_of(mechanism)
                read = (
                    sentence(found, words, labels)
                    if how is None or found["say"] in words
                    else procedure_words(how, block, asked[name], language)
                )
                said.append((f"{name} ({design})" if design else name, read))
    return said
