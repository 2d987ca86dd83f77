"""Quantiles of a column."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet import arguments
from discreet.arguments import Floats
from discreet.errors import EstimationError, NotIdentifiedError
from discreet.estimate.bounds import Range, Ranges, bounds_of
from discreet.estimate.channels.channel import Channels
from discreet.estimate.channels.value_numbers import NOBODY_KNOWN, value_names, value_numbers
from discreet.estimate.data.columns import NumberColumn
from discreet.estimate.data.map_reduce import FarRows, Remembered, summed
from discreet.estimate.data.rows import Batch
from discreet.estimate.data.source import ListedSource, NumberSource, column_source
from discreet.estimate.data.survey_design import SurveyDesign, group_names, left_out_note
from discreet.estimate.proportions.box_distribution import BoxDistribution, BoxThresholds
from discreet.estimate.proportions.estimator import estimate_from
from discreet.estimate.proportions.functionals import frequency_distribution
from discreet.estimate.proportions.quantile_result import Quantiles, quantiles
from discreet.estimate.reporting import display
from discreet.estimate.sampling.report_totals import collect
from discreet.mechanisms import GeneralizedResponse


def quantile(
    reports: Any,
    mechanism: Any = None,
    p: float = 0.5,
    *,
    by: Any = None,
    weights: Any = None,
    strata: Any = None,
    clusters: Any = None,
    positions: ArrayLike | None = None,
    designs: Any = None,
    labels: Any = None,
    target: str = "population",
    fpc: Any = None,
) -> Quantiles | Range | Ranges:
    """A quantile of a column: the smallest value that at least the share p of people do not exceed.

    The estimated distribution function is inverted, and so are tests about it: the interval holds the values that
    cannot be told from the quantile (Woodruff 1952; :mod:`discreet.estimate.intervals.woodruff`). The quantile is one
    of the
    values. Where these are so far apart that the error is not above their steps, the interval holds few of them and
    covers in more than the level says, up to 100 %: the distribution function jumps over p, and no shorter list of
    values would do.

    Parameters
    ----------
    reports, mechanism
        As for :func:`discreet.estimate.mean`: ``quantile(release, "hours", 0.9)``.
    p : float
        The share, strictly between 0 and 1; one half is the median.
    by, weights, strata, clusters, positions, designs, labels, target, fpc
        As for :func:`discreet.estimate.mean`.

    Returns
    -------
    Quantiles
        Or the :class:`Range` of the quantile where the channel does not tell all values apart, with groups one for each
        in :class:`Ranges`.

    Examples
    --------
    >>> from discreet.mechanisms import GeneralizedResponse
    >>> reports = [0] * 230 + [1] * 300 + [2] * 470
    >>> median = quantile(reports, GeneralizedResponse(3, 2.0), 0.5, labels=[0, 10, 20])
    >>> float(median), median.interval()
    (20.0, array([[10., 20.]]))
    """
    p = arguments.number(p, "p, the share of a quantile,", EstimationError, above=0, below=1)
    arguments.choice(target, "target", ("population", "table"), EstimationError)
    given = {"weights": weights, "strata": strata, "clusters": clusters, "fpc": fpc, "by": by}
    source = column_source(reports, mechanism, designs, labels, "quantile")
    design = source.survey(target, **given)
    if isinstance(source, NumberSource):
        return (_of_public if source.mechanism is None else _of_box)(source, p, design)
    channels, name = source.channels, source.name
    numbers = value_numbers(channels.labels, channels.truths, positions, name)
    try:
        _ = channels.inverse
    except NotIdentifiedError:
        return bounds_of(source, design).quantile(p)
    return _of_list(source, numbers, p, design, value_names(channels.labels))


def _of_list(
    source: ListedSource,
    numbers: Floats,
    p: float,
    design: SurveyDesign,
    names: Mapping[float, Any],
    *,
    listed: bool = True,
) -> Quantiles:
    """Of a column with a list of values, through the frequencies of every group."""
    evidence, left_out = collect(source, design)
    channels, target = source.channels, design.target
    parts = [(label, estimate_from(part, channels, target=target)) for label, part in evidence if part.n]
    if not parts:
        raise EstimationError("there are no reports to estimate from (n = 0)")
    told = dict.fromkeys(note for _, part in evidence for note in part.notes)  # each once, whatever the groups
    if len(parts) > 1:  # a group of nobody with a number does not keep the others from having theirs
        known = [float(part.estimate[~np.isnan(numbers)].sum()) > 0 for _, part in parts]
        lost = [display.label_text(label) for (label, _), kept in zip(parts, known, strict=True) if not kept]
        if lost and len(lost) < len(parts):
            told[f"groups left out, since {NOBODY_KNOWN}: {', '.join(lost[: display.SHOWN])}"] = None
            parts = [one for one, kept in zip(parts, known, strict=True) if kept]
    return quantiles(
        p=p,
        column=source.name,
        distributions=tuple(frequency_distribution(part, numbers, p, listed=listed) for _, part in parts),
        groups=tuple(label for label, _ in parts) if design.groups is not None else (),
        by=group_names(design.groups, source.release),
        n=np.array([part.n for _, part in parts]),
        degrees_of_freedom=np.array([part.spread.degrees_of_freedom for _, part in parts]),
        target=target,
        clustered=design.clusters is not None,
        notes=(*left_out_note(left_out), *source.notes, *told),
        names=names,
    )


class CodedNumbers(NumberColumn):
    """A column of numbers, each coded by its place among those that occur."""

    def __init__(self, numbers: NumberColumn, distinct: Floats) -> None:
        super().__init__(numbers.name, numbers.values)
        self._distinct = distinct
        self.reports = max(distinct.size, 2)

    def encode(self, read: Callable[[str], Any], rows: slice) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
        """Codes of these rows, and which are missing."""
        numbers, missing = super().encode(read, rows)
        return np.searchsorted(self._distinct, np.nan_to_num(numbers, nan=self._distinct[0])), missing


def _of_public(source: NumberSource, p: float, design: SurveyDesign) -> Quantiles:
    """Of numbers that were not randomised: their own list of values, told truthfully."""
    column = source.readers[0]
    distinct = summed(source.rows(SurveyDesign()).source(), _different).values
    distinct = distinct[~np.isnan(distinct)]
    if not distinct.size:
        raise EstimationError("there are no reports to estimate from (n = 0)")
    numbers = np.append(distinct, np.nan) if distinct.size == 1 else distinct  # a channel has two values at least
    channels = Channels.of(GeneralizedResponse.from_weights(numbers.size, 1, 0))
    rows = {"release": source.release, "total": source.total, "name": source.name}
    coded = ListedSource(**rows, readers=[CodedNumbers(column, distinct)], channels=channels)
    return _of_list(coded, numbers, p, design, {}, listed=False)


@dataclass(frozen=True, eq=False)
class _Values:
    """Different numbers, in order; those of different rows add up."""

    values: Floats

    def __add__(self, other: _Values) -> _Values:
        return _Values(np.union1d(self.values, other.values))


def _different(batches: Iterator[Batch]) -> _Values:
    return sum((_Values(np.unique(batch.codes)) for batch in batches), _Values(np.empty(0)))


def _of_box(source: NumberSource, p: float, design: SurveyDesign) -> Quantiles:
    """Of one coordinate of zero-inflated Laplace noise."""
    assert source.mechanism is not None
    rows, roles = source.rows(design).source(), design.roles
    kept = rows if isinstance(rows, FarRows) else Remembered(rows)
    thresholds = BoxThresholds(kept, source.mechanism, roles, design.target, p)
    first = thresholds.at(0)
    return quantiles(
        p=p,
        column=source.name,
        distributions=tuple(BoxDistribution(thresholds=thresholds, group=g) for g in range(len(first.labels))),
        groups=tuple(first.labels) if design.groups is not None else (),
        by=group_names(design.groups, source.release),
        n=first.n,
        degrees_of_freedom=first.degrees_of_freedom,
        target=design.target,
        clustered=design.clusters is not None,
        notes=(*left_out_note(thresholds.left_out), *roles.notes),
        names={},
    )
