"""``[budget]``: what may be spent, how many rows a person can have, and how it is split."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.errors import PlanError
from discreet.publish.plan.grammar import BUDGET, Section


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
