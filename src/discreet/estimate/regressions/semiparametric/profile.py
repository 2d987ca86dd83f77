"""The likelihood of the coefficients with the law of the covariates as favourable as it can be.

For given θ the likelihood is ``Σ_i w_i ln Σ_k π_k a_ik(θ)``, concave in the law π: its maximum over the simplex is
found with a certificate (:mod:`discreet.estimate.channels.simplex_mle`), group by group. What is left is a function of
θ alone,

    ℓ_p(θ) = max_π ℓ(θ, π),

the profile (Murphy and van der Vaart 2000). Its slope is the score of θ at the best law, because a small change of
that law changes nothing. Its curvature is that of ℓ less what a law that follows θ takes away,

    J_θθ − J_θπ J_ππ⁻¹ J_πθ,

over the cells that the law fills; with products of scores in place of second derivatives it is the efficient
information (Begun, Hall, Huang and Wellner 1983).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import Floats
from discreet.estimate.channels.simplex_mle import channel_fit, nearby_fit
from discreet.estimate.regressions.optimise import Terms
from discreet.estimate.regressions.semiparametric.model import CellModel, PatternAt

#: How close the law is brought to its maximum, in units of the log-likelihood: far below a step of the coefficients.
_GAP = 1e-9


@dataclass(frozen=True, eq=False)
class _Group:
    """The best law of one group of equal public values at one θ."""

    rows: NDArray[np.intp]
    parts: tuple[PatternAt, ...]
    given_cell: Floats  # (K, m)
    law: Floats
    density: Floats

    @property
    def filled(self) -> NDArray[np.intp]:
        """The cells that it fills."""
        return np.flatnonzero(self.law > 0)

    def scores(self, slopes: Floats) -> Floats:
        """The score of every row (m, p), from the slopes of the densities given these cells."""
        return np.asarray(np.einsum("k,jki->ij", self.law[self.filled], slopes) / self.density[:, None])


class LawProfile:
    """ℓ_p with its derivatives, as a surface to climb.

    Parameters
    ----------
    model : CellModel
    """

    def __init__(self, model: CellModel) -> None:
        self.model = model
        self.rows = model.sample.n
        self.metric = model.design.T @ model.design / self.rows
        self._laws: list[Floats | None] = [None] * model.groups
        self._solved: tuple[bytes, list[_Group]] = (b"", [])

    def value(self, theta: Floats) -> float:
        """ℓ_p."""
        total = 0.0
        for g, one in enumerate(self._at(theta)):
            places, _ = self.model.rows_of(g)
            weights = self.model.weights[one.rows]
            total += float(weights @ np.log(one.density))
            for place, part in zip(places, one.parts, strict=True):
                total += part.shift * float(self.model.weights[self.model.patterns[place].rows].sum())
        return total

    def terms(self, theta: Floats, curvature: str) -> Terms:
        """ℓ_p, its slope, and its curvature: "observed", or "expected" by products of efficient scores."""
        p = theta.size
        score, information = np.zeros(p), np.zeros((p, p))
        for g, one in enumerate(self._at(theta)):
            weights, slopes = self.model.weights[one.rows], self._slopes(g, one)
            own = one.scores(slopes)
            of_law = one.given_cell[one.filled] / one.density - 1.0
            score += weights @ own
            weighed = own * weights[:, None]
            if curvature == "expected":
                left = own - _explained(of_law, own, weights)
                information += (left * weights[:, None]).T @ left
            else:
                share = weights / one.density
                cross = (of_law + 1.0) @ weighed - np.einsum("jki,i->kj", slopes, share)
                inner = _gram(of_law, weights)
                information += weighed.T @ own - self._bends(g, one, share) - cross.T @ np.linalg.solve(inner, cross)
        return Terms(self.value(theta), score, information)

    def efficient_scores(self, theta: Floats) -> Floats:
        """The score of every row (n, p) less what the scores of the law explain of it.

        The probabilities of all cells are unknown, not only of those that the law fills: an estimated law leaves most
        cells empty, also of a smooth one, and a law that could not move there would be known too well.
        """
        found = np.zeros((self.rows, theta.size))
        for g, one in enumerate(self._at(theta)):
            own = one.scores(self._slopes(g, one))
            of_law = one.given_cell / one.density - 1.0
            found[one.rows] = own - _explained(of_law, own, self.model.weights[one.rows])
        return found

    def _at(self, theta: Floats) -> list[_Group]:
        """The best laws at θ; the last ones are kept."""
        key = theta.tobytes()
        if self._solved[0] != key:
            self._solved = key, [self._group(g, theta) for g in range(self.model.groups)]
        return self._solved[1]

    def _group(self, g: int, theta: Floats) -> _Group:
        places, rows = self.model.rows_of(g)
        parts = tuple(self.model.at(place, theta) for place in places)
        given_cell = np.concatenate(
            [self.model.densities(place, part) for place, part in zip(places, parts, strict=True)], axis=1
        )
        weights, last = self.model.weights[rows], self._laws[g]
        if last is None:
            last = channel_fit(given_cell, weights).frequencies
        law = nearby_fit(given_cell, weights, last, gap=_GAP).frequencies
        self._laws[g] = law
        return _Group(rows, parts, given_cell, law, law @ given_cell)

    def _slopes(self, g: int, one: _Group) -> Floats:
        """Derivatives of the densities given the cells that are filled (p, cells, m)."""
        places, _ = self.model.rows_of(g)
        return np.concatenate(
            [self.model.slopes(place, part, one.filled) for place, part in zip(places, one.parts, strict=True)], axis=2
        )

    def _bends(self, g: int, one: _Group, share: Floats) -> Floats:
        places, _ = self.model.rows_of(g)
        total, start = np.zeros((self.metric.shape[0],) * 2), 0
        for place, part in zip(places, one.parts, strict=True):
            stop = start + part.exact.size
            total += self.model.bends(place, part, one.law, share[start:stop])
            start = stop
        return total


def _gram(of_law: Floats, weights: Floats) -> Floats:
    """``Σ w uu'`` of scores of the law (k, m); a law's own direction has none, and gets a little."""
    gram = (of_law * weights) @ of_law.T
    gram[np.diag_indices_from(gram)] += 1e-8 * np.trace(gram) / max(len(gram), 1) + 1e-300
    return np.asarray(gram)


def _explained(of_law: Floats, own: Floats, weights: Floats) -> Floats:
    """What the scores of the law explain of others (m, p), by least squares."""
    return np.asarray(of_law.T @ np.linalg.solve(_gram(of_law, weights), (of_law * weights) @ own))
