"""The published heuristic: the inductive construction of Yamamoto and Shibuya (2024, Algorithm 3)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.arguments import Floats
from discreet.design.several_attributes.request import Request
from discreet.errors import PrivacyError
from discreet.mechanisms.joint import JointResponse, StarLaw

#: The heuristic's weights are held over this denominator; beyond the precision of floats.
_SCALE = 1 << 80
#: The highest level of the heuristic: its masses are floats, of the order of e to twice this.
_LARGEST_LEVEL = 150.0
#: Levels are approached from below by this much, which is far above the rounding of floats.
_BELOW_LEVEL = 1e-13
#: A level that moves by less than this is called unchanged.
_UNCHANGED = 1e-9


@dataclass(frozen=True)
class Inductive:
    """What the heuristic arrives at.

    Attributes
    ----------
    truth, single : masses of the whole truth and of the truth but for one attribute, where the uniform answer has 1.
    levels : the marginal levels that it really gives.
    fallbacks : the attributes at which it fell back, by index.
    """

    truth: float
    single: Floats
    levels: Floats
    fallbacks: tuple[int, ...]
    request: Request

    @property
    def changed(self) -> tuple[int, ...]:
        """Attributes whose level is not the requested one."""
        asked = np.array(self.request.epsilons)
        return tuple(np.flatnonzero(np.abs(self.levels - asked) > _UNCHANGED * np.maximum(asked, 1)).tolist())

    @property
    def raised(self) -> tuple[int, ...]:
        """Attributes with less privacy than asked for."""
        return tuple(i for i in self.changed if self.levels[i] > self.request.epsilons[i])

    @property
    def epsilon(self) -> float:
        """ln(x_0): the level of the record, in logarithms."""
        peak = max(self.truth, float(np.max(self.single / (self.request.a - 1))))
        log_z = math.fsum(np.log(self.request.a)) + math.log(peak) if peak > 0 else -math.inf
        return log_z + math.log1p(math.exp(-log_z)) if log_z > 0 else math.log1p(math.exp(log_z))

    def mechanism(self) -> JointResponse:
        """Integer weights; the whole truth loses a little to the uniform answer, so that no level is exceeded."""
        uniform = math.ceil(_SCALE * (1 + _BELOW_LEVEL * 10))
        single = tuple(int(mass * _SCALE) for mass in self.single.tolist())
        return JointResponse(
            StarLaw(self.request.sizes, uniform, int(self.truth * _SCALE * (1 - _BELOW_LEVEL)), single)
        )


def inductive(request: Request) -> Inductive:
    """The inductive heuristic (Yamamoto and Shibuya 2024, Algorithm 3) in closed form and O(k).

    With x_{i,j} − 1 divided by Π a, the recurrence ``x_{i,j} − 1 = a_i (x_{i−1,j} − 1)`` leaves every earlier mass
    where it is: adding attribute i only moves mass from "the whole truth" to "the truth but for attribute i", until
    its truth rate is p_i. When that is not possible the published fallback moves nothing, and the level of
    attribute i becomes whatever it is, higher or lower.
    """
    a, p = request.a, request.truth
    if request.count == 1:
        rest = request.excess[0] / request.lie[0]
        return Inductive(float(rest), np.zeros(1), np.array(request.epsilons), (), request)
    if max(request.epsilons) > _LARGEST_LEVEL:
        raise PrivacyError(f"the heuristic needs levels up to {_LARGEST_LEVEL:g}, not {max(request.epsilons):g}")
    truth, first, second = _two_attributes(a[0], a[1], *map(math.exp, request.epsilons[:2]))
    rest = truth + first + second
    single = 1 / a + rest - p * (1 + rest)
    single[:2] = first, second
    fallbacks = []
    peak = max(first / (a[0] - 1), second / (a[1] - 1))
    share = single.tolist()
    others = (a - 1).tolist()
    for i in range(2, request.count):
        mass = share[i]
        if mass < 0 or truth - mass < max(peak, mass / others[i]):
            share[i] = 0.0
            fallbacks.append(i)
        else:
            truth -= mass
            peak = max(peak, mass / others[i])
    single = np.array(share)
    reached = (1 / a + rest - single) / (1 + rest)
    levels = np.log(reached) + np.log(a - 1) - np.log(((a - 1) / a + single) / (1 + rest))
    return Inductive(float(truth), single, np.asarray(levels), tuple(fallbacks), request)


def _two_attributes(m: float, n: float, e1: float, e2: float) -> tuple[float, float, float]:
    """The optimum for two attributes (section IV.B.1) as masses: the whole truth, only the first or second differs."""
    if e1 * e2 >= (m - 1) * (n - 1):
        if n * (e1 - 1) >= m * (e2 - 1):
            x0 = (n * e1 * e2 + (m - 1) * (n - 1) * (e2 - 1)) / (e2 + n - 1)
            x1, x2 = 1.0, (n * e1 - (m - 1) * (e2 - 1)) / (e2 + n - 1)
        else:
            x0 = (m * e1 * e2 + (m - 1) * (n - 1) * (e1 - 1)) / (e1 + m - 1)
            x1, x2 = (m * e2 - (n - 1) * (e1 - 1)) / (e1 + m - 1), 1.0
    elif (n - m) * e1 * e2 - m * (n - 1) * e1 + (m - 1) * n * e2 >= 0:
        below = m * (n - 1) - (e1 - 1) * e2
        x0 = (n - 1) * (e1 + m - 1) * e2 / below
        x1, x2 = x0, (m * (n - 1) * e1 + (m - 1) * (e1 - 1) * e2) / below
    else:
        below = (m - 1) * n - e1 * (e2 - 1)
        x0 = (m - 1) * e1 * (e2 + n - 1) / below
        x1, x2 = ((m - 1) * n * e2 + (n - 1) * e1 * (e2 - 1)) / below, x0
    answers = m * n
    # x ≥ 1 in every case; only rounding can put one below.
    x0, x1, x2 = (max(x, 1.0) for x in (x0, x1, x2))
    return (x0 - 1) / answers, (m - 1) * (x1 - 1) / answers, (n - 1) * (x2 - 1) / answers
