"""The correlation of two columns."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet import arguments
from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.data.rows import is_release
from discreet.estimate.data.source import Source
from discreet.estimate.data.survey_design import left_out_note
from discreet.estimate.intervals.levels import checked_level, two_sided_quantile, two_tails
from discreet.estimate.means.input import scored_column
from discreet.estimate.means.pair_scores import BothColumns, pair_scores
from discreet.estimate.reporting import display
from discreet.estimate.reporting.result import Listed, frozen
from discreet.estimate.reporting.table import Axis, Column, labels
from discreet.estimate.sampling.score_means import ScoreSums

_NO_CORRECTION = "the finite-population correction is not used for these columns: the error is a little too large"


def correlation(
    release: Any,
    first: Any = None,
    second: Any = None,
    *,
    weights: Any = None,
    strata: Any = None,
    clusters: Any = None,
    fpc: Any = None,
) -> Correlation:
    """Pearson's correlation of the true numbers of two columns of a release, with its error.

    ``ρ = (E xy − E x E y)/√(Var x Var y)`` from the means of five scores, each unbiased for its moment: the debiased
    answers to x, y, x² and y², and for xy their product where the columns were randomised independently of each other,
    the score of the joint channel where they were randomised together. The standard error is by the delta method from
    the covariance of the five, so that weights, strata and clusters are in it.

    Parameters
    ----------
    release : Release
    first, second : str
        Two columns, private or public, with numbers as for :func:`discreet.estimate.mean`.
    weights, strata, clusters, fpc
        As for :func:`discreet.estimate.frequencies`. A finite-population correction takes the debiased products of the
        five scores (:mod:`discreet.estimate.means.pair_scores`); where a design does not give them a note says that it
        is not used.

    Notes
    -----
    Rows without a number in either column are left out and counted; columns in which the blank is one of the values
    are refused. The estimate is not forced into [−1, 1]: beyond it there are too few reports for the noise.
    """
    if not is_release(release):
        raise EstimationError('correlation takes a release and two of its columns: correlation(release, "a", "b")')
    if not isinstance(first, str) or not isinstance(second, str) or first == second:
        raise EstimationError('name two different columns of the release: correlation(release, "a", "b")')
    pair = [scored_column(release, name, None, None, None, None, "correlation") for name in (first, second)]
    columns = BothColumns([one.source.readers[0] for one in pair])
    both = Source(release=release, total=int(release.rows), readers=[columns])
    design = both.survey(weights=weights, strata=strata, clusters=clusters, fpc=fpc)
    scores = pair_scores(pair)
    notes: tuple[str, ...] = ()
    if design.fpc is not None and not scores.has_products:
        design, notes = replace(design, fpc=None), (_NO_CORRECTION,)
    rows, roles = both.rows(design), design.roles
    sums = ScoreSums(5, roles, "population")
    for batch in rows.batches():
        if len(batch.codes):
            known = np.ones(len(batch.codes), bool) if batch.answered is None else batch.answered
            own, products = np.zeros((len(batch.codes), 5)), None
            own[known] = scores.of(batch.codes[known], batch.first_row)
            if (roles.fpc or roles.rows_per_person > 1) and scores.has_products:
                products = np.zeros((len(batch.codes), 5, 5))
                products[known] = scores.products(batch.codes[known])
            sums.add(batch, own, products)
    found = sums.means()
    moments, parts = _from_moments(found.means[0], found.covariance)
    estimate = moments[0] / moments[1]
    toward = np.array([1.0, -estimate]) / moments[1]
    notes = (*left_out_note(rows.left_out), *roles.notes, *notes)
    if abs(estimate) >= 1:
        notes += ("the estimate is beyond ±1: too few reports for this much noise; use the interval",)
    return Correlation(
        columns=(first, second),
        estimate=np.array([estimate]),
        covariance=np.array([[toward @ parts @ toward]]),
        moments=moments,
        moment_covariance=parts,
        n=int(found.n[0]),
        degrees_of_freedom=float(found.degrees_of_freedom[0]),
        notes=notes,
    )


def _from_moments(m: Floats, covariance: Floats) -> tuple[Floats, Floats]:
    """Cov(x, y) and √(Var x Var y) from the means of x, y, x², y² and xy, with their covariance by the delta method."""
    vx, vy, cxy = float(m[2] - m[0] ** 2), float(m[3] - m[1] ** 2), float(m[4] - m[0] * m[1])
    if vx <= 0 or vy <= 0:
        raise EstimationError(
            "the corrected variance of a column is not positive: it is constant, or there are too few reports"
        )
    size = math.sqrt(vx * vy)
    of_size = np.array([-2 * m[0] * vy, -2 * m[1] * vx, vy, vx, 0.0]) / (2 * size)
    gradient = np.stack([[-m[1], -m[0], 0.0, 0.0, 1.0], of_size])
    return np.array([cxy, size]), np.asarray(gradient @ covariance @ gradient.T)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Correlation(Listed):
    """A correlation of two columns. Made by ``estimate.correlation``.

    Attributes
    ----------
    columns : tuple of str
    estimate, std_error : array (1,)
    covariance : array (1, 1)
    n : int
        Rows with both numbers.
    p_value : float
        Two-sided, of the hypothesis that there is none.
    notes : tuple of str
    """

    columns: tuple[str, str]
    estimate: Floats
    covariance: Floats
    n: int
    degrees_of_freedom: float
    #: Cov(x, y) and √(Var x Var y), and their covariance.
    moments: Floats
    moment_covariance: Floats
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for array in (self.estimate, self.covariance, self.moments, self.moment_covariance):
            array.flags.writeable = False

    @property
    def std_error(self) -> Floats:
        """The standard error."""
        return frozen(np.sqrt(np.maximum(np.diag(self.covariance), 0.0)))

    @property
    def p_value(self) -> float:
        """Two-sided, of the hypothesis that there is no correlation: that of Fieller's interval at ρ = 0."""
        error = math.sqrt(max(float(self.moment_covariance[0, 0]), 0.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            return float(two_tails(np.divide(self.moments[0], error), self.degrees_of_freedom))

    def __float__(self) -> float:
        return float(self.estimate[0])

    def interval(self, level: float = 0.95, method: str | None = None) -> Floats:
        """The confidence interval, one row (low, high).

        Parameters
        ----------
        level : float
        method : {"fieller", "fisher", "wald"}, optional
            * "fieller" (default): all ρ in [−1, 1] for which a test accepts ``Cov(x, y) = ρ √(Var x Var y)`` (Fieller
              1954). It also holds where the noise leaves the variances uncertain; all of [−1, 1] says that nothing is
              known, (nan, nan) that every correlation is rejected.
            * "fisher": normal on the scale of ``artanh ρ``; nan where the estimate is beyond ±1.
            * "wald": estimate ± quantile × standard error.
        """
        quantile = two_sided_quantile(checked_level(level), self.degrees_of_freedom)
        chosen = "fieller" if method is None else method
        options = ("fieller", "fisher", "wald")
        chosen = arguments.choice(chosen, "the interval method of a correlation", options, EstimationError)
        if chosen == "fieller":
            return np.array([_fieller(self.moments, self.moment_covariance, quantile)])
        rho, error = float(self), float(self.std_error[0])
        if chosen == "wald":
            return np.array([[rho - quantile * error, rho + quantile * error]])
        if abs(rho) >= 1:
            return np.full((1, 2), np.nan)
        reach = quantile * error / (1 - rho * rho)
        return np.tanh([[math.atanh(rho) - reach, math.atanh(rho) + reach]])

    def heading(self) -> str:
        """What was estimated, from what."""
        return f'Correlation of "{self.columns[0]}" and "{self.columns[1]}", n = {self.n:,}'

    def _labels(self) -> list[str]:
        return [""]

    def _axis(self) -> Axis:
        return Axis("correlation", 0.0)

    _estimate_heading = "correlation"

    @property
    def default_interval(self) -> str:
        """Fieller's."""
        return "fieller"

    def _label_columns(self, shown: int) -> list[Column]:
        return [labels("first", self.columns[:shown]), labels("second", self.columns[1 : 1 + shown])]

    def _more_columns(self, shown: int) -> list[Column]:
        return [Column("p_value", [self.p_value][:shown], "p", display.p_value)]

    def _described(self) -> dict[str, Any]:
        return {"kind": "correlation", "columns": list(self.columns), "n": self.n}

    def _more_data(self) -> dict[str, Any]:
        return {"p_value": display.plain(self.p_value)}


def _fieller(moments: Floats, covariance: Floats, quantile: float) -> tuple[float, float]:
    """All ρ in [−1, 1] with ``(c − ρs)² ≤ z² Var(c − ρs)``, a quadratic inequality; the hull of two pieces."""
    (c, s), square = moments, quantile**2
    a = s * s - square * covariance[1, 1]
    b = c * s - square * covariance[0, 1]
    d = c * c - square * covariance[0, 0]
    root = math.sqrt(max(b * b - a * d, 0.0))
    if a > 0:
        low, high = (b - root) / a, (b + root) / a
        if low > 1 or high < -1:
            return math.nan, math.nan
        return max(low, -1.0), min(high, 1.0)
    # The size √(Var x Var y) cannot be told from zero: what is accepted lies outside the roots, or is everything.
    if a == 0 or b * b <= a * d:
        return -1.0, 1.0
    first, second = sorted(((b - root) / a, (b + root) / a))
    accepted = [end for end in (-1.0, first, second, 1.0) if -1 <= end <= 1 and not first < end < second]
    return (min(accepted), max(accepted)) if accepted else (math.nan, math.nan)
