"""discreet: private answers, honest statistics.

Design the best randomisation for a privacy level, release data through it with an exact, certified guarantee,
and learn from the reports with valid error bars.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet import errors
from discreet._version import __version__
from discreet.errors import *  # noqa: F403  # its __all__ is the list of errors
from discreet.lazy_names import lazy_names

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

_HOMES = {
    **dict.fromkeys(("design", "estimate", "learning", "mechanisms", "privacy")),
    **dict.fromkeys(("Binary", "Box", "Categorical", "Grid", "Metric", "Ordinal"), "domains"),
    **dict.fromkeys(("Plan", "Release", "release"), "publish"),
    "Guarantee": "privacy",
    "Randomness": "randomness",
}


__getattr__, __dir__ = lazy_names(__name__, _HOMES)
