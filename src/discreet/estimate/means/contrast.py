"""Differences and ratios of groups, with tests that there is none."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet import arguments
from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.data.label_codes import Ints
from discreet.estimate.intervals.levels import checked_level, two_sided_quantile, two_tails
from discreet.estimate.intervals.newcombe import Sides, difference_ends, difference_p_values
from discreet.estimate.reporting import display
from discreet.estimate.reporting.result import Listed, frozen
from discreet.estimate.reporting.table import Axis, Column, labels

if TYPE_CHECKING:
    from discreet.estimate.means.result import Statistic


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Contrast(Listed):
    """Comparisons of two groups each. Made by ``compare``.

    Attributes
    ----------
    what : str
        What is compared, such as ``mean of "hours"``.
    kind : {"difference", "ratio"}
        ``first − second``, or ``first/second``.
    pairs : tuple of (first, second)
        The labels of the groups; of frequencies the values.
    estimate, std_error, covariance : array
    degrees_of_freedom : array
        Of Student's t: Welch's (1947) of independent groups, the smaller one of groups that share clusters or strata.
    p_values : array
        Two-sided, of the hypothesis that the groups do not differ; of several pairs times their number (Bonferroni), so
        that any one below 5 % says at that level that some groups differ.
    notes : tuple of str
    """

    what: str
    kind: str
    pairs: tuple[tuple[Any, Any], ...]
    estimate: Floats
    covariance: Floats
    degrees_of_freedom: Floats
    notes: tuple[str, ...] = ()
    #: Standard errors as intervals and tests use them, where they are not those of the covariance: of few people.
    interval_error: Floats | None = None
    #: Of shares: how far the intervals of the two groups reach, and how the groups are correlated.
    sides: Sides | None = None
    correlation: Floats | None = None

    def __post_init__(self) -> None:
        for array in (self.estimate, self.covariance, self.degrees_of_freedom):
            array.flags.writeable = False

    @cached_property
    def std_error(self) -> Floats:
        """Standard errors; of a ratio by the delta method."""
        return frozen(np.sqrt(np.maximum(np.diag(self.covariance), 0.0)))

    @cached_property
    def z(self) -> Floats:
        """The difference, or the logarithm of the ratio, over its standard error."""
        with np.errstate(invalid="ignore", divide="ignore"):
            if self.kind == "ratio":
                return frozen(np.log(self.estimate) * self.estimate / self.std_error)
            return frozen(self.estimate / self.std_error)

    @property
    def _error(self) -> Floats:
        """Standard errors as intervals and tests use them."""
        return self.std_error if self.interval_error is None else self.interval_error

    @cached_property
    def p_values(self) -> Floats:
        """Two-sided, times the number of pairs; those of the default interval."""
        if self.sides is not None and self.correlation is not None:
            alone = difference_p_values(self.estimate, self.correlation, self.sides, self.degrees_of_freedom)
        else:
            with np.errstate(invalid="ignore", divide="ignore"):
                z = self.z * (self.std_error / self._error)
            alone = np.array([float(two_tails(one, df)) for one, df in zip(z, self.degrees_of_freedom, strict=True)])
        return frozen(np.minimum(alone * len(self.pairs), 1.0))

    @property
    def default_interval(self) -> str:
        """Simultaneous where there are several pairs; Newcombe's of two shares."""
        if len(self.pairs) > 1:
            return "simultaneous"
        return "wald" if self.sides is None else "newcombe"

    def interval(self, level: float = 0.95, method: str | None = None) -> Floats:
        """Confidence intervals, one (low, high) row per pair.

        Parameters
        ----------
        level : float
        method : {"wald", "newcombe", "simultaneous"}, optional
            "wald" and, for the difference of two shares, "newcombe" (:mod:`discreet.estimate.intervals.newcombe`; the
            default
            there) give every pair this level on its own; "simultaneous" all pairs together, by Bonferroni. Intervals of
            a ratio are made on its logarithm.
        """
        level = checked_level(level)
        method = self.default_interval if method is None else method
        options = ("wald", *(() if self.sides is None else ("newcombe",)), "simultaneous")
        method = arguments.choice(method, "the interval method of a comparison", options, EstimationError)
        if method == "simultaneous":
            level = 1 - (1 - level) / len(self.pairs)
        quantiles = np.array([two_sided_quantile(level, df) for df in self.degrees_of_freedom])
        if method != "wald" and self.sides is not None and self.correlation is not None:
            return difference_ends(self.estimate, self.correlation, self.sides, quantiles)
        reach = self._error * quantiles
        if self.kind == "ratio":
            factor = np.exp(reach / self.estimate)
            return np.stack([self.estimate / factor, self.estimate * factor], axis=1)
        return np.stack([self.estimate - reach, self.estimate + reach], axis=1)

    def heading(self) -> str:
        """What was compared."""
        plural = "s" if len(self.pairs) > 1 else ""
        return f"{self.kind.capitalize()}{plural} of the {self.what}"

    def _labels(self) -> list[str]:
        sign = " − " if self.kind == "difference" else " / "
        return [sign.join(display.label_text(one) for one in pair) for pair in self.pairs]

    def _write(self, value: float) -> str:
        return display.measured(value)

    def _axis(self) -> Axis:
        return Axis(self.kind, 1.0, log=True) if self.kind == "ratio" else Axis(self.kind, 0.0)

    def _picture_labels(self) -> list[str]:
        return self._labels()

    _rows_named, _rows_allowed, _measured = "pairs", 2, True

    @property
    def _estimate_heading(self) -> str:  # type: ignore[override]
        return self.kind

    def _label_columns(self, shown: int) -> list[Column]:
        first, second = ([pair[side] for pair in self.pairs[:shown]] for side in (0, 1))
        return [labels("first", first), labels("second", second)]

    def _more_columns(self, shown: int) -> list[Column]:
        return [Column("p_value", self.p_values[:shown], "p", display.p_value)]

    def _described(self) -> dict[str, Any]:
        return {"kind": self.kind, "of": self.what, "pairs": [display.plain(pair) for pair in self.pairs]}

    def _more_data(self) -> dict[str, Any]:
        return {"p_value": display.plain(self.p_values)}


