"""Expected error against ε and against the number of values, for every mechanism."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from discreet.errors import InputError
from discreet.plots.canvas import BLACK, BLUE, GREY, ORANGE, canvas

_STYLES = ((BLUE, "o"), (ORANGE, "s"), (BLACK, "^"), (GREY, "D"), ("#009E73", "v"), ("#CC79A7", "P"), ("#56B4E9", "X"))


def errors_against_epsilon(domain: Any, epsilons: Sequence[float]) -> dict[str, list[float]]:
    """Expected error of every mechanism for a domain, one number per ε."""
    from discreet.design import compare

    tables = [compare(domain, epsilon, 1) for epsilon in epsilons]
    return {name: [table[name].expected_error for table in tables] for name in tables[0].names}


def plot_errors(
    curves: Mapping[str, Sequence[float]],
    at: Sequence[float],
    path: str | Path,
    *,
    against: str = "ε",
    title: str = "",
    log: bool = False,
) -> None:
    """Draw the expected error of several mechanisms against ε, or against the number of values.

    Parameters
    ----------
    curves : mapping
        One list of expected errors per mechanism.
    at : sequence of float
        The values of ε, or the numbers of values.
    path : str or Path
        PNG, SVG or PDF.
    against : str
        What stands on the horizontal axis.
    title : str
        Above the picture.
    log : bool
        Logarithmic axes.
    """
    if not curves or not at:
        raise InputError("a picture of errors needs at least one mechanism and one point")
    for name, values in curves.items():
        if len(values) != len(at):
            raise InputError(f'the curve "{name}" has {len(values)} points where there are {len(at)}')
    with canvas(path, height=4.4) as axes:
        for i, (name, values) in enumerate(curves.items()):
            colour, marker = _STYLES[i % len(_STYLES)]
            axes.plot(at, values, marker=marker, color=colour, label=name, markersize=4, linewidth=1.4)
        if log:
            axes.set_xscale("log")
            axes.set_yscale("log")
        axes.set_xlabel(against)
        axes.set_ylabel("expected error")
        axes.set_title(title, loc="left")
        axes.legend(frameon=False, fontsize=8)
