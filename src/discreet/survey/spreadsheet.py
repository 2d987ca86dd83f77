"""Spreadsheets that others made, measured before anything reads them: a small file can unpack to any size.

What is counted is what a reader would have to hold: bytes when unpacked, XML elements, rows and columns. The sizes that
a ZIP archive states bound what is read of it, and entities are not expanded.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.parsers import expat

from discreet.errors import ReleaseError
from discreet.files import ordinary_content, reading

#: Bytes of a file, and of all its parts when unpacked; a form with a thousand choices has some 100,000.
MOST_BYTES = 4_000_000
MOST_UNPACKED = 8_000_000
#: Bytes of a form that is text.
MOST_TEXT = 1_000_000
#: Elements in all parts of a workbook, and rows and columns of a sheet.
MOST_ELEMENTS = 250_000
MOST_ROWS = 20_000
MOST_COLUMNS = 256
_COLUMN = re.compile(r"([A-Z]+)([0-9]+)")
_OLD_EXCEL = b"\xd0\xcf\x11\xe0"


def measured(path: Path) -> tuple[bytes, str]:
    """The content of a spreadsheet whose size is bounded, and its kind: ".xlsx", ".xls", ".csv" or ".md"."""
    with reading(path):
        content = ordinary_content(path, MOST_BYTES)
    if content.startswith(b"PK"):
        _measure_workbook(content, path.name)
        return content, ".xlsx"
    if content.startswith(_OLD_EXCEL):
        _measure_old_workbook(content, path.name)
        return content, ".xls"
    if len(content) > MOST_TEXT:
        raise _too_large(path.name, f"{MOST_TEXT:,} bytes of text")
    return content, ".csv" if path.suffix.lower() == ".csv" else ".md"


def _measure_workbook(content: bytes, name: str) -> None:
    """Sizes first; then elements, rows and columns of every part, without keeping any."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            parts = archive.infolist()
            if sum(part.file_size for part in parts) > MOST_UNPACKED:
                raise _too_large(name, f"{MOST_UNPACKED:,} bytes when unpacked")
            count = _Count(name)
            for part in parts:
                if part.filename.endswith((".xml", ".rels", ".vml")):
                    count.part(archive.read(part))
    except ReleaseError:
        raise
    except (
        zipfile.BadZipFile,
        expat.ExpatError,
        OSError,
        EOFError,
        ValueError,
        NotImplementedError,
        RuntimeError,
    ) as error:
        raise ReleaseError(f'"{name}" cannot be read as a workbook ({type(error).__name__})') from None


class _Count:
    """Elements of a workbook while its parts are read."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.elements = 0

    def part(self, content: bytes) -> None:
        """Count the elements of one part."""
        parser = expat.ParserCreate()
        parser.StartElementHandler = self._element
        for event in ("StartDoctypeDeclHandler", "EntityDeclHandler"):
            setattr(parser, event, self._refuse())
        parser.Parse(content, True)

    def _element(self, tag: str, attributes: dict[str, str]) -> None:
        self.elements += 1
        if self.elements > MOST_ELEMENTS:
            raise _too_large(self.name, f"{MOST_ELEMENTS:,} elements")
        place = attributes.get("r", "")
        if tag.rpartition(":")[2] == "row" and place.isdecimal() and int(place[:9]) > MOST_ROWS:
            raise _too_large(self.name, f"{MOST_ROWS:,} rows")
        found = _COLUMN.fullmatch(place)
        if found and (_number(found[1]) > MOST_COLUMNS or int(found[2][:9]) > MOST_ROWS):
            raise _too_large(self.name, f"{MOST_ROWS:,} rows or {MOST_COLUMNS} columns")

    def _refuse(self) -> Callable[..., Any]:
        def declared(*_: Any) -> None:
            raise ReleaseError(f'"{self.name}" declares a document type or entities, which no form needs')

        return declared


def _number(letters: str) -> int:
    """The number of a column: A is 1, AA is 27."""
    number = 0
    for letter in letters[:4]:
        number = 26 * number + ord(letter) - ord("A") + 1
    return number


def _measure_old_workbook(content: bytes, name: str) -> None:
    """Rows and columns as they are stored, before they are filled up to a rectangle."""
    import xlrd

    try:
        book = xlrd.open_workbook(file_contents=content, ragged_rows=True, logfile=io.StringIO())
        large = any(sheet.nrows > MOST_ROWS or sheet.ncols > MOST_COLUMNS for sheet in book.sheets())
    except Exception as error:  # whatever a foreign reader makes of foreign bytes
        raise ReleaseError(f'"{name}" cannot be read as a workbook ({type(error).__name__})') from None
    if large:
        raise _too_large(name, f"{MOST_ROWS:,} rows or {MOST_COLUMNS} columns")


def _too_large(name: str, what: str) -> ReleaseError:
    return ReleaseError(f'"{name}" is over the limit of {what} for a form; keep only the sheets and rows of the form')
