"""What of a block can be attacked with simulated reports."""

from __future__ import annotations

from dataclasses import dataclass

from discreet import arguments
from discreet.manifest.block import Block
from discreet.mechanisms import FiniteMechanism, JointResponse

#: Columns of a joint block that are attacked one by one; pairs of neighbours among them as well.
_MOST_COLUMNS = 12
#: Combinations of values up to which a pair is attacked.
_MOST_CELLS = 64


@dataclass(frozen=True)
class Target:
    """A finite channel that some columns went through, and the name of its design when rows have different ones."""

    columns: tuple[str, ...]
    design: str | None
    mechanism: FiniteMechanism


def attackable(block: Block) -> tuple[list[Target], str]:
    """The channels of a block that can be attacked, and a sentence on what is left out.

    Columns that were randomised together are attacked one by one and in pairs of neighbours, each against the level
    of its own view; noise added to numbers has no channel to compare with.
    """
    block = arguments.instance(block, Block, "block")
    found: list[Target] = []
    left_out = ""
    for name, mechanism in (dict(block.designs) if block.by else {"": block.mechanism}).items():
        if isinstance(mechanism, FiniteMechanism):
            found.append(Target(tuple(block.columns), name or None, mechanism))
        elif isinstance(mechanism, JointResponse):
            count = min(len(mechanism.sizes), _MOST_COLUMNS)
            found += [Target((block.columns[i],), name or None, mechanism.view(i)) for i in range(count)]
            found += [
                Target((block.columns[i], block.columns[i + 1]), name or None, mechanism.view(i, i + 1))
                for i in range(count - 1)
                if mechanism.sizes[i] * mechanism.sizes[i + 1] <= _MOST_CELLS
            ]
            left_out = "Attacked by column and by pairs of neighbours; the record as a whole has too many values."
        else:
            left_out = (
                "Not attacked: numbers with noise have no finite channel; the curve of their noise was recomputed."
            )
    return found, left_out
