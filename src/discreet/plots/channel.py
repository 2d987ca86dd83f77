"""A channel as a picture: the probability of every report under every truth."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from discreet.errors import InputError
from discreet.mechanisms import FiniteMechanism
from discreet.plots.canvas import canvas

#: Truths and reports that still give a readable picture.
MAX_SHOWN = 512
#: Up to this many, every value is named on the axes.
_NAMED = 16


def plot_channel(
    mechanism: FiniteMechanism, path: str | Path, *, labels: Sequence[Any] | None = None, title: str = ""
) -> None:
    """Draw a channel: one row per truth, one column per report, darker for more likely."""
    truths, reports = mechanism.shape
    if max(truths, reports) > MAX_SHOWN:
        raise InputError(f"a picture of {truths} × {reports} probabilities is over the limit of {MAX_SHOWN}")
    if labels is not None and len(labels) != truths:
        raise InputError(f"there are {len(labels)} labels for {truths} values")
    with canvas(path, width=6.4, height=5.4) as axes:
        shades = axes.imshow(mechanism.matrix(), cmap="Blues", vmin=0.0, aspect="auto", interpolation="nearest")
        axes.figure.colorbar(shades, ax=axes, label="probability of the report")
        if labels is not None and truths <= _NAMED:
            axes.set_yticks(range(truths), [str(label) for label in labels])
            if reports == truths:
                axes.set_xticks(range(reports), [str(label) for label in labels], rotation=45, ha="right")
        axes.set_xlabel("report")
        axes.set_ylabel("truth")
        axes.set_title(title or f"{type(mechanism).__name__}, ε = {mechanism.guarantee.epsilon:.4g}", loc="left")
