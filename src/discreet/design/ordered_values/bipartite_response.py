"""Reports near the truth: how many of them should be likely, and which."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet import arguments
from discreet.arguments import Floats
from discreet.design.ordered_values.near_count import (
    MEASURE,
    Ranking,
    checked_prior,
    equidistant_sums,
    loss_blocks,
    rank,
)
from discreet.design.result import MetricDesign, Optimality
from discreet.domains.losses import HasLosses, with_losses
from discreet.errors import DesignError
from discreet.mechanisms.bipartite import MAX_ENTRIES, BipartiteResponse
from discreet.mechanisms.exact_integers import checked_epsilon

#: Up to this many values the rank of a channel is computed for a note.
_MAX_RANKED = 128


def bipartite(
    domain: Any, epsilon: float, high: Literal["search", "best"] | int = "search", prior: ArrayLike | None = None
) -> MetricDesign[BipartiteResponse]:
    """Bipartite randomised response: the m reports nearest to the truth are likely, all others unlikely.

    Under truth x the m values with the smallest loss have weight e^ε each and the others weight 1; ties go to the
    smaller code (Zhang, Zhu, Chen and Hu 2026).

    Parameters
    ----------
    domain : Ordinal, Grid or Metric
        Values with an order or a distance. Equidistant points are handled in closed form, 10⁶ of them in a moment;
        a metric domain is sorted row by row.
    epsilon : float
        The privacy level.
    high : {"search", "best"} or int
        How many reports are near. "search": the paper's local search for each truth, and the smallest m found
        (Algorithms 1 and 2), which does not depend on a prior. "best": the m of least prior-weighted expected
        error, which is never above that of "search" or of generalised response (m = 1). Or a given m.
    prior : array, optional
        How frequent each truth is thought to be; equally frequent by default. It shapes "best" and the objective.

    Returns
    -------
    MetricDesign
        The objective is the expected error Σ_x π_x Σ_y Q[x, y]·loss(x, y).

    Examples
    --------
    >>> from discreet import Ordinal
    >>> found = bipartite(Ordinal(range(25)), 1.0)
    >>> found.mechanism.near, round(found.objective, 6)
    (9, 6.091495)
    >>> round(bipartite(Ordinal(range(25)), 1.0, high="best").objective, 6)
    6.079621
    """
    epsilon = checked_epsilon(epsilon)
    losses = with_losses(domain, DesignError)
    size = losses.size
    weights = checked_prior(prior, size)
    _check_high(high, size)
    ranking = rank(losses, epsilon, weights)
    by_number = ranking.errors(math.exp(min(epsilon, 700.0)))
    best = 1 + int(by_number.argmin())
    near = ranking.searched if high == "search" else best if high == "best" else int(high)
    mechanism = BipartiteResponse(size, near, epsilon, nearest_reports(losses, near))
    # Exact division of integers first: with a large ε the weights themselves exceed a float.
    value = float(_value(ranking, mechanism))
    bound = float(by_number[best - 1])
    statement = "all numbers of near reports of a bipartite response were compared"
    if near != best:
        statement += (
            f", of which {best} is best; {near} was {'found by the search' if high == 'search' else 'asked for'}"
        )
    return MetricDesign(
        mechanism,
        value,
        Optimality.checked(value, bound, statement),
        _notes(mechanism),
        MEASURE,
        domain=losses,
        prior=None if prior is None else tuple(weights.tolist()),
    )


def _check_high(high: Any, size: int) -> None:
    if isinstance(high, str):
        arguments.choice(high, "high, where it is no whole number,", ("search", "best"), DesignError)
    else:
        arguments.whole(high, 'high, where it is not "search" or "best",', DesignError, least=1, most=size)


def _value(ranking: Ranking, mechanism: BipartiteResponse) -> float:
    high, low = mechanism.high / mechanism.denominator, mechanism.low / mechanism.denominator
    return float(low * ranking.nearest[-1] + (high - low) * ranking.nearest[mechanism.near])


def nearest_reports(domain: HasLosses, near: int) -> NDArray[Any] | None:
    """The codes of the m nearest values of every truth, in order of codes; None for equidistant points."""
    if domain.step is not None:
        return None
    size = domain.size
    if size * near > MAX_ENTRIES:
        raise DesignError(
            f"{size:,} lists of {near:,} near reports are over the limit of 2^30 entries; "
            "use fewer values or a larger ε"
        )
    lists = np.empty((size, near), np.min_scalar_type(size - 1))
    for rows, losses in loss_blocks(domain):
        farthest = np.partition(losses, near - 1, axis=1)[:, near - 1 : near]
        chosen = losses <= farthest
        for row in np.flatnonzero(np.count_nonzero(chosen, axis=1) > near):
            ties = np.flatnonzero(losses[row] == farthest[row])
            chosen[row, ties[near - np.count_nonzero(chosen[row]) :]] = False  # the larger codes
        lists[rows] = np.nonzero(chosen)[1].reshape(-1, near)
    return lists


def truth_errors(domain: HasLosses, mechanism: BipartiteResponse) -> Floats:
    """The expected error under every truth."""
    high, low = mechanism.high / mechanism.denominator, mechanism.low / mechanism.denominator
    if mechanism.neighbours is None and domain.step is not None:
        nearest, everything = (sums * domain.step for sums in equidistant_sums(domain.size, mechanism.near))
    else:
        nearest, everything = np.empty(domain.size), np.empty(domain.size)
        for rows, losses in loss_blocks(domain):
            everything[rows] = losses.sum(axis=1)
            lists = np.stack([mechanism.near_reports(x) for x in range(*rows.indices(domain.size))])
            nearest[rows] = np.take_along_axis(losses, lists, axis=1).sum(axis=1)
    return np.asarray(low * everything + (high - low) * nearest)


def _notes(mechanism: BipartiteResponse) -> tuple[str, ...]:
    size, near = mechanism.size, mechanism.near
    if near == 1:
        return ("with one near report this is generalised response",)
    known = mechanism.rank
    if known is None and size <= _MAX_RANKED:
        known = int(np.linalg.matrix_rank(mechanism.matrix()))
    notes = [f"{near:,} of {size:,} reports are near each truth"]
    if known is not None and known < size:
        notes.append(
            f"the channel has rank {known:,}: reports lie near the truth, but the frequencies of all {size:,} values "
            'are not identified; the method "bounds" gives their ranges, and generalised response '
            "(mechanism = randomized-response) is the one to take when frequencies are wanted"
        )
    elif known is None:
        notes.append(
            "whether all frequencies are identified is not checked at this size; take generalised response when "
            "frequencies are wanted"
        )
    notes.append(
        "this is not the smallest error of all private channels: design.expected_error gives that, and what it costs"
    )
    return tuple(notes)
