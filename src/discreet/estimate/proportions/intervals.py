"""Intervals for frequencies: which method fits which design, and what each makes of the reports.

The formulas are in :mod:`~discreet.estimate.intervals.wilson`, :mod:`~discreet.estimate.intervals.clopper_pearson` and
:mod:`~discreet.estimate.channels.likelihood_intervals`; here they meet the evidence.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.channels.channel import Channels
from discreet.estimate.channels.likelihood_intervals import MAX_RESTRICTED, likelihood_ratios, scores
from discreet.estimate.channels.moments import refuse_large
from discreet.estimate.intervals import anytime, contamination, levels
from discreet.estimate.intervals.clopper_pearson import clopper_pearson, through_line
from discreet.estimate.intervals.wilson import chebyshev_factor, variance_at, wilson
from discreet.estimate.sampling.weighted_counts import People, few_degrees

if TYPE_CHECKING:
    from discreet.estimate.proportions.result import Frequencies


def default_method(result: Frequencies) -> str:
    """The method that is used unless another is named."""
    if result.correction is None:
        return "wald"
    several = isinstance(result.channels, Channels) and len(result.channels.mechanisms) > 1
    if result.channels.line is not None or (several and result.method == "unbiased" and _why_no_wilson(result) is None):
        return "wilson"
    # With absent values beside it the likelihood ratio of a frequency is not χ²: 83 % in the worst case measured.
    best = "likelihood-ratio" if result.estimate.size == 2 else "score"
    return best if result.method == "mle" and _why_not(result, best) is None else "wald"


def frequency_interval(result: Frequencies, level: float, method: str | None, rows: slice) -> Floats:
    """Intervals for some of the values; the methods are described at ``Frequencies.interval``."""
    found = _as_reported(result, level, method, rows)
    return _widened(result, found, result.contamination, "everyone", rows) if result.contamination else found


def _as_reported(result: Frequencies, level: float, method: str | None, rows: slice) -> Floats:
    """Intervals from the reports as they are."""
    level = levels.checked_level(level)
    method = levels.checked_method(result.default_interval if method is None else method)
    if result.correction is None:
        return np.full((result.estimate[rows].size, 2), np.nan)
    line = result.channels.line
    if method == "simultaneous":
        free = 1 if result.estimate.size == 2 else result.estimate.size  # two values: one determines the other
        level = 1 - (1 - level) / free
        method = result.default_interval if line is None else "clopper-pearson"
    if method == "likelihood-ratio" or (method == "score" and line is None):
        return _restricted(result, level, method, rows)
    if method == "wald":
        quantile = levels.two_sided_quantile(level, result.spread.degrees_of_freedom)
        return levels.wald(result.estimate[rows], result.std_error[rows], quantile)
    if method == "chebyshev":
        return _chebyshev(result, level, rows)
    if method.startswith("anytime"):
        return _anytime(result, level, rows, rigorous=method == "anytime-rigorous")
    if method in ("wilson", "score"):
        if reason := _why_no_wilson(result):
            raise EstimationError(f"{method} intervals {reason}")
        return _wilson(result, level, rows)
    if line is None:
        raise EstimationError(
            f"{method} intervals need a design in which each frequency depends on the share of one report; use wilson"
        )
    return _clopper_pearson(result, level, line, rows)


def _clopper_pearson(result: Frequencies, level: float, line: tuple[Floats, Floats], rows: slice) -> Floats:
    evidence, slope, offset = result.evidence, line[0][rows], line[1][rows]
    exact = evidence.survey is None and evidence.weights is None
    size: float | Floats = float(result.n)
    if not exact:
        degrees = result.spread.degrees_of_freedom
        size = _effective_size(result)[rows] * (1.0 if math.isinf(degrees) else few_degrees(level, result.n, degrees))
    counts = evidence.counts[rows].astype(float) if exact else evidence.shares[rows] * size
    low, high = clopper_pearson(counts, size, level)
    return levels.within_unit(*through_line(low, high, slope, offset), np.abs(slope) + np.abs(offset))


def _why_no_wilson(result: Frequencies) -> str | None:
    """Why there is no interval of Wilson's; None where there is one."""
    if isinstance(result.channels, Channels) and result.channels.only_together:
        return "need designs that each tell all values apart; use likelihood-ratio or wald"
    return None


def _why_not(result: Frequencies, method: str) -> str | None:
    """Why there is no interval of this method by restricted fits; None where there is one."""
    if not isinstance(result.channels, Channels):
        return "are for single columns; for the cells of a table use wilson or wald"
    if result.evidence.survey is not None or result.evidence.weights is not None:
        return "are for simple random samples; with survey weights, strata or clusters use wilson or wald"
    if method == "likelihood-ratio" and result.target == "table":
        return "need people who are a sample: given the table there is no likelihood; use score or wald"
    if result.channels.line is None and result.channels.truths > MAX_RESTRICTED:
        return f"are limited to {MAX_RESTRICTED} values for this kind of design; use wald or chebyshev"
    if method == "score" and result.method == "unbiased" and result.channels.only_together:
        return 'of designs that tell the values apart only together are for method="mle"; use wald'
    return None


def _restricted(result: Frequencies, level: float, method: str, rows: slice) -> Floats:
    """Intervals that fit all other frequencies anew for every value of the one in question."""
    reason = _why_not(result, method)
    if reason is not None:
        raise EstimationError(f"{method} intervals {reason}")
    channels = result.channels
    assert isinstance(channels, Channels)
    quantile = levels.two_sided_quantile(level)
    counts = result.evidence.counts.astype(float)
    profile = channels.profile(counts)
    codes = np.arange(result.estimate.size)[rows]
    if method == "likelihood-ratio":
        best = result.estimate if result.method == "mle" else channels.fit(counts).frequencies
        return likelihood_ratios(profile, codes, best, result.std_error, quantile)
    own = channels.inverse.as_matrix() if result.method == "unbiased" else None
    of_the_table = result.target == "table"
    return scores(profile, codes, result.estimate, result.std_error, quantile, own, of_the_table=of_the_table)


