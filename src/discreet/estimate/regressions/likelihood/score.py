"""Score tests and intervals that keep their level where the maximum of the likelihood is infinite.

Under strong randomisation the likelihood is often highest for a step function of the covariates, which fits the noise:
the likelihood ratio then rejects the truth far too often. A score test avoids the maximum. Here it belongs to the
estimating equations of unbiased labels ỹ, with weights w that do not depend on the value under test:

    Σ wᵢ xᵢ (ỹᵢ − G(xᵢ'β)) = 0,

the gradient of a concave function for every link. With b_j given, the other coefficients solve their own equations;
what is left in the j-th, squared, over its variance (which allows for the others having been estimated) is chi-square
with one degree of freedom when b_j is true (Boos 1992). By concavity what is left falls in b_j. Neyman's C(α)
test, whose weights g/V are taken at the value under test, has no such order: far away it uses a few rows only, and
accepts values that nearer ones were rejected for.

The weights are g/V, V the variance of ỹ, at a fit with the weights of G = ½ that is pulled to zero by one row's worth
of information. That fit is consistent, so that in large samples the test is as powerful as the likelihood's own score
test; for direct answers and the logit link the weights are equal and the test is Rao's.

D. D. Boos (1992), On generalized score tests, *The American Statistician* 46, 327–333. J. Neyman (1959), Optimal
asymptotic tests of composite statistical hypotheses, in *Probability and Statistics: The Harald Cramér Volume*.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import Floats
from discreet.estimate.regressions.likelihood.links import Link
from discreet.estimate.regressions.likelihood.rows import Rows, made_by
from discreet.estimate.regressions.likelihood.yes_no import report_probabilities

#: The pull to zero of the fit that the weights come from, in rows' worth of information.
_PILOT_PULL = 1.0
#: A weak one, so that the equations always have a solution.
_PULL = 1e-3
#: An estimate is drawn back to this size, on the scale of what the other columns leave of a column, and values are
#: tried up to twice as far from it: what is accepted there is called infinite.
_FARTHEST_TRIED = 50.0
#: Linear predictors of this root mean square are those of a step function, and no more is gained by going on.
_STEP_FUNCTION_SIZE = 20 * _FARTHEST_TRIED
#: Labels vary least at a G that is not nearer to 0 or 1 than this.
_NEAREST_TO_CERTAIN = 1e-6
#: Each value that is tried lies so much further out than the one before.
_GROWTH = 2.0
#: A root that exceeds its quantile by this much, with the sign of values that lie too far out, ends the search on its
#: side. Beyond, what is left in the equation can only grow; the variance would have to grow more than tenfold for
#: another value to be accepted.
_REJECTED_FOR_GOOD = 5.0
#: Longest Newton step, in units of linear predictors, and how steeply it may lead down again at its end.
_LONGEST, _OVERSHOT = 20.0, 0.1
#: Newton steps, and trials of each.
_ROUNDS = 100
#: Size of the last one.
_SMALL = 1e-8


class ScoreTest:
    """Score tests of single coefficients, on the rows whose reports tell something.

    Inside, columns are scaled to a root mean square of 1; values come and go in the units of the user.
    """

    def __init__(self, rows: Rows, link: Link) -> None:
        rows = rows.take(np.flatnonzero(rows.tells))
        self._rows, self._link = rows, link
        self._scale = np.sqrt((rows.X**2).mean(axis=0))
        self._X = rows.X / self._scale
        self._metric = self._X.T @ self._X / rows.size  # c'Mc is the mean square of the linear predictors X c
        self._offset = np.zeros(rows.size) if rows.offset is None else rows.offset
        everything = np.arange(self._X.shape[1])
        self._label_everyone(np.full(rows.size, 0.5), np.ones(rows.size))
        self._pilot = self._solve(everything, self._offset, np.zeros(everything.size), _PILOT_PULL)
        _, yes, slope = link.parts(self._X @ self._pilot + self._offset)
        if slope.max() > 0:  # otherwise every answer is certain in floats, and equal weights stay
            self._label_everyone(yes, slope / slope.max())
        self._centre = self._solve(everything, self._offset, self._pilot, _PULL)
        self._latest: dict[int, tuple[float, Floats]] = {}

    def _label_everyone(self, yes: Floats, slope: Floats) -> None:
        """Labels that are unbiased for every G and vary least at this one, and weights g over their variance.

        ``φ_r = G + d_r/(m_r A)``, A = Σ d_r²/m_r the inverse of the variance; d_r and m_r as for the likelihood. For
        two reports φ is ``(y − 1 + p00)/(p00 + p11 − 1)`` whatever G is.
        """
        yes = np.clip(yes, _NEAREST_TO_CERTAIN, 1 - _NEAREST_TO_CERTAIN)
        d, chances = self._rows.difference, self._rows.channel[0] * (1 - yes) + self._rows.channel[1] * yes
        part = np.divide(d, chances, out=np.zeros_like(chances), where=chances > 0)
        information = (d * part).sum(axis=0)
        self._label_of_report = yes + part / information
        self._labels = made_by(self._label_of_report[None], self._rows.report)[0]
        self._weights = slope * information

    def _moments(self, eta: Floats) -> tuple[Floats, Floats, Floats]:
        """G, its slope, and the variance of the unbiased label."""
        _, yes, slope = self._link.parts(eta)
        chances = report_probabilities(eta, self._link, self._rows)
        return yes, slope, np.asarray((chances * (self._label_of_report - yes) ** 2).sum(axis=0))

    def _solve(self, columns: NDArray[np.int64], fixed: Floats, start: Floats, pull: float) -> Floats:
        """Newton's method on the concave function; a step that overshoots is drawn back to where the slope vanishes."""
        X, rest, weights = self._X[:, columns], start, self._weights
        metric = self._metric[np.ix_(columns, columns)]
        force = pull * float(weights.mean()) * metric

        def gradient_at(point: Floats) -> tuple[Floats, Floats, Floats]:
            eta = X @ point + fixed
            _, yes, slope = self._link.parts(eta)
            return X.T @ (weights * (self._labels - yes)) - force @ point, slope, eta

        gradient, slope, _ = gradient_at(rest)
        for _ in range(_ROUNDS if columns.size else 0):
            step = np.linalg.solve((X * (weights * slope)[:, None]).T @ X + force, gradient)
            length = math.sqrt(max(float(step @ metric @ step), 0.0))
            share, climb = min(1.0, _LONGEST / max(length, 1e-300)), float(step @ gradient)
            for _ in range(_ROUNDS):
                gradient, slope, eta = gradient_at(rest + share * step)
                beyond = float(step @ gradient)
                if beyond >= -_OVERSHOT * climb or share * length < _SMALL:
                    break
                share *= max(climb / (climb - beyond), 0.1)
            rest = rest + share * step
            if share * length < _SMALL or _size(eta) > _STEP_FUNCTION_SIZE:
                break
        return np.asarray(rest)

    def _root(self, column: int, value: float) -> tuple[float, float]:
        """The signed root of the statistic at a scaled value, and a standard error of the coefficient there."""
        others = np.delete(np.arange(self._X.shape[1]), column)
        fixed = self._offset + value * self._X[:, column]
        before, start = self._latest.get(column, (float(self._pilot[column]), self._pilot[others]))
        # What the other columns explain of this one they make up for at once.
        shares = np.linalg.solve(self._metric[np.ix_(others, others)], self._metric[others, column])
        rest = self._solve(others, fixed, start + (before - value) * shares, _PULL)
        eta = self._X[:, others] @ rest + fixed
        if _size(eta) < _FARTHEST_TRIED:  # from further away it would be a long way back
            self._latest[column] = (value, rest)
        else:
            self._latest.pop(column, None)
        yes, slope, variance = self._moments(eta)
        own, X = self._X[:, column], self._X[:, others]
        pressed = (self._weights * slope)[:, None] * X
        # What the other coefficients take up of this one's equation is taken out of it.
        inner = pressed.T @ X + _PULL * float(self._weights.mean()) * self._metric[np.ix_(others, others)]
        free = own - X @ np.linalg.solve(inner, pressed.T @ own)
        instrument = self._weights * free
        spread = math.sqrt(float(instrument**2 @ variance))
        if spread == 0:
            return 0.0, math.inf
        steepness = float((instrument * slope) @ own)
        return float(instrument @ (self._labels - yes)) / spread, spread / steepness if steepness > 0 else math.inf

    def statistic(self, column: int, value: float) -> float:
        """Of the hypothesis that one coefficient has this value; chi-square(1) when it is true."""
        return self._root(column, value * float(self._scale[column]))[0] ** 2

    def interval(self, column: int, quantile: float) -> tuple[float, float]:
        """From the lowest to the highest value that the test accepts, which is when ``|root| ≤ quantile``.

        Values further and further out are tried on both sides of the estimate, and rejected ones are passed over.
        What is left in the equation is positive where a value is too low and negative where it is too high, so that
        between two tried values of different signs there is one that is accepted. An end is infinite when the
        furthest value is accepted. (nan, nan): every value is rejected, on one and the same side.
        """
        # One over the root mean square of what the other columns leave of this one.
        unit = math.sqrt(float(np.linalg.inv(self._metric)[column, column]))
        centre = float(np.clip(self._centre[column], -_FARTHEST_TRIED * unit, _FARTHEST_TRIED * unit))
        root, error = self._root(column, centre)
        step = min(quantile * error / 2, _FARTHEST_TRIED * unit / 8)
        roots = {centre: root}
        for side in (-1.0, 1.0):
            self._latest.pop(column, None)  # every solution starts from the one before
            for value in _further(centre, side * step, 2 * _FARTHEST_TRIED * unit):
                roots[value] = self._root(column, value)[0]
                if -side * roots[value] > quantile + _REJECTED_FOR_GOOD:
                    break
        values = sorted(roots)
        if all(abs(root) > quantile for root in roots.values()):
            values = self._with_a_zero(column, values, roots)
        inside = [place for place, value in enumerate(values) if abs(roots[value]) <= quantile]
        if not inside:
            return math.nan, math.nan
        low = self._end(column, quantile, values, inside[0], -1)
        high = self._end(column, quantile, values, inside[-1], 1)
        return low / float(self._scale[column]), high / float(self._scale[column])

    def _with_a_zero(self, column: int, values: list[float], roots: dict[float, float]) -> list[float]:
        """The values, and between two of different signs the one with the root zero, where there are such."""
        from scipy.optimize import brentq

        for low, high in pairwise(values):
            if roots[low] > 0 > roots[high]:
                zero = float(brentq(lambda value: self._root(column, value)[0], low, high, xtol=1e-9, rtol=1e-9))
                roots[zero] = self._root(column, zero)[0]
                return sorted([*values, zero])
        return values

    def _excess(self, column: int, value: float, quantile: float) -> float:
        return abs(self._root(column, value)[0]) - quantile

    def _end(self, column: int, quantile: float, points: list[float], place: int, side: int) -> float:
        """Where the test begins to reject beyond the outermost accepted point."""
        from scipy.optimize import brentq

        if not 0 <= place + side < len(points):
            return side * math.inf
        inside, outside = points[place], points[place + side]
        if not self._excess(column, inside, quantile) < 0 < self._excess(column, outside, quantile):
            return inside  # at the end itself, but for rounding
        found = brentq(lambda value: self._excess(column, value, quantile), inside, outside, xtol=1e-9, rtol=1e-9)
        return float(found)


def _size(eta: Floats) -> float:
    """The root mean square."""
    return math.sqrt(float(eta @ eta) / eta.size)


def _further(centre: float, step: float, reach: float) -> list[float]:
    """Values beyond the centre, each step longer than the one before, the last at the end of the reach."""
    steps = []
    while abs(step) < reach:
        steps.append(step)
        step *= _GROWTH
    return [centre + move for move in (*steps, math.copysign(reach, step))]
