"""Boosted trees for scikit-learn."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from discreet import arguments
from discreet.arguments import Floats
from discreet.errors import InputError, PrivacyError
from discreet.learning.boosting.bounds import FeatureBounds, outcome_ends, scaled_outcome
from discreet.learning.boosting.budget import Budget
from discreet.learning.boosting.ensemble import Boosting, predict_scores
from discreet.learning.boosting.gradients import LogisticLoss, Loss, SoftmaxLoss, SquaredLoss
from discreet.learning.boosting.leaves import KINDS, leaves_of
from discreet.learning.boosting.split_scores import MOST_ROWS
from discreet.learning.boosting.tree import Bins, Growing
from discreet.learning.classes import class_codes, declared_classes
from discreet.learning.promise import central_guarantee, central_words
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
from discreet.randomness import Randomness

#: A larger ε promises nothing.
_MOST_EPSILON = 1_000.0
_MOST_DEPTH = 12
_MOST_ROUNDS = 10_000
_MOST_ENSEMBLES = 1_000
_MOST_POINTS = 300


class _PrivateBoosting(NoisyTags):
    """What both estimators share: settings, the fit of trees, the promise."""

    epsilon: float
    bounds: Any
    leaf: str
    n_estimators: int
    learning_rate: float
    max_depth: int
    max_bins: int
    ensembles: int
    split_share: float
    regularisation: float
    points: int
    clip: bool
    randomness: Randomness | None

    def _fit_trees(self, X: Floats, outcomes: Floats, loss: Loss) -> None:
        """Check the settings, draw the trees, and say what was spent."""
        epsilon = arguments.number(self.epsilon, "epsilon", PrivacyError, above=0, most=_MOST_EPSILON)
        rounds = arguments.whole(self.n_estimators, "n_estimators", least=1, most=_MOST_ROUNDS)
        rate = arguments.number(self.learning_rate, "learning_rate", above=0, most=1)
        share = arguments.number(self.split_share, "split_share", least=0, below=1)
        regularisation = arguments.number(self.regularisation, "regularisation", least=0, most=1e9)
        budget = Budget(
            Fraction(epsilon),
            arguments.whole(self.ensembles, "ensembles", least=1, most=_MOST_ENSEMBLES),
            loss.outputs,
            arguments.whole(self.max_depth, "max_depth", least=1, most=_MOST_DEPTH),
            Fraction(share),
        )
        kind = arguments.choice(self.leaf, "leaf", KINDS)
        points = arguments.whole(self.points, "points", least=3, most=_MOST_POINTS)
        if len(X) < rounds:
            raise InputError(
                f"n_estimators = {rounds} rounds of boosting need at least as many records, one each; "
                f"n_samples = {len(X)}: take fewer rounds"
            )
        if len(X) > MOST_ROWS:
            raise InputError(f"a fit takes up to {MOST_ROWS:,} records")
        bins = self._bins(X)
        source = repeatable(self.randomness)
        leaves = leaves_of(kind, budget.leaf, regularisation, points)
        growing = Growing(budget.depth, self._bin_count(), budget.level, regularisation, leaves)
        boosting = Boosting(loss, growing, rounds, budget.ensembles, rate)
        self.trees_ = boosting.fit(bins, outcomes, source)
        self.loss_ = loss
        self.budget_ = budget
        self.secure_ = source.secure
        self.guarantee_ = central_guarantee(budget.composed(leaves.spent))

    def _bin_count(self) -> int:
        return arguments.whole(self.max_bins, "max_bins", least=2, most=256)

    def _bins(self, X: Floats) -> Bins:
        bounds = FeatureBounds.read(self.bounds, X.shape[1])
        return bounds.bins(X, self._bin_count(), clip=arguments.flag(self.clip, "clip"))

    def _scores(self, X: Any) -> Floats:
        check_is_fitted(self)
        bins = self._bins(features_of(self, X, reset=False))
        return predict_scores(self.trees_, bins, self.loss_.outputs)

    def explain(self) -> str:
        """The promise of the fitted model in words: central, about one record, and where ε went."""
        check_is_fitted(self)
        details = [*self.budget_.lines(), "Public, as declared: the bounds, the classes and every setting."]
        return central_words(type(self).__name__, self.guarantee_, details, secure=self.secure_)


class PrivateBoostingRegressor(_PrivateBoosting, RegressorMixin, BaseEstimator):  # type: ignore[misc]  # no types there
    """Gradient-boosted regression trees whose fitted model is ε-private in every record (central, δ = 0).

    Splits are chosen by the exponential mechanism, leaves are released with noise, both on whole numbers. Each record
    draws the one round of boosting that it takes part in, with public probabilities; the number of records is never
    used.

    Parameters
    ----------
    epsilon : float
        The privacy level of the whole fit: adding or removing one record changes the probability of any fitted model by
        a factor of at most e^ε.
    bounds : pair (low, high)
        Of the features, two numbers or two arrays. Public knowledge, never read off the rows.
    outcome_bounds : pair (low, high)
        Of the outcome, likewise. Predictions stay within them.
    leaf : {"sums", "laplace", "clamped", "bipartite", "optimum"}
        How leaves are released. ``sums`` (ours) is best up to ε = 5 on three tables; ``laplace`` is DPBoost's,
        ``bipartite`` that of brr2026, appendix B.1.
    n_estimators : int
        Rounds of boosting, of each ensemble.
    learning_rate : float
        η; also the share of the records that the first round gets.
    max_depth, max_bins : int
        Levels of splits of every tree, and bins of every feature (at most 256).
    ensembles : int
        Ensembles that follow one another, each on all records and with an equal share of ε.
    split_share : float
        Which part of a tree's ε goes to its splits. With 0 splits are drawn blindly.
    regularisation : float
        λ, added to the counts of nodes and leaves.
    points : int
        Points on which ``bipartite`` and ``optimum`` write the value of a leaf.
    clip : bool
        Move features and outcomes outside of their bounds to the nearest bound, instead of refusing them.
    randomness : Randomness, optional
        The secure source by default. ``Randomness.seeded(n)`` repeats a fit, and breaks its promise.

    Attributes
    ----------
    guarantee_ : Guarantee
        What the fit has spent, by exact composition.
    trees_ : list
        The released trees, one list per round.
    secure_ : bool
        Whether the randomness was secure.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import Randomness
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 1, (4000, 3))
    >>> y = 10 * X[:, 0] + rng.normal(0, 1, 4000)
    >>> model = PrivateBoostingRegressor(1.0, (0, 1), (-5, 15), n_estimators=20, clip=True,
    ...                                  randomness=Randomness.seeded(1))
    >>> bool(model.fit(X, y).score(X, y) > 0.6)
    True
    >>> model.guarantee_.epsilon
    1.0

    References
    ----------
    Q. Li, Z. Wu, Z. Wen and B. He (2020), Privacy-preserving gradient boosting decision trees, AAAI 34.
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        bounds: Any = None,
        outcome_bounds: Any = None,
        leaf: str = "sums",
        *,
        n_estimators: int = 50,
        learning_rate: float = 0.2,
        max_depth: int = 6,
        max_bins: int = 32,
        ensembles: int = 1,
        split_share: float = 0.5,
        regularisation: float = 0.1,
        points: int = 41,
        clip: bool = False,
        randomness: Randomness | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.bounds = bounds
        self.outcome_bounds = outcome_bounds
        self.leaf = leaf
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_depth = max_depth
        self.max_bins = max_bins
        self.ensembles = ensembles
        self.split_share = split_share
        self.regularisation = regularisation
        self.points = points
        self.clip = clip
        self.randomness = randomness

    def fit(self, X: Any, y: Any) -> Self:
        """Fit on rows of numbers and one outcome each."""
        features = features_of(self, X, reset=True)
        ends = outcome_ends(self.outcome_bounds)
        outcome = scaled_outcome(numbers_of(y, len(features)), ends, clip=arguments.flag(self.clip, "clip"))
        self._fit_trees(features, outcome, SquaredLoss())
        self.outcome_ends_ = ends
        return self

    def predict(self, X: Any) -> Floats:
        """Predicted outcomes, within ``outcome_bounds``."""
        scores = self._scores(X)[:, 0]
        low, high = self.outcome_ends_
        return np.asarray(np.clip(low + (scores + 1) / 2 * (high - low), low, high))


