"""What a CSV file cannot hold, and what a spreadsheet would run."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from discreet.domains import Domain, FiniteDomain
from discreet.domains.columns import is_text
from discreet.errors import Argument, ReleaseError
from discreet.manifest.digest import is_bytes
from discreet.publish.run.layout import Layout
from discreet.tables.csv_text import spreadsheet_safe


def check_csv_labels(layout: Layout) -> None:
    """Refuse a label that a CSV file cannot tell from a blank."""
    for name, reports in layout.reports.items():
        if _has_empty_label(layout.truths[name]) or _has_empty_label(reports):
            raise ReleaseError(
                f'column "{name}": the empty text is one of its values, which a CSV file cannot tell from a blank'
            )


def check_spreadsheet_safe(layout: Layout) -> None:
    """Refuse what would have to be marked for a spreadsheet but cannot be, because it is looked up."""
    plan = layout.plan
    looked_up = [*layout.released.names, *(name for block in plan.blocks for name in block.designs)]
    words = [pa.array(looked_up, pa.string())]
    for reports in layout.reports.values():
        if pa.types.is_dictionary(reports.arrow_type):
            words.append(reports.decode_arrow(np.zeros(0, np.uint8)).dictionary)
    if any(not spreadsheet_safe(some).equals(some) for some in words):
        raise ReleaseError(
            "a column name, a design or a label of a private column starts with =, +, -, @, a tab or a line end, "
            "which a spreadsheet would run; rename it in the table and the plan"
        )
    for name in plan.public:
        if is_bytes(layout.released.field(name).type):
            raise ReleaseError(
                f'column "{name}" holds bytes, which ', Argument("safe_csv=True"), " cannot mark; make it text"
            )


def marked(batch: pa.RecordBatch, public: tuple[str, ...]) -> pa.RecordBatch:
    """The batch with its public text as a spreadsheet-safe file holds it."""
    arrays = [
        spreadsheet_safe(cells) if name in public and is_text(cells.type) else cells
        for name, cells in zip(batch.schema.names, batch.columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=batch.schema)


def _has_empty_label(domain: Domain) -> bool:
    if not isinstance(domain, FiniteDomain) or not pa.types.is_dictionary(domain.arrow_type):
        return False
    return bool(domain.codes(pa.array([""])).null_count == 0)
