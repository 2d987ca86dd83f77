"""Multinomial logit of a one-of-k answer that went through any channel.

With ``π_j(x) ∝ exp(x'β_j)`` (β_0 = 0) and a report's probabilities ``Q[j, y]``, a row has likelihood
``r = Σ_j π_j Q[j, y]``. Write ω_j = π_j Q[j, y]/r for the probabilities of the truth given the report. In the linear
predictors the score is ω − π, the observed information Cov(π) − Cov(ω) (Louis 1982), and the expected information
``Σ_y v_y v_y'/r_y`` with v_y = π ∘ (Q[·, y] − r_y), where Cov(p) = diag(p) − p p'.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet import arguments
from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.data.checks import checked_names
from discreet.estimate.data.map_reduce import Source, summed
from discreet.estimate.formulas.new_rows import is_table
from discreet.estimate.regressions.likelihood.class_fit import fit_classes
from discreet.estimate.regressions.likelihood.class_source import Seen, look
from discreet.estimate.regressions.likelihood.effects import (
    EffectSums,
    MarginalEffects,
    Switches,
    effect_notes,
    switches,
)
from discreet.estimate.regressions.likelihood.multinomial_rows import ClassRows, class_labels, class_rows
from discreet.estimate.regressions.likelihood.result import LikelihoodFit
from discreet.estimate.regressions.likelihood.rows import ArrayRows
from discreet.estimate.regressions.likelihood.truth_given_report import missing_reporting, posterior
from discreet.estimate.regressions.optimise import Terms
from discreet.estimate.regressions.predicted_rows import PredictedMeans
from discreet.estimate.reporting.result import frozen

#: What to fit where a class has no people, as far as the reports tell, at some covariates.
_INSTEAD = (
    "as far as these reports tell, some classes have nobody at some covariates: put them together with others, or ask "
    "for frequencies by group, which need no maximum; Wald intervals of the other coefficients are right"
)


def class_probabilities(X: Floats, coefficients: Floats) -> Floats:
    """``π_j ∝ exp(x'β_j)``; the first class is the reference. Coefficients: (classes − 1, columns)."""
    eta = np.zeros((X.shape[0], coefficients.shape[0] + 1))
    eta[:, 1:] = X @ coefficients.T
    eta -= eta.max(axis=1, keepdims=True)
    shares = np.exp(eta)
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


@dataclass(frozen=True, eq=False)
class MultinomialModel:
    """One-of-k truths seen through one or more channels."""

    channels: tuple[Floats, ...]

    @property
    def classes(self) -> int:
        """Number of true classes."""
        return int(self.channels[0].shape[0])

    def _split(self, theta: Floats, rows: ClassRows) -> tuple[Floats, Floats, Floats]:
        """Prior π, likelihood r and posterior ω of each row."""
        prior = class_probabilities(rows.X, theta.reshape(self.classes - 1, -1))
        joint = prior * rows.given
        made = joint.sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            return prior, made, joint / made[:, None]

    def value(self, theta: Floats, rows: ClassRows) -> float:
        """Log-likelihood."""
        _, made, _ = self._split(theta, rows)
        with np.errstate(divide="ignore"):
            log_made = np.log(made)
        return float(log_made.sum() if rows.weights is None else rows.weights @ log_made)

    def terms(self, theta: Floats, rows: ClassRows, curvature: str) -> Terms:
        """Log-likelihood, score and information."""
        prior, made, posterior = self._split(theta, rows)
        weights = np.ones(rows.size) if rows.weights is None else rows.weights
        with np.errstate(divide="ignore"):
            value = float(weights @ np.log(made))
        score = ((weights[:, None] * (posterior - prior)[:, 1:]).T @ rows.X).reshape(-1)
        if curvature == "expected":
            inner = self._expected(prior, rows)
        else:
            inner = _covariance(prior) - _covariance(posterior)
        return Terms(value, score, _kronecker_sum(weights[:, None, None] * inner[:, 1:, 1:], rows.X))

    def _expected(self, prior: Floats, rows: ClassRows) -> Floats:
        inner = np.zeros((rows.size, self.classes, self.classes))
        for position, channel in enumerate(self.channels):
            which = slice(None) if len(self.channels) == 1 else rows.design == position
            shares = prior[which]
            made = shares @ channel
            with np.errstate(divide="ignore", invalid="ignore"):
                # v_y/√r_y for every report; a report that cannot occur carries nothing.
                moves = shares[:, :, None] * (channel[None] - made[:, None, :]) / np.sqrt(made)[:, None, :]
            moves = np.where(made[:, None, :] > 0, moves, 0.0)
            inner[which] = moves @ moves.transpose(0, 2, 1)
        return inner

    def scores(self, theta: Floats, rows: ClassRows) -> Floats:
        """The score of each row."""
        prior, _, posterior = self._split(theta, rows)
        first = (posterior - prior)[:, 1:]
        if rows.weights is not None:
            first = rows.weights[:, None] * first
        return np.asarray((first[:, :, None] * rows.X[:, None, :]).reshape(rows.size, -1))


def _covariance(shares: Floats) -> Floats:
    matrix = -shares[:, :, None] * shares[:, None, :]
    diagonal = np.arange(shares.shape[1])
    matrix[:, diagonal, diagonal] += shares
    return matrix


def _kronecker_sum(inner: Floats, X: Floats) -> Floats:
    """``Σ_i inner_i ⊗ x_i x_i'``."""
    blocks, size = inner.shape[1], X.shape[1]
    total = np.empty((blocks, size, blocks, size))
    for j in range(blocks):
        for k in range(j, blocks):
            total[j, :, k, :] = X.T @ (inner[:, j, k, None] * X)
            total[k, :, j, :] = total[j, :, k, :].T
    return total.reshape(blocks * size, blocks * size)


def class_effects(
    X: Floats, matrix: Floats, share: Floats, columns: Sequence[int], switched: Switches
) -> tuple[Floats, Floats]:
    """Marginal effects, class by class, summed with the share of every row, and their derivatives.

    Of the ``switched`` columns they are differences between 1 and 0.
    """
    P = class_probabilities(X, matrix)
    B = np.vstack([np.zeros(matrix.shape[1]), matrix])
    pull = _covariance(P)[:, :, 1:]  # dπ_c/dη_l
    ends = {j: _ends(X, matrix, share, j, others) for j, others in switched.items()}
    effects, jacobian = [], []
    for c in range(len(B)):
        for j in columns:
            if j in ends:
                effects.append(float(ends[j][0][c]))
                jacobian.append(ends[j][1][c])
                continue
            beyond = B[c, j] - P @ B[:, j]
            effects.append(float(share @ (P[:, c] * beyond)))
            # The mean Σ_k π_k B_kj moves with η_l by π_l(B_lj − mean).
            drift = P[:, 1:] * (B[1:, j] - (P @ B[:, j])[:, None])
            through_eta = pull[:, c, :] * beyond[:, None] - P[:, [c]] * drift
            row = (through_eta * share[:, None]).T @ X
            row[:, j] += share @ pull[:, c, :]
            jacobian.append(row.ravel())
    return np.array(effects), np.array(jacobian)


def _ends(X: Floats, matrix: Floats, share: Floats, column: int, others: tuple[int, ...]) -> tuple[Floats, Floats]:
    """By how much the probability of every class changes when a column goes from 0 to 1, and the derivatives."""
    change, slopes = np.zeros(len(matrix) + 1), np.zeros((len(matrix) + 1, matrix.size))
    for value in (0.0, 1.0):
        moved = X.copy()
        moved[:, list(others)] = 0.0
        moved[:, column] = value
        P = class_probabilities(moved, matrix)
        pull = np.einsum("n,ncl,np->clp", share, _covariance(P)[:, :, 1:], moved).reshape(P.shape[1], -1)
        sign = 2 * value - 1
        change += sign * (share @ P)
        slopes += sign * pull
    return change, slopes


@dataclass(frozen=True, eq=False)
class _Effects:
    """The pass that adds up marginal effects."""

    matrix: Floats
    columns: tuple[int, ...]
    switched: Switches

    def __call__(self, chunks: Iterator[ClassRows]) -> EffectSums:
        count = (len(self.matrix) + 1) * len(self.columns)
        found = EffectSums(np.zeros(count), np.zeros((count, self.matrix.size)), 0.0)
        for rows in chunks:
            weights = np.ones(rows.size) if rows.weights is None else rows.weights
            own, slope = class_effects(rows.X, self.matrix, weights, self.columns, self.switched)
            found = found + EffectSums(own, slope, float(weights.sum()))
        return found


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class MultinomialRegression(LikelihoodFit):
    """Multinomial logit of a randomised one-of-k answer; made by :func:`multinomial_regression`.

    ``coefficients`` run class by class (the first class is the reference), ``matrix`` has a row for each.
    """

    classes: tuple[str, ...]
    columns: tuple[str, ...]
    seen: Seen

    @property
    def title(self) -> str:
        """How a summary calls the model."""
        return f"Multinomial logit on randomised reports, {len(self.classes)} classes"

    @property
    def matrix(self) -> Floats:
        """Coefficients, one row per class after the first."""
        return self.coefficients.reshape(len(self.classes) - 1, -1)

    def predict(self, X: Any, interval: bool = False) -> Floats | PredictedMeans:
        """Probabilities of the true classes, one row per row of X.

        Parameters
        ----------
        X : table, or array (rows, columns)
            Of a fit by formula: a table with the columns of its right side, and the result has intervals.
        interval : bool
            Return :class:`PredictedMeans`, with standard errors and intervals, instead of the plain array.
        """
        interval = arguments.flag(interval, "interval", EstimationError) or (self.matrices is not None and is_table(X))
        design = self._checked(X)
        shares = class_probabilities(design, self.matrix)
        return self._with_errors(shares, design) if interval else shares

    def truth_given_report(self, rows: Any) -> PredictedMeans:
        """Probabilities of the true classes of people with these covariates who made these reports.

        ``ω_j = π_j Q[j, r]/Σ_k π_k Q[k, r]``, with delta-method errors: ω moves with the linear predictors as π does.

        Parameters
        ----------
        rows : table
            Every column of the formula, the outcome with *reports*.
        """
        if self.reporting is None:
            raise missing_reporting()
        design = self._checked(rows)
        shares = posterior(class_probabilities(design, self.matrix), self.reporting.given(rows))
        return self._with_errors(shares, design)

    def _with_errors(self, shares: Floats, design: Floats) -> PredictedMeans:
        return PredictedMeans(
            estimate=frozen(shares),
            std_error=frozen(self._share_errors(shares, design)),
            scale="probability",
            freedom=self.degrees_of_freedom,
        )

    def _share_errors(self, shares: Floats, design: Floats) -> Floats:
        slopes = _covariance(shares)[:, :, 1:]  # dπ_j/dη_k
        jacobian = (slopes[:, :, :, None] * design[:, None, None, :]).reshape(*shares.shape, -1)
        return np.asarray(np.sqrt(np.einsum("ijp,pq,ijq->ij", jacobian, self.covariance, jacobian)))

    def predict_std_error(self, X: Any) -> Floats:
        """Delta-method standard errors of :meth:`predict`."""
        design = self._checked(X)
        shares = class_probabilities(design, self.matrix)
        return self._share_errors(shares, design)

    def marginal_effects(self) -> MarginalEffects:
        """Average marginal effects of every covariate but a constant on the probability of every true class.

        Means over the rows of ``∂π_c/∂x_j = π_c (B_cj − Σ_k π_k B_kj)``, or of the difference between 1 and 0 for
        columns of a formula that are one or the other, with delta-method standard errors.
        """
        columns = [int(j) for j in np.flatnonzero(~self.seen.constant)]
        source, known = self.objective.source, self.matrices
        switched = {} if known is None else switches(source, columns, known)
        found = summed(source, _Effects(self.matrix, tuple(columns), switched))
        effects, jacobian = found.effects / found.total, found.jacobian / found.total
        names = tuple(f"{c}: {self.columns[j]}" for c in self.classes for j in columns)
        return MarginalEffects(
            names=names,
            coefficients=frozen(effects),
            covariance=frozen(jacobian @ self.covariance @ jacobian.T),
            freedom=self.degrees_of_freedom,
            notes=effect_notes(known),
        ).of(self)

    @property
    def exponentiated(self) -> str | None:
        """What the exponentials of the coefficients are."""
        return "odds ratios"

    def naive(self) -> MultinomialRegression:
        """The same rows with the reports read as truths: what an analyst who ignores the randomisation gets."""
        truthful = (np.eye(len(self.classes)),)
        return _fit(self.seen.literal(len(self.classes)), truthful, self.columns, self.classes)

    def _checked(self, X: Any) -> Floats:
        design = self._model_matrix(X)
        if design.shape[1] != len(self.columns):
            raise EstimationError(f"X must have {len(self.columns)} columns, not {design.shape[1]}")
        return design

    def to_dict(self, level: float = 0.95, method: str | None = None) -> dict[str, Any]:
        """Plain data for JSON."""
        return super().to_dict(level, method) | {"classes": list(self.classes), "columns": list(self.columns)}


def multinomial_regression(
    X: Any,
    y: Any,
    mechanism: Any,
    *,
    designs: Any = None,
    weights: Any = None,
    clusters: Any = None,
    strata: Any = None,
    names: Sequence[str] | None = None,
    classes: Sequence[Any] | None = None,
) -> MultinomialRegression:
    """Multinomial logit of a one-of-k answer, from reports through any k×r channel with independent rows.

    The arguments are those of :func:`binary_regression`; ``classes`` names the classes, the first is the reference.
    """
    about = {"designs": designs, "weights": weights, "clusters": clusters, "strata": strata}
    rows, channels = class_rows(X, y, mechanism, **about)
    columns = checked_names(names, X, rows.X.shape[1])
    return fit_multinomial(ArrayRows(rows), channels, columns, class_labels(classes, channels))


def fit_multinomial(
    source: Source, channels: tuple[Floats, ...], columns: tuple[str, ...], classes: tuple[str, ...]
) -> MultinomialRegression:
    """Fit rows from any source."""
    return _fit(look(source, columns), channels, columns, classes)


def _fit(
    seen: Seen, channels: tuple[Floats, ...], columns: tuple[str, ...], classes: tuple[str, ...]
) -> MultinomialRegression:
    others = len(classes) - 1
    fields = fit_classes(
        MultinomialModel(channels),
        seen,
        np.asarray(np.kron(np.eye(others), seen.gram), float),
        np.tile(seen.largest, others),
        tuple(f"{label}: {column}" for label in classes[1:] for column in columns),
        instead=_INSTEAD,
    )
    return MultinomialRegression(**fields, classes=classes, columns=columns, seen=seen)
