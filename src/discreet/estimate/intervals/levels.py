"""What all confidence intervals share: levels, methods, quantiles, Wald's interval, and the limits [0, 1]."""

from __future__ import annotations

import math

import numpy as np

from discreet import arguments
from discreet.arguments import Floats
from discreet.errors import EstimationError

#: Every interval method, with what it needs.
METHODS = (
    "wilson",
    "clopper-pearson",
    "chebyshev",
    "wald",
    "simultaneous",
    "score",
    "likelihood-ratio",
    "anytime",
    "anytime-rigorous",
)
#: Methods that have two names in use: the interval with exact binomial limits is Clopper and Pearson's.
SYNONYMS = {"exact": "clopper-pearson"}
#: Rounding of one multiplication and one addition, in units of the larger term.
_ROUNDING = 8 * np.finfo(float).eps


def checked_level(level: float) -> float:
    """A confidence level: a number strictly between zero and one."""
    return arguments.number(level, "level", EstimationError, above=0, below=1)


def checked_method(method: str) -> str:
    """The name of an interval method."""
    known = SYNONYMS.get(method, method) if isinstance(method, str) else method
    return arguments.choice(known, "the interval method", METHODS, EstimationError)


def two_sided_quantile(level: float, degrees_of_freedom: float = math.inf) -> float:
    """The normal quantile z (or Student's t) that leaves (1 − level)/2 on each side."""
    return float(two_sided_quantiles(level, np.array(degrees_of_freedom, float)))


def two_sided_quantiles(level: float, degrees_of_freedom: Floats) -> Floats:
    """The same for several degrees of freedom; infinite ones are those of the normal law."""
    from scipy.special import ndtri, stdtrit

    tail = (1 - level) / 2
    finite = np.isfinite(degrees_of_freedom)
    return np.asarray(np.where(finite, -stdtrit(np.where(finite, degrees_of_freedom, 1.0), tail), -ndtri(tail)))


def two_tails(z: Floats, degrees_of_freedom: float | Floats = math.inf) -> Floats:
    """``P(|N(0, 1)| > |z|)``, or of Student's t."""
    from scipy.special import ndtr, stdtr

    finite = np.isfinite(degrees_of_freedom)
    by_t = 2.0 * stdtr(np.where(finite, degrees_of_freedom, 1.0), -np.abs(z))
    return np.asarray(np.where(finite, by_t, 2.0 * ndtr(-np.abs(z))))


def wald(estimate: Floats, std_error: Floats, quantile: float | Floats) -> Floats:
    """``π̂ ± z·se``. Not clipped: it is an approximation, and an end outside [0, 1] says how rough it is."""
    return np.stack([estimate - quantile * std_error, estimate + quantile * std_error], axis=-1)


def within_unit(low: Floats, high: Floats, scale: float | Floats = 1.0) -> Floats:
    """The intersection with [0, 1]; (nan, nan) where it is empty: such reports contradict the design.

    ``scale`` is the size of the terms that were added up: ends that miss [0, 1] by their rounding still touch it.
    """
    rounding = _ROUNDING * np.asarray(scale)
    ends = np.stack([np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)], axis=-1)
    with np.errstate(invalid="ignore"):
        touches = (low <= 1 + rounding) & (high >= -rounding)
    ends[~touches] = np.nan
    return ends
