"""The ``[collect]`` table of a plan: who may answer, from when to when, and in which languages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, Literal, cast

from discreet.errors import PlanError
from discreet.manifest import Survey
from discreet.plain_text import has_control
from discreet.publish.plan.grammar import COLLECT, Section

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
