"""A mean, a total or an expectation, overall or by group: the result, with comparisons of its groups."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from discreet import arguments
from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.intervals import anytime
from discreet.estimate.intervals.bounded_mean import Support, bounded, reaches
from discreet.estimate.intervals.levels import checked_level, two_sided_quantile, within_unit
from discreet.estimate.intervals.wilson import variance_at, wilson
from discreet.estimate.means.contrast import Contrast, contrast, unknown_group
from discreet.estimate.reporting import display
from discreet.estimate.reporting.result import Listed, frozen
from discreet.estimate.reporting.table import (
    SHARES,
    Axis,
    Column,
    group_columns,
    labels,
)
from discreet.estimate.sampling.weighted_counts import People

_ANYTIME = ("anytime", "anytime-rigorous")


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Statistic(Listed):
    """One number about a column, overall or for every group. Made by ``estimate.mean``, ``total``, ``expectation``.

    ``float(one)`` is the estimate where there are no groups. With groups it is indexed by their labels, iterates over
    them and has a length; :meth:`compare` sets them against each other.

    Attributes
    ----------
    what : str
        Such as "mean".
    column : str or None
    estimate, std_error : array
        One number per group.
    covariance : array (groups, groups)
        Groups that share clusters or strata are not independent of each other, and this matrix knows it.
    groups : tuple
        The labels of the groups; empty where there are none.
    by : str, tuple or None
        The public column or columns that make the groups.
    n : array of int
        Number of answers in each group.
    target : {"population", "table"}
    notes : tuple of str
    """

    what: str
    column: str | None
    estimate: Floats
    covariance: Floats
    groups: tuple[Any, ...] = ()
    by: str | tuple[str | None, ...] | None = None
    n: NDArray[np.int64]
    degrees_of_freedom: Floats
    target: str = "population"
    notes: tuple[str, ...] = ()
    #: Two numbers and the randomisation variances at each, where the mean is a share in disguise.
    two_valued: tuple[float, float, float, float] | None = None
    #: Where the numbers behind the mean can lie, where that is known.
    support: Support | None = None
    #: Variances as intervals and comparisons use them: with n − 1, and not below what the randomisation alone gives.
    interval_variance: Floats | None = None
    #: Of a survey: the variances that a simple random sample of as many people would have.
    simple_variance: Floats | None = None
    #: What bounds the effective sample size of a survey.
    people: People | None = None
    #: The least standard deviation of one score, and half the range of scores; for confidence sequences of a mean.
    deviations: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        for array in (self.estimate, self.covariance, self.n, self.degrees_of_freedom):
            array.flags.writeable = False

    @cached_property
    def std_error(self) -> Floats:
        """Standard errors; nan where one row alone shows no spread."""
        with np.errstate(invalid="ignore"):
            return frozen(np.sqrt(np.diag(self.covariance)))

    @property
    def design_effect(self) -> Floats | None:
        """Variance over that of a simple random sample of as many people, by group (Kish 1965); None without a survey.

        Both hold the randomisation, so that it says by how much a sample has to be larger.
        """
        if self.simple_variance is None:
            return None
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(np.diag(self.covariance) / self.simple_variance)

    @property
    def default_interval(self) -> str:
        """The interval method that is used unless another is named."""
        return "wald" if self.two_valued is None and self.support is None else "wilson"

    def interval(self, level: float = 0.95, method: str | None = None) -> Floats:
        """Confidence intervals, one (low, high) row per group.

        Parameters
        ----------
        level : float
            Confidence level.
        method : {"wald", "wilson", "simultaneous", "anytime", "anytime-rigorous"}, optional
            * "wilson": all means that a score test accepts, of numbers with known ends against the people who would
              hide them best (:mod:`discreet.estimate.intervals.bounded_mean`). It lies within the ends of the domain.
              The default
              where they are known. In a survey with the effective number of people.
            * "wald": estimate ± quantile × standard error, Student's t with n − 1, in a survey (clusters − strata)
              degrees of freedom. The default elsewhere: of public numbers, totals of a survey, and where some have no
              number.
            * "simultaneous": all groups at once with the level as joint coverage, by Bonferroni on the default.
            * "anytime": a confidence sequence, which may be looked at as often as one likes while answers come in, once
              there are some dozens; "anytime-rigorous" holds from the first answer on and is wider, for columns with a
              list of values. See :mod:`discreet.estimate.intervals.anytime`. For means of simple random samples.
        """
        level = checked_level(level)
        known = self.two_valued is not None or self.support is not None
        options = ("wald", *(("wilson",) if known else ()), "simultaneous", *_ANYTIME)
        method = self.default_interval if method is None else method
        method = arguments.choice(method, f"the interval method of a {self.what}", options, EstimationError)
        if method in _ANYTIME:
            return self._anytime(level, rigorous=method == "anytime-rigorous")
        if method == "simultaneous":
            level, method = 1 - (1 - level) / self.estimate.size, self.default_interval
        quantiles = np.array([two_sided_quantile(level, df) for df in self.degrees_of_freedom])
        if method == "wald":
            reach = quantiles * np.sqrt(self.variances)
            return np.stack([self.estimate - reach, self.estimate + reach], axis=1)
        if self.two_valued is None:
            return self._bounded(quantiles)
        return self._wilson(quantiles if self._is_survey else np.full_like(quantiles, two_sided_quantile(level)))

    @property
    def _is_survey(self) -> bool:
        return self.simple_variance is not None

    @property
    def variances(self) -> Floats:
        """As intervals and comparisons use them."""
        return self.std_error**2 if self.interval_variance is None else self.interval_variance

    @property
    def _people(self) -> Floats:
        """What a total is a mean times of."""
        return self.n.astype(float) if self.what == "total" else np.ones(self.n.size)

    def _bounded(self, quantiles: Floats) -> Floats:
        """The interval of numbers between known ends."""
        assert self.support is not None
        people, size = self._people, self.n.astype(float)
        mean, error = self.estimate / people, self.variances / people**2
        variance = size * error
        if self.simple_variance is not None:  # as many people as would give this error
            assert self.people is not None
            variance = np.maximum(size * self.simple_variance / people**2, self.support.least)
            size = self.people.effective_size(error, variance, self.support.least)
        below, above = reaches(mean, variance, size, quantiles, self.support)
        return bounded(mean, below, above, self.support) * people[:, None]

    def _anytime(self, level: float, *, rigorous: bool) -> Floats:
        """A confidence sequence, at the number of answers that there are now."""
        weighted = self.people is not None and not np.allclose(self.people.kish, self.n, rtol=1e-9)
        if self.deviations is None or weighted or self._is_survey:
            raise EstimationError(
                "anytime intervals are for the means of estimate.mean from simple random samples: no totals, and no "
                "survey weights, strata or clusters"
            )
        least, half_range = self.deviations
        if rigorous and math.isinf(half_range):
            raise EstimationError("anytime-rigorous intervals need a column with a list of values; use anytime")
        if self.two_valued is not None and not rigorous:
            return self._wilson(np.array([anytime.factor(int(n), level) for n in self.n]))
        found = self.std_error * np.sqrt(self.n)
        deviation = np.full_like(found, half_range) if rigorous else np.maximum(found, least)
        reach = np.array([anytime.reach(int(n), one, level) for n, one in zip(self.n, deviation, strict=True)])
        return np.stack([self.estimate - reach, self.estimate + reach], axis=1)

    def _wilson(self, factors: Floats) -> Floats:
        """Wilson's interval for the share of the second value, as one for the mean."""
        assert self.two_valued is not None
        first, second = self.two_valued[:2]
        share, low, high = self._wilson_ends(factors)
        ends = within_unit(low, high, 1 + np.abs(share))
        return np.sort((first + (second - first) * ends) * self._people[:, None], axis=1)

    def _wilson_ends(self, factors: Floats) -> tuple[Floats, Floats, Floats]:
        """The share of the second value, and the ends of its interval, not held to [0, 1]."""
        assert self.two_valued is not None
        first, second, own, other = self.two_valued
        people = self._people
        share = (self.estimate / people - first) / (second - first)
        sampling = 1.0 if self.target == "population" else 0.0
        size = self.n.astype(float)
        if self.people is not None and (self._is_survey or self.target == "table"):
            variance = (self.std_error / people / (second - first)) ** 2
            size = self.people.effective_size(variance, variance_at(share, own, other, sampling), min(own, other))
        ends = wilson(share, np.full_like(share, own), np.full_like(share, other), sampling, size, factors)
        return share, *ends

    def share_reaches(self, places: NDArray[np.int64], factors: Floats) -> tuple[Floats, Floats] | None:
        """How far down and up Wilson's intervals of some groups reach, one factor for each; None for other numbers."""
        if self.two_valued is None:
            return None
        own = self._at(places)
        first, second = self.two_valued[:2]
        share, low, high = own._wilson_ends(factors)
        stretch = abs(second - first) * own._people
        ends = ((share - low) * stretch, (high - share) * stretch)
        return ends if second > first else ends[::-1]

    def _at(self, places: NDArray[np.int64]) -> Self:
        """Some groups, in this order."""
        return replace(
            self,
            estimate=self.estimate[places],
            covariance=self.covariance[np.ix_(places, places)],
            groups=tuple(self.groups[place] for place in places),
            n=self.n[places],
            simple_variance=None if self.simple_variance is None else self.simple_variance[places],
            interval_variance=None if self.interval_variance is None else self.interval_variance[places],
            degrees_of_freedom=self.degrees_of_freedom[places],
            people=None if self.people is None else self.people.at(places),
        )

    def __getitem__(self, group: Any) -> Self:
        return self._at(np.array([self._place(group)]))

    def _place(self, group: Any) -> int:
        single = group.item() if isinstance(group, np.generic) else group
        if isinstance(single, Hashable) and single in self.groups:
            return self.groups.index(single)
        raise KeyError(group)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.groups)

    def __len__(self) -> int:
        return self.estimate.size

    def __contains__(self, group: Any) -> bool:
        try:
            self._place(group)
        except KeyError:
            return False
        return True

    def __float__(self) -> float:
        if self.estimate.size != 1:
            raise TypeError(f"there are {self.estimate.size} groups; name one")
        return float(self.estimate[0])

    def compare(self, first: Any = None, second: Any = None, kind: str = "difference") -> Contrast:
        """Differences or ratios between groups, each with a test that there is none.

        Parameters
        ----------
        first, second : labels of two groups, optional
            Without them all pairs are compared, with simultaneous intervals and p values.
        kind : {"difference", "ratio"}
            ``first − second``, or ``first/second``.
        """
        if len(self.groups) < 2:
            raise EstimationError("there is one group, and nothing to compare it with: ask for groups with by")
        if (first is None) != (second is None):
            raise EstimationError('name two groups, compare("north", "south"), or none for all pairs')
        if first is None:
            pairs = [(i, j) for i in range(len(self.groups)) for j in range(i + 1, len(self.groups))]
        else:
            try:
                pairs = [(self._place(first), self._place(second))]
            except KeyError:
                raise EstimationError(unknown_group(self.groups)) from None
        return contrast(self, pairs, kind)

    @property
    def _named(self) -> str:
        return f'{self.what} of "{self.column}"' if self.column else self.what

    def heading(self) -> str:
        """What was estimated, from what."""
        groups = f", {len(self.groups)} groups" if len(self.groups) > 1 else ""
        effects = display.design_effects(self.design_effect)
        named = self._named[:1].upper() + self._named[1:]
        return f"{named} {display.of_whom(self.target)}{groups}, n = {int(self.n.sum()):,}{effects}"

    def _labels(self) -> tuple[Any, ...]:
        return self.groups or ("",)

    def _write(self, value: float) -> str:
        return display.amount(value) if self.what == "total" else display.measured(value)

    @property
    def _is_share(self) -> bool:
        return self.two_valued is not None and self.two_valued[:2] == (0.0, 1.0) and self.what != "total"

    def _axis(self) -> Axis:
        return SHARES if self._is_share else Axis(self._named)

    _rows_named = "groups"

    @property
    def _measured(self) -> bool:  # type: ignore[override]
        return not self._is_share

    def _label_columns(self, shown: int) -> list[Column]:
        first = group_columns(self.groups[:shown], self.by) if self.groups else [labels("statistic", [self._named])]
        return [*first, Column("n", self.n[:shown], write=display.count)]

    def _described(self) -> dict[str, Any]:
        groups = [display.plain(group) for group in self.groups]
        about = {"kind": self.what, "column": self.column, "by": display.plain(self.by), "groups": groups}
        return about | {"n": display.plain(self.n), "target": self.target}

    def _more_data(self) -> dict[str, Any]:
        return {"covariance": display.plain(self.covariance), "design_effect": display.plain(self.design_effect)}

    def _empty(self, bounds: Floats) -> NDArray[np.bool_]:
        """Wilson's intervals that nothing is left of; where the error is not known there is no interval either."""
        return np.asarray(np.isnan(bounds[:, 0]) & np.isfinite(self.std_error[: len(bounds)]))


