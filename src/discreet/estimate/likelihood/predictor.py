"""A randomised answer as a *predictor* of a public outcome.

The truth t of a row is unknown; its report y and the covariates tell something about it. With the outcome model
``f(v | x, t)`` and the truth model π_j(x), a row has likelihood ``r = Σ_j π_j(x) Q[j, y] f(v | x, j)``: the likelihood
mixes over the truth (as in the R packages rr, Blair, Imai and Zhou 2015, and RRreg, Heck and Moshagen 2018).
With ω_j the probability of truth j given all that was seen and S_j, H_j the score and Hessian that a known truth j
would have, the score is ``S̄ = Σ ω_j S_j`` and the observed information ``−Σ ω_j H_j − Σ ω_j S_j S_j' + S̄ S̄'``
(Louis 1982).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet import arguments
from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.checks import checked_names, row_of
from discreet.estimate.formulas.new_rows import as_table
from discreet.estimate.likelihood.averaged_effects import averaged_effects
from discreet.estimate.likelihood.class_fit import fit_classes
from discreet.estimate.likelihood.class_source import Seen, look
from discreet.estimate.likelihood.effects import MarginalEffects
from discreet.estimate.likelihood.links import Link, link_named
from discreet.estimate.likelihood.multinomial import class_probabilities
from discreet.estimate.likelihood.multinomial_rows import ClassRows, class_labels, class_rows
from discreet.estimate.likelihood.objective import Terms
from discreet.estimate.likelihood.outcomes import OutcomeModel, outcome_model
from discreet.estimate.likelihood.result import LikelihoodFit
from discreet.estimate.likelihood.rows import ArrayRows
from discreet.estimate.passes import Source, summed
from discreet.estimate.predicted_rows import PredictedMeans
from discreet.estimate.result import frozen


@dataclass(frozen=True, eq=False)
class MixtureModel:
    """Outcome and truth model together; θ = (outcome, class effects, log σ if there is one, truth model)."""

    outcome: OutcomeModel
    classes: int
    columns: int
    truth_columns: int  # how many of the first columns of X the truth model uses

    @property
    def outcome_size(self) -> int:
        """Coefficients of the outcome model, class effects and log σ included."""
        return self.columns + self.classes - 1 + self.outcome.extra

    def _extra(self, theta: Floats) -> Floats:
        return theta[self.outcome_size - self.outcome.extra : self.outcome_size]

    def _joint(self, theta: Floats, rows: ClassRows) -> tuple[Floats, Floats, Floats, Floats]:
        """Log-likelihood of each row, posterior ω, prior π and the outcome's linear predictors by class."""
        truth = theta[self.outcome_size :].reshape(self.classes - 1, self.truth_columns)
        prior = class_probabilities(rows.X[:, : self.truth_columns], truth)
        effects = np.concatenate([[0.0], theta[self.columns : self.columns + self.classes - 1]])
        eta = (rows.X @ theta[: self.columns])[:, None] + effects
        assert rows.outcome is not None
        with np.errstate(divide="ignore"):
            logs = (
                np.log(prior)
                + np.log(rows.given)
                + self.outcome.log_density(rows.outcome[:, None], eta, self._extra(theta))
            )
        top = logs.max(axis=1, keepdims=True)
        with np.errstate(invalid="ignore", under="ignore"):
            shares = np.exp(logs - top)
        total = shares.sum(axis=1)
        return np.log(total) + top[:, 0], shares / total[:, None], prior, eta

    def value(self, theta: Floats, rows: ClassRows) -> float:
        """Log-likelihood."""
        log_made = self._joint(theta, rows)[0]
        return float(log_made.sum() if rows.weights is None else rows.weights @ log_made)

    def scores(self, theta: Floats, rows: ClassRows) -> Floats:
        """The score of each row."""
        _, posterior, prior, eta = self._joint(theta, rows)
        mean = sum(posterior[:, j, None] * self._complete(theta, rows, j, prior, eta)[0] for j in range(self.classes))
        return np.asarray(mean if rows.weights is None else rows.weights[:, None] * mean)

    def terms(self, theta: Floats, rows: ClassRows, curvature: str) -> Terms:
        """Log-likelihood, score and information ("expected": the outer product of scores, its consistent estimate)."""
        log_made, posterior, prior, eta = self._joint(theta, rows)
        weights = np.ones(rows.size) if rows.weights is None else rows.weights
        mean = np.zeros((rows.size, theta.size))
        information = np.zeros((theta.size, theta.size))
        for j in range(self.classes):
            score, design, bread = self._complete(theta, rows, j, prior, eta)
            share = weights * posterior[:, j]
            mean += posterior[:, j, None] * score
            if curvature == "observed":
                information += self.outcome.information(design, bread, share, theta.size)
                information -= score.T @ (share[:, None] * score)
        information += mean.T @ (weights[:, None] * mean)
        if curvature == "observed":
            self._add_truth(information, prior, rows.X[:, : self.truth_columns], weights)
        return Terms(float(weights @ log_made), weights @ mean, information)

    def _complete(
        self, theta: Floats, rows: ClassRows, j: int, prior: Floats, eta: Floats
    ) -> tuple[Floats, Floats, tuple[Floats, ...]]:
        """Scores if the truth were j, the outcome design under j, and the outcome's curvatures."""
        n = rows.size
        switch = np.zeros((n, self.classes - 1))
        if j > 0:
            switch[:, j - 1] = 1.0
        design = np.hstack([rows.X, switch])
        assert rows.outcome is not None
        first, extra, bread = self.outcome.derivatives(rows.outcome, eta[:, j], self._extra(theta))
        short = switch - prior[:, 1:]
        truth = (short[:, :, None] * rows.X[:, None, : self.truth_columns]).reshape(n, -1)
        return np.hstack([first[:, None] * design, extra, truth]), design, bread

    def _add_truth(self, information: Floats, prior: Floats, Z: Floats, weights: Floats) -> None:
        start, size = self.outcome_size, self.truth_columns
        for a in range(self.classes - 1):
            for b in range(self.classes - 1):
                pull = weights * prior[:, a + 1] * ((a == b) - prior[:, b + 1])
                rows, columns = start + a * size, start + b * size
                information[rows : rows + size, columns : columns + size] += Z.T @ (pull[:, None] * Z)


