"""discreet estimate calibrate: weights that meet known totals."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.engine import EngineName, Master, opened
from discreet.cli.estimate import estimate_app
from discreet.cli.terminal import command, emit, working


@estimate_app.command("calibrate")
@command
def calibrate_command(
    path: Annotated[Path, typer.Argument(help="A released CSV or Parquet file, or a folder.")],
    totals: Annotated[Path, typer.Argument(help="A TOML file with known totals of public columns.")],
    engine: EngineName = "local",
    master: Master = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Survey weights that meet known totals: totals before and after, and how far the weights had to move.

    The file has one [[margin]] for each column with known totals: columns = ["region"] and totals = { north = 4000,
    south = 6000 }; for combinations of several columns rows such as ["north", "f", 2100], or file = "cells.csv"; for a
    column of numbers total = 52000. Also method (raking, linear or logit), bounds and people. Other commands take the
    same file with --totals.
    """
    from discreet.estimate import calibrate
    from discreet.estimate.sampling.calibration.totals_file import read_totals

    with working("calibrating"):
        found = calibrate(opened(path, engine, master), **read_totals(totals))
    emit(found.summary(), found.to_dict(), as_json)
