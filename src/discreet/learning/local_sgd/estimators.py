"""Local stochastic gradient descent for scikit-learn."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from discreet import arguments
from discreet.arguments import Floats
from discreet.design import mean
from discreet.domains import Grid
from discreet.errors import InputError, PrivacyError
from discreet.learning.boosting.bounds import FeatureBounds, outcome_ends, scaled_outcome
from discreet.learning.boosting.gradients import LogisticLoss, Loss, SoftmaxLoss, SquaredLoss
from discreet.learning.classes import class_codes, declared_classes
from discreet.learning.local_sgd.descent import Descent, estimated_gradient, report
from discreet.learning.local_sgd.model import Model
from discreet.learning.promise import local_words, randomness_words
from discreet.learning.scikit import (
    BaseEstimator,
    ClassifierMixin,
    NoisyTags,
    RegressorMixin,
    check_is_fitted,
    features_of,
    numbers_of,
    one_per_row,
    repeatable,
)
from discreet.mechanisms import UnbiasedResponse
from discreet.privacy import Guarantee
from discreet.randomness import Randomness, permutation

_MOST_HIDDEN = 256
_MOST_BATCH = 1 << 24
#: Points of [−C, C] between which gradients are rounded at random; 11 cost a hundredth of the variance.
_POINTS = 11
#: Parameters of a model: beyond it one coordinate a person says nothing.
_MOST_PARAMETERS = 1 << 20


@lru_cache(maxsize=64)
def _mechanism(epsilon: float) -> UnbiasedResponse:
    """The unbiased mechanism of least variance on [−1, 1], whose linear programme takes a second."""
    return mean(Grid(-1.0, 1.0, _POINTS), epsilon).mechanism


class _LocalSGD(NoisyTags):
    """What both estimators share: settings, one pass over people, the promise."""

    epsilon: float
    bounds: Any
    hidden: int
    learning_rate: float
    batch_size: int
    gradient_clip: float
    clip: bool
    randomness: Randomness | None

    def _begin(self, features: int, loss: Loss) -> None:
        """Check the settings and put the model at its start."""
        epsilon = arguments.number(self.epsilon, "epsilon", PrivacyError, above=0)
        hidden = arguments.whole(self.hidden, "hidden", most=_MOST_HIDDEN)
        self.loss_ = loss
        self.network_ = Model(features, loss.outputs, hidden)
        if self.network_.size > _MOST_PARAMETERS:
            raise InputError(f"a model of {self.network_.size:,} parameters is too large for one coordinate a person")
        self.mechanism_ = _mechanism(epsilon)
        self.descent_ = Descent.begin(self.network_)
        self._source = repeatable(self.randomness)
        self.secure_ = self._source.secure
        self.guarantee_ = replace(
            Guarantee(self.mechanism_.guarantee.epsilon, unit="record"),
            caveats=("everybody contributes once: a record that is passed to a fit again spends ε again",),
        )

    def _contribute(self, X: Floats, outcomes: Floats) -> None:
        """Everybody reports once; a step per batch of people, who come in random order."""
        rate = arguments.number(self.learning_rate, "learning_rate", above=0, most=1e6)
        clip = arguments.number(self.gradient_clip, "gradient_clip", above=0, most=1e6)
        size = arguments.whole(self.batch_size, "batch_size", least=1, most=_MOST_BATCH)
        order = permutation(len(X), self._source)
        for start in range(0, len(X), size):
            batch = order[start : start + size]
            parameters = self.descent_.parameters
            slopes = self.loss_.gradients(self.network_.scores(parameters, X[batch]), outcomes[batch])
            which, values = report(self.network_, parameters, X[batch], slopes, clip, self.mechanism_, self._source)
            gradient = estimated_gradient(self.network_, which, values, clip)
            # A last, smaller batch goes a shorter way.
            self.descent_.step(gradient, rate * len(batch) / size, len(batch))

    def _inputs(self, X: Any, *, reset: bool) -> Floats:
        """Features scaled to [−1, 1] by their public bounds."""
        read = features_of(self, X, reset=reset)
        return FeatureBounds.read(self.bounds, read.shape[1]).scaled(read, clip=arguments.flag(self.clip, "clip"))

    def _scores(self, X: Any) -> Floats:
        check_is_fitted(self, "descent_")
        return self.network_.scores(self.descent_.mean, self._inputs(X, reset=False))

    def explain(self) -> str:
        """The promise in words: local, about one record."""
        check_is_fitted(self, "descent_")
        details = [
            f"One of {self.network_.size:,} coordinates of each person's clipped gradient was reported, drawn "
            "without looking at the record.",
            "Who took part, and in which batch, is not protected.",
            randomness_words(secure=self.secure_),
        ]
        return local_words(type(self).__name__, self.guarantee_, "their record", details)


class LocalSGDRegressor(_LocalSGD, RegressorMixin, BaseEstimator):  # type: ignore[misc]  # no types there
    """Least squares by stochastic gradients that people randomise themselves (local, ε per record).

    Each person contributes once, one random coordinate of their clipped gradient, through the unbiased mechanism of
    least variance. It needs many people: the variance of an estimated gradient grows with the number of parameters.

    Parameters
    ----------
    epsilon : float
        Privacy level of a person's report, from 0.01 to 8.
    bounds, outcome_bounds : pair (low, high)
        Public, as for the boosted trees; features and outcome are scaled to [−1, 1] by them.
    hidden : int
        Units of a hidden layer; 0 is a linear model.
    learning_rate, batch_size
        Step t goes ``learning_rate/√t`` along the mean report of a batch.
    gradient_clip : float
        C: coordinates of a gradient are clipped to ±C. A public number.
    clip : bool
        Move features and outcomes outside of their bounds to the nearest bound.
    randomness : Randomness, optional
        The secure source by default.

    Attributes
    ----------
    guarantee_ : Guarantee
        Local; nobody is asked twice, so nothing adds up over steps.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import Randomness
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (100_000, 2))
    >>> y = 0.5 * X[:, 0] + rng.normal(0, 0.1, 100_000)
    >>> model = LocalSGDRegressor(2.0, (-1, 1), (-1, 1), clip=True, randomness=Randomness.seeded(1))
    >>> bool(model.fit(X, y).score(X, y) > 0.7)
    True
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        bounds: Any = None,
        outcome_bounds: Any = None,
        *,
        hidden: int = 0,
        learning_rate: float = 1.0,
        batch_size: int = 1000,
        gradient_clip: float = 1.0,
        clip: bool = False,
        randomness: Randomness | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.bounds = bounds
        self.outcome_bounds = outcome_bounds
        self.hidden = hidden
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.gradient_clip = gradient_clip
        self.clip = clip
        self.randomness = randomness

    def fit(self, X: Any, y: Any) -> Self:
        """One pass over people, from the start."""
        return self._learn(X, y, reset=True)

    def partial_fit(self, X: Any, y: Any) -> Self:
        """One pass over people who have not contributed yet, from where the model is."""
        return self._learn(X, y, reset=not hasattr(self, "descent_"))

    def _learn(self, X: Any, y: Any, *, reset: bool) -> Self:
        features = self._inputs(X, reset=reset)
        ends = outcome_ends(self.outcome_bounds)
        outcomes = scaled_outcome(numbers_of(y, len(features)), ends, clip=arguments.flag(self.clip, "clip"))
        if reset:
            self._begin(features.shape[1], SquaredLoss())
        self._contribute(features, outcomes)
        self.outcome_ends_ = ends
        return self

    def predict(self, X: Any) -> Floats:
        """Predicted outcomes, within ``outcome_bounds``."""
        scores = self._scores(X)[:, 0]
        low, high = self.outcome_ends_
        return np.asarray(np.clip(low + (scores + 1) / 2 * (high - low), low, high))