@dataclass(frozen=True, eq=False)
class _Effects:
    """At every point the sum of slopes over rows and what is known about their truths, and of jumps between answers."""

    model: MixtureModel
    link: Link
    points: Floats

    def __call__(self, chunks: Iterator[ClassRows]) -> Floats:
        sums = np.zeros((len(self.points), self.model.classes))
        for rows in chunks:
            weights = np.ones(rows.size) if rows.weights is None else rows.weights
            for place, theta in enumerate(self.points):
                _, posterior, _, eta = self.model._joint(theta, rows)
                _, yes, slope = self.link.parts(eta)  # of the truth that the class would be, one column each
                sums[place, 0] += weights @ np.sum(posterior * slope, axis=1)
                sums[place, 1:] += weights @ (yes[:, 1:] - yes[:, :1])
        return sums


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class PredictorRegression(LikelihoodFit):
    """A regression of a public outcome on a randomised answer; made by :func:`predictor_regression`.

    Coefficients of the outcome come first (covariates, then one effect per class after the first, then log σ for a
    Gaussian outcome), those of the model of the truth after them, under names that begin with ``truth``.
    """

    family: str
    classes: tuple[str, ...]
    outcome_size: int
    #: The randomised column and its true values, of a fit by formula.
    answer: tuple[str, tuple[Any, ...]] | None = None
    seen: Seen

    @property
    def title(self) -> str:
        """How a summary calls the model."""
        return f"{self.family.capitalize()} regression on a randomised predictor"

    @property
    def _plain_covariance(self) -> str:
        return "observed"  # the expected information has no closed form here

    @property
    def effects(self) -> Floats:
        """Effects of the classes after the first on the outcome."""
        stop = self.outcome_size - (self.family == "gaussian")
        return self.coefficients[stop - (len(self.classes) - 1) : stop]

    @property
    def exponentiated(self) -> str | None:
        """What the exponentials of the coefficients are."""
        return "odds ratios" if self.family == "logit" else None

    def predict(self, rows: Any) -> PredictedMeans:
        """What the model predicts for people with these covariates and this *true* answer.

        Parameters
        ----------
        rows : table
            Every column of the right side of the formula, the randomised one with true values.
        """
        if self.matrices is None or self.answer is None:
            raise EstimationError("predictions need a fit by formula")
        name, values = self.answer
        X = self._model_matrix(rows)
        told = as_table(rows, (name,))[name].to_pylist()
        unknown = [row for row, value in enumerate(told) if value not in values]
        if unknown:
            raise EstimationError(
                f'column "{name}", row {unknown[0]} (counted from 0): the value is not one that the model knows'
            )
        switch = np.eye(len(values))[[values.index(value) for value in told]][:, 1:]
        design = np.hstack([X, switch])
        used = design.shape[1]
        eta = design @ self.coefficients[:used]
        slope, mean = np.ones_like(eta), eta
        if self.family != "gaussian":
            _, mean, slope = link_named(self.family).parts(eta)
        jacobian = slope[:, None] * design
        error = np.sqrt(np.einsum("ij,jk,ik->i", jacobian, self.covariance[:used, :used], jacobian))
        scale = "mean" if self.family == "gaussian" else "probability"
        return PredictedMeans(
            estimate=frozen(mean), std_error=frozen(error), scale=scale, freedom=self.degrees_of_freedom
        )

    def marginal_effects(self) -> MarginalEffects:
        """Average marginal effects of every covariate but a constant, and of every answer against the first.

        Of covariates the mean of ``∂E(outcome)/∂x_j`` over the rows and over what is known about the truth of each; of
        answers the mean difference that the truth would make. In a linear model these are the coefficients.
        """
        model = self.objective.model
        assert isinstance(model, MixtureModel)
        size, columns = model.columns, [int(j) for j in np.flatnonzero(~self.seen.constant)]
        names = [*(self.names[j] for j in columns), *self.names[size : size + model.classes - 1]]
        link = None if self.family == "gaussian" else link_named(self.family)

        def average(points: Floats) -> Floats:
            if link is None:
                return points[:, [*columns, *range(size, size + model.classes - 1)]]
            sums = summed(self.objective.source, _Effects(model, link, points)) / self.seen.total
            return np.hstack([sums[:, :1] * points[:, columns], sums[:, 1:]])

        return averaged_effects(average, self.coefficients, self.covariance, names)

    def to_dict(self, level: float = 0.95, method: str | None = None) -> dict[str, Any]:
        """Plain data for JSON."""
        return super().to_dict(level, method) | {"family": self.family, "classes": list(self.classes)}


