"""A plan to start from: names and types of the columns, no values."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass

import pyarrow as pa

from discreet import arguments
from discreet.domains.columns import is_text
from discreet.errors import Argument, ReleaseError
from discreet.files import write_whole
from discreet.plain_text import has_control, printable
from discreet.publish.layout import plain_type
from discreet.publish.plan.grammar import MECHANISMS
from discreet.publish.plan.sections import checked_delimiter, checked_encoding
from discreet.tables.readers import CSV, CsvTable, TableFile, likely_delimiter, table_at

_HEAD = """\
# A plan for discreet. It was made from the names and types of the columns; no value was looked at.
# It is valid as it is: every column below is randomised, and a value that its domain does not list is refused.
# Correct the domains, delete the blocks that nobody needs: a column that is listed nowhere is dropped.
format = 1
title = {title}
{csv}
[budget]
epsilon = {epsilon}             # the plan is refused, before any private value is read, if it needs more
delta = 0.0
# rows_per_person = 1     # declare how many rows one person can have, and the promise is about people, not rows
# person = {person}    # a column that names the person: checked, never written

# [survey]                # public columns that describe the sampling; every estimator uses them
# weight = {weight}
# strata = "…"
# cluster = "…"

[output]
order = "shuffle"         # row order can reveal the truth; "keep" declares that here it does not

# Public columns are copied as they are. Uncomment those that may be seen by anyone, and delete their blocks below.
# [[public]]
# columns = [
{public}
# ]

