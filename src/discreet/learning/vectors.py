"""Records randomised feature by feature, for any model downstream."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from discreet import arguments
from discreet.arguments import Floats
from discreet.design import bipartite, expected_error, mean, split_budget
from discreet.domains import FiniteDomain, Grid, Ordinal
from discreet.errors import DiscreetError, DomainError, InputError, PrivacyError
from discreet.learning.classes import class_codes, declared_classes
from discreet.learning.promise import local_words, randomness_words
from discreet.learning.scikit import (
    BaseEstimator,
    TransformerMixin,
    check_is_fitted,
    one_per_row,
    repeatable,
    table_of,
)
from discreet.mechanisms import FiniteMechanism, GeneralizedResponse, UnbiasedResponse
from discreet.mechanisms.published_baselines import clamped_laplace
from discreet.privacy import Guarantee
from discreet.randomness import Randomness

MECHANISMS = ("bipartite", "unbiased", "optimum", "clamped-laplace")


class PrivateVectors(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Randomise every feature by its public domain, with a budget over all of them (local, ε per record).

    Numbers stay numbers (the reported ones); a category becomes columns of 0 and 1, one per value, for the reported
    one. The levels of the features add up to ε: with many features there is little for each, and a model trained on
    the result predicts hardly better than one that knows no features (see the page on learning).

    Parameters
    ----------
    epsilon : float
        Of all features of a record together.
    domains : domain, or sequence of domains
        Grid, Ordinal, Binary or Categorical, one per feature or one for all. Public knowledge.
    label : {"public"} or float
        What is done with the label that a model will be trained on: declared public, and then not protected; or
        randomised by :meth:`privatize_label` at this level, which adds to ε.
    mechanism : {"bipartite", "unbiased", "optimum", "clamped-laplace"}
        For ordered domains; the others get generalised response.
    split : {"equal", "error"}
        Every feature the same, or budgets of least total expected error (``design.split_budget``, ordered domains and
        bipartite response only).
    classes : sequence, optional
        All classes of the label, if it is randomised.
    clip : bool
        Move numbers outside of their domain to its nearest end.
    randomness : Randomness, optional
        The secure source by default.

    Attributes
    ----------
    guarantee_ : Guarantee
        Of one call of ``transform`` per record, with the label; randomising the same record again spends again.
    mechanisms_ : list
    epsilons_ : list of float
    label_mechanism_ : FiniteMechanism or None
        For :class:`FromPrivateLabels`.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import Grid, Randomness
    >>> ages = PrivateVectors(2.0, [Grid(0, 100, 21), Grid(0, 24, 13)], randomness=Randomness.seeded(1))
    >>> ages.fit_transform(np.array([[30.0, 8.0], [71.0, 6.5]])).shape
    (2, 2)
    >>> round(ages.guarantee_.epsilon, 6)
    2.0
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        domains: Any = None,
        label: Any = "public",
        *,
        mechanism: str = "bipartite",
        split: str = "equal",
        classes: Any = None,
        clip: bool = False,
        randomness: Randomness | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.domains = domains
        self.label = label
        self.mechanism = mechanism
        self.split = split
        self.classes = classes
        self.clip = clip
        self.randomness = randomness

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002  # scikit-learn passes labels to every step
        """Design the mechanisms; of the rows nothing is used but the number and names of columns."""
        count = table_of(self, X, reset=True).shape[1]
        epsilon = arguments.number(self.epsilon, "epsilon", PrivacyError, above=0, most=1e4)
        kind = arguments.choice(self.mechanism, "mechanism", MECHANISMS)
        split = arguments.choice(self.split, "split", ("equal", "error"))
        arguments.flag(self.clip, "clip")
        self.domains_ = _listed(self.domains, count)
        if split == "error":
            if kind != "bipartite" or not all(isinstance(one, (Grid, Ordinal)) for one in self.domains_):
                raise InputError('split="error" is for bipartite response on ordered domains (Grid, Ordinal)')
            found = split_budget(self.domains_, epsilon)
            self.mechanisms_: list[FiniteMechanism] = [one.mechanism for one in found.designs]
        else:
            each = epsilon / count
            while math.fsum([each] * count) > epsilon:
                each = math.nextafter(each, 0)
            self.mechanisms_ = [_designed(one, kind, each) for one in self.domains_]
        self.epsilons_ = [one.guarantee.epsilon for one in self.mechanisms_]
        self.label_mechanism_, self.classes_ = self._for_label()
        protected = [one.guarantee for one in self.mechanisms_]
        if self.label_mechanism_ is not None:
            protected.append(self.label_mechanism_.guarantee)
        whole = Guarantee.composed(protected)
        caveats = ["a record that is randomised again spends ε again"]
        if self.label_mechanism_ is None:
            caveats.append("the label is declared public and not protected")
        self.guarantee_ = Guarantee(whole.epsilon, whole.delta, "record", whole.exposure, tuple(caveats))
        return self

    def transform(self, X: Any) -> Floats:
        """Randomise rows; every call draws anew, unless the randomness is seeded."""
        check_is_fitted(self, "mechanisms_")
        table = table_of(self, X, reset=False)
        source = repeatable(self.randomness)
        parts = []
        for place, (domain, mechanism) in enumerate(zip(self.domains_, self.mechanisms_, strict=True)):
            parts.append(self._column(table[:, place], place, domain, mechanism, source))
        return np.hstack(parts)

    def privatize_label(self, y: Any) -> NDArray[Any]:
        """Reports of labels, by the names of the classes; for ``FromPrivateLabels(..., label_mechanism_)``."""
        check_is_fitted(self, "mechanisms_")
        if self.label_mechanism_ is None:
            raise InputError("the label is declared public: give PrivateVectors a level for it (label=1.0)")
        column = np.asarray(y)
        codes = class_codes(one_per_row(y, len(column)), self.classes_)
        return np.asarray(self.classes_[self.label_mechanism_.privatize(codes, repeatable(self.randomness))])

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the columns of ``transform``: that of the feature, with the value for categories."""
        check_is_fitted(self, "mechanisms_")
        given = getattr(self, "feature_names_in_", None) if input_features is None else input_features
        names = [f"x{i}" for i in range(len(self.domains_))] if given is None else list(given)
        out: list[str] = []
        for name, domain in zip(names, self.domains_, strict=True):
            ordered = isinstance(domain, (Grid, Ordinal))
            out += [str(name)] if ordered else [f"{name}_{value}" for value in domain.labels]
        return np.asarray(out, object)

    def explain(self) -> str:
        """The promise in words: local, about one record, with the level of every feature."""
        check_is_fitted(self, "mechanisms_")
        levels = ", ".join(f"{one:.4g}" for one in self.epsilons_[:20]) + (" …" if len(self.epsilons_) > 20 else "")
        details = [f"Levels of the features, which add up: {levels}."]
        secure = repeatable(self.randomness).secure
        return local_words(
            type(self).__name__, self.guarantee_, "their features", [*details, randomness_words(secure=secure)]
        )

    def _for_label(self) -> tuple[FiniteMechanism | None, NDArray[Any]]:
        if isinstance(self.label, str):
            arguments.choice(self.label, "label", ("public",))
            return None, np.zeros(0)
        level = arguments.number(self.label, 'label, where it is not "public",', PrivacyError, above=0, most=1e4)
        classes = declared_classes(self.classes)
        return GeneralizedResponse(int(classes.size), level), classes

    def _column(
        self, values: Any, place: int, domain: FiniteDomain, mechanism: FiniteMechanism, source: Randomness
    ) -> Floats:
        """The reports of one feature."""
        try:
            if not isinstance(domain, (Grid, Ordinal)):
                codes = domain.encode(values.tolist())
                reports = mechanism.privatize(codes, source)
                return np.asarray(reports[:, None] == np.arange(mechanism.shape[1]), np.float64)
            positions = np.asarray(domain.positions, np.float64)
            numbers = arguments.floats(values, "X", finite=True) if isinstance(domain, Grid) else values
            if self.clip and isinstance(domain, Grid):
                numbers = np.clip(numbers, positions[0], positions[-1])
            if isinstance(mechanism, UnbiasedResponse) and isinstance(domain, Grid):
                reports = mechanism.privatize(mechanism.round(numbers, source), source)
                return np.asarray(mechanism.values[reports][:, None])
            codes = domain.encode(numbers if isinstance(domain, Grid) else numbers.tolist())
            reports = mechanism.privatize(codes, source)
            numbers = mechanism.values if isinstance(mechanism, UnbiasedResponse) else positions
            return np.asarray(numbers[reports][:, None])
        except DomainError as error:
            raise InputError(f"feature {place} (counted from 0): {error}") from None
        except DiscreetError as error:
            raise InputError(
                f"feature {place} (counted from 0) contains NaN or infinity, or no number: {error}"
            ) from None


def _listed(domains: Any, count: int) -> list[FiniteDomain]:
    if domains is None:
        raise InputError("domains must be given: what each feature can be, as far as it is public knowledge")
    if isinstance(domains, FiniteDomain):
        return [domains] * count
    listed = arguments.listed(domains, "domains")
    if len(listed) != count or not all(isinstance(one, FiniteDomain) for one in listed):
        raise InputError(f"domains must be one domain, or {count}, one per feature: Grid, Ordinal, Binary, Categorical")
    return listed


@lru_cache(maxsize=256)
def _designed(domain: FiniteDomain, kind: str, epsilon: float) -> FiniteMechanism:
    if not isinstance(domain, (Grid, Ordinal)):
        return GeneralizedResponse(domain.size, epsilon)
    if kind == "clamped-laplace":
        return clamped_laplace(np.asarray(domain.positions, float), epsilon)
    if kind == "bipartite":
        return bipartite(domain, epsilon).mechanism
    return (mean(domain, epsilon) if kind == "unbiased" else expected_error(domain, epsilon)).mechanism
