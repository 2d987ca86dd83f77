"""What every reproduction shares: comparisons with the paper, checked claims, tables, figures, Monte Carlo errors.

An experiment declares its problem, runs, and hands its tables to a :class:`Report`, which prints them, writes
each as CSV into ``results/<paper>/`` and remembers whether anything came out otherwise than it should.
"""

from __future__ import annotations

import argparse
import csv
import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
#: Monte Carlo results may be this many standard errors away: p < 1e-6 for a normal error.
SIGMAS = 5.0


@dataclass(frozen=True)
class Comparison:
    """A printed number beside ours.

    Attributes
    ----------
    quantity : str
        What it is, and for which case.
    paper : str
        The number as printed, so that its precision is known: "0.243" is good to 0.0005, "15/16" is exact.
    ours : float
        Computed here.
    erratum : str
        Why the printed number is wrong, when that has been proven (see docs/errata.md).
    error : float
        Monte Carlo standard error of ours; zero when it is not simulated.
    """

    quantity: str
    paper: str
    ours: float
    erratum: str = ""
    error: float = 0.0

    @property
    def difference(self) -> float:
        """Ours minus the paper's."""
        return self.ours - float(Fraction(self.paper))

    @property
    def tolerance(self) -> float:
        """Half a unit in the last printed place, and the Monte Carlo error."""
        decimals = self.paper.partition(".")[2]
        rounding = 0.0 if "/" in self.paper else 0.5 * 10.0 ** -len(decimals)
        return rounding + SIGMAS * self.error + 1e-9 * abs(self.ours)

    @property
    def agrees(self) -> bool:
        """Whether the difference is what rounding and simulation explain."""
        return abs(self.difference) <= self.tolerance

    @property
    def verdict(self) -> str:
        """Agrees, a known erratum, or an open difference."""
        if self.agrees:
            return "agrees"
        return f"erratum: {self.erratum}" if self.erratum else "DIFFERS"


@dataclass(frozen=True)
class Check:
    """A statement that the run can confirm or refute, with the number that does so."""

    claim: str
    holds: bool
    evidence: str


@dataclass(frozen=True)
class Table:
    """Rows under named columns: aligned on the terminal, in full precision in the CSV file."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]

    def text(self) -> str:
        """Title and aligned columns; numbers to the right."""
        cells = [[shown(value) for value in row] for row in self.rows]
        widths = [max(map(len, column)) for column in zip(self.columns, *cells, strict=True)]
        numeric = [all(isinstance(row[i], (int, float)) for row in self.rows) for i in range(len(widths))]

        def line(values: Sequence[str]) -> str:
            aligned = zip(values, widths, numeric, strict=True)
            return "  ".join(v.rjust(w) if right else v.ljust(w) for v, w, right in aligned).rstrip()

        rule = "  ".join("-" * width for width in widths)
        return "\n".join(["", self.title, rule, line(self.columns), rule, *map(line, cells)])

    def write_csv(self, path: Path) -> None:
        """The same rows for a machine."""
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(self.columns)
            writer.writerows(self.rows)


def shown(value: Any) -> str:
    """A value for the terminal."""
    if isinstance(value, bool):
        return "yes" if value else "NO"
    if isinstance(value, float):
        return "–" if math.isnan(value) else f"{value:.4g}" if abs(value) < 1e-3 else f"{value:.4f}"
    return str(value)


def comparison_table(title: str, comparisons: Iterable[Comparison]) -> Table:
    """The table: paper | ours | difference."""
    rows = [[c.quantity, c.paper, float(c.ours), float(c.difference), c.verdict] for c in comparisons]
    return Table(title, ["quantity", "paper", "ours", "difference", "verdict"], rows)


def check_table(title: str, checks: Iterable[Check]) -> Table:
    """The table: claim | holds | evidence."""
    return Table(title, ["claim", "holds", "evidence"], [[c.claim, c.holds, c.evidence] for c in checks])


def share_error(share: float, runs: int) -> float:
    """Monte Carlo standard error of a share; never zero, also when all runs agree (one run is added to each side)."""
    smoothed = (share * runs + 1) / (runs + 2)
    return math.sqrt(smoothed * (1 - smoothed) / runs)


def variance_error(variance: float, runs: int) -> float:
    """Monte Carlo standard error of a sample variance of nearly normal values: ``v √(2/(runs − 1))``."""
    return variance * math.sqrt(2 / (runs - 1))


@dataclass
class Report:
    """Where an experiment's tables and figures go.

    Parameters
    ----------
    paper : str
        Short name; the folder under ``root``.
    root : Path
        ``results/`` of this repository by default, which git ignores.
    """

    paper: str
    root: Path = ROOT / "results"
    surprises: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)

    @property
    def folder(self) -> Path:
        """The folder of this paper."""
        return self.root / self.paper

    def table(self, name: str, table: Table, *, show: bool = True) -> None:
        """Write ``<name>.csv``, and print the table unless it is long."""
        table.write_csv(self.folder / f"{name}.csv")
        if show:
            print(table.text())

    def compare(self, name: str, title: str, comparisons: Sequence[Comparison]) -> None:
        """A table paper | ours | difference; an unexplained difference is a surprise."""
        self.table(name, comparison_table(title, comparisons))
        self.surprises += [c.quantity for c in comparisons if c.verdict == "DIFFERS"]

    def check(self, name: str, title: str, checks: Sequence[Check]) -> None:
        """A table claim | holds | evidence; a claim that fails is a surprise."""
        self.table(name, check_table(title, checks))
        self.surprises += [c.claim for c in checks if not c.holds]

    def figure(self, name: str, figure: Any) -> None:
        """Save a matplotlib figure as PNG; without a date, so that equal runs give equal files."""
        figure.savefig(self.folder / f"{name}.png", dpi=150, metadata={"Software": None})

    def finish(self) -> int:
        """Where everything is, and an exit code: 1 if anything came out otherwise than it should."""
        print(f"\nTables and figures: {self.folder}")
        for surprise in self.surprises:
            print(f"UNEXPLAINED: {surprise}")
        return 1 if self.surprises else 0


def new_figure(columns: int, title: str, *, rows: int = 1) -> tuple[Any, list[Any]]:
    """A figure with rows of axes, read left to right, drawn without a screen."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.6 * columns, 4.0 * rows), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title)
    return figure, list(figure.subplots(rows, columns, squeeze=False).flat)


def command_line(
    paper: str,
    run: Callable[..., int],
    description: str | None,
    quick: str,
    arguments: Sequence[str] | None = None,
) -> int:
    """Read the command line of a reproduction, run it and say how long it took.

    Parameters
    ----------
    run : function of a report and ``quick``
        Returns the exit code.
    quick : str
        What ``--quick`` leaves out, for the help text.
    """
    parser = argparse.ArgumentParser(prog=f"python -m experiments.{paper}", description=description)
    parser.add_argument("--quick", action="store_true", help=quick)
    parser.add_argument("--output", type=Path, default=ROOT / "results", help="folder for results (default: results/)")
    chosen = parser.parse_args(arguments)
    start = time.perf_counter()
    code = run(Report(paper, chosen.output), quick=chosen.quick)
    print(f"{time.perf_counter() - start:.0f} s")
    return code
