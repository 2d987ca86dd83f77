"""``delimiter`` and ``encoding``: how a CSV source is written, where it is not with commas in UTF-8."""

from __future__ import annotations

import codecs

from discreet.errors import PlanError
from discreet.publish.plan.grammar import Section


def read_delimiter(top: Section) -> str | None:
    """One character that can separate cells."""
    value = top.get("delimiter")
    if value is None:
        return None
    return checked_delimiter(value, top.at("delimiter"))


def checked_delimiter(value: object, name: str) -> str:
    """A delimiter that a reader of CSV can take: one character of ASCII, no quote, no line end."""
    if not isinstance(value, str) or len(value) != 1 or not value.isascii() or value in '"\r\n\0':
        raise PlanError(name, ' must be one character, such as ";" or a tab, and no quote or line end')
    return value


def read_encoding(top: Section) -> str | None:
    """A character encoding by a name that Python knows."""
    value = top.text("encoding")
    return None if value is None else checked_encoding(value, top.at("encoding"))


def checked_encoding(value: str, name: str) -> str:
    """The canonical name of an encoding of text."""
    try:
        found = codecs.lookup(value)
    except (LookupError, ValueError):
        found = None
    if (
        found is None
        or not getattr(found, "_is_text_encoding", True)
        or found.name in ("idna", "punycode", "undefined")
    ):
        raise PlanError(name, ' must name a character encoding, such as "utf-8", "latin-1" or "cp1252"')
    return found.name
