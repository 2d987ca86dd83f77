"""Two columns that were randomised independently, seen as one column of pairs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from discreet.arguments import Floats
from discreet.estimate.channels.channel import Channels
from discreet.estimate.channels.moments import KroneckerInverse, paired_variances, refuse_large
from discreet.estimate.channels.simplex_mle import Fit, channel_fit
from discreet.mechanisms import FiniteMechanism


@dataclass(frozen=True, eq=False)
class PairedChannels:
    """The channel ``Q₁ ⊗ Q₂`` of a pair of columns; code (i, j) is i·(values of the second) + j."""

    first: Channels
    second: Channels
    names: tuple[str, ...] = ()
    labels: Any = None

    @property
    def mechanisms(self) -> tuple[FiniteMechanism, ...]:
        """The designs of both columns."""
        return self.first.mechanisms + self.second.mechanisms

    @property
    def truths(self) -> int:
        """Number of pairs of true values."""
        return self.first.truths * self.second.truths

    @property
    def reports(self) -> int:
        """Number of pairs of reports."""
        return self.first.reports * self.second.reports

    def label(self, code: int) -> Any:
        """The two labels of a pair."""
        i, j = divmod(code, self.second.truths)
        return self.first.label(i), self.second.label(j)

    @cached_property
    def inverse(self) -> KroneckerInverse:
        """``A₁ ⊗ A₂``."""
        return KroneckerInverse(self.first.inverse, self.second.inverse)

    @property
    def line(self) -> None:
        """A cell depends on the shares of several pairs of reports."""
        return

    @cached_property
    def conditional_variances(self) -> tuple[Floats, Floats]:
        """Randomisation variance of one debiased pair: at the own truth, and the worst at any other."""
        return paired_variances(self.first.conditional_variances, self.second.conditional_variances)

    def matrix(self, shares: Floats) -> Floats:
        """The channel of pairs, written out."""
        refuse_large(max(self.truths, self.reports))
        table = shares.reshape(self.first.reports, self.second.reports)
        return np.asarray(np.kron(self.first.matrix(table.sum(axis=1)), self.second.matrix(table.sum(axis=0))), float)

    def expected_shares(self, frequencies: Floats, shares: Floats) -> Floats:
        """``Qᵀf``: the shares of report pairs that these frequencies lead to."""
        return np.asarray(frequencies @ self.matrix(shares))

    def fit(self, weights: Floats) -> Fit:
        """Maximum likelihood for (weighted) counts of report pairs."""
        return channel_fit(self.matrix(weights / weights.sum()), weights)
