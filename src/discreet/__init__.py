"""discreet: private answers, honest statistics.

Design the best randomisation for a privacy level, release data through it with an exact, certified guarantee,
and learn from the reports with valid error bars.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet import errors, mechanisms, privacy
from discreet._version import __version__
from discreet.domains import Binary, Box, Categorical, Grid, Metric, Ordinal
from discreet.errors import *  # noqa: F403  # its __all__ is the list of errors
from discreet.manifest import Release
from discreet.privacy import Guarantee
from discreet.publish import Plan, release
from discreet.randomness import Randomness

if TYPE_CHECKING:
    from discreet import design, estimate

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


def __getattr__(name: str) -> Any:
    """Load the two largest modules when they are first asked for: a release needs neither at once."""
    if name in ("design", "estimate"):
        from importlib import import_module

        return import_module(f"discreet.{name}")
    raise AttributeError(f"module 'discreet' has no attribute {name!r}")
