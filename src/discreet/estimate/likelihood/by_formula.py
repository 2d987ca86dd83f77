"""Likelihood fits by formula on a release in which one column with finitely many answers was randomised."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from discreet.domains import FiniteDomain
from discreet.errors import EstimationError
from discreet.estimate import rows as reader
from discreet.estimate.channels import Channels
from discreet.estimate.columns import ReleaseColumn
from discreet.estimate.formulas import Matrices
from discreet.estimate.likelihood.binary import BinaryRegression
from discreet.estimate.likelihood.class_source import ClassStream
from discreet.estimate.likelihood.designs import channel_matrix
from discreet.estimate.likelihood.fit import fit_binary
from discreet.estimate.likelihood.links import link_named
from discreet.estimate.likelihood.multinomial import MultinomialRegression, fit_multinomial
from discreet.estimate.likelihood.multinomial_rows import ClassRows, class_rows
from discreet.estimate.likelihood.predictor import PredictorRegression, fit_predictor
from discreet.estimate.likelihood.rows import ArrayRows, Rows
from discreet.estimate.likelihood.streaming import Batch, StreamRows, binary_regression_batches
from discreet.estimate.likelihood.truth_given_report import Reporting
from discreet.estimate.passes import FarRows
from discreet.estimate.specification import Specification
from discreet.manifest import Release

#: Above this many rows a yes/no label is fitted batch by batch instead of in memory.
IN_MEMORY_ROWS = 2_000_000


def yes_no_outcome(asked: Specification) -> BinaryRegression:
    """A randomised yes/no answer given public predictors."""
    column, matrices = ReleaseColumn(asked.release, asked.outcome), asked.matrices()
    rows = asked.rows([column])
    link = asked.link or "logit"
    far = _far_labels(asked, matrices)
    if far is not None:
        fit = fit_binary(far, link_named(link), matrices.names)
        rows.left_out = asked.release.rows - fit.n
    elif asked.release.rows > IN_MEMORY_ROWS:
        fit = binary_regression_batches(
            lambda: (labels_of_batch(batch, matrices, column.channels) for batch in rows.batches()),
            link=link,
            names=matrices.names,
            penalty=asked.penalty,
        )
    else:
        held = labels_of_batch(reader.joined(rows.batches()), matrices, column.channels)
        fit = fit_binary(ArrayRows(held.checked()), link_named(link), matrices.names, asked.penalty)
    return asked.finished(replace(fit, matrices=matrices, reporting=_reporting(asked, column)), "binary", rows)


def one_of_k_outcome(asked: Specification) -> MultinomialRegression:
    """A randomised one-of-k answer given public predictors."""
    if asked.link not in (None, "logit"):
        size = len(asked.values(asked.outcome))
        raise EstimationError(f"an outcome with {size} values is fitted with link logit only")
    column, matrices = ReleaseColumn(asked.release, asked.outcome), asked.matrices()
    rows = asked.rows([column])
    source = _stream(rows, matrices, column.channels)
    fit = fit_multinomial(source, _matrices(column.channels), matrices.names, _classes(asked, column))
    return asked.finished(replace(fit, matrices=matrices, reporting=_reporting(asked, column)), "multinomial", rows)


def randomised_predictor(asked: Specification) -> PredictorRegression:
    """A public outcome given public predictors and one randomised answer."""
    family = asked.family
    if family == "auto":
        family = "linear" if asked.outcome_values is None else "binary"
    if family == "binary" and asked.link not in (None, "logit", "probit"):
        raise EstimationError(
            "a public yes/no outcome with a randomised predictor is fitted with link logit or probit, "
            f'not "{asked.link}"'
        )
    if family == "linear" and asked.link is not None:
        raise EstimationError("link belongs to a yes/no outcome; a linear model has none")
    column, matrices = ReleaseColumn(asked.release, asked.randomised_predictors[0]), asked.matrices()
    rows = asked.rows([column], [asked.outcome])
    source = _stream(rows, matrices, column.channels, lambda table: asked.public_outcome(table, family))
    named = "gaussian" if family == "linear" else asked.link or "logit"
    fit = fit_predictor(source, matrices.names, _classes(asked, column), family=named)
    answer = (column.column, tuple(asked.values(column.column)))
    return asked.finished(replace(fit, matrices=matrices, answer=answer), family, rows)


def labels_of_batch(batch: reader.Batch, matrices: Matrices, channels: Channels) -> Batch:
    """Rows as :func:`binary_regression` takes them."""
    return Batch(**_matrix(batch, matrices), **_reports(batch, channels))


def _far_labels(asked: Specification, matrices: Matrices) -> FarRows | None:
    """Rows whose sums are made where they lie, if they lie elsewhere and nothing needs all of them in one place."""
    engine, survey = getattr(asked.release, "engine", None), asked.release.survey
    far = engine is not None and not engine.keeps_order and bool(asked.release.manifest.files)
    if not far or asked.penalty is not None or survey.strata is not None or survey.cluster is not None:
        return None
    return FarRows(asked.release, ReadLabels(asked.formula, asked.missing, matrices))


@dataclass(frozen=True, eq=False)
class ReadLabels:
    """The rows of one part, as :func:`binary_regression` takes them."""

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


def _stream(
    rows: reader.Rows, matrices: Matrices, channels: Channels, outcome: Callable[[pa.Table], Any] | None = None
) -> ClassStream:
    """Rows of a regression of, or on, a one-of-k answer, read anew on each pass."""

    def read() -> Iterator[ClassRows]:
        first_row = 0
        for batch in rows.batches():
            made = None if outcome is None else outcome(columns_of_batch(batch))
            own = {**_matrix(batch, matrices), **_reports(batch, channels)}
            found, _ = class_rows(**own, outcome=made, first_row=first_row)
            first_row += found.size
            yield found

    return ClassStream(read)


def _matrices(channels: Channels) -> tuple[Any, ...]:
    """The channel of every design."""
    return tuple(channel_matrix(mechanism) for mechanism in channels.mechanisms)


def _classes(asked: Specification, column: ReleaseColumn) -> tuple[str, ...]:
    """Names of the classes of a one-of-k answer."""
    return tuple("(blank)" if label is None else str(label) for label in asked.values(column.column))


def _reporting(asked: Specification, column: ReleaseColumn) -> Reporting | None:
    """How the outcome was reported, where all rows share one design."""
    block, channels = asked.block(column.column), column.channels
    if block is None or len(channels.mechanisms) > 1:
        return None
    reports = block.reports_of(column.column)
    return (
        Reporting(column.column, reports, channel_matrix(channels.mechanisms[0]))
        if isinstance(reports, FiniteDomain)
        else None
    )
