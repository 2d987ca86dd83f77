"""Which engine a command uses."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.errors import InputError

if TYPE_CHECKING:
    from discreet.engines import Engine
    from discreet.reading import Release

EngineName = Annotated[str, typer.Option(help="Where the work runs: local, or spark.")]
Master = Annotated[
    str | None, typer.Option(metavar="URL", help="For --engine spark: the master, such as spark://host:7077.")
]


def opened(path: str | Path, engine: str, master: str | None) -> Release:
    """A release, read by the engine that was asked for."""
    from discreet.reading import Release

    chosen = chosen_engine(engine, master)
    if chosen is not None and not Path(path).is_dir():
        raise InputError(f"--engine spark is for a release in a folder, and {path} is none")
    return Release.open(path, engine=chosen)


def chosen_engine(name: str, master: str | None) -> Engine | None:
    """The engine that was asked for by name; None is this machine."""
    if name not in ("local", "spark"):
        raise InputError(f'--engine must be local or spark, not "{name}"')
    if name == "local":
        if master is not None:
            raise InputError("--master is for --engine spark")
        return None
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise InputError("--engine spark needs pyspark: pip install 'discreet[spark]'") from None
    from discreet.engines import Spark
    from discreet.engines.spark import ENCRYPTION

    # Workers of Spark would take the first python3 of their path, which may know nothing of discreet.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("discreet").config(ENCRYPTION, "true")
    try:
        session = (builder.master(master) if master is not None else builder).getOrCreate()
    except Exception as error:  # of Spark, of its bridge to Java, or of either's libraries
        raise InputError(
            f"no session of Spark could be had ({type(error).__name__}): is Java 17 or later there, and does a master "
            f"answer at {master or 'the address of its settings'}?"
        ) from None
    return Spark(session)
