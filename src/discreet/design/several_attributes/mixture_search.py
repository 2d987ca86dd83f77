"""The best mixture of thresholds when pairs are free, by column generation.

The next threshold has the dual weights of the rows: {Σ w_i (B_i − p_i)/d_i ≥ 0} is the set that helps most, and its
weights prove a bound besides. Left alone the dual weights oscillate for ever, so they are held in a box around the best
so far, which grows after a step that helped and shrinks after one that did not (Marsten, Hogan and Blankenship 1975).

A mixture of thresholds that keeps every cross-table.

With pairs the set that helps most is bounded by a quadric, which has no short law. Thresholds whose weights are near
those in use are tried instead, each at many places, and those that would improve the mixture are taken up. Where the
optimum is known (up to a dozen attributes) mixtures found like this are one or two per cent above it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.arguments import Floats
from discreet.design.several_attributes.request import Request
from discreet.design.several_attributes.threshold_mixture import (
    Column,
    Family,
    Mixed,
    Pair,
    Programme,
    Weights,
    covariance_rows,
    nested_subsets,
    single_column,
    truth_rows,
    whole_weights,
)
from discreet.design.several_attributes.threshold_sums import bound_at, centre_of

#: Σ v_i of the thresholds; the mixture makes up for what whole weights miss.
_WEIGHT_SUM = 30_000
_LEAST_MEAN, _LARGEST_MEAN = 30.0, 1000.0
#: Rounds, and where they end: bound and value this close in ε, relative.
_ROUNDS = 200
_TOLERANCE = 3e-5
#: Rounds without an improvement of the bound worth mentioning, after which the search ends.
_PATIENCE = 100
#: A first mixture is made of the weights given, at these places between the centre and the top.
_FIRST_PLACES = (0.0, 0.25, 0.5, 0.75, 0.9)
#: The box: its first width, how it grows and shrinks, and the part of the mean weight that is added to it.
_FIRST_WIDTH, _WIDER, _WIDEST, _NARROWER, _NARROWEST, _PADDING = 0.5, 1.5, 10.0, 0.7, 1e-4, 0.05


@dataclass(frozen=True, eq=False)
class FreeMixture:
    """A mixture with the bound that was proved on the way."""

    columns: tuple[Column, ...]
    mixed: Mixed
    bound: float


def free_mixture(request: Request, weights: Floats, bound: float) -> FreeMixture:
    """Mix thresholds from these weights on, until value and bound agree."""
    mean = max(_LEAST_MEAN, min(_LARGEST_MEAN, _WEIGHT_SUM / request.count))
    columns: dict[tuple[bytes, int], Column] = {}

    def add(whole: Weights, threshold: int) -> bool:
        at = min(max(threshold, 1), int(whole.sum()))
        key = (whole.tobytes(), at)
        if key in columns:
            return False
        columns[key] = single_column(request, whole, at)
        return True

    for strongest in nested_subsets(request):
        add(strongest.astype(np.int64), int(strongest.sum()))
    starts = [whole_weights(one, mean) for one in (weights, np.array(request.epsilons))]
    for first in starts:
        centre, top = float(first @ request.truth), int(first.sum())
        for place in _FIRST_PLACES:
            add(first, math.ceil(centre + place * (top - centre)))
    value, first = max(((bound_at(request, one), one) for one in starts), key=lambda pair: pair[0])
    best, width = first * request.excess, _FIRST_WIDTH
    bound = max(bound, value, *request.epsilons)
    improved = 0
    for step in range(_ROUNDS):
        # At the optimum the dual weights add up to e^ε − 1, here relative to e^bound.
        middle = best / best.sum() * math.exp(value - bound) * -math.expm1(-value)
        pad = _PADDING * width * float(middle.mean())
        low, high = np.maximum(middle / (1 + width) - pad, 0.0), middle * (1 + width) + pad
        found = Programme(request, bound, tuple(columns.values())).boxed(low, high)
        if found is None:
            # The solver gave up; another box may suit it better.
            width = max(width * _NARROWER, _NARROWEST)
            continue
        model, duals, binds = found
        if not duals.any():
            break
        whole = whole_weights(duals / request.excess, mean)
        proved = bound_at(request, whole)
        bound = max(bound, proved)
        fresh = add(whole, centre_of(request, whole)[0])
        if proved > value * (1 + 0.1 * _TOLERANCE):
            improved = step
        if proved > value:
            if proved - value > 0.1 * max(model - value, 0.0):
                width = min(width * _WIDER, _WIDEST)
            value, best = proved, duals
        else:
            width = max(width * _NARROWER, _NARROWEST)
        if not binds and (model - value < _TOLERANCE * model or not fresh):
            break
        if step - improved > _PATIENCE:
            break
        if not fresh:
            width *= 2
    chosen = tuple(columns.values())
    return FreeMixture(chosen, Programme(request, bound, chosen).mixed(), bound)


#: Σ v_i of the thresholds.
_PAIRS_WEIGHT_SUM = 1_500
_PAIRS_LEAST_MEAN = 20.0
#: Rounds, and the improvement of ε over as many as _PAIRS_PATIENCE of them that is worth going on for, relative.
_PAIRS_ROUNDS, _PAIRS_PATIENCE, _WORTHWHILE = 40, 5, 2e-3
#: Weights tried in each round, fewer beyond thirty attributes, and thresholds taken up of each.
_TRIALS, _FEWER_TRIALS_BEYOND, _TAKEN_PER_TRIAL = 60, 30, 3
#: Attributes beyond which a few rounds have to be enough.
_FEWER_ROUNDS_BEYOND, _FEW_ROUNDS = 60, 6
#: How often all weights are moved a little, by which spreads, and factors by which a few are moved otherwise.
_CHANCE_TO_MOVE_ALL, _SPREADS, _FACTORS = 0.6, (0.05, 0.15, 0.4, 0.8), (0.0, 0.3, 0.6, 0.8, 1.25, 1.6, 3.0)
#: A weight of zero is moved as if it were this.
_LEAST_WEIGHT = 0.2
#: Every so many thresholds of a start are taken up.
_FIRST_EVERY = 3
#: Columns kept from round to round.
_MOST_COLUMNS = 800
#: Rounds in which the eigenvalues reckoned with follow those reached; what a pair may then be short of, relative.
_ADJUSTMENTS, _PAIR_TOLERANCE = 40, 1e-9


@dataclass
class PairKeepingSearch:
    """The search; the same request always finds the same mixture."""

    request: Request
    bound: float

    def run(self, start: FreeMixture) -> tuple[tuple[Column, ...], Mixed] | None:
        """The best mixture found, or None."""
        self._rng = np.random.default_rng(0)
        self._tried: set[bytes] = set()
        self._columns: list[Column] = []
        self._pairs: list[Pair] = []
        self._reached = self.request.eigenvalues
        for column in (start.columns[m] for m in start.mixed.used):
            self._try(column.weights.astype(float), None)
        for strongest in nested_subsets(self.request):
            self._try(strongest, None)
            self._try(strongest * self.request.epsilons, None)
        trials = max(12, min(_TRIALS, _TRIALS * _FEWER_TRIALS_BEYOND**2 // self.request.count**2))
        best: tuple[tuple[Column, ...], Mixed] | None = None
        history: list[float] = []
        for step in range(_PAIRS_ROUNDS if self.request.count <= _FEWER_ROUNDS_BEYOND else _FEW_ROUNDS):
            mixed = self._solved()
            if not mixed.used.size:
                break
            if best is None or mixed.epsilon < best[1].epsilon:
                best = (tuple(self._columns), mixed)
            history.append(best[1].epsilon)
            if step >= _PAIRS_PATIENCE and history[-1 - _PAIRS_PATIENCE] - history[-1] < _WORTHWHILE * history[-1]:
                break
            mixed = self._pruned(mixed)
            in_use = [self._columns[m].weights for m in mixed.used]
            for _ in range(trials):
                self._try(self._moved(in_use[int(self._rng.integers(len(in_use)))], step), mixed)
        return best if best is not None and math.isfinite(best[1].epsilon) else None

    def _programme(self) -> Programme:
        return Programme(self.request, self.bound, tuple(self._columns), tuple(self._pairs), self._reached)

    def _solved(self) -> Mixed:
        """Solve, with a row for every pair that is short, until what is reached is what was reckoned with."""
        mixed = self._programme().mixed()
        for _ in range(_ADJUSTMENTS):
            whole = 1 + float(mixed.shares.sum())
            chi, both = np.zeros(self.request.count), np.zeros((self.request.count,) * 2)
            for m in mixed.used:
                chi += mixed.shares[m] / whole * self._columns[m].chi
                both += mixed.shares[m] / whole * self._columns[m].pairs
            self._reached = np.maximum(chi, self.request.eigenvalues)
            ratio = both / np.multiply.outer(self._reached, self._reached) - 1
            short = np.argwhere(np.triu(ratio < -_PAIR_TOLERANCE, 1)).tolist()
            if not short:
                return mixed
            known = set(self._pairs)
            self._pairs += [(i, j) for i, j in short if (i, j) not in known]
            mixed = self._programme().mixed()
        return Mixed(math.inf, mixed.shares, mixed.duals, mixed.pair_duals)

    def _pruned(self, mixed: Mixed) -> Mixed:
        """Forget the columns that are furthest from being used."""
        if len(self._columns) <= _MOST_COLUMNS:
            return mixed
        which, reduced = self._programme().reduced_costs(mixed)
        kept = sorted({*mixed.used.tolist(), *which[np.argsort(reduced)[:_MOST_COLUMNS]].tolist()})
        self._columns = [self._columns[m] for m in kept]
        return Mixed(mixed.epsilon, mixed.shares[kept], mixed.duals, mixed.pair_duals)

    def _moved(self, weights: Weights, step: int) -> Floats:
        """Weights near those in use: all of them a little, or a few of them much."""
        rng, moved = self._rng, np.maximum(weights, _LEAST_WEIGHT)
        if rng.random() < _CHANCE_TO_MOVE_ALL:
            spread = rng.choice(_SPREADS) / (1 + step / 4)
            return np.asarray(moved * np.exp(spread * rng.standard_normal(moved.size)))
        few = rng.choice(moved.size, int(rng.integers(1, 4)), replace=False)
        moved[few] *= rng.choice(_FACTORS, few.size)
        return moved

    def _try(self, weights: Floats, mixed: Mixed | None) -> None:
        """Take up the thresholds with these weights that would improve a mixture; all when there is none yet."""
        whole = whole_weights(weights, max(_PAIRS_LEAST_MEAN, _PAIRS_WEIGHT_SUM / self.request.count))
        if whole.tobytes() in self._tried:
            return
        self._tried.add(whole.tobytes())
        family = Family(self.request, whole, self.bound)
        if mixed is None:
            chosen = np.arange(0, family.thresholds.size, _FIRST_EVERY)
        else:
            gain = mixed.duals @ truth_rows(self.request, family.truth)
            active = np.flatnonzero(mixed.pair_duals > 0)
            if active.size:
                pairs = [self._pairs[m] for m in active]
                first, second = np.array(pairs).T
                rows = covariance_rows(self._reached, family.pairs[first, second], family.chi, pairs)
                gain = gain + mixed.pair_duals[active] @ rows
            reduced = np.exp(np.minimum(-family.log_chance - self.bound, 600.0)) - gain
            order = np.argsort(reduced)[:_TAKEN_PER_TRIAL]
            chosen = order[reduced[order] < 0]
        self._columns += [family.column(int(at)) for at in chosen]
