"""Reports under a law of the covariates on cells and a model of the outcome: likelihood, scores and EM steps.

A record is (x1, y): with probability δ₀ the covariates as they are, else with noise. Under a law with probabilities π_k
on cells of volume V_k, uniform within each, and a model p(y | x; θ), the density of a record is

    δ₀ π_{k(x1)}/V_k · p(y | x1; θ) 1(x1 ∈ box) + (1 − δ₀) Σ_f (π_{k(f)}/M) κ(x1 − u_f) p(y | u_f; θ)

over the points u_f, M of them in the cell of each. Values that many people share are cells of their own, with one point
and the volume of one step of the grid of reports (:mod:`.axis`). Rows with the same public values have a law of their
own, so that nothing is assumed about how covariates and public values go together.
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
    """One pattern at one θ and law: what points (F) and exact records (m) weigh given their cell, the slopes of their
    log-likelihoods, the law at each, and the density of the rows (m).
    """

    mass: Floats
    slope: Floats
    atom: Floats
    atom_slope: Floats
    law_at_points: Floats
    law_at_rows: Floats
    total: Floats


class CellModel:
    """All patterns of a sample, with what does not depend on parameters worked out."""

    def __init__(self, loss: IndexLoss, sample: Sample, patterns: list[Pattern], groups: int) -> None:
        self.law, self.sample = CellLaw.of(sample.mechanism, sample.private), sample
        self.patterns, self.groups = patterns, groups
        self._loss = loss
        self._zero, self._d = sample.mechanism.zero_probability, sample.private.shape[1]
        density = self.law.density(sample.private)
        self._density = [density[pattern.rows] for pattern in patterns]
        self._cell, held = self.law.cell_of(sample.private)
        self._inside = held & self.law.inside.contains(sample.private)
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
        mass = (1 - self._zero) / law.points_in[law.cell_of_point] * np.exp(log_p - top)
        atom = self._zero / law.volume[self._cell[rows]] * self._inside[rows]
        atom = atom * np.exp(np.minimum(log_own - top, 50.0))
        at_points, at_rows = own_law[law.cell_of_point], own_law[self._cell[rows]]
        total = np.maximum(atom * at_rows + self._density[place] @ (mass * at_points), 1e-300)
        return _Parts(mass, slope, atom, atom_slope, at_points, at_rows, total)

    def law_step(self, theta: Floats, pi: Floats) -> Floats:
        """One EM step of the law, the coefficients held."""
        fresh = np.zeros_like(pi)
        for place, pattern in enumerate(self.patterns):
            found = self._parts(place, theta, pi)
            share = self.weights[pattern.rows] / found.total
            noisy = self.law.by_cell(found.mass * found.law_at_points * (share @ self._density[place]))
            exact = found.atom * found.law_at_rows * share
            fresh[pattern.group] += noisy + np.bincount(self._cell[pattern.rows], exact, self.law.cells)
        return np.asarray(fresh / fresh.sum(axis=1, keepdims=True))

    def scores(self, theta: Floats, pi: Floats, *, everywhere: bool = False) -> Floats:
        """The efficient score of every row (n, p): that of θ, less what the scores of the law explain of it.

        Parameters
        ----------
        everywhere : bool
            Count the probabilities of all cells among the unknowns, not only of those that the law fills: an estimated
            law leaves most cells empty, also of a smooth one, and a law that could not move there would be known too
            well.
        """
        law, n = self.law, self.sample.n
        own, of_law, group = np.zeros((n, theta.size)), np.zeros((n, law.cells)), np.zeros(n, np.intp)
        for place, pattern in enumerate(self.patterns):
            rows, found = pattern.rows, self._parts(place, theta, pi)
            group[rows] = pattern.group
            given_cell = self._density[place] * found.mass / found.total[:, None]
            posterior = given_cell * found.law_at_points
            exact_given = found.atom / found.total
            exact = exact_given * found.law_at_rows
            public = np.broadcast_to(pattern.public, (len(law.points), theta.size - self._d))
            at_points = np.concatenate([law.points, public], axis=1)
            own[rows] = posterior @ (at_points * found.slope[:, None])
            own[rows] += self.design[rows] * (exact * found.atom_slope)[:, None]
            of_law[rows] = law.by_cell(given_cell)
            of_law[rows, self._cell[rows]] += exact_given
        for one in range(self.groups):
            rows, used = np.flatnonzero(group == one), everywhere | (pi[one] > _EMPTY / law.cells)
            of_cells = of_law[rows][:, used] - 1.0
            weighed = of_cells * self.weights[rows][:, None]
            gram = weighed.T @ of_cells
            gram[np.diag_indices_from(gram)] += 1e-8 * np.trace(gram) / max(len(gram), 1)
            own[rows] -= of_cells @ np.linalg.solve(gram, weighed.T @ own[rows])
        return own
