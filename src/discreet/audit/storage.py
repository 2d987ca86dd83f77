"""What a Parquet file states beside its cells and its manifest, and other programs go by: nobody signed it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from discreet.audit.findings import Finding, Verdict
from discreet.files import ordinary_file
from discreet.manifest.storage import KEY
from discreet.plain_text import one_line
from discreet.reading import Release
from discreet.tables.footer import ARROW_SCHEMA, Footer, described, field_metadata
from discreet.tables.readers import ParquetTable

SUBJECT = "file"
#: The number of a column, which Arrow writes when it writes a table again.
_FIELD_ID = b"PARQUET:field_id"


def storage_findings(release: Release) -> list[Finding]:
    """Check a Parquet file that is a release by itself; the parts of a folder have digests of all their bytes."""
    table = release.stored
    if not isinstance(table, ParquetTable):
        return []
    with ordinary_file(table.path, same=table.identity) as bare:
        footer = Footer.read(bare)
    others = [key.decode(errors="replace") for key in sorted(_keys(footer) - {KEY, ARROW_SCHEMA, _FIELD_ID})]
    others += ["indexes of its cells"] if footer.indexed else []
    found = []
    if others:
        verdict: Verdict = "warning" if release.manifest.signature is None else "failure"
        said = f"holds what is not of the release ({', '.join(others)}), and some programs go by it"
        found.append(Finding(SUBJECT, verdict, one_line(said)))
    with table.opened() as file:
        wrong = next(_wrong(file), None)
    if wrong is not None:
        said = f"{wrong}, so a program that filters rows would leave some out or see others"
        found.append(Finding(SUBJECT, "failure", said))
    return found or [Finding(SUBJECT, "ok", "states nothing about its cells that they contradict")]


def _keys(footer: Footer) -> set[bytes]:
    """All keys under which a file holds metadata: of itself, of its description of the columns, of a column."""
    schema = described(footer.pairs)
    return {*footer.pairs, *(schema.metadata or {})}.union(*field_metadata(schema))


def _wrong(file: pq.ParquetFile) -> Iterator[str]:
    """What a file states about its cells and does not hold."""
    metadata = file.metadata
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        chunks = [group.column(place) for place in range(group.num_columns)]
        stated = [place for place, chunk in enumerate(chunks) if chunk.is_stats_set]
        if not stated:
            continue
        # The same cells written again state what is true of them, in the terms of the same library.
        cells = file.read_row_group(number)
        sink = pa.BufferOutputStream()
        pq.write_table(cells, sink, row_group_size=max(cells.num_rows, 1))
        true = pq.read_metadata(pa.BufferReader(sink.getvalue())).row_group(0) if cells.num_rows else None
        for place in stated:
            now = None if true is None else true.column(place).statistics
            if not _holds(chunks[place].statistics, now):
                yield f'the statistics of "{chunks[place].path_in_schema}" are not those of its cells'


def _holds(stated: Any, true: Any) -> bool:
    """Whether statistics leave out none of the cells."""
    if true is None:
        return not stated.has_min_max
    if stated.has_null_count and stated.null_count != true.null_count:
        return False
    if not stated.has_min_max:
        return True
    if not true.has_min_max:
        return False
    if (stated.min_raw, stated.max_raw) == (true.min_raw, true.max_raw):
        return True
    try:  # another library may state rounder ends
        return bool(stated.min <= true.min and stated.max >= true.max)
    except (TypeError, ValueError, pa.ArrowException):
        return False
