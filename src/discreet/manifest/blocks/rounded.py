"""Numbers between the points of a grid, rounded at random to one of the two beside them, then randomised."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet import arguments
from discreet.domains import Box, Grid
from discreet.errors import ManifestError, MechanismError
from discreet.manifest.blocks.base import Cells
from discreet.manifest.blocks.finite import ColumnBlock
from discreet.mechanisms import UnbiasedResponse
from discreet.randomness import Randomness


@dataclass(frozen=True, kw_only=True)
class RoundedBlock(ColumnBlock):
    """Columns of numbers in an interval whose reports are unbiased for the numbers themselves.

    A number goes to the point below or above it, with the chance that keeps its mean, and the point goes through the
    channel. Rounding comes before the channel and has chance of its own, so that the promise holds for any two numbers.

    Parameters
    ----------
    domain : Grid
        The interval and its points.
    mechanism : UnbiasedResponse
        The channel on these points.
    """

    domain: Grid
    mechanism: UnbiasedResponse

    KEYS: ClassVar[tuple[str, ...]] = ("reports", "rounding")

    def _check(self) -> None:
        arguments.instance(self.mechanism, UnbiasedResponse, "the mechanism of numbers on a grid", MechanismError)
        arguments.instance(self.domain, Grid, "the domain of numbers that are rounded", MechanismError)
        super()._check()
        points = self.mechanism.points
        if (points[0], points[-1]) != (self.domain.low, self.domain.high):
            raise MechanismError("the points of the mechanism do not cover the interval of the domain")
        if self.collected:
            raise MechanismError("numbers that the respondents randomised were rounded by them")

    @property
    def _interval(self) -> Box:
        return Box(self.domain.low, self.domain.high)

    def code_dtype(self, name: str) -> np.dtype[Any]:  # noqa: ARG002  # all columns are alike
        """Until they are randomised the numbers are their own codes."""
        return np.dtype(np.float64)

    def encode(self, name: str, cells: pa.Array, *, text: bool = False) -> Cells:  # noqa: ARG002  # columns are alike
        """The numbers as they are, checked against the interval."""
        box = self._interval
        numbers, missing = box.encode_with_missing(box.parse(cells) if text else cells)
        self._refuse_missing(missing, box)
        return Cells(numbers, missing)

    def randomize(self, cells: Sequence[Cells], randomness: Randomness) -> Iterable[NDArray[Any]]:
        """Round, then randomise: one column after the other, each when it is asked for."""
        low = self.domain.low
        for column in cells:
            numbers = column.codes if column.missing is None else np.where(column.missing, low, column.codes)
            yield self.mechanism.privatize(self.mechanism.round(numbers, randomness), randomness)

    @property
    def rounding_variance(self) -> float:
        """What rounding adds to the variance of a number at most: a quarter of the squared distance of two points."""
        return self.domain.step**2 / 4

    @property
    def value_notes(self) -> tuple[str, ...]:
        """Means are those of the numbers, everything else that of the rounded numbers."""
        return (
            f"numbers between two of the {self.domain.size} points were rounded at random, which keeps means: this is "
            "of the rounded numbers",
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return super().to_dict() | {"rounding": "random"}

    @classmethod
    def _own_fields(cls, data: Mapping[str, Any]) -> dict[str, Any]:
        if data.get("rounding") != "random":
            raise ManifestError('the manifest is damaged: "rounding" must be "random"')
        return super()._own_fields(data)

    def _method(self) -> str:
        return (
            f"numbers from {self.domain.low:g} to {self.domain.high:g}, rounded at random to {self.domain.size} "
            f"points, {self.mechanism.title}"
        )
