"""Losses that an analyst can fit to privatised records: ``estimate.losses``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from discreet.errors import EstimationError
from discreet.estimate.noisy_numbers.expectation import Expectation
from discreet.estimate.regressions.losses import Check, Hinge, Huber, IndexLoss, Logistic, Poisson, Probit, Squared

__all__ = ["Check", "Expectation", "Hinge", "Huber", "IndexLoss", "Logistic", "Poisson", "Probit", "Squared", "resolve"]

_NAMED: dict[str, Callable[[], IndexLoss]] = {
    "squared": Squared,
    "logistic": Logistic,
    "probit": Probit,
    "poisson": Poisson,
    "check": Check,
    "median": Check,
    "huber": Huber,
    "hinge": Hinge,
}


def resolve(loss: Any) -> IndexLoss | Expectation | Callable[..., Any]:
    """A loss from its name, an instance, a class or a function."""
    if isinstance(loss, str):
        if loss not in _NAMED:
            raise EstimationError(f"the loss must be one of {', '.join(_NAMED)}, not {loss!r}")
        return _NAMED[loss]()
    if isinstance(loss, type) and issubclass(loss, IndexLoss):
        return loss()
    if isinstance(loss, (IndexLoss, Expectation)) or callable(loss):
        return loss  # type: ignore[no-any-return]  # a function of the user
    raise EstimationError(f"a loss is a name, one of estimate.losses, or a function, not {type(loss).__name__}")
