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
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet import arguments
from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.data.checks import checked_names, row_of
from discreet.estimate.data.map_reduce import Source, summed
from discreet.estimate.regressions.likelihood.answer_coding import AnswerCoding
from discreet.estimate.regressions.likelihood.averaged_effects import averaged_effects
from discreet.estimate.regressions.likelihood.class_fit import fit_classes
from discreet.estimate.regressions.likelihood.class_source import Seen, look
from discreet.estimate.regressions.likelihood.effects import MarginalEffects, Switches, effect_notes, switches
from discreet.estimate.regressions.likelihood.links import Link, link_named
from discreet.estimate.regressions.likelihood.multinomial import class_probabilities
from discreet.estimate.regressions.likelihood.multinomial_rows import ClassRows, class_labels, class_rows
from discreet.estimate.regressions.likelihood.outcomes import OutcomeModel, outcome_model
from discreet.estimate.regressions.likelihood.result import LikelihoodFit
from discreet.estimate.regressions.likelihood.rows import ArrayRows
from discreet.estimate.regressions.optimise import Terms
from discreet.estimate.regressions.predicted_rows import PredictedMeans
from discreet.estimate.reporting.result import frozen


@dataclass(frozen=True, eq=False)
class MixtureModel:
    """Outcome and truth model together; θ = (outcome, effects of the answer, log σ if there is one, truth model)."""

    outcome: OutcomeModel
    coding: Floats  # (classes, effects): η = x'β + coding[t] γ
    columns: int
    truth_columns: int  # how many of the first columns of X the truth model uses

    @property
    def classes(self) -> int:
        """Number of true classes."""
        return int(self.coding.shape[0])

    @property
    def effects(self) -> slice:
        """Where the effects of the answer stand in θ."""
        return slice(self.columns, self.columns + int(self.coding.shape[1]))

    @property
    def outcome_size(self) -> int:
        """Coefficients of the outcome model, effects of the answer and log σ included."""
        return self.columns + int(self.coding.shape[1]) + self.outcome.extra

    def _extra(self, theta: Floats) -> Floats:
        return theta[self.outcome_size - self.outcome.extra : self.outcome_size]

    def _joint(self, theta: Floats, rows: ClassRows) -> tuple[Floats, Floats, Floats, Floats]:
        """Log-likelihood of each row, posterior ω, prior π and the outcome's linear predictors by class."""
        truth = theta[self.outcome_size :].reshape(self.classes - 1, self.truth_columns)
        prior = class_probabilities(rows.X[:, : self.truth_columns], truth)
        eta = (rows.X @ theta[: self.columns])[:, None] + self.coding @ theta[self.effects]
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
        design = np.hstack([rows.X, np.broadcast_to(self.coding[j], (n, self.coding.shape[1]))])
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
    """The pass that adds up, at every point, the effects of covariates and of the answer on the probability."""

    model: MixtureModel
    link: Link
    points: Floats
    columns: tuple[int, ...]
    switched: Switches
    classes: bool  # of the answer differences to its first value, or the slope of its number

    def __call__(self, chunks: Iterator[ClassRows]) -> Floats:
        answers = self.model.effects.stop - self.model.effects.start
        sums = np.zeros((len(self.points), len(self.columns) + answers))
        for rows in chunks:
            weights = np.ones(rows.size) if rows.weights is None else rows.weights
            for place, theta in enumerate(self.points):
                sums[place] += weights @ self._of(theta, rows)
        return sums

    def _of(self, theta: Floats, rows: ClassRows) -> Floats:
        """Of every row, over what is known about its truth."""
        link = self.link
        _, posterior, _, eta = self.model._joint(theta, rows)
        parts = link.parts(eta)  # as if the truth were each class
        slope = np.sum(posterior * parts[2], axis=1)
        found = []
        for j in self.columns:
            if j not in self.switched:
                found.append(slope * theta[j])
                continue
            others = list(self.switched[j])
            off = eta - (rows.X[:, others] @ theta[others])[:, None]
            found.append(np.sum(posterior * (link.parts(off + theta[j])[1] - link.parts(off)[1]), axis=1))
        if self.classes:
            return np.column_stack([*found, parts[1][:, 1:] - parts[1][:, :1]])
        return np.column_stack([*found, *(slope * one for one in theta[self.model.effects])])


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class PredictorRegression(LikelihoodFit):
    """A regression of a public outcome on a randomised answer; made by :func:`predictor_regression`.

    Coefficients of the outcome come first (covariates, then the effects of the answer: one per class after the first,
    or one slope where a formula has it as a number; then log σ for a Gaussian outcome), those of the model of the truth
    after them, under names that begin with ``truth``.
    """

    family: str
    classes: tuple[str, ...]
    outcome_size: int
    coding: AnswerCoding
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
        """Effects of the answer on the outcome: of the classes after the first, or of its number."""
        return self.coefficients[self._model.effects]

    @property
    def _model(self) -> MixtureModel:
        model = self.objective.model
        assert isinstance(model, MixtureModel)
        return model

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
        if self.matrices is None or self.coding.matrices is None:
            raise EstimationError("predictions need a fit by formula")
        design = np.hstack([self._model_matrix(rows), self.coding.at(rows)])
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
        """Average marginal effects of every covariate but a constant, and of the answer.

        Of covariates the mean of ``∂E(outcome)/∂x_j``, or of the difference between 1 and 0 for columns of a formula
        that are one or the other, over the rows and over what is known about the truth of each; of a number likewise;
        of answers the mean difference that each would make to the first. In a linear model these are the coefficients.
        """
        model, link = self._model, None if self.family == "gaussian" else link_named(self.family)
        columns = [int(j) for j in np.flatnonzero(~self.seen.constant)]
        source = self.objective.source
        switched = {} if self.matrices is None else switches(source, columns, self.matrices)
        names = [*(self.names[j] for j in columns), *self.names[model.effects]]

        def average(points: Floats) -> Floats:
            if link is None:
                return points[:, [*columns, *range(*model.effects.indices(points.shape[1]))]]
            effects = _Effects(model, link, points, tuple(columns), switched, classes=self.coding.classes)
            return np.asarray(summed(source, effects) / self.seen.total)

        known = (self.coefficients, self.covariance, names, self.degrees_of_freedom)
        return averaged_effects(average, *known, effect_notes(self.matrices)).of(self)

    def naive(self) -> PredictorRegression:
        """The same rows with the reports read as truths: what an analyst who ignores the randomisation gets."""
        seen = self.seen.literal(len(self.classes))
        marginal = self._model.truth_columns < self._model.columns
        truth = "marginal" if marginal else "covariates"
        fit = _fit(seen, self.names[: self._model.columns], self.classes, self.family, truth, self.coding)
        return replace(fit, matrices=self.matrices)

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
    source: Source,
    columns: tuple[str, ...],
    classes: tuple[str, ...],
    *,
    family: str,
    truth: str = "covariates",
    coding: AnswerCoding | None = None,
) -> PredictorRegression:
    """Fit rows from any source; arguments as for :func:`predictor_regression`, and how the answer is coded."""
    seen = look(source, columns)
    if truth == "marginal" and not seen.constant[0]:
        raise EstimationError('truth="marginal" needs a constant first column in X')
    return _fit(seen, columns, classes, family, truth, coding or AnswerCoding.of_classes(classes))


