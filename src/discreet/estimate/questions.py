"""Which questions a release can answer: column by column, from its manifest alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from discreet.errors import EstimationError
from discreet.estimate.channels import Channels
from discreet.estimate.value_numbers import value_numbers
from discreet.manifest import Block

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
            asked = ("mean", "quantile") if column.type in ("integer", "number") else ()
            found.append(Questions(column.name, False, f"{column.type}{role}", "copied", asked))
        else:
            found.append(_of_private(block, column.name))
    return found


def _of_private(block: Block, name: str) -> Questions:
    truths = block.truths_of(name)
    how = block.of_column(name).summary().split(": ", 1)[1]
    channels = block.channels_of(name)
    if not channels:
        return Questions(name, True, truths.describe(), how, ("mean", "quantile", "regression"))
    size = next(iter(channels.values())).shape[0]
    identified = size > _MAX_RANK or Channels.of(dict(channels) if len(channels) > 1 else channels[""]).is_identified()
    try:
        value_numbers(truths, size)
        numeric: tuple[str, ...] = ("mean", "quantile", "total")
    except EstimationError:
        numeric = ()
    if identified:
        return Questions(name, True, truths.describe(), how, ("frequencies", *numeric, "crosstab", "regression"))
    caveat = "its reports do not tell all values apart: frequencies, means and quantiles come as ranges"
    return Questions(name, True, truths.describe(), how, ("frequencies --method bounds", *numeric[:2]), caveat)
