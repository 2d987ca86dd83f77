"""Reports under a law of the covariates on cells and a model of the outcome: densities given each cell, and slopes.

A record is (x1, y): with probability δ₀ the covariates as they are, else with noise. Under a law with probabilities π_k
on cells of volume V_k, uniform within each, and a model p(y | x; θ), the density of a record is ``Σ_k π_k a_k``,

    a_k = δ₀ 1(x1 ∈ cell k)/V_k · p(y | x1; θ) + (1 − δ₀) Σ_{u ∈ cell k} κ(x1 − u) p(y | u; θ)/M_k

over the M_k points u of the cell, κ the density of the noise. Values that many people share are cells of their own,
with one point and the volume of one step of the grid of reports (:mod:`.axis`). Rows with the same public values have a
law of their own, so that nothing is assumed about how covariates and public values go together.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import Floats
from discreet.estimate.noisy_numbers.sample import Sample
from discreet.estimate.regressions.losses import IndexLoss
from discreet.estimate.regressions.semiparametric.law import CellLaw
from discreet.mechanisms import FiniteMechanism

#: A model's probability at an exact record may exceed the largest over points by this factor, in logarithms.
_HIGHEST = 50.0


@dataclass(frozen=True, eq=False)
class Pattern:
    """Rows with the same outcome and the same public values."""

    rows: NDArray[np.intp]
    group: int
    public: Floats
    #: The true outcomes it may stand for, and the chance of its report given each.
    outcomes: tuple[tuple[float, float], ...]


def patterns_of(sample: Sample) -> tuple[list[Pattern], int]:
    """Rows with the same outcome and public values; and the number of different public values."""
    group: NDArray[np.intp] = np.zeros(sample.n, np.intp)
    public = np.zeros((1, 0))
    if sample.public.size:
        public, group = np.unique(sample.public, axis=0, return_inverse=True)
        group = group.reshape(-1)
    assert sample.outcome is not None
    values, code = np.unique(sample.outcome, return_inverse=True)
    channel = sample.outcome_given.matrix() if isinstance(sample.outcome_given, FiniteMechanism) else None
    found = []
    for key in np.unique(group * values.size + code):
        g, place = divmod(int(key), values.size)
        value = float(values[place])
        outcomes: tuple[tuple[float, float], ...] = ((value, 1.0),)
        if channel is not None:
            outcomes = ((0.0, float(channel[0, int(value)])), (1.0, float(channel[1, int(value)])))
        rows = np.flatnonzero((group == g) & (code == place))
        found.append(Pattern(rows, g, public[g], outcomes))
    return found, len(public)


@dataclass(frozen=True, eq=False)
class PatternAt:
    """One pattern at one θ.

    Attributes
    ----------
    shift : float
        The logarithm of a factor that all its densities were divided by.
    noisy, slope, bend : array (F,)
        p of the outcome at points, times 1 − δ₀, and p'/p and p''/p in η there.
    exact, exact_slope, exact_bend : array (m,)
        The same at the reports, times δ₀, for rows that may be exact records.
    """

    shift: float
    noisy: Floats
    slope: Floats
    bend: Floats
    exact: Floats
    exact_slope: Floats
    exact_bend: Floats


class CellModel:
    """All patterns of a sample, with what does not depend on parameters worked out.

    Parameters
    ----------
    loss : IndexLoss
        Its exponential is the model of the outcome.
    sample : Sample
    law : CellLaw
    density : array (F, n), optional
        Of the reports given every point, where that is known already.
    """

    def __init__(self, loss: IndexLoss, sample: Sample, law: CellLaw, density: Floats | None = None) -> None:
        self.law, self.sample = law, sample
        self.patterns, self.groups = patterns_of(sample)
        self._loss = loss
        self._zero, self._d = sample.mechanism.zero_probability, sample.private.shape[1]
        rows = [pattern.rows for pattern in self.patterns]
        self._density = [
            law.density(sample.private[one]) if density is None else density.take(one, axis=1) for one in rows
        ]
        cell, held = law.cell_of(sample.private)
        exact = self._zero / law.volume[cell] * (held & law.inside.contains(sample.private))
        self._cell, self._exact = [cell[one] for one in rows], [exact[one] for one in rows]
        self.design = np.concatenate([law.inside.clip(sample.private), sample.public], axis=1)
        self.weights = np.ones(sample.n) if sample.row_weights is None else sample.row_weights

    def rows_of(self, group: int) -> tuple[list[int], NDArray[np.intp]]:
        """The patterns of a group, and their rows in that order."""
        return self._groups[group]

    @cached_property
    def _groups(self) -> list[tuple[list[int], NDArray[np.intp]]]:
        places = [[k for k, one in enumerate(self.patterns) if one.group == g] for g in range(self.groups)]
        return [(own, np.concatenate([self.patterns[k].rows for k in own])) for own in places]

    def at(self, place: int, theta: Floats) -> PatternAt:
        """One pattern at θ."""
        pattern, law = self.patterns[place], self.law
        index = law.points @ theta[: self._d] + float(pattern.public @ theta[self._d :])
        log_p, slope, bend = self._outcome(index, pattern.outcomes)
        log_own, own_slope, own_bend = self._outcome(self.design[pattern.rows] @ theta, pattern.outcomes)
        top = float(log_p.max())
        noisy = (1 - self._zero) / law.points_in[law.cell_of_point] * np.exp(log_p - top)
        exact = self._exact[place] * np.exp(np.minimum(log_own - top, _HIGHEST))
        return PatternAt(top, noisy, slope, bend, exact, own_slope, own_bend)

    def _outcome(self, eta: Floats, outcomes: tuple[tuple[float, float], ...]) -> tuple[Floats, Floats, Floats]:
        """``ln p`` up to a constant, p'/p and p''/p in η; through the channel of a randomised outcome."""
        if len(outcomes) == 1:
            f, f1, f2 = self._loss.plain(eta, np.full(eta.size, outcomes[0][0]))
            return -f, -f1, f1 * f1 - f2
        p, slope, bend = np.zeros(eta.size), np.zeros(eta.size), np.zeros(eta.size)
        for y, chance in outcomes:
            f, f1, f2 = self._loss.plain(eta, np.full(eta.size, y))
            own = chance * np.exp(-f)
            p, slope, bend = p + own, slope - own * f1, bend + own * (f1 * f1 - f2)
        return np.log(p), slope / p, bend / p

    def densities(self, place: int, at: PatternAt) -> Floats:
        """a_k of every cell for the rows of a pattern (K, m), over its common factor."""
        found: Floats = self.law.summed(at.noisy[:, None], self._density[place])[0]
        found[self._cell[place], np.arange(at.exact.size)] += at.exact
        return found

    def slopes(self, place: int, at: PatternAt, cells: NDArray[np.intp] | None = None) -> Floats:
        """The derivatives of a_k in θ for all cells or some (p, cells, m), over the common factor."""
        cells = np.arange(self.law.cells) if cells is None else cells
        columns = self._columns(place) * (at.noisy * at.slope)[:, None]
        rows = self.design[self.patterns[place].rows] * (at.exact * at.exact_slope)[:, None]
        where = np.full(self.law.cells, -1)
        where[cells] = np.arange(cells.size)
        own = where[self._cell[place]]
        held = np.flatnonzero(own >= 0)
        found = self.law.summed(columns, self._density[place], cells)
        found[:, own[held], held] += rows[held].T
        return found

    def bends(self, place: int, at: PatternAt, pi: Floats, share: Floats) -> Floats:
        """``Σ_i share_i ∂²(Σ_k π_k a_k)`` in θ (p, p), over the common factor."""
        law, rows = self.law, self.design[self.patterns[place].rows]
        at_points = at.noisy * at.bend * pi[law.cell_of_point] * (self._density[place] @ share)
        at_rows = at.exact * at.exact_bend * pi[self._cell[place]] * share
        columns = self._columns(place)
        return np.asarray((columns * at_points[:, None]).T @ columns + (rows * at_rows[:, None]).T @ rows)

    def _columns(self, place: int) -> Floats:
        """The columns of the index at every point, for one pattern."""
        public = self.patterns[place].public
        return np.concatenate([self.law.points, np.broadcast_to(public, (len(self.law.points), public.size))], axis=1)
