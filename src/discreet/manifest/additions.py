"""What a release was put together from: tables that were appended to it one after the other, each under its own noise.

The rows of an addition follow those of the one before, and the order that the manifest states is that of the rows
inside each. Which addition a row came with is therefore public, like a column that was copied.

Whoever is in several additions is protected by what they promise together. Every addition declares how many rows a
person has in it; in the whole release a person has at most their sum, and ``rows_per_person`` and ``guarantee`` of the
manifest are those of that sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Self

from discreet.errors import ManifestError
from discreet.manifest.checks import flag, mapping, text, whole
from discreet.manifest.parts import PartFile
from discreet.plain_text import one_line


@dataclass(frozen=True)
class Addition:
    """One table of several: when it was released, its rows, where its chance came from, and the rows a person has.

    Parameters
    ----------
    id : str
        Of the release that added it: the one that a ledger knows.
    created : str
        UTC, ISO 8601.
    rows : int
        Released rows.
    secure : bool or None
        Whether its chance came from the cryptographic generator; None when all of it was the respondents'.
    source : str
        Where its chance came from, in words.
    rows_per_person : int or None
        Declared for this table alone.
    """

    id: str
    created: str
    rows: int
    secure: bool | None
    source: str
    rows_per_person: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "id": self.id,
            "created": self.created,
            "rows": self.rows,
            "randomness": {"secure": self.secure, "source": self.source},
            "rows_per_person": self.rows_per_person,
        }

    @classmethod
    def from_dict(cls, data: Any) -> Self:
        """Rebuild from plain data."""
        data = mapping(data, "an addition")
        chance = mapping(data.get("randomness"), "additions.randomness")
        secure, each = chance.get("secure"), data.get("rows_per_person")
        return cls(
            text(data.get("id"), "additions.id"),
            text(data.get("created"), "additions.created"),
            whole(data.get("rows"), "additions.rows", 1),
            None if secure is None else flag(secure, "additions.randomness.secure"),
            text(chance.get("source"), "additions.randomness.source"),
            None if each is None else whole(each, "additions.rows_per_person", 1),
        )


def additions_from(data: Any) -> tuple[Addition, ...]:
    """The additions that a manifest lists; none when everything was released at once."""
    if data is None:
        return ()
    if not isinstance(data, list) or len(data) < 2:
        raise ManifestError('the manifest is damaged: "additions" must be a list of at least two')
    return tuple(Addition.from_dict(one) for one in data)


def check_additions(
    additions: Sequence[Addition], rows: int, rows_per_person: int | None, files: Sequence[PartFile]
) -> None:
    """Refuse additions that do not make up the release: its rows, its rows per person, its parts."""
    if not additions:
        return
    if sum(one.rows for one in additions) != rows:
        raise ManifestError("the manifest is damaged: its additions are of another number of rows than it states")
    if len({one.id for one in additions}) < len(additions):
        raise ManifestError("the manifest is damaged: an addition is listed twice")
    if total_rows_per_person([one.rows_per_person for one in additions]) != rows_per_person:
        raise ManifestError("the manifest is damaged: its rows per person are not those of its additions together")
    ends = set(accumulate(file.rows for file in files))
    if files and not ends.issuperset(accumulate(one.rows for one in additions)):
        raise ManifestError("the manifest is damaged: an addition ends inside a part")


def total_rows_per_person(each: Sequence[int | None]) -> int | None:
    """Rows of a person who is in all additions, given those in each; None when one of them does not say."""
    declared = [rows for rows in each if rows is not None]
    return sum(declared) if len(declared) == len(each) else None


def total_security(additions: Sequence[Addition]) -> bool | None:
    """As secure as the least secure of them."""
    found = {one.secure for one in additions}
    return False if False in found else True if True in found else None


def described(additions: Sequence[Addition]) -> str:
    """One line for people."""
    each = ", ".join(f"{one.rows:,} rows on {one_line(one.created[:10])}" for one in additions)
    return f"Put together from {len(additions)} additions, one after the other: {each}"
