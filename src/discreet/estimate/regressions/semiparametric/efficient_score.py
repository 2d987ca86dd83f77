"""Scores of the coefficients whose mean is zero whatever the law of the covariates is.

The density of a record is linear in the law: ``f = Σ_k π_k a_k``. Take any working law π*, with density f*, score s of
the coefficients and scores ``u_k = a_k/f* − 1`` of the law, and what u leaves of s by least squares *under the working
law*, ``ŝ = s − c'u`` with ``E*[ŝu] = 0``. Under another law π

    E_π[ŝ] = ∫ ŝ Σ_k π_k a_k = Σ_k π_k E*[ŝ(u_k + 1)] = 0:

a wrong working law costs precision, never bias (Tsiatis and Ma 2004). The likelihood itself has no such property: at
the likeliest law the scores of empty cells do not vanish, and for few rows, or a law with a thin tail, the coefficients
are drawn to one side by some tenths of a standard error.

The working law of a row is the likeliest one for the other four of five parts of the rows, so that it cannot adapt to
the row itself, with an even one that counts as one row more. ``E*`` is an average over records that are drawn from the
model, from a fixed seed: numerical integration, in which no report takes part.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import Floats
from discreet.estimate.channels.simplex_mle import channel_fit
from discreet.estimate.noisy_numbers.sample import Sample, SurveyDesign
from discreet.estimate.regressions.invert_test import ScoreIntervals, Standing, standing
from discreet.estimate.regressions.losses import IndexLoss, Poisson, Probit
from discreet.estimate.regressions.semiparametric.law import CellLaw
from discreet.estimate.regressions.semiparametric.model import CellModel
from discreet.mechanisms import FiniteMechanism

_SEED = 161803
#: What an even law counts in a working law, in rows: no cell is empty, and far cells, where counts would be huge under
#: an exponential model, do not decide what is expected.
_EVEN = 1.0
#: Parts of the rows.
_PARTS = 5
#: Records that are drawn for an expectation: per cell, and at least. They add one part in this many to a variance.
_DRAWN_PER_CELL, _FEWEST_DRAWN = 60, 4_000


@dataclass(frozen=True, eq=False)
class Scores:
    """At one θ: of every row (n, p), and the information that they are expected to carry together (p, p)."""

    rows: Floats
    information: Floats


class EfficientScore:
    """Scores of a sample as a function of θ, the working laws being held.

    Parameters
    ----------
    loss : IndexLoss
    sample : Sample
    law : CellLaw
    theta : array (p,)
        Where the working laws are fitted.
    """

    def __init__(self, loss: IndexLoss, sample: Sample, law: CellLaw, theta: Floats) -> None:
        self._model = CellModel(loss, sample, law)
        self._part = _parts_of(sample)
        self._laws, self._drawn = [], []
        for group in range(self._model.groups):
            records = _Records.of(self._model, group, theta)
            laws = np.stack([self._working_law(records, part) for part in range(_PARTS)])
            self._laws.append(laws)
            public = sample.public[records.rows[0]]
            self._drawn.append(_Drawn(loss, sample, law, public, laws.mean(axis=0)))

    def _working_law(self, records: _Records, part: int) -> Floats:
        others = np.flatnonzero(self._part[records.rows] != part)
        weights = self._model.weights[records.rows[others]]
        found = channel_fit(records.given_cell[:, others], weights).frequencies
        even = _EVEN / (_EVEN + float(weights.sum()))
        return np.asarray((1 - even) * found + even / found.size)

    def at(self, theta: Floats) -> Scores:
        """The scores at θ."""
        found, information = np.zeros((self._model.sample.n, theta.size)), np.zeros((theta.size, theta.size))
        for group in range(self._model.groups):
            records, drawn = _Records.of(self._model, group, theta), self._drawn[group].at(theta)
            for part, law in enumerate(self._laws[group]):
                own = np.flatnonzero(self._part[records.rows] == part)
                score, of_law, _ = records.scores(law, own)
                coefficients, expected = _projection(drawn, law, self._drawn[group].law)
                rows = records.rows[own]
                found[rows] = score - of_law.T @ coefficients
                information += float(self._model.weights[rows].sum()) * expected
        return Scores(found, information)


@dataclass(frozen=True, eq=False)
class _Records:
    """Records of one group at one θ.

    Attributes
    ----------
    rows : array (m,)
        Where they stand in their sample.
    given_cell : array (K, m)
        Their densities given each cell, over a common factor.
    slopes : array (p, K, m)
        The derivatives of those.
    """

    rows: NDArray[np.intp]
    given_cell: Floats
    slopes: Floats

    @classmethod
    def of(cls, model: CellModel, group: int, theta: Floats) -> _Records:
        """Patterns one after the other."""
        places, rows = model.rows_of(group)
        at = [(place, model.at(place, theta)) for place in places]
        given_cell = np.concatenate([model.densities(*one) for one in at], axis=1)
        return cls(rows, given_cell, np.concatenate([model.slopes(*one) for one in at], axis=2))

    def scores(self, law: Floats, some: NDArray[np.intp] | slice) -> tuple[Floats, Floats, Floats]:
        """Of some records under a law: of the coefficients (m, p), of the law (K, m), and their densities (m,)."""
        given_cell = self.given_cell[:, some]
        density = law @ given_cell
        score = np.einsum("k,jki->ij", law, self.slopes[:, :, some]) / density[:, None]
        return score, given_cell / density - 1.0, density


def _projection(drawn: _Records, law: Floats, drawn_from: Floats) -> tuple[Floats, Floats]:
    """C of ``s − c'u`` under a working law (K, p), and the expected square of what is left (p, p)."""
    score, of_law, density = drawn.scores(law, slice(None))
    weights = density / (drawn_from @ drawn.given_cell)
    weights /= weights.sum()
    weighed = of_law * weights
    gram = weighed @ of_law.T
    gram[np.diag_indices_from(gram)] += 1e-8 * np.trace(gram) / len(gram) + 1e-300
    coefficients = np.linalg.solve(gram, weighed @ score)
    left = score - of_law.T @ coefficients
    return np.asarray(coefficients, float), (left * weights[:, None]).T @ left


