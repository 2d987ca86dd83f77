"""The one reader of rows, batch by batch: arrays in memory, or a release and its manifest.

A batch holds the report codes of one or two columns, and whatever else is asked for: weights, strata, clusters, groups,
and columns handed on as they are. Every estimator reads its rows here. It stands on the verbs of an engine.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, fields, replace
from numbers import Real
from typing import Any, Literal, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet import arguments
from discreet import arrow_functions as pc
from discreet.arguments import Floats
from discreet.domains.columns import as_arrow
from discreet.engines import Local
from discreet.errors import Argument, DomainError, EstimationError, ReleaseError
from discreet.estimate.channels.report_codes import count_reports
from discreet.estimate.data.checks import checked_length, checked_population_sizes, checked_weights, row_of
from discreet.estimate.data.columns import Column
from discreet.estimate.data.map_reduce import FarRows, Source, nbytes
from discreet.reading.over_parts import lies_elsewhere

#: Rows of an array handled at once when they carry more than a report.
_ROWS = 1 << 20
#: The same where every row has dozens of auxiliary numbers.
_ROWS_WITH_AUXILIARY = 1 << 16
#: What is done with rows in which something is missing: kept and marked, refused, or left out and counted.
Missing = Literal["keep", "error", "drop"]
#: Columns of a release, and the rows they are.
Piece = tuple[Mapping[str, Any], slice]


@dataclass(frozen=True, eq=False)
class RowWeights:
    """Weights of some rows that were made to meet known totals: see :mod:`discreet.estimate.sampling.calibration`.

    Attributes
    ----------
    weights : array (rows,)
    auxiliary : array (rows, p)
        The numbers whose totals are known.
    slopes : array (rows,)
        How the weight moves with the multiplier of an auxiliary number, over that number.
    """

    weights: Floats
    auxiliary: Floats
    slopes: Floats


class WeightRule(Protocol):
    """Weights that are worked out from public columns, row by row."""

    #: The inverse of ``Σ slope·x x'`` over all rows.
    inverse: Floats

    @property
    def needs(self) -> list[str]:
        """Columns of the release that are read."""

    def check(self, release: Any, total: int) -> None:
        """Refuse other rows than those that the rule is for."""

    def of(self, read: Callable[[str], Any] | None, rows: slice) -> RowWeights:
        """The weights of some rows."""


def weight_rule(weights: Any) -> WeightRule | None:
    """Weights that are a rule, and no column or array."""
    return weights if hasattr(weights, "needs") and hasattr(weights, "inverse") else None


@dataclass(frozen=True, eq=False)
class Batch:
    """Some rows: report codes, and what else is known about each; ``answered`` is None when all have a report.

    ``auxiliary`` and ``slopes`` are there where the weights meet known totals (:class:`RowWeights`).
    """

    codes: NDArray[Any]
    first_row: int = 0
    answered: NDArray[np.bool_] | None = None
    weights: Floats | None = None
    strata: Any = None
    clusters: Any = None
    groups: Any = None
    table: pa.Table | None = None
    fpc: Floats | None = None
    auxiliary: Floats | None = None
    slopes: Floats | None = None

    @property
    def nbytes(self) -> int:
        """What it takes."""
        listed = self.groups if isinstance(self.groups, list) else [self.groups]
        aside = (self.answered, self.weights, self.strata, self.clusters, self.fpc, self.table, *listed)
        return nbytes(self.codes, *aside, self.auxiliary, self.slopes)

    def where(self, kept: NDArray[np.bool_]) -> Batch:
        """Some of these rows."""
        chosen = {field.name: _filtered(getattr(self, field.name), kept) for field in fields(self)}
        return replace(self, **chosen)


def _filtered(values: Any, kept: NDArray[np.bool_]) -> Any:
    if isinstance(values, list):
        return [_filtered(one, kept) for one in values]
    if isinstance(values, np.ndarray):
        return values[kept]
    return values.filter(pa.array(kept)) if isinstance(values, (pa.Array, pa.Table)) else values


def joined(batches: Iterable[Batch]) -> Batch:
    """All batches as one; nothing must be marked as missing any more."""
    parts = list(batches)
    if not parts:
        raise EstimationError("there are no complete rows, and nothing to fit")

    def together(name: str) -> Any:
        values = [getattr(part, name) for part in parts]
        if values[0] is None or name == "first_row":
            return values[0]
        if isinstance(values[0], np.ndarray):
            return np.concatenate(values)
        if isinstance(values[0], pa.Table):
            return pa.concat_tables(values, promote_options="permissive").combine_chunks()
        return pa.chunked_array(values).combine_chunks()

    return Batch(**{field.name: together(field.name) for field in fields(Batch)})


def is_release(source: Any) -> bool:
    """Whether a source is a release rather than an array of reports."""
    return hasattr(source, "block") and hasattr(source, "batches")


def refuse_never_together(release: Any, names: Collection[str]) -> None:
    """Columns of which a row reports one only have no rows to be learned from together."""
    for block in release.manifest.blocks:
        apart = block.never_together(names)
        if apart:
            listed = " and ".join(f'"{name}"' for name in apart[:2])
            raise EstimationError(f"every row reported one number of several, so that no row has both {listed}")


class Rows:
    """The rows of arrays or of a release: codes of columns, weights, strata, clusters, groups, and more columns.

    Parameters
    ----------
    release : Release or None
    total : int
        Number of rows.
    columns : sequence of Column
        One column for frequencies, two for a cross-table; the codes of two are combined row by row.
    weights, strata, clusters : array, column name or None
    groups : array, column name, sequence of either, or None
    fpc : array, column name, number or None
        Population sizes or sampling fractions of the strata.
    table : sequence of str
        Columns of the release that are handed on as they are.
    missing : {"keep", "error", "drop"}
        "keep": a row without an answer, whose blank is public, stays and is marked; a missing group is a group. The
        others are for regressions, which need every column: a row in which one is blank is refused, or left out.
    blanks : sequence of str
        Columns of the table in which a blank is a report like any other.
    """

    def __init__(
        self,
        release: Any,
        total: int,
        columns: Sequence[Column],
        *,
        weights: Any,
        strata: Any,
        clusters: Any,
        groups: Any = None,
        fpc: Any = None,
        table: Sequence[str] = (),
        missing: Missing = "keep",
        blanks: Sequence[str] = (),
    ) -> None:
        if is_release(release):
            refuse_never_together(release, [name for column in columns for name in column.needs])
        self._release = release
        self._total = total
        self._columns = columns
        self._aside = {"weights": weights, "strata": strata, "clusters": clusters, "groups": groups, "fpc": fpc}
        self._table = list(dict.fromkeys(table))
        self._missing = missing
        self._blanks = frozenset(blanks)
        self._engine = Local()
        #: Rows without an answer, or with something missing: counted while the batches are read.
        self.left_out = 0
        self._rule = weight_rule(weights)
        if self._rule is not None:
            self._rule.check(release, total)
        for role, given in self._aside.items():
            if role == "weights" and self._rule is not None:
                continue
            if is_several(given, release):
                self._aside[role] = [self._checked(one, role) for one in given]
            elif given is not None:
                single = role == "fpc" and isinstance(given, Real)  # one for all rows
                one = arguments.number(given, "fpc", EstimationError) if single else None
                self._aside[role] = self._checked(given, role) if one is None else one

    def _checked(self, given: Any, role: str) -> Any:
        """A public column of the release, or one entry per row."""
        if isinstance(given, str):
            self._check_public(given, role)
            return given
        if self._release is not None and not self._in_order:
            raise EstimationError(
                _shown(role),
                ": an array cannot be matched to the rows of this release, which are in random order; "
                "name a public column of the release",
            )
        return checked_length(self._arrow(given, role), self._total, _shown(role))

    @property
    def _in_order(self) -> bool:
        """Whether the rows of the release come as the steward had them."""
        engine = getattr(self._release, "engine", None)
        return self._release.manifest.order == "keep" and (engine is None or engine.keeps_order)

    @staticmethod
    def _arrow(values: Any, role: str) -> pa.Array:
        try:
            return as_arrow(values)
        except DomainError as error:
            raise EstimationError(_shown(role), ": ", error) from None

    def _check_public(self, column: str, role: str) -> None:
        if self._release is None:
            raise EstimationError(_shown(role), " is a column name, which needs a release; give an array")
        if column not in self._release.columns:
            raise EstimationError(_shown(role), f': the release has no column "{column}"')
        try:
            self._release.block(column)
        except ReleaseError:
            return
        raise EstimationError(
            _shown(role),
            f': column "{column}" is private, its entries are randomised reports; use a public column '
            "(for two private columns, crosstab)",
        )

    def batches(self) -> Iterator[Batch]:
        """All rows; a new pass each time."""
        self.left_out = 0
        pieces = self._from_arrays() if self._release is None else self._from_release()
        read = self._engine.map_batches(pieces, lambda piece: self._batch(*piece))
        return read if self._missing == "keep" else (batch for batch in read if batch.codes.size)

    def chunks(self) -> Iterator[Batch]:
        """The same, for passes over rows."""
        return self.batches()

    def source(self) -> Source:
        """The batches for passes over rows: here, or where they lie."""
        if self._release is None or not lies_elsewhere(self._release):
            return self
        alone = copy(self)
        alone._release = None
        return FarRows(self._release, _ReadBatches(alone))

    def _of_part(self, part: Any) -> Rows:
        """The same columns of a part of the release."""
        there = copy(self)
        there._release = part
        return there

    def _from_arrays(self) -> Iterator[Piece]:
        alone = len(self._columns) == 1 and all(given is None for given in self._aside.values())
        step = max(self._total, 1) if alone else _ROWS if self._rule is None else _ROWS_WITH_AUXILIARY
        for start in range(0, self._total, step):
            yield {}, slice(start, min(start + step, self._total))

    def _from_release(self) -> Iterator[Piece]:
        names = {name for column in self._columns for name in column.needs} | set(self._table)
        for given in self._aside.values():
            names |= {one for one in (given if isinstance(given, list) else [given]) if isinstance(one, str)}
        names |= set() if self._rule is None else set(self._rule.needs)
        start = 0
        read = [name for name in self._release.columns if name in names]
        for record in self._release.batches(read):
            rows = slice(start, start + record.num_rows)
            yield dict(zip(record.schema.names, record.columns, strict=True)), rows
            start = rows.stop

    def _batch(self, columns: Mapping[str, Any], rows: slice) -> Batch:
        codes, absent = self._codes(columns, rows)
        given = {role: None if weight_rule(one) else one for role, one in self._aside.items()}
        aside = {role: _part(one, columns, rows) for role, one in given.items()}
        if self._rule is not None:
            made = self._rule.of(columns.__getitem__ if columns else None, rows)
            aside |= {"weights": made.weights, "auxiliary": made.auxiliary, "slopes": made.slopes}
        elif aside["weights"] is not None:  # no release is made with a blank weight: it is refused, not dropped
            name = _shown("weights", self._aside)
            aside["weights"] = checked_weights(aside["weights"], rows.stop - rows.start, rows.start, name)
        if aside["fpc"] is not None:
            aside["fpc"] = checked_population_sizes(aside["fpc"], rows.start, _shown("fpc", self._aside))
        if self._missing != "keep":
            absent = self._incomplete(columns, absent, rows)
        if absent is not None:
            self.left_out += int(np.count_nonzero(absent))
        table = pa.table({name: columns[name] for name in self._table}) if self._table else None
        batch = Batch(codes, rows.start, None if absent is None else ~absent, **aside, table=table)
        if self._missing == "keep" or batch.answered is None:
            return batch
        return replace(batch.where(batch.answered), answered=None)

    def _codes(self, columns: Mapping[str, Any], rows: slice) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
        """The codes of all columns as one, and which rows lack one of them."""
        if not self._columns:
            return np.zeros(rows.stop - rows.start, np.uint8), None
        parts = [column.encode(columns.__getitem__, rows) for column in self._columns]
        codes, absent = parts[0]
        if len(parts) == 2:
            (first, second), (more, missing) = self._columns, parts[1]
            count_reports(codes, first.reports, rows.start)  # refuses codes out of range, which would mix up cells
            count_reports(more, second.reports, rows.start)
            codes = codes.astype(np.int64) * second.reports + more
            absent = missing if absent is None else absent if missing is None else absent | missing
        return codes, absent

    def _incomplete(
        self, columns: Mapping[str, Any], absent: NDArray[np.bool_] | None, rows: slice
    ) -> NDArray[np.bool_] | None:
        """Rows in which an answer or a public value is missing; an error unless such rows are to be left out."""
        answers = self._blanks | {column.needs[0] for column in self._columns}  # a blank there may be one more value
        blank = {name: pc.is_null(columns[name], nan_is_null=True) for name in columns if name not in answers}
        masks = {name: mask.to_numpy(zero_copy_only=False) for name, mask in blank.items()}
        if absent is not None:
            masks[self._columns[0].needs[0]] = absent
        masks = {name: mask for name, mask in masks.items() if mask.any()}
        if not masks:
            return None
        if self._missing == "error":
            name, mask = next(iter(masks.items()))
            raise EstimationError(
                f'column "{name}", {row_of(mask, rows.start)}: the value is missing; ',
                Argument('missing="drop"'),
                " leaves such rows out and counts them",
            )
        return np.asarray(np.logical_or.reduce(list(masks.values())))


@dataclass(frozen=True, eq=False)
class _ReadBatches:
    """Reads the batches of a part of a release."""

    rows: Rows

    def __call__(self, part: Any, _: int) -> Iterator[Batch]:
        return self.rows._of_part(part).batches()


def _part(given: Any, columns: Mapping[str, Any], rows: slice) -> Any:
    """What was given about all rows, for these; a function of its own, since one that calls itself from inside another
    would keep a batch until the next collection of garbage.
    """
    if isinstance(given, list):
        return [_part(one, columns, rows) for one in given]
    if isinstance(given, Real):
        return np.full(rows.stop - rows.start, float(given))
    return given[rows] if isinstance(given, pa.Array) else columns[given] if given is not None else None


def is_several(given: Any, release: Any) -> bool:
    """Whether a grouping is by several columns: a list of arrays or, with a release, of column names."""
    if not isinstance(given, (list, tuple)) or not given:
        return False
    if release is not None and all(isinstance(one, str) for one in given):
        return True
    return all(not isinstance(one, str) and np.ndim(one) == 1 for one in given)


def _shown(role: str, given: Mapping[str, Any] | None = None) -> str:
    """A role as the caller knows it: its keyword, or the column that was named for it."""
    if given is not None and isinstance(given[role], str):
        return f'column "{given[role]}"'
    return Argument("by" if role == "groups" else role)
