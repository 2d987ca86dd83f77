"""What is known about the population: totals of categories, of combinations of categories, and of numbers.

Every total is one auxiliary number x of a person: 1 in a category and 0 outside it, the number itself, or 1 for
everybody where the number of people is known. A number whose total is known together with the number of people is
taken less its mean in the population, which changes nothing and keeps its figures.

What calibration needs to know of a sample: which auxiliary numbers occur, and the weights that they carry.

People in the same categories are alike and are put together; where a total is of numbers every row stands for itself.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import arguments
from discreet.arguments import Floats
from discreet.blocks import design_name
from discreet.errors import Argument, EstimationError
from discreet.estimate.data.checks import row_of
from discreet.estimate.data.columns import as_numbers
from discreet.estimate.data.label_codes import LabelIndex
from discreet.estimate.data.map_reduce import Source, summed
from discreet.estimate.data.rows import Batch

Ints = NDArray[np.int64]
Read = Callable[[str], Any]

#: Totals of one population that differ by more than this share contradict each other.
_AGREE = 1e-6
#: Constraints of one calibration.
_MOST = 2_000


class Margin(ABC):
    """One or several totals that come from the same columns."""

    columns: tuple[str, ...]

    @property
    @abstractmethod
    def totals(self) -> Floats:
        """What the weights have to add up to."""

    @property
    @abstractmethod
    def labels(self) -> list[str]:
        """What each total is of."""

    @property
    def people(self) -> float | None:
        """The number of people, where these totals say it."""
        return None

    @abstractmethod
    def coded(self, read: Read, first_row: int) -> NDArray[Any]:
        """One code or number of every row."""

    @abstractmethod
    def auxiliary(self, coded: NDArray[Any]) -> Floats:
        """The auxiliary numbers x of rows that were coded."""


@dataclass(frozen=True, eq=False)
class Categories(Margin):
    """How many people there are in every category of a column, or in every combination of several."""

    columns: tuple[str, ...]
    counts: Mapping[tuple[str, ...], float]

    @property
    def _name(self) -> str:
        return " and ".join(f'"{column}"' for column in self.columns)

    @property
    def totals(self) -> Floats:
        """In the order in which they were given."""
        return np.array(list(self.counts.values()), float)

    @property
    def labels(self) -> list[str]:
        """Column and category."""
        name = ", ".join(self.columns)
        return [f"{name}: {', '.join(category)}" for category in self.counts]

    @property
    def people(self) -> float:
        """Everybody is in one category."""
        return math.fsum(self.counts.values())

    @cached_property
    def _places(self) -> dict[tuple[str, ...], int]:
        return {category: place for place, category in enumerate(self.counts)}

    def coded(self, read: Read, first_row: int) -> Ints:
        """The place of every row's category among the totals."""
        found: list[Ints] = []
        names: list[list[str]] = []
        for column in self.columns:
            index = LabelIndex(f'column "{column}"')
            found.append(index.encode(read(column), first_row))
            names.append([_text(label) for label in index.labels])
        if not found[0].size:
            return np.zeros(0, np.int64)
        rows, back = np.unique(np.stack(found, axis=1), axis=0, return_inverse=True)
        categories = [tuple(name[code] for name, code in zip(names, row, strict=True)) for row in rows]
        places = np.array([self._places.get(category, -1) for category in categories])
        if (places < 0).any():
            unknown = ", ".join(categories[int(np.flatnonzero(places < 0)[0])])
            raise EstimationError(
                Argument("totals"),
                f': {self._name} has the category "{unknown}", of which no total is given; add it, or leave '
                "out its rows",
            )
        return np.asarray(places[back.ravel()])

    def auxiliary(self, coded: NDArray[Any]) -> Floats:
        """One indicator per category."""
        return np.asarray(coded[:, None] == np.arange(len(self.counts)), float)


