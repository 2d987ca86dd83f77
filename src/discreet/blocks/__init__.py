"""What was done to groups of columns: one small class per kind of block.

To add a kind, write its class beside these and name in ``KINDS`` the mechanism by which a manifest shows it.
"""

from __future__ import annotations

from typing import Any

from discreet.blocks.base import Block, Cells, Missing, RecordBlock
from discreet.blocks.by_row import DesignsByRow, design_name
from discreet.blocks.checks import damaged, mapping
from discreet.blocks.finite import ColumnBlock, FiniteBlock, RoundedBlock
from discreet.blocks.joint import JointBlock
from discreet.blocks.numeric import NumericBlock
from discreet.blocks.one_number import OneNumberBlock, OneOfSeveral
from discreet.mechanisms import JointResponse, OneNumberResponse, ZeroInflatedLaplace

__all__ = [
    "Block",
    "Cells",
    "ColumnBlock",
    "DesignsByRow",
    "FiniteBlock",
    "JointBlock",
    "Missing",
    "NumericBlock",
    "OneNumberBlock",
    "OneOfSeveral",
    "RecordBlock",
    "RoundedBlock",
    "design_name",
    "from_dict",
]

#: The block of every mechanism that does not take values one by one. Entries are added, never changed.
KINDS: dict[str, type[Block]] = {
    JointResponse.kind: JointBlock,
    ZeroInflatedLaplace.kind: NumericBlock,
    OneNumberResponse.kind: OneNumberBlock,
}


def from_dict(data: Any) -> Block:
    """Rebuild a block from the plain data of a manifest."""
    with damaged("a block"):
        mechanism = mapping(data, "a block").get("mechanism")
        if mechanism is None:
            return DesignsByRow.from_dict(data)
        one_by_one = RoundedBlock if data.get("rounding") else ColumnBlock
        return KINDS.get(mapping(mechanism, "a mechanism").get("kind", ""), one_by_one).from_dict(data)
