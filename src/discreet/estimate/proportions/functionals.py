"""Linear functionals of frequencies, ``c'f̂`` with its variance: means, shares of sets, distribution functions.

With ``f̂ = A p̂`` a functional is ``c'f̂ = Σ_y a_y p̂_y`` with the scores ``a = Aᵀc`` of the reports, so that its variance
is that of a mean of scores under the law of the report shares (:mod:`~discreet.estimate.sampling.share_covariance`). No
covariance matrix of all frequencies is needed.

The distribution function of a column with a list of values, from its frequencies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet import arguments
from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.channels.channel import Channels
from discreet.estimate.channels.debiased_scores import support_of
from discreet.estimate.channels.value_numbers import NOBODY_KNOWN, place_notes, value_names, value_numbers
from discreet.estimate.intervals.bounded_mean import Support
from discreet.estimate.intervals.woodruff import Distribution
from discreet.estimate.means.result import Statistic, single_row_notes
from discreet.estimate.proportions.quantile_result import Quantiles, quantiles
from discreet.estimate.sampling.share_covariance import Multinomial
from discreet.estimate.sampling.weighted_counts import People
from discreet.mechanisms.inverse import UniformInverse

if TYPE_CHECKING:
    from discreet.estimate.proportions.result import Frequencies


def functional_variances(result: Frequencies, functionals: Floats) -> Floats:
    """Variances of ``c'f̂`` for each row c; nan where the frequencies have no standard errors."""
    if result.correction is None:
        return np.full(len(functionals), np.nan)
    scores = np.stack([result.correction.scores(row) for row in functionals])
    squares = np.stack([result.correction.scores(row * row) for row in functionals])
    return result.spread.score_variances(scores, squares)


def functional(result: Frequencies, scores: ArrayLike) -> Statistic:
    """``Σ_x c_x f̂_x`` with its error."""
    numbers = arguments.floats(scores, "scores", EstimationError)
    if numbers.shape != result.estimate.shape:
        raise EstimationError(f"scores must be {result.estimate.size} finite numbers, one per value")
    return _statistic(result, "functional", float(numbers @ result.estimate), numbers)


def mean_of_frequencies(result: Frequencies, positions: ArrayLike | None) -> Statistic:
    """The mean of the values, over those who have a number: ``Σ c_x f_x/Σ f_x`` without the blank.

    A ratio where there is a blank; its error is that of ``Σ (c_x − mean)·f_x`` over the values with a number, divided
    by their share.
    """
    numbers = value_numbers(result.channels.labels, result.channels.truths, positions, result.column)
    known = ~np.isnan(numbers)
    share = float(result.estimate[known].sum())
    if share <= 0:
        raise EstimationError(NOBODY_KNOWN)
    mean = float(numbers[known] @ result.estimate[known]) / (share if not known.all() else 1.0)
    if known.all():
        return _statistic(result, "mean", mean, numbers, place_notes(result.channels.labels, positions))
    residual = np.where(known, numbers - mean, 0.0) / share
    return _statistic(result, "mean", mean, residual, place_notes(result.channels.labels, positions), ratio=True)


def _statistic(
    result: Frequencies,
    what: str,
    estimate: float,
    numbers: Floats,
    notes: tuple[str, ...] = (),
    *,
    ratio: bool = False,
) -> Statistic:
    """``estimate`` with the variance of ``Σ_x numbers_x f̂_x``, as :func:`discreet.estimate.mean` states it."""
    n, degrees, simple = np.array([result.n]), result.spread.degrees_of_freedom, None
    variance = functional_variances(result, numbers[None])
    for_intervals = variance.copy() if result.target == "population" else None
    if isinstance(result.spread, Multinomial):
        degrees = max(result.n - 1.0, 1.0)
        for_intervals = variance * (result.n / degrees)
    elif result.target == "population" and result.correction is not None:
        plain = Multinomial(result.evidence.shares, result.n)
        simple = plain.score_variances(result.correction.scores(numbers)[None], np.empty(0))
    support = None if ratio or result.target == "table" else _support(result, numbers)
    if support is not None and for_intervals is not None:
        for_intervals = np.maximum(for_intervals, support.least / result.evidence.kish)
    return Statistic(
        what=what,
        column=result.column,
        estimate=np.array([estimate]),
        covariance=variance[:, None].copy(),
        n=n,
        degrees_of_freedom=np.array([degrees]),
        target=result.target,
        notes=(*result.notes, *notes, *single_row_notes((), n)),
        support=support,
        interval_variance=for_intervals,
        simple_variance=simple,
        people=People.of(result.evidence, result.target),
    )


def _support(result: Frequencies, numbers: Floats) -> Support | None:
    """Where a functional can lie, of one column whose unbiased frequencies it is made of."""
    if result.correction is None or result.method != "unbiased" or not isinstance(result.channels, Channels):
        return None
    return support_of(result.channels, result.correction.scores(numbers), numbers)


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
