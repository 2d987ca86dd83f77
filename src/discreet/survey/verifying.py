"""Is what is served byte for byte what the plan builds? Anybody with the plan can ask."""

from __future__ import annotations

import hashlib
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import Any

from discreet.errors import InputError, SystemFailureError
from discreet.survey.page import build_page, web_address
from discreet.survey.questionnaire import Questionnaire

#: No page is longer.
_MOST_BYTES = 20_000_000
_SECONDS = 30


@dataclass(frozen=True)
class Verified:
    """A comparison.

    Attributes
    ----------
    served, built : str
        SHA-256 of the page that was served, and of the page that the plan builds.
    first_difference : int or None
        The first byte that differs; None where none does.
    """

    served: str
    built: str
    first_difference: int | None

    @property
    def same(self) -> bool:
        """Whether every byte is."""
        return self.first_difference is None

    def summary(self) -> str:
        """For people."""
        if self.same:
            return f"The page that is served is the one that the plan builds (SHA-256 {self.built})."
        return (
            "The page that is served is NOT the one that the plan builds: they differ from byte "
            f"{self.first_difference:,} on.\nServed SHA-256 {self.served}\nBuilt  SHA-256 {self.built}\n"
            "Whoever alters the page can read the answers."
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "same": self.same,
            "served": self.served,
            "built": self.built,
            "first_difference": self.first_difference,
        }


def verify_page(address: str, survey: Questionnaire, collector: str | None = None, *, test: bool = False) -> Verified:
    """Fetch a page and compare it with what the plan builds."""
    if web_address(address) is None:
        raise InputError("the address of a page begins with https:// or http://, and has no query and no spaces")
    try:
        with urllib.request.urlopen(address, timeout=_SECONDS) as answer:
            served = answer.read(_MOST_BYTES)
    except (urllib.error.URLError, OSError, ValueError) as error:
        raise SystemFailureError(
            f"the page cannot be fetched ({getattr(error, 'reason', type(error).__name__)})"
        ) from None
    built = build_page(survey, collector, test=test).content
    pairs = zip(served, built, strict=False)
    differs = next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(served), len(built)))
    digests = hashlib.sha256(served).hexdigest(), hashlib.sha256(built).hexdigest()
    return Verified(*digests, None if served == built else differs)
