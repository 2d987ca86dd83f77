"""Cross-tables of two columns, and tables of two or three that were randomised together."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet import arguments
from discreet.domains.columns import as_arrow
from discreet.errors import DomainError, EstimationError
from discreet.estimate.channels.channel import Channels
from discreet.estimate.channels.joint import JointChannels, together
from discreet.estimate.channels.product import PairedChannels
from discreet.estimate.data.columns import ArrayColumn, Column, ReleaseColumn, truthful
from discreet.estimate.data.label_codes import LabelIndex
from discreet.estimate.data.rows import is_release
from discreet.estimate.data.source import ListedSource, Source, listed_source
from discreet.estimate.data.survey_design import left_out_note
from discreet.estimate.proportions.estimator import estimate_from
from discreet.estimate.proportions.result import Frequencies
from discreet.estimate.sampling.report_totals import collect
from discreet.estimate.tables.cells import CellTable
from discreet.estimate.tables.independence import IndependenceTest, independence_test, joint_independence_test
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


#: Pairs of reports that are counted (2^24 numbers, 128 MB).
_MAX_PAIRS = 1 << 24


def crosstab(
    release: Any,
    rows: Any,
    columns: Any = None,
    layers: Any = None,
    *,
    weights: Any = None,
    strata: Any = None,
    clusters: Any = None,
    target: str = "population",
    fpc: Any = None,
) -> CrossTab | JointTable:
    """The joint frequencies of two columns of a release: ``F̂ = A₁ P̂ A₂ᵀ``, unbiased, with the covariance of all cells.

    Parameters
    ----------
    release : Release
        Its manifest says how each column was randomised.
    rows, columns : str
        The two columns of the release whose values make the rows and the columns of the table, each private or public.
    layers : str, optional
        A third column, where all three were randomised together.
    weights, strata, clusters, target, fpc
        As for :func:`discreet.estimate.frequencies`.

    Notes
    -----
    The covariance of the cells is ``(A₁⊗A₂)(diag(p) − p pᵀ)(A₁⊗A₂)ᵀ/n``. Columns that were randomised together go
    through their joint channel; see :func:`discreet.estimate.joint_table`. Test independence with
    :meth:`CrossTab.chi_square`: Pearson's statistic on the *corrected* table would take randomisation noise for
    association. Reports in arrays are crossed by :func:`crosstab_of_reports`.
    """
    arguments.choice(target, "target", ("population", "table"), EstimationError)
    if not is_release(release):
        raise EstimationError(
            "crosstab takes a release and two of its columns; for reports in arrays there is "
            "crosstab_of_reports(rows, columns, row_mechanism, column_mechanism)"
        )
    named = [rows, columns] if layers is None else [rows, columns, layers]
    if not all(isinstance(name, str) for name in named):
        raise EstimationError('name two columns of the release: crosstab(release, "rows", "columns")')
    if rows == columns:
        raise EstimationError(f'a cross-table needs two different columns, not "{rows}" twice')
    if layers is not None:
        return joint_table(release, named, weights=weights, strata=strata, clusters=clusters, target=target, fpc=fpc)
    return _crossed(
        [listed_source(release, name) for name in (rows, columns)],
        (rows, columns),
        target,
        {"weights": weights, "strata": strata, "clusters": clusters, "fpc": fpc},
    )


def crosstab_of_reports(
    rows: Any,
    columns: Any,
    row_mechanism: Any = None,
    column_mechanism: Any = None,
    *,
    weights: Any = None,
    strata: Any = None,
    clusters: Any = None,
    row_designs: Any = None,
    column_designs: Any = None,
    row_labels: Any = None,
    column_labels: Any = None,
    target: str = "population",
    fpc: Any = None,
) -> CrossTab:
    """The joint frequencies of two columns of reports in memory; as :func:`crosstab`, without a manifest.

    Parameters
    ----------
    rows, columns : array
        Reports of the same people in the same order. Where the mechanism is None the column is public:
        integers are codes, anything else is taken in sorted order.
    row_mechanism, column_mechanism : FiniteMechanism, dict or None
        What randomised each column, independently of the other, or two views of one joint response. A dict from names
        to mechanisms, together with ``row_designs`` or ``column_designs``, when people were asked in different ways.
    weights, strata, clusters, target, fpc
        As for :func:`discreet.estimate.frequencies`.
    row_designs, column_designs : array, optional
        The name of each person's design.
    row_labels, column_labels : Domain or sequence, optional
        True values in code order.

    Examples
    --------
    >>> from discreet.mechanisms import BinaryResponse
    >>> asked = BinaryResponse.warner("3/4")
    >>> table = crosstab_of_reports([0, 0, 1, 1] * 50, [0, 0, 1, 0] * 50, asked, None)
    >>> table.estimate
    array([[ 0.625, -0.125],
           [ 0.125,  0.375]])
    """
    arguments.choice(target, "target", ("population", "table"), EstimationError)
    if is_release(rows):
        raise EstimationError('a release is crossed by crosstab(release, "rows", "columns")')
    pair = [
        _column_in_memory(rows, row_mechanism, row_designs, row_labels),
        _column_in_memory(columns, column_mechanism, column_designs, column_labels),
    ]
    total, other = pair[0].total, pair[1].total
    if other != total:
        raise EstimationError(f"both columns must have the same rows: {total:,} and {other:,}")
    aside = {"weights": weights, "strata": strata, "clusters": clusters, "fpc": fpc}
    return _crossed(pair, (None, None), target, aside)


def _crossed(
    pair: list[ListedSource], names: tuple[str | None, str | None], target: str, aside: dict[str, Any]
) -> CrossTab:
    """The table of two columns that are ready to be read."""
    first, second = (one.channels for one in pair)
    if first.reports * second.reports > _MAX_PAIRS:
        raise EstimationError(
            f"a cross-table of {first.reports:,} × {second.reports:,} reports is over the limit of {_MAX_PAIRS:,} pairs"
        )
    both = Source(release=pair[0].release, total=pair[0].total, readers=[one.readers[0] for one in pair])
    evidence, left_out = collect(both, both.survey(target, **aside))
    paired = together(first, second) or PairedChannels(first, second)
    cells = estimate_from(evidence[0][1], paired, target=target, notes=left_out_note(left_out))
    return CrossTab(cells=cells, first=first, second=second, names=names)


def _column_in_memory(values: Any, mechanism: Any, designs: Any, labels: Any) -> ListedSource:
    """Reports; or, without a mechanism, public codes or labels, which are coded in their sorted order."""
    if mechanism is not None:
        return listed_source(values, mechanism, designs, labels)
    try:
        array = as_arrow(values)
    except DomainError as error:
        raise EstimationError(f"a public column: {error}") from None
    if not pa.types.is_integer(array.type):
        if labels is not None:
            raise EstimationError("labels name the codes of a public column, which must then be integers")
        index = LabelIndex("a public column", missing_is_a_group=True)
        found = index.encode(array)
        pairs = index.in_order()
        order = np.empty(len(pairs), np.int64)
        order[[code for _, code in pairs]] = np.arange(len(pairs))
        return _public(order[found], truthful(len(pairs), [label for label, _ in pairs]))
    if array.null_count:
        raise EstimationError("a public column of codes has missing entries")
    codes = array.to_numpy()
    if codes.dtype.kind not in "iub":
        raise EstimationError("a public column without a mechanism must hold codes: whole numbers from 0")
    if codes.min(initial=0) < 0:
        row = int(np.flatnonzero(codes < 0)[0])
        raise EstimationError(f"row {row} (counted from 0): a code is out of range; codes are whole numbers from 0")
    size = len(labels) if labels is not None else int(codes.max(initial=0)) + 1
    return _public(codes, truthful(size, labels))


def _public(codes: Any, channels: Channels) -> ListedSource:
    """Codes that were not randomised."""
    column = ArrayColumn(codes, channels)
    return ListedSource(release=None, total=column.codes.size, readers=[column], channels=channels)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class CrossTab(CellTable):
    """Joint frequencies of two columns. Made by :func:`discreet.estimate.crosstab`.

    Attributes
    ----------
    estimate, std_error : array (rows, columns)
    covariance : array (cells, cells)
        Cells in row order; refused above 4,096 cells.
    row_labels, column_labels : list
    n : int
    notes : tuple of str
    """

    cells: Frequencies
    first: Channels
    second: Channels
    names: tuple[str | None, ...] = (None, None)

    @property
    def labels(self) -> list[list[Any]]:
        """True values of both columns."""
        return [[side.label(code) for code in range(side.truths)] for side in (self.first, self.second)]

    def chi_square(self) -> IndependenceTest:
        """Test whether the true values of the two columns are independent.

        See :func:`discreet.estimate.tables.independence.independence_test` for the statistic.
        """
        channels, evidence = self.cells.channels, self.cells.evidence
        if isinstance(channels, JointChannels):
            return self._of_the_population(lambda: joint_independence_test(evidence, channels))
        return self._of_the_population(lambda: independence_test(evidence, self.first, self.second))
