"""Checks of what is given to public functions, in one way.

Each takes the value and the name of the argument and returns the value as a plain Python or numpy object, or raises an
error of the caller's kind in one sentence that names the argument and its bound. Single settings (an ε, a number of
people) may be quoted in the sentence; the entries of an array may be somebody's answers and never are.
"""

from __future__ import annotations

import math
import numbers
import os
from collections.abc import Iterable, Mapping, Sequence, Set
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Argument, InputError
from discreet.plain_text import shortened

Floats = NDArray[np.float64]
T = TypeVar("T")
Option = TypeVar("Option", str, int)

#: Longer quotations of a wrong value are cut.
_SHOWN = 40


def shown(value: Any) -> str:
    """A wrong setting, short enough to be quoted in a sentence."""
    if not isinstance(value, (str, bytes, bool, int, float, complex, type(None), numbers.Number)):
        return f"a value of type {type(value).__name__}"
    if isinstance(value, (int, numbers.Rational)) and abs(value) > 10**_SHOWN:
        return "a number of more than 40 digits"
    return shortened(repr(value), _SHOWN)


def number(
    value: Any,
    name: str,
    error: type[InputError] = InputError,
    *,
    above: float = -math.inf,
    below: float = math.inf,
    least: float = -math.inf,
    most: float = math.inf,
    infinite: bool = False,
) -> float:
    """A real number within bounds: strictly between ``above`` and ``below``, from ``least`` to ``most``.

    It is finite, or ∞ where ``infinite`` allows that.

    >>> number(1, "epsilon", above=0)
    1.0
    >>> number("1", "epsilon", above=0)
    Traceback (most recent call last):
    discreet.errors.InputError: epsilon must be a number above 0, not '1'
    """
    plain = _plain(value)
    if not isinstance(plain, bool) and isinstance(plain, (float, int, numbers.Real, Decimal)):
        try:
            result = float(plain)
        except (OverflowError, ValueError):  # a fraction or a decimal that no float holds
            result = math.nan
        if result == math.inf and infinite:
            return result
        if math.isfinite(result) and above < result < below and least <= result <= most:
            return result
    raise error(Argument(name), f" must be a {_bounds('number', above, below, least, most)}, not {shown(plain)}")


def whole(
    value: Any, name: str, error: type[InputError] = InputError, *, least: int = 0, most: int | None = None
) -> int:
    """A whole number from ``least`` to ``most``; 3.0 is one, true is not.

    >>> whole(3.0, "rows", least=1)
    3
    """
    plain = _plain(value)
    if isinstance(plain, float) and plain.is_integer():
        plain = int(plain)
    if not isinstance(plain, bool) and isinstance(plain, int) and plain >= least and (most is None or plain <= most):
        return plain
    upto = " on" if most is None else f" to {most:,}"
    raise error(Argument(name), f" must be a whole number from {least:,}{upto}, not {shown(plain)}")


def _plain(value: Any) -> Any:
    """A number of numpy as a number of Python."""
    return value.item() if isinstance(value, (np.generic, np.ndarray)) and value.ndim == 0 else value


def choice(value: Any, name: str, options: Sequence[Option], error: type[InputError] = InputError) -> Option:
    """One of several names or whole numbers.

    >>> choice("A", "criterion", ("A", "D", "T"))
    'A'
    >>> choice(3, "reports", (2, 4))
    Traceback (most recent call last):
    discreet.errors.InputError: reports must be 2 or 4, not 3
    """
    plain = _plain(value)
    if isinstance(plain, (str, int, float)) and not isinstance(plain, bool):
        for option in options:
            if plain == option:
                return option
    quoted = [f'"{option}"' if isinstance(option, str) else str(option) for option in options]
    some = f"one of {', '.join(quoted)}" if len(quoted) > 2 else " or ".join(quoted)
    raise error(Argument(name), f" must be {some}, not {shown(plain)}")


def flag(value: Any, name: str, error: type[InputError] = InputError) -> bool:
    """True or false."""
    if not isinstance(value, (bool, np.bool_)):
        raise error(Argument(name), f" must be true or false, not {shown(value)}")
    return bool(value)


def instance(value: Any, kind: type[T], name: str, error: type[InputError] = InputError) -> T:
    """An object of a kind."""
    if not isinstance(value, kind):
        raise error(Argument(name), f" must be a {kind.__name__}, not {shown(value)}")
    return value


def text(value: Any, name: str, error: type[InputError] = InputError) -> str:
    """Text."""
    if not isinstance(value, str):
        raise error(Argument(name), f" must be text, not {shown(value)}")
    return value


def path(value: Any, name: str, error: type[InputError] = InputError) -> Path:
    """The name of a file or folder, as text or as a path."""
    if not isinstance(value, (str, os.PathLike)) or isinstance(value, type):
        raise error(Argument(name), f" must be a path, not {shown(value)}")
    plain = os.fspath(value)
    if not isinstance(plain, str) or "\0" in plain:
        raise error(Argument(name), " must be a path of characters, without a zero among them")
    return Path(plain)


def listed(values: Any, name: str, error: type[InputError] = InputError) -> list[Any]:
    """The items of a list, a tuple or an array; text is not a list of letters, and a set has no order."""
    unordered = isinstance(values, (str, bytes, Set, Mapping)) or (isinstance(values, np.ndarray) and values.ndim == 0)
    if unordered or not isinstance(values, Iterable) or isinstance(values, type):
        raise error(Argument(name), f" must be a list, not {shown(values)}")
    return list(values)


def array(values: Any, name: str, error: type[InputError] = InputError) -> NDArray[Any]:
    """An array of any kind of entries; lists of different lengths are none."""
    try:
        return np.asarray(values)
    except (TypeError, ValueError, OverflowError):
        raise error(Argument(name), " must be an array: rows of the same length") from None


def floats(
    values: Any,
    name: str,
    error: type[InputError] = InputError,
    *,
    dimensions: int | None = None,
    finite: bool = True,
) -> Floats:
    """Real numbers as an array, finite unless said otherwise; the entries are never quoted.

    >>> floats([1, 2], "prior")
    array([1., 2.])
    """
    try:
        given = np.asarray(values)
        if given.dtype.kind not in "biufO" or (given.dtype == object and any(isinstance(x, str) for x in given.flat)):
            raise TypeError
        with np.errstate(over="ignore"):  # a wider float that becomes infinite is refused below
            array = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise error(Argument(name), " must hold real numbers only") from None
    if dimensions is not None and array.ndim != dimensions:
        raise error(Argument(name), f" must have {_dimensions(dimensions)}, not {array.ndim}")
    if finite and not np.isfinite(array).all():
        where = np.argwhere(~np.isfinite(array))[0]
        at = f"; row {int(where[0])} (counted from 0) is not" if where.size else ""
        raise error(Argument(name), f" must be finite{at}")
    return array


def _dimensions(count: int) -> str:
    return {0: "no dimension (one number)", 1: "one dimension"}.get(count, f"{count} dimensions")


def _bounds(noun: str, above: float, below: float, least: float, most: float) -> str:
    low = f"above {above:g}" if above > -math.inf else f"of at least {least:g}" if least > -math.inf else ""
    high = f"below {below:g}" if below < math.inf else f"of at most {most:g}" if most < math.inf else ""
    if not low and not high:
        return f"finite {noun}"
    return f"{noun} {' and '.join(part for part in (low, high) if part)}"
