"""What a release is asked for, and everything that can be refused before a row is read."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from discreet import arguments
from discreet.engines import Engine, Local, Spark
from discreet.engines.local import available_cores
from discreet.errors import Argument, ReleaseError
from discreet.manifest.signature import SigningKey
from discreet.publish.appending import check_appending
from discreet.publish.ledger import Ledger
from discreet.publish.pipeline import Progress, Work
from discreet.randomness import Randomness, resolve


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


@dataclass(frozen=True)
class Prepared:
    """A run that can start: its work, where chance comes from, the ledger and the key that signs."""

    work: Work
    chance: Randomness
    book: Ledger | None
    key: SigningKey | None


def prepare(
    source: Any,
    plan: Any,
    output: str | os.PathLike[str] | None,
    randomness: Randomness | None,
    overwrite: bool,
    progress: Progress | None,
    *,
    engine: Engine | None,
    workers: int | None,
    append: bool,
    ledger: Any,
    safe_csv: bool,
    signing_key: str | os.PathLike[str] | SigningKey | None,
) -> Prepared:
    """Check what :func:`discreet.release` is given; parameters as there. Nothing is written."""
    overwrite = arguments.flag(overwrite, "overwrite", ReleaseError)
    safe_csv = arguments.flag(safe_csv, "safe_csv", ReleaseError)
    if arguments.flag(append, "append", ReleaseError):
        check_appending(output, overwrite=overwrite)
    check_progress(progress)
    key, book = signing_key_of(signing_key), Ledger.choose(ledger)
    chance = resolve(randomness)
    kind: type[Work] = Work
    if isinstance(engine, Spark):
        from discreet.publish.spark import SparkWork, spark_source

        source, engine, kind = spark_source(engine, source), None, SparkWork
    here = local_engine(engine, workers)
    work = kind.open(source, plan, output, overwrite=overwrite, book=book, key=key)
    work.engine, work.appends = here, append
    chance = work.remember(chance)
    if safe_csv:
        work.make_spreadsheet_safe()
    return Prepared(work, chance, book, key)
