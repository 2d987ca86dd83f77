"""Simulated runs in CSV files, so that a long simulation can be stopped, looked at and taken up again."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class RunFile:
    """Results of runs 0, 1, 2, …, a fixed number of lines each.

    Run i always uses the same random numbers, so that a file that was taken up again is the same as one that was
    written in one go.
    """

    path: Path
    columns: Sequence[str]
    lines_per_run: int = 1

    def read(self, runs: int | None = None) -> dict[str, NDArray[np.float64]]:
        """The columns of the complete runs, at most ``runs`` of them, as numbers."""
        lines = self._complete()
        if runs is not None:
            lines = lines[: runs * self.lines_per_run]
        data = np.array([[float(cell) for cell in line] for line in lines]).reshape(len(lines), len(self.columns))
        return dict(zip(self.columns, data.T, strict=True))

    @property
    def done(self) -> int:
        """Number of complete runs."""
        return len(self._complete()) // self.lines_per_run

    def take_up(self) -> int:
        """Make ready for :meth:`append`: drop what an interruption left incomplete; the number of complete runs."""
        complete = self._complete()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        whole = self.path.with_suffix(".new")
        with whole.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(self.columns)
            writer.writerows(complete)
        whole.replace(self.path)
        return len(complete) // self.lines_per_run

    def append(self, lines: Iterable[Sequence[float]]) -> None:
        """Add whole runs."""
        text = "".join(",".join(_text(cell) for cell in line) + "\n" for line in lines)
        with self.path.open("a", newline="", encoding="utf-8") as file:
            file.write(text)

    def _complete(self) -> list[list[str]]:
        text = self.path.read_text(encoding="utf-8") if self.path.exists() else ""
        lines = list(csv.reader(text[: text.rfind("\n") + 1].splitlines()))
        if lines and lines[0] != list(self.columns):
            raise ValueError(f"{self.path} was written by another version of this experiment; run with --fresh")
        return lines[1 : 1 + (len(lines) - 1) // self.lines_per_run * self.lines_per_run] if lines else []


def _text(cell: float) -> str:
    value = float(cell)
    return str(int(value)) if value.is_integer() else repr(value)