@dataclass(frozen=True, eq=False)
class Number(Margin):
    """The total of a column of numbers; its mean in the population is taken off where that is known."""

    column: str
    total: float
    mean: float = 0.0

    @property
    def columns(self) -> tuple[str, ...]:  # type: ignore[override]
        """One."""
        return (self.column,)

    @property
    def totals(self) -> Floats:
        """Nothing is left where the mean was taken off."""
        return np.array([0.0 if self.mean else self.total])

    @property
    def labels(self) -> list[str]:
        """The column."""
        return [self.column]

    def coded(self, read: Read, first_row: int) -> Floats:
        """The number of every row."""
        numbers = as_numbers(read(self.column), f'column "{self.column}"')
        if np.isnan(numbers).any():
            raise EstimationError(
                Argument("totals"),
                f': column "{self.column}", {row_of(np.isnan(numbers), first_row)} has no number; weights can '
                "be calibrated only to what is known of everybody",
            )
        return numbers

    def auxiliary(self, coded: NDArray[Any]) -> Floats:
        """The number, less the mean."""
        return np.asarray(coded[:, None] - self.mean, float)


@dataclass(frozen=True, eq=False)
class People(Margin):
    """The number of people in the population."""

    count: float
    columns: tuple[str, ...] = ()

    @property
    def totals(self) -> Floats:
        """One."""
        return np.array([self.count])

    @property
    def labels(self) -> list[str]:
        """Everybody."""
        return ["people"]

    @property
    def people(self) -> float:
        """It says nothing else."""
        return self.count

    def coded(self, read: Read, first_row: int) -> Floats:
        """Nothing is read."""
        del read, first_row
        return np.zeros(0)

    def auxiliary(self, coded: NDArray[Any]) -> Floats:
        """One for everybody."""
        return np.ones((len(coded), 1))


@dataclass(frozen=True, eq=False)
class Margins:
    """All totals of one calibration."""

    parts: tuple[Margin, ...]

    @property
    def columns(self) -> list[str]:
        """The public columns that are read."""
        return list(dict.fromkeys(column for part in self.parts for column in part.columns))

    @property
    def totals(self) -> Floats:
        """What the weights have to add up to, as the auxiliary numbers are taken."""
        return np.concatenate([part.totals for part in self.parts])

    @property
    def labels(self) -> list[str]:
        """What each total is of."""
        return [label for part in self.parts for label in part.labels]

    @property
    def people(self) -> float | None:
        """The number of people in the population, where the totals say it."""
        return next((part.people for part in self.parts if part.people is not None), None)

    @property
    def shifts(self) -> Floats:
        """What was taken off each auxiliary number."""
        return np.concatenate(
            [np.full(part.totals.size, part.mean if isinstance(part, Number) else 0.0) for part in self.parts]
        )

    @property
    def only_categories(self) -> bool:
        """Whether people in the same categories are alike."""
        return not any(isinstance(part, Number) for part in self.parts)

    def coded(self, read: Read, rows: int, first_row: int) -> Floats:
        """Codes and numbers of some rows, one column for each part."""
        found = [part.coded(read, first_row) if part.columns else np.zeros(rows) for part in self.parts]
        return np.column_stack(found).astype(float)

    def auxiliary(self, coded: Floats) -> Floats:
        """The auxiliary numbers x of rows that were coded."""
        return np.hstack([part.auxiliary(coded[:, place]) for place, part in enumerate(self.parts)])


