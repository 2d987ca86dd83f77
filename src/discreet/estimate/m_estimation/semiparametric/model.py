"""Reports under a law of the covariates on cells and a model of the outcome: likelihood, scores and EM steps.

A record is (x1, y): with probability δ₀ the covariates as they are, else with noise. Under a law with probabilities π_k
on cells of volume V, uniform within each, and a model p(y | x; θ), the density of a record is

    δ₀ π_{k(x1)}/V · p(y | x1; θ) 1(x1 ∈ box) + (1 − δ₀) Σ_f (π_{k(f)}/M) κ(x1 − u_f) p(y | u_f; θ)

over the points u_f, M in each cell. Rows with the same public values have a law of their own, so that nothing is
assumed about how covariates and public values go together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import Floats
from discreet.estimate.m_estimation.losses import IndexLoss
from discreet.estimate.m_estimation.sample import Sample
from discreet.estimate.m_estimation.semiparametric.law import CellLaw

#: Below this share of an even spread a cell is empty, and its probability no parameter.
_EMPTY = 1e-4


@dataclass(frozen=True, eq=False)
class Pattern:
    """Rows with the same outcome and the same public values."""

    rows: NDArray[np.intp]
    group: int
    public: Floats
    #: The true outcomes it may stand for, and the chance of its report given each.
    outcomes: tuple[tuple[float, float], ...]


@dataclass(frozen=True, eq=False)
class _Parts:
    """One pattern at one θ and law: what points (F) and exact records (m) weigh, and the density of the rows (m)."""

    mass: Floats
    slope: Floats
    atom: Floats
    atom_slope: Floats
    total: Floats


class CellModel:
    """All patterns of a sample, with what does not depend on parameters worked out."""

    def __init__(self, loss: IndexLoss, sample: Sample, patterns: list[Pattern], groups: int) -> None:
        self.law, self.sample, self.patterns, self.groups = CellLaw(sample.mechanism), sample, patterns, groups
        self._loss = loss
        self._zero, self._d = sample.mechanism.zero_probability, sample.private.shape[1]
        density = self.law.density(sample.private)
        self._density = [density[pattern.rows] for pattern in patterns]
        self._inside = self.law.inside.contains(sample.private)
        self._cell = self.law.cell_of(sample.private)
        self.design = np.concatenate([self.law.inside.clip(sample.private), sample.public], axis=1)
        self.weights = np.ones(sample.n) if sample.row_weights is None else sample.row_weights

    def even(self) -> Floats:
        """The law that every group starts from."""
        return np.full((self.groups, self.law.cells), 1 / self.law.cells)

    def _outcome(self, eta: Floats, outcomes: tuple[tuple[float, float], ...]) -> tuple[Floats, Floats]:
        """``ln p`` up to a constant, and its derivative in η; through the channel of a randomised outcome."""
        if len(outcomes) == 1:
            f, f1, _ = self._loss.plain(eta, np.full(eta.size, outcomes[0][0]))
            return -f, -f1
        p, slope = np.zeros(eta.size), np.zeros(eta.size)
        for y, chance in outcomes:
            f, f1, _ = self._loss.plain(eta, np.full(eta.size, y))
            own = chance * np.exp(-f)
            p, slope = p + own, slope - own * f1
        return np.log(p), slope / p

    def _parts(self, place: int, theta: Floats, pi: Floats) -> _Parts:
        pattern, law, d = self.patterns[place], self.law, self._d
        rows, own_law = pattern.rows, pi[pattern.group]
        shift = float(pattern.public @ theta[d:])
        log_p, slope = self._outcome(law.points @ theta[:d] + shift, pattern.outcomes)
        log_own, atom_slope = self._outcome(self.design[rows] @ theta, pattern.outcomes)
        top = float(log_p.max())  # a factor that all points share has no part in anything
        mass = (1 - self._zero) * np.repeat(own_law / law.points_per_cell, law.points_per_cell) * np.exp(log_p - top)
        atom = self._zero * own_law[self._cell[rows]] / law.volume * self._inside[rows]
        atom = atom * np.exp(np.minimum(log_own - top, 50.0))
        total = np.maximum(atom + self._density[place] @ mass, 1e-300)
        return _Parts(mass, slope, atom, atom_slope, total)

    def law_step(self, theta: Floats, pi: Floats) -> Floats:
        """One EM step of the law, the coefficients held."""
        fresh = np.zeros_like(pi)
        for place, pattern in enumerate(self.patterns):
            found = self._parts(place, theta, pi)
            share = self.weights[pattern.rows] / found.total
            noisy = (found.mass * (share @ self._density[place])).reshape(self.law.cells, -1).sum(axis=1)
            fresh[pattern.group] += noisy + np.bincount(self._cell[pattern.rows], found.atom * share, self.law.cells)
        return np.asarray(fresh / fresh.sum(axis=1, keepdims=True))

    def scores(self, theta: Floats, pi: Floats) -> Floats:
        """The efficient score of every row (n, p): that of θ, less what the scores of the law explain of it."""
        law, n = self.law, self.sample.n
        own, of_law, group = np.zeros((n, theta.size)), np.zeros((n, law.cells)), np.zeros(n, np.intp)
        for place, pattern in enumerate(self.patterns):
            rows, found = pattern.rows, self._parts(place, theta, pi)
            group[rows] = pattern.group
            posterior = self._density[place] * found.mass / found.total[:, None]
            exact = found.atom / found.total
            public = np.broadcast_to(pattern.public, (len(law.points), theta.size - self._d))
            at_points = np.concatenate([law.points, public], axis=1)
            own[rows] = posterior @ (at_points * found.slope[:, None])
            own[rows] += self.design[rows] * (exact * found.atom_slope)[:, None]
            of_law[rows] = posterior.reshape(rows.size, law.cells, -1).sum(axis=2)
            of_law[rows, self._cell[rows]] += exact
        for one in range(self.groups):
            rows, used = np.flatnonzero(group == one), pi[one] > _EMPTY / law.cells
            of_cells = of_law[rows][:, used] / pi[one][used] - 1.0
            weighed = of_cells * self.weights[rows][:, None]
            gram = weighed.T @ of_cells
            gram[np.diag_indices_from(gram)] += 1e-8 * np.trace(gram) / max(len(gram), 1)
            own[rows] -= of_cells @ np.linalg.solve(gram, weighed.T @ own[rows])
        return own
