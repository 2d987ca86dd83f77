"""Losses of a linear index over copies inside the box, with control variates."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import Floats
from discreet.domains.box import Box
from discreet.estimate.m_estimation import bounded, kinked
from discreet.estimate.m_estimation.box.controls import degrees, multiples
from discreet.estimate.m_estimation.box.copies import MONTE_CARLO_SHARE, Copies, NoisyBlock, summed_by
from discreet.estimate.m_estimation.box.objective import BoxObjective
from discreet.estimate.m_estimation.first_guess import Guess, closed_form, starting_points
from discreet.estimate.m_estimation.losses import IndexLoss, Squared
from discreet.estimate.m_estimation.sample import Sample
from discreet.estimate.m_estimation.solver import Solution, minimise
from discreet.mechanisms.laplace import ZeroInflatedLaplace


@dataclass(frozen=True)
class BoxFit:
    """Where the risk over copies is least, and what is to be said about it."""

    objective: BoxObjective
    solution: Solution
    bent: kinked.KinkedFit | None
    inflation: float
    notes: tuple[str, ...]


def fit_box(
    loss: IndexLoss,
    sample: Sample,
    start: Floats | None,
    guess: Guess,
    earlier: tuple[Floats, Floats, float] | None,
) -> BoxFit:
    """First without controls, with as many copies as are needed; then with the controls that fit there."""
    copies = Copies(blocks_of(sample))
    first = start
    while True:
        objective = replace(_objective(loss, sample, copies), earlier=earlier)
        solution, _ = _minimum(objective, sample, first, guess)
        single = objective.copy_scores(solution.theta)
        share = copies.share(single, summed_by(copies.kept.record, single, sample.n))
        if not solution.converged or share <= MONTE_CARLO_SHARE or copies.count >= copies.most:
            break
        copies, first = copies.with_count(copies.wanted(share)), solution.theta
    at = solution.theta if solution.converged else guess.theta
    controls = _outside(loss, sample, copies, at)
    gamma = multiples(objective.row_scores(at), controls)
    if gamma.any():
        controlled = replace(objective, controls=controls @ gamma)
        inflation = degrees(sample.n, controls.shape[1])
    else:
        controlled, inflation = objective, 1.0
    solution, bent = _minimum(controlled, sample, at, guess)
    return BoxFit(controlled, solution, bent, inflation, (copies.note(share),))


def _minimum(
    objective: BoxObjective, sample: Sample, start: Floats | None, guess: Guess
) -> tuple[Solution, kinked.KinkedFit | None]:
    """The local minimum nearest to the start: with negative weights there may be others."""
    loss = objective.loss
    if isinstance(loss, Squared):
        return closed_form(objective, guess.theta), None
    starts, scale, radius = starting_points(objective, start, guess, bounded.column_spread(sample), None)
    if loss.kinked:
        length = guess.bends_over(loss, starts[0])
        found = kinked.search(objective, sample, starts, scale, radius, length, None)
        return found.solution, found
    solution = minimise(objective, starts[0], scale, radius)
    for other in starts[1:]:
        if solution.converged:
            break
        solution = minimise(objective, other, scale, radius)
    return solution, None


def blocks_of(sample: Sample) -> list[NoisyBlock]:
    """The noisy numbers of a sample: covariates, and the outcome with them or in a block of its own."""
    own = sample.outcome_noise
    if own is None or sample.outcome is None:
        return [NoisyBlock(sample.private, sample.mechanism)]
    y = sample.outcome[:, None]
    if not sample.joint:
        return [NoisyBlock(sample.private, sample.mechanism), NoisyBlock(y, own)]
    return [NoisyBlock(np.concatenate([sample.private, y], axis=1), _together(sample.mechanism, own))]


def _together(first: ZeroInflatedLaplace, second: ZeroInflatedLaplace) -> ZeroInflatedLaplace:
    """The mechanism of coordinates that got their noise together."""
    return ZeroInflatedLaplace(
        Box([*first.box.low, *second.box.low], [*first.box.high, *second.box.high]),
        [*first.scale, *second.scale],
        first.zero_probability,
        grid=[*first.grid, *second.grid],
    )


def _objective(loss: IndexLoss, sample: Sample, copies: Copies) -> BoxObjective:
    kept = copies.kept
    design, outcomes = _columns(loss, sample, kept.values, kept.record, kept.weight)
    return BoxObjective(loss, design, outcomes, kept.record, sample.n)


def _columns(
    loss: IndexLoss, sample: Sample, values: Floats, record: NDArray[np.intp], weight: Floats
) -> tuple[Floats, tuple[tuple[Floats, Floats], ...]]:
    """Design and outcomes of copies with these values and weights."""
    d = sample.private.shape[1]
    design = np.concatenate([values[:, :d], sample.public[record]], axis=1)
    if sample.row_weights is not None:
        weight = weight * sample.row_weights[record]
    if sample.weights is not None:
        ones = np.ones(record.size)
        return design, tuple((value * ones, weight * sample.weights[record, value]) for value in (0, 1))
    assert sample.outcome is not None
    y = values[:, d] if sample.outcome_noise is not None else sample.outcome[record]
    return design, ((np.where(y > 0, 1.0, 0.0) if loss.name == "hinge" else y, weight),)


def _outside(loss: IndexLoss, sample: Sample, copies: Copies, theta: Floats) -> Floats:
    """The correction of the score at the nearest point of the box, for copies outside it: n × p."""
    total = np.zeros((sample.n, theta.size))
    for draw in copies.draws():
        record = np.flatnonzero(~draw.inside)
        weight = np.full(record.size, draw.weight)
        design, outcomes = _columns(loss, sample, copies.clip(draw.values[record]), record, weight)
        slope = sum(share * loss.plain(design @ theta, y)[1] for y, share in outcomes)
        total[record] += design * np.asarray(slope)[:, None]
    return total
