"""What an estimate of frequencies holds: everything that inference needs, and nothing that changes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.domains import Domain
from discreet.errors import DomainError, EstimationError
from discreet.estimate import display, intervals
from discreet.estimate.channels import Channels
from discreet.estimate.evidence import Evidence, effective_size
from discreet.estimate.moments import refuse_large
from discreet.estimate.paired import PairedChannels
from discreet.estimate.restricted_intervals import MAX_RESTRICTED, likelihood_ratios, scores
from discreet.estimate.spread import Spread
from discreet.estimate.value_frequency import ValueFrequency
from discreet.mechanisms import FiniteMechanism
from discreet.mechanisms.inverse import Inverse

if TYPE_CHECKING:
    from discreet.estimate.joint.channels import JointChannels
    from discreet.estimate.totals import Totals

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Frequencies:
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
        return labels.labels if isinstance(labels, Domain) else list(labels)

    def __getitem__(self, value: Any) -> ValueFrequency:
        return ValueFrequency(self, self._code(value))

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
            if isinstance(labels, Domain):
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
    def default_interval(self) -> str:
        """The interval method that is used unless another is named."""
        if self.correction is None:
            return "wald"
        if self.channels.line is not None:
            return "wilson"
        # With absent values beside it the likelihood ratio of a frequency is not χ²: 83 % in the worst case measured.
        best = "likelihood-ratio" if self.estimate.size == 2 else "score"
        return best if self.method == "mle" and self._why_not(best) is None else "wald"

    def interval(self, level: float = 0.95, method: str | None = None) -> Floats:
        """Confidence intervals, one (low, high) row per value.

        Parameters
        ----------
        level : float
            Confidence level.
        method : str, optional
            * "wilson": the share of a value's report, by its score, mapped through the estimator. The default
              where each frequency depends on one share: yes/no answers and generalised response.
            * "clopper-pearson": the same with exact binomial limits; never below the level for a simple
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
        return self._interval(level, method, slice(None))

    def interval_of(self, code: int, level: float = 0.95, method: str | None = None) -> Floats:
        """The confidence interval of one value, by its code: (low, high)."""
        return np.asarray(self._interval(level, method, slice(code, code + 1))[0])

    def empty(self, level: float = 0.95, method: str | None = None) -> NDArray[np.bool_]:
        """Which intervals are empty: no frequency in [0, 1] goes with the reports, which contradict the design."""
        if self.correction is None:
            return np.zeros(self.estimate.size, bool)
        return np.asarray(np.isnan(self.interval(level, method)[:, 0]))

    def _interval(self, level: float, method: str | None, rows: slice) -> Floats:
        level = intervals.checked_level(level)
        method = intervals.checked_method(self.default_interval if method is None else method)
        if self.correction is None:
            return np.full((self.estimate[rows].size, 2), np.nan)
        line = self.channels.line
        if method == "simultaneous":
            free = 1 if self.estimate.size == 2 else self.estimate.size  # two values: one determines the other
            level = 1 - (1 - level) / free
            method = self.default_interval if line is None else "clopper-pearson"
        if method == "likelihood-ratio" or (method == "score" and line is None):
            return self._restricted(level, method, rows)
        if method == "wald":
            quantile = intervals.two_sided_quantile(level, self.spread.degrees_of_freedom)
            return intervals.wald(self.estimate[rows], self.std_error[rows], quantile)
        if method == "chebyshev":
            return self._chebyshev(level, rows)
        if line is None:
            raise EstimationError(
                f"{method} intervals need a design in which each frequency depends on the share of one report; "
                "use score, likelihood-ratio, chebyshev, wald or simultaneous"
            )
        slope, offset = line[0][rows], line[1][rows]
        size = self._effective_size(level)
        if isinstance(size, np.ndarray):
            size = size[rows]
        if method in ("wilson", "score"):
            return self._score(intervals.two_sided_quantile(level), size, rows)
        exact = self.evidence.survey is None and self.evidence.weights is None
        counts = self.evidence.counts[rows].astype(float) if exact else self.evidence.shares[rows] * size
        low, high = intervals.clopper_pearson(counts, size, level)
        return intervals.within_unit(*intervals.through_line(low, high, slope, offset), np.abs(slope) + np.abs(offset))

    def _why_not(self, method: str) -> str | None:
        """Why there is no interval of this method by restricted fits; None where there is one."""
        if not isinstance(self.channels, Channels):
            return "are for single columns; for the cells of a table use wald or chebyshev"
        if self.evidence.survey is not None or self.evidence.weights is not None:
            return "are for simple random samples; with survey weights, strata or clusters use wald"
        if method == "likelihood-ratio" and self.target == "table":
            return "need people who are a sample: given the table there is no likelihood; use score or wald"
        if self.channels.line is None and self.channels.truths > MAX_RESTRICTED:
            return f"are limited to {MAX_RESTRICTED} values for this kind of design; use wald or chebyshev"
        if method == "score" and self.method == "unbiased" and self.channels.only_together:
            return 'of designs that tell the values apart only together are for method="mle"; use wald'
        return None

    def _restricted(self, level: float, method: str, rows: slice) -> Floats:
        """Intervals that fit all other frequencies anew for every value of the one in question."""
        reason = self._why_not(method)
        if reason is not None:
            raise EstimationError(f"{method} intervals {reason}")
        assert isinstance(self.channels, Channels)
        quantile = intervals.two_sided_quantile(level)
        counts = self.evidence.counts.astype(float)
        profile = self.channels.profile(counts)
        codes = np.arange(self.estimate.size)[rows]
        if method == "likelihood-ratio":
            best = self.estimate if self.method == "mle" else self.channels.fit(counts).frequencies
            return likelihood_ratios(profile, codes, best, self.std_error, quantile)
        own = self.channels.inverse.as_matrix() if self.method == "unbiased" else None
        return scores(profile, codes, self.estimate, self.std_error, quantile, own, of_the_table=self.target == "table")

    @cached_property
    def _unbiased(self) -> Floats:
        """The unbiased estimate, on which intervals from report shares are centred whatever the method."""
        return self.estimate if self.method == "unbiased" else self.channels.inverse.apply(self.evidence.shares)

    def _effective_size(self, level: float) -> float | Floats:
        return self.evidence.kish if self.target == "table" else effective_size(self.evidence, level)

    def _score(self, factor: float, size: float | Floats, rows: slice) -> Floats:
        own, other = (values[rows] for values in self.channels.conditional_variances)
        sampling = 1.0 if self.target == "population" else 0.0
        centre = self._unbiased[rows]
        return intervals.within_unit(*intervals.score(centre, own, other, sampling, size, factor), 1 + np.abs(centre))

    def _chebyshev(self, level: float, rows: slice) -> Floats:
        factor = intervals.chebyshev_factor(level)
        if self.evidence.survey is not None:
            raise EstimationError(
                "chebyshev intervals are rigorous only when people are sampled independently; with survey weights, "
                "strata or clusters use wald, wilson or clopper-pearson"
            )
        if isinstance(self.channels, Channels) and self.channels.only_together:
            raise EstimationError(
                "chebyshev intervals need designs that each tell all values apart; use likelihood-ratio or wald"
            )
        if self.evidence.weights is None:
            return self._score(factor, float(self.n), rows)
        # Given the table: the squared weights may sit on any truth, so the larger of the two variances counts.
        worst = np.maximum(*(values[rows] for values in self.channels.conditional_variances))
        centre = self._unbiased[rows]
        reach = factor * np.sqrt(worst / self.evidence.kish)
        return intervals.within_unit(centre - reach, centre + reach, 1 + np.abs(centre))

    def totals(self) -> Totals:
        """How many people have each value.

        With survey weights the Horvitz–Thompson totals ``Σ w_i φ_i`` of the population; without, n times the
        frequencies, the number among those who reported.
        """
        from discreet.estimate.totals import Totals

        survey = self.evidence.survey
        horvitz_thompson = survey is not None and self.evidence.weights is not None and self.correction is not None
        return Totals(self.evidence.total * self.estimate, self, survey if horvitz_thompson else None)

    def summary(self, level: float = 0.95, method: str | None = None) -> str:
        """A table to read: value, estimate, standard error, interval, and the notes."""
        shown = min(self.estimate.size, display.SHOWN)
        chosen = self.default_interval if method is None else method
        bounds = self._interval(level, method, slice(0, shown))
        gone = np.isnan(bounds[:, 0]) & (self.correction is not None)
        header = ["value", "estimate", "std. error", f"{display.percent(level)} interval ({chosen})"]
        lines = [
            [
                display.label_text(self.channels.label(code)),
                display.number(self.estimate[code]),
                display.number(self.std_error[code]),
                display.ends(bounds[code, 0], bounds[code, 1], empty=bool(gone[code])),
            ]
            for code in range(shown)
        ]
        left_out = self.estimate.size - shown
        return display.page(display.aligned(header, lines), self.heading(), left_out, "values", self.notes)

    def heading(self) -> str:
        """What was estimated, from what."""
        what = f'Frequencies of "{self.column}"' if self.column else "Frequencies"
        how = "maximum likelihood" if self.method == "mle" else "unbiased"
        whom = display.of_whom(self.target)
        return f"{what} {whom}: {how}, n = {self.n:,}"

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        return f"<{self.heading()}, {self.estimate.size:,} values>"

    def to_dict(self, level: float = 0.95, method: str | None = None) -> dict[str, Any]:
        """Plain data, ready for JSON: one list per quantity, in code order."""
        bounds = self.interval(level, method)
        return {
            "kind": "frequencies",
            "column": self.column,
            "n": self.n,
            "method": self.method,
            "target": self.target,
            "labels": display.plain(list(self.labels)),
            "estimate": display.plain(self.estimate),
            "std_error": display.plain(self.std_error),
            "interval": {
                "level": level,
                "method": self.default_interval if method is None else method,
                "low": display.plain(bounds[:, 0]),
                "high": display.plain(bounds[:, 1]),
                "empty": display.plain(self.empty(level, method)),
            },
            "notes": list(self.notes),
        }


def frozen(values: Floats) -> Floats:
    """The same numbers, never to change."""
    values = np.asarray(values)
    values.flags.writeable = False
    return values
