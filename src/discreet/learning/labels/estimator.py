"""Any classifier of scikit-learn's kind, trained on private labels."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from discreet import arguments
from discreet.arguments import Floats
from discreet.errors import InputError
from discreet.estimate.data.checks import checked_weights
from discreet.learning.classes import class_codes
from discreet.learning.labels.calibration import Calibration, calibrated
from discreet.learning.labels.designs import LabelDesigns
from discreet.learning.labels.undoing import combined, on_simplex, precision, undone
from discreet.learning.promise import local_words
from discreet.learning.scikit import (
    BaseEstimator,
    ClassifierMixin,
    check_is_fitted,
    clone,
    has_fit_parameter,
    one_per_row,
    table_of,
)

_MOST_FOLDS = 100


class FromPrivateLabels(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """A classifier of true classes, trained on randomised labels.

    The given classifier learns the reports; its probabilities are undone through the channel and calibrated on the
    reports by maximum likelihood. Nothing but reports is ever read, so that the promise to each person is that of the
    mechanism.

    Parameters
    ----------
    estimator : classifier
        With ``fit`` and ``predict_proba``: scikit-learn's, LightGBM's, a pipeline. It is cloned, never changed.
    mechanism : FiniteMechanism, or mapping of str to FiniteMechanism
        How labels were randomised; several by the names of designs when rows differ (see ``fit``).
    classes : sequence, optional
        The true classes in the order of the mechanism's codes; 0, 1, … by default.
    reports : sequence, optional
        What the reports are called, in the order of their codes; like the classes where there are as many, else 0, 1,
        ….
    calibration : {"likelihood", "none"}
        ``likelihood`` corrects the probabilities by maximum likelihood through the channel, on guesses for rows that
        the guessing classifier has not seen; ``none`` only projects them to the simplex.
    folds : int
        Parts into which the rows are cut for that.

    Attributes
    ----------
    classes_ : array
        Sorted.
    guarantee_ : Guarantee
        About one label; local, everything else being public.
    estimators_ : list
        The fitted classifiers of reports, one per design.
    calibration_ : Calibration or None

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from discreet import Randomness, mechanisms
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(20000, 1))
    >>> truth = (rng.random(20000) < 1 / (1 + np.exp(-2 * X[:, 0]))).astype(int)
    >>> response = mechanisms.GeneralizedResponse(2, 1.0)
    >>> reports = response.privatize(truth, Randomness.seeded(1))
    >>> model = FromPrivateLabels(LogisticRegression(), response).fit(X, reports)
    >>> model.predict_proba([[-1.0], [1.0]])[:, 1].round(1)
    array([0.1, 0.9])
    """

    def __init__(
        self,
        estimator: Any = None,
        mechanism: Any = None,
        *,
        classes: Any = None,
        reports: Any = None,
        calibration: str = "likelihood",
        folds: int = 5,
    ) -> None:
        self.estimator = estimator
        self.mechanism = mechanism
        self.classes = classes
        self.reports = reports
        self.calibration = calibration
        self.folds = folds

    def fit(self, X: Any, y: Any, *, designs: Any = None, weights: Any = None) -> Self:
        """Fit on rows and their reports.

        Parameters
        ----------
        X : table
            Public features, in any form that the classifier takes.
        y : array
            Reports, by the names that ``reports`` gives them.
        designs : array, optional
            The design of every row, when ``mechanism`` holds several.
        weights : array, optional
            What each row counts, positive: survey weights. The classifier must take ``sample_weight``.
        """
        if not hasattr(self.estimator, "fit") or not hasattr(self.estimator, "predict_proba"):
            raise InputError("estimator must be a classifier with fit and predict_proba")
        calibration = arguments.choice(self.calibration, "calibration", ("likelihood", "none"))
        folds = arguments.whole(self.folds, "folds", least=2, most=_MOST_FOLDS)
        channels = LabelDesigns.read(self.mechanism)
        truths = _named(self.classes, channels.classes, "classes")
        rows = self._features(X, reset=True)
        design = channels.rows(designs, len(rows))
        codes = self._codes(one_per_row(y, len(rows)), design, channels, truths)
        counts = self._row_weights(weights, len(rows))
        order = np.argsort(truths)
        self.classes_, self._order, self._designs = truths[order], order, channels
        self.estimators_, self._shares = self._fitted(rows, codes, design, counts)
        self.calibration_: Calibration | None = None
        if calibration == "likelihood":
            guess = self._guesses(rows, codes, design, counts, min(folds, len(rows)))
            likelihoods = np.empty((len(rows), channels.classes))
            for number, channel in enumerate(channels.channels):
                likelihoods[design == number] = channel[:, codes[design == number]].T
            self.calibration_ = calibrated(guess, likelihoods, np.ones(len(rows)) if counts is None else counts)
        self.guarantee_ = channels.guarantee
        return self

    def predict_proba(self, X: Any) -> Floats:
        """The probability of every true class, in the order of ``classes_``."""
        check_is_fitted(self)
        guess = self._guess(self.estimators_, self._shares, self._features(X, reset=False))
        probabilities = on_simplex(guess) if self.calibration_ is None else self.calibration_.apply(on_simplex(guess))
        return np.asarray(probabilities[:, self._order])

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable true class."""
        probabilities = self.predict_proba(X)
        return np.asarray(self.classes_[probabilities.argmax(axis=1)])

    def explain(self) -> str:
        """The promise in words: local, about one label."""
        check_is_fitted(self)
        details = ["The features are public and not protected; neither is who took part."]
        return local_words(type(self).__name__, self.guarantee_, "their label", details)

    def _features(self, X: Any, *, reset: bool) -> Any:
        return table_of(self, X, reset=reset, least=2 if reset else 1)

    def _codes(
        self, y: Any, design: NDArray[np.intp], channels: LabelDesigns, truths: NDArray[Any]
    ) -> NDArray[np.intp]:
        """The codes of all reports."""
        counts = [one.shape[1] for one in channels.mechanisms.values()]
        if self.reports is not None:
            names = _named(self.reports, max(counts), "reports")
        else:
            names = truths if max(counts) == truths.size else np.arange(max(counts))
        codes = class_codes(y, names)
        beyond = np.flatnonzero(codes >= np.array(counts)[design])
        if beyond.size:
            raise InputError(f"y: row {beyond[0]} (counted from 0) has a report that its design does not give")
        return codes

    def _row_weights(self, weights: Any, rows: int) -> Floats | None:
        """What each row counts, one on average; None where all count alike."""
        if weights is None:
            return None
        if not has_fit_parameter(self.estimator, "sample_weight"):
            raise InputError(
                f"rows have weights, and {type(self.estimator).__name__} takes no sample_weight: use a classifier that "
                "does, or fit without weights (FromRelease: weighted=False)"
            )
        checked = checked_weights(weights, rows)
        return np.asarray(checked / checked.mean())

    def _fitted(
        self, rows: Any, codes: NDArray[np.intp], design: NDArray[np.intp], counts: Floats | None
    ) -> tuple[list[Any], list[float]]:
        """A classifier of reports per design, and the weight of what it says: rows times precision."""
        models: list[Any] = []
        shares = []
        for number, (channel, inverse) in enumerate(zip(self._designs.channels, self._designs.inverses, strict=True)):
            mine = np.flatnonzero(design == number)
            shares.append(mine.size * precision(channel, inverse))
            labels = np.unique(codes[mine])
            if labels.size < 2:  # a classifier needs two kinds of reports; one kind has nothing to be learned from
                models.append(labels)
                continue
            weighted = {} if counts is None else {"sample_weight": counts[mine]}
            models.append(clone(self.estimator).fit(rows[mine], codes[mine], **weighted))
        if not any(shares):
            raise InputError("there are no rows to learn from")
        return models, shares

    def _guess(self, models: list[Any], shares: list[float], rows: Any) -> Floats:
        """Undone probabilities, the designs combined."""
        parts = []
        for model, channel, inverse in zip(models, self._designs.channels, self._designs.inverses, strict=True):
            reports = np.zeros((len(rows), channel.shape[1]))
            if isinstance(model, np.ndarray):
                reports[:, model] = 1.0
            else:
                reports[:, np.asarray(model.classes_, np.intp)] = model.predict_proba(rows)
            parts.append(undone(reports, inverse))
        return combined(parts, shares)

    def _guesses(
        self, rows: Any, codes: NDArray[np.intp], design: NDArray[np.intp], counts: Floats | None, folds: int
    ) -> Floats:
        """For every row, what classifiers say that have not seen it; the folds are the same in every fit."""
        fold = np.random.default_rng(0).permutation(len(rows)) % folds
        guess = np.empty((len(rows), self._designs.classes))
        for number in range(folds):
            aside = fold == number
            kept = None if counts is None else counts[~aside]
            models, shares = self._fitted(rows[~aside], codes[~aside], design[~aside], kept)
            guess[aside] = self._guess(models, shares, rows[aside])
        return on_simplex(guess)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # a label in many is wrong on purpose
        return tags


def _named(names: Any, count: int, what: str) -> NDArray[Any]:
    """Labels in the order of codes; 0, 1, … where none are given."""
    if names is None:
        return np.arange(count)
    given = np.asarray(arguments.listed(names, what))
    if given.ndim != 1 or given.dtype.kind not in "biufUS" or np.unique(given).size != given.size:
        raise InputError(f"{what} must be different labels: all texts, or all numbers")
    if given.size != count:
        raise InputError(f"{what} must be {count} labels, as many as the mechanism has, not {given.size}")
    return given
