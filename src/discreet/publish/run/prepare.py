"""What a release is asked for, and everything that can be refused before a row is read."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from discreet import arguments
from discreet.engines import Engine, Spark
from discreet.errors import ReleaseError
from discreet.manifest.signature import SigningKey
from discreet.publish.run.appending import check_appending
from discreet.publish.run.ledger import Ledger
from discreet.publish.run.options import check_progress, local_engine, signing_key_of
from discreet.publish.run.work import Progress, Work
from discreet.randomness import Randomness, resolve


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
        from discreet.publish.run.spark_work import SparkWork, spark_source

        source, engine, kind = spark_source(engine, source), None, SparkWork
    here = local_engine(engine, workers)
    work = kind.open(source, plan, output, overwrite=overwrite, book=book, key=key)
    work.engine, work.appends = here, append
    chance = work.remember(chance)
    if safe_csv:
        work.make_spreadsheet_safe()
    return Prepared(work, chance, book, key)
