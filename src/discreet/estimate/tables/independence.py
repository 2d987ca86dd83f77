"""A test of independence that stays valid after randomisation.

When two columns are randomised independently through channels of full rank, the joint report shares are
``P = Q₁ᵀ F Q₂``. F has rank one, that is the truths are independent, exactly when P has. Hence Pearson's χ² on the
table of *reports* has its usual law under independence, with (k₁ − 1)(k₂ − 1) degrees of freedom for square
channels. On the corrected table n·F̂ it has not: the correction inflates noise, which then passes for
association.

Columns that were randomised together have correlated errors and another test, see below.

A test of independence after joint randomisation: the efficient score test.

When two columns are randomised together their errors are correlated, so Pearson's χ² on the reports finds an
association where there is none. Under independence the reports have the law ``P = Kᵀ(r ⊗ c)`` with K the channel of
the pair and margins r, c on the simplex.

1. r and c are estimated by maximum likelihood under independence.
2. The Pearson residuals ``(p̂ − P)/√P`` are freed of every direction in which P moves with r or c. What is left has
   the covariance identity/n under independence and (k₁ − 1)(k₂ − 1) dimensions; n times its squared length is χ².

Where all shares of r and c are positive step 2 leaves the residuals as they are, and the statistic is Pearson's
against the fit. Where one is zero it matters: what the simplex forbids the fit to follow would pass for association.
The statistic does not move to first order with r and c (Neyman 1959), so that it takes no harm from their error. The
covariance is the one *under independence*: that of the observed shares is far too small where reports are rare, and
a Wald test with it rejects a true independence of six by six values in 96 of 100 tables of 300 people.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.channels.channel import Channels
from discreet.estimate.channels.joint import JointChannels
from discreet.estimate.channels.moments import refuse_large
from discreet.estimate.reporting import display
from discreet.estimate.reporting.result import Shown
from discreet.estimate.reporting.table import Column, ResultTable
from discreet.estimate.sampling.calibrated_variance import Calibrated
from discreet.estimate.sampling.share_covariance import Multinomial
from discreet.estimate.sampling.weighted_counts import Evidence
from discreet.mechanisms.inverse import DenseInverse, Inverse

#: Below this expected count the χ² law is a rough approximation (Cochran 1954).
SMALL_EXPECTED = 5
#: The exact variance of Pearson's χ² needs more people than this.
_LEAST_FOR_MOMENTS = 3
ONE_REPORT = "a column has only one report: independence cannot be tested"
#: A statistic whose variance is below this share of its squared mean is the same in every table, but for rounding.
_CONSTANT = 1e-12
#: Relative size below which an eigenvalue counts as zero.
_RANK_TOLERANCE = 1e-10


@dataclass(frozen=True, repr=False, kw_only=True)
class IndependenceTest(Shown):
    """A test that two columns are independent.

    Attributes
    ----------
    statistic : float
        χ², or F with the Rao–Scott correction.
    df : float
        Degrees of freedom; with the Rao–Scott correction those of the numerator, which need not be whole.
    p_value : float
        The probability of a statistic at least as large if the true values are independent.
    method : {"pearson", "wald", "rao-scott", "score"}
    df_denominator : float or None
        Of F.
    notes : tuple of str
    """

    statistic: float
    df: float
    p_value: float
    method: str
    df_denominator: float | None = None
    notes: tuple[str, ...] = ()

    def summary(self) -> str:
        """One sentence, and the notes."""
        if self.df_denominator is None:
            figure = f"χ² = {self.statistic:.4g}, df = {self.df:g}"
        else:
            figure = f"F = {self.statistic:.4g}, df = {self.df:.4g} and {self.df_denominator:.4g}"
        text = f"Independence of the true values ({self.method}): {figure}, p = {display.p_value(self.p_value)}"
        return text + "".join(f"\nNote: {note}." for note in self.notes)

    def _page(self) -> ResultTable:
        kind = "χ²" if self.df_denominator is None else "F"
        columns = [
            Column("statistic", [self.statistic], kind, "{:.4g}".format),
            Column("df", [self.df], write="{:.4g}".format),
        ]
        if self.df_denominator is not None:
            columns.append(Column("df_denominator", [self.df_denominator], write="{:.4g}".format))
        columns.append(Column("p_value", [self.p_value], "p", display.p_value))
        title = f"Independence of the true values ({self.method})"
        return ResultTable(title=title, columns=tuple(columns), rows=1, notes=self.notes)

    def _figures(self) -> tuple[str, ...]:
        letter = "χ²" if self.df_denominator is None else "F"
        return (f"{letter} = {self.statistic:.4g}", f"df = {self.df:.4g}", f"p = {display.p_value(self.p_value)}")

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        return {
            "kind": "independence test",
            "method": self.method,
            "statistic": self.statistic,
            "df": self.df,
            "df_denominator": self.df_denominator,
            "p_value": self.p_value,
            "notes": list(self.notes),
        }


def independence_test(evidence: Evidence, first: Channels, second: Channels) -> IndependenceTest:
    """Test independence of the truths behind a table of report pairs.

    All variants are one statistic, ``X² = n tr(Σ₁⁻¹ D Σ₂⁻¹ Dᵀ)`` with ``D = F̂ − r̂ ĉᵀ`` the departure of the
    corrected table from the product of its margins and Σ₁, Σ₂ the covariances of one debiased answer; under
    independence Σ₁⊗Σ₂ is the covariance of √n·D.

    * "pearson": for square channels X² *is* Pearson's χ² on the table of reports, and is computed there.
    * "wald": with more reports than truths, χ² with (k₁ − 1)(k₂ − 1) degrees of freedom.
    * "rao-scott": with weights, strata, clusters, or designs that differ by row, X² is a weighted sum of χ²₁; its
      first two moments are matched (Rao and Scott 1984), as an F test for clusters (Thomas and Rao 1987).
    """
    one_design = len(first.mechanisms) == len(second.mechanisms) == 1
    if evidence.survey is not None or not one_design:
        return _rao_scott(evidence, first, second)
    if all(channels.truths == channels.reports for channels in (first, second)):
        return _pearson(evidence.counts.reshape(first.reports, second.reports))
    left, right, table = _whitened_margins(evidence, first, second)
    df = left.shape[0] * right.shape[0]
    statistic = evidence.n * float(np.sum((left @ table @ right.T) ** 2))
    return IndependenceTest(statistic=statistic, df=df, p_value=chi_square_tail(statistic, df), method="wald")


def chi_square_tail(statistic: float, df: float) -> float:
    """The probability that χ² exceeds a value."""
    from scipy.special import chdtrc

    return float(chdtrc(df, statistic))


def matched_tail(statistic: float, mean: float, variance: float) -> float:
    """The same for the multiple of a χ² with this mean and variance, degrees of freedom 2·mean²/variance."""
    if variance <= _CONSTANT * mean**2:
        raise EstimationError(
            "independence cannot be tested: every table with as many of each report has the same statistic (most "
            "reports occurred once only)"
        )
    return chi_square_tail(2 * mean * statistic / variance, 2 * mean**2 / variance)


def sparse_note(smallest: float) -> tuple[str, ...]:
    """What a reader should know when some reports are expected too rarely for the χ² law."""
    if smallest >= SMALL_EXPECTED:
        return ()
    return (
        f"some expected counts are below {SMALL_EXPECTED}: the p-value is that of a scaled χ² with the mean and the "
        "variance that the statistic has in such a table",
    )


def _pearson(counts: NDArray[np.int64]) -> IndependenceTest:
    seen = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0].astype(float)
    left_out = int(seen.shape != counts.shape)
    df = (seen.shape[0] - 1) * (seen.shape[1] - 1)
    if df == 0:
        raise EstimationError(ONE_REPORT)
    expected = np.outer(seen.sum(axis=1), seen.sum(axis=0)) / seen.sum()
    statistic = float(np.sum((seen - expected) ** 2 / expected))
    notes = ("reports that never occurred were left out of the test",) * left_out + sparse_note(float(expected.min()))
    mean, variance = df, 2.0 * df
    if expected.min() < SMALL_EXPECTED and seen.sum() > _LEAST_FOR_MOMENTS:
        mean, variance = _moments_given_margins(seen)
    p_value = matched_tail(statistic, mean, variance)
    return IndependenceTest(statistic=statistic, df=df, p_value=p_value, method="pearson", notes=notes)


def _moments_given_margins(table: Floats) -> tuple[float, float]:
    """Exact mean and variance of Pearson's χ² over all tables with the same margins (Haldane 1940; Dawson 1954)."""
    n = float(table.sum())
    k = np.array(table.shape)
    inverse = np.array([np.sum(1 / table.sum(axis=1)), np.sum(1 / table.sum(axis=0))])
    v = (n - k) * (k - 1) / (n - 1)
    w = (n * inverse - k**2) / (n - 2)
    mean = float(np.prod(k - 1)) * n / (n - 1)
    return mean, float(2 * n / (n - 3) * np.prod(v - w) + n**2 / (n - 1) * np.prod(w))


