"""A survey: a plan whose answers are asked for on a page, what the page knows of it, and how its answers travel."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

from discreet.blocks import Block
from discreet.domains import FiniteDomain
from discreet.errors import PlanError
from discreet.mechanisms import FiniteMechanism
from discreet.publish import Plan
from discreet.publish.plan.questions import Collect, Question
from discreet.survey.odds import odds
from discreet.survey.sampling import drawn_channels, page_channel
from discreet.survey.wording import LANGUAGES

#: The version of what travels and of what a page is made from. It never goes back.
FORMAT = 1


@dataclass(frozen=True)
class Field:
    """One answer in a report: a code of fixed width.

    Attributes
    ----------
    name : str
        The column.
    size : int
        Number of codes, the one for a blank among them where there is one.
    blank : int or None
        The code of an answer that was left out; None where it must be given, or where the blank is a value.
    """

    name: str
    size: int
    blank: int | None = None

    @cached_property
    def width(self) -> int:
        """Decimal digits."""
        return len(str(self.size - 1))


@dataclass(frozen=True)
class Questionnaire:
    """A plan with questions, checked for what a page can ask and draw.

    Parameters
    ----------
    plan : Plan
        With ``[collect]`` and ``[[question]]``. All private columns count as collected: respondents randomise them.

    Examples
    --------
    >>> from discreet.survey import TEMPLATE
    >>> survey = Questionnaire.parse(TEMPLATE)
    >>> [field.name for field in survey.fields]
    ['year', 'cheated', 'hours']
    """

    plan: Plan

    def __post_init__(self) -> None:
        if self.plan.collection is None:
            raise PlanError("the plan has no [collect] table and no questions; discreet survey new shows how they look")
        if self.plan.labels:
            raise PlanError(
                "label cannot stand beside [collect]: its design needs the public answers, which are to come"
            )
        if self.plan.order != "shuffle":
            raise PlanError('output.order must be "shuffle" beside [collect]: the order of arrival is forgotten')
        for language in self.collect.languages:
            if language not in LANGUAGES:
                raise PlanError(
                    f'collect.languages: the words of a page are there in {", ".join(LANGUAGES)}, not in "{language}"'
                )
        self.plan.check_budget()
        # Without a stated guarantee a block states what it realises.
        blocks = tuple(
            replace(block, collected=True, guarantee=None)  # type: ignore[arg-type]
            for block in self.plan.blocks
        )
        object.__setattr__(self, "plan", replace(self.plan, blocks=blocks))
        for block in blocks:
            drawn_channels(block)

    @classmethod
    def read(cls, path: str | os.PathLike[str], *, outside_files: bool = False) -> Self:
        """From a TOML file."""
        return cls(Plan.read(path, outside_files=outside_files))

    @classmethod
    def parse(cls, text: str) -> Self:
        """From TOML text."""
        return cls(Plan.parse(text))

    @property
    def collect(self) -> Collect:
        """Who may answer, and when."""
        assert self.plan.collection is not None
        return self.plan.collection

    @property
    def questions(self) -> tuple[Question, ...]:
        """What is asked, in order."""
        return self.plan.questions

    @property
    def invited(self) -> bool:
        """Whether a code is needed."""
        return self.collect.access == "invitation"

    @property
    def title(self) -> str:
        """In the first language."""
        return self.collect.title[self.collect.languages[0]] if self.collect.title else self.plan.title or "Survey"

    @cached_property
    def assigned(self) -> tuple[Block, ...]:
        """Blocks whose design is drawn for every respondent, because nobody is asked for it; one for each column."""
        asked = {question.column for question in self.questions}
        by_column = {block.by: block for block in self.plan.blocks if block.by is not None and block.by not in asked}
        return tuple(by_column.values())

    def block_of(self, column: str) -> Block | None:
        """The block of a private column."""
        return next((block for block in self.plan.blocks if column in block.columns), None)

    def channels(self) -> Iterator[tuple[str, FiniteMechanism]]:
        """Every private column with the channel of each of its designs."""
        for block in self.plan.blocks:
            for name in block.columns:
                yield from ((name, mechanism) for mechanism in block.channels_of(name).values())

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        """How a report is written: questions in order, then what was drawn for the respondent."""
        fields = [self._field(question) for question in self.questions]
        return (*fields, *(Field(str(block.by), len(block.designs)) for block in self.assigned))

    def _field(self, question: Question) -> Field:
        block = self.block_of(question.column)
        if block is None:
            size = question.size
            return Field(question.column, size if question.required else size + 1, None if question.required else size)
        reports = block.reports_of(question.column)
        assert isinstance(reports, FiniteDomain)
        if block.missing == "public":
            return Field(question.column, reports.size + 1, reports.size)
        return Field(question.column, reports.size)

    @cached_property
    def length(self) -> int:
        """Digits of every report."""
        return sum(field.width for field in self.fields)

    def split(self, report: str) -> tuple[int, ...] | None:
        """The codes of a report, or None where it is none."""
        if len(report) != self.length or not (report.isascii() and report.isdecimal()):
            return None
        codes, start = [], 0
        for field in self.fields:
            code = int(report[start : start + field.width])
            if code >= field.size:
                return None
            codes.append(code)
            start += field.width
        return tuple(codes)

    def joined(self, codes: tuple[int, ...]) -> str:
        """Codes as a report."""
        return "".join(f"{code:0{field.width}d}" for code, field in zip(codes, self.fields, strict=True))

    @cached_property
    def data(self) -> dict[str, Any]:
        """All that a page is made from, but for the address that it sends to."""
        collect, languages = self.collect, self.collect.languages
        title = collect.title.to_dict() if collect.title else dict.fromkeys(languages, self.title)
        return {
            "format": FORMAT,
            "title": title,
            "languages": list(languages),
            "access": collect.access,
            "consent": collect.consent.to_dict() if collect.consent else None,
            "contact": collect.contact,
            "questions": [
                self._question_data(question, field)
                for question, field in zip(self.questions, self.fields, strict=False)
            ],
            "assigned": [list(block.designs) for block in self.assigned],
            "blocks": [self._block_data(block) for block in self.plan.blocks],
        }

    def _question_data(self, question: Question, field: Field) -> dict[str, Any]:
        grid, block = question.grid, self.block_of(question.column)
        return {
            "text": question.text.to_dict(),
            "help": question.help.to_dict() if question.help else None,
            "input": question.input,
            "labels": [choice.label.to_dict() for choice in question.choices],
            "grid": None if grid is None else [grid.low, grid.high, grid.points],
            "required": question.required,
            "private": question.private,
            "size": question.size,
            "width": field.width,
            "blank": field.blank,
            "blank_drawn": block is not None and block.missing == "category",
        }

    def _block_data(self, block: Block) -> dict[str, Any]:
        """Which questions it holds, the channels that are drawn from, and the odds of every question by design."""
        places = [self._place(name) for name in block.columns]
        channels = drawn_channels(block)
        seen = [block.channels_of(name) for name in block.columns]
        return {
            "questions": places,
            "together": block.together,
            "sizes": [getattr(block.truths_of(name), "size", 0) for name in block.columns],
            "by": None if block.by is None else self._place(block.by),
            "designs": self._designs(block),
            "channels": [page_channel(mechanism) for mechanism in channels.values()],
            "odds": [
                [odds(mechanism, block.truths_of(name), block.reports_of(name)) for mechanism in each.values()]
                for name, each in zip(block.columns, seen, strict=True)
            ],
        }

    def _designs(self, block: Block) -> list[int]:
        """Which channel goes with each code of ``by``: people may read the designs in another order."""
        names = list(block.designs)
        question = next((q for q in self.questions if q.column == block.by), None)
        return (
            [0]
            if not names
            else [*range(len(names))]
            if question is None
            else [names.index(str(choice.value)) for choice in question.choices]
        )

    def _place(self, name: str) -> int:
        return [field.name for field in self.fields].index(name)

    @cached_property
    def design(self) -> str:
        """SHA-256 of what is asked and how it is randomised; days and addresses may change while a survey runs."""
        return hashlib.sha256(canonical(self.data).encode()).hexdigest()

    def manifest(self, page_sha256: str) -> dict[str, Any]:
        """What is promised and drawn, for whoever wants to check it before answering."""
        return {
            "format": FORMAT,
            "survey": {"title": self.title, "design": self.design, "access": self.collect.access},
            "page": {"sha256": page_sha256},
            "questions": [{"column": q.column, "private": q.private, "text": q.text.to_dict()} for q in self.questions],
            "blocks": [block.to_dict() for block in self.plan.blocks],
            "guarantee": self.plan.guarantee.to_dict(),
            "rows_per_person": self.plan.budget.rows_per_person,
        }


def canonical(data: Any) -> str:
    """JSON with one spelling."""
    return json.dumps(data, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))
