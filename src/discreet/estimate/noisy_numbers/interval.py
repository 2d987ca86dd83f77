"""One coordinate: among the functions of a report that are unbiased on the box, the one of least variance.

For truths x in [low, high] many functions have ``E[g(x + Z)] = f(x)``. The one that is best for x spread evenly over
the box has the form ``g(t) = E[a(X) p(t|X)]/p(t)``, p the law of the report under the even spread (Gauss–Markov: g is
in the span of the conditional laws, weighted by their variance). With a share δ₀ of exact reports that law has an atom
at the truth, and a solves a Fredholm equation of the second kind, which the atom keeps well posed.

It is solved on cells, and then made exact between them. Unbiasedness says ``δ₀g(x) + (1 − δ₀)(k∗g)(x) = f(x)`` on the
box, k the Laplace density, so

    g(x) = (f(x) − (1 − δ₀)(k∗g)(x))/δ₀,

where k∗g is smooth and known at the middle of every cell. What is left is of second order in the width of a cell: 2e-6
of the box for its mean, and jumps of f are where they are. Beyond an end of the box every truth gives the same law of
reports, and g is one number.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.noisy_numbers.inside import Inside, need_exact_records
from discreet.mechanisms.laplace import ZeroInflatedLaplace

#: Cells of the box, and points of a cell over which a function is averaged.
CELLS, _POINTS = 800, 16
#: A box of more noise scales than this has room for noise: the exact correction is then as good, and needs no cells.
_WIDEST = 60.0
#: What may be left of the equation, as a share of the function.
_LEFT = 1e-7


def applies(mechanism: ZeroInflatedLaplace) -> bool:
    """Whether the box says anything about one coordinate: exact records, and noise that leaves it."""
    width = mechanism.box.widths[0] * math.sqrt(2) / float(mechanism.noise_scale[0])
    return mechanism.dimension == 1 and mechanism.zero_probability > 0 and bool(width <= _WIDEST)


@dataclass(frozen=True)
class CorrectedFunction:
    """g, n × k values of reports of one coordinate, for k functions at once."""

    correction: IntervalCorrection
    function: Callable[[Floats], Floats]
    smooth: Floats  # (1 − δ₀)(k∗g) in the middle of every cell
    beyond: Floats  # below and above the box

    def __reduce__(self) -> tuple[Any, ...]:
        """Without the equation, which is solved: what is left is enough to be evaluated elsewhere."""
        return _evaluated, (self.correction.mechanism, self.function, self.smooth, self.beyond)

    def __call__(self, reports: Floats) -> Floats:
        """Corrected values of these reports."""
        given, inside = self.correction, self.correction.inside
        t = np.asarray(reports, float)
        kept = inside.contains(t[:, None])
        answer = self.beyond[(t > inside.high[0]).astype(np.intp)]
        if kept.any():
            at = t[kept]
            values = self.function(inside.clip(at[:, None]))
            answer[kept] = (values - given.between_cells(self.smooth, at)) / given.mechanism.zero_probability
        return np.asarray(answer)


@lru_cache(maxsize=4)
def interval_correction(mechanism: ZeroInflatedLaplace) -> IntervalCorrection:
    """The best functions of a mechanism; the equation is solved once."""
    return IntervalCorrection(mechanism)


def _evaluated(
    mechanism: ZeroInflatedLaplace, function: Callable[[Floats], Floats], smooth: Floats, beyond: Floats
) -> CorrectedFunction:
    """A function that was worked out elsewhere."""
    return CorrectedFunction(interval_correction(mechanism), function, smooth, beyond)


class IntervalCorrection:
    """The best unbiased functions for one mechanism of one coordinate.

    Parameters
    ----------
    mechanism : ZeroInflatedLaplace
        Of one coordinate, with a zero probability above 0.
    cells : int
        Into how many the box is cut.
    """

    def __init__(self, mechanism: ZeroInflatedLaplace, cells: int = CELLS) -> None:
        if mechanism.dimension != 1:
            raise EstimationError("the best function on a box is for one coordinate")
        need_exact_records(mechanism)
        self.mechanism, self.inside, self._cells = mechanism, Inside.of(mechanism), cells
        self._low, self._high = float(self.inside.low[0]), float(self.inside.high[0])
        self._step = (self._high - self._low) / self._cells
        self._middle = self._low + (np.arange(self._cells) + 0.5) * self._step

    @cached_property
    def _law(self) -> Floats:
        """Probabilities of reports (cells, below, above) given truths (middles of cells)."""
        zero, scale = self.mechanism.zero_probability, float(self.mechanism.noise_scale[0]) / math.sqrt(2)
        x, half = self._middle, self._step / (2 * scale)
        # The mass of a cell is e^{−distance}·sinh(half), written so that neither overflows.
        distance = np.abs(x[:, None] - x) / scale
        cells = 0.5 * np.exp(half - distance) * -math.expm1(-2 * half)
        np.fill_diagonal(cells, -math.expm1(-half))
        beyond = np.stack([np.exp(-(x - self._low) / scale), np.exp(-(self._high - x) / scale)]) / 2
        return np.concatenate([zero * np.eye(self._cells) + (1 - zero) * cells, (1 - zero) * beyond])

    @cached_property
    def _shares(self) -> Floats:
        """Of the reports, truths being spread evenly."""
        return np.asarray(self._law.mean(axis=1))

    @cached_property
    def _solved(self) -> Floats:
        """The reports × cells matrix that makes g of f."""
        weighted = self._law / self._shares[:, None]
        return np.asarray(np.linalg.solve(self._law.T @ weighted, weighted.T).T)

    def _averages(self, function: Callable[[Floats], Floats]) -> Floats:
        """The function averaged over every cell."""
        offset = ((np.arange(_POINTS) + 0.5) / _POINTS - 0.5) * self._step
        at = (self._middle[:, None] + offset).reshape(-1, 1)
        values = function(self.inside.clip(at))
        return np.asarray(values.reshape(self._cells, _POINTS, -1).mean(axis=1))

    def between_cells(self, values: Floats, at: Floats) -> Floats:
        """Values in the middle of cells, carried to any place by straight lines, also beyond the outermost middles."""
        place = np.clip((at - self._middle[0]) / self._step, -0.5, self._cells - 0.5)
        first = np.clip(place.astype(np.intp), 0, self._cells - 2)
        share = (place - first)[:, None]
        return np.asarray((1 - share) * values[first] + share * values[first + 1])

    def of(self, function: Callable[[Floats], Floats]) -> CorrectedFunction:
        """The corrected function; ``function`` takes n × 1 numbers inside the box and returns n × k."""
        averages = self._averages(function)
        answer = self._solved @ averages
        left = np.abs(self._law.T @ answer - averages).max(axis=0)
        if (left > _LEFT * np.maximum(np.abs(averages).max(axis=0), 1e-300)).any():
            raise EstimationError(
                "the share of exactly published records is too small for this noise to use the box; take the method "
                '"exact"'
            )
        zero = self.mechanism.zero_probability
        return CorrectedFunction(self, function, averages - zero * answer[: self._cells], answer[self._cells :])

    def conditional_variances(self, function: Callable[[Floats], Floats]) -> Floats:
        """Of one corrected answer given its truth, in the middle of every cell: cells × k numbers."""
        averages = self._averages(function)
        return np.asarray(np.maximum(self._law.T @ (self._solved @ averages) ** 2 - averages**2, 0.0))

    def variance(self, function: Callable[[Floats], Floats]) -> Floats:
        """Of one corrected answer, the truth being spread evenly over the box: k numbers."""
        averages = self._averages(function)
        answer = self._solved @ averages
        return np.asarray(self._shares @ answer**2 - averages.mean(axis=0) ** 2)
