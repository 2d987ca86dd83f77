"""A release in memory, or one of another kind, kept in a file."""

from __future__ import annotations

import os
from dataclasses import replace

import pyarrow as pa

from discreet.errors import ReleaseError
from discreet.manifest.digest import ContentDigest, column_forms
from discreet.publish.run.targets import check_output
from discreet.publish.run.writing import open_output
from discreet.reading import Release
from discreet.tables.readers import CSV


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
