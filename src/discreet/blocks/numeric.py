"""Numeric columns between declared bounds, released with noise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet import arguments
from discreet.blocks.base import Cells, RecordBlock, stored_domain
from discreet.blocks.checks import mapping
from discreet.domains import Box
from discreet.errors import DomainError, ManifestError, MechanismError
from discreet.mechanisms import FiniteMechanism, ZeroInflatedLaplace
from discreet.mechanisms.laplace.exact import RELATIVE

#: How far the δ of noise drawn with 52 bits may be above the stated one: what designs of that time kept back for it.
_EARLIER = 1e-9


@dataclass(frozen=True, kw_only=True)
class NumericBlock(RecordBlock):
    """Numbers in a box, all columns of a row randomised together.

    Parameters
    ----------
    mechanism : ZeroInflatedLaplace
        The noise, and the box.
    clip : bool
        Whether numbers outside the box were moved to its bounds.
    """

    mechanism: ZeroInflatedLaplace
    clip: bool = False

    KEYS: ClassVar[tuple[str, ...]] = ("clip",)

    def _check(self) -> None:
        arguments.instance(self.mechanism, ZeroInflatedLaplace, "the mechanism of numbers in a box", MechanismError)
        super()._check()
        if self.missing == "category":
            raise MechanismError("numbers in a box are what is randomised, and a blank is not one of them")

    @property
    def domain(self) -> Box:
        """Where the true rows lie."""
        return self.mechanism.box

    @property
    def reports(self) -> Box:
        """The same box; reports are not clamped to it."""
        return self.mechanism.box

    def truths_of(self, name: str) -> Box:
        """The bounds of the column."""
        return self.domain.column(self._places[name])

    reports_of = truths_of

    def of_column(self, name: str) -> Self:
        """The noise of the column alone."""
        return replace(self, columns=(name,), mechanism=self.mechanism.view(self._places[name]))

    def channels_of(self, *chosen: str) -> Mapping[str, FiniteMechanism]:  # noqa: ARG002  # never any
        """None: there is no end of possible reports."""
        return {}

    def encode(self, name: str, cells: pa.Array, *, text: bool = False) -> Cells:
        """The numbers; those outside are refused, or moved to the bounds and counted. Reports must be on the grid."""
        if self.collected:
            codes, missing, _ = read = super().encode(name, cells, text=text)
            self.check_codes(name, codes if missing is None else np.where(missing, 0.0, codes))
            return read
        if not self.clip:
            return super().encode(name, cells, text=text)
        box = self.truths_of(name)
        numbers, missing = box.numbers(box.parse(cells) if text else cells)
        self._refuse_missing(missing, box)
        clipped, moved = box.clip(numbers)
        return Cells(clipped[:, 0], missing, moved)

    def clipped_to(self, name: str) -> tuple[float, float] | None:
        """The bounds of the column, if ``clip`` says so and the numbers were not randomised by the respondents."""
        box = self.truths_of(name)
        return (box.low[0], box.high[0]) if self.clip and not self.collected else None

    def _stand_in(self, place: int) -> float:
        return self.domain.low[place]

    def check_codes(self, name: str, codes: NDArray[Any]) -> None:
        """Numbers with noise are multiples of the public grid, inside the box or not."""
        grid = self.mechanism.grid[self._places[name]]
        steps = codes / grid  # exact: a power of 2
        possible = np.isfinite(steps) & (steps == np.rint(steps))
        if not possible.all():
            row = int(np.flatnonzero(~possible)[0])
            raise DomainError(
                "the number is no report of this mechanism", column=name, row=row, expected=f"a multiple of {grid!r}"
            )

    @property
    def _drawn_earlier(self) -> bool:
        return self.mechanism.sampling != "exact"

    @property
    def delta_precision(self) -> tuple[float, float]:
        """δ is the upper end of an enclosure; noise that an earlier version drew kept a little back."""
        return RELATIVE, _EARLIER if self._drawn_earlier else 0.0

    def omissions(self) -> Mapping[str, str]:
        """What manifests said of noise drawn with 52 bits, against what is known today."""
        if not self._drawn_earlier:
            return {}
        found = (
            f"drawn by an earlier version, with 52 bits: δ is at most {self.realised().delta:.6g}, finite precision "
            f"included; {self.guarantee.delta:.6g} is stated"
        )
        if self.mechanism.zero_probability > 0:
            found += (
                "; no grid hides which records are exact: of the reports inside the box about "
                f"{100 * self.mechanism.truths_inside:.0f} % are the truth, if truths are spread evenly over it"
            )
        return {"noise": found}

    def to_dict(self) -> dict[str, Any]:
        """Plain data; for whoever reads the manifest, how likely a report in the box is the truth."""
        data = ({"clip": True} if self.clip else {}) | self._common(self.domain)
        if self.mechanism.zero_probability > 0:
            data["truths_inside"] = round(self.mechanism.truths_inside, 4)
        return data

    @classmethod
    def _own_fields(cls, data: Mapping[str, Any]) -> dict[str, Any]:
        mechanism = ZeroInflatedLaplace.from_dict(mapping(data["mechanism"], "a mechanism"))
        if stored_domain(data.get("domain")) != mechanism.box:
            raise ManifestError("the manifest is damaged: the box of a block is not the one of its mechanism")
        return {"mechanism": mechanism, "clip": data.get("clip", False) is True}

    def _remarks(self) -> list[str]:
        return super()._remarks() + (["numbers outside were moved to the bounds"] if self.clip else [])

    def _method(self) -> str:
        return f"numbers within bounds, {self.mechanism.title}"