#: Fewer rows than this are few: Student's interval of skewed numbers then misses often.
_FEW = 30


def few_rows_notes(groups: tuple[Any, ...], n: NDArray[np.int64]) -> tuple[str, ...]:
    """Numbers without known ends: what few rows do not show no interval knows."""
    few = [display.label_text(group) for group, rows in zip(groups or ("",), n, strict=True) if 1 < rows < _FEW]
    if not few:
        return ()
    named = f" in {', '.join(few[: display.SHOWN])}" if groups else ""
    return (
        f"fewer than {_FEW} answers{named}: the interval takes them to show what all numbers are like, and misses more "
        "often than it says where a few large ones decide",
    )


def single_row_notes(groups: tuple[Any, ...], n: NDArray[np.int64], *, share: bool = False) -> tuple[str, ...]:
    """One row shows no spread, and so has no standard error; of a share there is an interval all the same."""
    few = [display.label_text(group) for group, rows in zip(groups or ("",), n, strict=True) if rows < 2]
    if not few:
        return ()
    if not groups:
        return (f"there is one row, which shows no spread: no standard error{'' if share else ', and no interval'}",)
    lacking = "no standard error" if share else "no standard error and no interval"
    return (f"groups of one row have {lacking}: {', '.join(few[: display.SHOWN])}",)
