"""Weights that meet known totals: what they are, how far they are from those they came from, and what uses them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate import display
from discreet.estimate.calibration.distances import Distance
from discreet.estimate.calibration.margins import Margins, Number
from discreet.estimate.result import Shown, frozen
from discreet.estimate.result_table import Column, ResultTable, labels
from discreet.estimate.rows import Rows, RowWeights, is_release
from discreet.reading import Release

if TYPE_CHECKING:
    from discreet.estimate.calibration.calibrated_release import CalibratedRelease


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Calibration(Shown):
    """Survey weights calibrated to known totals. Made by :func:`discreet.estimate.calibrate`.

    Hand it as ``weights=`` to frequencies, means, totals, quantiles, tables and correlations, whose errors then know of
    the totals; or give :attr:`release` to anything that takes a release.

    Attributes
    ----------
    labels : list of str
        What each total is of.
    totals : array
        The known totals.
    before, after : array
        The same totals under the given weights and under the calibrated ones.
    ratios : tuple of float
        The smallest and the largest factor by which a weight was multiplied.
    range : tuple of float
        The smallest and the largest calibrated weight.
    design_effect : float
        ``n Σw²/(Σw)²``: what unequal weights alone cost (Kish 1965), and ``design_effect_before``.
    method, bounds
        As asked for.
    n : int
        Number of rows.
    steps : int
        Of Newton's method.
    notes : tuple of str
    """

    source: Any
    margins: Margins
    distance: Distance
    method: str
    bounds: tuple[float, float] | None
    given: Any
    scale: float
    multipliers: Floats
    inverse: Floats
    before: Floats
    after: Floats
    ratios: tuple[float, float]
    range: tuple[float, float]
    design_effect: float
    design_effect_before: float
    n: int
    steps: int
    notes: tuple[str, ...] = ()
    asked: Mapping[str, Any] = field(default_factory=dict)

    @property
    def labels(self) -> list[str]:
        """What each total is of."""
        return self.margins.labels

    @property
    def totals(self) -> Floats:
        """The known totals."""
        found = [part.total if isinstance(part, Number) else part.totals for part in self.margins.parts]
        return frozen(np.concatenate([np.atleast_1d(one) for one in found]))

    @property
    def needs(self) -> list[str]:
        """Columns of the release that the weights are made of."""
        return [*self.margins.columns, *([self.given] if isinstance(self.given, str) else [])]

    @cached_property
    def release(self) -> CalibratedRelease:
        """The release under the calibrated weights, for whatever takes a release, as regressions and replicates do."""
        from discreet.estimate.calibration.calibrated_release import CalibratedRelease

        if not is_release(self.source):
            raise EstimationError("these weights were calibrated for a table in memory, and there is no release")
        return CalibratedRelease(self)

    @cached_property
    def weights(self) -> Floats:
        """The calibrated weight of every row, in the order of the rows."""
        if self.source is None:
            raise EstimationError("these weights were copied without their release: calibrate it again")
        if not is_release(self.source):
            return frozen(self.of(None, slice(0, self.n)).weights)
        rows = Rows(self.source, self.source.rows, (), weights=self, strata=None, clusters=None, table=self.needs)
        return frozen(np.concatenate([batch.weights for batch in rows.batches() if batch.weights is not None]))

    def check(self, release: Any, total: int) -> None:
        """Refuse rows that are not those the weights were calibrated for."""
        if self.source is release or getattr(release, "calibration", None) is self:
            return
        if release is None and not is_release(self.source):
            if total != self.n:
                raise EstimationError(f"weights were calibrated for {self.n:,} rows, and there are {total:,}")
            return
        raise EstimationError(
            "weights were calibrated for other rows: calibrate(…) takes the release, or the table of public columns, "
            "whose rows the weights are for"
        )

    def of(self, read: Callable[[str], Any] | None, rows: slice) -> RowWeights:
        """The weights of some rows, with their auxiliary numbers, and how each weight moves with the multipliers."""
        size = rows.stop - rows.start
        column = self._kept(rows) if read is None else read
        coded = self.margins.coded(column, size, rows.start)
        if self.given is None:
            d = np.full(size, self.scale)
        else:
            known = column(self.given) if isinstance(self.given, str) else self.given[rows]
            d = np.asarray(known, float) if isinstance(known, np.ndarray) else _floats(known)
        x = self.margins.auxiliary(coded)
        ratio, slope = self.distance.ratios(x @ self.multipliers)
        return RowWeights(weights=d * ratio, auxiliary=x, slopes=d * slope)

    def __getstate__(self) -> dict[str, Any]:
        """As it is sent to where the rows are read: the rule, without the release."""
        state = {one.name: getattr(self, one.name) for one in fields(self)}
        return state | {"source": None} if is_release(self.source) else state

    def _kept(self, rows: slice) -> Callable[[str], Any]:
        return lambda name: self.source[name][rows]

    def heading(self) -> str:
        """What was done."""
        bounds = "" if self.bounds is None else f", bounds {self.bounds[0]:g} and {self.bounds[1]:g}"
        how = {"linear": "linear", "raking": "raking", "logit": "logit"}[self.method]
        return f"Weights calibrated to {self.totals.size:,} known totals: {how}{bounds}, n = {self.n:,}"

    def _figures(self) -> tuple[str, ...]:
        return tuple(f"{name} {value}" for name, value in self._facts())

    def _facts(self) -> list[tuple[str, str]]:
        low, high = self.ratios
        return [
            ("factors", f"{low:.4g} to {high:.4g}"),
            ("weights", f"{self.range[0]:,.6g} to {self.range[1]:,.6g}"),
            (
                "design effect of unequal weights",
                f"{self.design_effect_before:.3f} before, {self.design_effect:.3f} now",
            ),
        ]

    def _page(self) -> ResultTable:
        return self._shown(display.SHOWN)

    def _shown(self, most: int | None) -> ResultTable:
        shown = self.totals.size if most is None else min(self.totals.size, most)
        left_out = self.totals.size - shown
        return ResultTable(
            title=self.heading(),
            columns=(
                labels("total", self.labels[:shown]),
                Column("known", self.totals[:shown], write=display.amount),
                Column("before", self.before[:shown], write=display.amount),
                Column("after", self.after[:shown], write=display.amount),
            ),
            rows=shown,
            more=(f"{left_out:,} more totals",) if left_out else (),
            facts=tuple(self._facts()),
            notes=self.notes,
        )

    def to_frame(self) -> Any:
        """A pandas data frame, one row per total."""
        return self._shown(None).frame()

    def to_arrow(self) -> pa.Table:
        """An Arrow table, one row per total."""
        return self._shown(None).arrow()

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        return {
            "kind": "calibration",
            "method": self.method,
            "bounds": display.plain(self.bounds),
            "n": self.n,
            "labels": self.labels,
            "known": display.plain(self.totals),
            "before": display.plain(self.before),
            "after": display.plain(self.after),
            "factors": list(self.ratios),
            "weights": list(self.range),
            "design_effect": self.design_effect,
            "design_effect_before": self.design_effect_before,
            "steps": self.steps,
            "notes": list(self.notes),
        }

    def repeated(self, release: Release) -> Calibration:
        """The same totals met again by the weights of another view of the release, such as a replicate."""
        from discreet.estimate.calibration.calibrate import calibrated

        return calibrated(release, self.margins, self.method, self.bounds, release.survey.weight, self.multipliers)


def _floats(values: Any) -> Floats:
    from discreet.estimate.checks import floats

    return floats(values, "weights")
