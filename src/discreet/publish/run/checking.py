"""Validate a table against a plan: everything that a release would refuse, and nothing is written."""

from __future__ import annotations

import os
from typing import Any

import pyarrow as pa

from discreet import arguments
from discreet.errors import DomainError, ReleaseError
from discreet.publish.run.options import check_progress
from discreet.publish.run.violations import every_violation
from discreet.publish.run.work import Progress, Work


def check(
    source: Any,
    plan: Any,
    output: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> int:
    """Validate everything that ``release`` would, write nothing, and return the number of rows.

    What does not fit is counted in all private columns before it is refused, where the source can be read again.
    """
    check_progress(progress)
    work = Work.open(source, plan, output, overwrite=arguments.flag(overwrite, "overwrite", ReleaseError))
    try:
        for _ in work.encoded(progress):
            pass
    except DomainError as error:
        if isinstance(source, pa.RecordBatchReader):
            raise
        again = Work.open(source, plan, output, overwrite=overwrite)
        raise every_violation(again.source, again.layout, again.plan.blocks, error) from None
    work.tell()
    return work.rows
