"""Models under a promise, as scikit-learn users expect them: trees, local gradients, private vectors and labels.

Loaded when it is first asked for; the estimators need scikit-learn (``pip install 'discreet[learning]'``). Every
fitted one has ``guarantee_`` and ``explain()``, which say whether the promise is *central* (whoever fits sees the
records, whoever gets the model does not) or *local* (nobody but the person sees the truth), and about what.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.lazy_names import lazy_names

if TYPE_CHECKING:
    from discreet.learning.boosting.estimators import PrivateBoostingClassifier, PrivateBoostingRegressor
    from discreet.learning.labels.estimator import FromPrivateLabels
    from discreet.learning.labels.from_release import FromRelease
    from discreet.learning.local_sgd.estimators import LocalSGDClassifier, LocalSGDRegressor
    from discreet.learning.vectors import PrivateVectors

__all__ = [
    "FromPrivateLabels",
    "FromRelease",
    "LocalSGDClassifier",
    "LocalSGDRegressor",
    "PrivateBoostingClassifier",
    "PrivateBoostingRegressor",
    "PrivateVectors",
]

_HOMES = {
    "FromPrivateLabels": "labels.estimator",
    "FromRelease": "labels.from_release",
    "LocalSGDClassifier": "local_sgd.estimators",
    "LocalSGDRegressor": "local_sgd.estimators",
    "PrivateVectors": "vectors",
    "PrivateBoostingClassifier": "boosting.estimators",
    "PrivateBoostingRegressor": "boosting.estimators",
}


__getattr__, __dir__ = lazy_names(__name__, _HOMES)
