"""The total of a column."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from discreet.estimate.bounds import Range, Ranges
from discreet.estimate.means.estimator import column_statistic
from discreet.estimate.means.result import Statistic


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
