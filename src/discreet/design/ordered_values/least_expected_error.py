"""The private channel of least expected error, by linear programme, with a bound that proves it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from discreet import arguments
from discreet.arguments import Floats
from discreet.design.ordered_values.near_count import MEASURE, checked_prior
from discreet.design.private_channel_lp import PrivateChannelLP
from discreet.design.result import MetricDesign, Optimality
from discreet.domains.losses import loss_matrix, with_losses
from discreet.errors import DesignError, PrivacyError
from discreet.mechanisms.channel import ChannelResponse
from discreet.mechanisms.exact_integers import RELATIVE_TOLERANCE, checked_epsilon, power_of_two_rows
from discreet.privacy import certify

WORST_MEASURE = "Expected error of a report under the worst truth"
#: Largest domain: the programme has N² unknowns, and 300 values take about ten seconds.
MAX_VALUES = 300
#: The same for the worst case, whose programme is harder: 150 values take from three to forty seconds.
MAX_WORST = 150
#: The programme is solved at an ε that is this much smaller, so that rounding cannot carry the result above ε.
_SHRINK = 0.5 * float(RELATIVE_TOLERANCE)
#: Below this ε the rows differ by less than the programme's tolerance, and it answers with a constant.
_LEAST_EPSILON = 1e-5
#: A report that no truth gives with more than this probability is not used: solvers err by about 1e-12.
_UNUSED_REPORT = 1e-10
#: Entries this close to an end of their range, relative to it, are at that end.
_END_TOLERANCE = 1e-9


def expected_error(
    domain: Any, epsilon: float, prior: ArrayLike | None = None, worst: bool = False
) -> MetricDesign[ChannelResponse]:
    """The ε-private channel with the least prior-weighted expected error of all, or with the least in the worst case.

    Minimise ``Σ_x π_x loss(x, y) Q[x, y]`` subject to ``l_y ≤ Q[x, y] ≤ e^ε l_y`` and rows that sum to one: a sparse
    linear programme, solved by HiGHS. Its dual gives the certificate: for any numbers u_x

        Σ_x u_x + min(0, min_y Σ_x min(π_x loss(x, y) − u_x, e^ε (π_x loss(x, y) − u_x)))

    is a lower bound on the error of *every* ε-private channel, which is recomputed here.

    With ``worst`` the largest error over truths, ``max_x Σ_y loss(x, y) Q[x, y]``, is minimised instead, which needs no
    prior. Its dual has the same bound with a prior of its own, the least favourable one: no channel has a smaller error
    on average under it, so none has a smaller error in the worst case.

    Parameters
    ----------
    domain : Ordinal, Grid or Metric
        Up to 300 values.
    epsilon : float
        The privacy level.
    prior : array, optional
        How frequent each truth is thought to be; equally frequent by default.
    worst : bool
        Minimise the expected error under the truth for which it is largest; there is no prior then.

    Notes
    -----
    Expected error is not information: for a small ε the optimum answers near the median, with two or three
    different reports, whatever is true.

    Examples
    --------
    >>> from discreet import Ordinal
    >>> found = expected_error(Ordinal(range(12)), 1.0)
    >>> round(found.objective, 6), found.certificate.gap < 1e-6
    (2.55051, True)
    >>> least = expected_error(Ordinal(range(12)), 1.0, worst=True)
    >>> round(least.objective, 6), least.certificate.gap < 1e-6    # under no truth more
    (3.470966, True)
    """
    epsilon = checked_epsilon(epsilon)
    worst = arguments.flag(worst, "worst", DesignError)
    if worst and prior is not None:
        raise DesignError("the worst case is over all truths and has no prior: leave out prior, or worst")
    if epsilon < _LEAST_EPSILON:
        raise PrivacyError(
            f"epsilon must be at least {_LEAST_EPSILON:g} for the optimal channel, not {epsilon:g}: its linear "
            "programme is solved in floats"
        )
    declared = with_losses(domain, DesignError)
    losses = loss_matrix(declared, MAX_WORST if worst else MAX_VALUES, DesignError)
    weights = checked_prior(prior, len(losses))
    scale = float(losses.max()) or 1.0
    least = math.exp(-epsilon * (1 - _SHRINK))
    if worst:
        highest, above, multipliers, weights = _solve_worst(losses / scale, least)
    else:
        highest, above, multipliers = _solve(weights[:, None] * (losses / scale), least)
    costs = weights[:, None] * (losses / scale)
    channel = _polished(highest, above, least)
    rows = power_of_two_rows(channel)
    if certify(rows).epsilon > epsilon:  # so small an ε that the rounding of floats shows
        mechanism = ChannelResponse.private(rows, epsilon)
    else:
        mechanism = ChannelResponse(rows)
    errors = (losses * mechanism.matrix()).sum(axis=1)
    value = float(errors.max() if worst else weights @ errors)
    bound = _dual_bound(costs, math.exp(epsilon), multipliers) * scale
    which = "largest expected error over truths" if worst else "expected error"
    statement = f"no ε-private channel at all has a smaller {which}, by the dual of the linear programme"
    return MetricDesign(
        mechanism,
        value,
        Optimality.checked(value, bound, statement),
        _notes(channel, losses, weights),
        WORST_MEASURE if worst else MEASURE,
        domain=declared,
        prior=None if prior is None else tuple(weights.tolist()),
    )


def _solve(costs: Floats, least: float) -> tuple[Floats, Floats, Floats]:
    """Largest entries h_y of the reports, what entries have above their least, and multipliers of the row sums."""
    size = len(costs)
    programme = PrivateChannelLP(size, size, least)
    objective = np.concatenate([costs.reshape(-1), least * costs.sum(axis=0)])
    found = programme.solve(programme.rows(np.ones((size, size))), np.ones(size), costs=objective)
    return found.highest, found.above, found.equations


def _solve_worst(losses: Floats, least: float) -> tuple[Floats, Floats, Floats, Floats]:
    """The same for the largest error over truths; and the least favourable prior."""
    size = len(losses)
    programme = PrivateChannelLP(size, size, least)
    sums, errors = programme.rows(np.ones((size, size))), programme.rows(losses)
    found = programme.solve(sums, np.ones(size), largest=errors)
    # The multipliers of the errors sum to one; the solver's last digits are put right, and any prior gives a bound.
    return found.highest, found.above, found.equations, found.worst_truths / found.worst_truths.sum()


def _polished(highest: Floats, above: Floats, least: float) -> Floats:
    """The same vertex to the last digit: entries at an end of their range exactly there, rows summing to one.

    Reports that the solver leaves with a rounding error only are dropped. The unknowns that remain (h_y, and entries
    strictly inside their range) are moved by the smallest correction that makes the row sums right.
    """
    size = len(highest)
    used = np.flatnonzero(highest > _UNUSED_REPORT)
    high = highest[used]
    position = np.clip(above[:, used] / ((1 - least) * high), 0.0, 1.0)
    position[position < _END_TOLERANCE] = 0.0
    position[position > 1 - _END_TOLERANCE] = 1.0
    inside = (position > 0) & (position < 1)
    between = np.where(inside, position * (1 - least) * high, 0.0)
    factors = np.where(position == 1, 1.0, least)
    rows, columns = np.nonzero(inside)
    system = np.zeros((size, used.size + rows.size))
    system[:, : used.size] = factors
    system[rows, used.size + np.arange(rows.size)] = 1.0
    for _ in range(3):
        missing = 1 - (factors @ high + between.sum(axis=1))
        moved = np.linalg.lstsq(system, missing, rcond=None)[0]
        high = high + moved[: used.size]
        between[rows, columns] += moved[used.size :]
    between = np.clip(between, 0.0, (1 - least) * high)
    channel = np.zeros((size, size))
    channel[:, used] = factors * high + between
    return channel


def _dual_bound(costs: Floats, ratio: float, multipliers: Floats) -> float:
    """A lower bound on the cost of every channel with ratio e^ε, for any multipliers."""
    reduced = costs - multipliers[:, None]
    # Σ_y l_y ≤ 1, because every row sums to one and no entry is below l_y.
    return float(multipliers.sum() + min(0.0, np.minimum(reduced, ratio * reduced).sum(axis=0).min()))


def _notes(channel: Floats, losses: Floats, prior: Floats) -> tuple[str, ...]:
    size = len(channel)
    used = np.flatnonzero(channel.max(axis=0) > 0)
    centre = int((prior @ losses).argmin())
    notes = []
    if 2 * used.size < size:
        radius = float(losses[centre, used].max())
        notes.append(
            f"it wins by answering near the middle: only {used.size} of {size} reports are ever given, at a loss of at "
            f"most {radius:.4g} from the value with the least average loss (code {centre}); expected error is not "
            "information"
        )
    rank = int(np.linalg.matrix_rank(channel))
    if rank == 1:
        notes.append("the report does not depend on the truth at all: nothing can be learned from it")
    elif rank < size:
        notes.append(
            f'the channel has rank {rank} of {size}: frequencies are not identified; the method "bounds" gives their '
            "ranges"
        )
    return tuple(notes)
