"""Columns that share a finite domain, each randomised on its own."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet import arguments, mechanisms
from discreet.blocks.base import Block, Cells, check_blank, stored_finite
from discreet.blocks.checks import mapping
from discreet.domains import Box, FiniteDomain, Grid
from discreet.errors import ManifestError, MechanismError
from discreet.mechanisms import FiniteMechanism, UnbiasedResponse
from discreet.privacy import Guarantee
from discreet.randomness import Randomness


@dataclass(frozen=True, kw_only=True)
class FiniteBlock(Block):
    """One or more columns with the same list of values; what estimators of finite channels ask for.

    Parameters
    ----------
    domain : FiniteDomain
        What a true value can be; ``WithBlank`` when a missing value is one more value.
    reports : FiniteDomain
        What a released cell can be: the same as ``domain`` unless the channel has reports of its own.
    """

    domain: FiniteDomain
    reports: FiniteDomain

    KEYS: ClassVar[tuple[str, ...]] = ("reports",)

    @abstractmethod
    def _channels(self) -> Iterable[FiniteMechanism]:
        """Every channel that a row can have gone through."""

    def _check(self) -> None:
        check_blank(self.missing, [self.domain])
        for channel in self._channels():
            if not isinstance(channel, FiniteMechanism):
                raise MechanismError(f"a channel with finitely many reports is needed, not {type(channel).__name__}")
            truths, reports = channel.shape
            if truths != self.domain.size:
                raise MechanismError(f"the design is for {truths} true values, but the domain has {self.domain.size}")
            if reports != self.reports.size:
                raise MechanismError(f"the design gives {reports} reports, but {self.reports.size} are named")

    def truths_of(self, name: str) -> FiniteDomain:  # noqa: ARG002  # all columns share one
        """The domain."""
        return self.domain

    def reports_of(self, name: str) -> FiniteDomain:  # noqa: ARG002  # all columns share one
        """The labels of the reports."""
        return self.reports

    def of_column(self, name: str) -> Self:  # noqa: ARG002  # every column was randomised on its own
        """The same: every column was randomised on its own."""
        return self

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return self._common(self.domain, self.reports)

    @classmethod
    def _own_fields(cls, data: Mapping[str, Any]) -> dict[str, Any]:
        domain, reports = stored_finite(data.get("domain")), data.get("reports")
        return {"domain": domain, "reports": domain if reports is None else stored_finite(reports)}

    def _remarks(self) -> list[str]:
        blank = f"a missing answer is one more value, so there are {self.domain.size}"
        return super()._remarks() + ([blank] if self.missing == "category" else [])

    def _each_column(self, one: Guarantee) -> Guarantee:
        """Columns are randomised on their own, so ε adds up."""
        return reduce(Guarantee.compose, [one] * len(self.columns))


@dataclass(frozen=True, kw_only=True)
class ColumnBlock(FiniteBlock):
    """Columns that all went through the same channel, each on its own.

    Parameters
    ----------
    mechanism : FiniteMechanism
        The channel.
    """

    mechanism: FiniteMechanism

    def _channels(self) -> Iterable[FiniteMechanism]:
        return [self.mechanism]

    def channels_of(self, *chosen: str) -> Mapping[str, FiniteMechanism]:
        """The channel, of one column."""
        return {"": self.mechanism} if len(chosen) == 1 else {}

    def randomize(self, cells: Sequence[Cells], randomness: Randomness) -> Iterable[NDArray[Any]]:
        """One column after the other, each when it is asked for."""
        return (self.mechanism.privatize(column.codes, randomness) for column in cells)

    def _row_guarantee(self) -> Guarantee:
        return self._each_column(self.mechanism.guarantee)

    @classmethod
    def _own_fields(cls, data: Mapping[str, Any]) -> dict[str, Any]:
        mechanism = mechanisms.from_dict(mapping(data.get("mechanism"), "a mechanism"))
        return super()._own_fields(data) | {"mechanism": mechanism}

    def _method(self) -> str:
        return f"{self.domain.size} values, {self.mechanism.title}"


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
