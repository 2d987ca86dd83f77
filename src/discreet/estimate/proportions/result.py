"""What an estimate of frequencies holds: everything that inference needs, and nothing that changes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.arguments import Floats
from discreet.domains import FiniteDomain
from discreet.errors import DomainError
from discreet.estimate.channels.channel import Channels
from discreet.estimate.channels.moments import refuse_large
from discreet.estimate.channels.product import PairedChannels
from discreet.estimate.means.result import Statistic
from discreet.estimate.proportions.functionals import functional, mean_of_frequencies, quantile_of_frequencies
from discreet.estimate.proportions.intervals import contaminated_interval, default_method, frequency_interval
from discreet.estimate.proportions.quantile_result import Quantiles
from discreet.estimate.proportions.views import TopFrequencies, Totals, ValueFrequency, top
from discreet.estimate.reporting import display
from discreet.estimate.reporting.result import Result, frozen, written_interval
from discreet.estimate.reporting.table import SHARES, Axis, Column, Ends, ResultTable, interval_heading, labels
from discreet.estimate.sampling.share_covariance import Multinomial, Spread
from discreet.estimate.sampling.weighted_counts import Evidence
from discreet.mechanisms import FiniteMechanism
from discreet.mechanisms.inverse import Inverse

if TYPE_CHECKING:
    from discreet.estimate.channels.joint import JointChannels


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Frequencies(Result):
    """How frequent each true value is, estimated from randomised reports.

    Made by :func:`discreet.estimate.frequencies`. Index by a value for its frequency alone, with standard error and
    interval: ``result["yes"]`` is a :class:`ValueFrequency`. Iterating gives the values.

    Attributes
    ----------
    estimate : array
        One frequency per true value, in code order. Unbiased estimates may lie outside [0, 1].
    n : int
        Number of reports.
    std_error, covariance : array
        Standard errors at any size; the full matrix up to 4,096 values.
    labels : sequence
        The true values; their codes when labels are not known.
    method : {"unbiased", "mle"}
    target : {"population", "table"}
    mechanism : FiniteMechanism or dict
        The design, or the designs by name.
    notes : tuple of str
        What a reader should know.
    contamination : float
        The share of made-up reports that all intervals allow for.
    """

    estimate: Floats
    channels: Channels | PairedChannels | JointChannels
    evidence: Evidence
    correction: Inverse | None
    spread: Spread
    method: str
    target: str
    notes: tuple[str, ...] = ()
    column: str | None = None
    contamination: float = 0.0

    def __post_init__(self) -> None:
        self.estimate.flags.writeable = False

    @property
    def n(self) -> int:
        """Number of reports."""
        return self.evidence.n

    @property
    def mechanism(self) -> FiniteMechanism | dict[str, FiniteMechanism]:
        """The design, or the designs by name."""
        names, mechanisms = self.channels.names, self.channels.mechanisms
        return dict(zip(names, mechanisms, strict=True)) if names else mechanisms[0]

    @property
    def labels(self) -> Any:
        """The true values in code order; their codes when labels are not known."""
        labels = self.channels.labels
        if labels is None:
            return range(self.channels.truths)
        return labels.labels if isinstance(labels, FiniteDomain) else list(labels)

    def __getitem__(self, value: Any) -> ValueFrequency:
        return ValueFrequency(frequencies=self, code=self._code(value))

    def __len__(self) -> int:
        return self.estimate.size

    def __iter__(self) -> Iterator[Any]:
        return iter(self.labels)

    def __contains__(self, value: Any) -> bool:
        try:
            self._code(value)
        except KeyError:
            return False
        return True

    def _code(self, value: Any) -> int:
        """The code of a true value."""
        labels = self.channels.labels
        try:
            if isinstance(labels, FiniteDomain):
                return int(labels.encode([value])[0])
            return list(self.labels).index(value)
        except (DomainError, ValueError):
            raise KeyError(value) from None

    @cached_property
    def covariance(self) -> Floats:
        """Covariance matrix of the estimate; refused above 4,096 values."""
        refuse_large(self.estimate.size)
        if self.correction is None:
            return frozen(np.full((self.estimate.size,) * 2, np.nan))
        return frozen(self.spread.covariance(self.correction))

    @cached_property
    def std_error(self) -> Floats:
        """Standard errors, at any size."""
        if self.correction is None:
            return frozen(np.full(self.estimate.size, np.nan))
        return frozen(np.sqrt(self.spread.variances(self.correction)))

    @property
    def design_effect(self) -> Floats | None:
        """Variance over that of a simple random sample of as many people, by value (Kish 1965); None without a survey.

        Both hold the randomisation, so that it says by how much a sample has to be larger.
        """
        if self.evidence.survey is None or self.target == "table" or self.correction is None:
            return None
        simple = Multinomial(self.evidence.shares, self.n).variances(self.correction)
        return np.asarray(np.divide(self.std_error**2, simple, out=np.full(simple.shape, np.nan), where=simple > 0))

    @property
    def default_interval(self) -> str:
        """The interval method that is used unless another is named."""
        return default_method(self)

    def interval(self, level: float = 0.95, method: str | None = None) -> Floats:
        """Confidence intervals, one (low, high) row per value.

        Parameters
        ----------
        level : float
            Confidence level.
        method : str, optional
            * "wilson": the share of a value's report, by its score, mapped through the estimator. The default
              where each frequency depends on one share: yes/no answers and generalised response.
            * "clopper-pearson", or "exact": the same with exact binomial limits; never below the level for a simple
              random sample.
            * "chebyshev": all π with (π̂ − π)² ≤ V(π)/(n (1 − level)), V(π) the largest variance that is possible
              when the frequency is π. Rigorous for every n, distribution and channel; wide.
            * "likelihood-ratio": all π with 2(max ℓ − max ℓ given π) ≤ z², for any channel of full rank (Wilks 1938).
              The default for maximum-likelihood fits of two values through all other channels. With more values,
              many of them absent, it can be too narrow.
            * "score": all π that the score test accepts, with the variance at the likeliest frequencies that have
              this π, for any channel of full rank (Rao 1948). Where Wilson's interval exists it is the same. The
              default for maximum-likelihood fits of more values through all other channels.
            * "wald": estimate ± quantile × standard error, not clipped. The default for unbiased estimates through
              all other channels, and where a likelihood ratio is not to be had.
            * "simultaneous": all values at once with the level as joint coverage, by Bonferroni, on
              Clopper–Pearson where it exists and on the default otherwise.
            * "anytime": a confidence sequence, which may be looked at as often as one likes while answers come in; the
              level holds for all looks at one value together once there are some dozens of answers, and it is tightest
              near a thousand. "anytime-rigorous" holds from the first answer on, and is wider.

        Returns
        -------
        array (values, 2)
            All but Wald lie within [0, 1]. When nothing is left, the reports contradict the design; the row is
            (nan, nan) and :meth:`empty` says so. Likelihood-ratio intervals are never empty: they compare
            frequencies with each other, and do not notice reports that go with none.

        Notes
        -----
        With survey weights, strata or clusters, Wilson and Clopper–Pearson use the effective sample size of
        Korn and Graubard (1998), and Wald Student's t with (clusters − strata) degrees of freedom.
        Likelihood-ratio intervals, and score intervals where they are not Wilson's, are for simple random samples
        of up to 300 values (likelihood ratios for generalised response at any size).
        With ``target="table"`` the variance is that of the randomisation alone; Clopper–Pearson is then
        conservative (Hoeffding 1956), and there is no likelihood ratio.
        """
        return frequency_interval(self, level, method, slice(None))

    def contaminated(
        self, share: float, of: str = "everyone", level: float = 0.95, method: str | None = None
    ) -> Floats:
        """Intervals that still hold when up to this share of the reports was made up.

        Parameters
        ----------
        share : float
            At least 0, below 1.
        of : {"everyone", "honest", "replaced"}
            The frequency among all; among those who followed the design; or among all, when reports were seen and then
            exchanged. The bounds are in :mod:`discreet.estimate.intervals.contamination`; each is reached by some
            forger.
        level, method
            Of the interval for the reports as they are, as in :meth:`interval`.
        """
        return contaminated_interval(self, share, of, level, method)

    def interval_of(self, code: int, level: float = 0.95, method: str | None = None) -> Floats:
        """The confidence interval of one value, by its code: (low, high)."""
        return np.asarray(frequency_interval(self, level, method, slice(code, code + 1))[0])

    def empty(self, level: float = 0.95, method: str | None = None) -> NDArray[np.bool_]:
        """Which intervals are empty: no frequency in [0, 1] goes with the reports, which contradict the design."""
        if self.correction is None:
            return np.zeros(self.estimate.size, bool)
        return np.asarray(np.isnan(self.interval(level, method)[:, 0]))

    @cached_property
    def unbiased(self) -> Floats:
        """The unbiased estimate, on which intervals from report shares are centred whatever the method."""
        return self.estimate if self.method == "unbiased" else self.channels.inverse.apply(self.evidence.shares)

    def totals(self) -> Totals:
        """How many people have each value.

        With survey weights the Horvitz–Thompson totals ``Σ w_i φ_i`` of the population; without, n times the
        frequencies, the number among those who reported.
        """
        survey = self.evidence.survey if self.evidence.finite is None else self.evidence.finite
        horvitz_thompson = survey is not None and self.evidence.weights is not None and self.correction is not None
        return Totals(
            estimate=self.evidence.total * self.estimate,
            frequencies=self,
            survey=survey if horvitz_thompson else None,
        )

    def mean(self, positions: ArrayLike | None = None) -> Statistic:
        """The mean of the values, with its error; numbers as for :func:`discreet.estimate.mean`."""
        return mean_of_frequencies(self, positions)

    def functional(self, scores: ArrayLike) -> Statistic:
        """``Σ_x c_x f_x`` for one number per value, with its error."""
        return functional(self, scores)

    def quantile(self, p: float = 0.5, positions: ArrayLike | None = None) -> Quantiles:
        """The quantile of the values at p, with its interval; see :func:`discreet.estimate.quantile`."""
        return quantile_of_frequencies(self, p, positions)

    def top(self, k: int = 10) -> TopFrequencies:
        """The k most frequent values, with intervals that hold although they were picked out."""
        return top(self, k)

    def _labels(self) -> Any:
        return self.labels

    def _axis(self) -> Axis:
        return SHARES

    def summary(
        self,
        level: float = 0.95,
        method: str | None = None,
        *,
        top: int | None = None,
        sort: bool = False,
        every: bool = False,
    ) -> str:
        """A table to read.

        Parameters
        ----------
        level, method
            Of the intervals, as in :meth:`interval`.
        top : int, optional
            Only the most frequent ones, with intervals that hold although they were picked out; see :meth:`top`.
        sort : bool
            The most frequent value first, in place of the declared order.
        every : bool
            All values, however many there are; by default the first twenty.
        """
        if top is not None:
            return self.top(top).summary(level, method)
        order = np.argsort(-self.estimate, kind="stable") if sort else None
        return self._ordered(level, method, None if every else display.SHOWN, order).text()

    def _table(self, level: float, method: str | None, most: int | None) -> ResultTable:
        return self._ordered(level, method, most, None)

    def _ordered(
        self, level: float, method: str | None, most: int | None, order: NDArray[np.int64] | None
    ) -> ResultTable:
        shown = self.estimate.size if most is None else min(self.estimate.size, most)
        chosen = self.default_interval if method is None else method
        codes = np.arange(shown) if order is None else order[:shown]
        bounds = frequency_interval(self, level, method, slice(0, shown) if order is None else slice(None))
        bounds = bounds if order is None else bounds[codes]
        empty = np.isnan(bounds[:, 0]) & (self.correction is not None)
        left_out = self.estimate.size - shown
        return ResultTable(
            title=self.heading(),
            columns=(
                labels("value", [self.channels.label(int(code)) for code in codes]),
                Column("estimate", self.estimate[codes]),
                Column("std_error", self.std_error[codes], "std. error"),
                Ends(interval_heading(level, chosen), bounds, empty=empty),
            ),
            rows=shown,
            more=(f"{left_out:,} more values",) if left_out else (),
            notes=self.notes,
        )

    def heading(self) -> str:
        """What was estimated, from what."""
        what = f'Frequencies of "{self.column}"' if self.column else "Frequencies"
        how = "maximum likelihood" if self.method == "mle" else "unbiased"
        whom = display.of_whom(self.target)
        return f"{what} {whom}: {how}, n = {self.n:,}{display.design_effects(self.design_effect)}"

    def to_dict(self, level: float = 0.95, method: str | None = None) -> dict[str, Any]:
        """Plain data, ready for JSON: one list per quantity, in code order."""
        chosen = self.default_interval if method is None else method
        bounds = self.interval(level, method)
        empty = np.isnan(bounds[:, 0]) & (self.correction is not None)
        return {
            "kind": "frequencies",
            "column": self.column,
            "n": self.n,
            "method": self.method,
            "target": self.target,
            "contamination": self.contamination,
            "labels": display.plain(list(self.labels)),
            "estimate": display.plain(self.estimate),
            "std_error": display.plain(self.std_error),
            "design_effect": display.plain(self.design_effect),
            "interval": written_interval(bounds, level, chosen) | {"empty": display.plain(empty)},
            "notes": list(self.notes),
        }