def _whitened_margins(evidence: Evidence, first: Channels, second: Channels) -> tuple[Floats, Floats, Floats]:
    """Maps L₁, L₂ and the table P of report shares; ``L₁ P L₂ᵀ`` is D where Σ₁⊗Σ₂ is the identity."""
    table = evidence.shares.reshape(first.reports, second.reports)
    return whitened(first.inverse, table.sum(axis=1)), whitened(second.inverse, table.sum(axis=0)), table


def whitened(correction: Inverse, shares: Floats) -> Floats:
    """Rows L (A − A p 1ᵀ), where L Σ Lᵀ = I for the covariance Σ = A (diag(p) − p pᵀ) Aᵀ of one debiased answer."""
    refuse_large(max(correction.shape))
    values, vectors = np.linalg.eigh(correction.covariance(shares))
    kept = values > _RANK_TOLERANCE * values[-1]
    if not np.any(kept) or values[-1] <= 0:
        raise EstimationError(ONE_REPORT)
    centred = correction.as_matrix() - correction.apply(shares)[:, None]
    return np.asarray((vectors[:, kept] / np.sqrt(values[kept])).T @ centred)


def _rao_scott(evidence: Evidence, first: Channels, second: Channels) -> IndependenceTest:
    left, right, table = _whitened_margins(evidence, first, second)
    refuse_large(left.shape[0] * right.shape[0])
    refuse_large(table.size)
    contrasts = np.asarray(np.kron(left, right), float)
    one_design = len(first.mechanisms) == len(second.mechanisms) == 1
    return rao_scott(evidence, contrasts, contrasts @ evidence.shares, one_design=one_design)


