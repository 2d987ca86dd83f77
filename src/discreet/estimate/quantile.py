"""Quantiles of a column."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet import arguments
from discreet.arguments import Floats
from discreet.blocks import NumericBlock
from discreet.errors import EstimationError, NotIdentifiedError, ReleaseError
from discreet.estimate import display
from discreet.estimate.box_distribution import BoxDistribution, BoxThresholds
from discreet.estimate.channels import Channels
from discreet.estimate.collecting import collect, group_names, left_out_note, survey_columns
from discreet.estimate.columns import ArrayColumn, Column, ReleaseColumn
from discreet.estimate.frequencies import frequencies
from discreet.estimate.frequency_distribution import frequency_distribution
from discreet.estimate.frequency_estimator import estimate_from
from discreet.estimate.identified import FrequencyBounds, GroupedBounds, Range, Ranges
from discreet.estimate.passes import FarRows, Remembered, summed
from discreet.estimate.quantile_result import Quantiles, quantiles
from discreet.estimate.rows import Batch, Rows, is_release
from discreet.estimate.scored_column import NumberColumn, as_numbers
from discreet.estimate.survey import Roles
from discreet.estimate.value_numbers import NOBODY_KNOWN, value_names, value_numbers
from discreet.mechanisms import GeneralizedResponse, RecordMechanism
from discreet.mechanisms.laplace import ZeroInflatedLaplace

Aside = Mapping[str, Any]
#: A column, and nothing about its rows.
NOTHING: Aside = {"weights": None, "strata": None, "clusters": None}


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
    cannot be told from the quantile (Woodruff 1952; :mod:`discreet.estimate.woodruff`). The quantile is one of the
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
    release = reports if is_release(reports) else None
    given = {"weights": weights, "strata": strata, "clusters": clusters, "fpc": fpc}
    aside = survey_columns(release, **given, groups=by)
    kind = _kind(reports, mechanism)
    if not isinstance(kind, str):
        return _of_box(reports, mechanism, kind, p, target, aside)
    if kind == "public":
        return _of_public(reports, mechanism, p, target, aside)
    column: ArrayColumn | ReleaseColumn
    if release is not None:
        if designs is not None or labels is not None:
            raise EstimationError("designs and labels of a release come from its manifest")
        column = ReleaseColumn(release, mechanism)
        channels, total, name = column.channels, int(release.rows), column.column
    else:
        channels = Channels.of(mechanism, labels)
        column = ArrayColumn(reports, channels, designs)
        total, name = column.codes.size, None
    numbers = value_numbers(channels.labels, channels.truths, positions, name)
    try:
        _ = channels.inverse
    except NotIdentifiedError:
        more: dict[str, Any] = {"by": by, "designs": designs, "labels": labels, "target": target}
        bounds: FrequencyBounds | GroupedBounds = frequencies(reports, mechanism, **given, **more, method="bounds")
        return bounds.quantile(p, positions=positions)
    names = value_names(channels.labels, positions)
    return _of_list(release, total, column, channels, numbers, p, target, aside, name, names)


def _kind(reports: Any, mechanism: Any) -> ZeroInflatedLaplace | str:
    """The noise of a box, "public" for numbers that were not randomised, else "listed"."""
    if not is_release(reports):
        if isinstance(mechanism, str):
            raise EstimationError("a column name needs a release; for reports give the mechanism that randomised them")
        if isinstance(mechanism, RecordMechanism):
            return arguments.instance(mechanism, ZeroInflatedLaplace, "mechanism", EstimationError)
        return "public" if mechanism is None else "listed"
    if not isinstance(mechanism, str):
        raise EstimationError('name a column of the release: quantile(release, "column", p)')
    try:
        block = reports.block(mechanism).of_column(mechanism)
    except ReleaseError:
        if mechanism not in reports.columns:
            raise
        return "public"
    return block.mechanism if isinstance(block, NumericBlock) else "listed"


def _of_list(
    release: Any,
    total: int,
    column: Column,
    channels: Channels,
    numbers: Floats,
    p: float,
    target: str,
    aside: Aside,
    name: str | None,
    names: Mapping[float, Any],
    *,
    listed: bool = True,
) -> Quantiles:
    """Of a column with a list of values, through the frequencies of every group."""
    evidence, left_out = collect(release, total, [column], target, **aside)
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
        column=name,
        distributions=tuple(frequency_distribution(part, numbers, p, listed=listed) for _, part in parts),
        groups=tuple(label for label, _ in parts) if aside["groups"] is not None else (),
        by=group_names(aside["groups"], release),
        n=np.array([part.n for _, part in parts]),
        degrees_of_freedom=np.array([part.spread.degrees_of_freedom for _, part in parts]),
        target=target,
        clustered=aside["clusters"] is not None,
        notes=(*left_out_note(left_out), *getattr(column, "value_notes", ()), *told),
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


def _of_public(reports: Any, name: Any, p: float, target: str, aside: Aside) -> Quantiles:
    """Of numbers that were not randomised: their own list of values, told truthfully."""
    if is_release(reports):
        column, total = NumberColumn(name), int(reports.rows)
        distinct = summed(Rows(reports, total, [column], **NOTHING).source(), _different).values
    else:
        column = NumberColumn(None, as_numbers(reports, "reports"))
        assert column.values is not None
        total, distinct = column.values.size, np.unique(column.values)
    distinct = distinct[~np.isnan(distinct)]
    if not distinct.size:
        raise EstimationError("there are no reports to estimate from (n = 0)")
    numbers = np.append(distinct, np.nan) if distinct.size == 1 else distinct  # a channel has two values at least
    channels = Channels.of(GeneralizedResponse.from_weights(numbers.size, 1, 0))
    coded, release = CodedNumbers(column, distinct), reports if is_release(reports) else None
    return _of_list(release, total, coded, channels, numbers, p, target, aside, column.name, {}, listed=False)


@dataclass(frozen=True, eq=False)
class _Values:
    """Different numbers, in order; those of different rows add up."""

    values: Floats

    def __add__(self, other: _Values) -> _Values:
        return _Values(np.union1d(self.values, other.values))


def _different(batches: Iterator[Batch]) -> _Values:
    return sum((_Values(np.unique(batch.codes)) for batch in batches), _Values(np.empty(0)))


def _of_box(reports: Any, name: Any, mechanism: ZeroInflatedLaplace, p: float, target: str, aside: Aside) -> Quantiles:
    """Of one coordinate of zero-inflated Laplace noise."""
    if mechanism.dimension != 1:
        raise EstimationError(
            f"the mechanism has {mechanism.dimension} coordinates and a quantile is of one: give "
            "reports[:, j] and mechanism.coordinates([j])"
        )
    if is_release(reports):
        release, column, total = reports, NumberColumn(name), int(reports.rows)
    else:
        flat = np.asarray(reports)[:, 0] if np.ndim(reports) == 2 and np.shape(reports)[1] == 1 else reports
        release, column = None, NumberColumn(None, as_numbers(flat, "reports"))
        assert column.values is not None
        total = column.values.size
    rows = Rows(release, total, [column], **aside).source()
    roles = Roles.of(aside)
    thresholds = BoxThresholds(rows if isinstance(rows, FarRows) else Remembered(rows), mechanism, roles, target, p)
    first = thresholds.at(0)
    return quantiles(
        p=p,
        column=column.name,
        distributions=tuple(BoxDistribution(thresholds=thresholds, group=g) for g in range(len(first.labels))),
        groups=tuple(first.labels) if aside["groups"] is not None else (),
        by=group_names(aside["groups"], release),
        n=first.n,
        degrees_of_freedom=first.degrees_of_freedom,
        target=target,
        clustered=aside["clusters"] is not None,
        notes=(*left_out_note(thresholds.left_out), *roles.notes),
        names={},
    )
