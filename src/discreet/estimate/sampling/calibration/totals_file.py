"""Known totals in a file, for the command line.

method = "raking"                    # or linear, logit
bounds = [0.3, 3]                    # of logit and linear
people = 10000                       # where no total of categories says it
[[margin]]
columns = ["region"]
totals = { north = 4000, south = 6000 }
[[margin]]
columns = ["region", "sex"]
file = "cells.csv"                   # the columns, and one that is called total
[[margin]]
columns = ["hours"]
total = 52000
"""

from __future__ import annotations

import csv
import tomllib
from pathlib import Path
from typing import Any

from discreet import arguments
from discreet.errors import EstimationError

_KEYS = {"method", "bounds", "people", "margin"}
_MARGIN_KEYS = {"columns", "totals", "total", "file"}
#: The column of a file that holds the numbers.
_TOTAL = "total"


def read_totals(path: str | Path) -> dict[str, Any]:
    """The arguments of :func:`discreet.estimate.calibrate` that a file holds."""
    file = arguments.path(path, "totals", EstimationError)
    try:
        data = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise EstimationError(f"{file.name} cannot be read: {error.strerror or 'no such file'}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise EstimationError(f"{file.name} is no TOML file: {error}") from None
    _refuse_unknown(data, _KEYS, file.name)
    margins = data.get("margin", [])
    if not isinstance(margins, list) or not all(isinstance(one, dict) for one in margins):
        raise EstimationError(f"{file.name}: write every margin as a table, [[margin]]")
    totals: dict[Any, Any] = {}
    for place, margin in enumerate(margins):
        columns, known = _margin(margin, f"{file.name}: margin[{place}]", file.parent)
        if columns in totals:
            raise EstimationError(f"{file.name}: margin[{place}] has the columns of an earlier one")
        totals[columns] = known
    return {"totals": totals} | {key: data[key] for key in data if key != "margin"}


def _margin(margin: dict[str, Any], where: str, folder: Path) -> tuple[Any, Any]:
    """The columns of one margin, and what is known of them."""
    _refuse_unknown(margin, _MARGIN_KEYS, where)
    columns = margin.get("columns")
    if not isinstance(columns, list) or not columns or not all(isinstance(name, str) for name in columns):
        raise EstimationError(f'{where}.columns must name public columns, as in columns = ["region"]')
    said = [key for key in ("totals", "total", "file") if key in margin]
    if len(said) != 1:
        raise EstimationError(f"{where} must have totals, total or file, and one of them only")
    key = columns[0] if len(columns) == 1 else tuple(columns)
    if said == ["total"]:
        return key, margin["total"]
    if said == ["file"]:
        return key, _from_csv(folder / str(margin["file"]), columns, where)
    totals = margin["totals"]
    if isinstance(totals, dict) and len(columns) == 1:
        return key, totals
    if not isinstance(totals, list) or not all(isinstance(r, list) and len(r) == len(columns) + 1 for r in totals):
        raise EstimationError(
            f'{where}.totals must be a table of categories, or for several columns rows such as ["north", "f", 2100]'
        )
    return key, _by_category([(row[:-1], row[-1]) for row in totals], where)


def _from_csv(file: Path, columns: list[str], where: str) -> dict[Any, Any]:
    try:
        with file.open(encoding="utf-8", newline="") as lines:
            rows = list(csv.DictReader(lines))
    except (OSError, UnicodeDecodeError, csv.Error):
        raise EstimationError(f"{where}.file: {file.name} cannot be read as a CSV file") from None
    missing = [name for name in (*columns, _TOTAL) if not rows or name not in rows[0]]
    if missing:
        raise EstimationError(f'{where}.file: {file.name} has no column "{missing[0]}"')
    try:
        return _by_category([([row[name] for name in columns], float(row[_TOTAL])) for row in rows], where)
    except (TypeError, ValueError):
        raise EstimationError(f'{where}.file: the column "{_TOTAL}" of {file.name} must hold numbers') from None


def _by_category(rows: list[tuple[list[Any], Any]], where: str) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    for label, value in rows:
        key = label[0] if len(label) == 1 else tuple(label)
        if key in found:
            raise EstimationError(f"{where} has two totals for one category")
        found[key] = value
    return found


def _refuse_unknown(data: dict[str, Any], keys: set[str], where: str) -> None:
    unknown = sorted(set(data) - keys)
    if unknown:
        raise EstimationError(f'{where} has the key "{unknown[0]}"; known are {", ".join(sorted(keys))}')
