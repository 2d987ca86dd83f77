"""Survey weights that meet totals which are known of the population."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from discreet import arguments
from discreet.arguments import Floats
from discreet.domains.columns import as_arrow
from discreet.errors import DomainError, EstimationError
from discreet.estimate.data.checks import checked_length, checked_weights
from discreet.estimate.data.map_reduce import Held
from discreet.estimate.data.rows import Batch, Rows, is_release
from discreet.estimate.data.survey_design import declared
from discreet.estimate.sampling.calibration.distances import Distance, Linear, Logit, Raking, Truncated
from discreet.estimate.sampling.calibration.margins import Categories, Margins, read_margins
from discreet.estimate.sampling.calibration.result import Calibration
from discreet.estimate.sampling.calibration.sample import CalibrationSample, read_sample
from discreet.estimate.sampling.calibration.solve import Solution, solve

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
        raise EstimationError(f'totals: "{name}" is {known}; totals are of public columns')


def _table(given: Any, margins: Margins) -> pa.Table:
    """The columns that are needed of a table in memory."""
    columns: dict[str, Any] = {}
    names = margins.columns
    for name in names:
        try:
            columns[name] = as_arrow(given[name])
        except (KeyError, TypeError, IndexError, AttributeError):
            raise EstimationError(
                f'totals: the table has no column "{name}"; calibrate takes a release, or a table of public columns'
            ) from None
        except DomainError as error:
            raise EstimationError(f'totals: column "{name}": {error}') from None
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
                        f'totals: nobody in the sample is in "{label}", of which there are {total:,.6g}: put it '
                        "together with another category"
                    )
                if total == 0 and rows > 0:
                    raise EstimationError(
                        f'totals: "{label}" has a total of 0, and {int(rows):,} rows of the sample are in it: weights '
                        "must be positive"
                    )
        place += part.totals.size


def _refuse_negative(sample: CalibrationSample, found: Solution) -> None:
    negative = found.ratios <= 0
    if negative.any():
        rows = int(sample.rows[negative].sum())
        raise EstimationError(
            f'{rows:,} weights would not be positive: use method="raking", whose weights are, or bounds, as (0.3, 3)'
        )
