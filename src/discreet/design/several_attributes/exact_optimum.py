"""The optimum by column generation over the dual: mixtures of threshold answers.

LP duality turns the programme on cells into ``ρ = min E[(Σ_m w_m feature_m)₊]`` over weights of the rows that add up to
one (w ≥ 0 for pairs), and the optimal g into a mixture of sets {Σ w_m feature_m > 0}: weighted thresholds when only
attributes are asked for. The master programme mixes the sets found so far; its dual weights name the next set; the
smallest dual value seen is a bound that no mechanism passes.
"""

from __future__ import annotations

import math

import numpy as np

from discreet.arguments import Floats
from discreet.design.several_attributes.yamamoto_lp import Cells, Solution, solve_cells, solved
from discreet.errors import PrivacyError

#: Rounds of column generation; about one per row is usual.
_MAX_ROUNDS = 300
#: Pairs of groups up to which sets are mixed.
_MAX_PAIR_ROWS = 10
#: The generation ends when bound and value agree to this in ln ρ.
_TOLERANCE = 1e-10
#: A generation that stops further apart than this is finished cell by cell, unless the cells are too unequal for that.
_LARGEST_GAP = 1e-8
_LARGEST_LOG_RATIO = 60.0
#: A set this far above ρ could only have a share of 1e-9: it is noise to the solver.
_LARGEST_COLUMN = 1e9
#: The next set is sought between the current dual weights and the best so far (Wentges 1997).
_SMOOTHING = 0.5


def generate(cells: Cells) -> Solution:
    """Mix sets until no other set helps.

    With many pairs to keep, sets are too coarse a step: single cells are then mixed, which is the programme on
    cells itself.
    """
    if len(cells.features) > len(cells.rows) + _MAX_PAIR_ROWS:
        return solve_cells(cells)
    weights, log_scale = cells.guess
    chance = np.exp(np.minimum(cells.log_probability - log_scale, 600.0))
    features = cells.features
    scaled = features * chance
    rows = len(cells.rows)
    # Independent randomisation meets every row exactly, so that a first mixture exists.
    sets: list[Floats] = [cells.independent]
    columns: list[Floats] = [scaled @ cells.independent]
    seen: set[bytes] = set()

    def add(multipliers: Floats) -> bool:
        chosen = multipliers @ features > 0
        key = np.packbits(chosen).tobytes()
        if key in seen:
            return False
        seen.add(key)
        column = scaled[:, chosen].sum(axis=1)
        if np.abs(column).max() > _LARGEST_COLUMN:
            return False
        sets.append(chosen.astype(float))
        columns.append(column)
        return True

    best_weights, best = weights, cells.log_value(weights)
    add(weights)
    for multipliers in _starts(weights, rows):
        add(multipliers)
    shares, log_rho = np.zeros(0), -math.inf
    for _ in range(_MAX_ROUNDS):
        mixed_sets = _master(np.array(columns).T, rows, exactly=len(features) > rows)
        if mixed_sets is None:
            break
        shares, rho, duals = mixed_sets
        log_rho = math.log(rho) + log_scale if rho > 0 else -math.inf
        value = cells.log_value(duals)
        if value < best:
            best, best_weights = value, duals
        if best - log_rho <= _TOLERANCE:
            break
        mixed = _SMOOTHING * best_weights + (1 - _SMOOTHING) * duals
        mixed_value = cells.log_value(mixed)
        if mixed_value < best:
            best, best_weights = mixed_value, mixed
        fresh = add(duals)
        fresh = add(mixed) or fresh
        if not fresh:
            break
    if best - log_rho > _LARGEST_GAP and max(cells.log_probability) - log_scale < _LARGEST_LOG_RATIO:
        return solve_cells(cells)
    if not math.isfinite(log_rho):
        raise PrivacyError("no mixture of thresholds meets these levels")
    g = np.zeros(cells.count)
    for share, chosen in zip(shares, sets, strict=False):
        g += share * chosen
    return Solution(np.clip(g, 0.0, 1.0), log_rho, best)


def _starts(weights: Floats, rows: int) -> list[Floats]:
    """Sets from which every attribute alone can be raised or lowered, so that a first mixture exists."""
    out = []
    for i in range(rows):
        for factor in (0.0, 0.5, 2.0, 8.0):
            changed = weights.copy()
            changed[i] *= factor
            if changed.sum() > 0:
                out.append(changed / changed.sum())
        alone = np.zeros_like(weights)
        alone[i] = 1.0
        out.append(alone)
    return out


def _master(columns: Floats, rows: int, *, exactly: bool) -> tuple[Floats, float, Floats] | None:
    """Shares of the sets, ρ and the dual weights of the rows; None when the solver gives up.

    Without pairs an attribute may exceed its level, since the surplus can be randomised away. With pairs it may
    not: that would take a larger factor from λ_ij than from λ_i λ_j.
    """
    count = columns.shape[1]
    size = np.maximum(np.abs(columns).max(axis=0), 1e-6)
    matrix = np.hstack([-columns / size, np.ones((len(columns), 1))])
    total = np.append(1 / size, 0.0)[None, :]
    cost = np.zeros(count + 1)
    cost[-1] = -1.0
    at_least = matrix[rows:] if exactly else matrix
    answer = solved(
        cost,
        bounds=(0, None),
        A_ub=np.vstack([at_least, total]),
        b_ub=np.append(np.zeros(len(at_least)), 1.0),
        A_eq=matrix[:rows] if exactly else None,
        b_eq=np.zeros(rows) if exactly else None,
    )
    if answer is None:
        return None
    duals = np.maximum(-answer.ineqlin.marginals[:-1], 0.0)
    if exactly:
        duals = np.concatenate([-answer.eqlin.marginals, duals])
    return answer.x[:-1] / size, float(answer.x[-1]), duals / duals.sum()