class _Drawn:
    """Records of one group drawn from the model: reports once, outcomes for every θ by the same uniform numbers."""

    def __init__(self, loss: IndexLoss, sample: Sample, law: CellLaw, public: Floats, pi: Floats) -> None:
        generator = np.random.default_rng(_SEED)
        count = max(_FEWEST_DRAWN, _DRAWN_PER_CELL * law.cells)
        mechanism = sample.mechanism
        chance = (pi / law.points_in)[law.cell_of_point]
        point = generator.choice(chance.size, count, p=chance / chance.sum())
        exact = generator.random(count) < mechanism.zero_probability
        place = law.extents[point] * (generator.random((count, mechanism.dimension)) - 0.5)
        noise = mechanism.noise_scale * generator.standard_normal((count, mechanism.dimension))
        noise *= np.sqrt(generator.standard_exponential((count, 1)))
        self._truth = np.where(exact[:, None], law.inside.clip(law.points[point] + place), law.points[point])
        self._reports = np.where(exact[:, None], self._truth, self._truth + noise)
        self._uniform = generator.random((2, count))
        self._density = law.density(self._reports)
        self._loss, self._sample, self._cells, self.law = loss, sample, law, pi
        self._public = np.repeat(public[None, :], count, axis=0)

    def at(self, theta: Floats) -> _Records:
        """The records with outcomes that this θ gives."""
        index = np.concatenate([self._truth, self._public], axis=1) @ theta
        outcome = _outcomes(self._loss, index, self._uniform[0])
        given = self._sample.outcome_given
        if isinstance(given, FiniteMechanism):
            below = np.cumsum(given.matrix(), axis=1)[outcome.astype(np.intp)]
            outcome = (self._uniform[1][:, None] > below[:, :-1]).sum(axis=1).astype(float)
        sample = replace(
            self._sample,
            private=self._reports,
            public=self._public,
            outcome=outcome,
            weights=None,
            design=SurveyDesign(),
        )
        return _Records.of(CellModel(self._loss, sample, self._cells, self._density), 0, theta)


def _parts_of(sample: Sample) -> NDArray[np.intp]:
    """The part of every row; rows of one cluster stay together."""
    if sample.design.clusters is None:
        return np.arange(sample.n) % _PARTS
    return np.asarray(np.unique(sample.design.clusters, return_inverse=True)[1].reshape(-1) % _PARTS)


def _outcomes(loss: IndexLoss, index: Floats, uniform: Floats) -> Floats:
    """Outcomes of the model, by their quantile function."""
    if isinstance(loss, Poisson):
        from scipy.stats import poisson

        return np.asarray(poisson.ppf(uniform, np.exp(np.minimum(index, 20.0))), float)
    from scipy.special import expit, ndtr

    return np.asarray(uniform < (ndtr(index) if isinstance(loss, Probit) else expit(index)), float)


def efficient_intervals(
    loss: IndexLoss, sample: Sample, law: CellLaw, theta: Floats, covariance: Floats
) -> ScoreIntervals:
    """Score intervals of a maximum likelihood estimate."""

    def make() -> Callable[[Floats], Standing]:
        scores, weights = EfficientScore(loss, sample, law, theta), sample.row_weights

        def at(here: Floats) -> Standing:
            with np.errstate(all="ignore"):
                found = scores.at(here)
                rows = found.rows if weights is None else found.rows * weights[:, None]
            if not np.isfinite(rows).all():
                return standing(here, rows.sum(axis=0), found.information * np.nan, found.information)
            return standing(here, rows.sum(axis=0), sample.design.meat(rows) * len(rows), found.information)

        return at

    return ScoreIntervals(make, theta, covariance)