def unknown_group(groups: Sequence[Any]) -> str:
    """What to say when a comparison names a group that is not there."""
    known = ", ".join(display.label_text(label) for label in groups[: display.SHOWN])
    return f"compare names a group that is not there; the groups are {known}"


def contrast(statistic: Statistic, pairs: Sequence[tuple[int, int]], kind: str) -> Contrast:
    """Comparisons of pairs of groups, by their places; the covariance of all of them from that of the groups."""
    kind = arguments.choice(kind, "kind", ("difference", "ratio"), EstimationError)
    used = sorted({place for pair in pairs for place in pair})
    groups, m = statistic.groups, statistic.estimate
    unknown = [groups[place] for place in used if not math.isfinite(statistic.std_error[place])]
    if unknown:
        raise EstimationError(
            f"the group {display.label_text(unknown[0])} has no standard error, so it cannot be compared: "
            "leave it out or merge it with another"
        )
    if kind == "ratio" and (m[used] <= 0).any():
        raise EstimationError(f"a ratio needs groups whose {statistic.what} is above 0: compare differences")
    L = np.zeros((len(pairs), m.size))
    for row, (i, j) in enumerate(pairs):
        L[row, [i, j]] = (1.0, -1.0) if kind == "difference" else (1 / m[j], -m[i] / m[j] ** 2)
    found = [m[i] - m[j] if kind == "difference" else m[i] / m[j] for i, j in pairs]
    covariance = statistic.covariance[np.ix_(used, used)]
    shown = L[:, used] @ covariance @ L[:, used].T
    np.fill_diagonal(covariance, statistic.variances[used])  # np.ix_ copies
    left, right = (np.array([pair[side] for pair in pairs]) for side in (0, 1))
    sides = _sides(statistic, left, right) if kind == "difference" else None
    survey = statistic.simple_variance is not None
    return Contrast(
        what=statistic._named,
        kind=kind,
        pairs=tuple((groups[i], groups[j]) for i, j in pairs),
        estimate=np.array(found),
        covariance=shown,
        degrees_of_freedom=np.full(len(pairs), math.inf) if sides and not survey else _degrees(statistic, L, pairs),
        notes=statistic.notes,
        interval_error=np.sqrt(np.einsum("pg,gh,ph->p", L[:, used], covariance, L[:, used])),
        sides=sides,
        correlation=_correlation(statistic.covariance, left, right) if sides else None,
    )


def _sides(statistic: Statistic, left: Ints, right: Ints) -> Sides | None:
    """How far the intervals of both groups of every pair reach; None where the numbers are more than two."""
    if statistic.share_reaches(left[:0], np.empty(0)) is None:
        return None

    def sides(quantiles: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        parts = [statistic.share_reaches(one, quantiles) or (np.empty(0),) * 2 for one in (left, right)]
        return (*parts[0], *parts[1])

    probed = sides(np.full(left.size, two_sided_quantile(0.95)))
    return sides if all(np.isfinite(one).all() for one in probed) else None


def _correlation(covariance: Floats, left: Ints, right: Ints) -> Floats:
    size = np.sqrt(np.diag(covariance)[left] * np.diag(covariance)[right])
    return np.divide(covariance[left, right], size, out=np.zeros_like(size), where=size > 0)


def _degrees(statistic: Statistic, L: Floats, pairs: Sequence[tuple[int, int]]) -> Floats:
    """Welch's of independent groups (Satterthwaite 1946), else the smaller ones."""
    own = statistic.degrees_of_freedom
    found = []
    for row, (i, j) in zip(L, pairs, strict=True):
        parts = row[[i, j]] ** 2 * statistic.variances[[i, j]]
        loss = float(np.sum(parts**2 / own[[i, j]]))  # 0 given the table, where nothing is estimated but the sizes
        independent = statistic.covariance[i, j] == 0 and loss > 0
        found.append(parts.sum() ** 2 / loss if independent else min(own[i], own[j]))
    return np.array(found, float)
