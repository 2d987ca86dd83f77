"""Regressions on more rows than fit in memory: the same fit, reading batches again on every pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from discreet import arguments
from discreet.errors import EstimationError
from discreet.estimate.data.checks import checked_names
from discreet.estimate.regressions.likelihood.binary import BinaryRegression
from discreet.estimate.regressions.likelihood.firth import checked_penalty
from discreet.estimate.regressions.likelihood.fit import fit_binary
from discreet.estimate.regressions.likelihood.links import link_named
from discreet.estimate.regressions.likelihood.rows import CHUNK, Rows, checked_rows


@dataclass(frozen=True, eq=False)
class Batch:
    """Some rows of a regression; the fields are the arguments of :func:`binary_regression`."""

    X: Any
    y: Any
    p00: Any = None
    p11: Any = None
    weights: Any = None
    offset: Any = None
    clusters: Any = None
    mechanism: Any = None
    designs: Any = None
    strata: Any = None

    def checked(self, first_row: int = 0) -> Rows:
        """The rows, checked."""
        return checked_rows(**vars(self), first_row=first_row)


class StreamRows:
    """Rows that are read anew on each pass, and must come back the same."""

    def __init__(self, batches: Callable[[], Iterable[Batch]]) -> None:
        self._batches = batches
        self._total: int | None = None

    def chunks(self) -> Iterator[Rows]:
        """All rows, checked; a new pass each time."""
        first_row = 0
        given: tuple[bool, ...] | None = None
        reports: int | None = None
        for batch in self._batches():
            rows = batch.checked(first_row)
            extras = tuple(getattr(batch, name) is not None for name in ("weights", "offset", "clusters", "strata"))
            if given is not None and extras != given:
                raise EstimationError("weights, offset, clusters and strata must be in every batch or in none")
            if reports not in (None, rows.reports):
                raise EstimationError("every batch must have the same number of different reports")
            given, reports = extras, rows.reports
            for start in range(0, rows.size, CHUNK):
                yield rows.take(slice(start, start + CHUNK))
            first_row += rows.size
        if self._total is not None and first_row != self._total:
            raise EstimationError(
                f"the batches gave {self._total:,} rows on the first pass and {first_row:,} on a later one; "
                "they must be the same on every pass"
            )
        self._total = first_row


def binary_regression_batches(
    batches: Callable[[], Iterable[Batch]] | Sequence[Batch],
    *,
    link: str = "logit",
    names: Sequence[str] | None = None,
    penalty: str | None = None,
) -> BinaryRegression:
    """:func:`binary_regression` on batches, in bounded memory.

    Parameters
    ----------
    batches : function or sequence
        A function that returns the batches afresh each time it is called, because every pass reads them all; or a
        sequence. One :class:`Batch` holds some rows, in any number.
    link, names, penalty
        As for :func:`binary_regression`.

    Notes
    -----
    One pass looks at the rows and draws the sample on which starts are tried, about four climb, one collects the
    moments for inference. ``.passes`` says how many there were. Clusters take memory in proportion to their number.
    """
    chosen, penalty = link_named(link), checked_penalty(penalty)
    if not callable(batches):
        batches = [
            arguments.instance(one, Batch, "each batch", EstimationError)
            for one in arguments.listed(batches, "batches", EstimationError)
        ]
    make: Callable[[], Iterable[Batch]] = batches if callable(batches) else lambda: batches
    first = next(iter(make()), None)
    if first is None:
        raise EstimationError("there are no batches, and nothing to fit")
    arguments.instance(first, Batch, "each batch", EstimationError)
    columns = first.checked().X.shape[1]
    return fit_binary(StreamRows(make), chosen, checked_names(names, first.X, columns), penalty)
