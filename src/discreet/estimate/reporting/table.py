"""The rows of a result, described once and shown in every way: text, HTML, Markdown, LaTeX, a data frame."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.reporting import display
from discreet.plain_text import one_line

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


#: What LaTeX reads as a command, or prints as another sign in its old encoding, and what prints it.
_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "∞": r"$\infty$",
    "ε": r"$\varepsilon$",
    "δ": r"$\delta$",
    "χ": r"$\chi$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "−": "$-$",
    **{sign: f"\\{sign}" for sign in "&%$#_"},
}
#: A hyphen before a figure is a minus.
_MINUS = re.compile(r"(?<![\w.])-(?=[\d∞])")


#: Below a table in which an estimate lies outside its interval.
_IMPOSSIBLE = (
    "an unbiased estimate can fall below 0 or above 1 by chance, and is left there so that sums stay right; its "
    "interval keeps to shares that are possible, and so does not hold it"
)
_APART = "an estimate outside its interval was found by another method than the interval, which is the one to go by"


class Axis(NamedTuple):
    """What the horizontal axis of a picture shows: numbers of what, the one that means no effect, shares or ratios."""

    quantity: str = ""
    reference: float | None = None
    percent: bool = False
    log: bool = False


#: Of every picture of frequencies.
SHARES = Axis("share", percent=True)


@dataclass(frozen=True)
class Column:
    """One column: labels, or figures.

    Parameters
    ----------
    name : str
        In a data frame.
    values : sequence
        One entry per row.
    heading : str, optional
        Above the column where people read it; the name by default.
    write : callable, optional
        An entry as text; a figure in the places of the table by default.
    text : bool
        Whether it holds words, which are set to the left.
    """

    name: str
    values: Sequence[Any] | NDArray[Any]
    heading: str | None = None
    write: Callable[[Any], str] | None = None
    text: bool = False

    @property
    def title(self) -> str:
        """Above the column where people read it."""
        return self.name if self.heading is None else self.heading

    def cell(self, row: int, places: int = 4) -> str:
        """One entry as text."""
        return display.figure(self.values[row], places) if self.write is None else self.write(self.values[row])

    def series(self) -> dict[str, list[Any]]:
        """The column as plain Python values, by its name in a data frame."""
        return {self.name: _listed(self.values)}


def labels(name: str, values: Sequence[Any]) -> Column:
    """A column of labels."""
    return Column(name, values, write=display.label_text, text=True)


@dataclass(frozen=True)
class Ends:
    """A column of intervals: one where people read it, two in a data frame.

    Parameters
    ----------
    heading : str
        What the interval is.
    bounds : array (rows, 2)
    names : tuple of str
        Of the two columns of a data frame.
    write : callable, optional
        An end as text; a figure in the places of the table by default.
    empty : array of bool, optional
        Rows that no value is left for: the reports contradict the design.
    """

    heading: str
    bounds: Floats
    names: tuple[str, str] = ("low", "high")
    write: Callable[[float], str] | None = None
    empty: NDArray[np.bool_] | None = None
    text: bool = False

    @property
    def title(self) -> str:
        """Above the column where people read it."""
        return self.heading

    def cell(self, row: int, places: int = 4) -> str:
        """One interval as text."""
        gone = self.empty is not None and bool(self.empty[row])
        write = partial(display.figure, places=places) if self.write is None else self.write
        return display.ends(self.bounds[row, 0], self.bounds[row, 1], empty=gone, write=write)

    def series(self) -> dict[str, list[Any]]:
        """Both ends, by their names in a data frame."""
        return {name: _listed(self.bounds[:, end]) for end, name in enumerate(self.names)}


def group_columns(groups: Sequence[Any], by: str | tuple[str | None, ...] | None) -> list[Column]:
    """The columns of a table that say which group a row is about, one for each column of ``by``."""
    if not isinstance(by, tuple):
        return [labels(by or "group", groups)]
    return [
        labels(name or ("group" if len(by) == 1 else f"group {place + 1}"), [group[place] for group in groups])
        for place, name in enumerate(by)
    ]


def interval_heading(level: float, method: str | None) -> str:
    """Such as ``95 % interval (wilson)``: a reader always sees what was used."""
    return f"{display.percent(level)} interval" + (f" ({method})" if method else "")


@dataclass(frozen=True, kw_only=True)
class ResultTable:
    """A result as rows and columns.

    Parameters
    ----------
    title : str
        What was estimated, from what.
    columns : tuple of Column or Ends
        All with the same number of rows.
    rows : int
    more : tuple of str
        What is not shown, such as "3 more values".
    facts : tuple of (str, str)
        Of a fit, or tests that go with it: name and text.
    notes : tuple of str
        What a reader should know.
    measured : bool
        Whether figures are in units of their own, and not shares: which places they are written to.
    folded : bool
        Whether a text that is too wide for a terminal goes on below, with its labels again.
    ruled : int, optional
        The row above which a line is drawn, between estimates and what belongs to a whole column.
    legend : str
        What signs in the cells mean; stands below the table in print too.
    """

    title: str
    columns: tuple[Column | Ends, ...]
    rows: int
    more: tuple[str, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    measured: bool = False
    folded: bool = False
    ruled: int | None = None
    legend: str = ""

    def cells(self) -> list[list[str]]:
        """Every row as text; figures of one table have the same places."""
        places = self._places()
        return [[column.cell(row, places) for column in self.columns] for row in range(self.rows)]

    def _places(self) -> int:
        errors = self._column("std_error")
        values = self._column("estimate")
        known = [] if errors is None else errors.values
        return (
            display.measured_places(known, [] if values is None else values.values)
            if self.measured
            else (display.share_places(known))
        )

    def _column(self, name: str) -> Column | None:
        found = (one for one in self.columns if isinstance(one, Column) and one.name == name and one.write is None)
        return next(found, None)

    def said(self) -> list[str]:
        """What stands below the rows: what is left out, what goes with them, and what a reader should know."""
        lines = [f"… and {what}" for what in self.more]
        lines += [f"{name}: {text}" for name, text in self.facts]
        return [*lines, *(f"Note: {note}." for note in (*filter(None, [self.legend]), *self.notes, *self._beside()))]

    def _beside(self) -> tuple[str, ...]:
        """Why an estimate lies outside its interval, where one does."""
        points = self._column("estimate")
        ends = [one for one in self.columns if isinstance(one, Ends) and one.names == ("low", "high")]
        if points is None or not ends or self.rows == 0:
            return ()
        value, bounds = np.asarray(points.values, float), np.asarray(ends[0].bounds, float)
        outside = (value < bounds[:, 0]) | (value > bounds[:, 1])  # false where an end is not known
        impossible = outside & ((value < 0) | (value > 1))
        if not outside.any():
            return ()
        if impossible.any() and not self.measured:
            return (_IMPOSSIBLE,)
        return (_APART,)

    def text(self) -> str:
        """For a terminal."""
        header = [column.title for column in self.columns]
        words = sum(column.text for column in self.columns)
        width = display.WIDTH if self.folded else None
        table = display.aligned(header, self.cells(), text_columns=words, width=width)
        if self.ruled is not None:
            lines = table.splitlines()
            lines.insert(self.ruled + 1, "-" * max(map(len, lines)))
            table = "\n".join(lines)
        return "\n".join([self.title, "", table, *self.said()])

    def html(self) -> str:
        """For a notebook; everything that came from elsewhere is escaped."""
        style = [
            "text-align:" + ("left" if column.text else "right") + ";padding:0.2em 0.6em" for column in self.columns
        ]

        def line(tag: str, cells: Sequence[str]) -> str:
            pairs = zip(style, cells, strict=True)
            return "<tr>" + "".join(f'<{tag} style="{s}">{escape(cell)}</{tag}>' for s, cell in pairs) + "</tr>"

        head = line("th", [column.title for column in self.columns])
        rows = [line("td", row) for row in self.cells()]
        if self.ruled is not None:
            rows.insert(self.ruled, "</tbody><tbody>")
        body = "".join(rows)
        below = "".join(f"<p>{escape(one)}</p>" for one in self._below())
        caption = f'<caption style="text-align:left;white-space:nowrap">{escape(self.title)}</caption>'
        table = f"<table>{caption}<thead>{head}</thead><tbody>{body}</tbody></table>"
        return f'<div style="overflow-x:auto">{table}{below}</div>'

    def _below(self) -> list[str]:
        """What is said, in paragraphs: the facts of a fit are one."""
        facts = [f"{name}: {text}" for name, text in self.facts]
        others = [line for line in self.said() if line not in facts]
        return [" · ".join(facts), *others] if facts else others

    def markdown(self) -> str:
        """A pipe table, as in GitHub's Markdown."""

        def line(cells: Sequence[str]) -> str:
            return "| " + " | ".join(one_line(cell).replace("|", "\\|") for cell in cells) + " |"

        rule = ["---" if column.text else "---:" for column in self.columns]
        return "\n".join([line([c.title for c in self.columns]), line(rule), *map(line, self.cells())])

    def latex(self) -> str:
        """A tabular for the package booktabs."""

        def line(cells: Sequence[str]) -> str:
            first, *others = map(_in_latex, cells)
            # A bracket at the start of a line would be an option of the line above.
            first = f"{{{first[0]}}}{first[1:]}" if first.startswith(("[", "*")) else first
            return " & ".join([first, *others]) + r" \\"

        def figures(row: Sequence[str]) -> list[str]:
            pairs = zip(row, self.columns, strict=True)
            return [cell if column.text else _MINUS.sub("−", cell) for cell, column in pairs]

        sides = "".join("l" if column.text else "r" for column in self.columns)
        head = line([column.title for column in self.columns])
        rows = [line(figures(row)) for row in self.cells()]
        if self.ruled is not None:
            rows.insert(self.ruled, r"\midrule")
        body = [r"\toprule", head, r"\midrule", *rows, r"\bottomrule"]
        if self.legend:
            said = _in_latex(f"{self.legend[:1].upper()}{self.legend[1:]}.")
            body.append(rf"\multicolumn{{{len(sides)}}}{{l}}{{\footnotesize {said}}} \\")
        return "\n".join([rf"\begin{{tabular}}{{{sides}}}", *body, r"\end{tabular}"])

    def frame(self) -> pd.DataFrame:
        """A data frame, one row per quantity; pandas is loaded here and nowhere else."""
        try:
            import pandas as pd
        except ImportError:
            raise EstimationError("a data frame needs pandas (pip install pandas); to_dict() needs nothing") from None
        return pd.DataFrame(self._series())

    def arrow(self) -> pa.Table:
        """An Arrow table, one row per quantity; labels of several types become text."""
        import pyarrow as pa

        columns = {}
        for name, values in self._series().items():
            try:
                columns[name] = pa.array(values)
            except (pa.ArrowInvalid, pa.ArrowTypeError):
                columns[name] = pa.array([None if value is None else str(value) for value in values])
        return pa.table(columns)

    def _series(self) -> dict[str, list[Any]]:
        return {name: values for column in self.columns for name, values in column.series().items()}


def _in_latex(text: str) -> str:
    """A text as LaTeX prints it."""
    return "".join(_LATEX.get(sign, sign) for sign in one_line(text))


def _listed(values: Sequence[Any] | NDArray[Any]) -> list[Any]:
    return list(values.tolist()) if isinstance(values, np.ndarray) else list(values)
