"""What a fit says about the truth behind a report: ``P(truth = j | x, report = r) ∝ π_j(x) Q[j, r]``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import Floats
from discreet.domains import FiniteDomain
from discreet.errors import DomainError, EstimationError
from discreet.estimate.formulas.new_rows import as_table


@dataclass(frozen=True, eq=False)
class Reporting:
    """How an outcome was reported: its column, the labels of its reports, and the channel."""

    column: str
    reports: FiniteDomain
    channel: Floats

    def codes(self, rows: Any) -> NDArray[np.int64]:
        """The reports of rows that a user gave."""
        told = as_table(rows, (self.column,))[self.column].combine_chunks()
        try:
            return np.asarray(self.reports.encode(told), np.int64)
        except DomainError as error:
            raise EstimationError(f'column "{self.column}": {error}') from None

    def given(self, rows: Any) -> Floats:
        """Probabilities (rows, truths) of the reports that were made."""
        return np.asarray(self.channel.T[self.codes(rows)])


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
    return EstimationError("the truth behind a report is told by fits by formula of a column with one design")
