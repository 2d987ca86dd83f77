"""What counts as inside: the closed box, widened outward to the grid of the reports and half a step further.

Reports are rounded. A record at the edge of a box whose edge is no multiple of the grid is published as the next
multiple, which may lie outside; the box therefore reaches out to grid points. Half a step more makes no difference to
reports, which are on the grid, and is what a report stands for among the copies, which are not: at an edge with an atom
of truths, the weights of reports at the edge and of copies on either side of it then sum to one.

A function is evaluated at the nearest point of the box itself, never beyond it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.mechanisms.laplace import ZeroInflatedLaplace

#: A grid above the scale of the noise over this is coarse.
_COARSE = 20


@dataclass(frozen=True)
class Inside:
    """The widened box, and the declared one."""

    low: Floats
    high: Floats
    declared_low: Floats
    declared_high: Floats

    @classmethod
    def of(cls, mechanism: ZeroInflatedLaplace) -> Inside:
        """The box of a mechanism."""
        step, box = mechanism.grid, mechanism.box
        low = [(math.floor(one / g) - 0.5) * g for one, g in zip(box.low, step, strict=True)]
        high = [(math.ceil(one / g) + 0.5) * g for one, g in zip(box.high, step, strict=True)]
        return cls(np.array(low), np.array(high), np.array(box.low), np.array(box.high))

    def contains(self, x: Floats) -> NDArray[np.bool_]:
        """Which rows lie inside."""
        return np.asarray(((x >= self.low) & (x <= self.high)).all(axis=1))

    def clip(self, x: Floats) -> Floats:
        """The nearest point of the declared box."""
        return np.asarray(np.clip(x, self.declared_low, self.declared_high))


def refuse_coarse_grid(mechanism: ZeroInflatedLaplace) -> None:
    """Refuse a grid that shows: at the edge of the box, what is cut off is then a share of the noise.

    The bias is about (grid/λ)²/(12δ₀) of the loss at the edge: below a thousandth at the bound.
    """
    if _hides(mechanism):
        raise EstimationError(
            "the grid of the reports is wider than half the box, so that exact records tell nothing about the numbers; "
            "release with less noise, or on a finer grid"
        )
    if is_coarse(mechanism):
        raise EstimationError(
            f"the grid is too coarse for the noise (above a {_COARSE}th of its scale) to tell inside from outside by "
            'the method "box"; take the method "exact", or release on a finer grid'
        )


def is_coarse(mechanism: ZeroInflatedLaplace) -> bool:
    """Whether rounding shows: the grid is above a twentieth of the scale of the noise, or above half the box."""
    shows = (_COARSE * step > one / math.sqrt(2) for step, one in zip(mechanism.grid, mechanism.scale, strict=True))
    return any(shows) or _hides(mechanism)


def _hides(mechanism: ZeroInflatedLaplace) -> bool:
    """Whether rounding puts all numbers of a box on one or two points: noise of millions of boxes needs such a grid."""
    return any(step > width / 2 for step, width in zip(mechanism.grid, mechanism.box.widths, strict=True))


def need_exact_records(mechanism: ZeroInflatedLaplace) -> None:
    """Refuse a mechanism that never publishes a record as it is."""
    if mechanism.zero_probability == 0:
        raise EstimationError(
            'the method "box" weighs records by the chance that they are published exactly, which is 0 here (zero '
            'probability 0); take the method "exact", or release with a zero probability above 0'
        )