def rao_scott(evidence: Evidence, contrasts: Floats, departure: Floats, *, one_design: bool = True) -> IndependenceTest:
    """Whether ``departure = L p̂ − constant`` is zero, when its covariance V is not the one that ‖departure‖² assumes.

    ‖departure‖² is a sum of χ²₁ weighted by generalised design effects, the eigenvalues of ``R⁻¹V`` for the covariance
    R that a simple random sample has at the same table. Their mean and the mean of their squares are matched (Rao and
    Scott 1984), as an F test with the degrees of freedom of the survey (Thomas and Rao 1987). V and R are both taken at
    the observed table: V alone would grow with the association and hide it.

    Parameters
    ----------
    contrasts : array (degrees of freedom, reports)
        L, scaled so that V would be identity/n for a simple random sample and one design under independence.
    one_design : bool
        Whether it is so scaled; with designs that differ by row V itself is the reference.
    """
    spread = Multinomial(evidence.shares, evidence.n) if evidence.survey is None else evidence.survey
    if one_design and evidence.survey is not None:
        reference = Multinomial(evidence.shares, evidence.n).covariance(DenseInverse(contrasts)) * evidence.n
        values, vectors = np.linalg.eigh(reference)
        kept = values > _RANK_TOLERANCE * values[-1]
        if not kept.any():
            raise EstimationError("the reports do not vary enough to test independence")
        contrasts = (vectors[:, kept] / np.sqrt(values[kept])).T @ contrasts
    covariance = spread.covariance(DenseInverse(contrasts))
    trace = float(np.trace(covariance))
    if trace <= 0:
        raise EstimationError("the reports do not vary enough to test independence")
    squares = float(np.sum(covariance**2)) - _own_terms(evidence, contrasts)
    df = min(trace**2 / squares, len(contrasts)) if squares > 0 else float(len(contrasts))
    ratio = float(departure @ departure) / trace
    if math.isinf(spread.degrees_of_freedom):
        p_value = chi_square_tail(ratio * df, df)
        return IndependenceTest(statistic=ratio * df, df=df, p_value=p_value, method="rao-scott")
    from scipy.special import fdtrc

    denominator = df * spread.degrees_of_freedom
    p_value = float(fdtrc(df, denominator, ratio))
    return IndependenceTest(statistic=ratio, df=df, p_value=p_value, method="rao-scott", df_denominator=denominator)


