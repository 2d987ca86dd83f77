"""The distribution function of a column with a list of values, from its frequencies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet import arguments
from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.channels.value_numbers import NOBODY_KNOWN, value_names, value_numbers
from discreet.estimate.intervals.woodruff import Distribution
from discreet.estimate.proportions.functionals import functional_variances
from discreet.estimate.proportions.quantile_result import Quantiles, quantiles
from discreet.estimate.sampling.share_covariance import Multinomial
from discreet.mechanisms.inverse import UniformInverse

if TYPE_CHECKING:
    from discreet.estimate.proportions.result import Frequencies


#: Thresholds whose variances are worked out together (of a thousand reports, eight megabytes).
_TOGETHER = 1024


def frequency_distribution(result: Frequencies, numbers: Floats, p: float, *, listed: bool = True) -> Distribution:
    """``F̂ − p`` of the values with a number, times their share: linear in the frequencies, also where there is a blank.

    ``Σ_{x ≤ t} f_x − p Σ_x f_x`` over the values with a number is zero exactly when F(t) = p. Its variance is taken
    there: of the variance at F̂ the part that comes from sampling people, ``q((1−p)² F̂ + p² (1−F̂)) − excess²`` with
    q the share of those who have a number, is replaced by its value q p (1−p) at F = p. Without randomisation this is
    the score test of a share, which also holds in the tails, where F̂ is 0 or 1.

    Parameters
    ----------
    numbers : array
        One per value; nan for a blank.
    p : float
        The share of the quantile.
    listed : bool
        Whether these are all values that there can be; the values of a public column are those that were met.
    """
    known = np.flatnonzero(~np.isnan(numbers))
    order = known[np.argsort(numbers[known], kind="stable")]
    values = numbers[order]
    if np.any(np.diff(values) == 0):
        raise EstimationError("two values have the same number, so their order is not known: give different positions")
    f = result.estimate[order]
    share = float(f.sum())
    if share <= 0:
        raise EstimationError(NOBODY_KNOWN)
    excess = np.cumsum(f) - p * share
    everyone = np.zeros(numbers.size)
    everyone[known] = 1.0
    correction, spread = result.correction, result.spread
    line = isinstance(correction, UniformInverse) and isinstance(spread, Multinomial) and known.size == numbers.size

    below = np.cumsum(spread.shares[order]) if isinstance(spread, Multinomial) and line else np.empty(0)

    def plug_in(places: NDArray[np.int64]) -> Floats:
        if line and isinstance(correction, UniformInverse) and isinstance(spread, Multinomial):
            # One line for every value: the variance of a share of reports, times the square of its slope.
            part = below[places]
            return np.asarray(correction.scale**2 * part * (1 - part) / spread.n)
        parts = [places[start : start + _TOGETHER] for start in range(0, places.size, _TOGETHER)]
        return np.concatenate([functional_variances(result, _up_to(part)) for part in parts])

    def _up_to(places: NDArray[np.int64]) -> Floats:
        rows = np.tile(-p * everyone, (places.size, 1))
        for row, place in zip(rows, places, strict=True):
            row[order[: place + 1]] += 1.0
        return rows

    def variances(places: NDArray[np.int64]) -> Floats:
        found = plug_in(places)
        if result.target == "population":
            F = excess[places] / share + p
            sampling = share * ((1 - p) ** 2 * F + p**2 * (1 - F)) - excess[places] ** 2
            # Only the part that F̂ has beyond what is possible would make the sum negative.
            found = found + (share * p * (1 - p) - sampling) / result.evidence.kish
        return np.asarray(np.maximum(found, 0.0))

    beyond = None if listed else share * p * (1 - p) / result.evidence.kish
    return Distribution(values=values, excess=excess, variances=variances, beyond=beyond, p=p)


def quantile_of_frequencies(result: Frequencies, p: float, positions: ArrayLike | None) -> Quantiles:
    """The quantile of the values at p."""
    p = arguments.number(p, "p, the share of a quantile,", EstimationError, above=0, below=1)
    labels = result.channels.labels
    numbers = value_numbers(labels, result.channels.truths, positions, result.column)
    if result.correction is None:
        raise EstimationError("these frequencies have no standard errors, and their quantiles no interval")
    return quantiles(
        p=p,
        column=result.column,
        distributions=(frequency_distribution(result, numbers, p),),
        groups=(),
        by=None,
        n=np.array([result.n]),
        degrees_of_freedom=np.array([result.spread.degrees_of_freedom]),
        target=result.target,
        notes=result.notes,
        names={} if positions is not None else value_names(labels),
    )