def _effective_size(result: Frequencies) -> Floats:
    """How large a simple random sample under one design would say as much about every frequency."""
    evidence, channels = result.evidence, result.channels
    if evidence.survey is None and evidence.weights is None and len(channels.mechanisms) == 1:
        return np.full(result.estimate.shape, float(result.n))
    own, other = _conditional_variances(result)
    one_answer = variance_at(result.unbiased, own, other, _sampling(result))
    # Of more than two values the variances at the others are known to be alike where each is a line in one share.
    least = np.minimum(own, other) if channels.line is not None or channels.truths == 2 else 0.0
    return People.of(evidence, result.target).effective_size(
        result.spread.variances(channels.inverse), one_answer, least
    )


def _conditional_variances(result: Frequencies) -> tuple[Floats, Floats]:
    """Randomisation variances of one debiased answer; of several designs the average over the rows."""
    if not isinstance(result.channels, Channels):
        return result.channels.conditional_variances
    return result.channels.average_variances(result.evidence.squares)


def _sampling(result: Frequencies) -> float:
    """Whether people are a sample, and their sampling counts."""
    return 1.0 if result.target == "population" else 0.0


def wilson_of_values(result: Frequencies, codes: Any, factors: float | Floats) -> tuple[Floats, Floats]:
    """The ends of Wilson's intervals of some values, one factor for each, not held to [0, 1]."""
    own, other = (values[codes] for values in _conditional_variances(result))
    return wilson(result.unbiased[codes], own, other, _sampling(result), _effective_size(result)[codes], factors)


def _wilson(result: Frequencies, level: float, rows: slice) -> Floats:
    """Wilson's interval; of a survey with the quantile of Student's t."""
    factor = levels.two_sided_quantile(level, result.spread.degrees_of_freedom)
    return levels.within_unit(*wilson_of_values(result, rows, factor), 1 + np.abs(result.unbiased[rows]))


def _anytime(result: Frequencies, level: float, rows: slice, *, rigorous: bool) -> Floats:
    """A confidence sequence, at the number of reports that there are now."""
    weights = _one_channel(result, "anytime intervals")[0]
    centre, n = result.unbiased[rows], result.n
    if rigorous:
        reach = anytime.reach(n, anytime.bounded_deviation(weights)[rows], level)
        ends = centre - reach, centre + reach
    else:
        ends = wilson_of_values(result, rows, anytime.factor(n, level))
    return levels.within_unit(*ends, 1 + np.abs(centre))


def contaminated_interval(result: Frequencies, share: float, of: str, level: float, method: str | None) -> Floats:
    """Intervals that hold although a share of the reports was made up; see ``Frequencies.contaminated``."""
    share = contamination.checked_share(share)
    found = _as_reported(result, level, method, slice(None))
    return _widened(result, found, share, of, slice(None))


def _widened(result: Frequencies, found: Floats, share: float, of: str, rows: slice) -> Floats:
    weights = _one_channel(result, "intervals under contamination")[0][rows]
    ends = contamination.widened(found[:, 0], found[:, 1], weights, share, of)
    return levels.within_unit(*ends, 1 + np.abs(weights).max(axis=1))


def suspected(result: Frequencies, share: float) -> Frequencies:
    """The same result, all of whose intervals hold although this share of the reports was made up."""
    if share == 0:
        return result
    _one_channel(result, "intervals under contamination")
    note = (
        f"intervals allow for {share:.4g} of the reports being made up; standard errors are those of the reports as "
        "they are"
    )
    return replace(result, contamination=share, notes=(*result.notes, note))


def _one_channel(result: Frequencies, what: str) -> tuple[Floats, Floats]:
    """What every report counts for every value, and the channel, of one design and a simple random sample."""
    if not isinstance(result.channels, Channels) or len(result.channels.mechanisms) > 1:
        raise EstimationError(f"{what} are for single columns that were asked under one design")
    if result.evidence.survey is not None or result.evidence.weights is not None:
        raise EstimationError(f"{what} are for simple random samples, without survey weights, strata or clusters")
    refuse_large(max(result.channels.mechanisms[0].shape))
    return result.channels.inverse.as_matrix(), result.channels.mechanisms[0].matrix()


def _chebyshev(result: Frequencies, level: float, rows: slice) -> Floats:
    factor = chebyshev_factor(level)
    if result.evidence.survey is not None:
        raise EstimationError(
            "chebyshev intervals are rigorous only when people are sampled independently; with survey weights, "
            "strata or clusters use wilson or wald"
        )
    if isinstance(result.channels, Channels) and result.channels.only_together:
        raise EstimationError(
            "chebyshev intervals need designs that each tell all values apart; use likelihood-ratio or wald"
        )
    if result.evidence.weights is None:
        return levels.within_unit(*wilson_of_values(result, rows, factor), 1 + np.abs(result.unbiased[rows]))
    # Given the table: the squared weights may sit on any truth, so the larger of the two variances counts.
    worst = np.maximum(*(values[rows] for values in result.channels.conditional_variances))
    centre = result.unbiased[rows]
    reach = factor * np.sqrt(worst / result.evidence.kish)
    return levels.within_unit(centre - reach, centre + reach, 1 + np.abs(centre))
