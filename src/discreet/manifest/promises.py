"""From the blocks of a table to what is promised about a row, and about a person."""

from __future__ import annotations

from collections.abc import Iterable

from discreet.manifest.blocks import Block
from discreet.privacy import Guarantee


def composed_guarantee(blocks: Iterable[Block], rows_per_person: int | None = None) -> Guarantee:
    """The promise about a whole row, or about a person when it was declared how many rows one can have."""
    row = Guarantee.composed(block.guarantee for block in blocks)
    return row if rows_per_person is None else row.for_person(rows_per_person)
