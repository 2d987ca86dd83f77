"""Cross-tables of two columns that were randomised independently of each other, or are public."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.domains.columns import as_arrow
from discreet.errors import DomainError, EstimationError, ReleaseError
from discreet.estimate import display
from discreet.estimate.cell_table import CellTable
from discreet.estimate.channels import Channels
from discreet.estimate.columns import ArrayColumn, PublicColumn, ReleaseColumn
from discreet.estimate.frequencies import check_choice, collect, declared, estimate_from, left_out_note
from discreet.estimate.independence import IndependenceTest, independence_test
from discreet.estimate.joint.channels import JointChannels, together
from discreet.estimate.joint.independence import joint_independence_test
from discreet.estimate.joint.table import JointTable, joint_table
from discreet.estimate.paired import PairedChannels
from discreet.estimate.result import Frequencies
from discreet.estimate.rows import is_release
from discreet.estimate.tally import LabelIndex
from discreet.mechanisms import GeneralizedResponse

Floats = NDArray[np.float64]

#: Pairs of reports that are counted (2^24 numbers, 128 MB).
_MAX_PAIRS = 1 << 24


def crosstab(
    reports_a: Any,
    reports_b: Any,
    mechanism_a: Any = None,
    mechanism_b: Any = None,
    *,
    weights: Any = None,
    strata: Any = None,
    clusters: Any = None,
    designs_a: Any = None,
    designs_b: Any = None,
    labels_a: Any = None,
    labels_b: Any = None,
    target: str = "population",
) -> CrossTab | JointTable:
    """The joint frequencies of two columns: ``F̂ = A₁ P̂ A₂ᵀ``, unbiased, with the covariance of all cells.

    Three ways to call it::

        crosstab(release, "smokes", "region")
        crosstab(release, "smokes", "drinks", "region")   # three columns that were randomised together
        crosstab(reports_a, reports_b, mechanism_a, mechanism_b)

    Columns that were randomised together go through their joint channel; see :func:`discreet.estimate.joint_table`.

    Parameters
    ----------
    reports_a, reports_b : array
        Reports of the same people in the same order. Where the mechanism is None the column is public:
        integers are codes, anything else is taken in sorted order.
    mechanism_a, mechanism_b : FiniteMechanism, dict or None
        What randomised each column, independently of the other. A dict from names to mechanisms, together with
        ``designs_a`` or ``designs_b``, when rows were asked in different ways.
    weights, strata, clusters, target
        As for :func:`discreet.estimate.frequencies`.
    designs_a, designs_b : array, optional
        The name of each row's design.
    labels_a, labels_b : Domain or sequence, optional
        True values in code order. A release knows them.

    Notes
    -----
    The covariance of the cells is ``(A₁⊗A₂)(diag(p) − p pᵀ)(A₁⊗A₂)ᵀ/n``. Test independence with
    :meth:`CrossTab.chi_square`: Pearson's statistic on the *corrected* table would take randomisation noise for
    association.

    Examples
    --------
    >>> from discreet.mechanisms import BinaryResponse
    >>> asked = BinaryResponse.warner("3/4")
    >>> table = crosstab([0, 0, 1, 1] * 50, [0, 0, 1, 0] * 50, asked, None)
    >>> table.estimate
    array([[ 0.625, -0.125],
           [ 0.125,  0.375]])
    """
    check_choice("target", target, ("population", "table"))
    names: tuple[str | None, str | None] = (None, None)
    if is_release(reports_a):
        if all(isinstance(name, str) for name in (reports_b, mechanism_a, mechanism_b)):
            chosen = (reports_b, mechanism_a, mechanism_b)
            return joint_table(reports_a, chosen, weights=weights, strata=strata, clusters=clusters, target=target)
        if not isinstance(reports_b, str) or not isinstance(mechanism_a, str) or mechanism_b is not None:
            raise EstimationError('name two columns of the release: crosstab(release, "a", "b")')
        if reports_b == mechanism_a:
            raise EstimationError(f'a cross-table needs two different columns, not "{reports_b}" twice')
        if any(given is not None for given in (labels_a, labels_b, designs_a, designs_b)):
            raise EstimationError("designs and labels of a release come from its manifest")
        release, names = reports_a, (reports_b, mechanism_a)
        total, survey = int(release.rows), release.survey
        pair = [_column_of(release, reports_b), _column_of(release, mechanism_a)]
        weights = declared(weights, survey.weight)
        strata, clusters = declared(strata, survey.strata), declared(clusters, survey.cluster)
    else:
        release = None
        pair = [
            _column_in_memory(reports_a, mechanism_a, designs_a, labels_a),
            _column_in_memory(reports_b, mechanism_b, designs_b, labels_b),
        ]
        total = pair[0][1].codes.size
        if pair[1][1].codes.size != total:
            raise EstimationError(f"both columns must have the same rows: {total:,} and {pair[1][1].codes.size:,}")
        weights, strata, clusters = (declared(given, None) for given in (weights, strata, clusters))
    (first, column_a), (second, column_b) = pair
    if first.reports * second.reports > _MAX_PAIRS:
        raise EstimationError(
            f"a cross-table of {first.reports:,} × {second.reports:,} reports is over the limit of {_MAX_PAIRS:,} pairs"
        )
    evidence, left_out = collect(
        release, total, [column_a, column_b], target, weights=weights, strata=strata, clusters=clusters, groups=None
    )
    paired = together(first, second) or PairedChannels(first, second)
    cells = estimate_from(evidence[0][1], paired, target=target, notes=left_out_note(left_out))
    return CrossTab(cells, first, second, names)


def _column_of(release: Any, name: str) -> tuple[Channels, Any]:
    """The channel of a released column; a public one is encoded in the sorted order of its labels."""
    try:
        column = ReleaseColumn(release, name)
    except ReleaseError:
        if name not in release.columns:
            raise
    else:
        return column.channels, column
    index = LabelIndex(f'"{name}"', missing_is_a_group=True)
    for batch in release.batches([name]):
        index.encode(batch.column(0))
    labels = index.in_order()
    channels = _public(len(labels), [label for label, _ in labels], name)
    return channels, PublicColumn(name, index, [code for _, code in labels])


def _column_in_memory(values: Any, mechanism: Any, designs: Any, labels: Any) -> tuple[Channels, Any]:
    if mechanism is not None:
        channels = Channels.of(mechanism, labels)
        return channels, ArrayColumn(values, channels, designs)
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
        channels = _public(len(pairs), [label for label, _ in pairs])
        return channels, ArrayColumn(order[found], channels)
    if array.null_count:
        raise EstimationError("a public column of codes has missing entries")
    codes = array.to_numpy()
    if codes.dtype.kind not in "iub":
        raise EstimationError("a public column without a mechanism must hold codes: whole numbers from 0")
    if codes.min(initial=0) < 0:
        row = int(np.flatnonzero(codes < 0)[0])
        raise EstimationError(f"row {row} (counted from 0): a code is out of range; codes are whole numbers from 0")
    size = len(labels) if labels is not None else int(codes.max(initial=0)) + 1
    channels = _public(size, labels)
    return channels, ArrayColumn(codes, channels)


def _public(size: int, labels: Any, name: str | None = None) -> Channels:
    """A column that was copied: the channel that always tells the truth."""
    if size < 2:
        where = f'the public column "{name}"' if name else "a public column"
        raise EstimationError(f"{where} has fewer than two values: there is nothing to cross")
    return Channels.of(GeneralizedResponse.from_weights(size, 1, 0), labels)


@dataclass(frozen=True, eq=False, repr=False)
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
    names: tuple[str | None, str | None] = (None, None)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns."""
        return self.first.truths, self.second.truths

    @property
    def row_labels(self) -> list[Any]:
        """True values of the first column."""
        return [self.first.label(code) for code in range(self.first.truths)]

    @property
    def column_labels(self) -> list[Any]:
        """True values of the second column."""
        return [self.second.label(code) for code in range(self.second.truths)]

    def empty(self, level: float = 0.95, method: str | None = None) -> NDArray[np.bool_]:
        """Which intervals are empty."""
        return self.cells.empty(level, method).reshape(self.shape)

    def chi_square(self) -> IndependenceTest:
        """Test whether the true values of the two columns are independent.

        See :func:`discreet.estimate.independence.independence_test` for the statistic.
        """
        self._check_population()
        if isinstance(self.cells.channels, JointChannels):
            return joint_independence_test(self.cells.evidence, self.cells.channels)
        return independence_test(self.cells.evidence, self.first, self.second)

    def summary(self, level: float = 0.95, method: str | None = None) -> str:
        """A table to read, one line per cell."""
        chosen = self.cells.default_interval if method is None else method
        bounds = self.interval(level, method)
        rows, columns = self.row_labels, self.column_labels
        header = [self.names[0] or "row", self.names[1] or "column", "estimate", "std. error"]
        header.append(f"{display.percent(level)} interval ({chosen})")
        cells = [(i, j) for i in range(self.shape[0]) for j in range(self.shape[1])]
        lines = [
            [
                display.label_text(rows[i]),
                display.label_text(columns[j]),
                display.number(self.estimate[i, j]),
                display.number(self.std_error[i, j]),
                display.ends(bounds[i, j, 0], bounds[i, j, 1], empty=bool(np.isnan(bounds[i, j, 0]))),
            ]
            for i, j in cells[: 2 * display.SHOWN]
        ]
        table = display.aligned(header, lines, text_columns=2)
        return display.page(table, self.heading(), len(cells) - len(lines), "cells", self.notes)

    def to_dict(self, level: float = 0.95, method: str | None = None) -> dict[str, Any]:
        """Plain data, ready for JSON: tables as lists of rows."""
        bounds = self.interval(level, method)
        return {
            "kind": "crosstab",
            "columns": list(self.names),
            "n": self.n,
            "target": self.target,
            "row_labels": display.plain(self.row_labels),
            "column_labels": display.plain(self.column_labels),
            "estimate": display.plain(self.estimate),
            "std_error": display.plain(self.std_error),
            "interval": {
                "level": level,
                "method": self.cells.default_interval if method is None else method,
                "low": display.plain(bounds[..., 0]),
                "high": display.plain(bounds[..., 1]),
            },
            "notes": list(self.notes),
        }
