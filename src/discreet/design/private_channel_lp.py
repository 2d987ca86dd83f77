"""Linear programmes over all ε-private channels, in the unknowns ``Q = e^−ε h + t`` with ``0 ≤ t ≤ (1 − e^−ε) h``.

h_y is the largest entry that report y may have, so that ``e^−ε h_y ≤ Q[x, y] ≤ h_y``: privacy becomes one cap for every
entry, and all coefficients stay between zero and one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arguments import Floats
from discreet.errors import DesignError


@dataclass(frozen=True, eq=False)
class ChannelSolution:
    """The least objective and where it is reached.

    Attributes
    ----------
    highest : array (reports,)
        h.
    above : array (truths, reports)
        t.
    value : float
        The objective.
    equations : array
        Multipliers of the equations.
    worst_truths : array (truths,)
        Multipliers of the rows whose largest value is minimised, not negative; empty where costs are minimised.
    """

    highest: Floats
    above: Floats
    value: float
    equations: Floats
    worst_truths: Floats


@dataclass(frozen=True)
class PrivateChannelLP:
    """A linear programme over channels from so many truths to so many reports; ``least`` is e^−ε."""

    truths: int
    reports: int
    least: float

    def rows(self, coefficients: Floats) -> Any:
        """The sums ``Σ_y Q[x, y] c_xy``, one for every truth, in the unknowns t and h."""
        from scipy import sparse

        own = sparse.block_diag([sparse.csr_matrix(row[None, :]) for row in coefficients])
        return sparse.hstack([own, sparse.csr_matrix(self.least * coefficients)], format="csr")

    def solve(
        self,
        equations: Any,
        right: Floats,
        *,
        costs: Floats | None = None,
        largest: Any = None,
        options: Any = None,
    ) -> ChannelSolution:
        """Minimise ``costs`` over t and h, or the largest of the rows ``largest``, by the dual simplex of HiGHS."""
        from scipy import sparse
        from scipy.optimize import linprog

        entries = self.truths * self.reports
        limits: Any = sparse.hstack(
            [sparse.eye(entries), sparse.kron(np.full((self.truths, 1), self.least - 1), sparse.eye(self.reports))]
        )
        if costs is None:
            # One more unknown, the largest row.
            equations = sparse.hstack([equations, sparse.csr_matrix((equations.shape[0], 1))])
            caps = sparse.hstack([limits, sparse.csr_matrix((entries, 1))])
            limits = sparse.vstack([caps, sparse.hstack([largest, sparse.csr_matrix(-np.ones((self.truths, 1)))])])
            costs = np.append(np.zeros(entries + self.reports), 1.0)
        found = linprog(
            costs,
            A_ub=limits.tocsr(),
            b_ub=np.zeros(limits.shape[0]),
            A_eq=equations.tocsr(),
            b_eq=right,
            method="highs-ds",
            options=options,
        )
        if found.status != 0 or found.x is None or found.fun is None:
            raise DesignError(f"the linear programme for {self.truths} values could not be solved: use fewer values")
        return ChannelSolution(
            found.x[entries : entries + self.reports],
            found.x[:entries].reshape(self.truths, self.reports),
            float(found.fun),
            np.asarray(found.eqlin.marginals),
            np.maximum(-np.asarray(found.ineqlin.marginals)[entries:], 0.0),
        )
