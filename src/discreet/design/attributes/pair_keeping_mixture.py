"""A mixture of thresholds that keeps every cross-table.

With pairs the set that helps most is bounded by a quadric, which has no short law. Thresholds whose weights are near
those in use are tried instead, each at many places, and those that would improve the mixture are taken up. Where the
optimum is known (up to a dozen attributes) mixtures found like this are one or two per cent above it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.arguments import Floats
from discreet.design.attributes.free_mixture import FreeMixture
from discreet.design.attributes.mixture import Mixed, Pair, Programme, covariance_rows, truth_rows
from discreet.design.attributes.request import Request
from discreet.design.attributes.threshold_columns import Column, Family, Weights, nested_subsets, whole_weights

#: Σ v_i of the thresholds.
_WEIGHT_SUM = 1_500
_LEAST_MEAN = 20.0
#: Rounds, and the improvement of ε over as many as _PATIENCE of them that is worth going on for, relative.
_ROUNDS, _PATIENCE, _WORTHWHILE = 40, 5, 2e-3
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
        for step in range(_ROUNDS if self.request.count <= _FEWER_ROUNDS_BEYOND else _FEW_ROUNDS):
            mixed = self._solved()
            if not mixed.used.size:
                break
            if best is None or mixed.epsilon < best[1].epsilon:
                best = (tuple(self._columns), mixed)
            history.append(best[1].epsilon)
            if step >= _PATIENCE and history[-1 - _PATIENCE] - history[-1] < _WORTHWHILE * history[-1]:
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
        whole = whole_weights(weights, max(_LEAST_MEAN, _WEIGHT_SUM / self.request.count))
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
