"""The mean of a column."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from discreet.estimate.bounds import Range, Ranges
from discreet.estimate.means.estimator import column_statistic
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
