"""What a plan's rows would find: the part of ``discreet design`` that ``--power`` adds."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.cli.wording import in_options
from discreet.errors import DesignError, InputError, NotIdentifiedError
from discreet.plain_text import one_line

if TYPE_CHECKING:
    from discreet.blocks import Block
    from discreet.design import Power
    from discreet.design.planning.statistical_power import Conduct
    from discreet.publish import Plan

#: The power that surveys are usually planned for.
_USUAL = 0.8
#: Halvings of the smallest difference that is found: to a thousandth of a point.
_HALVINGS = 17


@dataclass(frozen=True)
class Question:
    """What the command line asks: a prevalence, a difference, and how the survey goes."""

    prevalence: float
    difference: float
    rows: int
    level: float
    conduct: Conduct

    def of(self, mechanism: Any, difference: float) -> Power:
        """The power to find that one group has so much more."""
        from discreet.design import Difference, power

        groups = [self._spread(mechanism.shape[0], self.prevalence + extra) for extra in (0.0, difference)]
        return power(
            mechanism,
            Difference(*groups),
            self.rows,
            self.level,
            **self.conduct.to_dict(),
        )

    def _spread(self, values: int, share: float) -> Any:
        """The second value has this share, and the others have equal parts of the rest."""
        if not 0 <= share <= 1:
            raise InputError("--prevalence and --difference must lie, together, between 0 and 1")
        return share if values == 2 else [share if code == 1 else (1 - share) / (values - 1) for code in range(values)]

    def smallest(self, mechanism: Any) -> float | None:
        """The smallest difference that is found with the usual power; None where none is."""
        low, high = 0.0, 1 - self.prevalence
        if high <= 0 or self.of(mechanism, high).power < _USUAL:
            return None
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (low, middle) if self.of(mechanism, middle).power >= _USUAL else (middle, high)
        return high


def power_of_plan(plan: Plan, question: Question) -> tuple[list[str], list[dict[str, Any]], dict[str, Power]]:
    """Lines to read, plain data and the power, one for each column whose frequencies can be compared."""
    lines = [
        f"Power, {question.prevalence:.4g} against {question.prevalence + question.difference:.4g} in two groups of "
        "equal size (second value of each column)"
    ]
    facts: list[dict[str, Any]] = []
    curves: dict[str, Power] = {}
    for block in plan.blocks:
        for column, mechanism in _channels(block).items():
            name = one_line(column)
            try:
                found = question.of(mechanism, question.difference)
                needed = found.sample_size(_USUAL)
            except (DesignError, NotIdentifiedError) as error:
                lines.append(f'  "{name}": {in_options(error)}')
                continue
            smallest = question.smallest(mechanism)
            reach = "none" if smallest is None else f"{100 * smallest:.3g} points"
            lines.append(
                f'  "{name}": {found.power:.1%} with {question.rows:,} rows; {_USUAL:.0%} takes {needed:,}; '
                f"the smallest difference found with {_USUAL:.0%}: {reach}"
            )
            facts.append({"column": column, **found.to_dict(), "sample_size": needed, "smallest": smallest})
            curves[column] = found
    assumed = next(iter(curves.values())).conduct.words() if curves else ""
    if assumed:
        lines.append(f"  assumed: {assumed}")
    return lines, facts, curves


def _channels(block: Block) -> dict[str, Any]:
    """The channel of every column that has exactly one."""
    found = {}
    for column in block.columns:
        designs = block.channels_of(column)
        if len(designs) == 1 and not block.by:
            found[column] = next(iter(designs.values()))
    return found


def draw_power(curves: dict[str, Power], picture: Path | None) -> None:
    """The curves in a picture, where one is named and there are any."""
    if picture is None or not curves:
        return
    from discreet.plots import plot_curves, save_picture
    from discreet.plots.curves import logarithmic_people

    people = next(iter(curves.values())).curve()[0]
    axes = plot_curves(
        {name: found.curve(people)[1].tolist() for name, found in curves.items()},
        people.tolist(),
        title="Power against people",
        across="people",
        up="power",
        reference=_USUAL,
    )
    logarithmic_people(axes)
    axes.set_ylim(0, 1.02)
    save_picture(axes, picture)
