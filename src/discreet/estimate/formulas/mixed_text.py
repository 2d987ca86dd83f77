"""A text column that holds numbers but for a few cells: as a category every number would be a level of its own."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from discreet import arrow_functions as pc
from discreet.arguments import Floats
from discreet.errors import EstimationError

#: Text that a person reads as a number.
_NUMBER = r"^\s*[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?\s*$"


class MixedText:
    """Counts the cells of a text column that are numbers and those that are not; missing ones do not count."""

    def __init__(self, numbers: int = 0, texts: int = 0) -> None:
        self._numbers, self._texts = numbers, texts

    @classmethod
    def of(cls, cells: pa.Array, times: Floats | None) -> MixedText:
        """Of some cells, each so many times."""
        found = cells.dictionary_encode()
        there = found.indices.is_valid().to_numpy(zero_copy_only=False)
        codes = found.indices.drop_null().to_numpy()
        counts = np.bincount(codes, None if times is None else times[there], len(found.dictionary))
        number = pc.match_substring_regex(found.dictionary, _NUMBER).to_numpy(zero_copy_only=False).astype(bool)
        return cls(round(counts[number].sum()), round(counts[~number].sum()))

    def __add__(self, other: MixedText) -> MixedText:
        return MixedText(self._numbers + other._numbers, self._texts + other._texts)

    def refuse_numbers_with_text(self, name: str) -> None:
        """Refuse a column most of whose cells are numbers; the other cells are counted, never shown."""
        if self._numbers > self._texts > 0:
            cells = "1 cell is" if self._texts == 1 else f"{self._texts:,} cells are"
            raise EstimationError(
                f'column "{name}" of the formula holds numbers, but {cells} text; declare the text that means '
                f"missing (missing_values in the plan), or write C({name}) to take every value for a category"
            )
