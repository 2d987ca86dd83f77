"""Finding that a frequency is not the one of a hypothesis: the interval of ``estimate.frequencies`` excludes it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from discreet import arguments
from discreet.arguments import Floats
from discreet.design.power.aim import Aim, Conduct, checked_shares, distribution, quantile
from discreet.design.power.binomial import counts, line
from discreet.errors import DesignError
from discreet.mechanisms import FiniteMechanism


@dataclass(frozen=True, eq=False)
class Prevalence(Aim):
    """That a frequency lies above, or below, a hypothetical one.

    The test is the default interval of :func:`discreet.estimate.frequencies`: it must exclude ``null`` on the side of
    the truth. For answers whose frequency depends on the share of one report (yes/no, generalised response) that is
    Wilson's interval, and the power is the exact binomial sum; elsewhere it is estimate ± z standard errors, and the
    power ``Φ(|f − null|/σ·√n − z)``.

    Parameters
    ----------
    expected : float or array
        The frequency of "yes", or of every value.
    null : float
        The hypothesis, 0 by default: that nobody does it.
    value : int
        Which value, by its code: the second by default.
    """

    expected: ArrayLike
    null: float = 0.0
    value: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "expected", checked_shares(self.expected, "expected"))
        object.__setattr__(self, "null", arguments.number(self.null, "null", DesignError, least=0, most=1))
        object.__setattr__(self, "value", arguments.whole(self.value, "value", DesignError, least=0))

    def chance(self, mechanism: FiniteMechanism, effective: int, level: float, conduct: Conduct) -> float:
        """See :class:`Aim`."""
        truths = mechanism.shape[0]
        if self.value >= truths:
            raise DesignError(f"value must be below {truths}, the number of values")
        frequencies = distribution(self.expected, "expected", truths)
        sign = 1 if frequencies[self.value] > self.null else -1
        shares = conduct.reports(frequencies @ mechanism.matrix())
        straight = line(mechanism, self.value)
        if straight is not None:
            return self._exact(straight, float(shares[self.value]), sign, effective, level)
        return _normal(mechanism, shares, self.value, self.null, sign, effective, level)

    def _exact(self, straight: tuple[float, float], share: float, sign: int, n: int, level: float) -> float:
        """Wilson's interval excludes f where the score of f does: |p̂ − q(f)| > z √(q(f)(1 − q(f))/n).

        An interval wholly beyond 0 or 1 is empty: the reports contradict the design, and nothing is found.
        """
        slope, offset = straight
        seen, chances = counts(n, share)

        def beyond(frequency: float) -> Any:
            at = (frequency - offset) / slope
            critical = quantile(level) * math.sqrt(max(at * (1 - at), 0.0) / n)
            return sign * math.copysign(1.0, slope) * (seen / n - at) > critical

        return float(chances[beyond(self.null) & ~beyond(1.0 if sign > 0 else 0.0)].sum())

    def words(self) -> str:
        """See :class:`Aim`."""
        shown = np.asarray(self.expected, float)
        expected = float(shown if shown.ndim == 0 else shown[self.value])
        return f"that a share of {expected:.4g} is not {self.null:.4g}"

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "find": "prevalence",
            "expected": np.asarray(self.expected).tolist(),
            "null": self.null,
            "value": self.value,
        }


def _normal(
    mechanism: FiniteMechanism, shares: Floats, value: int, null: float, sign: int, n: int, level: float
) -> float:
    inverse = mechanism.inverse
    expected = float(inverse.apply(shares)[value])
    error = math.sqrt(float(inverse.variances(shares)[value]) / n)
    if error == 0:
        return float(sign * (expected - null) > 0)
    return NormalDist().cdf(sign * (expected - null) / error - quantile(level))
