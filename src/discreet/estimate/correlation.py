"""The correlation of two columns."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import arguments
from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate import display
from discreet.estimate.channels import Channels
from discreet.estimate.collecting import left_out_note, survey_columns
from discreet.estimate.columns import Column as Reader
from discreet.estimate.columns import ReleaseColumn
from discreet.estimate.debiased_scores import BoxScores, Scores
from discreet.estimate.intervals import checked_level, two_sided_quantile, two_tails
from discreet.estimate.joint.channels import together
from discreet.estimate.linearised_means import ScoreSums
from discreet.estimate.m_estimation.box.copies import Copies, NoisyBlock
from discreet.estimate.result import Axis, Result, frozen, written_interval
from discreet.estimate.result_table import Column, Ends, ResultTable, interval_heading, labels
from discreet.estimate.rows import Rows, is_release
from discreet.estimate.scored_column import ScoredColumn, scored_column
from discreet.estimate.survey import Roles
from discreet.estimate.value_numbers import value_numbers


def correlation(
    release: Any,
    first: Any = None,
    second: Any = None,
    *,
    weights: Any = None,
    strata: Any = None,
    clusters: Any = None,
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
    weights, strata, clusters
        As for :func:`discreet.estimate.frequencies`.

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
    aside = survey_columns(release, weights=weights, strata=strata, clusters=clusters, fpc=False)
    joint = _joint_scores(pair) or _scores_of_one_box(pair)
    rows = Rows(release, int(release.rows), [_BothColumns([one.reader for one in pair])], **aside)
    sums = ScoreSums(5, Roles.of(aside), "population")
    for batch in rows.batches():
        if len(batch.codes):
            known = np.ones(len(batch.codes), bool) if batch.answered is None else batch.answered
            scores = np.zeros((len(batch.codes), 5))
            scores[known] = (joint or _independent_scores)(pair, batch.codes[known], batch.first_row)
            sums.add(batch, scores)
    found = sums.means()
    moments, parts = _from_moments(found.means[0], found.covariance)
    estimate = moments[0] / moments[1]
    toward = np.array([1.0, -estimate]) / moments[1]
    notes = (*left_out_note(rows.left_out), *Roles.of(aside).notes)
    if release.survey.fpc is not None:
        notes += ("the finite-population correction is not used in correlations: the error is a little too large",)
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


class _BothColumns:
    """Two columns side by side, codes or numbers, as floats."""

    reports = 1  # there are no combined codes

    def __init__(self, columns: list[Reader]) -> None:
        self._columns = columns

    @property
    def needs(self) -> list[str]:
        """All columns that either needs."""
        return [name for column in self._columns for name in column.needs]

    def encode(self, read: Callable[[str], Any], rows: slice) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
        """One row of two entries each, and rows in which either is missing."""
        parts = [column.encode(read, rows) for column in self._columns]
        masks = [mask for _, mask in parts if mask is not None]
        both = np.column_stack([np.asarray(values, float) for values, _ in parts])
        return both, np.logical_or.reduce(masks) if masks else None


def _single(column: ScoredColumn, values: Floats, first_row: int) -> tuple[Floats, Floats]:
    """The scores of x − centre and of its square."""
    scores: Scores = column.scores
    entries = values.astype(np.int64) if isinstance(column.reader, ReleaseColumn) else values
    own, products = scores.of(entries, first_row), scores.products(entries)
    if not np.all(own[:, 1] == 1.0):
        raise EstimationError("a correlation needs a number for every value, and a blank has none")
    return own[:, 0], products[:, 0, 0]


def _independent_scores(pair: list[ScoredColumn], values: Floats, first_row: int) -> Floats:
    (x, xx), (y, yy) = (_single(column, values[:, place], first_row) for place, column in enumerate(pair))
    return np.stack([x, y, xx, yy, x * y], axis=1)


def _joint_scores(pair: list[ScoredColumn]) -> Callable[[list[ScoredColumn], Floats, int], Floats] | None:
    """Scores of two columns that were randomised together; None where they were not."""
    readers = [column.reader for column in pair]
    channels = [reader.channels for reader in readers if isinstance(reader, ReleaseColumn)]
    both = together(channels[0], channels[1]) if len(channels) == 2 else None
    if both is None:
        return None
    numbers = [_centred(one) for one in channels]
    x, y = (np.broadcast_to(one, both.shape).reshape(-1) for one in (numbers[0][:, None], numbers[1][None, :]))
    table = np.stack([both.inverse.scores(c) for c in (x, y, x * x, y * y, x * y)], axis=1)
    width = channels[1].reports

    def scores(pair: list[ScoredColumn], values: Floats, first_row: int) -> Floats:
        del pair, first_row  # the joint channel says it all
        codes = values.astype(np.int64)
        return np.asarray(table[codes[:, 0] * width + codes[:, 1]])

    return scores


def _scores_of_one_box(pair: list[ScoredColumn]) -> Callable[[list[ScoredColumn], Floats, int], Floats] | None:
    """Scores of two numbers that got their noise together; None where they did not, or where reports are the scores.

    A product of two functions of one record is not unbiased for the product: exactly published records are exact in
    both. The product itself is corrected, over copies inside the box of the two.
    """
    first, second = (column.scores for column in pair)
    if not (isinstance(first, BoxScores) and isinstance(second, BoxScores) and first.uses_box):
        return None
    names = [str(column.name) for column in pair]
    block = next((one for one in pair[0].release.manifest.blocks if set(names) <= set(one.columns)), None)
    if block is None:
        return None
    mechanism = block.mechanism.coordinates([block.columns.index(name) for name in names])
    centres = np.array([first.centre, second.centre])

    def scores(pair: list[ScoredColumn], values: Floats, first_row: int) -> Floats:
        (x, xx), (y, yy) = (_single(column, values[:, place], first_row) for place, column in enumerate(pair))
        kept = Copies([NoisyBlock(np.asarray(values, float), mechanism)]).kept
        product = kept.weight * np.prod(kept.values - centres, axis=1)
        return np.stack([x, y, xx, yy, np.bincount(kept.record, product, len(values))], axis=1)

    return scores


def _centred(channels: Channels) -> Floats:
    numbers = value_numbers(channels.labels, channels.truths)
    if np.isnan(numbers).any():
        raise EstimationError("a correlation needs a number for every value, and a blank has none")
    return np.asarray(numbers - (numbers.min() + numbers.max()) / 2)


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
class Correlation(Result):
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
        """Two-sided, of the hypothesis that there is no correlation."""
        return float(two_tails(self.estimate / self.std_error, self.degrees_of_freedom)[0])

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

    def _table(self, level: float, method: str | None, most: int | None) -> ResultTable:
        del most  # there is one row
        return ResultTable(
            title=self.heading(),
            columns=(
                labels("first", [self.columns[0]]),
                labels("second", [self.columns[1]]),
                Column("estimate", self.estimate, "correlation"),
                Column("std_error", self.std_error, "std. error"),
                Column("p_value", [self.p_value], "p", display.p_value),
                Ends(interval_heading(level, method or "fieller"), self.interval(level, method)),
            ),
            rows=1,
            notes=self.notes,
        )

    def to_dict(self, level: float = 0.95, method: str | None = None) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        return {
            "kind": "correlation",
            "columns": list(self.columns),
            "n": self.n,
            "estimate": display.plain(self.estimate),
            "std_error": display.plain(self.std_error),
            "p_value": display.plain(self.p_value),
            "interval": written_interval(self.interval(level, method), level, method or "fieller"),
            "notes": list(self.notes),
        }


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
