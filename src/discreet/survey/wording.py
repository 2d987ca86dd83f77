"""The words of a page that are not the researcher's: one file per language, all with the same keys."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources

#: Languages that a page can speak. A new one is a file in ``assets/words``.
LANGUAGES = ("ar", "de", "en", "es", "fr")


def asset(name: str) -> str:
    """The text of a file that pages are made of."""
    return resources.files("discreet.survey").joinpath("assets", name).read_text(encoding="utf-8")


@cache
def _words(language: str) -> str:
    return asset(f"words/{language}.json")


def wording(language: str) -> dict[str, str]:
    """Key to sentence.

    >>> wording("de")["send"]
    'Senden'
    """
    found: dict[str, str] = json.loads(_words(language))
    return found
