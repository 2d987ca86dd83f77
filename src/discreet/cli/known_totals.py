"""The option --totals: estimates under weights that meet known totals."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.engine import opened

if TYPE_CHECKING:
    from discreet.reading import Release

Totals = Annotated[
    Path | None,
    typer.Option(help="A TOML file with known totals of public columns: survey weights are calibrated to them first."),
]


def weighted(path: str | Path, engine: str, master: str | None, totals: Path | None) -> Release:
    """A release, under calibrated weights where totals are given."""
    release = opened(path, engine, master)
    if totals is None:
        return release
    from discreet.estimate import calibrate
    from discreet.estimate.sampling.calibration.totals_file import read_totals

    return calibrate(release, **read_totals(totals)).release
