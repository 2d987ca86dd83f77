"""Small checks with which a manifest is read: what does not fit is a damaged manifest, in one sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet import limits
from discreet.errors import InputError, ManifestError
from discreet.plain_text import has_control

#: What plain data of the wrong shape lead to.
_SHAPELESS = (AttributeError, KeyError, TypeError, ValueError, OverflowError, ZeroDivisionError)


class damaged:  # noqa: N801  # reads like a statement where it is used
    """Say of anything that goes wrong inside that this part of the manifest is damaged."""

    __slots__ = ("_what",)

    def __init__(self, what: str) -> None:
        self._what = what

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: Any) -> None:
        if error is None or isinstance(error, ManifestError):
            return
        if isinstance(error, InputError):
            raise ManifestError(f"{self._what} in the manifest is damaged ({error})") from None
        if isinstance(error, _SHAPELESS):
            raise ManifestError(f"{self._what} in the manifest is damaged ({type(error).__name__})") from None


def mapping(value: Any, what: str) -> Mapping[str, Any]:
    """A JSON object."""
    if not isinstance(value, (dict, Mapping)):  # a dict is recognised at once, an abstract Mapping slowly
        raise ManifestError(f"{what} in the manifest is damaged: an object was expected")
    return value


def text(value: Any, what: str) -> str:
    """A string that is not empty."""
    if not isinstance(value, str) or not value:
        raise ManifestError(f"the manifest is damaged: {what} must be text")
    if has_control(value):
        raise ManifestError(f"the manifest is damaged: {what} holds a control character")
    return value


def optional_text(value: Any, what: str) -> str | None:
    """A string that is not empty, or nothing."""
    return None if value is None else text(value, what)


def names(value: Any, what: str) -> tuple[str, ...]:
    """A list of different names."""
    if not isinstance(value, list) or len(set(map(repr, value))) != len(value):
        raise ManifestError(f"the manifest is damaged: {what} must be a list of different names")
    return tuple(text(name, what) for name in value)


def whole(value: Any, what: str, minimum: int) -> int:
    """A whole number that is large enough."""
    if isinstance(value, bool) or not isinstance(value, int) or not minimum <= value <= limits.ROWS:
        raise ManifestError(f"the manifest is damaged: {what} must be a whole number of at least {minimum}")
    return value


def flag(value: Any, what: str) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise ManifestError(f"the manifest is damaged: {what} must be true or false")
    return value


def one_of(value: Any, what: str, choices: tuple[str, ...]) -> str:
    """One of a few words."""
    if value not in choices:
        raise ManifestError(f"the manifest is damaged: {what} must be one of {', '.join(choices)}")
    return str(value)
