"""Scores of numbers with zero-inflated Laplace noise.

The score is the report itself, whose noise has mean zero; or, where some records are published exactly, the unbiased
function of least variance on the box (:mod:`discreet.estimate.noisy_numbers.interval`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import Floats
from discreet.estimate.intervals.bounded_mean import Support
from discreet.estimate.noisy_numbers.corrected_means import corrected_answers
from discreet.estimate.noisy_numbers.expectation import Expectation
from discreet.estimate.noisy_numbers.inside import is_coarse
from discreet.estimate.noisy_numbers.interval import CorrectedFunction, applies, interval_correction
from discreet.estimate.noisy_numbers.sample import Sample, read_sample
from discreet.mechanisms.laplace import ZeroInflatedLaplace

_BOX_NOTE = "truths are known to lie in their range, which is used: the unbiased function of least variance there"


class BoxScores:
    """Reports of one coordinate of zero-inflated Laplace noise, or the corrected function of them."""

    lost = 1
    two_valued: tuple[float, float, float, float] | None = None

    def __init__(self, mechanism: ZeroInflatedLaplace, function: Callable[[Floats], Floats] | None) -> None:
        self._mechanism, self._function = mechanism, function
        self.notes: tuple[str, ...] = ()
        low, high = mechanism.box.low[0], mechanism.box.high[0]
        self.centre = 0.0 if function is not None else (low + high) / 2
        self._noise = (1 - mechanism.zero_probability) * float(mechanism.noise_scale[0]) ** 2
        self._best = interval_correction(mechanism) if applies(mechanism) and not is_coarse(mechanism) else None
        self.support = None if function is not None else self._ends(low, high)
        self.deviations = (0.0 if self.support is None else math.sqrt(self.support.least), math.inf)
        if self._best is not None:
            self.notes = (_BOX_NOTE,)

    def _ends(self, low: float, high: float) -> Support:
        """Of the numbers themselves: noise of one variance, or less of it where the box is used."""
        if self._best is None:
            return Support(low=low, high=high, at_low=self._noise, at_high=self._noise, least=self._noise)
        at = self._best.conditional_variances(lambda x: x - self.centre)[:, 0]
        return Support(low=low, high=high, at_low=float(at[0]), at_high=float(at[-1]), least=float(at.min()))

    def __reduce__(self) -> tuple[Any, ...]:
        """What it was made of travels, and not what was worked out."""
        return type(self), (self._mechanism, self._function)

    @property
    def uses_box(self) -> bool:
        """Whether the scores are functions on the box, and not the reports themselves."""
        return self._best is not None

    @cached_property
    def _own(self) -> CorrectedFunction | None:
        """The corrected number, where the box is of use."""
        if self._best is None:
            return None
        function, centre = self._function, self.centre
        if function is None:
            return self._best.of(lambda x: x - centre)
        return self._best.of(lambda x: function(x[:, 0])[:, None])

    @cached_property
    def _square(self) -> CorrectedFunction:
        """Its corrected square."""
        assert self._best is not None
        function, centre = self._function, self.centre
        if function is None:
            return self._best.of(lambda x: (x - centre) ** 2)
        return self._best.of(lambda x: function(x[:, 0])[:, None] ** 2)

    def _corrected(self, numbers: Floats, function: Callable[[Floats], Floats]) -> Floats:
        sample: Sample = read_sample(np.nan_to_num(numbers, nan=self._middle), self._mechanism, None, None, None)
        loss = Expectation(lambda x: function(x[:, 0]))
        answers, notes = corrected_answers(loss, sample, "exact", None)
        self.notes = tuple(notes)
        return answers[:, 0]

    @property
    def _middle(self) -> float:
        return (self._mechanism.box.low[0] + self._mechanism.box.high[0]) / 2

    def of(self, values: NDArray[Any], first_row: int) -> Floats:
        """The reports, whose noise has mean zero; or the function corrected for it, on the box where that is of use."""
        del first_row  # numbers were checked when they were read
        numbers = np.asarray(values, float)
        if self._own is not None:
            own = self._own(np.nan_to_num(numbers, nan=self._middle))[:, 0]
        elif self._function is None:
            own = np.nan_to_num(numbers - self.centre)
        else:
            own = self._corrected(numbers, self._function)
        return np.stack([own, np.ones_like(own)], axis=1)

    def products(self, values: NDArray[Any]) -> Floats:
        """The debiased square: ``x₁² − (1 − δ₀)λ²``, or the square of the function corrected."""
        own = self.of(values, 0)[:, 0]
        function = self._function
        if self._best is not None:
            square = self._square(np.nan_to_num(np.asarray(values, float), nan=self._middle))[:, 0]
        elif function is None:
            square = own * own - self._noise
        else:
            square = self._corrected(np.asarray(values, float), lambda x: function(x) ** 2)
        return np.stack([square, own, own, np.ones_like(own)], axis=1).reshape(-1, 2, 2)

    def power(self, values: NDArray[Any], degree: int) -> Floats:
        """With the moments of the noise taken off, or on the box."""
        numbers = np.nan_to_num(np.asarray(values, float), nan=self._middle)
        if self._best is not None:
            return self._best.of(lambda x: (x - self.centre) ** degree)(numbers)[:, 0]
        r, second = numbers - self.centre, self._noise
        fourth = 6 * (1 - self._mechanism.zero_probability) * float(self._mechanism.noise_scale[0]) ** 4
        square = r * r - second
        known = (np.ones_like(r), r, square, r**3 - 3 * second * r, r**4 - 6 * second * square - fourth)
        return np.asarray(known[degree])
