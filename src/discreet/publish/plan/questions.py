"""``[collect]`` and ``[[question]]`` of a plan: how people are asked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Literal, cast

from discreet.blocks import Block
from discreet.domains import Categorical, FiniteDomain, Grid, WithBlank
from discreet.errors import PlanError
from discreet.manifest import Survey
from discreet.plain_text import has_control
from discreet.publish.plan.grammar import COLLECT, QUESTION, Section, at

Access = Literal["open", "invitation"]

#: A language as HTML names it (BCP 47): "en", "pt-BR".
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})?")
#: Where a page may be hosted: scheme, host and perhaps a port, nothing behind them.
_ORIGIN = re.compile(r"https?://[A-Za-z0-9.-]+(:[0-9]{1,5})?|https?://\[[0-9a-fA-F:]+\](:[0-9]{1,5})?")
#: People who share all their public answers, below which a table of them is withheld unless the plan says otherwise.
SMALLEST_CELL = 5
#: Reports that a survey keeps unless the plan says otherwise.
MOST_REPORTS = 1_000_000
#: Characters of one text that respondents read.
TEXT_CHARACTERS = 4_000


@dataclass(frozen=True)
class Words:
    """One text in every language of the survey.

    >>> Words((("en", "yes"), ("de", "ja")))["de"]
    'ja'
    """

    texts: tuple[tuple[str, str], ...]

    def __getitem__(self, language: str) -> str:
        return dict(self.texts)[language]

    def __iter__(self) -> Iterator[str]:
        return (text for _, text in self.texts)

    def to_dict(self) -> dict[str, str]:
        """Plain data: language to text."""
        return dict(self.texts)


@dataclass(frozen=True)
class Collect:
    """How answers are asked for.

    Attributes
    ----------
    access : {"open", "invitation"}
        Whoever has the address, or whoever has a code that was not used yet.
    opens, closes : date or None
        First and last day, UTC.
    languages : tuple of str
        The first one is what a page starts with unless the browser prefers another.
    smallest_cell : int
        Fewer people than this with the same public answers are not shown, and not released without a decision.
    title, consent : Words or None
        The heading of the page, and what the researcher adds to the consent.
    contact : str or None
        Whom to ask.
    origins : tuple of str
        Other sites that host the page.
    margin : float or None
        The half-width of a 95 % interval that is aimed at.
    most : int
        Reports that are kept; further ones are refused. It may change while the survey runs.
    """

    access: Access = "open"
    opens: date | None = None
    closes: date | None = None
    languages: tuple[str, ...] = ("en",)
    smallest_cell: int = SMALLEST_CELL
    title: Words | None = None
    consent: Words | None = None
    contact: str | None = None
    origins: tuple[str, ...] = ()
    margin: float | None = None
    most: int = MOST_REPORTS


def read_collect(top: Section, survey: Survey, rows_per_person: int | None, person: str | None) -> Collect | None:
    """The table, or None where a plan has none."""
    if "collect" not in top:
        if "question" in top:
            raise PlanError("question needs [collect] beside it, which says who may answer")
        return None
    section = top.section("collect", COLLECT)
    access = cast("Access", section.choice("access", ("open", "invitation")) or "open")
    _check_people(access, survey, rows_per_person, person)
    languages = _languages(section)
    opens, closes = _day(section, "opens"), _day(section, "closes")
    if opens is not None and closes is not None and closes < opens:
        raise PlanError("collect.closes is before collect.opens")
    margin = section.number("margin")
    if margin is not None and not 0 < margin < 1:
        raise PlanError(f"collect.margin must be above 0 and below 1, not {margin:g}")
    smallest = section.whole("smallest_cell", 1)
    return Collect(
        access=access,
        opens=opens,
        closes=closes,
        languages=languages,
        smallest_cell=SMALLEST_CELL if smallest is None else smallest,
        title=words(section, "title", languages),
        consent=words(section, "consent", languages),
        contact=section.text("contact"),
        origins=_origins(section),
        margin=margin,
        most=section.whole("most", 1) or MOST_REPORTS,
    )


def words(section: Section, key: str, languages: tuple[str, ...]) -> Words | None:
    """A text per language: a table, or one text where there is one language."""
    return None if key not in section else words_of(section.get(key), section.at(key), languages)


def words_of(value: Any, path: str, languages: tuple[str, ...]) -> Words:
    """See :func:`words`."""
    if isinstance(value, str):
        if len(languages) > 1:
            raise PlanError(f"{path} must be a table with one text for each language: {', '.join(languages)}")
        value = {languages[0]: value}
    if not isinstance(value, Mapping):
        raise PlanError(f"{path} must be text, or a table with one text for each language")
    for language in languages:
        text = value.get(language)
        if not isinstance(text, str) or not text.strip():
            raise PlanError(f"{path}.{language} is missing: every text is needed in every language of the survey")
        if has_control(text) or len(text) > TEXT_CHARACTERS:
            raise PlanError(f"{path}.{language} holds a control character, or more than {TEXT_CHARACTERS:,} characters")
    for other in value:
        if other not in languages:
            raise PlanError(f"{path}.{str(other)[:20]} is in a language that collect.languages does not list")
    return Words(tuple((language, value[language]) for language in languages))


def _check_people(access: Access, survey: Survey, rows_per_person: int | None, person: str | None) -> None:
    """What a page cannot know is not promised."""
    if survey.weight is not None:
        raise PlanError("survey.weight cannot stand beside [collect]: a page does not know anybody's weight")
    if person is not None:
        raise PlanError("budget.person cannot stand beside [collect]: nobody is asked for a name")
    if access == "open" and rows_per_person is not None:
        raise PlanError(
            'budget.rows_per_person needs collect.access = "invitation": with open access nobody knows who answered '
            "twice, so the promise is about a row"
        )
    if rows_per_person is not None and rows_per_person > 1:
        raise PlanError("budget.rows_per_person must be 1 beside [collect]: a code is used once")


def _languages(section: Section) -> tuple[str, ...]:
    languages = section.texts("languages") or ("en",)
    for language in languages:
        if not _LANGUAGE.fullmatch(language):
            raise PlanError(f'collect.languages: "{language[:20]}" is not a language such as "en" or "pt-BR"')
    return languages


def _origins(section: Section) -> tuple[str, ...]:
    origins = section.texts("origins")
    for origin in origins:
        if not _ORIGIN.fullmatch(origin):
            raise PlanError(
                f'collect.origins: "{origin[:60]}" is not an origin such as "https://survey.example.org", '
                "without a path or a slash at its end"
            )
    return origins


def _day(section: Section, key: str) -> date | None:
    value = section.get(key)
    if type(value) is date:
        return value
    if value is None:
        return None
    try:
        return date.fromisoformat(value)
    except (TypeError, ValueError):
        raise PlanError(f"{section.at(key)} must be a day such as 2026-11-30, without a time") from None


Input = Literal["radio", "select", "number", "list"]

#: Choices that are shown one below the other; more of them are a list to choose from.
_SHOWN = 7
#: Choices of one question: a page that a phone loads at once, and a list that somebody can search.
MOST_CHOICES = 4_096
#: Questions of one survey.
MOST_QUESTIONS = 200


@dataclass(frozen=True)
class Choice:
    """One possible answer: its value in the table, what people read, and whether the plan gives that per language."""

    value: Any
    label: Words
    translated: bool = True


@dataclass(frozen=True)
class Question:
    """What is asked for one column.

    Attributes
    ----------
    column : str
        Where the answer goes.
    text, help : Words, Words or None
        The question, and a line below it.
    choices : tuple of Choice
        In the order of the codes; empty for numbers.
    grid : Grid or None
        The numbers that can be answered, where it is a number.
    input : {"radio", "select", "number", "list"}
        How it is answered. A "list" completes text that is typed; only public answers may have one.
    required : bool
        Whether it has to be answered.
    private : bool
        Whether the answer is randomised before it leaves the device.
    """

    column: str
    text: Words
    help: Words | None
    choices: tuple[Choice, ...]
    grid: Grid | None
    input: Input
    required: bool
    private: bool

    @property
    def size(self) -> int:
        """Number of different answers, a blank not counted."""
        return len(self.choices) if self.grid is None else self.grid.points


def read_questions(
    top: Section, collect: Collect | None, public: tuple[str, ...], blocks: Sequence[Block]
) -> tuple[Question, ...]:
    """One question for every column that the plan names; rows that are told apart by ``by`` may do without one."""
    if collect is None:
        return ()
    sections = top.sections("question", QUESTION)
    if len(sections) > MOST_QUESTIONS:
        raise PlanError(f"question has {len(sections)} entries, over the limit of {MOST_QUESTIONS}")
    private = {name: block for block in blocks for name in block.columns}
    asked: dict[str, Question] = {}
    for section in sections:
        name = section.text("column") or cast("str", section.required("column"))
        if name not in private and name not in public:
            raise PlanError(f'{section.at("column")} names "{name}", which is neither public nor private')
        if name in asked:
            raise PlanError(f'{section.at("column")} asks for "{name}" twice')
        _refuse_branching(section, private)
        asked[name] = _question(section, name, private.get(name), collect.languages)
    assigned = {block.by for block in blocks if block.by is not None}
    for name in (*private, *public):
        if name not in asked and name not in assigned:
            raise PlanError(f'question is missing for "{name}": every column of the plan is asked for')
    for block in blocks:
        _check_designs(block, asked)
    return tuple(asked.values())


def _question(section: Section, name: str, block: Block | None, languages: tuple[str, ...]) -> Question:
    text = words(section, "text", languages)
    if text is None:
        raise PlanError(f"{section.at('text')} is missing")
    if section.get("input") == "text":
        raise PlanError(f"{section.at('input')}: free text cannot be randomised; list the answers under choices")
    domain = _domain(section, name, block)
    grid = domain if isinstance(domain, Grid) else _whole_numbers(domain) if "choices" not in section else None
    choices = () if grid is not None else _choices(section, domain, languages)
    kind = cast("Input | None", section.choice("input", ("radio", "select", "number", "list")))
    if kind is None:
        kind = "number" if grid is not None else "radio" if len(choices) <= _SHOWN else "select"
    if (kind == "number") != (grid is not None):
        raise PlanError(f"{section.at('input')} must be number for a grid, and for nothing else")
    if kind == "list" and block is not None:
        raise PlanError(f"{section.at('input')}: a private answer is chosen, not typed; use radio or select")
    return Question(
        column=name,
        text=text,
        help=words(section, "help", languages),
        choices=choices,
        grid=grid,
        input=kind,
        required=_required(section, block),
        private=block is not None,
    )


def _required(section: Section, block: Block | None) -> bool:
    """Public answers are required unless the plan says otherwise; private ones follow ``missing`` of their block."""
    given = section.flag("required") if "required" in section else None
    if block is None:
        return given is not False
    follows = block.missing == "reject"
    if given is not None and given != follows:
        why = 'missing = "category" makes the blank one more answer, which is randomised too'
        raise PlanError(f"{section.at('required')} does not go with missing of the private block: {why}")
    return follows


def _domain(section: Section, name: str, block: Block | None) -> FiniteDomain:
    if block is None:
        return _public_domain(section)
    domain = block.truths_of(name)
    if not isinstance(domain, FiniteDomain):
        raise PlanError(
            f'{section.at("column")}: "{name}" is a number with noise, which a page cannot draw exactly; declare a '
            "grid and another mechanism"
        )
    return domain.inner if isinstance(domain, WithBlank) else domain


def _public_domain(section: Section) -> FiniteDomain:
    given = section.required("choices")
    path = section.at("choices")
    if isinstance(given, Mapping):
        inner = Section(given, path, ("grid",))
        grid = Section(inner.required("grid"), inner.at("grid"), ("low", "high", "points"))
        with at(grid.path):
            return Grid(*(grid.required(key) for key in ("low", "high", "points")))
    values = [one.get("value") if isinstance(one, Mapping) else one for one in _listed(given, path)]
    for value in values:
        if isinstance(value, str) and (not value or has_control(value)):
            raise PlanError(f"{path}: a value is empty or holds a control character")
    with at(path):
        return Categorical(values)


def _whole_numbers(domain: FiniteDomain) -> Grid | None:
    """A long range of whole numbers is typed, not chosen."""
    if domain.size <= _SHOWN or not all(type(domain.label(code)) is int for code in (0, 1, domain.size - 1)):
        return None
    first, second, last = (domain.label(code) for code in (0, 1, domain.size - 1))
    if second != first + 1 or last != first + domain.size - 1:
        return None
    return Grid(first, last, domain.size)


def _listed(given: Any, path: str) -> list[Any]:
    if not isinstance(given, (list, tuple)) or not given:
        raise PlanError(f"{path} must be a list of answers")
    return list(given)


def _choices(section: Section, domain: FiniteDomain, languages: tuple[str, ...]) -> tuple[Choice, ...]:
    """The labels of all values, in the order of the codes."""
    path = section.at("choices")
    if domain.size > MOST_CHOICES:
        raise PlanError(f"{path}: {domain.size:,} answers are over the limit of {MOST_CHOICES:,} for one question")
    if "choices" not in section:
        english = languages == ("en",)
        return tuple(Choice(value, _same(value, languages), english or _is_number(value)) for value in domain.labels)
    found: list[tuple[Any, Words, bool]] = []
    for i, one in enumerate(_listed(section.get("choices"), path)):
        if isinstance(one, Mapping):
            inner = Section(one, f"{path}[{i}]", ("value", *languages))
            labels = {language: one[language] for language in languages if language in one}
            found.append((inner.required("value"), words_of(labels, f"{path}[{i}]", languages), True))
        else:
            found.append((one, _same(one, languages), len(languages) == 1 or _is_number(one)))
    labelled = {(type(value), value): (label, translated) for value, label, translated in found}
    wanted = [(type(value), value) for value in domain.labels]
    if len(labelled) != len(found) or set(labelled) != set(wanted):
        raise PlanError(f"{path} must list every value of the domain once: {domain.describe()}")
    return tuple(Choice(value, *labelled[kind, value]) for kind, value in wanted)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _same(value: Any, languages: tuple[str, ...]) -> Words:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return Words(tuple((language, text[:TEXT_CHARACTERS]) for language in languages))


def _refuse_branching(section: Section, private: Mapping[str, Block]) -> None:
    if "when" not in section:
        return
    given = section.get("when")
    named = [str(name) for name in given] if isinstance(given, Mapping) else [str(given)]
    if any(name in private for name in named):
        raise PlanError(
            f"{section.at('when')} depends on a private answer: whether the question is shown would give it away"
        )
    raise PlanError(f"{section.at('when')} is not available in this version: everybody is asked every question")


def _check_designs(block: Block, asked: Mapping[str, Question]) -> None:
    """Where people choose the mode themselves, their choices name the designs."""
    question = None if block.by is None else asked.get(block.by)
    if question is not None and {str(choice.value) for choice in question.choices} != set(block.designs):
        raise PlanError(f'question for "{block.by}": its choices must be the designs {", ".join(block.designs)}')
