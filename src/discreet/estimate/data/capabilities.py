"""Which questions a release can answer: column by column, from its manifest alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from discreet.blocks import Block
from discreet.domains import Binary
from discreet.errors import EstimationError
from discreet.estimate.channels.channel import Channels
from discreet.estimate.channels.value_numbers import value_numbers
from discreet.plain_text import one_line

#: Beyond this many values a channel is not written out to see whether it tells them apart.
_MAX_RANK = 1024


@dataclass(frozen=True)
class Questions:
    """What can be asked of one column of a release.

    Attributes
    ----------
    column : str
    private : bool
    holds : str
        What its values are.
    how : str
        How it was randomised, with its promise; "copied" for a public column.
    estimates : tuple of str
        Commands of ``discreet estimate`` that answer: "frequencies", "mean", "quantile" …
    caveat : str
        What is not to be had, and why; empty where nothing is missing.
    """

    column: str
    private: bool
    holds: str
    how: str
    estimates: tuple[str, ...]
    caveat: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "column": self.column,
            "private": self.private,
            "holds": self.holds,
            "how": self.how,
            "estimates": list(self.estimates),
            "caveat": self.caveat,
        }


def questions(release: Any) -> list[Questions]:
    """What can be asked of every column of a release."""
    manifest = release.manifest
    found = []
    for column in manifest.columns:
        block = manifest.block(column.name)
        if block is None:
            role = "" if column.role == "public" else f", the {column.role} of the survey"
            asked = ("frequencies", "mean", "quantile") if column.type in ("integer", "number") else ("frequencies",)
            found.append(Questions(column.name, False, f"{column.type}{role}", "copied", asked))
        else:
            found.append(_of_private(block, column.name))
    return found


def _how(block: Block, name: str) -> str:
    """The randomisation of a column and its promise; with others, which ones."""
    own = block.of_column(name)
    if not block.together:
        return own.summary().split(": ", 1)[1]
    others = ", ".join(f'"{one_line(other)}"' for other in block.columns if other != name)
    level = f"column level ε = {own.guarantee.epsilon:.6g}, " if block.channels_of(name) else ""
    beside = f"randomised together with {others}, " if others else ""
    return f"{beside}{level}{block.guarantee.summary()}"


def _numeric(truths: Any, size: int) -> tuple[str, ...]:
    """Questions about numbers, where the values are, or have, any."""
    try:
        value_numbers(truths, size)
    except EstimationError:
        return ()
    return ("mean", "total") if isinstance(truths, Binary) else ("mean", "quantile", "total")


def _of_private(block: Block, name: str) -> Questions:
    truths = block.truths_of(name)
    how = _how(block, name)
    channels = block.channels_of(name)
    if not channels:
        return Questions(name, True, truths.describe(), how, ("mean", "quantile", "regression"))
    size = next(iter(channels.values())).shape[0]
    identified = size > _MAX_RANK or Channels.of(dict(channels) if len(channels) > 1 else channels[""]).is_identified()
    numeric = _numeric(truths, size)
    if identified:
        return Questions(name, True, truths.describe(), how, ("frequencies", *numeric, "crosstab", "regression"))
    caveat = "its reports do not tell all values apart: frequencies, means and quantiles come as ranges"
    return Questions(name, True, truths.describe(), how, ("frequencies --method bounds", *numeric[:2]), caveat)