def predictor_regression(
    outcome: Any,
    X: Any,
    y: Any,
    mechanism: Any,
    *,
    family: str = "logit",
    truth: str = "covariates",
    designs: Any = None,
    weights: Any = None,
    clusters: Any = None,
    strata: Any = None,
    names: Sequence[str] | None = None,
    classes: Sequence[Any] | None = None,
) -> PredictorRegression:
    """Regression of a public outcome on covariates and on a randomised answer.

    Parameters
    ----------
    outcome : array
        The public outcome: 0/1 for "logit" and "probit", numbers for "gaussian".
    truth : {"covariates", "marginal"}
        The model of the truth: a (multinomial) logit on all of X, or the same frequencies for everybody (the first
        column of X must then be constant). If the truth depends on X, "marginal" is wrong and biases the effects.

    The other arguments are those of :func:`multinomial_regression`.
    """
    outcome_model(family)  # an unknown name is refused before any row is read
    truth = arguments.choice(truth, "truth", ("covariates", "marginal"), EstimationError)
    about = {"designs": designs, "weights": weights, "clusters": clusters, "strata": strata}
    if outcome is None:
        raise EstimationError("outcome is missing: one number per row")
    rows, channels = class_rows(X, y, mechanism, outcome=outcome, **about)
    assert rows.outcome is not None
    wrong = (rows.outcome != 0) & (rows.outcome != 1)
    if family != "gaussian" and wrong.any():
        raise EstimationError(f"outcome: {row_of(wrong, 0)} must be 0 or 1")
    columns = checked_names(names, X, rows.X.shape[1])
    source, labels = ArrayRows(rows), class_labels(classes, channels)
    return fit_predictor(source, columns, labels, family=family, truth=truth)


