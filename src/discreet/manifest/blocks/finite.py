"""Columns that share a finite domain, each randomised on its own."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, ClassVar, Self

from numpy.typing import NDArray

from discreet import mechanisms
from discreet.domains import FiniteDomain
from discreet.errors import MechanismError
from discreet.manifest.blocks.base import Block, Cells, check_blank, stored_finite
from discreet.manifest.checks import mapping
from discreet.mechanisms import FiniteMechanism
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
