"""Answers that mean a declared value and are written in another way: ``1.0`` or ``TRUE`` where "1" is declared.

Only for answers that respondents randomised, which are no secret: what was read as what is said, value by value.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.blocks import Block, Cells
from discreet.domains import FiniteDomain
from discreet.domains.buffers import numbers_of
from discreet.domains.columns import as_arrow, without_dictionary
from discreet.errors import DomainError
from discreet.plain_text import one_line

#: Declared values up to which a meaning is looked for, and spellings that a message lists.
_FEW = 64
_WORDS = {"true": 1.0, "false": 0.0}

#: How often an answer, as it was written, was read as a declared value.
ReadAs = Counter[tuple[str, str]]


class AnswersReadWarning(UserWarning):
    """Answers were written in another way than declared, and read as the declared value that they mean."""


def encode_answers(block: Block, name: str, cells: pa.Array, *, text: bool) -> tuple[Cells, ReadAs]:
    """Codes of answers; where they are written in another way than declared, of the values that they mean."""
    try:
        return block.encode(name, cells, text=text), Counter()
    except DomainError:
        meant = _as_declared(block.reports_of(name), cells) if block.collected else None
        if meant is None:
            raise
    declared, read = meant
    return block.encode(name, declared), read


def meanings(domain: Any) -> dict[float | None, Any] | None:
    """The declared value that each number means; None where values are many, words, or mean the same number twice."""
    if not isinstance(domain, FiniteDomain) or domain.size > _FEW:
        return None
    found = {_number(label): label for label in domain.labels}
    return None if None in found or len(found) < domain.size else found  # "1" beside "01"


def _as_declared(domain: Any, cells: pa.Array) -> tuple[pa.Array, ReadAs] | None:
    """The declared values that all of these cells mean; None when that is not certain for every one of them."""
    plain = as_arrow(without_dictionary(cells))  # NaN is a missing value
    meant = meanings(domain)
    if meant is None or pa.types.is_nested(plain.type):
        return None
    coded = plain.dictionary_encode()
    written = coded.dictionary.to_pylist()
    if any(_number(value) not in meant for value in written):
        return None
    declared = [meant[_number(value)] for value in written]
    times = np.bincount(numbers_of(coded.indices.drop_null()), minlength=len(written)).tolist()
    read: ReadAs = Counter()
    for value, label, count in zip(written, declared, times, strict=True):
        if str(value) != str(label):
            read[one_line(str(value)), one_line(str(label))] += count
    return pa.array(declared).take(coded.indices), read


def _number(value: Any) -> float | None:
    """What a label or an answer says as a number; None for words."""
    if isinstance(value, str):
        word = value.strip().casefold()
        try:
            number = _WORDS.get(word)
            number = float(word) if number is None else number
        except ValueError:
            return None
    elif isinstance(value, (bool, int, float)):
        number = float(value)
    else:
        return None
    return number if math.isfinite(number) else None


def sentence(column: str, read: ReadAs) -> str:
    """What was done, for people."""
    shown = [f'{times:,} of {written} as "{label}"' for (written, label), times in sorted(read.items())[:_FEW]]
    more = [f"and {len(read) - _FEW:,} further spellings"] if len(read) > _FEW else []
    listed = ", ".join(shown + more)
    return f'column "{one_line(column)}": answers were read as the declared values that they mean: {listed}'
