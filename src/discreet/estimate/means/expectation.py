"""The mean of any function of a column."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from discreet.estimate.bounds import Range, Ranges
from discreet.estimate.means.estimator import column_statistic
from discreet.estimate.means.input import Function
from discreet.estimate.means.result import Statistic


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
