"""The grammar of a plan: sections of keys, each read with its path, so that an error says exactly where.

The whole grammar is known here, also the part whose capability is still to come, so that a key never changes
its meaning: what is not there yet answers "not available in this version".
"""

from __future__ import annotations

import difflib
import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from discreet import limits
from discreet.arguments import shown
from discreet.errors import Argument, InputError, PlanError
from discreet.mechanisms.procedures import PARAMETERS
from discreet.plain_text import has_control

#: The newest format of a plan that this version reads.
FORMAT = 1

TOP = (
    *("format", "title", "missing_values", "delimiter", "encoding", "budget", "survey", "output", "public", "private"),
    *("collect", "question"),
)
BUDGET = ("epsilon", "delta", "rows_per_person", "person", "split", "rows", "level")
SURVEY = ("weight", "strata", "cluster", "fpc", "replicates", "replication", "replicate_scale")
OUTPUT = ("order",)
PUBLIC = ("columns",)
#: Answers that are asked for on a page.
COLLECT = (
    "access",
    "opens",
    "closes",
    "languages",
    "smallest_cell",
    "most",
    "title",
    "consent",
    "contact",
    "origins",
    "margin",
)
QUESTION = ("column", "text", "help", "choices", "input", "required", "when")

#: Designs that a respondent can follow; see ``mechanisms.BinaryResponse``.
PROCEDURES = tuple(PARAMETERS)
DESIGN = (*PROCEDURES, "matrix", "file")
#: Keys of mechanisms that report near the truth.
NEAR = ("high", "prior", "missing_loss", "worst")
#: Keys of columns that are randomised together.
JOINT = ("domains", "epsilons", "total", "ratios", "method", "pairs")
#: Keys of noise for numeric vectors.
LAPLACE = ("zero_probability", "unit", "grid", "clip", "target", "exposure")
PRIVATE = (
    "columns",
    "domain",
    "mechanism",
    "epsilon",
    "delta",
    "prevalence",
    "symmetric",
    "reports",
    "missing",
    "collected",
    "by",
    "designs",
    "parameters",
    "extended_crosswise",
    "label",
    "margin",
    "repeat",
    "report",
    *NEAR,
    *JOINT,
    *LAPLACE,
    *DESIGN,
)
MECHANISMS = (
    "randomized-response",
    "channel",
    "bipartite",
    "exponential",
    "expected-error",
    "joint",
    "zero-inflated-laplace",
    "frequencies",
    "unbiased",
)
DOMAINS = ("binary", "categorical", "ordinal", "grid", "metric", "box")

#: Words of the grammar whose capability is not there yet.
LATER_MECHANISMS: tuple[str, ...] = ()
LATER_DOMAINS: tuple[str, ...] = ()
LATER_PRIVATE: tuple[str, ...] = ()


def not_available(path: str, what: str = "") -> PlanError:
    """The answer to a word of the grammar whose capability is still to come."""
    value = f' = "{what}"' if what else ""
    return PlanError(f"{path}{value} is not available in this version")


@contextmanager
def at(path: str) -> Iterator[None]:
    """Put the key path before the message of anything that is refused inside."""
    try:
        yield
    except PlanError:
        raise
    except InputError as error:
        raise PlanError(f"{path}: {error.worded(_as_key)}") from None


def _as_key(argument: Argument) -> str:
    """An argument of Python in the words of a plan: symmetric=True is ``symmetric = true`` there."""
    name, given, value = argument.partition("=")
    return f"{name} = {value.lower() if value in ('True', 'False') else value}" if given else name


