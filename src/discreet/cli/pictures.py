"""The option --plot: a picture of a result beside its table, never in its place."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

Plot = Annotated[Path | None, typer.Option(help="Also draw the estimates into this PNG, SVG or PDF file.")]


def draw(result: Any, path: Path | None, **options: Any) -> None:
    """Draw a result into a file, where one is named; options as for its ``plot`` method."""
    if path is None:
        return
    from discreet.plots import checked_picture, save_picture

    checked_picture(path)
    import matplotlib

    matplotlib.use("agg")  # a file needs no screen
    save_picture(result.plot(**options), path)