# Private columns are randomised. Declare every value that is possible: the domain must come from the questionnaire
# or the codebook, never from the data.
# Missing values: missing = "reject" (default), "category" (the blank is protected like a value)
# or "public" (blanks are published as they are).
# Answers that the respondents randomised themselves: collected = true and their design, such as crosswise = "1/4",
# in place of mechanism and epsilon; or parameters = {{ model = "RRmodel", p1 = "RRp1", p2 = "RRp2" }} where columns
# hold the design of every row.
"""

#: Names that point to a person, and names that point to a weight: whole words of a column's name.
_IDENTIFIER = re.compile(r"(^|[_.\s-])(id|uuid|guid|name|email|e-mail|phone|ssn)($|[_.\s-])", re.IGNORECASE)
_WEIGHT = re.compile(r"(^|[_.\s-])(w|wt|weight|pweight)($|[_.\s-])", re.IGNORECASE)


@dataclass(frozen=True)
class Proposal:
    """What a block of a column starts from."""

    domain: str
    mechanism: str
    #: What else there is for this type, one line each.
    instead: tuple[str, ...] = ()


def columns_of(
    path: str | os.PathLike[str], *, delimiter: str | None = None, encoding: str | None = None
) -> dict[str, str]:
    """Names and types of the columns of a table; no value is read."""
    return {field.name: str(field.type) for field in _table(path, delimiter, encoding).schema}


def count_rows(path: str | os.PathLike[str]) -> int | None:
    """Number of rows of a table, where its file says so without being read; None for CSV."""
    file = arguments.path(path, "path", ReleaseError)
    return None if file.suffix.lower() in CSV and file.is_file() else table_at(file).rows


def skeleton(
    path: str | os.PathLike[str],
    *,
    suggest: bool = False,
    delimiter: str | None = None,
    encoding: str | None = None,
) -> str:
    """TOML text of a plan for a table, valid as it is.

    Parameters
    ----------
    path : path
        A Parquet or CSV file; only its schema or header is read.
    suggest : bool
        Propose a mechanism for the type of every column, and say what else there is for it. By default every column
        starts with randomised response.
    delimiter, encoding : str, optional
        How a CSV file is written, where it is not with commas in UTF-8; the plan then says so too.
    """
    file = arguments.path(path, "path", ReleaseError)
    suggest = arguments.flag(suggest, "suggest", ReleaseError)
    table = _table(path, delimiter, encoding)
    names = table.schema.names
    identifiers = [name for name in names if _IDENTIFIER.search(name)]
    blocks, active = "", 0
    for field in table.schema:
        kind = plain_type(field.type, field.name)
        listed = bool(field.name) and not has_control(field.name)
        on = listed and (field.name not in identifiers or len(identifiers) == len(names))
        active += on
        described = "text (a CSV file does not say more)" if table.text else str(kind)
        described = printable(described).replace("\n", " ")  # names inside a struct may hold anything
        if listed and not on:
            described += "; it looks like an identifier, so it is dropped"
        proposal = _suggested(kind, csv=table.text) if suggest else _plain(kind)
        blocks += _block(f"{_toml(field.name)}: {described}", _toml(field.name), proposal, on=on)
    weight = next((name for name in names if _WEIGHT.search(name)), "…")
    head = _HEAD.format(
        title=_toml(file.stem),
        csv=_csv_lines(delimiter, encoding),
        epsilon=f"{max(active, 1):.1f}",
        person=_toml(next(iter(identifiers), "…")),
        weight=_toml(weight),
        public="\n".join(f"#   {_toml(name)}," for name in names),
    )
    return head + blocks


def _table(path: str | os.PathLike[str], delimiter: str | None, encoding: str | None) -> TableFile:
    file = arguments.path(path, "path", ReleaseError)
    mark = "," if delimiter is None else checked_delimiter(delimiter, Argument("delimiter"))
    code = "utf-8" if encoding is None else checked_encoding(
        arguments.text(encoding, "encoding", ReleaseError), Argument("encoding")
    )  # fmt: skip
    table = table_at(file, delimiter=mark, encoding=code)
    if not table.text and (delimiter is not None or encoding is not None):
        raise ReleaseError(f"{file.name} is no CSV file: leave out its delimiter and encoding")
    if delimiter is None and isinstance(table, CsvTable) and (likely := likely_delimiter(table.header)) is not None:
        shown, code = ("a tab", "\\t") if likely == "\t" else (f'"{likely}"', likely)
        raise ReleaseError(
            f"{file.name} has one column if commas separate it, but it seems to be separated by {shown}: ",
            Argument(f'delimiter="{code}"'),
        )
    return table


def _csv_lines(delimiter: str | None, encoding: str | None) -> str:
    lines = [f"{key} = {_toml(value)}" for key, value in (("delimiter", delimiter), ("encoding", encoding)) if value]
    return "".join(f"{line}\n" for line in lines)


def write_plan(
    text: str, output: str | os.PathLike[str], source: str | os.PathLike[str], overwrite: bool = False
) -> None:
    """Write the text of a plan, so that it is there complete or not at all, and never over the table it is for."""
    content = arguments.text(text, "text", ReleaseError).encode()
    inputs = [("the input", arguments.path(source, "source", ReleaseError))]
    write_whole(output, content, overwrite=arguments.flag(overwrite, "overwrite", ReleaseError), inputs=inputs)


def _block(described: str, name: str, proposal: Proposal, *, on: bool) -> str:
    lines = [
        "[[private]]",
        f"columns = [{name}]",
        f"domain = {proposal.domain}",
        f'mechanism = "{proposal.mechanism}"',
        "epsilon = 1.0",
    ]
    written = [line if on else f"# {line}" for line in lines]
    return "\n".join(["", f"# {described}", *written, *(f"# instead: {other}" for other in proposal.instead), ""])


def _plain(kind: pa.DataType) -> Proposal:
    return Proposal(_domain(kind), "randomized-response")


def _domain(kind: pa.DataType) -> str:
    if pa.types.is_boolean(kind):
        return "{ binary = [false, true] }"
    if pa.types.is_integer(kind):
        return "{ categorical = { from = 0, to = 9 } }          # the smallest and largest possible value"
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "{ grid = { low = 0.0, high = 1.0, points = 11 } }   # possible range, and how finely it is cut"
    if is_text(kind):
        return '{ binary = ["no", "yes"] }              # or { categorical = [...] }, or { ordinal = [...] }'
    return '{ categorical = ["…", "or …"] }          # list every possible value'


_UNBIASED = "unbiased" if "unbiased" in MECHANISMS else "randomized-response"
_NUMBERS = (
    'for a distribution near the truth: domain = { grid = { low = …, high = …, points = … } }, mechanism = "bipartite"',
    "for several numbers together: domain = { box = { low = […], high = […] } }, "
    'mechanism = "zero-inflated-laplace", with delta',
)


def _suggested(kind: pa.DataType, *, csv: bool) -> Proposal:
    """A mechanism by the type alone; the text of a CSV file may be numbers."""
    means = 'for a mean: domain = { grid = { low = 0, high = 9, points = 10 } }, mechanism = "unbiased"'
    if pa.types.is_integer(kind):
        ordered = 'for an order: domain = { ordinal = [1, 2, 3] }, mechanism = "bipartite"'
        return Proposal(_domain(kind), "frequencies", (ordered, means, *_NUMBERS))
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return Proposal(_domain(kind), _UNBIASED, ('for frequencies: mechanism = "frequencies"', *_NUMBERS))
    if is_text(kind):
        return Proposal(
            _domain(kind),
            "randomized-response",
            (
                'for more than a dozen values: domain = { categorical = [...] }, mechanism = "frequencies"',
                'for an order: domain = { ordinal = [...] }, mechanism = "bipartite"',
                'for answers that respondents randomised: collected = true, crosswise = "1/4"',
                *((means, *_NUMBERS) if csv else ()),
            ),
        )
    return Proposal(_domain(kind), "randomized-response")


def _toml(text: str) -> str:
    """Text as TOML writes it."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
