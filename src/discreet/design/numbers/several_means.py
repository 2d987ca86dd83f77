"""Several numbers of a person: a budget split for the least total error, or one number at random with all of it.

With V_i(ε) the n-fold variance of the mean of number i through unbiased numbers at level ε, in squared widths (the
worst case over distributions of the truth, so that it holds for whatever the numbers are):

* *split*: every number with ε_i, Σ ε_i = ε; minimise ``Σ w_i V_i(ε_i)``.
* *one*: number i with probability q_i and all of ε; the reports of the n·q_i who drew it have the n-fold variance
  V_i(ε)/q_i, and ``Σ w_i V_i(ε)/q_i`` is least at q_i ∝ √(w_i V_i(ε)). Which number it is says nothing about its
  value, so that the record has ε.

At small ε, where V falls like 1/ε², splitting among d costs d² and drawing one costs d.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import ArrayLike

from discreet import arguments
from discreet.arguments import Floats
from discreet.design.numbers.mean_variance import mean_variance
from discreet.design.numbers.unbiased_lp import LEAST_EPSILON, MAX_POINTS, MOST_EPSILON, mean
from discreet.design.result import Alternative, Design
from discreet.domains import Grid, Ordinal
from discreet.errors import DesignError, DomainError, PrivacyError
from discreet.mechanisms import OneNumberResponse, UnbiasedResponse
from discreet.mechanisms.exact_integers import checked_epsilon
from discreet.mechanisms.one_number import CHANCE_BITS
from discreet.privacy import Guarantee
from discreet.randomness import Randomness, resolve

#: Levels at which V is computed; between them ln V is interpolated in ln ε, and the chosen levels are designed exactly.
_LEVELS = 9
#: Levels among which the split is chosen.
_OPTIONS = 4_000
#: Halvings of the search for the common slope.
_HALVINGS = 80


@dataclass(frozen=True, eq=False)
class MeansDesign:
    """Unbiased numbers for every coordinate of a record.

    Attributes
    ----------
    designs : tuple of Design
        One for every number.
    epsilons : tuple of float
        The level of each: they sum to ε where the budget is split, and are all ε where one number is drawn.
    chances : tuple of float or None
        How often each number is drawn; None where everybody reports all of them.
    objective : float
        ``Σ w_i V_i``, n times the total variance of the means.
    alternatives : tuple of Alternative
        The other way, and an even split, by the same measure.
    """

    designs: tuple[Design[UnbiasedResponse], ...]
    epsilons: tuple[float, ...]
    chances: tuple[float, ...] | None
    objective: float
    alternatives: tuple[Alternative, ...]

    @property
    def guarantee(self) -> Guarantee:
        """About a record: all levels together, or the largest where one number is drawn."""
        together = self.mechanism
        return Guarantee.composed([one.guarantee for one in self.designs]) if together is None else together.guarantee

    @property
    def mechanism(self) -> OneNumberResponse | None:
        """The mechanism of a record where one number is drawn; None where everybody reports all."""
        if self.chances is None:
            return None
        return _one_of([one.mechanism for one in self.designs], np.array(self.chances))

    def privatize(self, numbers: ArrayLike, randomness: Randomness | None = None) -> Floats:
        """Reported numbers of an (n, d) array of true ones; nan where a number was not drawn.

        The mean of a column over those that are there is unbiased for the mean of the truths:
        ``estimate.mean(reports[~np.isnan(reports[:, j]), j])`` has it with its error.
        """
        if (together := self.mechanism) is not None:
            return together.privatize(numbers, randomness)
        source = resolve(randomness)
        rows = arguments.floats(numbers, "numbers", DomainError, dimensions=2, finite=False)
        if rows.shape[1] != len(self.designs):
            raise DomainError(f"a table of {len(self.designs)} columns of numbers is needed, not of {rows.shape[1]}")
        out = np.empty(rows.shape)
        for j, one in enumerate(self.designs):
            codes = one.mechanism.round(rows[:, j], source)
            out[:, j] = one.mechanism.values[one.mechanism.privatize(codes, source)]
        return out

    def summary(self) -> str:
        """A few lines for people."""
        how = "everybody reports all" if self.chances is None else "everybody reports one, drawn at random"
        lines = [f"{len(self.designs)} numbers, {how}: {self.guarantee.summary()}"]
        lines.append(f"n × total variance of the means, in squared widths: {self.objective:.6g}")
        lines.append(f"Instead: {'; '.join(map(str, self.alternatives))}")
        for j, epsilon in enumerate(self.epsilons):
            share = "" if self.chances is None else f", drawn with probability {self.chances[j]:.4g}"
            lines.append(f"number {j}: ε = {epsilon:.4g}{share}")
        return "\n".join(lines)

    __str__ = summary


def means(
    domains: Sequence[Grid | Ordinal], epsilon: float, weights: ArrayLike | None = None, *, method: str = "auto"
) -> MeansDesign:
    """Unbiased numbers for several columns at one ε for the record, with the least total relative error of their means.

    Parameters
    ----------
    domains : sequence of Grid or Ordinal
        One per number, at least two, each of up to 64 points.
    epsilon : float
        The privacy level of the record.
    weights : array, optional
        How much the squared error of each mean counts, in squared widths of its column; equally by default.
    method : {"auto", "split", "one"}
        Split the budget, draw one number per person, or take the better of the two.

    Examples
    --------
    >>> found = means([Grid(0, 1, 5), Grid(0, 100, 5), Grid(18, 65, 5)], 1.0)
    >>> found.chances is not None, found.guarantee.epsilon <= 1.0
    (True, True)
    >>> found.objective < 0.5 * found.alternatives[0].value      # drawing one, against the best split
    True
    """
    given = arguments.listed(domains, "domains", DesignError)
    if len(given) < 2:
        raise DesignError(f"several numbers are at least two, not {len(given)}; design.mean is for one")
    if not all(isinstance(one, (Grid, Ordinal)) and one.size <= MAX_POINTS for one in given):
        raise DesignError(f"every number needs a Grid or an Ordinal of up to {MAX_POINTS} points")
    epsilon = checked_epsilon(epsilon)
    least = LEAST_EPSILON * len(given)
    if not least <= epsilon <= MOST_EPSILON:
        raise PrivacyError(
            f"epsilon must be from {least:g} to {MOST_EPSILON:g} for {len(given)} numbers, not {epsilon:g}"
        )
    worth = _checked_weights(weights, len(given))
    method = arguments.choice(method, "method", ("auto", "split", "one"), DesignError)
    curves = [_Curve.of(one, epsilon, len(given)) for one in given]
    split, even = _split(curves, worth, epsilon), np.full(len(given), epsilon / len(given))
    whole = np.array([curve.exactly(epsilon) for curve in curves])
    chances = _best_chances(worth * whole)
    values = {
        "split": _total(curves, worth, split),
        "one": float((worth * whole / chances).sum()),
        "even split": _total(curves, worth, even),
    }
    if values["even split"] < values["split"]:  # by the interpolation of the curves
        split, values["split"] = even, values["even split"]
    chosen = min(("split", "one"), key=lambda name: values[name]) if method == "auto" else method
    levels = [epsilon] * len(given) if chosen == "one" else split.tolist()
    designs = tuple(mean(domain, level) for domain, level in zip(given, levels, strict=True))
    names = {"split": "budget split for the least total", "one": "one number per person", "even split": "even split"}
    others = tuple(Alternative(names[name], value) for name, value in values.items() if name != chosen)
    drawn = tuple(chances.tolist()) if chosen == "one" else None
    return MeansDesign(designs, tuple(levels), drawn, values[chosen], others)


def _checked_weights(weights: ArrayLike | None, count: int) -> Floats:
    worth = np.ones(count) if weights is None else arguments.floats(weights, "weights", DesignError)
    if worth.shape != (count,) or not np.all(np.isfinite(worth) & (worth > 0)):
        raise DesignError(f"weights must be {count} numbers above 0, one per number")
    return np.asarray(worth, float)


def one_number(domains: Sequence[Grid | Ordinal], epsilon: float) -> OneNumberResponse:
    """One number per person, drawn so that the total relative error of all means is least (``method="one"``)."""
    parts = [mean(domain, epsilon).mechanism for domain in domains]
    return _one_of(parts, _best_chances(np.array([_Curve.of(one, epsilon, 1).exactly(epsilon) for one in domains])))


def _best_chances(variances: Floats) -> Floats:
    """``q_i ∝ √V_i``, which minimises ``Σ V_i/q_i``."""
    return np.asarray(np.sqrt(variances) / np.sqrt(variances).sum())


def _one_of(parts: Sequence[UnbiasedResponse], chances: Floats) -> OneNumberResponse:
    """Chances as whole numbers; the last one takes what rounding leaves."""
    whole = [int(chance) for chance in np.rint(chances[:-1] * 2**CHANCE_BITS)]
    return OneNumberResponse(parts, [*whole, 2**CHANCE_BITS - sum(whole)])


@lru_cache(maxsize=256)
def _variance(points: tuple[float, ...], level: float) -> float:
    """V on these points of [0, 1]: n times the worst variance of a mean."""
    return mean_variance(mean(Ordinal(range(len(points)), points), level).mechanism)


@dataclass(frozen=True)
class _Curve:
    """V as a function of the level: exactly, and between a few levels by straight lines in logarithms."""

    points: tuple[float, ...]
    levels: tuple[float, ...]

    @classmethod
    def of(cls, domain: Grid | Ordinal, epsilon: float, count: int) -> _Curve:
        """The curve of a domain, whose points are scaled to [0, 1]: columns that are alike share it."""
        points = np.asarray(domain.positions, float)
        relative = np.round((points - points[0]) / (points[-1] - points[0]), 12)
        levels = np.geomspace(max(epsilon / (8 * count), LEAST_EPSILON), epsilon, _LEVELS)
        return cls(tuple(relative.tolist()), (*levels[:-1].tolist(), epsilon))

    def exactly(self, level: float) -> float:
        """V at a level, by a design of its own."""
        return _variance(self.points, level)

    @cached_property
    def _logarithms(self) -> tuple[Floats, Floats]:
        return np.log(self.levels), np.log([self.exactly(level) for level in self.levels])

    def slopes(self, at: Floats) -> Floats:
        """−dV/dε, by small differences."""
        step = 1e-4
        low, high = (np.exp(np.interp(np.log(at * factor), *self._logarithms)) for factor in (1 - step, 1 + step))
        return np.asarray((low - high) / (2 * step * at))


def _total(curves: Sequence[_Curve], worth: Floats, levels: Floats) -> float:
    """``Σ w_i V_i(ε_i)``."""
    parts = zip(worth.tolist(), curves, levels.tolist(), strict=True)
    return math.fsum(weight * curve.exactly(level) for weight, curve, level in parts)


def _split(curves: Sequence[_Curve], worth: Floats, epsilon: float) -> Floats:
    """Levels with one common slope ``−w_i V_i'(ε_i)``, which sum to ε: the least total, as every V is convex."""
    options = np.geomspace(curves[0].levels[0], epsilon, _OPTIONS)
    slopes = [weight * curve.slopes(options) for weight, curve in zip(worth, curves, strict=True)]

    def levels(slope: float) -> Floats:
        return np.array([options[min(int(np.searchsorted(-one, -slope)), options.size - 1)] for one in slopes])

    low, high = 1e-12, max(float(one.max()) for one in slopes)
    for _ in range(_HALVINGS):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if levels(middle).sum() > epsilon else (low, middle)
    found = levels(high)
    return np.asarray(found * epsilon / found.sum() * (1 - 1e-15))