def _own_terms(evidence: Evidence, contrasts: Floats) -> float:
    """What every sampling unit adds to tr V̂² by meeting itself, Σ_c ‖u_c‖⁴ for V̂ = Σ_c u_c u_cᵀ.

    E tr V̂² exceeds tr V² by it, and by much when some reports are rare, which made the test far too cautious. Rows of
    the same report with different weights are counted as if their weights were equal, so that at most as much as that
    is taken off. With strata nothing is: units are centred at their stratum, which the sums do not tell; nor with known
    totals, where units count with their residuals.
    """
    survey = evidence.survey
    centred = contrasts - (contrasts @ evidence.shares)[:, None]
    if survey is not None and (len(survey.strata) > 1 or isinstance(survey, Calibrated)):
        return 0.0
    if survey is not None and not isinstance(survey.rows, np.ndarray):
        units = np.asarray(survey.rows @ centred.T) / survey.total
        return float(np.sum(np.sum(units**2, axis=1) ** 2))
    seen = evidence.counts > 0
    fourths = evidence.squares[seen] ** 2 / evidence.counts[seen]
    return float(fourths @ np.sum(centred[:, seen] ** 2, axis=0) ** 2) / evidence.total**4


#: EM stops when no share moves by more than this in a step, or after this many rounds: where it is that slow the
#: likelihood is flat, and the statistic does not depend on where on the flat it stands.
_STILL = 1e-8
_MAX_STEPS = 1000
#: Singular values of directions of length one below this count as zero.
_RANK_TOLERANCE = 1e-8


def joint_independence_test(evidence: Evidence, channels: JointChannels) -> IndependenceTest:
    """Test independence of the truths behind a table of jointly randomised report pairs."""
    rows, columns = channels.shape
    return score_test(evidence, channels.matrix(evidence.shares), rows, columns)


def score_test(evidence: Evidence, channel: Floats, rows: int, columns: int) -> IndependenceTest:
    """The test that the truths behind one column of combined codes (row by row) are independent.

    Also for two variables that were randomised as one attribute, such as genotype and disease.

    Parameters
    ----------
    channel : array (cells, cells)
        K: the probability of every report for every true cell, of full rank.
    """
    refuse_large(len(channel))
    table = evidence.counts.reshape(rows, columns)
    if min(np.count_nonzero(table.sum(axis=1)), np.count_nonzero(table.sum(axis=0))) < 2:
        raise EstimationError(ONE_REPORT)
    shares = evidence.shares[None]
    fitted, directions = independence_fit(shares, channel, rows, columns)
    possible = fitted[0] > 0  # all, unless the channel rules a report out for the fitted truths
    fitted, directions, shares = fitted[:, possible], directions[:, :, possible], shares[:, possible]
    whitened = interaction_basis(fitted, directions)[0]
    if not len(whitened):
        raise EstimationError(ONE_REPORT)
    if evidence.survey is not None:
        contrasts = np.zeros((len(whitened), len(channel)))
        contrasts[:, possible] = whitened / np.sqrt(fitted)
        return rao_scott(evidence, contrasts, contrasts[:, possible] @ (shares - fitted)[0])
    statistic, variance = score_statistic(shares, evidence.n, fitted, whitened[None])
    p_value = matched_tail(float(statistic[0]), len(whitened), float(variance[0]))
    notes = sparse_note(evidence.n * float(fitted.min()))
    return IndependenceTest(
        statistic=float(statistic[0]), df=len(whitened), p_value=p_value, method="score", notes=notes
    )


