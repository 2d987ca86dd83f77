"""Binomial chances on the counts that occur, and the line by which a share of reports becomes a frequency.

Finding that a frequency is not the one of a hypothesis: the interval of ``estimate.frequencies`` excludes it.

Finding that two groups differ: the test of ``frequencies(…, by=…).compare(first, second)``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from discreet import arguments
from discreet.arguments import Floats
from discreet.design.planning.statistical_power import Aim, Conduct, checked_shares, distribution, quantile
from discreet.errors import DesignError
from discreet.mechanisms import FiniteMechanism

#: Standard deviations on either side that a sum covers, and counts beyond them.
_REACH, _BEYOND = 8.0, 12


def counts(n: int, chance: float) -> tuple[Floats, Floats]:
    """The counts that occur among n, and their probabilities."""
    from scipy.special import gammaln, xlog1py, xlogy

    reach = _REACH * math.sqrt(n * chance * (1 - chance)) + _BEYOND
    seen = np.arange(max(0, math.floor(n * chance - reach)), min(n, math.ceil(n * chance + reach)) + 1, dtype=float)
    logs = gammaln(n + 1.0) - gammaln(seen + 1) - gammaln(n - seen + 1) + xlogy(seen, chance)
    return seen, np.exp(logs + xlog1py(n - seen, -chance))


def line(mechanism: FiniteMechanism, value: int) -> tuple[float, float] | None:
    """(slope, offset) of a frequency in the share of its own report, where it depends on nothing else."""
    single = mechanism.inverse.single
    return None if single is None else (float(single[0][value]), float(single[1][value]))


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
        return _normal_one(mechanism, shares, self.value, self.null, sign, effective, level)

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


def _normal_one(
    mechanism: FiniteMechanism, shares: Floats, value: int, null: float, sign: int, n: int, level: float
) -> float:
    inverse = mechanism.inverse
    expected = float(inverse.apply(shares)[value])
    error = math.sqrt(float(inverse.variances(shares)[value]) / n)
    if error == 0:
        return float(sign * (expected - null) > 0)
    return NormalDist().cdf(sign * (expected - null) / error - quantile(level))


#: Pairs of counts up to which the power is summed exactly; beyond, both counts are as good as normal.
_MAX_PAIRS = 2_000_000


@dataclass(frozen=True, eq=False)
class Difference(Aim):
    """That a frequency differs between two groups.

    The test is ``z = (f̂₁ − f̂₂)/√(V̂₁/n₁ + V̂₂/n₂)``, as :meth:`compare` of grouped frequencies makes it. Its power is
    the exact sum over both binomial counts where a frequency depends on the share of one report, and otherwise
    ``Φ(|f₁ − f₂|/√(V₁/n₁ + V₂/n₂) − z)``.

    Parameters
    ----------
    first, second : float or array
        The frequency of "yes" in each group, or of every value.
    share : float
        Share of the people in the first group.
    value : int
        Which value is compared, by its code: the second by default.
    """

    first: ArrayLike
    second: ArrayLike
    share: float = 0.5
    value: int = 1

    LEAST = 8

    def __post_init__(self) -> None:
        object.__setattr__(self, "first", checked_shares(self.first, "first"))
        object.__setattr__(self, "second", checked_shares(self.second, "second"))
        object.__setattr__(self, "share", arguments.number(self.share, "share", DesignError, above=0, below=1))
        object.__setattr__(self, "value", arguments.whole(self.value, "value", DesignError, least=0))

    def chance(self, mechanism: FiniteMechanism, effective: int, level: float, conduct: Conduct) -> float:
        """See :class:`Aim`."""
        truths = mechanism.shape[0]
        if self.value >= truths:
            raise DesignError(f"value must be below {truths}, the number of values")
        both = [distribution(given, name, truths) for given, name in ((self.first, "first"), (self.second, "second"))]
        if both[0][self.value] == both[1][self.value]:
            raise DesignError("first and second must differ: there is nothing to find")
        sign = 1.0 if both[0][self.value] > both[1][self.value] else -1.0
        shares = [conduct.reports(one @ mechanism.matrix()) for one in both]
        sizes = (math.floor(effective * self.share), effective - math.floor(effective * self.share))
        if min(sizes) < 1:
            return 0.0
        straight = line(mechanism, self.value)
        if straight is not None:
            chances = (float(shares[0][self.value]), float(shares[1][self.value]))
            exact = _exact(math.copysign(sign, sign * straight[0]), chances, sizes, level)
            if exact is not None:
                return exact
        return _normal_two(mechanism, shares, sizes, self.value, sign, level)

    def words(self) -> str:
        """See :class:`Aim`."""
        one, two = (float(np.ravel(np.asarray(each, float))[-1 if np.ndim(each) == 0 else self.value])
                    for each in (self.first, self.second))  # fmt: skip
        groups = "groups of equal size" if self.share == 0.5 else f"groups of {self.share:.0%} and {1 - self.share:.0%}"
        return f"that {one:.4g} and {two:.4g} differ, in {groups}"

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "find": "difference",
            "first": np.asarray(self.first).tolist(),
            "second": np.asarray(self.second).tolist(),
            "share": self.share,
            "value": self.value,
        }


def _exact(sign: float, chances: tuple[float, float], sizes: tuple[int, int], level: float) -> float | None:
    """The chance that z passes its quantile on the right side; None where there are too many pairs of counts."""
    (one, p_one), (two, p_two) = (counts(n, chance) for n, chance in zip(sizes, chances, strict=True))
    if one.size * two.size > _MAX_PAIRS:
        return None
    a, b = one[:, None] / sizes[0], two[None, :] / sizes[1]
    variance = a * (1 - a) / sizes[0] + b * (1 - b) / sizes[1]
    found = sign * (a - b) > quantile(level) * np.sqrt(variance)
    return float(p_one @ found @ p_two)


def _normal_two(
    mechanism: FiniteMechanism, shares: list[Floats], sizes: tuple[int, int], value: int, sign: float, level: float
) -> float:
    inverse = mechanism.inverse
    means = [float(inverse.apply(each)[value]) for each in shares]
    variance = sum(float(inverse.variances(each)[value]) / n for each, n in zip(shares, sizes, strict=True))
    if variance == 0:
        return float(sign * (means[0] - means[1]) > 0)
    return NormalDist().cdf(sign * (means[0] - means[1]) / math.sqrt(variance) - quantile(level))