def read_margins(totals: Any, people: Any = None) -> Margins:
    """The totals as a user gives them: a mapping from columns to totals, and how many people there are.

    Parameters
    ----------
    totals : mapping
        From a column to a mapping of its categories (a pandas Series will do), from several columns to one of tuples,
        or from a column of numbers to their total.
    people : float, optional
        The number of people.
    """
    if not hasattr(totals, "items"):
        raise EstimationError(
            Argument("totals"), ' must map public columns to what is known: {"region": {"north": 4000, …}}'
        )
    parts: list[Margin] = []
    for key, known in dict(totals.items()).items():
        columns = _columns(key)
        if hasattr(known, "items"):
            parts.append(Categories(columns, _counts(columns, known.items())))
        elif len(columns) > 1:
            raise EstimationError(
                Argument("totals"), f": {_named(columns)} need a total for every combination of their categories"
            )
        else:
            parts.append(Number(columns[0], arguments.number(known, f"totals: {_named(columns)}", EstimationError)))
    if people is not None:
        parts.append(People(arguments.number(people, "people", EstimationError, above=0)))
    if not parts:
        raise EstimationError(Argument("totals"), " are empty: there is nothing to calibrate to")
    _refuse_contradictions(parts)
    found = Margins(tuple(parts))
    if found.totals.size > _MOST:
        raise EstimationError(f"there are {found.totals.size:,} totals; weights are calibrated to {_MOST:,} at most")
    return found if found.people is None else Margins(_centred(parts, found.people))


def _columns(key: Any) -> tuple[str, ...]:
    names = key if isinstance(key, tuple) else (key,)
    found = tuple(arguments.text(name, "totals: a column", EstimationError) for name in names)
    if not found or len(set(found)) != len(found):
        raise EstimationError(Argument("totals"), ": name different columns")
    return found


def _named(columns: Sequence[str]) -> str:
    return " and ".join(f'"{column}"' for column in columns)


def _text(label: Any) -> str:
    """A category as it is known: by its text, whole numbers without a point."""
    return str(int(label)) if isinstance(label, float) and label.is_integer() else design_name(label)


def _counts(columns: tuple[str, ...], items: Iterable[tuple[Any, Any]]) -> dict[tuple[str, ...], float]:
    """The totals of categories, which are known by their text: a file may hold numbers as words."""
    counts: dict[tuple[str, ...], float] = {}
    for label, value in items:
        parts = label if isinstance(label, tuple) else (label,)
        if len(parts) != len(columns):
            raise EstimationError(
                f"totals: every category of {_named(columns)} must be a tuple of {len(columns)}, one entry per column"
                if len(columns) > 1
                else f"totals: the categories of {_named(columns)} must be single values"
            )
        category = tuple(_text(part.item() if isinstance(part, np.generic) else part) for part in parts)
        if category in counts:
            raise EstimationError(Argument("totals"), f': {_named(columns)} has two totals for "{", ".join(category)}"')
        name = f'totals: {_named(columns)}, "{", ".join(category)}"'
        counts[category] = arguments.number(value, name, EstimationError, least=0)
    if math.fsum(counts.values()) <= 0:
        raise EstimationError(Argument("totals"), f": those of {_named(columns)} add up to nothing")
    return counts


def _refuse_contradictions(parts: Sequence[Margin]) -> None:
    """All totals of categories are of the same people."""
    said = [part for part in parts if part.people is not None]
    for part in said[1:]:
        first, people = said[0].people, part.people
        assert first is not None
        assert people is not None
        if abs(people - first) > _AGREE * first:
            raise EstimationError(
                Argument("totals"),
                f": those of {_what(said[0])} add up to {first:,.6g} people and those of {_what(part)} to "
                f"{people:,.6g}; they must be of the same people: rescale one of them",
            )


def _what(part: Margin) -> str:
    return _named(part.columns) if part.columns else "people"


def _centred(parts: Sequence[Margin], people: float) -> tuple[Margin, ...]:
    """Numbers less their mean in the population."""
    return tuple(
        Number(part.column, part.total, part.total / people) if isinstance(part, Number) else part for part in parts
    )


#: Numbers that are held: codes and weights of rows that differ (2^27, 1 GB).
_MOST_NUMBERS = 1 << 27
#: Rows whose auxiliary numbers are written out at once.
_CHUNK = 1 << 15


