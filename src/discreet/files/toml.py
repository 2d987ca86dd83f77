"""The one gate for TOML that others wrote: plans, surveys, known totals.

Inside the gate there is plain data of bounded size and depth whose numbers are finite, read in time that grows with its
length alone. Files that it names lie beside it or below.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from discreet import limits
from discreet.errors import Argument, InputError
from discreet.files.opening import ordinary_content, reading

#: A dotted key of more parts than tables may be deep; the parser of TOML takes the square of their number.
_PART = r"""(?>[\w-]++|"(?>[^"\\\n]|\\.)*+"|'[^'\n]*+')"""
_LONG_KEY = re.compile(rf"(?:^|[\n{{,\[])[ \t]*+{_PART}(?>[ \t]*+\.[ \t]*+{_PART}){{{limits.NESTING}}}")


def read_toml(path: Path, what: str, error: type[InputError]) -> tuple[str, dict[str, Any]]:
    """The text of a TOML file and the plain data in it.

    Parameters
    ----------
    path : Path
        The file.
    what : str
        What it is, at the start of a sentence: ``"the plan"``.
    error : type
        What is raised if it cannot be read.
    """
    try:
        with reading(path, error):
            content = ordinary_content(path, limits.PLAN_BYTES, error)
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise error(f"{path.name} is not text in UTF-8") from None
    except OSError as failure:
        raise error(str(failure)) from None
    return text, parse_toml(text, what, error)


def parse_toml(text: str, what: str, error: type[InputError]) -> dict[str, Any]:
    """The plain data in TOML text, within the limits for received text."""
    import tomllib

    if len(text) > limits.PLAN_BYTES:
        raise error(f"{what} is over the limit of {limits.PLAN_BYTES:,} bytes; put long lists into files")
    if _LONG_KEY.search(text):
        raise _too_deep(what, error)
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as failure:
        raise error(f"{what} is not valid TOML: {failure}") from None
    except RecursionError:
        raise _too_deep(what, error) from None
    except ValueError:  # an integer with more digits than Python reads, or a date that there never was
        raise error(f"{what} is not valid TOML: a number or a date cannot be read") from None
    check_received(data, what, error)
    return data


def check_received(data: Mapping[str, Any], what: str, error: type[InputError]) -> None:
    """Refuse plain data that is nested too deep, and numbers that are not finite or too large to compute with."""
    if limits.nested_too_deep(data):
        raise _too_deep(what, error)
    rest: list[tuple[str, Any]] = [("", data)]
    while rest:
        key, value = rest.pop()
        if isinstance(value, Mapping):
            rest.extend((f"{key}.{name}" if key else str(name), inner) for name, inner in value.items())
        elif isinstance(value, (list, tuple)):
            rest.extend((f"{key}[{place}]", inner) for place, inner in enumerate(value) if not isinstance(inner, str))
        elif isinstance(value, (int, float)) and not abs(value) <= limits.LARGEST_NUMBER:
            raise error(f"{key} must be finite, between -{limits.LARGEST_NUMBER:g} and {limits.LARGEST_NUMBER:g}")


def path_inside(folder: Path, name: str, key: str, error: type[InputError], *, outside: bool | None = None) -> Path:
    """The path of a file that received text names under a key, which must lie in a folder or below, links followed.

    True for ``outside`` allows any place; only the user decides that, never the text. None: the user is not asked.
    """
    try:
        path = folder / name
        inside = path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError, ValueError):  # links in a circle, a zero character
        raise error(f"{key}: there is no file of this name") from None
    if not outside and not inside:
        where = f"{key}: the file must lie in the folder of the "
        if outside is None:
            raise error(where, "file that names it, or below it")
        raise error(where, "plan, or below it; ", Argument("outside_files=True"), " allows others")
    return path


def _too_deep(what: str, error: type[InputError]) -> InputError:
    return error(f"{what} is nested deeper than {limits.NESTING} levels")
