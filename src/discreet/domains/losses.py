"""How much is lost when a value is reported for another one: domains with an order or a distance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from discreet.arguments import Floats
from discreet.errors import DomainError, InputError


@runtime_checkable
class HasLosses(Protocol):
    """A domain that says how bad each report is under each truth.

    Losses are finite and ≥ 0, and zero for the truth itself. Rows are computed on demand, so that a large domain
    needs no matrix.
    """

    @property
    def size(self) -> int:
        """Number of values."""

    @property
    def step(self) -> float | None:
        """The distance between neighbours when the values are equidistant points on a line, else None."""

    def loss_row(self, code: int) -> Floats:
        """The loss of every report under one truth."""

    def loss_rows(self, codes: ArrayLike) -> Floats:
        """The same for several truths, one row each."""


class OnALine:
    """Losses ``|position − position|`` of values that have a position each."""

    @property
    def positions(self) -> Floats:
        """Position of every value on the line."""
        raise NotImplementedError

    def loss_row(self, code: int) -> Floats:
        """Distance of every value from one of them."""
        return np.asarray(self.loss_rows([code])[0])

    def loss_rows(self, codes: ArrayLike) -> Floats:
        """Distance of every value from some of them, one row each."""
        positions = self.positions
        return np.asarray(np.abs(positions[None, :] - positions[np.asarray(codes, np.intp)][:, None]))


def with_losses(domain: object, error: type[InputError] = DomainError) -> HasLosses:
    """The domain itself, if it says what is lost; any other is refused by name."""
    if not isinstance(domain, HasLosses):
        raise error(
            f"a domain with an order or a distance is needed (Ordinal, Grid or Metric), not {type(domain).__name__}"
        )
    return domain


def loss_matrix(domain: HasLosses, limit: int, error: type[InputError] = DomainError) -> Floats:
    """All losses in one matrix, for domains that are small enough."""
    if domain.size > limit:
        raise error(f"the losses of {domain.size:,} values are over the limit of {limit:,} for a full matrix")
    return domain.loss_rows(np.arange(domain.size))


@dataclass(frozen=True)
class BlankLosses:
    """Losses of a domain to which the blank is added as the last value, equally far from all others."""

    inner: HasLosses
    blank_loss: float

    @property
    def size(self) -> int:
        """One more than the inner domain."""
        return self.inner.size + 1

    @property
    def step(self) -> None:
        """A line with a blank is not a line."""
        return

    def loss_row(self, code: int) -> Floats:
        """The loss of every report under one truth."""
        return np.asarray(self.loss_rows([code])[0])

    def loss_rows(self, codes: ArrayLike) -> Floats:
        """The same for several truths, one row each."""
        which = np.asarray(codes, np.intp)
        blank = which == self.inner.size
        out = np.full((which.size, self.size), self.blank_loss)
        out[~blank, :-1] = self.inner.loss_rows(which[~blank])
        out[blank, -1] = 0.0
        return out
