"""What every result has: figures with their errors, and every way of showing them.

A result describes its rows once (:class:`~discreet.estimate.reporting.table.ResultTable`); text, HTML, Markdown, LaTeX
and data frames are made from that description. ``level`` is always the confidence of each interval on its own, except
where the method is "simultaneous": then it is that of all together.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.reporting import display
from discreet.estimate.reporting.table import Axis, Column, Ends, ResultTable, interval_heading
from discreet.plain_text import one_line
from discreet.plots import Series, plot_forest
from discreet.plots.forest import MAX_SHOWN

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from matplotlib.axes import Axes


def forest_of(
    table: ResultTable, axis: Axis, *, ax: Axes | None, title: str | None, labels: Sequence[str] | None = None
) -> Axes:
    """Draw the rows of a table: estimates with their intervals, or ranges, of which there may be two."""
    if table.more:
        raise EstimationError(
            f"a picture shows at most {MAX_SHOWN} quantities, and there are {' and '.join(table.more)}; "
            "draw the most frequent values, result.top(20).plot(), or one group"
        )
    words = [column for column in table.columns if column.text]
    rows = range(table.rows)
    if labels is None:
        labels = [" · ".join(column.cell(row) for column in words) for row in rows]
    ends = [column for column in table.columns if isinstance(column, Ends)]
    if len(ends) == 1:
        found = [column for column in table.columns if isinstance(column, Column) and column.name == "estimate"]
        series = [Series(ends[0].title, np.asarray(found[0].values, float), np.asarray(ends[0].bounds, float))]
    else:  # no point of a range is better than another
        nowhere = np.full(table.rows, np.nan)
        series = [Series(one.title, nowhere, np.asarray(one.bounds, float), "") for one in ends]
    title = table.title if title is None else title
    return plot_forest(labels, series, ax=ax, title=title, **axis._asdict())


#: A representation fits on two lines of a terminal.
_LONGEST = 200
#: Of which the heading takes at most this much, and one label this much.
_HEADING, _LABEL = 110, 24
#: Quantities that a representation may name.
_NAMED = 6


#: What there is one of for every group.
Part = TypeVar("Part", bound=Any)


class Shown(ABC):
    """Something that is shown as a table, whether or not it is an estimate."""

    @abstractmethod
    def _page(self) -> ResultTable:
        """The rows that a reader is shown."""

    def heading(self) -> str:
        """What was computed, from what."""
        return self._page().title

    def _figures(self) -> Iterable[str]:
        """The main numbers, for a short representation."""
        return ()

    def summary(self) -> str:
        """A table to read."""
        return self._page().text()

    def to_frame(self) -> pd.DataFrame:
        """A pandas data frame."""
        return self._page().frame()

    def to_arrow(self) -> pa.Table:
        """An Arrow table: what polars (``polars.from_arrow``), DuckDB and others read."""
        return self._page().arrow()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The Arrow PyCapsule interface, by which data frames of every library take the table."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def to_markdown(self) -> str:
        """A table in Markdown."""
        return self._page().markdown()

    def to_latex(self) -> str:
        """A table in LaTeX, for the package booktabs."""
        return self._page().latex()

    def _repr_html_(self) -> str:
        return self._page().html()

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        text = f"<{_cut(self.heading(), _HEADING)}"
        figures = list(islice(self._figures(), _NAMED + 1))
        for place, figure in enumerate(figures):
            more = f"{': ' if place == 0 else ', '}{figure}"
            if place == _NAMED or len(text) + len(more) > _LONGEST - 4:
                return f"{text}, …>"
            text += more
        return text + ">"


class Result(Shown):
    """Estimates of one or several quantities, with their errors.

    Attributes
    ----------
    estimate, std_error : array
        One number per quantity; tables and groups keep their shape.
    covariance : array
    """

    if TYPE_CHECKING:  # fields of some results and computed by others

        @property
        def estimate(self) -> Floats:
            """One number per quantity."""

        @property
        def std_error(self) -> Floats:
            """Standard errors."""

        @property
        def covariance(self) -> Floats:
            """Covariance matrix."""

    @abstractmethod
    def interval(self, level: float = 0.95, method: str | None = None) -> Floats:
        """Confidence intervals, one (low, high) row per quantity."""

    @abstractmethod
    def _table(self, level: float, method: str | None, most: int | None) -> ResultTable:
        """The rows, not more than ``most`` where it is given."""

    @abstractmethod
    def to_dict(self, level: float = 0.95, method: str | None = None) -> dict[str, Any]:
        """Plain data, ready for JSON, with the intervals at this level."""

    def _labels(self) -> Iterable[Any]:
        """What each quantity is called, in the order of ``estimate``."""
        return ()

    def _page(self) -> ResultTable:
        return self._table(0.95, None, display.SHOWN)

    def _figures(self) -> Iterable[str]:
        numbers = zip(np.ravel(self.estimate), np.ravel(self.std_error), strict=True)
        for label, (value, error) in zip(self._labels(), numbers, strict=False):
            name = _cut(display.label_text(label), _LABEL)
            yield f"{name} {self._write(value)} ({self._write_error(error)})".lstrip()

    def _write(self, value: float) -> str:
        """A figure as text."""
        return display.number(value)

    def _write_error(self, value: float) -> str:
        """A standard error as text."""
        return self._write(value)

    def summary(self, level: float = 0.95, method: str | None = None) -> str:
        """A table to read: what each quantity is, estimate, standard error, interval, and the notes."""
        return self._table(level, method, display.SHOWN).text()

    def to_frame(self, level: float = 0.95, method: str | None = None) -> pd.DataFrame:
        """A pandas data frame, one row per quantity: labels, estimate, std_error, low and high."""
        return self._table(level, method, None).frame()

    def to_arrow(self, level: float = 0.95, method: str | None = None) -> pa.Table:
        """An Arrow table with the columns of :meth:`to_frame`: what polars, DuckDB and others read."""
        return self._table(level, method, None).arrow()

    def plot(
        self, ax: Axes | None = None, *, level: float = 0.95, method: str | None = None, title: str | None = None
    ) -> Axes:
        """Draw every estimate with its interval.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        level, method
            Of the intervals, as in :meth:`interval`.
        title : str, optional
            Above the picture; the heading of the result by default.

        Returns
        -------
        Axes
            :func:`discreet.plots.save_picture` writes its figure to a file.
        """
        table = self._table(level, method, MAX_SHOWN)
        return forest_of(table, self._axis(), ax=ax, title=title, labels=self._picture_labels())

    def _picture_labels(self) -> list[str] | None:
        """What stands beside the lines of a picture; the words of the table by default."""
        return None

    def _axis(self) -> Axis:
        """What a picture of the estimates shows."""
        return Axis()

    def to_markdown(self, level: float = 0.95, method: str | None = None) -> str:
        """The table in Markdown, all rows."""
        return self._table(level, method, None).markdown()

    def to_latex(self, level: float = 0.95, method: str | None = None) -> str:
        """The table in LaTeX, all rows, for the package booktabs."""
        return self._table(level, method, None).latex()


class Listed(Result):
    """A result with one row per quantity: its table and its plain data follow from what describes the rows."""

    if TYPE_CHECKING:

        @property
        def notes(self) -> tuple[str, ...]:
            """What a reader should know."""

    #: What its rows are, in the plural, where some are left out; how many of them there are for each that is allowed.
    _rows_named, _rows_allowed = "values", 1
    #: What stands above the estimates, if not "estimate"; whether figures are measured in units.
    _estimate_heading: str | None = None
    _measured = False

    @property
    def default_interval(self) -> str:
        """The interval method that is used unless another is named."""
        return "wald"

    @abstractmethod
    def _label_columns(self, shown: int) -> Sequence[Column]:
        """The columns that say what the first rows are."""

    @abstractmethod
    def _described(self) -> dict[str, Any]:
        """What plain data says about the result before its figures."""

    def _more_columns(self, shown: int) -> Sequence[Column]:
        """Columns between the standard errors and the intervals."""
        del shown
        return ()

    def _more_data(self) -> dict[str, Any]:
        """The same in plain data."""
        return {}

    def _empty(self, bounds: Floats) -> NDArray[np.bool_] | None:
        """Which intervals are empty, since the reports contradict the design."""
        del bounds
        return None

    @property
    def _named_value(self) -> Callable[[float], str] | None:
        """How estimates are written, where they are not figures like others."""
        return None

    def _table(self, level: float, method: str | None, most: int | None) -> ResultTable:
        total = self.estimate.size
        shown = total if most is None else min(total, self._rows_allowed * most)
        bounds = self.interval(level, method)[:shown]
        left_out, named = total - shown, self._named_value
        heading = interval_heading(level, self.default_interval if method is None else method)
        return ResultTable(
            title=self.heading(),
            columns=(
                *self._label_columns(shown),
                Column("estimate", self.estimate[:shown], self._estimate_heading, named),
                Column("std_error", self.std_error[:shown], "std. error"),
                *self._more_columns(shown),
                Ends(heading, bounds, write=named, empty=self._empty(bounds)),
            ),
            rows=shown,
            more=(f"{left_out:,} more {self._rows_named}".rstrip(),) if left_out else (),
            notes=self.notes,
            measured=self._measured,
        )

    def to_dict(self, level: float = 0.95, method: str | None = None) -> dict[str, Any]:
        """Plain data, ready for JSON: one list per quantity."""
        chosen = self.default_interval if method is None else method
        return {
            **self._described(),
            "estimate": display.plain(self.estimate),
            "std_error": display.plain(self.std_error),
            **self._more_data(),
            "interval": written_interval(self.interval(level, method), level, chosen),
            "notes": list(self.notes),
        }


class Grouped(Result, Mapping[Any, Part], Generic[Part]):
    """One result per group, in the order of the group labels."""

    results: Mapping[Any, Part]
    by: str | tuple[str | None, ...] | None
    notes: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.results:
            raise EstimationError("there are no reports to estimate from (n = 0)")
        object.__setattr__(self, "results", MappingProxyType(dict(self.results)))

    def __getitem__(self, group: Any) -> Part:
        return self.results[group]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    @property
    def groups(self) -> list[Any]:
        """The group labels."""
        return list(self.results)

    @property
    def n(self) -> NDArray[np.int64]:
        """Number of reports in each group."""
        return np.array([result.n for result in self.results.values()])

    @property
    def _first(self) -> Part:
        return next(iter(self.results.values()))

    def _told(self) -> tuple[str, ...]:
        """The notes, those of all groups once."""
        own: list[str] = [note for result in self.results.values() for note in result.notes]
        return tuple(dict.fromkeys((*self.notes, *own)))


def written_interval(bounds: Floats, level: float, method: str) -> dict[str, Any]:
    """Intervals as plain data: level, method, and both ends."""
    return {
        "level": level,
        "method": method,
        "low": display.plain(bounds[..., 0]),
        "high": display.plain(bounds[..., 1]),
    }


def frozen(values: Any) -> Floats:
    """The same numbers, never to change."""
    array = np.asarray(values)
    array.flags.writeable = False
    return array


def _cut(text: str, length: int) -> str:
    line = one_line(text)
    return line if len(line) <= length else line[: length - 1] + "…"
