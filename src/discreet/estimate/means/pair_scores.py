"""What one row says about two columns at once: debiased products of powers ``x^a y^b``.

Where the columns were randomised independently of each other a product is the product of the debiased powers; where
they were randomised together it is the score of the joint channel, or a sum over copies inside their box. A correlation
needs x, y, x², y² and xy; what the randomisation alone adds to the variance of their means needs the products of these
as well, up to the fourth degree.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.channels.channel import Channels
from discreet.estimate.channels.joint import JointChannels, together
from discreet.estimate.channels.value_numbers import value_numbers
from discreet.estimate.data.columns import Column, ReleaseColumn
from discreet.estimate.means.box_scores import BoxScores
from discreet.estimate.means.input import ScoredColumn
from discreet.estimate.noisy_numbers.copies import Copies, NoisyBlock
from discreet.mechanisms.laplace import ZeroInflatedLaplace

#: From a and b to the debiased ``x^a y^b`` of some rows.
Power = Callable[[int, int], Floats]
#: The powers of x and y whose means a correlation is made of.
POWERS = ((1, 0), (0, 1), (2, 0), (0, 2), (1, 1))


class BothColumns:
    """Two columns side by side, codes or numbers, as floats."""

    reports = 1  # there are no combined codes

    def __init__(self, columns: list[Column]) -> None:
        self._columns = columns

    @property
    def needs(self) -> list[str]:
        """All columns that either needs."""
        return [name for column in self._columns for name in column.needs]

    def encode(self, read: Callable[[str], Any], rows: slice) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
        """One row of two entries each, and rows in which either is missing."""
        parts = [column.encode(read, rows) for column in self._columns]
        masks = [mask for _, mask in parts if mask is not None]
        both = np.column_stack([np.asarray(values, float) for values, _ in parts])
        return both, np.logical_or.reduce(masks) if masks else None


class PairScores(ABC):
    """Debiased products of powers of two columns, each less its centre."""

    #: Whether products up to the fourth degree are known.
    has_products = True

    @abstractmethod
    def powers(self, values: Floats) -> Power:
        """What gives the debiased ``x^a y^b`` of these rows."""

    def of(self, values: Floats, first_row: int) -> Floats:
        """The five scores of these rows."""
        del first_row
        power = self.powers(values)
        return np.stack([power(a, b) for a, b in POWERS], axis=1)

    def products(self, values: Floats) -> Floats:
        """The debiased products of the numbers behind the five scores (rows, 5, 5)."""
        known = cache(self.powers(values))
        rows = [np.stack([known(a + c, b + d) for c, d in POWERS], axis=1) for a, b in POWERS]
        return np.stack(rows, axis=1)


class Independent(PairScores):
    """Two columns that were randomised independently of each other, or are public."""

    def __init__(self, pair: list[ScoredColumn]) -> None:
        self._pair = pair
        try:
            for place in range(2):
                if isinstance(pair[place].source.readers[0], ReleaseColumn):
                    self._own(np.zeros(1), place, 4)
        except EstimationError:  # the design gives the number and its square, but no more
            self.has_products = False

    def _entries(self, values: Floats, place: int) -> NDArray[Any]:
        listed = isinstance(self._pair[place].source.readers[0], ReleaseColumn)
        return values.astype(np.int64) if listed else values

    def _own(self, values: Floats, place: int, degree: int) -> Floats:
        return self._pair[place].scores.power(self._entries(values, place), degree)

    def of(self, values: Floats, first_row: int) -> Floats:
        """The numbers and their squares as means take them."""
        found = []
        for place, column in enumerate(self._pair):
            entries = self._entries(values[:, place], place)
            own, products = column.scores.of(entries, first_row), column.scores.products(entries)
            if not np.all(own[:, 1] == 1.0):
                raise EstimationError("a correlation needs a number for every value, and a blank has none")
            found.append((own[:, 0], products[:, 0, 0]))
        (x, xx), (y, yy) = found
        return np.stack([x, y, xx, yy, x * y], axis=1)

    def powers(self, values: Floats) -> Power:
        """Products of two debiased powers."""
        return lambda a, b: self._own(values[:, 0], 0, a) * self._own(values[:, 1], 1, b)


class Joint(PairScores):
    """Two columns that were randomised together."""

    def __init__(self, both: JointChannels, channels: list[Channels]) -> None:
        self._both, self._width = both, channels[1].reports
        first, second = (_centred(one) for one in channels)
        self._x, self._y = np.broadcast_arrays(first[:, None], second[None, :])

    def powers(self, values: Floats) -> Power:
        """Scores of the joint channel."""
        codes = values.astype(np.int64)
        cells = codes[:, 0] * self._width + codes[:, 1]
        return lambda a, b: np.asarray(self._both.inverse.scores(np.ravel(self._x**a * self._y**b))[cells])


class OneBox(Independent):
    """Two numbers that got their noise together, some of them being exact.

    A product of two functions of one record is not unbiased for the product: exactly published records are exact in
    both. The product itself is corrected, over copies inside the box of the two.
    """

    def __init__(self, pair: list[ScoredColumn], mechanism: ZeroInflatedLaplace, centres: Floats) -> None:
        super().__init__(pair)
        self._mechanism, self._centres = mechanism, centres

    def of(self, values: Floats, first_row: int) -> Floats:
        """Numbers and squares one by one, as means take them; their product over copies."""
        found = super().of(values, first_row)
        found[:, 4] = self.powers(values)(1, 1)
        return found

    def powers(self, values: Floats) -> Power:
        """Sums over copies inside the box."""
        kept = Copies([NoisyBlock(np.asarray(values, float), self._mechanism)]).kept
        x, y = (kept.values - self._centres).T
        return lambda a, b: np.asarray(np.bincount(kept.record, kept.weight * x**a * y**b, len(values)), float)


class SharedNoise(Independent):
    """Two numbers whose noise is uncorrelated but not independent: its squares go together."""

    has_products = False


def pair_scores(pair: list[ScoredColumn]) -> PairScores:
    """How two columns are looked at together."""
    readers = [column.source.readers[0] for column in pair]
    channels = [reader.channels for reader in readers if isinstance(reader, ReleaseColumn)]
    both = together(channels[0], channels[1]) if len(channels) == 2 else None
    if both is not None:
        return Joint(both, channels)
    first, second = (column.scores for column in pair)
    names = [str(column.source.name) for column in pair]
    block = next((one for one in pair[0].source.release.manifest.blocks if set(names) <= set(one.columns)), None)
    if block is None or not (isinstance(first, BoxScores) and isinstance(second, BoxScores)):
        return Independent(pair)
    if not first.uses_box:
        return SharedNoise(pair)
    mechanism = block.mechanism.coordinates([block.columns.index(name) for name in names])
    return OneBox(pair, mechanism, np.array([first.centre, second.centre]))


def _centred(channels: Channels) -> Floats:
    numbers = value_numbers(channels.labels, channels.truths)
    if np.isnan(numbers).any():
        raise EstimationError("a correlation needs a number for every value, and a blank has none")
    return np.asarray(numbers - (numbers.min() + numbers.max()) / 2)
