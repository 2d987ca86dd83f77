"""Worst cases over a box of regression coefficients: the regret of a label design, searched for in the whole box.

At coefficients β a design d has regret ``max_c value(d, β)/value(c, β) − 1`` over the three corners c, one of which is
best there. Each ratio is smooth in β and may have several maxima: at a vertex of the box, on a face, or inside. They
are looked for on points that fill the box, and by climbing (L-BFGS-B) from the worst of these. The largest regret found
is one that occurs; that no larger one does is not proven by a search.

Two things are proven. *From below*: the smallest worst regret over any set of points of the box is a bound for every
design; the point where the minimax design of these points has a larger regret is added, and the problem solved again.
*From above*: criteria are monotone and homogeneous in the variances V of the rows (see `label_criteria`), so that
``value(d, β)/value(c, β)`` is at most the largest ``V_d(π)/V_c(π)`` at any prevalence π of a row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import product

import numpy as np

from discreet.arguments import Floats
from discreet.design.binary_response.minimax import TOLERANCE, EdgeProblem, Minimax
from discreet.design.private_labels.information_criteria import (
    CERTAIN,
    SENSITIVITIES,
    LabelProblem,
    judged,
    two_report_variance,
)

#: (p00, p11) in floats.
FloatPoint = tuple[float, float]

#: A grid over the box takes this many points at most, and so many more per coefficient fill it.
_GRID = 1024
_FILLING = 64
#: Climbs per corner, from points that are at least this far apart in a box of side one.
_CLIMBS = 4
_APART = 0.2
#: A design whose regret is below this everywhere is called best.
BEST = 1e-9
#: Minimax problems solved before the best design so far is taken, with the gap that it has.
_ROUNDS = 30
#: Square roots of primes are irrational and independent: multiples modulo one fill the box evenly (Weyl 1916).
_PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29)


@dataclass(frozen=True, eq=False)
class Worst:
    """What a search of the box found.

    Attributes
    ----------
    ratio : float
        One plus the largest regret found.
    where : array (d,)
        Its coefficients, of the standardised covariates.
    ends, ratios : arrays (ends, d) and (ends,)
        Where the climbs ended, and what was found there.
    tried : int
        Points at which the regret was computed.
    """

    ratio: float
    where: Floats
    ends: Floats
    ratios: Floats
    tried: int


@dataclass(frozen=True)
class Edges:
    """Both tight edges of the feasible region: u at the Warner point and at (1, δ), and the design at any u."""

    warner: float
    corner: float
    point: Callable[[float, bool], FloatPoint]

    @property
    def ends(self) -> tuple[Minimax, Minimax, Minimax]:
        """The corners, in the order of `binary_region.corners`; the Warner point, which exposes nobody, first."""
        return (
            Minimax(self.warner, mirrored=False, value=1.0, bound=1.0, at_warner=True),
            Minimax(self.corner, mirrored=False, value=1.0, bound=1.0, at_corner=True),
            Minimax(self.corner, mirrored=True, value=1.0, bound=1.0, at_corner=True),
        )


@dataclass(frozen=True, eq=False)
class RangeMinimax:
    """The design of least worst regret, what was found of it, and the bound for all designs.

    Attributes
    ----------
    design : Minimax
        The point on an edge.
    worst : Worst
        Its largest regret found in the box.
    bound : float
        One plus the smallest worst regret that any design has over ``against`` points of the box.
    alone : tuple of float
        One plus the largest regret found of each corner.
    tried : int
        Points at which a regret was computed, in all.
    """

    design: Minimax
    worst: Worst
    bound: float
    alone: tuple[float, ...]
    against: int
    tried: int


@dataclass(frozen=True, eq=False)
class CoefficientRange:
    """A box of coefficients of the standardised covariates.

    Attributes
    ----------
    problem : LabelProblem
        Covariates, link and criterion.
    low, high : array (d,)
        The ends of the box.
    corners : tuple of (p00, p11)
        The designs of which one is best at every β.
    """

    problem: LabelProblem
    low: Floats
    high: Floats
    corners: tuple[FloatPoint, ...]

    @cached_property
    def points(self) -> Floats:
        """Vertices, middles, zeros (where the predictor loses a term) and evenly spread points of the box."""
        low, high, d = self.low, self.high, self.low.size
        middle, zero = (low + high) / 2, np.clip(0.0, low, high)
        levels = [np.unique(ends) for ends in zip(low, middle, zero, high, strict=True)]
        if np.prod([len(one) for one in levels]) > _GRID:
            levels = [np.unique(ends) for ends in zip(low, high, strict=True)]
        grid = np.array(list(product(*levels)))
        faces = np.repeat(np.stack([middle, zero]), 2 * d, axis=0)
        for i in range(d):
            faces[[i, 2 * d + i], i] = low[i]
            faces[[d + i, 3 * d + i], i] = high[i]
        multiples = np.arange(1, _FILLING * d + 1)[:, None] * np.sqrt(_PRIMES[:d])
        filling = low + (multiples % 1.0) * (high - low)
        return np.unique(np.vstack([grid, faces, middle, zero, filling]), axis=0)

    @cached_property
    def _corner_values(self) -> Floats:
        """The criterion of every corner (columns) at the standing points (rows)."""
        return self.problem.at(self.points).table(self.corners)

    def ratios(self, design: FloatPoint, points: Floats) -> Floats:
        """One plus the regret of a design at every point."""
        values = self.problem.at(points).table((design, *self.corners))
        return np.asarray(values[:, 0] / values[:, 1:].min(axis=1))

    def worst(self, design: FloatPoint) -> Worst:
        """The largest regret of a design that is found in the box."""
        from scipy.optimize import minimize

        ratios = self.problem.at(self.points).table((design,)) / self._corner_values
        width = self.high - self.low
        ends, tried = [self.points[ratios.max(axis=1).argmax()]], len(self.points)
        for corner, column in zip(self.corners, ratios.T, strict=True):
            if corner == design:
                continue
            for start in self._starts(column):
                climbed = minimize(
                    self._falling(design, corner),
                    (start - self.low) / np.where(width > 0, width, 1.0),
                    jac=True,
                    method="L-BFGS-B",
                    bounds=[(0.0, float(w > 0)) for w in width],
                )
                ends.append(self.low + climbed.x * width)
                tried += int(climbed.nfev)
        found = self.ratios(design, np.array(ends))
        return Worst(float(found.max()), ends[int(found.argmax())], np.array(ends), found, tried)

    def _starts(self, ratios: Floats) -> Floats:
        """The worst points that are apart from each other."""
        width = np.where(self.high > self.low, self.high - self.low, 1.0)
        chosen: list[Floats] = []
        for i in np.argsort(-ratios):
            point = self.points[i]
            if all(np.abs((point - other) / width).max() >= _APART for other in chosen):
                chosen.append(point)
            if len(chosen) == _CLIMBS:
                break
        return np.array(chosen)

    def _falling(self, design: FloatPoint, corner: FloatPoint) -> Callable[[Floats], tuple[float, Floats]]:
        """Minus the log ratio and its gradient, in a box of side one."""
        width = self.high - self.low

        def function(unit: Floats) -> tuple[float, Floats]:
            at = self.problem.at((self.low + unit * width)[None, :])
            own, own_slope = log_criterion(at, design)
            other, other_slope = log_criterion(at, corner)
            return other - own, (other_slope - own_slope) * width

        return function

    def minimax(self, edges: Edges) -> RangeMinimax:
        """The design of least worst regret: minimax over the points found so far, until no search adds one."""
        searched = [self.worst(corner) for corner in self.corners]
        alone = tuple(one.ratio for one in searched)
        seen = np.vstack([one.ends for one in searched])
        tried = sum(one.tried for one in searched)
        for corner, worst in zip(edges.ends, searched, strict=True):
            if worst.ratio <= 1 + BEST:
                return RangeMinimax(corner, worst, 1.0, alone, len(seen), tried)
        best: tuple[Minimax, Worst] | None = None
        for _ in range(_ROUNDS):
            found = self._minimax_over(seen, edges)
            worst = self.worst(edges.point(found.u, found.mirrored))
            tried += worst.tried
            if best is None or worst.ratio < best[1].ratio:
                best = found, worst
            larger = worst.ratios > found.value * (1 + TOLERANCE)
            if not larger.any():
                break
            seen = np.vstack([seen, worst.ends[larger]])
        assert best is not None
        return RangeMinimax(*best, found.bound, alone, len(seen), tried)

    def _minimax_over(self, points: Floats, edges: Edges) -> Minimax:
        problem = self.problem.at(points)
        best = problem.table(self.corners).min(axis=1)
        return EdgeProblem(
            edges.warner,
            edges.corner,
            lambda u, mirrored: problem.values(partial(two_report_variance, *edges.point(u, mirrored))) / best,
        ).solve()

    def ceiling(self, design: FloatPoint) -> float:
        """A proven bound for one plus the regret anywhere in the box: the largest ``V_d/V_c`` at any prevalence in it.

        A ratio of two quadratics in π is largest at an end or where its derivative, a quadratic too, vanishes.
        """
        from discreet.estimate.regressions.likelihood.links import link_named

        X = self.problem.covariates
        ends = np.stack([X * self.low, X * self.high])
        reach = np.array([ends.min(axis=0).sum(axis=1).min(), ends.max(axis=0).sum(axis=1).max()])
        no, yes, _ = link_named(self.problem.link).parts(reach)
        top = 1.0
        for corner in self.corners:
            if corner == design:
                continue
            own, other = (_quadratic(*point) for point in (design, corner))
            turning = (own.deriv() * other - own * other.deriv()).roots()
            inside = np.array([root.real for root in turning if abs(root.imag) < 1e-9 and yes[0] < root.real < yes[1]])
            at = np.append(no, 1 - inside), np.append(yes, inside)
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = two_report_variance(*design, *at) / two_report_variance(*corner, *at)
            top = max(top, float(np.where(np.isnan(ratio), np.inf, ratio).max()))
        return top


def _quadratic(p00: float, p11: float) -> np.polynomial.Polynomial:
    """The variance of one debiased answer as a polynomial of the prevalence."""
    s = p00 + p11 - 1
    q = np.polynomial.Polynomial([1 - p00, s])
    return q * (1 - q) / (s * s)


def log_criterion(problem: LabelProblem, design: FloatPoint) -> tuple[float, Floats]:
    """The logarithm of the criterion in the first scenario, and its gradient in the coefficients.

    With ``w = g²/V`` the weight of a row and η = x'β, ``dw/dη = (2 g g' − g³ V'/V)/V``, and ``d log(criterion)`` is
    ``−⟨C, dM⟩``, so that the gradient is ``−mean (dw/dη)(x'Cx) x``.
    """
    from discreet.estimate.regressions.likelihood.links import link_named

    p00, p11 = design
    no, prevalence, slope = (part[0] for part in problem.parts)
    V = two_report_variance(p00, p11, no, prevalence)
    inverse = np.divide(1.0, V, out=np.zeros_like(V), where=V > CERTAIN)
    change = (1 - 2 * (1 - p00 + prevalence * (p00 + p11 - 1))) / (p00 + p11 - 1)
    bend = link_named(problem.link).bend(problem.predictors[0], (no, prevalence, slope))
    X = problem.covariates
    information = problem.informations(partial(two_report_variance, p00, p11))[0]
    value = float(judged(problem.criterion, information))
    leverage = np.einsum("ij,ij->i", X @ SENSITIVITIES[problem.criterion](information), X)
    weight_slope = slope * (2 * bend - slope**2 * change * inverse) * inverse
    return float(np.log(value)), -(weight_slope * leverage) @ X / len(X)