class PrivateBoostingClassifier(_PrivateBoosting, ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # no types there
    """Gradient-boosted classification trees whose fitted model is ε-private in every record (central, δ = 0).

    As :class:`PrivateBoostingRegressor`, with log loss. Two classes need one tree a round; k > 2 classes need k
    trees, which share the privacy level of their round.

    Parameters
    ----------
    epsilon : float
        The privacy level of the whole fit.
    bounds : pair (low, high)
        Of the features, two numbers or two arrays; public knowledge.
    classes : sequence
        All classes that there can be; public knowledge, never read off the rows.
    leaf, n_estimators, learning_rate, max_depth, max_bins, ensembles, split_share, regularisation, points
        As for the regressor.
    clip, randomness
        As for the regressor.

    Attributes
    ----------
    classes_ : array
        As declared, in sorted order.
    guarantee_ : Guarantee
        What the fit has spent, by exact composition.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import Randomness
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (4000, 3))
    >>> y = np.where(X[:, 0] + X[:, 1] > 0, "yes", "no")
    >>> model = PrivateBoostingClassifier(1.0, (-1, 1), ["no", "yes"], randomness=Randomness.seeded(1))
    >>> bool(model.fit(X, y).score(X, y) > 0.8)
    True
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        bounds: Any = None,
        classes: Any = None,
        leaf: str = "sums",
        *,
        n_estimators: int = 50,
        learning_rate: float = 0.2,
        max_depth: int = 6,
        max_bins: int = 32,
        ensembles: int = 1,
        split_share: float = 0.5,
        regularisation: float = 0.1,
        points: int = 41,
        clip: bool = False,
        randomness: Randomness | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.bounds = bounds
        self.classes = classes
        self.leaf = leaf
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_depth = max_depth
        self.max_bins = max_bins
        self.ensembles = ensembles
        self.split_share = split_share
        self.regularisation = regularisation
        self.points = points
        self.clip = clip
        self.randomness = randomness

    def fit(self, X: Any, y: Any) -> Self:
        """Fit on rows of numbers and one class each."""
        features = features_of(self, X, reset=True)
        self.classes_ = declared_classes(self.classes)
        codes = class_codes(one_per_row(y, len(features)), self.classes_)
        loss = LogisticLoss() if self.classes_.size == 2 else SoftmaxLoss(int(self.classes_.size))
        self._fit_trees(features, codes.astype(np.float64), loss)
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
