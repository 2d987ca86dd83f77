"""The mean, the total and the expectation of a column."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from discreet.estimate.bounds import Range, Ranges
from discreet.estimate.means.estimator import column_statistic
from discreet.estimate.means.input import Function
from discreet.estimate.means.result import Statistic


def mean(
    reports: Any,
    mechanism: Any = None,
    *,
    by: Any = None,
    weights: Any = None,
    strata: Any = None,
    clusters: Any = None,
    positions: ArrayLike | None = None,
    designs: Any = None,
    labels: Any = None,
    target: str = "population",
    fpc: Any = None,
) -> Statistic | Range | Ranges:
    """The mean of a column, with its error.

    Every row has a score whose expectation is its true number, and the mean of the scores is unbiased for the mean of
    the truths: of a report y the score ``(Aᵀc)_y``, where A undoes the channel and c holds the number of every value;
    of zero-inflated Laplace noise the report itself; of a public column the value.

    Parameters
    ----------
    reports : Release, or array
        A release; or reports in memory, or plain numbers.
    mechanism : str, Mechanism, dict or None
        The column of the release; or what randomised the reports (a dict of designs by name together with
        ``designs``); None for numbers that were not randomised.
    by : column name or array, or a list of either; optional
        Public groups: one mean for each, with their joint covariance.
    weights, strata, clusters, target, fpc
        As for :func:`discreet.estimate.frequencies`.
    positions : array, optional
        One number per value. By default ordered values and grids have their positions, numbers are themselves, and of
        two values the second counts 1, so that the mean is its share.
    designs, labels
        For reports in memory, as for :func:`discreet.estimate.frequencies`.

    Returns
    -------
    Statistic
        Where a blank is one of the values, the mean is over those who have a number. Where the channel does not
        identify the mean, the :class:`Range` of it that goes with the reports, with groups one for each in
        :class:`Ranges`.

    Examples
    --------
    >>> from discreet.mechanisms import GeneralizedResponse
    >>> reports = [0] * 500 + [1] * 300 + [2] * 200
    >>> print(mean(reports, GeneralizedResponse(3, 2.0), labels=[0, 10, 20]))
    Mean of the population, n = 1,000
    <BLANKLINE>
    statistic      n  estimate  std. error  95 % interval (wilson)
    mean       1,000     5.591       0.363          4.883 to 6.325
    """
    return column_statistic(
        "mean",
        (reports, mechanism),
        None,
        target,
        {"by": by, "weights": weights, "strata": strata, "clusters": clusters, "fpc": fpc},
        {"positions": positions, "designs": designs, "labels": labels},
    )


def total(
    reports: Any,
    mechanism: Any = None,
    *,
    by: Any = None,
    weights: Any = None,
    strata: Any = None,
    clusters: Any = None,
    positions: ArrayLike | None = None,
    designs: Any = None,
    labels: Any = None,
    target: str = "population",
    fpc: Any = None,
) -> Statistic | Range | Ranges:
    """The total of a column over people, with its error.

    With survey weights Horvitz and Thompson's ``Σ w_i s_i`` over the scores s of :func:`discreet.estimate.mean`: the
    total of the population. Without, n times the mean: the total over those who reported.

    Parameters
    ----------
    reports, mechanism, by, weights, strata, clusters, positions, designs, labels, target, fpc
        As for :func:`discreet.estimate.mean`.

    Notes
    -----
    Of a yes/no column it is the number of people who say yes. Where a blank is one of the values, it counts nothing.

    Examples
    --------
    >>> from discreet.mechanisms import BinaryResponse
    >>> float(total([0] * 600 + [1] * 400, BinaryResponse.warner("3/4")))
    300.0
    """
    return column_statistic(
        "total",
        (reports, mechanism),
        None,
        target,
        {"by": by, "weights": weights, "strata": strata, "clusters": clusters, "fpc": fpc},
        {"positions": positions, "designs": designs, "labels": labels},
    )


def expectation(
    reports: Any,
    mechanism: Any,
    function: Function,
    *,
    by: Any = None,
    weights: Any = None,
    strata: Any = None,
    clusters: Any = None,
    positions: ArrayLike | None = None,
    designs: Any = None,
    labels: Any = None,
    target: str = "population",
    fpc: Any = None,
) -> Statistic | Range | Ranges:
    """``E f(x)``: the mean of a function of a column, with its error.

    Parameters
    ----------
    reports, mechanism
        As for :func:`discreet.estimate.mean`: ``expectation(release, "hours", f)``.
    function : callable
        Takes an array of values and returns one number for each: of true numbers, of labels where these are not
        numbers. For numbers in a box it must also be finite outside the box, and it is corrected exactly for the
        noise, as :class:`discreet.estimate.losses.Expectation` says.
    by, weights, strata, clusters, positions, designs, labels, target, fpc
        As for :func:`discreet.estimate.mean`.

    Examples
    --------
    The share of people above 5:

    >>> from discreet.mechanisms import GeneralizedResponse
    >>> reports = [0] * 500 + [1] * 300 + [2] * 200
    >>> one = expectation(reports, GeneralizedResponse(3, 2.0), lambda x: x > 5, labels=[0, 10, 20])
    >>> round(float(one), 4)
    0.4217
    """
    return column_statistic(
        "expectation",
        (reports, mechanism),
        function,
        target,
        {"by": by, "weights": weights, "strata": strata, "clusters": clusters, "fpc": fpc},
        {"positions": positions, "designs": designs, "labels": labels},
    )
