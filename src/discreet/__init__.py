"""discreet: private answers, honest statistics.

Design the best randomisation for a privacy level, release data through it with an exact, certified guarantee,
and learn from the reports with valid error bars.
"""

from discreet import design, errors, estimate, mechanisms, privacy
from discreet._version import __version__
from discreet.domains import Binary, Box, Categorical, Grid, Metric, Ordinal
from discreet.errors import *  # noqa: F403  # its __all__ is the list of errors
from discreet.manifest import Release
from discreet.privacy import Guarantee
from discreet.publish import Plan, release
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
