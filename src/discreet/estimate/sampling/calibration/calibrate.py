"""Survey weights that meet totals which are known of the population."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from discreet import arguments
from discreet.arguments import Floats
from discreet.domains.columns import as_arrow
from discreet.errors import Argument, DomainError, EstimationError
from discreet.estimate.data.checks import checked_length, checked_weights
from discreet.estimate.data.map_reduce import Held
from discreet.estimate.data.rows import Batch, Rows, RowWeights, is_release
from discreet.estimate.data.survey_design import declared
from discreet.estimate.data.weighted_view import WeightedRelease
from discreet.estimate.reporting import display
from discreet.estimate.reporting.result import Shown, frozen
from discreet.estimate.reporting.table import Column, ResultTable, labels
from discreet.estimate.sampling.calibration.distances import Distance, Linear, Logit, Raking, Solution, Truncated, solve
from discreet.estimate.sampling.calibration.margins import (
    CalibrationSample,
    Categories,
    Margins,
    Number,
    read_margins,
    read_sample,
)
from discreet.manifest import Survey
from discreet.reading import Release


class CalibratedRelease(WeightedRelease):
    """A release whose survey weights are calibrated; strata, clusters and population sizes stay what they are.

    Replicate weights, given or made, are calibrated anew one by one in :func:`discreet.estimate.replicate`.
    """

    __slots__ = ("calibration",)

    def __init__(self, calibration: Calibration) -> None:
        super().__init__(calibration.source, "calibrated weight")
        self.calibration = calibration

    @property
    def survey(self) -> Survey:
        """That of the release, with the calibrated weights."""
        return replace(self.base.survey, weight=self.weight)

    def _needs(self) -> Sequence[str]:
        return self.calibration.needs

    def _weights(self, batch: pa.RecordBatch, first_row: int) -> pa.Array:
        rows = slice(first_row, first_row + batch.num_rows)
        return pa.array(self.calibration.of(batch.column, rows).weights, pa.float64())


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
        return calibrated(release, self.margins, self.method, self.bounds, release.survey.weight, self.multipliers)


def _floats(values: Any) -> Floats:
    from discreet.estimate.data.checks import floats

    return floats(values, "weights")


METHODS = ("raking", "linear", "logit")


def calibrate(
    release: Any,
    totals: Any,
    method: str = "raking",
    *,
    people: float | None = None,
    bounds: tuple[float, float] | None = None,
    weights: Any = None,
) -> Calibration:
    """Weights that meet known totals of public columns, as near as possible to those of the survey.

    The calibrated weights ``w_i = d_i F(x_i'λ)`` solve ``Σ w_i x_i = t`` for the totals t of the auxiliary numbers x
    (Deville and Särndal 1992). Estimates that are related to them get smaller errors, and people who answer less often
    than others count for those who do not.

    Parameters
    ----------
    release : Release, or table
        Whose rows are weighted; or, for reports in memory, a table of their public columns: a mapping of arrays, an
        Arrow table, a data frame.
    totals : mapping
        What is known: ``{"region": {"north": 4000, "south": 6000}}`` for the people in each category
        (post-stratification), several columns for the margins of a table, ``{("region", "sex"): {("north", "f"): 2100,
        …}}`` for its cells, ``{"age": 412_000}`` for the sum of a column of numbers. Categories are known by their
        text.
    method : {"raking", "linear", "logit"}
        "raking" multiplies by exponentials: weights stay positive. "linear" is the generalised regression estimator
        (GREG), whose weights may become negative, which is refused. "logit" keeps the factors between the bounds. With
        totals of one column all three are the same.
    people : float, optional
        How many people there are; totals of categories say it already.
    bounds : (float, float), optional
        The smallest and the largest factor, such as (0.3, 3), below and above 1; for "logit" and "linear".
    weights : column name or array, optional
        The weights to start from; by default those that the manifest declares, else equal ones. False ignores the
        manifest.

    Returns
    -------
    Calibration
        Totals before and after, the spread of the weights, and the weights themselves: as ``weights=`` of other
        functions, as ``.release`` for regressions and :func:`replicate`, as an array ``.weights``.

    Notes
    -----
    The error of an estimate is that of its residuals: of ``z_i − x_i'B`` in place of z_i, with
    ``B = (Σ d_i F'_i x_i x_i')⁻¹ Σ d_i F'_i x_i z_i`` (Deville and Särndal 1992; the derivative of the estimate in the
    given weights, Demnati and Rao 2004). The weights depend on public columns alone, so that the error of the
    randomisation is as it was. Regressions take the weights as fixed and say so; :func:`replicate` calibrates every
    replicate anew, and is right for all.

    Examples
    --------
    >>> table = {"sex": ["f"] * 60 + ["m"] * 40}
    >>> found = calibrate(table, {"sex": {"f": 500, "m": 500}})
    >>> print(found)
    Weights calibrated to 2 known totals: raking, n = 100
    <BLANKLINE>
    total   known  before  after
    sex: f  500.0   600.0  500.0
    sex: m  500.0   400.0  500.0
    factors: 0.8333 to 1.25
    weights: 8.33333 to 12.5
    design effect of unequal weights: 1.000 before, 1.042 now
    >>> from discreet import estimate
    >>> from discreet.mechanisms import BinaryResponse
    >>> reports = [1] * 30 + [0] * 30 + [1] * 10 + [0] * 30
    >>> estimate.frequencies(reports, BinaryResponse.warner("3/4"), weights=found).estimate.round(3)
    array([0.75, 0.25])
    """
    method = arguments.choice(method, "method", METHODS, EstimationError)
    bounds = _checked_bounds(bounds, method)
    margins = read_margins(totals, people)
    if hasattr(release, "calibration"):
        raise EstimationError("the weights of this release are calibrated already: give all totals to one calibrate(…)")
    if is_release(release):
        given = declared(weights, release.survey.weight)
        return calibrated(release, margins, method, bounds, given)
    return calibrated(_table(release, margins), margins, method, bounds, None if weights is False else weights)


def calibrated(
    source: Any,
    margins: Margins,
    method: str,
    bounds: tuple[float, float] | None,
    given: Any,
    start: Floats | None = None,
) -> Calibration:
    """Calibrate what has been checked."""
    sample, given = _sample(source, margins, given)
    scale = 1.0
    if given is None:
        if margins.people is None:
            raise EstimationError(
                "totals of numbers alone do not say how many people a row stands for: give people, totals of "
                "categories, or weights"
            )
        scale = margins.people / sample.n
        sample = sample.scaled(scale)
    _refuse_empty(sample)
    distance = _distance(method, bounds)
    found = solve(sample, distance, start)
    _refuse_negative(sample, found)
    w = sample.weights * found.ratios
    ratio = float(found.ratios.min()), float(found.ratios.max())
    # A cell holds rows of one ratio.
    smallest, largest = float((sample.least * found.ratios).min()), float((sample.most * found.ratios).max())
    shown = margins.shifts
    before, after = sample.totals(sample.weights), sample.totals(w)
    return Calibration(
        source=source,
        margins=margins,
        distance=distance,
        method=method,
        bounds=bounds,
        given=given,
        scale=scale,
        multipliers=found.multipliers,
        inverse=found.inverse,
        before=before + shown * float(sample.weights.sum()),
        after=after + shown * float(w.sum()),
        ratios=ratio,
        range=(smallest, largest),
        design_effect=_kish(sample, found.ratios),
        design_effect_before=_kish(sample, np.ones_like(found.ratios)),
        n=sample.n,
        steps=found.steps,
    )


def _kish(sample: CalibrationSample, ratios: Floats) -> float:
    """``n Σw²/(Σw)²``."""
    return float(sample.n * (sample.squares @ ratios**2) / (sample.weights @ ratios) ** 2)


def _sample(source: Any, margins: Margins, given: Any) -> tuple[CalibrationSample, Any]:
    """All rows, and the given weights as they are kept."""
    if is_release(source):
        aside = {"weights": given, "strata": None, "clusters": None}
        for name in margins.columns:
            _check_public(source, name)
        table = margins.columns or source.columns[:1]
        rows = Rows(source, int(source.rows), (), **aside, table=table)
        if given is not None and not isinstance(given, str):
            raise EstimationError("weights of a release are a public column: name it")
        return read_sample(rows.source(), margins), given
    n = source.num_rows
    if given is not None:
        given = checked_weights(given, n)
    batch = Batch(np.zeros(n, np.uint8), weights=given, table=source)
    return read_sample(Held((batch,)), margins), given


def _check_public(release: Any, name: str) -> None:
    public = {column.name for column in release.manifest.columns if column.role != "private"}
    if name not in public:
        known = (
            "a private column, whose entries are randomised" if name in release.columns else "no column of the release"
        )
        raise EstimationError(Argument("totals"), f': "{name}" is {known}; totals are of public columns')


def _table(given: Any, margins: Margins) -> pa.Table:
    """The columns that are needed of a table in memory."""
    columns: dict[str, Any] = {}
    names = margins.columns
    for name in names:
        try:
            columns[name] = as_arrow(given[name])
        except (KeyError, TypeError, IndexError, AttributeError):
            raise EstimationError(
                Argument("totals"),
                f': the table has no column "{name}"; calibrate takes a release, or a table of public columns',
            ) from None
        except DomainError as error:
            raise EstimationError(Argument("totals"), f': column "{name}": {error}') from None
    if not columns:
        raise EstimationError("totals name no column of the table; calibrate needs one at least")
    rows = len(next(iter(columns.values())))
    for name, values in columns.items():
        checked_length(values, rows, f'column "{name}"')
    return pa.table(columns)


def _checked_bounds(bounds: Any, method: str) -> tuple[float, float] | None:
    if bounds is None:
        if method == "logit":
            raise EstimationError('method="logit" needs bounds: the smallest and the largest factor, such as (0.3, 3)')
        return None
    if method == "raking":
        raise EstimationError('raking has no bounds: use method="logit" or "linear"')
    pair = arguments.floats(bounds, "bounds", EstimationError, dimensions=1)
    if pair.shape != (2,) or not 0 <= pair[0] < 1 < pair[1]:
        raise EstimationError("bounds must be two factors, the first at least 0 and below 1, the second above 1")
    return float(pair[0]), float(pair[1])


def _distance(method: str, bounds: tuple[float, float] | None) -> Distance:
    if method == "raking":
        return Raking()
    if method == "logit":
        assert bounds is not None
        return Logit(*bounds)
    return Linear() if bounds is None else Truncated(*bounds)


def _refuse_empty(sample: CalibrationSample) -> None:
    """A category without anybody cannot be weighted up, and one of nobody not down to nothing."""
    place = 0
    for number, part in enumerate(sample.margins.parts):
        if isinstance(part, Categories):
            seen = np.bincount(sample.coded[:, number].astype(np.int64), sample.rows, part.totals.size)
            for category, (total, rows) in enumerate(zip(part.totals, seen, strict=True)):
                label = sample.margins.labels[place + category]
                if total > 0 and rows == 0:
                    raise EstimationError(
                        Argument("totals"),
                        f': nobody in the sample is in "{label}", of which there are {total:,.6g}: put it together '
                        "with another category",
                    )
                if total == 0 and rows > 0:
                    raise EstimationError(
                        Argument("totals"),
                        f': "{label}" has a total of 0, and {int(rows):,} rows of the sample are in it: weights must '
                        "be positive",
                    )
        place += part.totals.size


def _refuse_negative(sample: CalibrationSample, found: Solution) -> None:
    negative = found.ratios <= 0
    if negative.any():
        rows = int(sample.rows[negative].sum())
        raise EstimationError(
            f'{rows:,} weights would not be positive: use method="raking", whose weights are, or bounds, as (0.3, 3)'
        )
