"""A table in, a private table out."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import pyarrow as pa

from discreet.engines import Engine
from discreet.errors import ReleaseError
from discreet.manifest.digest import ContentDigest, column_forms
from discreet.manifest.signature import SigningKey
from discreet.publish.commit import check_output
from discreet.publish.outputs import open_output
from discreet.publish.pipeline import Progress, Work
from discreet.publish.plan import Plan
from discreet.publish.prepare import prepare
from discreet.randomness import Randomness
from discreet.reading import Release
from discreet.tables.readers import CSV


def release(
    source: Any,
    plan: Any,
    output: str | os.PathLike[str] | None = None,
    randomness: Randomness | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
    *,
    engine: Engine | None = None,
    workers: int | None = None,
    append: bool = False,
    ledger: Any = "default",
    safe_csv: bool = False,
    signing_key: str | os.PathLike[str] | SigningKey | None = None,
) -> Release:
    """Randomise the private columns of a table as a plan says, and publish it with its manifest.

    Parameters
    ----------
    source : path, or anything that speaks the Arrow stream interface
        The true table: ``.parquet``, ``.csv``, a folder of Parquet files, a data frame of polars or pandas, an Arrow
        table or reader.
    plan : Plan, path or dict
        Which columns are copied and which are randomised how. A column that it does not name is dropped.
    output : path, optional
        ``.parquet``, ``.csv`` or, without an ending, a folder of parts. It appears complete or not at all. Default:
        the release stays in memory.
    randomness : Randomness, optional
        The secure source by default; a seeded one marks the release as insecure.
    overwrite : bool
        Replace an output that is already there.
    progress : callable, optional
        Called with the number of rows done so far.
    engine : Engine, optional
        ``engines.Spark(session)`` for a source and an output in folders that one machine is too small for. Default:
        this machine.
    workers : int, optional
        Threads that read, randomise and write at once. Default: as many as there are cores.
    append : bool
        Add the table to the release that is in the folder ``output``, which was made by the same design, as new parts
        under noise of their own. The guarantee becomes that of whoever is in all tables, and must fit the budget.
    ledger : "default", path or None
        Where releases of files are recorded before the first report exists, and earlier ones of the same truth
        are looked up.
    safe_csv : bool
        For a CSV output: put an apostrophe before public text that a spreadsheet would run as a formula
        (``=cmd()``). By default public cells are written back unchanged. The manifest says which it was.
    signing_key : path or SigningKey, optional
        A private Ed25519 key in PEM form. The manifest, and through its digests every cell, is signed with it.

    Returns
    -------
    Release

    Raises
    ------
    BudgetError
        The plan needs more than its budget; no private value was read.
    DomainError
        A value does not belong to its domain; column and row are named, the value is not.
    ReleaseError, PlanError, SystemFailureError
        Something else is wrong with table, plan or machine. Nothing is left behind.

    Warns
    -----
    LedgerWarning
        The same truth was released before, and spends again.
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
    with work.open_output(overwrite=overwrite, key=ready.key) as target:
        spending = work.spending(ready.book)
        try:
            if spending is not None:
                spending.begin()
            work.keep_memory()
            result = work.publish(target, ready.chance, progress, ready.key)
        except BaseException:
            target.discard()
            if spending is not None and target.committed:
                spending.end("done")
            elif spending is not None and target.removed:
                spending.end("abandoned")
            raise
        if spending is not None:
            spending.end("done")
    return result


def collect(table: Any, plan: Plan) -> Release:
    """A release in memory of answers that respondents randomised; rows stay in their order."""
    for block in plan.blocks:
        if not block.collected:
            raise ReleaseError(
                f'column "{block.columns[0]}" is not marked collected = true; release() randomises true answers'
            )
    work = Work.open(table, plan, None, overwrite=False)
    with open_output(None, work.layout.released, overwrite=False) as target:
        digest = work.content_digest()
        for batch in work.encoded(None):
            digest.update(batch)
            target.write(work.layout.decode(batch))
        done = target.commit(replace(work.manifest(None, shuffled=False), content=digest.content()))
    work.tell()
    return done


def save(release: Release, path: str | os.PathLike[str], *, overwrite: bool) -> Release:
    """Write a release to a Parquet or CSV file with its manifest; nothing is randomised again."""
    if release.manifest.signature is not None:
        raise ReleaseError("this release is signed: copy its files, because a rewritten one is not what was signed")
    inputs = [] if release.path is None else [("this release itself", release.path)]
    output = check_output(path, inputs, overwrite=overwrite)
    to_text = output.suffix.lower() in CSV
    # Cells of a CSV file stay as they were written; in Parquet numbers are numbers.
    as_read = not (release.text and to_text)
    kept = release.columns if as_read else list(release.reports)
    schema = pa.schema(
        [(name, release.schema.field(name).type if name in kept else pa.string()) for name in release.columns]
    )
    digest = ContentDigest(column_forms(schema, release.reports, text=to_text))
    blanks = {name: not block.complete for block in release.manifest.blocks for name in block.columns}
    with open_output(output, schema, blanks, overwrite=overwrite) as target:
        for coded, read in zip(release.coded(), release.batches(), strict=True):
            public = read if as_read else coded
            codes = [coded[n] if n in release.reports else public[n] for n in release.columns]
            digest.update(pa.RecordBatch.from_arrays(codes, names=release.columns))
            cells = [read[n] if n in release.reports else public[n] for n in release.columns]
            target.write(pa.RecordBatch.from_arrays(cells, schema=schema))
        return target.commit(replace(release.manifest, content=digest.content(), digest=target.digest, files=()))


Release.writer = save
