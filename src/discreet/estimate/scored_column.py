"""A column ready for its mean: where its rows come from, and the score of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet import arguments
from discreet import arrow_functions as pc
from discreet.arguments import Floats
from discreet.blocks import Block, NumericBlock, RoundedBlock
from discreet.domains import WithBlank
from discreet.domains.columns import as_arrow, without_dictionary
from discreet.errors import DomainError, EstimationError, ReleaseError
from discreet.estimate.channels import Channels
from discreet.estimate.collecting import left_out_note, survey_columns
from discreet.estimate.columns import ArrayColumn, Column, ReleaseColumn
from discreet.estimate.debiased_scores import BoxScores, FiniteScores, PublicScores, Scores
from discreet.estimate.linearised_means import ScoreMeans, ScoreSums
from discreet.estimate.passes import FarRows, summed
from discreet.estimate.rows import Batch, Rows, is_release
from discreet.estimate.survey import Roles
from discreet.estimate.value_numbers import place_notes, value_names, value_numbers
from discreet.mechanisms import RecordMechanism
from discreet.mechanisms.laplace import ZeroInflatedLaplace

Function = Callable[[Any], Any]


class NumberColumn:
    """Numbers in memory or in a release: a public column, or reports of one coordinate of a box."""

    reports = 1  # there are no codes

    def __init__(self, name: str | None, values: Floats | None = None) -> None:
        self.name, self.values = name, values

    @property
    def needs(self) -> list[str]:
        """The column of the release."""
        return [] if self.name is None else [self.name]

    def encode(self, read: Callable[[str], Any], rows: slice) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
        """The numbers of these rows, and which are missing."""
        numbers = (
            self.values[rows] if self.values is not None else as_numbers(read(str(self.name)), f'column "{self.name}"')
        )
        missing = np.isnan(numbers)
        return numbers, missing if missing.any() else None


def as_numbers(values: Any, what: str) -> Floats:
    """Entries as floats, nan where there is none; text that reads as numbers is taken, anything else refused."""
    try:
        array = without_dictionary(as_arrow(values))
        if pa.types.is_string(array.type) or pa.types.is_large_string(array.type):
            array = pc.if_else(pc.equal(array, ""), pa.scalar(None, array.type), array)
        if pa.types.is_boolean(array.type):
            array = array.cast(pa.int8())
        numbers = np.asarray(array.cast(pa.float64(), safe=False).fill_null(np.nan).to_numpy(zero_copy_only=False))
    except (DomainError, pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise EstimationError(f"{what} must hold numbers: other entries have no mean and no quantiles") from None
    if np.isinf(numbers).any():
        row = int(np.flatnonzero(np.isinf(numbers))[0])
        raise EstimationError(f"{what}: row {row} (counted from 0) must be a finite number")
    return numbers


@dataclass(frozen=True, kw_only=True)
class ScoredColumn:
    """One column: rows to read, scores, and what it is called."""

    release: Any
    total: int
    reader: Column
    scores: Scores
    name: str | None
    asked_share: float = 1.0


def scored_column(
    reports: Any, mechanism: Any, designs: Any, labels: Any, positions: Any, function: Function | None, what: str
) -> ScoredColumn:
    """Find out what kind of column it is.

    Parameters
    ----------
    reports, mechanism
        A release and the name of a column; or reports and what randomised them; or numbers and None.
    designs, labels
        For reports in memory, as for ``frequencies``.
    positions : array, optional
        One number per value of a column with a list of values.
    function : callable, optional
        The mean is that of this function.
    what : str
        The name of the calling function, for messages.
    """
    if is_release(reports):
        if not isinstance(mechanism, str):
            raise EstimationError(f'name a column of the release: {what}(release, "column")')
        if designs is not None or labels is not None:
            raise EstimationError("designs and labels of a release come from its manifest")
        return _of_release(reports, mechanism, positions, function)
    if reports is None:
        raise EstimationError(f"{what} needs reports, or a release and the name of a column")
    if isinstance(mechanism, str):
        raise EstimationError("a column name needs a release; for reports give the mechanism that randomised them")
    if isinstance(mechanism, RecordMechanism):
        mechanism = arguments.instance(mechanism, ZeroInflatedLaplace, "mechanism", EstimationError)
        return _numbers_in_memory(reports, mechanism, positions, function)
    if mechanism is None:
        return _numbers_in_memory(reports, mechanism, positions, function)
    channels = Channels.of(mechanism, labels)
    column = ArrayColumn(reports, channels, designs)
    scores = _finite_scores(channels, positions, function, None)
    return ScoredColumn(release=None, total=column.codes.size, reader=column, scores=scores, name=None)


def _numbers_in_memory(
    reports: Any, mechanism: ZeroInflatedLaplace | None, positions: Any, function: Function | None
) -> ScoredColumn:
    _refuse_positions(positions)
    if mechanism is not None and mechanism.dimension != 1:
        raise EstimationError(
            f"the mechanism has {mechanism.dimension} coordinates and a mean is of one: give "
            "reports[:, j] and mechanism.coordinates([j])"
        )
    if np.ndim(reports) == 2 and np.shape(reports)[1] == 1:
        reports = np.asarray(reports)[:, 0]
    numbers = as_numbers(reports, "reports")
    boolean = getattr(reports, "dtype", None) == np.bool_
    scores: Scores
    if mechanism is None:
        scores = PublicScores(_checked(function), two_valued=bool(boolean))
    else:
        scores = BoxScores(mechanism, _checked(function))
    return ScoredColumn(release=None, total=numbers.size, reader=NumberColumn(None, numbers), scores=scores, name=None)


def _of_release(release: Any, name: str, positions: Any, function: Function | None) -> ScoredColumn:
    total = int(release.rows)
    try:
        block = release.block(name).of_column(name)
    except ReleaseError:
        if name not in release.columns:
            raise
        _refuse_positions(positions)
        boolean = pa.types.is_boolean(release.schema.field(name).type)
        scores: Scores = PublicScores(_checked(function), two_valued=boolean)
        return ScoredColumn(release=release, total=total, reader=NumberColumn(name), scores=scores, name=name)
    if isinstance(block, NumericBlock):
        _refuse_positions(positions)
        scores = BoxScores(block.mechanism, _checked(function))
        return ScoredColumn(release=release, total=total, reader=NumberColumn(name), scores=scores, name=name)
    column = ReleaseColumn(release, name)
    scores = _finite_scores(column.channels, positions, function, name, block)
    return ScoredColumn(
        release=release, total=total, reader=column, scores=scores, name=name, asked_share=block.asked_share
    )


def _finite_scores(
    channels: Channels, positions: Any, function: Function | None, name: str | None, block: Block | None = None
) -> FiniteScores:
    notes = place_notes(channels.labels, positions) if function is None else ()
    if block is not None and (function is not None or positions is not None):
        notes = (*notes, *block.value_notes)
    rounding = block.rounding_variance if isinstance(block, RoundedBlock) else 0.0
    return FiniteScores(channels, numbers_of(channels, positions, function, name), notes, rounding)


def numbers_of(channels: Channels, positions: Any, function: Function | None, name: str | None) -> Floats:
    """One number per true value: its own, or that of the function; nan for a blank."""
    if function is None:
        return value_numbers(channels.labels, channels.truths, positions, name)
    values = _arguments(channels, positions, name)
    known = channels.truths - 1 if isinstance(channels.labels, WithBlank) else channels.truths
    out = np.full(channels.truths, np.nan)
    checked = _checked(function)
    assert checked is not None
    out[:known] = checked(values[:known])
    return out


def _arguments(channels: Channels, positions: Any, name: str | None) -> NDArray[Any]:
    """What a function is applied to: given positions, numbers, or labels where these are words."""
    labels = [channels.label(code) for code in range(channels.truths)]
    if positions is None and value_names(channels.labels, None):
        return np.array(labels, dtype=object)
    try:
        return value_numbers(channels.labels, channels.truths, positions, name)
    except EstimationError:
        if positions is not None:
            raise
        return np.array(labels, dtype=object)


def _checked(function: Function | None) -> Callable[[Floats], Floats] | None:
    """The function of a user, which must give one finite number for each."""
    if function is None:
        return None
    if not callable(function):
        raise EstimationError(f"the function of an expectation must be callable, not {type(function).__name__}")

    def applied(values: Floats) -> Floats:
        try:
            with np.errstate(all="ignore"):  # what is not finite is refused below
                found = np.asarray(function(values))
        except (TypeError, ValueError) as error:
            raise EstimationError(
                f"the function failed on an array of {'labels' if values.dtype == object else 'numbers'} "
                f"({type(error).__name__}): it must take an array of values and return one real number for each"
            ) from None
        if found.dtype.kind not in "biuf" or found.shape != np.shape(values):
            raise EstimationError("the function must take an array of values and return one real number for each")
        if not np.isfinite(found).all():
            raise EstimationError("the function must return finite numbers, of numbers in a box also outside it")
        return np.asarray(found, float)

    return applied


def _refuse_positions(positions: Any) -> None:
    if positions is not None:
        raise EstimationError("positions are for columns with a list of values; this one holds numbers")


def score_means(
    column: ScoredColumn, target: str, *, weights: Any, strata: Any, clusters: Any, by: Any, fpc: Any
) -> tuple[ScoreMeans, tuple[str, ...]]:
    """Read all rows: the means of their scores by group, and what a reader should know."""
    release = column.release
    aside = survey_columns(release, weights=weights, strata=strata, clusters=clusters, groups=by, fpc=fpc)
    rows, scores = Rows(release, column.total, [column.reader], **aside).source(), column.scores
    if isinstance(scores, PublicScores) and isinstance(rows, FarRows):
        scores.centre_at(summed(rows, _average))
    roles = Roles.of(aside)
    found = summed(rows, _Scoring(scores, roles, target))
    notes = () if target == "table" else roles.notes
    return found.sums.means(), (*left_out_note(found.sums.left_out), *found.notes, *notes)


@dataclass(frozen=True, eq=False)
class _Scored:
    """Sums of scores, and what a reader should know about them; two of them add up."""

    sums: ScoreSums
    notes: tuple[str, ...]

    def __add__(self, other: _Scored) -> _Scored:
        return _Scored(self.sums + other.sums, self.notes or other.notes)


@dataclass(frozen=True, eq=False)
class _Scoring:
    """The pass that adds up scores."""

    scores: Scores
    roles: Roles
    target: str

    def __call__(self, batches: Iterator[Batch]) -> _Scored:
        scores, sums = self.scores, ScoreSums(2, self.roles, self.target, self.scores.lost)
        needed = self.target == "table" or self.roles.fpc
        for batch in batches:
            if len(batch.codes):
                products = scores.products(batch.codes) if needed else None
                sums.add(batch, scores.of(batch.codes, batch.first_row), products)
        return _Scored(sums, scores.notes)


def _average(batches: Iterator[Batch]) -> Floats:
    """Number and sum of what is not missing: rows elsewhere must agree on where numbers are measured from."""
    found = np.zeros(2)
    for batch in batches:
        there = batch.codes[~np.isnan(batch.codes)]
        found += [there.size, there.sum()]
    return found
