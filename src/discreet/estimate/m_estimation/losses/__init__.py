"""Losses that an analyst can fit to privatised records."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from discreet.errors import EstimationError
from discreet.estimate.m_estimation.losses.functions import Autodiff, Expectation
from discreet.estimate.m_estimation.losses.huber import Huber
from discreet.estimate.m_estimation.losses.index_loss import IndexLoss, Terms
from discreet.estimate.m_estimation.losses.kinked import Check, Hinge
from discreet.estimate.m_estimation.losses.smooth import Logistic, Poisson, Probit, Squared

__all__ = [
    "Autodiff",
    "Check",
    "Expectation",
    "Hinge",
    "Huber",
    "IndexLoss",
    "Logistic",
    "Poisson",
    "Probit",
    "Squared",
    "Terms",
    "resolve",
]

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


def resolve(loss: Any) -> IndexLoss | Expectation | Autodiff | Callable[..., Any]:
    """A loss from its name, an instance, a class or a function."""
    if isinstance(loss, str):
        if loss not in _NAMED:
            raise EstimationError(f"the loss must be one of {', '.join(_NAMED)}, not {loss!r}")
        return _NAMED[loss]()
    if isinstance(loss, type) and issubclass(loss, IndexLoss):
        return loss()
    if isinstance(loss, (IndexLoss, Expectation, Autodiff)) or callable(loss):
        return loss  # type: ignore[no-any-return]  # a function of the user
    raise EstimationError(f"a loss is a name, one of estimate.losses, or a function, not {type(loss).__name__}")
