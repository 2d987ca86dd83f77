"""discreet: private answers, honest statistics.

Design the best randomisation for a privacy level, release data through it with an exact, certified guarantee,
and learn from the reports with valid error bars.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from discreet import errors
from discreet._version import __version__
from discreet.errors import *  # noqa: F403  # its __all__ is the list of errors

if TYPE_CHECKING:
    from discreet import design, estimate, mechanisms, privacy
    from discreet.domains import Binary, Box, Categorical, Grid, Metric, Ordinal
    from discreet.privacy import Guarantee
    from discreet.publish import Plan, Release, release
    from discreet.randomness import Randomness

__all__ = [  # noqa: PLE0604  # errors.__all__ is a list of names
    "Binary",
    "Box",
    "Categorical",
    "Grid",
    "Guarantee",
    "Metric",
    "Ordinal",
    "Plan",
    "Randomness",
    "Release",
    "__version__",
    "design",
    "estimate",
    "mechanisms",
    "privacy",
    "release",
    *errors.__all__,
]

_MODULES = ("design", "estimate", "learning", "mechanisms", "privacy")
_HOMES = {
    **dict.fromkeys(("Binary", "Box", "Categorical", "Grid", "Metric", "Ordinal"), "domains"),
    **dict.fromkeys(("Plan", "Release", "release"), "publish"),
    "Guarantee": "privacy",
    "Randomness": "randomness",
}


def __getattr__(name: str) -> Any:
    """Load what is asked for when it is first asked for: the import itself waits for nothing."""
    if name in _MODULES:
        return import_module(f"discreet.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'discreet' has no attribute {name!r}")
    value = getattr(import_module(f"discreet.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
