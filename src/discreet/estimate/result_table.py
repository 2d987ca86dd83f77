"""The rows of a result, described once and shown in every way: text, HTML, Markdown, LaTeX, a data frame."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate import display
from discreet.plain_text import one_line

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


#: What LaTeX reads as a command, and what prints it.
_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{sign: f"\\{sign}" for sign in "&%$#_"},
}


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
    write : callable
        An entry as text.
    text : bool
        Whether it holds words, which are set to the left.
    """

    name: str
    values: Sequence[Any] | NDArray[Any]
    heading: str | None = None
    write: Callable[[Any], str] = display.number
    text: bool = False

    @property
    def title(self) -> str:
        """Above the column where people read it."""
        return self.name if self.heading is None else self.heading

    def cell(self, row: int) -> str:
        """One entry as text."""
        return self.write(self.values[row])

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
    write : callable
        An end as text.
    empty : array of bool, optional
        Rows that no value is left for: the reports contradict the design.
    """

    heading: str
    bounds: Floats
    names: tuple[str, str] = ("low", "high")
    write: Callable[[float], str] = display.number
    empty: NDArray[np.bool_] | None = None
    text: bool = False

    @property
    def title(self) -> str:
        """Above the column where people read it."""
        return self.heading

    def cell(self, row: int) -> str:
        """One interval as text."""
        gone = self.empty is not None and bool(self.empty[row])
        return display.ends(self.bounds[row, 0], self.bounds[row, 1], empty=gone, write=self.write)

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
    """

    title: str
    columns: tuple[Column | Ends, ...]
    rows: int
    more: tuple[str, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()

    def cells(self) -> list[list[str]]:
        """Every row as text."""
        return [[column.cell(row) for column in self.columns] for row in range(self.rows)]

    def text(self) -> str:
        """For a terminal."""
        header = [column.title for column in self.columns]
        words = sum(column.text for column in self.columns)
        lines = [self.title, "", display.aligned(header, self.cells(), text_columns=words)]
        lines += [f"… and {what}" for what in self.more]
        lines += [f"{name}: {text}" for name, text in self.facts]
        return "\n".join([*lines, *(f"Note: {note}." for note in self.notes)])

    def html(self) -> str:
        """For a notebook; everything that came from elsewhere is escaped."""
        style = [
            "text-align:" + ("left" if column.text else "right") + ";padding:0.2em 0.6em" for column in self.columns
        ]

        def line(tag: str, cells: Sequence[str]) -> str:
            pairs = zip(style, cells, strict=True)
            return "<tr>" + "".join(f'<{tag} style="{s}">{escape(cell)}</{tag}>' for s, cell in pairs) + "</tr>"

        head = line("th", [column.title for column in self.columns])
        body = "".join(line("td", row) for row in self.cells())
        said = [" · ".join(f"{name}: {text}" for name, text in self.facts)] if self.facts else []
        said += [f"… and {what}" for what in self.more] + [f"Note: {note}." for note in self.notes]
        below = "".join(f"<p>{escape(one)}</p>" for one in said)
        caption = f'<caption style="text-align:left;white-space:nowrap">{escape(self.title)}</caption>'
        return f"<div><table>{caption}<thead>{head}</thead><tbody>{body}</tbody></table>{below}</div>"

    def markdown(self) -> str:
        """A pipe table, as in GitHub's Markdown."""

        def line(cells: Sequence[str]) -> str:
            return "| " + " | ".join(one_line(cell).replace("|", "\\|") for cell in cells) + " |"

        rule = ["---" if column.text else "---:" for column in self.columns]
        return "\n".join([line([c.title for c in self.columns]), line(rule), *map(line, self.cells())])

    def latex(self) -> str:
        """A tabular for the package booktabs."""

        def line(cells: Sequence[str]) -> str:
            safe = ("".join(_LATEX.get(sign, sign) for sign in one_line(cell)) for cell in cells)
            return " & ".join(safe) + r" \\"

        sides = "".join("l" if column.text else "r" for column in self.columns)
        head = line([column.title for column in self.columns])
        body = [r"\toprule", head, r"\midrule", *map(line, self.cells()), r"\bottomrule"]
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


def _listed(values: Sequence[Any] | NDArray[Any]) -> list[Any]:
    return list(values.tolist()) if isinstance(values, np.ndarray) else list(values)
