"""Validate a table against a plan: everything that a release would refuse, and nothing is written."""

from __future__ import annotations

import os
from typing import Any

import pyarrow as pa

from discreet.engines import Engine, Spark
from discreet.errors import DomainError, ReleaseError
from discreet.manifest.signature import SigningKey
from discreet.publish.run.prepare import prepare
from discreet.publish.run.violations import every_violation
from discreet.publish.run.work import Progress, Work
from discreet.randomness import Randomness


def check(
    source: Any,
    plan: Any,
    output: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
    *,
    randomness: Randomness | None = None,
    engine: Engine | None = None,
    workers: int | None = None,
    append: bool = False,
    ledger: Any = "default",
    safe_csv: bool = False,
    signing_key: str | os.PathLike[str] | SigningKey | None = None,
) -> int:
    """Validate everything that ``release`` would, write nothing, and return the number of rows.

    It is the same preparation, up to the opening of the output; parameters as for :func:`discreet.release`. What does
    not fit is counted in all private columns before it is refused, where the source can be read again.
    """
    ready = prepare(
        source,
        plan,
        output,
        randomness,
        overwrite,
        progress,
        engine=engine,
        workers=workers,
        append=append,
        ledger=ledger,
        safe_csv=safe_csv,
        signing_key=signing_key,
    )
    work = ready.work
    work.refuse_output(overwrite=overwrite, key=ready.key)
    if ready.book is not None and work.spends:
        ready.book.check()
    if isinstance(engine, Spark):  # the rows are read here: Spark would write while it looks at them
        if engine.is_frame(source):
            raise ReleaseError(
                "the rows of a data frame of Spark cannot be checked: write it to a folder and give that"
            )
        work = Work.open(source, plan, None, overwrite=False)
    try:
        for _ in work.encoded(progress):
            pass
    except DomainError as error:
        if isinstance(source, pa.RecordBatchReader):
            raise
        again = Work.open(source, plan, None, overwrite=False)
        raise every_violation(again.source, again.layout, again.plan.blocks, error) from None
    work.tell()
    return work.rows