class LocalSGDClassifier(_LocalSGD, ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # no types there
    """Logistic regression or a small network by stochastic gradients that people randomise themselves (local).

    As :class:`LocalSGDRegressor`, with log loss; gradients of a linear model on scaled features are within [−1, 1] by
    themselves, so that nothing is clipped at the default.

    Parameters
    ----------
    epsilon : float
        Privacy level of a person's report, from 0.01 to 8.
    bounds : pair (low, high)
        Of the features; public.
    classes : sequence
        All classes that there can be; public.
    hidden, learning_rate, batch_size, gradient_clip, clip, randomness
        As for the regressor.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import Randomness
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (100_000, 2))
    >>> y = (rng.random(100_000) < 1 / (1 + np.exp(-4 * X[:, 0]))).astype(int)
    >>> model = LocalSGDClassifier(2.0, (-1, 1), (0, 1), randomness=Randomness.seeded(1)).fit(X, y)
    >>> bool(model.score(X, y) > 0.75), round(model.guarantee_.epsilon, 6)
    (True, 2.0)
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        bounds: Any = None,
        classes: Any = None,
        *,
        hidden: int = 0,
        learning_rate: float = 4.0,
        batch_size: int = 1000,
        gradient_clip: float = 1.0,
        clip: bool = False,
        randomness: Randomness | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.bounds = bounds
        self.classes = classes
        self.hidden = hidden
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.gradient_clip = gradient_clip
        self.clip = clip
        self.randomness = randomness

    classes_: NDArray[Any]

    def fit(self, X: Any, y: Any) -> Self:
        """One pass over people, from the start."""
        return self._learn(X, y, self.classes, reset=True)

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """One pass over people who have not contributed yet, from where the model is.

        Parameters
        ----------
        classes : sequence, optional
            All classes, if they were not declared before; asked for in the first call only.
        """
        declared = self.classes if classes is None else classes
        return self._learn(X, y, declared, reset=not hasattr(self, "descent_"))

    def _learn(self, X: Any, y: Any, classes: Any, *, reset: bool) -> Self:
        features = self._inputs(X, reset=reset)
        known: NDArray[Any] = declared_classes(classes) if reset else self.classes_
        codes = class_codes(one_per_row(y, len(features)), known)
        if reset:
            self.classes_ = known
            self._begin(features.shape[1], LogisticLoss() if known.size == 2 else SoftmaxLoss(int(known.size)))
        self._contribute(features, codes.astype(np.float64))
        return self

    def predict_proba(self, X: Any) -> Floats:
        """The probability of every class, in the order of ``classes_``."""
        scores = self._scores(X)
        assert not isinstance(self.loss_, SquaredLoss)
        return self.loss_.probabilities(scores)

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class."""
        probabilities = self.predict_proba(X)
        return np.asarray(self.classes_[probabilities.argmax(axis=1)])
