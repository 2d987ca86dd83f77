"""What a fit says about the truth behind a report: ``P(truth = j | x, report = r) ∝ π_j(x) Q[j, r]``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import Floats
from discreet.domains import FiniteDomain
from discreet.errors import DomainError, EstimationError
from discreet.estimate.channels.channel import Channels
from discreet.estimate.formulas.new_rows import as_table
from discreet.estimate.regressions.likelihood.designs import channel_matrix

if TYPE_CHECKING:
    from discreet.blocks import Block


@dataclass(frozen=True, eq=False)
class Reporting:
    """How an outcome was reported: its column, the labels of its reports, and the channel."""

    column: str
    reports: FiniteDomain
    channel: Floats

    @classmethod
    def of(cls, column: str, block: Block | None, channels: Channels) -> Reporting | None:
        """Of a column of a release, where all rows share one design."""
        if block is None or len(channels.mechanisms) > 1:
            return None
        reports = block.reports_of(column)
        if not isinstance(reports, FiniteDomain):
            return None
        return cls(column, reports, channel_matrix(channels.mechanisms[0]))

    def codes(self, rows: Any) -> NDArray[np.int64]:
        """The reports of rows that a user gave."""
        told = as_table(rows, (self.column,))[self.column].combine_chunks()
        try:
            return np.asarray(self.reports.encode(told), np.int64)
        except DomainError as error:
            raise EstimationError(f'column "{self.column}": ', error) from None

    def given(self, rows: Any) -> Floats:
        """Probabilities (rows, truths) of the reports that were made."""
        return np.asarray(self.channel.T[self.codes(rows)])


def posterior_slopes(posterior: Floats, prior: Floats, given: Floats, slopes: Floats) -> Floats:
    """Derivatives of the :func:`posterior` from those of the prior, (rows, truths, parameters).

    ``dω_j = (Q_j dπ_j − ω_j Σ_k Q_k dπ_k)/r``, r the probability of the report.
    """
    moved = (given / (prior * given).sum(axis=1, keepdims=True))[:, :, None] * slopes
    return np.asarray(moved - posterior[:, :, None] * moved.sum(axis=1, keepdims=True))


def posterior(prior: Floats, given: Floats) -> Floats:
    """``π_j Q[j, r]/Σ_k π_k Q[k, r]`` of every row."""
    joint = prior * given
    made = joint.sum(axis=1, keepdims=True)
    if (made == 0).any():
        row = int(np.flatnonzero(made[:, 0] == 0)[0])
        raise EstimationError(f"row {row} (counted from 0): a report that no truth can give")
    return np.asarray(joint / made)


def missing_reporting() -> EstimationError:
    """Why a fit does not know how reports were made."""
    return EstimationError(
        "the truth behind a report is told by fits by formula of the classes of a randomised outcome that has one "
        "design and no randomised blanks"
    )
