"""What one row says about the mean of a column: a number whose expectation is that of its truth.

Of a public column it is the value itself. Of a randomised one with numbers c_x for its values it is ``a_y = (Aᵀc)_y``
for the report y, since ``Q a = c``; of numbers with noise see :mod:`discreet.estimate.means.box_scores`. Each row has
two scores: that of x − centre, and that of "x is known", which is 1 unless a blank is one of the values; the mean of x
over those who have one is centre plus the ratio of the two means.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import Floats
from discreet.errors import EstimationError, NotIdentifiedError
from discreet.estimate.channels.channel import Channels
from discreet.estimate.channels.report_codes import count_reports
from discreet.estimate.intervals.bounded_mean import Support
from discreet.mechanisms import UnbiasedResponse

#: A functional is identified when no direction that the channel erases changes it by more than this share.
_IN_RANGE = 1e-9
#: Entries of a channel that are written out for the spread of its scores.
_MAX_CHANNEL = 1 << 22


class Scores(Protocol):
    """Numbers of rows whose means are those of the truths."""

    #: Subtracted from every number, so that large numbers keep their figures.
    centre: float
    #: What a simple random sample loses in its variance: 1 for measured numbers.
    lost: int
    #: Two numbers and the randomisation variances at each, where a mean is a share in disguise.
    two_valued: tuple[float, float, float, float] | None
    #: The least standard deviation of one score, and half the range of scores: for confidence sequences.
    deviations: tuple[float, float]
    #: Where the numbers can lie, where that is known and everybody has one.
    support: Support | None
    #: What a reader should know.
    notes: tuple[str, ...]

    def of(self, values: NDArray[Any], first_row: int) -> Floats:
        """Scores (rows, 2) of codes or numbers: of x − centre, and of "x is known"."""

    def products(self, values: NDArray[Any]) -> Floats:
        """Debiased products (rows, 2, 2) of the numbers behind the scores."""

    def power(self, values: NDArray[Any], degree: int) -> Floats:
        """The debiased power of x − centre, up to the fourth; refused where the design does not give it."""


def support_of(channels: Channels, scores: Floats, numbers: Floats) -> Support:
    """Of reports with these scores, whose truths have these numbers; of several designs the largest variances."""
    first, last = int(np.argmin(numbers)), int(np.argmax(numbers))
    low, high = float(numbers[first]), float(numbers[last])
    variances, start = [], 0
    for mechanism in channels.mechanisms:
        truths, reports = mechanism.shape
        if truths * reports > _MAX_CHANNEL:
            return Support(low=low, high=high)
        channel, own = mechanism.matrix(), scores[start : start + reports]
        variances.append(np.maximum(channel @ own**2 - (channel @ own) ** 2, 0.0))
        start += reports
    at = np.max(variances, axis=0)
    return Support(low=low, high=high, at_low=float(at[first]), at_high=float(at[last]), least=float(np.min(variances)))


class FiniteScores:
    """Debiased answers of a randomised column with numbers for its values; nan is a blank.

    Where numbers were rounded at random to the values, ``rounding`` is the most that this added to the variance of one.
    """

    lost = 0

    def __init__(self, channels: Channels, numbers: Floats, notes: tuple[str, ...] = (), rounding: float = 0.0) -> None:
        self.notes, self._made_of = notes, (channels, numbers, notes, rounding)
        known = ~np.isnan(numbers)
        if not known.any():
            raise EstimationError("no value of the column has a number")
        self.centre = float((numbers[known].min() + numbers[known].max()) / 2)
        own = np.where(known, numbers - self.centre, 0.0)
        inverse = inverse_for(channels, np.stack([own, known.astype(float)]))
        self._reports = channels.reports
        self._scores = np.stack([inverse(own), np.ones(self._reports) if known.all() else inverse(known * 1.0)], axis=1)
        # The square of a number is at least that of its rounded value, on average, less the variance of rounding.
        self._pairs = np.stack([own * own - rounding, own, own, known * 1.0])
        self._channels, self._own, self._rounded = channels, own, rounding > 0
        self.support, self.deviations = None, (0.0, math.inf)
        if known.all():
            own_support = support_of(channels, self._scores[:, 0], own)
            self.deviations = (math.sqrt(own_support.least), float(np.ptp(self._scores[:, 0])) / 2)
            self.support = replace(own_support, low=float(numbers.min()), high=float(numbers.max()))
        self.two_valued = None
        if numbers.size == 2 and known.all() and len(channels.mechanisms) == 1:
            own_variance, other = channels.conditional_variances
            self.two_valued = (float(numbers[0]), float(numbers[1]), float(own_variance[1]), float(other[1]))

    def __reduce__(self) -> tuple[Any, ...]:
        """What it was made of travels, and not what was worked out."""
        return type(self), self._made_of

    def of(self, values: NDArray[Any], first_row: int) -> Floats:
        """The scores of these reports; a code out of range is an error that names its row."""
        count_reports(values, self._reports, first_row)
        return np.asarray(self._scores[values])

    def products(self, values: NDArray[Any]) -> Floats:
        """The debiased products of these reports."""
        return np.asarray(self._products[values])

    def power(self, values: NDArray[Any], degree: int) -> Floats:
        """Through the channel, like the number itself."""
        if self._rounded:
            raise EstimationError("numbers that were rounded at random have no powers that are known")
        return np.asarray(self._powers[degree][values])

    @cached_property
    def _powers(self) -> Floats:
        powers = np.stack([self._own**degree for degree in range(5)])
        inverse = inverse_for(self._channels, powers)
        return np.stack([inverse(one) for one in powers])

    @cached_property
    def _products(self) -> Floats:
        try:
            inverse = inverse_for(self._channels, self._pairs)
        except NotIdentifiedError:
            raise EstimationError(
                "the design identifies the mean but not the squares of the numbers, without which there is no error of "
                'the mean of this very table: use target="population"'
            ) from None
        return np.stack([inverse(pair) for pair in self._pairs], axis=1).reshape(-1, 2, 2)


def inverse_for(channels: Channels, needed: Floats) -> Callable[[Floats], Floats]:
    """``c → a`` with ``Q a = c``: the values of unbiased numbers, else through A, else for these functionals alone."""
    whole = channels.mechanisms[0] if len(channels.mechanisms) == 1 else None
    if isinstance(whole, UnbiasedResponse) and all(_line(whole, row) is not None for row in needed):
        return partial(_reported, whole)
    try:
        inverse = channels.inverse
    except NotIdentifiedError:
        if whole is None:
            raise
        matrix = whole.matrix()
        least = np.linalg.pinv(matrix / np.sqrt(matrix.mean(axis=0)), rcond=_IN_RANGE)
        undo = least / np.sqrt(matrix.mean(axis=0))[:, None]
        for row in needed:
            if np.abs(matrix @ (undo @ row) - row).max() > 1e3 * _IN_RANGE * max(float(np.abs(row).max()), 1e-300):
                raise
        return lambda numbers: np.asarray(undo @ numbers)
    return inverse.scores


def _line(mechanism: UnbiasedResponse, numbers: Floats) -> tuple[float, float] | None:
    """Level and slope of numbers that lie on a line over the points; None where they do not."""
    points = np.asarray(mechanism.points)
    slope = float((numbers[-1] - numbers[0]) / (points[-1] - points[0]))
    level = float(numbers[0] - slope * points[0])
    off = np.abs(level + slope * points - numbers).max()
    return (level, slope) if off <= _IN_RANGE * max(float(np.abs(numbers).max()), 1e-300) else None


def _reported(mechanism: UnbiasedResponse, numbers: Floats) -> Floats:
    """The number of every report, which needs no correction: on a line over the points, the same line over values."""
    line = _line(mechanism, numbers)
    assert line is not None  # asked before
    return np.asarray(line[0] + line[1] * mechanism.values)


class PublicScores:
    """The numbers of a public column, or a function of them."""

    lost = 1
    deviations = (0.0, math.inf)
    support: Support | None = None
    notes: tuple[str, ...] = ()

    def __init__(self, function: Callable[[Floats], Floats] | None, *, two_valued: bool) -> None:
        self._function = function
        self.centre = 0.0
        self._centred = function is not None
        self.two_valued = (0.0, 1.0, 0.0, 0.0) if two_valued and function is None else None

    def centre_at(self, total: Floats) -> None:
        """Measure from the mean, given the number of rows and their sum; not a function, which is measured from 0."""
        if not self._centred and total[0]:
            self.centre, self._centred = float(total[1] / total[0]), True

    def _numbers(self, values: NDArray[Any]) -> Floats:
        numbers = np.asarray(values, float)
        if self._function is not None:
            known = ~np.isnan(numbers)
            out = np.zeros(numbers.size)
            out[known] = self._function(numbers[known])
            return out
        if not self._centred and not np.isnan(numbers).all():  # the first rows say where the numbers lie
            self.centre, self._centred = float(np.nanmean(numbers)), True
        return np.asarray(np.nan_to_num(numbers - self.centre))

    def of(self, values: NDArray[Any], first_row: int) -> Floats:
        """The numbers themselves."""
        del first_row  # numbers were checked when they were read
        numbers = self._numbers(values)
        return np.stack([numbers, np.ones_like(numbers)], axis=1)

    def power(self, values: NDArray[Any], degree: int) -> Floats:
        """Of the number."""
        return np.asarray(self._numbers(values) ** degree)

    def products(self, values: NDArray[Any]) -> Floats:
        """What was not randomised has no variance given the table."""
        scores = self.of(values, 0)
        return np.asarray(scores[:, :, None] * scores[:, None, :])
