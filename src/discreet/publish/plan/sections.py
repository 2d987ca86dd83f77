"""``[budget]``, ``[survey]``, ``delimiter`` and ``encoding`` of a plan."""

from __future__ import annotations

import codecs
from dataclasses import dataclass

from discreet.errors import PlanError
from discreet.manifest import Survey
from discreet.manifest.document import REPLICATIONS
from discreet.publish.plan.grammar import BUDGET, SURVEY, Section


@dataclass(frozen=True)
class Budget:
    """What may be spent, and how many rows a person can have.

    Attributes
    ----------
    epsilon : float or None
        No limit when None.
    delta : float
        Only counts beside an ε.
    rows_per_person : int or None
        Declared; the guarantee is then about a person instead of a row.
    person : str or None
        The column that names the person, to check the declaration with. It is not written.
    split : str or None
        "margins": blocks state margins, and get the least ε that meets them.
    rows : int or None
        How many rows the margins are for.
    level : float
        Of the intervals whose margins are stated.
    """

    epsilon: float | None = None
    delta: float = 0.0
    rows_per_person: int | None = None
    person: str | None = None
    split: str | None = None
    rows: int | None = None
    level: float = 0.95


def read_budget(top: Section) -> Budget:
    """The section, checked."""
    section = top.section("budget", BUDGET)
    epsilon, delta, person = section.epsilon(), section.delta(), section.text("person")
    if delta is not None and epsilon is None:
        raise PlanError("budget.delta needs budget.epsilon beside it")
    per_person = section.whole("rows_per_person", 1)
    split, rows, level = section.choice("split", ("margins",)), section.whole("rows", 1), section.number("level")
    if split is None and "level" in section:
        raise PlanError('budget.level goes with split = "margins"')
    if split is not None and rows is None:
        raise PlanError("budget.rows is missing: margins are for a number of rows, which the plan has to say")
    if level is not None and not 0 < level < 1:
        raise PlanError(f"budget.level must lie between 0 and 1, not {level:g}")
    # Naming the person without a number declares the least that can be checked: one row each.
    each = 1 if per_person is None and person is not None else per_person
    return Budget(epsilon, delta or 0.0, each, person, split, rows, 0.95 if level is None else level)


def read_survey(top: Section) -> Survey:
    """The columns that describe the sampling, all public."""
    section = top.section("survey", SURVEY)
    weight, strata, cluster, fpc = (section.text(key) for key in ("weight", "strata", "cluster", "fpc"))
    replicates: tuple[str, ...] = ()
    replication = section.choice("replication", REPLICATIONS)
    if "replicates" in section:
        replicates = section.columns("replicates")
        if len(replicates) < 2 or replication is None or weight is None:
            raise PlanError(
                "survey.replicates needs two columns at least, survey.weight for the full sample, and "
                'survey.replication: "bootstrap", "jackknife" or "brr"'
            )
    scale = section.number("replicate_scale")
    if not replicates and (replication is not None or scale is not None):
        raise PlanError("survey.replication and survey.replicate_scale go with survey.replicates")
    if scale is not None and scale <= 0:
        raise PlanError(f"survey.replicate_scale must be above 0, not {scale:g}")
    survey = Survey(weight, strata, cluster, fpc, replicates, replication, scale)
    if len(set(survey.columns)) != len(survey.columns):
        raise PlanError("survey uses one column for two purposes")
    return survey


def read_delimiter(top: Section) -> str | None:
    """One character that can separate cells."""
    value = top.get("delimiter")
    if value is None:
        return None
    return checked_delimiter(value, top.at("delimiter"))


def checked_delimiter(value: object, name: str) -> str:
    """A delimiter that a reader of CSV can take: one character of ASCII, no quote, no line end."""
    if not isinstance(value, str) or len(value) != 1 or not value.isascii() or value in '"\r\n\0':
        raise PlanError(name, ' must be one character, such as ";" or a tab, and no quote or line end')
    return value


def read_encoding(top: Section) -> str | None:
    """A character encoding by a name that Python knows."""
    value = top.text("encoding")
    return None if value is None else checked_encoding(value, top.at("encoding"))


def checked_encoding(value: str, name: str) -> str:
    """The canonical name of an encoding of text."""
    try:
        found = codecs.lookup(value)
    except (LookupError, ValueError):
        found = None
    if (
        found is None
        or not getattr(found, "_is_text_encoding", True)
        or found.name in ("idna", "punycode", "undefined")
    ):
        raise PlanError(name, ' must name a character encoding, such as "utf-8", "latin-1" or "cp1252"')
    return found.name
