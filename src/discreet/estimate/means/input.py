"""A column ready for its mean: where its rows come from, and the score of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import Floats
from discreet.blocks import Block, RoundedBlock
from discreet.domains import WithBlank
from discreet.errors import EstimationError
from discreet.estimate.channels.channel import Channels
from discreet.estimate.channels.debiased_scores import FiniteScores, PublicScores, Scores
from discreet.estimate.channels.value_numbers import place_notes, value_names, value_numbers
from discreet.estimate.data.map_reduce import FarRows, summed
from discreet.estimate.data.rows import Batch
from discreet.estimate.data.source import ListedSource, Source, column_source
from discreet.estimate.data.survey_design import Roles, SurveyDesign, left_out_note
from discreet.estimate.means.box_scores import BoxScores
from discreet.estimate.sampling.score_means import ScoreMeans, ScoreSums

Function = Callable[[Any], Any]


@dataclass(frozen=True, kw_only=True)
class ScoredColumn:
    """One column: the rows to read, and the score of each."""

    source: Source
    scores: Scores
    asked_share: float = 1.0


def scored_column(
    reports: Any, mechanism: Any, designs: Any, labels: Any, positions: Any, function: Function | None, what: str
) -> ScoredColumn:
    """The scores of a column, by what kind of column it is.

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
    source = column_source(reports, mechanism, designs, labels, what)
    if isinstance(source, ListedSource):
        scores = _finite_scores(source.channels, positions, function, source.name, source.block)
        share = 1.0 if source.block is None else source.block.asked_share
        return ScoredColumn(source=source, scores=scores, asked_share=share)
    if positions is not None:
        raise EstimationError("positions are for columns with a list of values; this one holds numbers")
    if source.mechanism is None:
        return ScoredColumn(source=source, scores=PublicScores(_checked(function), two_valued=source.boolean))
    return ScoredColumn(source=source, scores=BoxScores(source.mechanism, _checked(function)))


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


def score_means(column: ScoredColumn, design: SurveyDesign) -> tuple[ScoreMeans, tuple[str, ...]]:
    """Read all rows: the means of their scores by group, and what a reader should know."""
    rows, scores, roles = column.source.rows(design).source(), column.scores, design.roles
    if isinstance(scores, PublicScores) and isinstance(rows, FarRows):
        scores.centre_at(summed(rows, _average))
    found = summed(rows, _Scoring(scores, roles, design.target))
    notes = () if design.target == "table" else roles.notes
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
        needed = self.target == "table" or self.roles.fpc or self.roles.rows_per_person > 1
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
