"""Several curves over one axis: errors against ε, power against people, margins against the budget."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import InputError
from discreet.plots.canvas import BLACK, BLUE, GREEN, GREY, ORANGE, PINK, SKY, axes_for, finish
from discreet.privacy import certify

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_STYLES = ((BLUE, "o"), (ORANGE, "s"), (BLACK, "^"), (GREY, "D"), (GREEN, "v"), (PINK, "P"), (SKY, "X"))
#: Digits of a power of ten.
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
#: More points than this are a line without marks.
_MARKED = 40


def plot_curves(
    curves: Mapping[str, Sequence[float]],
    at: Sequence[float],
    *,
    ax: Axes | None = None,
    title: str = "",
    across: str = "ε",
    up: str = "expected error",
    log: bool = False,
    reference: float | None = None,
) -> Axes:
    """Draw several curves over the same points.

    Parameters
    ----------
    curves : mapping
        One list of numbers per curve.
    at : sequence of float
        Where they were computed.
    ax : Axes, optional
        Where to draw; a new figure by default.
    title : str
        Above the picture.
    across, up : str
        What stands on the axes.
    log : bool
        Logarithmic axes.
    reference : float, optional
        A level to compare with, such as a power of 80 %.
    """
    if not curves or len(at) == 0:
        raise InputError("a picture of curves needs at least one curve and one point")
    for name, values in curves.items():
        if len(values) != len(at):
            raise InputError(f'the curve "{name}" has {len(values)} points where there are {len(at)}')
    ax = axes_for(ax, height=4.4)
    for i, (name, values) in enumerate(curves.items()):
        colour, marker = _STYLES[i % len(_STYLES)]
        shown = marker if len(at) <= _MARKED else None
        ax.plot(at, values, marker=shown, color=colour, label=name, markersize=4, linewidth=1.4)
    if reference is not None:
        ax.axhline(reference, color=GREY, linewidth=0.8, linestyle="--")
    if log:
        _logarithmic(ax)
    ax.set_xlabel(across)
    ax.set_ylabel(up)
    if len(curves) > 1 or any(curves):
        ax.legend(frameon=False, fontsize=8)
    return finish(ax, title)


def _logarithmic(ax: Axes) -> None:
    """Logarithmic axes, whose numbers are plain text: labels of a plot are never read as formulas."""
    from matplotlib.ticker import LogFormatter

    def decade(value: float, _: object) -> str:
        """1,000 in full, 10⁶ as a power."""
        power = round(math.log10(value))
        return f"{value:,g}" if -4 < power < 4 else f"10{str(power).translate(_RAISED)}"

    ax.set_xscale("log")
    ax.set_yscale("log")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(decade)
        axis.set_minor_formatter(LogFormatter(minor_thresholds=(1, 0.5)))  # shown where there is hardly one decade


def logarithmic_people(ax: Axes) -> None:
    """Numbers of people along the axis: 1,000, 2,000, 5,000, each written once and in full."""
    from matplotlib.ticker import LogLocator, NullFormatter

    ax.set_xscale("log")
    ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    ax.xaxis.set_minor_formatter(NullFormatter())


def plot_trade_off(*channels: Any, names: Sequence[str] = (), ax: Axes | None = None, title: str = "") -> Axes:
    """Draw trade-off curves: how often the best attack misses one truth when it takes the other for it with rate α.

    Parameters
    ----------
    *channels : mechanism, or anything that :func:`discreet.privacy.certify` takes
        A mechanism with a ``trade_off`` of its own, such as noise for numbers, is asked for it.
    names : sequence of str
        One per channel.
    ax : Axes, optional
        Where to draw; a new figure by default.
    title : str
        Above the picture.
    """
    if not channels:
        raise InputError("a trade-off curve needs at least one mechanism")
    if names and len(names) != len(channels):
        raise InputError(f"there are {len(names)} names for {len(channels)} mechanisms")
    alphas = np.linspace(0.0, 1.0, 201)
    curves = {"perfect privacy": 1 - alphas}
    for place, channel in enumerate(channels):
        own = getattr(channel, "trade_off", None)
        found = own(alphas) if own is not None else certify(channel).trade_off(alphas)
        name = names[place] if names else f"{type(channel).__name__} {place + 1}"
        curves[name] = np.asarray(found)
    across, up = "false alarms (α)", "missed detections"
    return plot_curves({n: list(c) for n, c in curves.items()}, list(alphas), ax=ax, title=title, across=across, up=up)