def _fit(
    seen: Seen, columns: tuple[str, ...], classes: tuple[str, ...], family: str, truth: str, coding: AnswerCoding
) -> PredictorRegression:
    size = len(columns)
    model = MixtureModel(outcome_model(family), coding.values, size, 1 if truth == "marginal" else size)
    full = _names(columns, classes, coding, model)
    metric, scale = _geometry(seen, model)
    start = np.zeros(len(full))
    if family == "gaussian":
        spread = _least_squares(seen, size, start)
        start[model.outcome_size - 1] = math.log(spread)
        metric[: model.outcome_size - 1, : model.outcome_size - 1] /= spread**2
        scale[: model.outcome_size - 1] /= spread
    fields = fit_classes(model, seen, metric, scale, full, start)
    return PredictorRegression(
        **fields, family=family, classes=classes, outcome_size=model.outcome_size, coding=coding, seen=seen
    )


def _least_squares(seen: Seen, size: int, start: Floats) -> float:
    """Put the least-squares fit on the covariates alone into the start; the spread of its residuals."""
    triangle = seen.triangle
    start[:size] = np.linalg.solve(triangle[:size, :size], triangle[:size, size])
    left = float(abs(triangle[size, size])) if len(triangle) > size else 0.0
    whole = float(np.linalg.norm(triangle[:, size]))
    if left <= 1e-12 * whole:
        raise EstimationError("outcome is an exact linear function of X; there is nothing to explain")
    return left / math.sqrt(seen.n)


def _names(
    columns: tuple[str, ...], labels: tuple[str, ...], coding: AnswerCoding, model: MixtureModel
) -> tuple[str, ...]:
    extra = ("log sigma",) if model.outcome.extra else ()
    truth = tuple(f"truth {label}: {column}" for label in labels[1:] for column in columns[: model.truth_columns])
    return (*columns, *coding.names, *extra, *truth)


def _geometry(seen: Seen, model: MixtureModel) -> tuple[Floats, Floats]:
    """The metric of the linear predictors and the size of each column, every class taken to be as likely."""
    gram, largest = seen.gram, seen.largest
    known = np.flatnonzero(seen.constant)  # a constant tells the means of the others
    means = gram[known[0]] / math.sqrt(gram[known[0], known[0]]) if known.size else np.zeros(len(gram))
    size, more, effects = model.columns, model.classes - 1, model.effects
    metric = np.eye(model.outcome_size + more * model.truth_columns)
    metric[:size, :size] = gram
    metric[effects, effects] = model.coding.T @ model.coding / model.classes
    metric[:size, effects] = np.outer(means, model.coding.mean(axis=0))
    metric[effects, :size] = metric[:size, effects].T
    inner = gram[: model.truth_columns, : model.truth_columns]
    metric[model.outcome_size :, model.outcome_size :] = np.kron(np.eye(more), inner)
    answer = np.maximum(np.abs(model.coding).max(axis=0), 1e-300)
    truth = np.tile(largest[: model.truth_columns], more)
    scale = np.concatenate([largest, answer, np.ones(model.outcome.extra), truth])
    return metric, scale
