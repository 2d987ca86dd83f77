"""The likelihood of reports about a yes/no truth given covariates.

With the probabilities a (true "no") and b (true "yes") of the report that was made, a row has likelihood
``m = a (1 − G(η)) + b G(η)``, η = x'β + offset. Its derivatives in η are, with g = G' and d = b − a,

* score ``u = d g/m``,
* observed information ``u² − d g'/m``,
* expected information ``Σ_r d_r² g²/m_r``, over all reports r that the row could have made

(Zhang et al. 2025, equation (5), for two reports, where the last sum is ``d² g²/(m (1 − m))`` and the information is
the average over rows; here it is the sum).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import Floats
from discreet.estimate.regressions.likelihood.links import Link
from discreet.estimate.regressions.likelihood.rows import Rows
from discreet.estimate.regressions.optimise import Terms

#: Below this, products of probabilities lose digits or underflow, and logarithms are used.
_TINY = 1e-150


def linear_predictor(theta: Floats, rows: Rows) -> Floats:
    """``x'β + offset`` of each row."""
    eta = rows.X @ theta
    return eta if rows.offset is None else eta + rows.offset


def each_report(rows: Rows) -> Iterator[tuple[Floats, Floats]]:
    """The probabilities of every report under a true "no" and a true "yes"; of size 1 or one per row."""
    return zip(rows.channel[0], rows.channel[1], strict=True)


def report_probabilities(eta: Floats, link: Link, rows: Rows) -> Floats:
    """The probability of every report (one line each) for each row, without cancellation."""
    no, yes, _ = link.parts(eta)
    return np.asarray(rows.channel[0] * no + rows.channel[1] * yes)


@dataclass(frozen=True)
class BinaryModel:
    """A yes/no truth and its reports, through a design that may differ from row to row."""

    link: Link

    def value(self, theta: Floats, rows: Rows) -> float:
        """Log-likelihood."""
        eta = linear_predictor(theta, rows)
        no, yes, _ = self.link.parts(eta)
        made = rows.given_no * no + rows.given_yes * yes
        log_made = self._log(eta, made, rows)
        return float(log_made.sum() if rows.weights is None else rows.weights @ log_made)

    def terms(self, theta: Floats, rows: Rows, curvature: str) -> Terms:
        """Log-likelihood, score and information."""
        value, first, second = self.rowwise(theta, rows, curvature)
        if rows.weights is not None:
            value, first, second = rows.weights * value, rows.weights * first, rows.weights * second
        return Terms(float(value.sum()), rows.X.T @ first, rows.X.T @ (second[:, None] * rows.X))

    def scores(self, theta: Floats, rows: Rows) -> Floats:
        """The score of each row."""
        _, first, _ = self.rowwise(theta, rows, "expected")
        if rows.weights is not None:
            first = rows.weights * first
        return np.asarray(first[:, None] * rows.X)

    def rowwise(self, theta: Floats, rows: Rows, curvature: str) -> tuple[Floats, Floats, Floats]:
        """Log-likelihood of each row, its derivative in η, and the information about η."""
        return self.at(linear_predictor(theta, rows), rows, curvature)

    def at(self, eta: Floats, rows: Rows, curvature: str) -> tuple[Floats, Floats, Floats]:
        """The same for given linear predictors."""
        parts = self.link.parts(eta)
        no, yes, slope = parts
        a, b = rows.given_no, rows.given_yes
        made = a * no + b * yes
        far = made < _TINY
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            log_made = np.log(made)
            first = (b - a) * slope / made
            if curvature == "expected":
                second = np.zeros(eta.size)
                for never, always in each_report(rows):
                    chance, change = never * no + always * yes, (always - never) * slope
                    second += change * (change / chance)
                    far |= chance < _TINY
            else:
                second = first * first - (b - a) * self.link.bend(eta, parts) / made
        if far.any():
            self._far_tails(eta, rows, far, curvature, log_made, first, second)
        return log_made, first, second

    def _log(self, eta: Floats, made: Floats, rows: Rows) -> Floats:
        with np.errstate(divide="ignore"):
            log_made = np.log(made)
        far = made < _TINY
        if far.any():
            no, yes, _ = self.link.logs(eta[far])
            with np.errstate(divide="ignore"):
                log_made[far] = np.logaddexp(np.log(rows.given_no[far]) + no, np.log(rows.given_yes[far]) + yes)
        return np.asarray(log_made)

    def _far_tails(
        self,
        eta: Floats,
        rows: Rows,
        far: NDArray[np.bool_],
        curvature: str,
        log_made: Floats,
        first: Floats,
        second: Floats,
    ) -> None:
        """The same in logarithms, for rows where a probability underflows (only designs that can reveal)."""
        rows = rows.take(np.flatnonzero(far))
        no, yes, slope = self.link.logs(eta[far])
        a, b = rows.given_no, rows.given_yes
        with np.errstate(divide="ignore", under="ignore", over="ignore", invalid="ignore"):
            made = np.logaddexp(np.log(a) + no, np.log(b) + yes)
            log_made[far] = made
            first[far] = np.sign(b - a) * np.exp(np.log(np.abs(b - a)) + slope - made)
            if curvature == "expected":
                total = np.zeros(rows.size)
                for never, always in each_report(rows):
                    chance = np.logaddexp(np.log(never) + no, np.log(always) + yes)
                    # A report that cannot occur, or is no more likely under either truth, carries nothing.
                    part = np.exp(2 * (np.log(np.abs(always - never)) + slope) - chance)
                    total += np.where(np.isfinite(part), part, 0.0)
                second[far] = total
            else:
                # g'/g is smooth where g underflows: a central difference of log g is exact enough out there.
                ahead, behind = self.link.logs(eta[far] + 1e-4)[2], self.link.logs(eta[far] - 1e-4)[2]
                second[far] = first[far] ** 2 - first[far] * (ahead - behind) / 2e-4
        second[far] = np.where(np.isfinite(second[far]), second[far], 0.0)
