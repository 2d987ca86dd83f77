"""What of a block can be attacked with simulated reports."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from discreet import arguments
from discreet.blocks import Block
from discreet.mechanisms import FiniteMechanism

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
    block = arguments.instance(block, Block, "block")  # type: ignore[type-abstract]  # any of them
    if not block.together:
        channels = block.channels_of(block.columns[0])
        return [Target(block.columns, name or None, channel) for name, channel in channels.items()], ""
    listed = block.columns[:_MOST_COLUMNS]
    found = [Target((name,), None, one) for name in listed for one in block.channels_of(name).values()]
    if not found:
        return [], "Not attacked: numbers with noise have no finite channel; the curve of their noise was recomputed."
    sizes = [target.mechanism.shape[0] for target in found]
    found += [
        Target(pair, None, one)
        for i, pair in enumerate(pairwise(listed))
        if sizes[i] * sizes[i + 1] <= _MOST_CELLS
        for one in block.channels_of(*pair).values()
    ]
    return found, "Attacked by column and by pairs of neighbours; the record as a whole has too many values."
