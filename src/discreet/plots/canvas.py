"""One look for every picture: axes to draw on, and a file to keep it in."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from discreet.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Colours that stay apart in print and for colour-blind readers (Okabe and Ito).
BLUE, ORANGE, GREY, BLACK = "#0072B2", "#D55E00", "#999999", "#000000"
GREEN, PINK, SKY = "#009E73", "#CC79A7", "#56B4E9"
_FORMATS = {".png", ".svg", ".pdf"}


def axes_for(ax: Axes | None, width: float = 7.0, height: float = 4.0) -> Axes:
    """The axes that were given, or new ones in a figure of this size in inches, which a notebook shows."""
    if ax is None:
        from matplotlib import pyplot

        ax = pyplot.subplots(figsize=(width, height), layout="constrained")[1]
    elif not hasattr(ax, "plot"):
        raise InputError(f"ax must be the axes of a matplotlib figure, not {type(ax).__name__}")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def figure_of(ax: Axes) -> Figure:
    """The whole figure that these axes are a part of."""
    return ax.figure.canvas.figure


def finish(ax: Axes, title: str = "") -> Axes:
    """Set the title, and read every text as it stands: a dollar in a label is a dollar, not the start of a formula."""
    from matplotlib.text import Text

    if title:
        ax.set_title(title.replace(" = ", "\u00a0=\u00a0"), loc="left", wrap=True)  # no line ends at "n ="
    for text in ax.findobj(Text):
        text.set_parse_math(False)
    return ax


def checked_picture(path: str | Path) -> Path:
    """The file that a picture goes to, refused before anything is drawn."""
    target = Path(path)
    if target.suffix.lower() not in _FORMATS:
        raise InputError(f'a picture needs the ending .png, .svg or .pdf, not "{target.suffix}"')
    if not target.parent.is_dir():
        raise InputError(f'there is no folder "{target.parent}"')
    if target.is_symlink():  # in a folder from somebody else it could lead to any file of this user
        raise InputError(f'"{target}" is a link, and a picture is not drawn over what it leads to; choose another name')
    return target


def save_picture(ax: Axes, path: str | Path) -> None:
    """Write the figure of these axes to a PNG, SVG or PDF file, and close it.

    Parameters
    ----------
    ax : Axes
        What a ``plot`` method or a function of :mod:`discreet.plots` returned.
    path : str or Path
        The ending says the format; a link is not followed.
    """
    target = checked_picture(path)
    from matplotlib import pyplot

    figure = figure_of(ax)
    figure.savefig(target, dpi=150)
    pyplot.close(figure)