@dataclass(frozen=True, eq=False)
class CalibrationSample:
    """Rows, or cells of rows that are alike.

    Attributes
    ----------
    margins : Margins
    coded : array (cells, parts)
        Codes and numbers, as margins take them.
    rows, weights, squares : array (cells,)
        How many rows a cell has, Σd and Σd².
    least, most : array (cells,)
        The smallest and the largest weight in it.
    """

    margins: Margins
    coded: Floats
    rows: Floats
    weights: Floats
    squares: Floats
    least: Floats
    most: Floats

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.rows.sum())

    def chunks(self) -> Iterator[tuple[slice, Floats]]:
        """Cells with their auxiliary numbers, some at a time."""
        for start in range(0, len(self.coded), _CHUNK):
            part = slice(start, start + _CHUNK)
            yield part, self.margins.auxiliary(self.coded[part])

    def totals(self, weights: Floats) -> Floats:
        """``Σ w x`` with one weight for each cell."""
        return np.asarray(sum((weights[part] @ x for part, x in self.chunks()), np.zeros(self.margins.totals.size)))

    def scaled(self, factor: float) -> CalibrationSample:
        """The same with all weights multiplied."""
        return CalibrationSample(
            self.margins,
            self.coded,
            self.rows,
            self.weights * factor,
            self.squares * factor**2,
            self.least * factor,
            self.most * factor,
        )


def read_sample(source: Source, margins: Margins) -> CalibrationSample:
    """Read all rows once: cells of people who are alike where the rows lie, rows that differ here."""
    reading = _Reading(margins)
    found = (summed(source, reading) if margins.only_categories else reading(source.chunks())).together()
    if not len(found[0]):
        raise EstimationError("there are no rows to calibrate (n = 0)")
    return CalibrationSample(margins, *found)


@dataclass(frozen=True, eq=False)
class _Cells:
    """Codes, numbers and weights of some rows, in pieces; those of different rows add up."""

    pieces: tuple[tuple[Floats, ...], ...]
    alike: bool

    def __add__(self, other: _Cells) -> _Cells:
        return _Cells((_Cells((*self.pieces, *other.pieces), self.alike).together(),), self.alike)

    def together(self) -> tuple[Floats, ...]:
        """All pieces as one; rows with the same codes are one cell where only categories count."""
        whole = tuple(np.concatenate(one) for one in zip(*self.pieces, strict=True))
        return _together(whole) if self.alike else whole


@dataclass(frozen=True, eq=False)
class _Reading:
    """The pass that reads them."""

    margins: Margins

    def __call__(self, batches: Iterator[Batch]) -> _Cells:
        alike = self.margins.only_categories
        found = [tuple(np.zeros((0, len(self.margins.parts)) if place == 0 else 0) for place in range(6))]
        held = 0
        for batch in batches:
            size = batch.codes.size
            coded = self.margins.coded(partial(_column, batch.table), size, batch.first_row)
            d = np.ones(size) if batch.weights is None else batch.weights
            part: tuple[Floats, ...] = (coded, np.ones(size), d, d * d, d, d)
            found.append(_together(part) if alike else part)
            held += found[-1][0].size + 5 * len(found[-1][0])
            if alike and len(found) > 64:
                found, held = [_Cells(tuple(found), alike).together()], 0
            if held > _MOST_NUMBERS:
                raise EstimationError(
                    "totals of numbers hold every row in memory, and this release has too many: use totals of bands"
                )
        return _Cells(tuple(found), alike)


def _column(table: Any, name: str) -> Any:
    return table[name].combine_chunks()


def _together(part: tuple[Floats, ...]) -> tuple[Floats, ...]:
    """Rows with the same codes as one cell."""
    coded, *_ = part
    if not len(coded):
        return part
    cells, back = np.unique(coded, axis=0, return_inverse=True)
    back = back.ravel()
    sums = [np.bincount(back, one, len(cells)) for one in part[1:4]]
    least, most = np.full(len(cells), np.inf), np.zeros(len(cells))
    np.minimum.at(least, back, part[4])
    np.maximum.at(most, back, part[5])
    return (cells, *sums, least, most)
