"""The exponential mechanism on a finite domain: the probability of a report falls exponentially with its loss."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from discreet import arguments, limits
from discreet.arguments import Floats
from discreet.domains.losses import HasLosses, loss_matrix
from discreet.errors import ManifestError, MechanismError, PrivacyError
from discreet.mechanisms.base import stored_int, stored_rows
from discreet.mechanisms.exact_integers import RELATIVE_TOLERANCE, checked_epsilon, power_of_two_rows, realising_rows
from discreet.mechanisms.finite import WrittenOut
from discreet.privacy.exact import Rows, exact_rows

#: Largest domain: every row is written out in integers of 64 bits and more.
MAX_VALUES = 2048
#: Of the loss of ε that is allowed, this much is left to the search for the rate; rounding needs less than the rest.
#: Smaller rates are lost in floats: every report would be equally likely.
_SMALLEST_RATE = 1e-300
_SHARE_OF_TOLERANCE = 0.5


@dataclass(frozen=True, init=False, repr=False)
class ExponentialResponse(WrittenOut):
    """Report y under truth x with probability proportional to ``exp(−rate·loss(x, y))``, in exact integers.

    McSherry and Talwar (2007) take ``rate = ε/(2 × largest loss)``, which is safe for any losses and realises only
    about half of ε on most domains. Here the rate is raised until the channel realises ε; :meth:`published` gives
    the mechanism as it is usually written.

    Parameters
    ----------
    losses : Ordinal, Grid, Metric or square matrix
        What is lost when y is reported and x is true; up to 2,048 values.
    epsilon : float
        The privacy level; the realised one is within 1e-9 of it and never above.

    Examples
    --------
    >>> mechanism = ExponentialResponse([[0, 1, 2], [1, 0, 1], [2, 1, 0]], 1.0)
    >>> mechanism.matrix().round(4)[0]
    array([0.5065, 0.3072, 0.1863])
    >>> published = ExponentialResponse.published([[0, 1, 2], [1, 0, 1], [2, 1, 0]], 1.0)
    >>> round(published.guarantee.epsilon, 4)
    0.5
    """

    rows: Rows
    epsilon: float | None = field(default=None, init=False, compare=False)

    kind: ClassVar[str] = "exponential"

    def __init__(self, losses: HasLosses | ArrayLike, epsilon: float) -> None:
        epsilon = checked_epsilon(epsilon)
        matrix = _matrix(losses)
        rate = realising_rate(matrix, epsilon * (1 - _SHARE_OF_TOLERANCE * float(RELATIVE_TOLERANCE)))
        self._set(realising_rows(exponential_channel(matrix, rate), epsilon))

    def _set(self, rows: Rows) -> None:
        object.__setattr__(self, "rows", rows)
        object.__setattr__(self, "epsilon", None)

    @classmethod
    def published(cls, losses: HasLosses | ArrayLike, epsilon: float) -> Self:
        """As usually written, ``rate = ε/(2 × largest loss)``; its guarantee states what it really gives."""
        matrix = _matrix(losses)
        mechanism = object.__new__(cls)
        rate = checked_epsilon(epsilon) / (2 * float(matrix.max()))
        mechanism._set(power_of_two_rows(exponential_channel(matrix, rate)))
        return mechanism

    @classmethod
    def from_weights(cls, rows: Any) -> Self:
        """From the integers themselves."""
        exact = exact_rows(rows)[0]
        if len(exact) < 2 or len(exact) != len(exact[0]) or min(map(min, exact)) <= 0:
            raise MechanismError("an exponential response needs a square matrix of positive weights")
        mechanism = object.__new__(cls)
        mechanism._set(exact)
        return mechanism

    def __repr__(self) -> str:
        return f"ExponentialResponse.from_weights({[list(row) for row in self.rows]!r})"

    def to_dict(self) -> dict[str, Any]:
        """Full integer rows."""
        rows = [[str(weight) for weight in row] for row in self.rows]
        return {"kind": self.kind, "denominator": str(self.denominator), "rows": rows}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild from the integers."""
        denominator = stored_int(data, "denominator")
        try:
            mechanism = cls.from_weights(stored_rows(data))
        except (KeyError, TypeError, ValueError) as error:
            raise ManifestError(f"an exponential response in the manifest is damaged ({error})") from None
        if mechanism.denominator != denominator:
            raise ManifestError("an exponential response in the manifest is damaged: its weights do not add up")
        return mechanism


def _matrix(losses: HasLosses | ArrayLike) -> Floats:
    matrix = (
        loss_matrix(losses, MAX_VALUES)
        if isinstance(losses, HasLosses)
        else arguments.floats(losses, "losses", MechanismError)
    )
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or len(matrix) < 2:
        raise MechanismError(f"the losses must be a square matrix for at least two values, not {matrix.shape}")
    if len(matrix) > MAX_VALUES:
        raise MechanismError(f"an exponential response is limited to {MAX_VALUES:,} values, not {len(matrix):,}")
    if np.any(matrix < 0) or not np.any(matrix > 0) or matrix.max() > limits.LARGEST_NUMBER:
        raise MechanismError(f"losses must be ≥ 0, at most {limits.LARGEST_NUMBER:g}, and not all zero")
    return matrix


def exponential_channel(losses: Floats, rate: float) -> Floats:
    """``exp(−rate·loss)``, every row summing to one."""
    weights = np.exp(-rate * (losses - losses.min(axis=1, keepdims=True)))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def realised_epsilon(losses: Floats, rate: float) -> float:
    """The largest log-ratio within a column of the channel, computed in logarithms."""
    scores = -rate * (losses - losses.min(axis=1, keepdims=True))
    logs = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
    return float((logs.max(axis=0) - logs.min(axis=0)).max())


def realising_rate(losses: Floats, epsilon: float) -> float:
    """The rate at which the channel realises ε, by bisection from the rate that is always safe."""
    low = epsilon / (2 * float(losses.max()))
    if low < _SMALLEST_RATE:
        raise PrivacyError(f"epsilon = {epsilon:g} is too small for losses as large as {losses.max():g}")
    if realised_epsilon(losses, low) > epsilon:  # only the rounding of floats can do this
        return low * (1 - 1e-12)
    high = 2 * low
    while realised_epsilon(losses, high) <= epsilon:
        low, high = high, 2 * high
        if not math.isfinite(high):
            raise MechanismError("the losses do not tell any two truths apart: there is nothing to calibrate")
    for _ in range(200):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        if realised_epsilon(losses, middle) <= epsilon:
            low = middle
        else:
            high = middle
    return low