class Section:
    """One table of a plan: its keys are checked when it is made, its values when they are read."""

    def __init__(self, data: Any, path: str, keys: Collection[str], later: Collection[str] = ()) -> None:
        if not isinstance(data, Mapping):
            raise PlanError(f"{path or 'the plan'} must be a table of keys and values")
        self._data = data
        self.path = path
        for key in data:
            if key in later:
                raise not_available(self.at(key))
            if key not in keys:
                word = str(key)
                raise PlanError(f"{self.at(word[:60])} is not a key of a plan{_likely(word, [*keys, *later])}")

    def at(self, key: str) -> str:
        """The path of a key."""
        return f"{self.path}.{key}" if self.path else key

    def __contains__(self, key: str) -> bool:
        return key in self._data

    def keys(self) -> list[str]:
        """The keys that are there."""
        return list(self._data)

    def get(self, key: str) -> Any:
        """A value as it is, or None."""
        return self._data.get(key)

    def required(self, key: str) -> Any:
        """A value that has to be there."""
        if key not in self._data:
            raise PlanError(f"{self.at(key)} is missing")
        return self._data[key]

    def text(self, key: str) -> str | None:
        """Text that is not empty."""
        value = self._data.get(key)
        if value is not None and (not isinstance(value, str) or not value):
            raise PlanError(f"{self.at(key)} must be text, not {shown(value)}")
        if value is not None and has_control(value):
            raise PlanError(f"{self.at(key)} holds a control character")
        return value

    def choice(self, key: str, choices: Collection[str], later: Collection[str] = ()) -> str | None:
        """One of a few words."""
        value = self.text(key)
        if value is not None and value in later:
            raise not_available(self.at(key), value)
        if value is not None and value not in choices:
            raise PlanError(
                f'{self.at(key)} must be one of {_quoted(choices)}, not "{value}"{_likely(value, [*choices, *later])}'
            )
        return value

    def flag(self, key: str) -> bool:
        """True or false; false when it is not there."""
        value = self._data.get(key, False)
        if not isinstance(value, bool):
            raise PlanError(f"{self.at(key)} must be true or false, not {shown(value)}")
        return value

    def number(self, key: str) -> float | None:
        """A finite number."""
        value = self._data.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise PlanError(f"{self.at(key)} must be a number, not {shown(value)}")
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise PlanError(f"{self.at(key)} must be finite, not {shown(value)}")
        return number

    def epsilon(self, key: str = "epsilon") -> float | None:
        """A privacy level: a finite number above zero."""
        value = self.number(key)
        if value is not None and value <= 0:
            raise PlanError(f"{self.at(key)} must be above 0, not {value:g}")
        return value

    def required_epsilon(self) -> float:
        """The privacy level of a block, which must be there."""
        value = self.epsilon()
        if value is None:
            raise PlanError(f"{self.at('epsilon')} is missing")
        return value

    def delta(self, key: str = "delta") -> float | None:
        """A probability of failure: from 0 to 1."""
        value = self.number(key)
        if value is not None and not 0 <= value <= 1:
            raise PlanError(f"{self.at(key)} must lie between 0 and 1, not {value:g}")
        return value

    def whole(self, key: str, minimum: int) -> int | None:
        """A whole number that is large enough."""
        value = self._data.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or not minimum <= value <= limits.ROWS:
            raise PlanError(f"{self.at(key)} must be a whole number of at least {minimum}, not {shown(value)}")
        return value

    def columns(self, key: str = "columns") -> tuple[str, ...]:
        """A list of different column names."""
        value = self.required(key)
        if not isinstance(value, (list, tuple)) or not value or not all(isinstance(name, str) for name in value):
            raise PlanError(f"{self.at(key)} must be a list of column names")
        if len(value) > limits.TABLE_COLUMNS:
            raise PlanError(f"{self.at(key)} has {len(value):,} columns, over the limit of {limits.TABLE_COLUMNS:,}")
        for name, times in Counter(value).items():
            if has_control(name):
                raise PlanError(f"{self.at(key)}: the name of a column holds a control character")
            if times > 1:
                raise PlanError(f'{self.at(key)} lists "{name}" twice')
        return tuple(value)

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of different texts, which may be empty; nothing when it is not there."""
        value = self._data.get(key, [])
        if not isinstance(value, (list, tuple)) or not all(isinstance(one, str) for one in value):
            raise PlanError(f"{self.at(key)} must be a list of texts")
        if len(value) > limits.MISSING_VALUES:
            raise PlanError(f"{self.at(key)} has {len(value):,} entries, over the limit of {limits.MISSING_VALUES:,}")
        if len(set(value)) < len(value):
            raise PlanError(f"{self.at(key)} lists a text twice")
        return tuple(value)

    def section(self, key: str, keys: Collection[str]) -> Section:
        """A table inside this one; empty when it is not there."""
        return Section(self._data.get(key, {}), self.at(key), keys)

    def sections(self, key: str, keys: Collection[str], later: Collection[str] = ()) -> list[Section]:
        """A list of tables."""
        value = self._data.get(key, [])
        if not isinstance(value, (list, tuple)):
            raise PlanError(f"{self.at(key)} must be a list of tables, each written [[{key}]]")
        return [Section(data, f"{self.at(key)}[{i}]", keys, later) for i, data in enumerate(value)]


def _quoted(words: Collection[str]) -> str:
    return ", ".join(f'"{word}"' for word in words)


def _likely(word: str, known: Collection[str]) -> str:
    if len(word) > 60:
        return ""
    close = difflib.get_close_matches(word.lower(), list(known), n=1, cutoff=0.6)
    return f'; did you mean "{close[0]}"?' if close else ""
