"""Tables of two or three jointly randomised columns."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import arguments
from discreet.errors import EstimationError
from discreet.estimate.channels.joint import JointChannels
from discreet.estimate.data.columns import ArrayColumn, Column, ReleaseColumn
from discreet.estimate.data.rows import is_release
from discreet.estimate.data.source import Source
from discreet.estimate.data.survey_design import left_out_note
from discreet.estimate.proportions.estimator import estimate_from
from discreet.estimate.proportions.result import Frequencies
from discreet.estimate.sampling.report_totals import collect
from discreet.estimate.tables.cells import CellTable
from discreet.estimate.tables.independence import IndependenceTest
from discreet.estimate.tables.joint_independence import joint_independence_test
from discreet.mechanisms.joint import JointResponse, JointView


def joint_table(
    reports: Any,
    mechanism: Any,
    attributes: Sequence[int] = (),
    *,
    labels: Sequence[Any] = (),
    weights: Any = None,
    strata: Any = None,
    clusters: Any = None,
    target: str = "population",
    fpc: Any = None,
) -> JointTable:
    """The joint frequencies of two or three columns that were randomised together.

    ``F̂ = A p̂`` with A the inverse of the exact channel of these attributes, which is not a Kronecker product: errors
    of different attributes are correlated, and every covariance here knows it. Two ways to call it::

        joint_table(reports, mechanism, (0, 1, 2))
        joint_table(release, ["smokes", "region", "drinks"])

    Parameters
    ----------
    reports : array (n, k) of int, or Release
        Report codes of all attributes.
    mechanism : JointResponse, or list of str
        What randomised them; with a release, two or three columns of one joint block.
    attributes : sequence of int
        Two or three of them.
    labels : sequence of Domain or list, optional
        True values of each of these attributes.
    weights, strata, clusters, target, fpc
        As for :func:`discreet.estimate.frequencies`.
    """
    arguments.choice(target, "target", ("population", "table"), EstimationError)
    release: Any = None
    column: Column
    names: tuple[str | None, ...] = ()
    if is_release(reports):
        release, names = reports, tuple(mechanism)
        channels, column = _of_release(release, names)
        total = int(release.rows)
    else:
        channels, codes = _in_memory(reports, mechanism, attributes, labels)
        column, total = codes, len(codes.codes)
    source = Source(release=release, total=total, readers=[column])
    design = source.survey(target, weights=weights, strata=strata, clusters=clusters, fpc=fpc)
    evidence, left_out = collect(source, design)
    cells = estimate_from(evidence[0][1], channels, target=target, notes=left_out_note(left_out))
    return JointTable(cells=cells, channels=channels, names=names)


def _in_memory(
    reports: Any, mechanism: Any, attributes: Sequence[int], labels: Sequence[Any]
) -> tuple[JointChannels, ArrayColumn]:
    if not isinstance(mechanism, JointResponse):
        raise EstimationError(f"a joint response is needed, not {type(mechanism).__name__}")
    chosen = _two_or_three(attributes)
    labels = arguments.listed(labels, "labels", EstimationError)
    if labels and len(labels) != len(chosen):
        raise EstimationError(f"labels must be given for all {len(chosen)} attributes, not {len(labels)}")
    codes = arguments.array(reports, "reports", EstimationError)
    if codes.ndim != 2 or codes.shape[1] != len(mechanism.sizes):
        raise EstimationError(
            f"reports must be a table of {len(mechanism.sizes)} columns of codes, not of the shape {codes.shape}"
        )
    channels = JointChannels.of(mechanism, chosen, tuple(labels))
    columns = [ArrayColumn(codes[:, i], column) for i, column in zip(chosen, channels.columns, strict=True)]
    return channels, ArrayColumn(combine([column.codes for column in columns], channels.shape), channels.together)


def _of_release(release: Any, names: tuple[Any, ...]) -> tuple[JointChannels, CombinedColumn]:
    columns = [ReleaseColumn(release, str(name)) for name in _two_or_three(names)]
    views = [column.channels.mechanisms[0] for column in columns]
    first = views[0]
    if not all(isinstance(view, JointView) for view in views) or not isinstance(first, JointView):
        raise EstimationError("these columns were not randomised together; estimate.crosstab takes two of them")
    joint = [view for view in views if isinstance(view, JointView) and view.joint is first.joint]
    if len(joint) != len(views):
        raise EstimationError("these columns belong to different joint blocks; estimate.crosstab takes two of them")
    attributes = tuple(view.attributes[0] for view in joint)
    channels = JointChannels.of(first.joint, attributes, tuple(column.channels.labels for column in columns))
    return channels, CombinedColumn(columns, channels.shape)


def _two_or_three(chosen: Sequence[Any]) -> tuple[Any, ...]:
    named = arguments.listed(chosen, "attributes", EstimationError)
    if len(named) not in (2, 3) or any(one == other for i, one in enumerate(named) for other in named[:i]):
        raise EstimationError(f"a table of two or three different columns can be made, not of {len(named)}")
    return tuple(named)


class CombinedColumn:
    """Several columns of a release, read as one column of combined codes."""

    def __init__(self, columns: Sequence[ReleaseColumn], shape: tuple[int, ...]) -> None:
        self._columns = columns
        self._shape = shape

    @property
    def reports(self) -> int:
        """Number of combinations."""
        return math.prod(self._shape)

    @property
    def needs(self) -> list[str]:
        """All columns."""
        return [name for column in self._columns for name in column.needs]

    def encode(self, read: Callable[[str], Any], rows: slice) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
        """Combined codes, and rows in which any answer is missing."""
        parts = [column.encode(read, rows) for column in self._columns]
        masks = [mask for _, mask in parts if mask is not None]
        codes = combine([codes for codes, _ in parts], self._shape)
        return codes, np.logical_or.reduce(masks) if masks else None


def combine(codes: Sequence[Any], shape: tuple[int, ...]) -> Any:
    """Codes of several columns as one; codes out of range are refused, since they would mix up cells."""
    for position, (column, size) in enumerate(zip(codes, shape, strict=True)):
        if column.size and (int(column.min()) < 0 or int(column.max()) >= size):
            row = int(np.flatnonzero((column < 0) | (column >= size))[0])
            raise EstimationError(f"row {row} (counted from 0): report {position} is out of range")
    return np.ravel_multi_index(tuple(column.astype(np.int64) for column in codes), shape)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class JointTable(CellTable):
    """Joint frequencies of two or three columns. Made by :func:`joint_table` or ``estimate.crosstab``.

    Attributes
    ----------
    estimate, std_error : array (values of the first, of the second[, of the third])
    covariance : array (cells, cells), in row order
    """

    cells: Frequencies
    channels: JointChannels
    names: tuple[str | None, ...] = ()

    @property
    def labels(self) -> list[list[Any]]:
        """True values of each column."""
        return [[column.label(code) for code in range(column.truths)] for column in self.channels.columns]

    def chi_square(self) -> IndependenceTest:
        """Test whether the true values of two columns are independent; valid after joint randomisation."""
        if len(self.shape) != 2:
            raise EstimationError("independence is tested for two attributes")
        return self._of_the_population(lambda: joint_independence_test(self.cells.evidence, self.channels))