def fit_predictor(
    source: Source, columns: tuple[str, ...], classes: tuple[str, ...], *, family: str, truth: str = "covariates"
) -> PredictorRegression:
    """Fit rows from any source; arguments as for :func:`predictor_regression`."""
    family_model, size = outcome_model(family), len(columns)
    seen = look(source, columns)
    if truth == "marginal" and not seen.constant[0]:
        raise EstimationError('truth="marginal" needs a constant first column in X')
    model = MixtureModel(family_model, len(classes), size, 1 if truth == "marginal" else size)
    full = _names(columns, classes, model)
    metric, scale = _geometry(seen.gram, seen.largest, model)
    start = np.zeros(len(full))
    if family == "gaussian":
        spread = _least_squares(seen, size, start)
        start[model.outcome_size - 1] = math.log(spread)
        metric[: model.outcome_size - 1, : model.outcome_size - 1] /= spread**2
        scale[: model.outcome_size - 1] /= spread
    fields = fit_classes(model, seen, metric, scale, full, start)
    return PredictorRegression(**fields, family=family, classes=classes, outcome_size=model.outcome_size, seen=seen)


def _least_squares(seen: Seen, size: int, start: Floats) -> float:
    """Put the least-squares fit on the covariates alone into the start; the spread of its residuals."""
    triangle = seen.triangle
    start[:size] = np.linalg.solve(triangle[:size, :size], triangle[:size, size])
    left = float(abs(triangle[size, size])) if len(triangle) > size else 0.0
    whole = float(np.linalg.norm(triangle[:, size]))
    if left <= 1e-12 * whole:
        raise EstimationError("outcome is an exact linear function of X; there is nothing to explain")
    return left / math.sqrt(seen.n)


def _names(columns: tuple[str, ...], labels: tuple[str, ...], model: MixtureModel) -> tuple[str, ...]:
    extra = ("log sigma",) if model.outcome.extra else ()
    effects = tuple(f"answer {label}" for label in labels[1:])
    truth = tuple(f"truth {label}: {column}" for label in labels[1:] for column in columns[: model.truth_columns])
    return (*columns, *effects, *extra, *truth)


def _geometry(gram: Floats, largest: Floats, model: MixtureModel) -> tuple[Floats, Floats]:
    """The metric of the linear predictors and the size of each column."""
    size, more = model.columns, model.classes - 1
    metric = np.eye(model.outcome_size + more * model.truth_columns)
    metric[:size, :size] = gram
    metric[size : size + more, size : size + more] = np.eye(more) / model.classes
    inner = gram[: model.truth_columns, : model.truth_columns]
    metric[model.outcome_size :, model.outcome_size :] = np.kron(np.eye(more), inner)
    scale = np.concatenate(
        [largest, np.ones(more + model.outcome.extra), np.tile(largest[: model.truth_columns], more)]
    )
    return metric, scale
