"""One look for every picture: axes to draw on, and a file to keep it in."""

from __future__ import annotations

from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING

from discreet.errors import InputError
from discreet.files import whole_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Colours that stay apart in print and for colour-blind readers (Okabe and Ito).
BLUE, ORANGE, GREY, BLACK = "#0072B2", "#D55E00", "#999999", "#000000"
GREEN, PINK, SKY = "#009E73", "#CC79A7", "#56B4E9"
_FORMATS = {".png", ".svg", ".pdf"}
#: Inches that a sign takes on average: in a title, and in the labels of an axis.
_TITLE_SIGN, LABEL_SIGN = 0.09, 0.08
#: Inches beside the axes that are neither labels nor picture.
_MARGIN = 0.5


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


def room(ax: Axes) -> float:
    """About how many inches wide the picture inside these axes will be, between its labels and what stands beside."""
    figure = figure_of(ax)
    if figure.get_layout_engine() is None:
        return float(ax.get_position().width * figure.get_figwidth())
    longest = max((len(line) for label in ax.get_yticklabels() for line in label.get_text().split("\n")), default=0)
    place = ax.get_subplotspec()
    columns = 1 if place is None else place.get_gridspec().ncols
    scale = 0.9 if columns == 1 and len(figure.axes) > 1 else 0.0  # of colours, to the right
    beside = _MARGIN + longest * LABEL_SIGN + scale
    return float(max(1.0, figure.get_figwidth() / columns - beside))


def in_lines(label: str, signs: int, lines: int = 2) -> str:
    """A label in lines of so many signs; what does not fit into them is cut off."""
    found = wrap(label, signs, max_lines=lines, placeholder=" …", break_long_words=True)
    return "\n".join(found) if found else label


def finish(ax: Axes, title: str = "") -> Axes:
    """Set the title, and read every text as it stands: a dollar in a label is a dollar, not the start of a formula."""
    from matplotlib.text import Text

    if title:
        whole = title.replace(" = ", "\u00a0=\u00a0")  # no line ends at "n ="
        signs = max(16, int(room(ax) / _TITLE_SIGN))
        ax.set_title("\n".join(wrap(whole, signs, break_long_words=True)) or title, loc="left")
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
    with whole_file(target, overwrite=True) as sink:
        figure.savefig(sink, dpi=150, format=target.suffix[1:].lower())
    pyplot.close(figure)
