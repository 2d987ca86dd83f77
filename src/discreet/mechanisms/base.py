"""What every mechanism is: a frozen value that promises something, randomises, and can be written down.

Mechanisms that randomise all columns of a record together: rows in, rows out.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet import arguments, limits
from discreet.errors import DomainError, ManifestError, MechanismError
from discreet.privacy import Guarantee
from discreet.randomness import Randomness

#: Kinds that people call otherwise than a manifest does.
_CALLED = {"generalized": "generalised", "joint-view": "joint"}


class Mechanism(ABC):
    """How values are randomised. A mechanism holds no random state and can be shared freely.

    Values go in one by one (:class:`FiniteMechanism`) or as whole records (:class:`RecordMechanism`).
    """

    #: The name under which a manifest knows this kind. It never changes.
    kind: ClassVar[str]

    @property
    def title(self) -> str:
        """What people call it."""
        return f"{_CALLED.get(self.kind, self.kind)} response"

    @property
    @abstractmethod
    def guarantee(self) -> Guarantee:
        """What is promised, recomputed from the exact law of the reports."""

    @abstractmethod
    def privatize(self, x: ArrayLike, randomness: Randomness | None = None) -> NDArray[Any]:
        """Randomise values; secure unless a seeded source is given."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Plain data for a manifest: integers as text, nothing that has to be recomputed from ε."""

    @classmethod
    @abstractmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild from the integers of ``to_dict``."""


def integer_codes(x: ArrayLike, expected: str = "whole numbers from 0") -> NDArray[Any]:
    """Codes of true values as an array of integers; false and true are 0 and 1."""
    if type(x) is not np.ndarray and np.ma.isMaskedArray(x):  # numpy.ma loads when it is asked for
        raise DomainError("a masked array has values that are missing; fill them or leave their rows out")
    codes = arguments.array(x, "codes", DomainError)
    if codes.size == 0:
        return codes.astype(np.uint8)
    if codes.dtype == np.bool_:
        return codes.view(np.uint8)
    if codes.dtype.kind not in "iu":
        raise DomainError(f"codes must be integers, not {codes.dtype}", expected=expected)
    return codes


def stored_int(data: Mapping[str, Any], key: str) -> int:
    """An integer that a manifest holds as text."""
    value = data.get(key)
    try:
        if isinstance(value, str) and len(value) <= limits.NUMBER_CHARACTERS:
            return int(value)
    except ValueError:
        pass
    raise ManifestError(f'a mechanism in the manifest is damaged: "{key}" must be an integer written as text')


def stored_rows(data: Mapping[str, Any]) -> list[list[int]]:
    """Rows of integers that a manifest holds as text."""
    rows = data.get("rows")
    if isinstance(rows, list) and all(isinstance(row, list) for row in rows):
        return [[stored_int({"weight": weight}, "weight") for weight in row] for row in rows]
    raise ManifestError('a mechanism in the manifest is damaged: "rows" must be lists of integers written as text')


def stored_epsilon(data: Mapping[str, Any]) -> float | None:
    """The ε of an (ε, δ) statement, or None."""
    value = data.get("epsilon")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value >= 0:
        raise ManifestError('a mechanism in the manifest is damaged: "epsilon" must be a number ≥ 0 or absent')
    return float(value)


def stated_epsilon(epsilon: float | None) -> float | None:
    """Check the ε at which a guarantee is to be stated."""
    if epsilon is None:
        return None
    return arguments.number(epsilon, "epsilon", MechanismError, least=0)


class RecordMechanism(Mechanism):
    """How the columns of a record are randomised together; ``privatize`` takes an (n, ``dimension``) array."""

    @property
    @abstractmethod
    def dimension(self) -> int:
        """Number of columns."""

    @property
    def record_guarantee(self) -> Guarantee:
        """What is promised about a whole record, also where ``guarantee`` is stated for less."""
        return self.guarantee

    @abstractmethod
    def view(self, *columns: int) -> Mechanism:
        """What some columns alone went through.

        A finite channel, for several columns one of combined codes; a mechanism of shorter records where the reports
        are not finitely many.
        """
