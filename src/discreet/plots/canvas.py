"""One look for every picture, drawn without a display."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Colours that stay apart in print and for colour-blind readers (Okabe and Ito).
BLUE, ORANGE, GREY, BLACK = "#0072B2", "#D55E00", "#999999", "#000000"
_FORMATS = {".png", ".svg", ".pdf"}


@contextmanager
def canvas(path: str | Path, width: float = 7.0, height: float = 4.0) -> Iterator[Axes]:
    """Axes to draw on; the picture is written to ``path`` when the block ends."""
    target = Path(path)
    if target.suffix.lower() not in _FORMATS:
        raise InputError(f'a picture needs the ending .png, .svg or .pdf, not "{target.suffix}"')
    if not target.parent.is_dir():
        raise InputError(f'there is no folder "{target.parent}"')
    if target.is_symlink():  # in a folder from somebody else it could lead to any file of this user
        raise InputError(f'"{target}" is a link, and a picture is not drawn over what it leads to; choose another name')
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.text import Text

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    yield axes
    for text in figure.findobj(Text):
        text.set_parse_math(False)  # a dollar in a label is a dollar, not the start of a formula
    figure.savefig(target, dpi=150)
