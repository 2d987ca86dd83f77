"""How many people for a margin, and which margin for so many people."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet import arguments
from discreet.design.planning.efficient_variance import (
    efficient_variance,
    likelihood_ratio_margin,
    worst_efficient_variance,
)
from discreet.design.planning.statistical_power import Aim, Conduct, people_for
from discreet.design.planning.statistical_power import finite as written_out
from discreet.design.result import Design
from discreet.errors import Argument, DesignError
from discreet.mechanisms import FiniteMechanism, ZeroInflatedLaplace
from discreet.mechanisms.cyclic import CyclicInverse
from discreet.mechanisms.finite import MAX_MATRIX
from discreet.mechanisms.inverse import UniformInverse

#: How far likelihood-ratio intervals may be wider than the margin that normal theory promises.
_LARGEST_EXCESS = 1.05
#: An interval of fewer standard errors than this is a point.
_LEAST_QUANTILE = 1e-6


class _Moments(NamedTuple):
    """Second moments of one debiased answer about a value: under that truth, and the largest under another."""

    own: NDArray[np.float64]
    other: NDArray[np.float64]


def sample_size(
    mechanism: FiniteMechanism | Design[FiniteMechanism],
    margin: float | Aim,
    level: float = 0.95,
    prevalence: ArrayLike | None = None,
    *,
    method: str = "auto",
    power: float = 0.8,
    design_effect: float = 1.0,
    response_rate: float = 1.0,
    noncompliance: float = 0.0,
) -> int:
    """How many people are needed so that every frequency is known to ± ``margin``, or an effect found with some power.

    ``n = ⌈z² V / margin²⌉`` with V the variance of one answer at the stated prevalence, or at the worst distribution of
    truths when nothing is known: the variance of a debiased answer, or for maximum likelihood the inverse Fisher
    information of the reports.

    Parameters
    ----------
    mechanism : FiniteMechanism or Design
        How answers are randomised; a design stands for its mechanism.
    margin : float, or Prevalence, Difference, Coefficient or Association
        Half the width of the interval, e.g. 0.02 for ± 2 %; or what is to be found, see :func:`discreet.design.power`.
    level : float
        Confidence level of the interval.
    prevalence : float or array, optional
        Expected share of "yes", or the expected frequency of every value.
    method : {"auto", "unbiased", "mle"}
        The estimator that the figure is for, as in :func:`discreet.estimate.frequencies`. "auto" is maximum likelihood
        where it gains and can: with more reports than truths and a stated prevalence. Elsewhere the two have the same
        variance, or the worst case is that of the unbiased estimate. :func:`precision_method` says which.
    power : float
        The chance with which an effect is to be found; a margin does not need it.
    design_effect, response_rate, noncompliance : float
        How the survey goes, as in :func:`discreet.design.power`. For a margin, people who do not comply shift the
        estimate by a known amount at most, for which the margin has to make room.

    Notes
    -----
    For maximum likelihood the interval is the likelihood ratio. Where values are rare, the normal approximation
    promises too much; n is therefore at least so large that the likelihood-ratio interval from reports exactly as
    expected is within 5 % of the margin.

    Examples
    --------
    >>> from discreet import design
    >>> sample_size(design.binary(1.0).mechanism, margin=0.02)
    11243
    >>> flagged = design.binary(0.5, 0.1, prevalence=0.02, reports=4)
    >>> sample_size(flagged, margin=0.02, prevalence=0.02)
    1802
    >>> sample_size(flagged, margin=0.02, prevalence=0.02, method="unbiased")
    13380
    >>> sample_size(design.binary(1.0), design.Difference(0.1, 0.2), response_rate=0.6)
    5479
    """
    conduct = Conduct.checked(design_effect, response_rate, noncompliance)
    power = arguments.number(power, "power", DesignError, above=0, below=1)
    quantile = _quantile(level)
    if isinstance(margin, Aim):
        if prevalence is not None:
            raise DesignError(
                Argument("prevalence"), " goes with a margin; what is to be found says itself how frequent it is"
            )
        return people_for(margin, written_out(mechanism), power, level, conduct)
    width = arguments.number(margin, "margin", DesignError, above=0)
    mechanism = _finite(mechanism)
    shift = _shift(mechanism, prevalence, conduct)
    if shift >= width:
        raise DesignError(
            f"people who do not comply shift a frequency by up to {shift:.3g}, which a margin of {width:g} cannot hold "
            "however many are asked"
        )
    width -= shift
    ratio = quantile / width
    needed = _variance(mechanism, prevalence, method) * ratio * ratio
    if not math.isfinite(needed):
        raise DesignError(f"a margin of {margin} would need more people than a number can count")
    n = max(1, math.ceil(needed))
    if prevalence is not None and precision_method(mechanism, prevalence, method) != "unbiased":
        n = _smallest(n, lambda people: _realised(mechanism, prevalence, people, quantile) <= width)
    return conduct.asked(n)


def margin(
    mechanism: FiniteMechanism | Design[FiniteMechanism],
    n: float,
    level: float = 0.95,
    prevalence: ArrayLike | None = None,
    *,
    method: str = "auto",
    design_effect: float = 1.0,
    response_rate: float = 1.0,
    noncompliance: float = 0.0,
) -> float:
    """Half the width of the interval for every frequency with n people: ``z √(V/n)``.

    See `sample_size` for the parameters and for what is different where values are rare. What people who do not comply
    shift a frequency by at most is added.

    Examples
    --------
    >>> from discreet import design
    >>> round(margin(design.binary(1.0).mechanism, n=11243), 4)
    0.02
    """
    n = arguments.number(n, "n", DesignError, least=1)
    mechanism = _finite(mechanism)
    quantile = _quantile(level)
    conduct = Conduct.checked(design_effect, response_rate, noncompliance)
    n *= conduct.response_rate / conduct.design_effect
    shift = _shift(mechanism, prevalence, conduct)
    half = quantile * math.sqrt(_variance(mechanism, prevalence, method) / n)
    if prevalence is None or precision_method(mechanism, prevalence, method) == "unbiased":
        return half + shift
    return max(half, _realised(mechanism, prevalence, n, quantile)) + shift


def mean_margin(mechanism: ZeroInflatedLaplace, n: float, level: float = 0.95) -> NDArray[np.float64]:
    """Half the width of the interval for the mean of every coordinate, at the worst distribution of the truth."""
    from discreet.design.numbers.mean_variance import noisy_mean_variance

    n = arguments.number(n, "n", DesignError, least=1)
    widths, scales = mechanism.box.widths, mechanism.noise_scale
    zero = mechanism.zero_probability
    variances = widths**2 * np.array([noisy_mean_variance(float(one), zero) for one in scales / widths])
    return np.asarray(_quantile(level) * np.sqrt(variances / n))


def precision_method(mechanism: FiniteMechanism, prevalence: ArrayLike | None = None, method: str = "auto") -> str:
    """The estimator that `sample_size` and `margin` speak of: "unbiased" or "mle"."""
    method = arguments.choice(method, "method", ("auto", "unbiased", "mle"), DesignError)
    if method != "auto":
        return method
    truths, reports = _finite(mechanism).shape
    return "mle" if MAX_MATRIX >= reports > truths and prevalence is not None else "unbiased"


def _shift(mechanism: FiniteMechanism, prevalence: ArrayLike | None, conduct: Conduct) -> float:
    """How far a frequency moves at most when a share c of the people gives the first report: ``c |A[t, 0] − f_t|``."""
    if conduct.noncompliance == 0:
        return 0.0
    first = np.zeros(mechanism.shape[1])
    first[0] = 1.0
    gained = mechanism.inverse.apply(first)
    if prevalence is None:
        return conduct.noncompliance * float(np.maximum(np.abs(gained), np.abs(gained - 1)).max())
    return conduct.noncompliance * float(np.abs(gained - _checked_frequencies(prevalence, mechanism.shape[0])).max())


def _variance(mechanism: FiniteMechanism, prevalence: ArrayLike | None, method: str) -> float:
    """The largest variance, over values, that one answer contributes to the estimate."""
    truths, reports = mechanism.shape
    if precision_method(mechanism, prevalence, method) == "unbiased" or reports == truths:  # square: one variance
        return answer_variance(mechanism, prevalence)
    _ = mechanism.inverse  # values that cannot be told apart are refused by name
    if prevalence is None:
        return worst_efficient_variance(mechanism)
    return efficient_variance(mechanism, _checked_frequencies(prevalence, truths))


def _realised(mechanism: FiniteMechanism, prevalence: ArrayLike, n: float, quantile: float) -> float:
    """Half the width of the likelihood-ratio interval from the expected reports, less the tolerance; zero without."""
    frequencies = _checked_frequencies(prevalence, mechanism.shape[0])
    if quantile < _LEAST_QUANTILE:
        return 0.0
    half = likelihood_ratio_margin(mechanism, frequencies, n, quantile)
    return 0.0 if half is None else half / _LARGEST_EXCESS


def _smallest(n: int, enough: Callable[[int], bool]) -> int:
    """The smallest number of people from n on that is enough: doubling, then halving."""
    if enough(n):
        return n
    low, high = n, 2 * n
    while not enough(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _finite(given: Any) -> FiniteMechanism:
    mechanism = given.mechanism if isinstance(given, Design) else given
    if not isinstance(mechanism, FiniteMechanism):
        raise DesignError(f"a mechanism with finitely many reports is needed, not {type(mechanism).__name__}")
    return mechanism


def _quantile(level: float) -> float:
    level = arguments.number(level, "level", DesignError, above=0, below=1)
    return NormalDist().inv_cdf((1 + level) / 2)


def answer_variance(mechanism: FiniteMechanism, prevalence: ArrayLike | None = None) -> float:
    """The largest variance, over values, of one debiased answer.

    A debiased answer φ has E[φ | truth x'] = 1{x' = x}. With second moments v under x and at most w under any
    other truth, its variance is ``t v + (1 − t) w − t²`` at frequency t, largest at t = (v − w)/2.
    """
    mechanism = _finite(mechanism)
    if prevalence is not None:
        frequencies = _checked_frequencies(prevalence, mechanism.shape[0])
        return float(mechanism.inverse.variances(_report_shares(mechanism, frequencies)).max())
    own, other = _moments(mechanism)
    t = np.clip((own - other) / 2, 0, 1)
    return float((t * own + (1 - t) * other - t * t).max())


def _report_shares(mechanism: FiniteMechanism, frequencies: NDArray[np.float64]) -> NDArray[np.float64]:
    if isinstance(mechanism.inverse, CyclicInverse):
        return mechanism.inverse.report_shares(frequencies)
    if max(mechanism.shape) <= MAX_MATRIX:
        return np.asarray(frequencies @ mechanism.matrix())
    keep, other = _large_symmetric(mechanism)
    return other + (keep - other) * frequencies


def _moments(mechanism: FiniteMechanism) -> _Moments:
    if max(mechanism.shape) <= MAX_MATRIX:
        second = (mechanism.inverse.as_matrix() ** 2) @ mechanism.matrix().T  # value × truth
        own = np.diag(second).copy()
        np.fill_diagonal(second, -np.inf)
        return _Moments(own, second.max(axis=1))
    if isinstance(mechanism.inverse, CyclicInverse):
        own, worst = mechanism.inverse.conditional_variances()
        return _Moments(own + 1, worst)
    # All values are alike; the mean of the debiased answer is 1 under the value itself and 0 under another.
    keep, other = _large_symmetric(mechanism)
    own, another = mechanism.inverse.variances(np.array([keep, other]))
    return _Moments(np.array([own + 1]), np.array([another]))


def _large_symmetric(mechanism: FiniteMechanism) -> tuple[float, float]:
    """Probabilities (keep, other) of a channel too large to write out; only symmetric ones are that large."""
    inverse = mechanism.inverse
    if not isinstance(inverse, UniformInverse):
        raise DesignError(f"margins are limited to {MAX_MATRIX:,} values for this kind of mechanism")
    other = -inverse.shift / inverse.scale
    return other + 1 / inverse.scale, other


def _checked_frequencies(prevalence: ArrayLike, truths: int) -> NDArray[np.float64]:
    values = arguments.floats(prevalence, "prevalence", DesignError)
    if values.ndim == 0 and truths == 2:
        values = np.array([1 - float(values), float(values)])
    if values.shape != (truths,) or np.any(~(values >= 0)) or abs(values.sum() - 1) > 1e-9:
        raise DesignError(
            Argument("prevalence"),
            f" must be a number between 0 and 1 for two values, or {truths} frequencies that sum to 1, one per value",
        )
    return values
