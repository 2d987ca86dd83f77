"""A plan to start from: names and types of the columns, no values."""

from __future__ import annotations

import json
import os

import pyarrow as pa

from discreet import arguments
from discreet.domains.columns import is_text
from discreet.errors import ReleaseError
from discreet.manifest.folder import table_at
from discreet.plain_text import printable
from discreet.publish.run.commit import already_there, write_whole
from discreet.publish.run.plain import plain_type
from discreet.publish.run.targets import refuse_inputs

_HEAD = """\
# A plan for discreet. It was made from the names and types of the columns; no value was looked at.
# A column that is listed nowhere below is dropped: that is the safe default.
format = 1
title = {title}

[budget]
epsilon = 1.0             # the plan is refused, before any private value is read, if it needs more
delta = 0.0
# rows_per_person = 1     # declare how many rows one person can have, and the promise is about people, not rows
# person = "…"            # a column that names the person: checked, never written

# [survey]                # public columns that describe the sampling; every estimator uses them
# weight = "…"
# strata = "…"
# cluster = "…"

[output]
order = "shuffle"         # row order can reveal the truth; "keep" declares that here it does not

# Public columns are copied as they are. Uncomment those that may be seen by anyone.
[[public]]
columns = [
{public}
]

# Private columns are randomised. Uncomment a block, and declare every value that is possible:
# the domain must come from the questionnaire or the codebook, never from the data.
# Missing values: missing = "reject" (default), "category" (the blank is protected like a value)
# or "public" (blanks are published as they are).
"""

_BLOCK = """
# {type}
# [[private]]
# columns = [{name}]
# domain = {domain}
# mechanism = "randomized-response"
# epsilon = 1.0
"""


def columns_of(path: str | os.PathLike[str]) -> dict[str, str]:
    """Names and types of the columns of a table; no value is read."""
    return {field.name: str(field.type) for field in table_at(arguments.path(path, "path", ReleaseError)).schema}


def count_rows(path: str | os.PathLike[str]) -> int | None:
    """Number of rows of a table, where its file says so without being read; None for CSV."""
    return table_at(arguments.path(path, "path", ReleaseError)).rows


def skeleton(path: str | os.PathLike[str]) -> str:
    """TOML text of a plan for a table, with every column commented out.

    Parameters
    ----------
    path : path
        A Parquet or CSV file; only its schema or header is read.
    """
    file = arguments.path(path, "path", ReleaseError)
    table = table_at(file)
    public = "\n".join(f"#   {_toml(name)}," for name in table.schema.names)
    text = _HEAD.format(title=_toml(file.stem), public=public)
    for field in table.schema:
        kind = plain_type(field.type, field.name)
        described = "text (a CSV file does not say more)" if table.text else str(kind)
        described = printable(described).replace("\n", " ")  # names inside a struct may hold anything
        text += _BLOCK.format(type=f"{_toml(field.name)}: {described}", name=_toml(field.name), domain=_domain(kind))
    return text


def write_plan(
    text: str, output: str | os.PathLike[str], source: str | os.PathLike[str], overwrite: bool = False
) -> None:
    """Write the text of a plan, so that it is there complete or not at all, and never over the table it is for."""
    path = arguments.path(output, "output", ReleaseError)
    overwrite = arguments.flag(overwrite, "overwrite", ReleaseError)
    if not path.parent.is_dir():
        raise ReleaseError(f"there is no folder {path.parent}")
    if path.is_dir():
        raise ReleaseError(f"{path} is a folder, not a file")
    refuse_inputs([path], [("the input", arguments.path(source, "source", ReleaseError))])
    if os.path.lexists(path) and not overwrite:
        raise already_there(path)
    write_whole(path, arguments.text(text, "text", ReleaseError).encode(), overwrite=overwrite)


def _domain(kind: pa.DataType) -> str:
    if pa.types.is_boolean(kind):
        return "{ binary = [false, true] }"
    if pa.types.is_integer(kind):
        return "{ categorical = { from = 0, to = 9 } }          # the smallest and largest possible value"
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "{ grid = { low = 0.0, high = 1.0, points = 11 } }   # possible range, and how finely it is cut"
    if is_text(kind):
        return '{ binary = ["no", "yes"] }              # or { categorical = [...] }, or { ordinal = [...] }'
    return "{ categorical = [...] }                  # list every possible value"


def _toml(text: str) -> str:
    """Text as TOML writes it."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