def independence_fit(shares: Floats, channel: Floats, rows: int, columns: int) -> tuple[Floats, Floats]:
    """Report shares fitted under independence, and how they move with the margins; one line per table of shares.

    The margins maximise ``Σ p̂_y log (Kᵀ(r ⊗ c))_y`` by EM (the expected table of truths given the reports, and its
    margins), extrapolated after every two steps (Varadhan and Roland 2008, scheme S3).

    Returns
    -------
    fitted : array (tables, reports)
        P.
    directions : array (tables, rows + columns, reports)
        ``Kᵀ(e_i ⊗ c)`` and ``Kᵀ(r ⊗ e_j)``.
    """
    margins = np.repeat(np.repeat([1 / rows, 1 / columns], [rows, columns])[None], len(shares), axis=0)
    moving = np.arange(len(shares))
    for _ in range(_MAX_STEPS):
        start, reported = margins[moving], shares[moving]
        once = _expected_margins(start, reported, channel, rows)
        twice = _expected_margins(once, reported, channel, rows)
        margins[moving] = _expected_margins(_extrapolated(start, once, twice), reported, channel, rows)
        moving = moving[np.abs(twice - once).max(axis=1) > _STILL]
        if not moving.size:
            break
    first, second = margins[:, :rows], margins[:, rows:]
    tangent = np.zeros((len(shares), rows + columns, rows, columns))
    for i in range(rows):
        tangent[:, i, i, :] = second
    for j in range(columns):
        tangent[:, rows + j, :, j] = first
    directions = tangent.reshape(len(shares), rows + columns, -1) @ channel
    return (first[:, :, None] * second[:, None, :]).reshape(len(shares), -1) @ channel, directions


def _expected_margins(margins: Floats, shares: Floats, channel: Floats, rows: int) -> Floats:
    """One step of EM: the margins r and c, side by side, of the table of truths that is expected given the reports."""
    first, second = margins[:, :rows], margins[:, rows:]
    product = (first[:, :, None] * second[:, None, :]).reshape(len(shares), -1)
    rates = np.divide(shares, product @ channel, out=np.zeros_like(shares), where=shares > 0)
    expected = (product * (rates @ channel.T)).reshape(len(shares), rows, -1)
    return np.concatenate([expected.sum(axis=2), expected.sum(axis=1)], axis=1)


def _extrapolated(start: Floats, once: Floats, twice: Floats) -> Floats:
    """Where two steps of EM point to; where that leaves the simplex, the second step."""
    step, bend = once - start, twice - 2 * once + start
    length = np.linalg.norm(bend, axis=1, keepdims=True)
    reach = np.divide(np.linalg.norm(step, axis=1, keepdims=True), length, out=np.ones_like(length), where=length > 0)
    far = start + 2 * reach * step + reach**2 * bend
    return np.where(np.all((far > 0) | (twice == 0), axis=1, keepdims=True), far, twice)


def interaction_basis(fitted: Floats, directions: Floats) -> Floats:
    """An orthonormal basis of the residuals' directions that the margins cannot explain: (tables, dimensions, reports).

    The directions of the margins include √P itself, along which residuals cannot move.
    """
    whitened = directions / np.sqrt(fitted)[:, None, :]
    length = np.linalg.norm(whitened, axis=2, keepdims=True)
    whitened = np.divide(whitened, length, out=np.zeros_like(whitened), where=length > 0)
    sizes, vectors = np.linalg.svd(whitened)[1:]
    return np.asarray(vectors[:, int(np.sum(sizes > _RANK_TOLERANCE, axis=1).max()) :])


def score_statistic(shares: Floats, n: int, fitted: Floats, basis: Floats) -> tuple[Floats, Floats]:
    """The statistic, n times the squared length of the residuals in the basis, and its variance, one per table.

    With B the projection onto the basis, the quadratic form has the mean tr B = df and the exact variance
    ``2 df + (Σ_y B_yy²/P_y − 2 df − df²)/n`` at known margins. It is 2 df, as for χ², unless reports are rare; then
    it is larger, and is used.
    """
    residuals = (shares - fitted) / np.sqrt(fitted)
    statistic = n * np.sum(np.einsum("tdr,tr->td", basis, residuals) ** 2, axis=1)
    df = basis.shape[1]
    leverage = np.sum(basis**2, axis=1)
    exact = 2 * df + (np.sum(leverage**2 / fitted, axis=1) - 2 * df - df**2) / n
    return statistic, np.where(n * fitted.min(axis=1) < SMALL_EXPECTED, exact, 2.0 * df)
