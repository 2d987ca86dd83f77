"""Finding that two groups differ: the test of ``frequencies(…, by=…).compare(first, second)``."""

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
        return _normal(mechanism, shares, sizes, self.value, sign, level)

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


def _normal(
    mechanism: FiniteMechanism, shares: list[Floats], sizes: tuple[int, int], value: int, sign: float, level: float
) -> float:
    inverse = mechanism.inverse
    means = [float(inverse.apply(each)[value]) for each in shares]
    variance = sum(float(inverse.variances(each)[value]) / n for each, n in zip(shares, sizes, strict=True))
    if variance == 0:
        return float(sign * (means[0] - means[1]) > 0)
    return NormalDist().cdf(sign * (means[0] - means[1]) / math.sqrt(variance) - quantile(level))
