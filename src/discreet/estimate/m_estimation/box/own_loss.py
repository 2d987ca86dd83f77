"""Losses that the user writes, over copies inside the box: value and gradient of every record."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arguments import Floats
from discreet.estimate.m_estimation.box.controls import multiples
from discreet.estimate.m_estimation.box.copies import Copies, NoisyBlock, summed_by
from discreet.estimate.m_estimation.sample import Sample

#: Values or gradients (rows, …) of a loss at θ, records and outcomes.
Rows = Callable[..., Floats]


@dataclass(frozen=True, eq=False)
class BoxRows:
    """A loss over copies inside the box.

    Parameters
    ----------
    value, gradient : function
        Of θ, records (m, columns) and, where there is one, outcomes (m,): the loss of each, and its gradient in θ.
    sample : Sample
    copies : Copies
    controls : array (n, p), optional
        Numbers of mean zero that are taken from the gradients.
    """

    value: Rows
    gradient: Rows
    sample: Sample
    copies: Copies
    controls: Floats | None = None

    def _data(self, values: Floats, record: Any) -> tuple[Floats, ...]:
        given = self.sample
        x = np.concatenate([values, given.public[record]], axis=1) if given.public.size else values
        return (x,) if given.outcome is None else (x, given.outcome[record])

    def _weight(self, weight: Floats, record: Any) -> Floats:
        rows = self.sample.row_weights
        return weight if rows is None else weight * rows[record]

    def values(self, theta: Floats) -> Floats:
        """The corrected loss of every record."""
        kept = self.copies.kept
        single = self.value(theta, *self._data(kept.values, kept.record)) * self._weight(kept.weight, kept.record)
        total = np.bincount(kept.record, single, self.sample.n)
        return np.asarray(total if self.controls is None else total - self.controls @ theta)

    def gradients(self, theta: Floats) -> Floats:
        """The corrected gradient of every record."""
        total = summed_by(self.copies.kept.record, self._single(theta), self.sample.n)
        return total if self.controls is None else total - self.controls

    def _single(self, theta: Floats) -> Floats:
        kept = self.copies.kept
        weight = self._weight(kept.weight, kept.record)
        return np.asarray(self.gradient(theta, *self._data(kept.values, kept.record)) * weight[:, None])

    def monte_carlo_share(self, theta: Floats) -> float:
        """What the copies add to the variance of the gradient, as a share of it."""
        single, kept = self._single(theta), self.copies.kept
        return self.copies.share(single, summed_by(kept.record, single, self.sample.n))

    def controlled(self, theta: Floats) -> tuple[BoxRows, int]:
        """The same with the controls that fit at θ, and how many multiples that took."""
        total = np.zeros((self.sample.n, theta.size))
        for draw in self.copies.draws():
            record = np.flatnonzero(~draw.inside)
            slopes = self.gradient(theta, *self._data(self.copies.clip(draw.values[record]), record))
            total[record] += slopes * self._weight(np.full(record.size, draw.weight), record)[:, None]
        gamma = multiples(self.gradients(theta), total)
        if not gamma.any():
            return self, 0
        return BoxRows(self.value, self.gradient, self.sample, self.copies, total @ gamma), total.shape[1]

    def with_count(self, count: int) -> BoxRows:
        """The same with another number of copies."""
        return BoxRows(self.value, self.gradient, self.sample, self.copies.with_count(count))


def box_rows(value: Rows, gradient: Rows, sample: Sample) -> BoxRows:
    """A loss over copies of the reports."""
    return BoxRows(value, gradient, sample, Copies([NoisyBlock(sample.private, sample.mechanism)]))
