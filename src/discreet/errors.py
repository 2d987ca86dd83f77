"""The errors of discreet.

::

    DiscreetError
    ├── InputError              what was given is wrong: one clear sentence, exit code 2
    │   ├── DomainError         a value does not belong to its domain
    │   ├── PrivacyError        a privacy parameter or request that cannot be met
    │   │   └── BudgetError     a plan needs more than its budget
    │   ├── MechanismError      a mechanism that is not a channel
    │   ├── DesignError         a design that cannot be made: any argument but a privacy level
    │   ├── PlanError           a plan that cannot be read or is not complete
    │   ├── ManifestError       a manifest that is damaged, too new or does not fit its file
    │   ├── ReleaseError        a table or file that cannot be released or opened as asked
    │   └── EstimationError     an estimate that cannot be made from what is there
    │       └── NotIdentifiedError   the channel does not tell the values apart
    └── SystemFailureError      the machine failed (disk full): exit code 1

Messages never contain a private value.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = [
    "BudgetError",
    "DesignError",
    "DiscreetError",
    "DomainError",
    "EstimationError",
    "InputError",
    "ManifestError",
    "MechanismError",
    "NotIdentifiedError",
    "PlanError",
    "PrivacyError",
    "ReleaseError",
    "SystemFailureError",
]


class Argument(str):
    """An argument within a message, as Python writes it: ``missing="drop"``, or its name alone.

    >>> Argument('missing="drop"').name, Argument('missing="drop"').value, Argument("level").value
    ('missing', 'drop', None)
    """

    __slots__ = ()

    @property
    def name(self) -> str:
        """The name of the argument."""
        return self.partition("=")[0]

    @property
    def value(self) -> str | None:
        """The value as text, without quotes; None where the argument is named without one."""
        _, given, value = self.partition("=")
        return value.strip('"') if given else None


class Worded(Exception):  # noqa: N818  # warnings are worded too
    """An error or a warning whose message is in pieces.

    Parameters
    ----------
    *parts : str, Argument or Worded
        Arguments are pieces of their own, so that the command line and plans name them in their words. All other text,
        which may quote what users wrote, stays as it is.
    """

    parts: tuple[str, ...]

    def __init__(self, *parts: str | Worded) -> None:
        flat: list[str] = []
        for part in parts:
            flat += part.parts if isinstance(part, Worded) else [part]
        self.parts = tuple(flat)
        super().__init__("".join(flat))

    def worded(self, write: Callable[[Argument], str]) -> str:
        """The message with its arguments in other words."""
        return "".join(write(part) if isinstance(part, Argument) else part for part in self.parts)


class DiscreetError(Worded):
    """Base of every error that discreet raises on purpose."""


class InputError(DiscreetError, ValueError):
    """What was given is wrong; the message says what, where and which bound."""


class DomainError(InputError):
    """A value does not belong to its domain.

    Attributes
    ----------
    column : str or None
        The column in which it was found.
    row : int or None
        Its row, counted from 0.
    expected : str
        What the domain accepts.
    value : object
        The offending value. It is private: it is kept here for the steward to look at, and it is never part
        of the message.
    violations : tuple
        Where a whole table was checked: what is wrong with each column (column, rows, first_row, what, value, near).
    """

    violations: tuple[Any, ...] = ()

    def __init__(
        self,
        *problem: str | Worded,
        column: str | None = None,
        row: int | None = None,
        expected: str = "",
        value: Any = None,
    ) -> None:
        self._problem = problem
        self.column = column
        self.row = row
        self.expected = expected
        self.value = value
        where = []
        if self.column is not None:
            where.append(f'column "{self.column}"')
        if self.row is not None:
            where.append(f"row {self.row} (counted from 0)")
        expects = (f"; expected {self.expected}",) if self.expected else ()
        super().__init__(*((f"{', '.join(where)}: ",) if where else ()), *problem, *expects)

    @property
    def problem(self) -> str:
        """What is wrong, without where."""
        return "".join(map(str, self._problem))

    def at(self, *, column: str | None = None, first_row: int = 0) -> DomainError:
        """The same error, placed in a table: named column, rows shifted by the rows before this batch."""
        return type(self)(
            *self._problem,
            column=self.column if column is None else column,
            row=None if self.row is None else self.row + first_row,
            expected=self.expected,
            value=self.value,
        )


class PrivacyError(InputError):
    """A privacy parameter that makes no sense, or a request that cannot be met exactly."""


class BudgetError(PrivacyError):
    """A plan needs more privacy budget than it declares."""


class MechanismError(InputError):
    """Numbers that do not describe a mechanism."""


class DesignError(InputError):
    """A design that cannot be made from what is given.

    The functions of `discreet.design` raise two kinds of errors for what they are given: `PrivacyError` for privacy
    levels (ε, δ, the chance of publishing exactly), this one for all else.
    """


class PlanError(InputError):
    """A plan that cannot be read, or that asks for something that is not there."""


class ManifestError(InputError):
    """A manifest that is damaged, newer than this software, or not the one of its file."""


class ReleaseError(InputError):
    """A table or a file that cannot be released or opened as asked."""


class EstimationError(InputError):
    """An estimate that cannot be made from what is there."""


class NotIdentifiedError(EstimationError):
    """The channel does not tell all values apart, so the reports cannot say how frequent each one is.

    Attributes
    ----------
    groups : tuple of tuple of int
        Codes of the values that the reports cannot separate.
    """

    def __init__(self, *parts: str | Worded, groups: tuple[tuple[int, ...], ...] = ()) -> None:
        self.groups = groups
        super().__init__(*parts)


class SystemFailureError(DiscreetError, OSError):
    """The machine failed while working: disk full, no permission, file vanished."""
