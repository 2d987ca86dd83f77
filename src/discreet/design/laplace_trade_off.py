"""Error against people published exactly: what every zero probability costs at the same (ε, δ).

The noise of zero inflation leaves a record as it is with probability δ₀, which is paid for out of δ: the more exact
records, the more noise for the others. At δ₀ = δ nothing but the exact records is left: publishing a random share δ as
it is and nothing else is (0, δ)-private, with n times the variance of a mean of Var(x)/δ. This baseline stands beside
the curve. Which point is right is for the steward to say, who answers for the people: both figures are shown.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet import arguments
from discreet.arguments import Floats
from discreet.domains.box import Box
from discreet.errors import DesignError
from discreet.mechanisms.laplace import ZeroInflatedLaplace
from discreet.mechanisms.laplace.curve import ratio_for_bound
from discreet.mechanisms.laplace.exact import delta_exact

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Losses with a kink, whose correction needs exactly published records.
KINKED = ("check", "median", "hinge", "indicator")
#: Shares of δ that are tried as zero probabilities.
LEAST_SHARE = 0.02
_SHARES = np.linspace(LEAST_SHARE, 0.98, 49)
#: Shares of δ that a table shows.
_SHOWN = (0.0, 0.02, 0.1, 0.26, 0.5, 0.74, 0.9, 0.98)
#: n·Var of what is estimated where a truth is known: of a number spread evenly over its width, and of a sign.
_EVEN, _SIGN = 1 / 12, 1 / 4
#: Cells of the best function on an interval; a variance needs fewer digits than an answer.
_CELLS = 200


@dataclass(frozen=True)
class TradeOff:
    """What each zero probability would cost at the same (ε, δ).

    Attributes
    ----------
    zero_probability, scale, variance : tuple of float
        The chance of being published exactly, noise in units of the width of a coordinate, and the variance of the
        target at n = 1 by the estimator that will be used.
    share : float
        δ: the random share that the baseline publishes exactly, with nothing else.
    share_variance : float
        The variance of the target at n = 1 under the baseline.
    largest : float
        The most exposure that was allowed.
    """

    zero_probability: tuple[float, ...]
    scale: tuple[float, ...]
    variance: tuple[float, ...]
    share: float = 0.0
    share_variance: float = math.inf
    largest: float = 1.0

    def best(self) -> int:
        """The place of the least variance among the exposures that are allowed."""
        allowed = [i for i, one in enumerate(self.zero_probability) if one <= self.largest]
        return min(allowed, key=lambda i: self.variance[i])

    def rows(self, people: int, level: float = 0.95) -> list[dict[str, Any]]:
        """A few points of the curve: noise, margin in widths, and people published exactly; the baseline last."""
        people = arguments.whole(people, "people", DesignError, least=1)
        level = arguments.number(level, "level", DesignError, above=0, below=1)
        z = NormalDist().inv_cdf((1 + level) / 2)
        tried = np.array(self.zero_probability)
        shown = {int(np.abs(tried - share * self.share).argmin()) for share in _SHOWN}
        found = [
            {
                "zero_probability": self.zero_probability[i],
                "noise": self.scale[i],
                "margin": z * math.sqrt(self.variance[i] / people),
                "exposed": people * self.zero_probability[i],
            }
            for i in sorted(shown | {self.best()})
        ]
        margin, exposed = z * math.sqrt(self.share_variance / people), people * self.share
        return [*found, {"zero_probability": self.share, "noise": None, "margin": margin, "exposed": exposed}]

    def summary(self, people: int, level: float = 0.95) -> str:
        """The same as a table for people."""
        lines = [f"{'exact with probability':>22}  {'noise':>8}  {'margin':>8}  {'exact people':>12}   (in widths)"]
        chosen = self.zero_probability[self.best()]
        for row in self.rows(people, level):
            noise = "none" if row["noise"] is None else f"{row['noise']:.3g}"
            mark = "  a random share, nothing else" if row["noise"] is None else ""
            mark = "  chosen" if row["noise"] is not None and row["zero_probability"] == chosen else mark
            lines.append(
                f"{row['zero_probability']:>22.4g}  {noise:>8}  {row['margin']:>8.3g}  {row['exposed']:>12,.0f}{mark}"
            )
        return "\n".join(lines)

    def plot(self, ax: Axes | None = None, *, people: int = 1_000) -> Axes:
        """The margin against the number of people published exactly, with the baseline as a line."""
        from discreet.plots import plot_curves

        people = arguments.whole(people, "people", DesignError, least=1)
        z = NormalDist().inv_cdf(0.975)
        exposed = [people * one for one in self.zero_probability]
        margins = [z * math.sqrt(one / people) for one in self.variance]
        return plot_curves(
            {"noise with exact records": margins},
            exposed,
            ax=ax,
            title=f"95 % margin with {people:,} people, in widths; dashed: a random share published, nothing else",
            across="people published exactly",
            up="margin",
            reference=z * math.sqrt(self.share_variance / people),
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "zero_probability": list(self.zero_probability),
            "scale": list(self.scale),
            "variance": list(self.variance),
            "share": self.share,
            "share_variance": self.share_variance,
            "largest": self.largest,
        }


@lru_cache(maxsize=1024)
def target_variance(target: str, scale: float, zero_probability: float) -> float:
    """Variance of one corrected answer by the estimator that uses the box; noise in units of the width of a coordinate.

    * "mean" and the smooth losses: of the mean of a coordinate that is spread evenly over its range, as
      :func:`discreet.estimate.mean` has it. At δ₀ = 0 that is ``1/12 + λ²``.
    * "median", "indicator", "check", "hinge": of the share of numbers below the middle, which decides a median; the
      score of a check or hinge loss is such an indicator times a covariate.
    """
    from discreet.estimate.noisy_numbers.interval import IntervalCorrection, applies
    from discreet.estimate.noisy_numbers.variance import mean_variance

    if target not in KINKED:
        return float(mean_variance(scale, zero_probability))
    if zero_probability == 0:
        return math.inf
    mechanism = ZeroInflatedLaplace(Box(0.0, 1.0), scale, zero_probability)
    if not applies(mechanism):  # noise of less than a hundredth of the width hides nothing from an indicator
        return _SIGN
    return float(IntervalCorrection(mechanism, _CELLS).variance(lambda x: (x <= 0.5).astype(np.float64))[0])


def trade_off(dimension: int, epsilon: float, delta: float, factor: float, target: str, largest: float) -> TradeOff:
    """The curve of a target: zero probabilities, the noise that each leaves, and the variance of the target.

    Parameters
    ----------
    dimension : int
    epsilon, delta : float
    factor : float
        Diameter of the box whose coordinates are scaled to width one, or its side.
    target : str
    largest : float
        The most exposure that is allowed.
    """
    kinked = target in KINKED
    zero = (_SHARES if kinked else np.concatenate([[0.0], _SHARES])) * delta
    inner = (delta - zero) / (1 - zero)
    scale = factor / _ratios(dimension, epsilon, inner)
    variance = [target_variance(target, float(s), float(z)) for s, z in zip(scale, zero, strict=True)]
    share_variance = (_SIGN if kinked else _EVEN) / delta
    return TradeOff(tuple(zero.tolist()), tuple(scale.tolist()), tuple(variance), delta, share_variance, largest)


def _ratios(dimension: int, epsilon: float, inner: Floats) -> Floats:
    """The largest c with δ_c(ε) at most these, to the digits of a picture: the chosen point is calibrated exactly."""
    if dimension == 1:
        return np.asarray((epsilon - 2 * np.log1p(-inner)) / math.sqrt(2))
    top = (epsilon - 2 * math.log1p(-float(inner.max()))) / math.sqrt(2)
    bottom = ratio_for_bound(epsilon, float(inner.min())) * 0.9
    ratios = np.geomspace(bottom, top, 32)
    deltas = np.array([delta_exact(epsilon, float(c), dimension) for c in ratios])
    keep = np.concatenate([[True], np.diff(np.maximum.accumulate(deltas)) > 0])
    return np.asarray(np.interp(inner, deltas[keep], ratios[keep]))
