"""Likelihood fits by formula on a release in which one column with finitely many answers was randomised."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from discreet.errors import Argument, EstimationError
from discreet.estimate.channels.channel import Channels
from discreet.estimate.data import rows as reader
from discreet.estimate.data.columns import ReleaseColumn
from discreet.estimate.data.map_reduce import Read, Source, remembered, rows_of
from discreet.estimate.formulas import Matrices, read_terms
from discreet.estimate.regressions.likelihood.answer_coding import AnswerCoding
from discreet.estimate.regressions.likelihood.binary import BinaryRegression
from discreet.estimate.regressions.likelihood.designs import channel_matrix
from discreet.estimate.regressions.likelihood.fit import fit_binary
from discreet.estimate.regressions.likelihood.links import link_named
from discreet.estimate.regressions.likelihood.multinomial import MultinomialRegression, fit_multinomial
from discreet.estimate.regressions.likelihood.multinomial_rows import ClassRows, class_rows
from discreet.estimate.regressions.likelihood.predictor import PredictorRegression, fit_predictor
from discreet.estimate.regressions.likelihood.rows import CHUNK, Rows
from discreet.estimate.regressions.likelihood.streaming import Batch, StreamRows
from discreet.estimate.regressions.request import OutcomeNumbers, Specification
from discreet.reading import Release


def yes_no_outcome(asked: Specification) -> BinaryRegression:
    """A randomised yes/no answer given public predictors."""
    column, matrices = ReleaseColumn(asked.release, asked.outcome), asked.matrices()
    source = _rows(asked, ReadLabels(asked.formula, asked.missing, matrices))
    fit = fit_binary(source, link_named(asked.link or "logit"), matrices.names, asked.penalty)
    return asked.finished(replace(fit, matrices=matrices, reporting=asked.reporting(column)), "binary")


def one_of_k_outcome(asked: Specification) -> MultinomialRegression:
    """A randomised one-of-k answer given public predictors."""
    if asked.link not in (None, "logit"):
        size = len(asked.values(asked.outcome))
        raise EstimationError(f"an outcome with {size} values is fitted with link logit only")
    column, matrices = ReleaseColumn(asked.release, asked.outcome), asked.matrices()
    source = _rows(asked, ReadClasses(asked.formula, asked.missing, matrices, asked.outcome))
    fit = fit_multinomial(source, _matrices(column.channels), matrices.names, _classes(asked, column))
    return asked.finished(replace(fit, matrices=matrices, reporting=asked.reporting(column)), "multinomial")


def randomised_predictor(asked: Specification) -> PredictorRegression:
    """A public outcome given public predictors and one randomised answer."""
    if not read_terms(asked.sides.predictors).intercept:
        raise EstimationError(
            "the likelihood of a randomised predictor has a model of its truth with the same terms, which "
            "needs the intercept; keep it, or use ",
            Argument('method="corrected"'),
        )
    family = asked.family
    if family == "auto":
        family = "linear" if asked.outcome_values is None else "binary"
    if family == "binary" and asked.link not in (None, "logit", "probit"):
        raise EstimationError(
            "a public yes/no outcome with a randomised predictor is fitted with link logit or probit, "
            f'not "{asked.link}"'
        )
    if family == "linear" and asked.link is not None:
        raise EstimationError(Argument("link"), " belongs to a yes/no outcome; a linear model has none")
    column, matrices = ReleaseColumn(asked.release, asked.randomised_predictors[0]), asked.matrices()
    outcome = asked.outcome_numbers(family)
    source = _rows(asked, ReadClasses(asked.formula, asked.missing, matrices, column.column, outcome))
    named = "gaussian" if family == "linear" else asked.link or "logit"
    values = pa.array(asked.values(column.column))
    coding = AnswerCoding.of_formula(asked.sides.predictors, column.column, values)
    fit = fit_predictor(source, matrices.names, _classes(asked, column), family=named, coding=coding)
    supposed = _supposed(column.column, family, blanks=bool(values.null_count))
    return asked.finished(replace(fit, matrices=matrices), family, *supposed)


def _supposed(column: str, family: str, *, blanks: bool) -> list[str]:
    """What the likelihood of a randomised predictor takes for granted."""
    errors = "errors to be normal with the same spread for everybody, and the " if family == "linear" else ""
    told = (
        f'the likelihood takes the {errors}true answers "{column}" to follow a logit on the other predictors; where '
        'that does not hold its intervals miss, and the method "corrected" does not need it'
    )
    without = (
        f'people whose true "{column}" is missing are in the model, with an effect of their own; the method '
        '"corrected" is about the others'
    )
    return [told, without] if blanks else [told]


def _rows(asked: Specification, read: Read) -> Source:
    """The rows of a release, kept from pass to pass where they are read here and few enough."""
    return remembered(rows_of(asked.release, read))


def labels_of_batch(batch: reader.Batch, matrices: Matrices, channels: Channels) -> Batch:
    """Rows as :func:`binary_regression` takes them."""
    return Batch(**_matrix(batch, matrices), **_reports(batch, channels))


@dataclass(frozen=True, eq=False)
class ReadLabels:
    """The rows of a release, or of a part of one, as :func:`binary_regression` takes them."""

    formula: str
    missing: Literal["error", "drop"]
    matrices: Matrices

    def __call__(self, part: Release, first_row: int) -> Iterator[Rows]:
        """Chunks of checked rows."""
        asked = Specification(self.formula, part, missing=self.missing)
        column = ReleaseColumn(part, asked.outcome)
        batches = asked.rows([column]).batches()
        stream = StreamRows(lambda: (labels_of_batch(batch, self.matrices, column.channels) for batch in batches))
        return (replace(rows, first_row=first_row + rows.first_row) for rows in stream.chunks())


@dataclass(frozen=True, eq=False)
class ReadClasses:
    """The rows of a release, or of a part of one, for a regression of, or on, a one-of-k answer.

    Attributes
    ----------
    formula, missing, matrices
    answer : str
        The randomised column.
    outcome : OutcomeNumbers, optional
        A public outcome, where the answer is a predictor.
    """

    formula: str
    missing: Literal["error", "drop"]
    matrices: Matrices
    answer: str
    outcome: OutcomeNumbers | None = None

    def __call__(self, part: Release, first_row: int) -> Iterator[ClassRows]:
        """Chunks of checked rows."""
        asked = Specification(self.formula, part, missing=self.missing)
        column = ReleaseColumn(part, self.answer)
        for batch in asked.rows([column], [] if self.outcome is None else [asked.outcome]).batches():
            made = None if self.outcome is None else self.outcome(columns_of_batch(batch))
            whole = {**_matrix(batch, self.matrices), **_reports(batch, column.channels), "outcome": made}
            for start in range(0, batch.codes.size, CHUNK):
                some = slice(start, start + CHUNK)
                own = {name: one[some] if isinstance(one, np.ndarray) else one for name, one in whole.items()}
                rows, _ = class_rows(**own, first_row=first_row)
                first_row += rows.size
                yield rows


def columns_of_batch(batch: reader.Batch) -> pa.Table:
    """The columns that were handed on; an empty formula has none, but still rows."""
    if batch.table is None:
        return pa.table({"row": np.zeros(batch.codes.size, np.int8)})
    return batch.table


def _matrix(batch: reader.Batch, matrices: Matrices) -> dict[str, Any]:
    return {"X": matrices.matrix(columns_of_batch(batch))}


def _reports(batch: reader.Batch, channels: Channels) -> dict[str, Any]:
    """Reports, and the design that each went through; codes of several designs stand side by side."""
    y: Any = batch.codes
    mechanism: Any = channels.mechanisms[0]
    designs = None
    if channels.names:
        designs = np.searchsorted(channels.offsets, y, side="right") - 1
        y, mechanism = y - channels.offsets[designs], dict(enumerate(channels.mechanisms))
    units = {"clusters": batch.clusters, "strata": batch.strata}
    plain = {name: None if one is None else one.to_numpy(zero_copy_only=False) for name, one in units.items()}
    return {"y": y, "mechanism": mechanism, "designs": designs, "weights": batch.weights, **plain}


def _matrices(channels: Channels) -> tuple[Any, ...]:
    """The channel of every design."""
    return tuple(channel_matrix(mechanism) for mechanism in channels.mechanisms)


def _classes(asked: Specification, column: ReleaseColumn) -> tuple[str, ...]:
    """Names of the classes of a one-of-k answer."""
    return tuple("(blank)" if label is None else str(label) for label in asked.values(column.column))
