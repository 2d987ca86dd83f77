"""One way to write a JSON document, so that a signature of its bytes can be checked by anybody.

The JSON Canonicalization Scheme (RFC 8785): no white space, keys in the order of their UTF-16 code units, numbers as
JavaScript writes them. Whole numbers are written with all their digits, which is the same up to 2^53.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from discreet.errors import ManifestError

#: JavaScript writes numbers without exponent up to this many places before the point, or zeros after it.
_PLACES, _ZEROS = 21, 6


def canonical_json(data: Any) -> bytes:
    r"""The canonical bytes of plain data.

    >>> canonical_json({"b": [1.0, 1e-9, "é"], "a": None})
    b'{"a":null,"b":[1,1e-9,"\xc3\xa9"]}'
    """
    try:
        return _written(data).encode()
    except (UnicodeEncodeError, RecursionError):
        raise ManifestError("the manifest is damaged: it cannot be written as JSON in UTF-8") from None


def _written(data: Any) -> str:
    if isinstance(data, Mapping):
        ordered = sorted(data.items(), key=lambda item: item[0].encode("utf-16-be", "surrogatepass"))
        return "{" + ",".join(f"{_text(key)}:{_written(value)}" for key, value in ordered) + "}"
    if isinstance(data, (list, tuple)):
        return "[" + ",".join(map(_written, data)) + "]"
    if isinstance(data, str):
        return _text(data)
    if isinstance(data, float):
        return _number(data)
    return json.dumps(data)


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


def _number(value: float) -> str:
    """As ECMAScript's Number::toString: the shortest digits that read back as the same number."""
    if not math.isfinite(value):
        raise ManifestError("the manifest is damaged: JSON holds finite numbers only")
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    mantissa, _, power = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = len(digits) - len(fraction) + int(power or 0)  # places before the decimal point
    digits = digits.rstrip("0")
    if len(digits) <= point <= _PLACES:
        return sign + digits.ljust(point, "0")
    if 0 < point <= _PLACES:
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if -_ZEROS < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    mantissa = digits if len(digits) == 1 else f"{digits[0]}.{digits[1:]}"
    return f"{sign}{mantissa}e{point - 1:+d}"
