"""What is taken from scikit-learn, in one place, and how tables are read through it."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from discreet.arguments import Floats
from discreet.errors import InputError
from discreet.randomness import Randomness, resolve

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, TransformerMixin, clone
    from sklearn.utils.validation import check_is_fitted, has_fit_parameter, validate_data
except ImportError:
    raise InputError("discreet.learning needs scikit-learn: pip install 'discreet[learning]'") from None

__all__ = [
    "BaseEstimator",
    "ClassifierMixin",
    "RegressorMixin",
    "TransformerMixin",
    "check_is_fitted",
    "clone",
    "features_of",
    "has_fit_parameter",
    "numbers_of",
    "one_per_row",
    "repeatable",
    "table_of",
]


def features_of(estimator: Any, X: Any, *, reset: bool, least: int = 1) -> Floats:
    """The features as finite numbers; their names and number are remembered (``reset``) or compared."""
    read = table_of(estimator, X, reset=reset, dtype=np.float64, least=least)
    finite = np.isfinite(read)
    if not finite.all():
        row = int(np.flatnonzero(~finite.all(axis=1))[0])
        raise InputError(
            f"X contains NaN or infinity (row {row}, counted from 0): drop such rows, or fill them in with a public "
            "value"
        )
    return np.asarray(read, np.float64)


def table_of(estimator: Any, X: Any, *, reset: bool, dtype: Any = None, least: int = 1) -> Any:
    """A table as scikit-learn reads it; what it says about a wrong one, without quoting an entry."""
    try:
        return validate_data(estimator, X, reset=reset, dtype=dtype, ensure_all_finite=False, ensure_min_samples=least)
    except ValueError as error:
        text = str(error)
        if "convert" in text or "invalid literal" in text:
            raise InputError("X must hold real numbers only") from None
        raise InputError(" ".join(text.split())) from None


def numbers_of(y: Any, rows: int, name: str = "y") -> Floats:
    """One finite number per row."""
    outcome = one_per_row(y, rows, name)
    try:
        numbers = np.asarray(outcome, np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} must hold real numbers only") from None
    if not np.isfinite(numbers).all():
        row = int(np.flatnonzero(~np.isfinite(numbers))[0])
        raise InputError(f"{name} contains NaN or infinity (row {row}, counted from 0): drop such rows")
    return numbers


def one_per_row(y: Any, rows: int, name: str = "y") -> Any:
    """A column with an entry per row; a table of one column is taken as that column, with scikit-learn's warning."""
    from sklearn.utils import column_or_1d

    if y is None:
        raise InputError(f"requires {name} to be passed, but the target {name} is None")
    try:
        column = column_or_1d(y, warn=True)
    except ValueError as error:
        raise InputError(" ".join(str(error).split())) from None
    if len(column) != rows:
        raise InputError(
            f"{name} must have one entry per row of X: inconsistent numbers of samples, {len(column)} and {rows}"
        )
    return column


def repeatable(randomness: Randomness | None) -> Randomness:
    """The source of a fit: a seeded one is copied, so that fitting again repeats it; a secure one never repeats."""
    source = resolve(randomness)
    return source if source.secure else copy.deepcopy(source)


class NoisyTags:
    """What an estimator that hides records tells scikit-learn: few rows say little, secure randomness never repeats."""

    randomness: Any

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]  # of scikit-learn's mixins
        # Noise is calibrated to hide a record: the few rows of scikit-learn's checks say little.
        if tags.regressor_tags is not None:
            tags.regressor_tags.poor_score = True
        if tags.classifier_tags is not None:
            tags.classifier_tags.poor_score = True
        tags.non_deterministic = getattr(self.randomness, "secure", True)
        return tags
