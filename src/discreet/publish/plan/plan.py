"""A plan: which columns are copied, which are randomised and how, and what may be spent."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

import pyarrow as pa

from discreet import arguments
from discreet.blocks import Block
from discreet.domains import Domain
from discreet.errors import BudgetError, DomainError, PlanError
from discreet.files import check_received, parse_toml, read_toml
from discreet.manifest import Survey, composed_guarantee
from discreet.manifest.document import Order
from discreet.plain_text import one_line
from discreet.privacy import Guarantee
from discreet.publish.plan.blocks import read_block, with_repeat
from discreet.publish.plan.domains import PlanFiles
from discreet.publish.plan.grammar import FORMAT, LATER_PRIVATE, OUTPUT, PRIVATE, PUBLIC, TOP, Section
from discreet.publish.plan.labels import LabelSpec, read_label
from discreet.publish.plan.margins import split_by_margins
from discreet.publish.plan.questions import Collect, Question, read_collect, read_questions
from discreet.publish.plan.row_designs import RowDesigns, check_row_designs, read_row_designs
from discreet.publish.plan.sections import Budget, read_budget, read_delimiter, read_encoding, read_survey

if TYPE_CHECKING:
    from discreet.design import BudgetSplit, Design
    from discreet.mechanisms import Mechanism
    from discreet.reading import Release


@dataclass(frozen=True)
class Plan:
    """What is to be done to a table, valid from the moment it exists.

    Made by ``Plan.read(path)``, ``Plan.parse(text)`` or ``Plan.from_dict(data)``.

    Attributes
    ----------
    title : str or None
        For people.
    public : tuple of str
        Columns that are copied, survey columns among them.
    survey : Survey
        Weight, strata and cluster columns.
    order : {"shuffle", "keep"}
        Row order of the output.
    budget : Budget
        What may be spent.
    blocks : tuple of Block
        The private columns with their finished mechanisms.
    designs : tuple of (Design or None)
        For every block how its mechanism was chosen, with its certificate; None where the plan gives the mechanism.
    missing_values : tuple of str
        Texts that stand for a missing value in a CSV source, beside the empty cell.
    collection, questions : Collect or None, tuple of Question
        How people are asked, where the answers come from a page (:mod:`discreet.survey`).

    Examples
    --------
    >>> plan = Plan.parse('''
    ... [[private]]
    ... columns = ["cheated"]
    ... domain = { binary = ["no", "yes"] }
    ... mechanism = "randomized-response"
    ... epsilon = 1.0
    ... ''')
    >>> print(plan.guarantee)
    ε = 1, δ = 0 per row
    """

    title: str | None
    public: tuple[str, ...]
    survey: Survey
    order: Order
    budget: Budget
    blocks: tuple[Block, ...]
    text: str = field(repr=False)
    folder: Path = field(repr=False)
    #: Files that the plan was completed from; none of them may be the table that is released.
    files: tuple[Path, ...] = field(default=(), repr=False)
    #: Blocks, by position, whose mechanism is designed for a regression once the public columns can be read. Until
    #: then the block holds a design of the same level that assumes nothing.
    labels: tuple[tuple[int, LabelSpec], ...] = field(default=(), repr=False)
    #: The file that the plan was read from.
    path: Path | None = field(default=None, repr=False, compare=False)
    missing_values: tuple[str, ...] = ()
    #: How a CSV source is written; None: with commas, in UTF-8.
    delimiter: str | None = None
    encoding: str | None = None
    designs: tuple[Design[Mechanism] | None, ...] = field(default=(), repr=False)
    collection: Collect | None = field(default=None, repr=False)
    questions: tuple[Question, ...] = field(default=(), repr=False)
    #: Blocks, by position, whose designs stand in columns of the answers. Until those are read it promises nothing.
    row_designs: tuple[tuple[int, RowDesigns], ...] = field(default=(), repr=False)
    #: How ε was split over blocks that state margins; None where every block states its own.
    split: BudgetSplit | None = field(default=None, repr=False, compare=False)

    @classmethod
    def read(cls, path: str | os.PathLike[str], *, outside_files: bool = False) -> Self:
        """Read a plan from a TOML file.

        Parameters
        ----------
        path : path
            The file.
        outside_files : bool
            Files that a plan names are looked for beside it, and must lie in its folder or below, links followed: a
            plan that came from somebody else could otherwise make a domain of any file on this machine. True lifts
            this for a plan that you wrote yourself.
        """
        file = arguments.path(path, "path", PlanError)
        text, data = read_toml(file, "the plan", PlanError)
        return replace(cls._build(data, text, file.parent, outside_files), path=file)

    @classmethod
    def parse(cls, text: str, folder: str | os.PathLike[str] = ".", *, outside_files: bool = False) -> Self:
        """A plan from TOML text; see :meth:`read` for ``outside_files``."""
        data = parse_toml(arguments.text(text, "text", PlanError), "the plan", PlanError)
        return cls._build(data, text, arguments.path(folder, "folder", PlanError), outside_files)

    @classmethod
    def from_dict(
        cls, data: Mapping[str, Any], folder: str | os.PathLike[str] = ".", *, outside_files: bool = False
    ) -> Self:
        """A plan from plain data with the same keys as the TOML file; see :meth:`read` for ``outside_files``."""
        check_received(data, "the plan", PlanError)
        try:
            text = json.dumps(data, ensure_ascii=False, sort_keys=True)
            text.encode()
        except UnicodeEncodeError:
            raise PlanError("a plan holds text that is not UTF-8: half of a surrogate pair") from None
        except (TypeError, ValueError):
            raise PlanError("a plan holds only tables, lists, text, numbers and true or false") from None
        return cls._build(data, text, arguments.path(folder, "folder", PlanError), outside_files)

    @classmethod
    def _build(cls, data: Mapping[str, Any], text: str, folder: Path, outside_files: bool = False) -> Self:
        _check_format(data)
        top = Section(data, "", TOP)
        files = PlanFiles(folder, outside_files)
        survey = read_survey(top)
        public = _public(top, survey)
        sections = list(top.sections("private", PRIVATE, LATER_PRIVATE))
        if not sections:
            raise PlanError("private is missing: a plan needs at least one [[private]] block")
        budget = read_budget(top)
        split = None
        if budget.split is not None or any("margin" in section for section in sections):
            sections, split = split_by_margins(sections, budget, files)
        blocks, designs = zip(*(read_block(section, files) for section in sections), strict=True)
        blocks = tuple(with_repeat(*pair, budget) for pair in zip(sections, blocks, strict=True))
        row_designs: tuple[tuple[int, RowDesigns], ...] = ()
        if any("parameters" in section for section in sections):
            row_designs = read_row_designs(sections)
            check_row_designs(row_designs, public, blocks, budget, asked="question" in top)
        public = (*public, *(spec.by for _, spec in row_designs))
        _check_columns(public, blocks, budget)
        missing_values = _missing_values(top, blocks)
        order = top.section("output", OUTPUT).choice("order", ("shuffle", "keep")) or "shuffle"
        collect = None
        if "collect" in top or "question" in top:
            collect = read_collect(top, survey, budget.rows_per_person, budget.person)
        return cls(
            title=top.text("title") if top.get("title") != "" else None,
            public=public,
            survey=survey,
            order=cast("Order", order),
            budget=budget,
            blocks=blocks,
            text=text,
            folder=folder,
            files=tuple(files.opened),
            labels=tuple(
                (i, spec)
                for i, (section, block) in enumerate(zip(sections, blocks, strict=True))
                if "label" in section and (spec := read_label(section, block)) is not None
            ),
            missing_values=missing_values,
            delimiter=read_delimiter(top),
            encoding=read_encoding(top),
            designs=designs,
            collection=collect,
            questions=() if collect is None else read_questions(top, collect, public, blocks),
            row_designs=row_designs,
            split=split,
        )

    @cached_property
    def guarantee(self) -> Guarantee:
        """What the plan promises about a row, or about a person when rows per person are declared."""
        return composed_guarantee(self.blocks, self.budget.rows_per_person)

    @property
    def private(self) -> tuple[str, ...]:
        """All private columns."""
        return tuple(column for block in self.blocks for column in block.columns)

    @property
    def digest(self) -> str:
        """SHA-256 of the text of the plan."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    def check_budget(self) -> None:
        """Refuse a plan that needs more than its budget, before any private value is read."""
        limit = self.budget.epsilon
        if limit is None or self.row_designs:  # those are checked when they are known
            return
        needed = self.guarantee
        if not needed.fits(limit, self.budget.delta):
            raise BudgetError(
                f"the plan needs {needed.summary()}, but budget allows ε = {limit!r}, δ = {self.budget.delta!r}"
            )

    def collect(self, table: Any) -> Release:
        """Take in answers that respondents randomised themselves; see ``Release.from_reports``."""
        from discreet.publish.api import collect

        return collect(table, self)

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain data, with the keys of the TOML file."""
        if not self.text.startswith("{"):
            return parse_toml(self.text, "the plan", PlanError)
        return cast("dict[str, Any]", json.loads(self.text))

    def summary(self) -> str:
        """What would be done and promised, for people; no data is read."""
        shuffled = "in random order" if self.order == "shuffle" else "in the order of the source, as declared harmless"
        lines = [
            one_line(self.title or "Plan"),
            f"Public, copied as they are: {one_line(', '.join(self.public)) or 'none'}",
            *(f"Private: {block.summary()}" for block in self.blocks),
            "Every other column is dropped.",
            *self._missing_text(),
            f"Rows are released {shuffled}.",
            f"All together: {self.guarantee.summary()}",
            *(f"Not covered: {caveat}" for caveat in self.guarantee.caveats),
        ]
        if self.budget.epsilon is not None:
            lines.append(f"Budget: ε = {self.budget.epsilon:g}, δ = {self.budget.delta:g}")
        lines.extend(
            f"The design of {one_line(', '.join(self.blocks[i].columns))} is made for the regression on "
            f"{one_line(spec.formula)} when the "
            "public columns are read."
            for i, spec in self.labels
        )
        lines.extend(spec.summary() for _, spec in self.row_designs)
        if self.budget.rows_per_person is None:
            lines.append("Rows per person are not declared, so the promise is about a row, not about a person.")
        return "\n".join(lines)

    def _missing_text(self) -> list[str]:
        listed = ", ".join(f'"{one_line(text)}"' for text in self.missing_values if text)
        return [f"In a CSV file a cell that is empty or {listed} is missing."] if listed else []

    __str__ = summary


def as_plan(plan: Any) -> Plan:
    """A plan from a plan, the path of one, or its plain data."""
    if isinstance(plan, Plan):
        return plan
    if isinstance(plan, Mapping):
        return Plan.from_dict(plan)
    if isinstance(plan, (str, os.PathLike)):
        return Plan.read(plan)
    raise PlanError(f"a plan must be a Plan, the path of one or a dictionary, not {type(plan).__name__}")


def _check_format(data: Any) -> None:
    """A plan of a later format is refused before its keys are judged."""
    number = data.get("format", 1) if isinstance(data, Mapping) else 1
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise PlanError("format must be a whole number of at least 1")
    if number > FORMAT:
        raise PlanError(
            f"format = {arguments.shown(number)} is newer than this version of discreet reads (up to {FORMAT})"
        )


def _missing_values(top: Section, blocks: tuple[Block, ...]) -> tuple[str, ...]:
    """Texts that stand for a missing value; none may be a value of a private column, or name a design."""
    texts = top.texts("missing_values")
    for block in blocks:
        for text in filter(None, texts):
            if text in block.designs or any(_is_value(domain, text) for domain in _domains(block)):
                raise PlanError(
                    f'missing_values lists "{one_line(text)}", which is also a value of "{one_line(block.columns[0])}"'
                )
    return texts


def _domains(block: Block) -> list[Domain]:
    """What the cells of a block can be, truths and reports."""
    return [domain for name in block.columns for domain in (block.truths_of(name), block.reports_of(name))]


def _is_value(domain: Domain, text: str) -> bool:
    """Whether a cell with this text would be a value of the domain."""
    try:
        _, missing = domain.encode_with_missing(domain.parse(pa.array([text])))
    except DomainError:
        return False
    return missing is None


def _public(top: Section, survey: Survey) -> tuple[str, ...]:
    """Public columns in the order of the plan, then the survey columns that are not among them."""
    listed: list[str] = []
    for section in top.sections("public", PUBLIC):
        for name in section.columns():
            if name in listed:
                raise PlanError(f'{section.at("columns")} lists "{name}", which is public already')
            listed.append(name)
    return (*listed, *(name for name in survey.columns if name not in listed))


def _check_columns(public: tuple[str, ...], blocks: tuple[Block, ...], budget: Budget) -> None:
    if budget.person in public:
        raise PlanError(f'budget.person names "{budget.person}", which is public; the person is checked, never written')
    taken = dict.fromkeys(public, "public")
    if "" in taken:
        raise PlanError("public: a column without a name cannot be released; name it in the table first")
    for i, block in enumerate(blocks):
        for name in block.columns:
            if name in taken:
                raise PlanError(f'private[{i}].columns lists "{name}", which is {taken[name]} already')
            taken[name] = "private"
        if block.by is not None and block.by not in public:
            raise PlanError(f'private[{i}].by names "{block.by}", which must be a public column')
    if budget.person is not None and taken.get(budget.person) == "private":
        raise PlanError(f'budget.person names "{budget.person}", which is private')
