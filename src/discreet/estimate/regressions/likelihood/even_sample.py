"""A sample of rows, spread evenly over all of them, on which starts of a search are tried."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from discreet.arguments import Floats

#: Starts are tried on at most this many rows.
SAMPLE = 1 << 14
_GOLDEN = (math.sqrt(5) - 1) / 2


class EvenSample:
    """Rows i with i·φ mod 1 below a threshold: evenly spread, out of step with any pattern, the same for any chunks.

    All rows are in it where there are not more than ``SAMPLE``. Two samples of different rows add up.
    """

    def __init__(self) -> None:
        self._share = 1.0
        self._kept: list[tuple[Floats, Any]] = []

    def add(self, rows: Any) -> None:
        """One chunk, which knows the number of its first row."""
        place = np.modf((rows.first_row + np.arange(rows.size)) * _GOLDEN)[0]
        which = np.flatnonzero(place < self._share)
        self._kept.append((place[which], rows.take(which)))
        self._thin()

    def __add__(self, other: EvenSample) -> EvenSample:
        both = EvenSample()
        both._share, both._kept = min(self._share, other._share), [*self._kept, *other._kept]
        both._keep()
        both._thin()
        return both

    def _thin(self) -> None:
        while sum(place.size for place, _ in self._kept) > SAMPLE:
            self._share /= 2
            self._keep()

    def _keep(self) -> None:
        kept = [(place, np.flatnonzero(place < self._share), rows) for place, rows in self._kept]
        self._kept = [(place[which], rows.take(which)) for place, which, rows in kept]

    def parts(self) -> list[Any]:
        """The sample, chunk by chunk."""
        return [rows for _, rows in self._kept]
