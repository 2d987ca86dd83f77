"""A text column that holds numbers but for a few cells: as a category every number would be a level of its own."""

from __future__ import annotations

from typing import Any

from discreet import arrow_functions as pc
from discreet.errors import EstimationError

#: Text that a person reads as a number.
_NUMBER = r"^\s*[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?\s*$"


class MixedText:
    """Counts the cells of a text column that are numbers and those that are not; missing ones do not count."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._numbers = self._texts = 0

    def add(self, cells: Any) -> None:
        """One batch."""
        counted = cells.drop_null().value_counts()
        values, times = counted.field("values"), counted.field("counts")
        numbers = pc.sum(times.filter(pc.match_substring_regex(values, _NUMBER))).as_py() or 0
        self._numbers += numbers
        self._texts += (pc.sum(times).as_py() or 0) - numbers

    def refuse_numbers_with_text(self) -> None:
        """Refuse a column most of whose cells are numbers; the other cells are counted, never shown."""
        if self._numbers > self._texts > 0:
            cells = "1 cell is" if self._texts == 1 else f"{self._texts:,} cells are"
            raise EstimationError(
                f'column "{self._name}" of the formula holds numbers, but {cells} text; declare the text that means '
                f"missing (missing_values in the plan), or write C({self._name}) to take every value for a category"
            )
