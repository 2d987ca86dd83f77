"""What a run is asked for: checked, and put into the form in which it is used."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from discreet import arguments
from discreet.engines import Local
from discreet.engines.local import available_cores
from discreet.errors import Argument, ReleaseError
from discreet.manifest.signature import SigningKey
from discreet.publish.plan import Plan
from discreet.publish.run.ledger import Ledger
from discreet.tables.readers import Source


def check_progress(progress: Any) -> None:
    """Progress is told to a function."""
    if progress is not None and not callable(progress):
        raise ReleaseError("progress must be a function of the number of rows done")


def local_engine(engine: Any, workers: Any) -> Local:
    """The engine of this machine with as many workers as were asked for."""
    if workers is not None:
        workers = arguments.whole(workers, "workers", ReleaseError, least=1, most=1024)
    if engine is None:
        return Local(workers or available_cores())
    if not isinstance(engine, Local):
        raise ReleaseError(
            Argument("engine"), f" must be engines.Local() or engines.Spark(session), not {type(engine).__name__}"
        )
    return engine if workers is None else Local(workers)


def signing_key_of(given: Any) -> SigningKey | None:
    """The key that was given, or read from the file that was named."""
    if given is None or isinstance(given, SigningKey):
        return given
    if not isinstance(given, (str, os.PathLike)):
        raise ReleaseError(Argument("signing_key"), f" must be a path or a SigningKey, not {type(given).__name__}")
    return SigningKey.read(given)


def inputs_of(source: Source, plan: Plan, book: Ledger | None, key: SigningKey | None) -> list[tuple[str, Path]]:
    """What a run reads or keeps, and may therefore never write to."""
    files = [] if source.path is None else [("the input", source.path)]
    files += [] if plan.path is None else [("the plan", plan.path)]
    files += [("a file that the plan reads", file) for file in plan.files]
    files += [] if key is None or key.path is None else [("the signing key", key.path)]
    if book is not None:
        files += [("the ledger", file) for file in (book.path, book.text) if file is not None]
    return files
