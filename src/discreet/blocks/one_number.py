"""Numbers of which everybody reports one, drawn at random."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet import arguments
from discreet.blocks.base import Cells, RecordBlock, stored_finite
from discreet.blocks.checks import mapping
from discreet.blocks.finite import RoundedBlock
from discreet.domains import FiniteDomain, Grid
from discreet.errors import DomainError, ManifestError, MechanismError
from discreet.mechanisms import FiniteMechanism, OneNumberResponse
from discreet.randomness import Randomness


@dataclass(frozen=True, kw_only=True)
class OneOfSeveral(RoundedBlock):
    """One column of numbers of which everybody reports one.

    Parameters
    ----------
    asked_share : float
        How many rows have a report in this column, on average.
    """

    asked_share: float

    @property
    def complete(self) -> bool:
        """Most rows report another number."""
        return False

    gaps = True

    def _remarks(self) -> list[str]:
        return [*super()._remarks(), f"reported by {self.asked_share:.3g} of the rows, drawn at random"]


@dataclass(frozen=True, kw_only=True)
class OneNumberBlock(RecordBlock):
    """Columns of numbers in intervals; a row reports one of them, and the others are blank.

    Which one is drawn at random before anything is looked at, and says nothing about the numbers.

    Parameters
    ----------
    mechanism : OneNumberResponse
        A channel for every column, and how often each is drawn.
    domains : tuple of Grid
        The interval of every column and its points.
    """

    mechanism: OneNumberResponse
    domains: tuple[Grid, ...]

    KEYS: ClassVar[tuple[str, ...]] = ("domains", "rounding")

    def _check(self) -> None:
        object.__setattr__(self, "domains", tuple(self.domains))
        arguments.instance(self.mechanism, OneNumberResponse, "the mechanism of one number", MechanismError)
        super()._check()
        if len(self.domains) != len(self.columns):
            raise MechanismError(f"there are {len(self.columns)} columns but {len(self.domains)} domains")
        if self.missing != "reject":
            raise MechanismError("where everybody reports one number, a blank means that another one was drawn")
        if self.memoised:
            raise MechanismError("numbers that are rounded are not memoised")
        for name in self.columns:
            self.of_column(name)

    @property
    def complete(self) -> bool:
        """Every row has one report and blanks beside it."""
        return False

    gaps = True

    @cached_property
    def _parts(self) -> dict[str, OneOfSeveral]:
        return {}

    def of_column(self, name: str) -> OneOfSeveral:
        """The column as those see it who reported it."""
        if name not in self._parts:
            place = self._places[name]
            channel, domain = self.mechanism.parts[place], self.domains[place]
            self._parts[name] = OneOfSeveral(
                columns=(name,),
                domain=domain,
                reports=channel.report_domain(domain),
                mechanism=channel,
                collected=self.collected,
                asked_share=float(self.mechanism.shares[place]),
            )
        return self._parts[name]

    def beside_others(self, name: str) -> OneOfSeveral:
        """The column alone: no row reports two of them."""
        return self.of_column(name)

    def never_together(self, names: Collection[str]) -> tuple[str, ...]:
        """Any two of its columns."""
        found = tuple(name for name in self.columns if name in names)
        return found if len(found) > 1 else ()

    def truths_of(self, name: str) -> FiniteDomain:
        """The interval of the column."""
        return self.domains[self._places[name]]

    def reports_of(self, name: str) -> FiniteDomain:
        """The numbers that its reports stand for."""
        return self.of_column(name).reports

    def channels_of(self, *chosen: str) -> Mapping[str, FiniteMechanism]:
        """The channel of one column, in the rows that report it; no row reports two."""
        return self.of_column(chosen[0]).channels_of(*chosen)

    def code_dtype(self, name: str) -> np.dtype[Any]:
        """Until they are randomised the numbers are their own codes."""
        return self.of_column(name).code_dtype(name)

    def encode(self, name: str, cells: pa.Array, *, text: bool = False) -> Cells:
        """The numbers as they are, checked against the interval."""
        return self.of_column(name).encode(name, cells, text=text)

    def randomize(self, cells: Sequence[Cells], randomness: Randomness) -> Iterable[NDArray[Any]]:
        """Every column is rounded and randomised; then one is drawn for each row, and the others are masked."""
        reports = [
            codes
            for name, column in zip(self.columns, cells, strict=True)
            for codes in self.of_column(name).randomize([column], randomness)
        ]
        drawn = self.mechanism.drawn(len(cells[0].codes), randomness)
        return (np.ma.masked_array(codes, mask=drawn != j) for j, codes in enumerate(reports))

    def check_rows(self, batch: pa.RecordBatch) -> None:
        """Every row reports one number."""
        reported = sum(
            batch.column(name).is_valid().to_numpy(zero_copy_only=False).astype(int) for name in self.columns
        )
        wrong = np.flatnonzero(reported != 1)
        if wrong.size:
            raise DomainError("a row must report one number", column=", ".join(self.columns), row=int(wrong[0]))

    def to_dict(self) -> dict[str, Any]:
        """Plain data; ``domain`` is that of the first column."""
        own = {"domains": [domain.to_dict() for domain in self.domains], "rounding": "random"}
        return own | self._common(self.domains[0])

    @classmethod
    def _own_fields(cls, data: Mapping[str, Any]) -> dict[str, Any]:
        if data.get("rounding") != "random":
            raise ManifestError('the manifest is damaged: "rounding" must be "random"')
        domains = tuple(stored_finite(one) for one in data.get("domains", ()))
        if not domains or stored_finite(data.get("domain")) != domains[0]:
            raise ManifestError('the manifest is damaged: "domain" must be the first of the "domains" of its block')
        mechanism = OneNumberResponse.from_dict(mapping(data.get("mechanism"), "a mechanism"))
        return {"domains": domains, "mechanism": mechanism}

    def _method(self) -> str:
        return f"{len(self.columns)} numbers, of which every row reports one, drawn at random"
