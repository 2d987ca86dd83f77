"""Finding an association: the χ² test of a cross-table, ``estimate.crosstab(…).chi_square()``.

Under a true table F the report shares are ``P = Q₁ᵀ F Q₂`` (``Kᵀ F`` for columns randomised together), and each test is
asymptotically χ² with (k₁ − 1)(k₂ − 1) degrees of freedom and the non-centrality n·w², where w² is the statistic of
one answer at the expected shares:

* square channels (Pearson): ``w² = Σ (P − r cᵀ)²/(r cᵀ)`` with the margins r, c of P;
* more reports than truths (Wald): ``w² = ‖L₁ P L₂ᵀ‖²`` with the whitened corrections of both margins;
* randomised together (score): the residuals of P against its fit under independence, off the margins' directions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from discreet import arguments
from discreet.arguments import Floats
from discreet.design.power.aim import Aim, Conduct, finite
from discreet.errors import DesignError
from discreet.mechanisms import FiniteMechanism
from discreet.mechanisms.joint.view import JointView


@dataclass(frozen=True, eq=False)
class Association(Aim):
    """That two columns are not independent.

    Parameters
    ----------
    table : array (rows, columns)
        The joint frequencies that are thought to be true; they sum to 1. Its rows are the values of the column that the
        mechanism of :func:`power` randomised; of columns randomised together, the first.
    columns : FiniteMechanism or Design, optional
        What randomised the second column, on its own. Default: it is public, or the mechanism is that of both
        (``joint.view(0, 1)``).
    """

    table: ArrayLike
    columns: Any = None

    LEAST = 20

    def __post_init__(self) -> None:
        table = arguments.floats(self.table, "table", DesignError)
        if table.ndim != 2 or min(table.shape) < 2 or np.any(~(table >= 0)) or abs(table.sum() - 1) > 1e-9:
            raise DesignError("table must be joint frequencies that sum to 1, with at least two rows and two columns")
        if np.any(table.sum(axis=0) == 0) or np.any(table.sum(axis=1) == 0):
            raise DesignError("table has a row or a column in which nobody is: leave it out")
        if np.abs(table - np.outer(table.sum(axis=1), table.sum(axis=0))).max() < 1e-12:
            raise DesignError("table has independent rows and columns: there is nothing to find")
        object.__setattr__(self, "table", table)
        if self.columns is not None:
            object.__setattr__(self, "columns", finite(self.columns))

    def chance(self, mechanism: FiniteMechanism, effective: int, level: float, conduct: Conduct) -> float:
        """See :class:`Aim`."""
        from scipy.special import chdtri, chndtr

        table = np.asarray(self.table)
        df = (table.shape[0] - 1) * (table.shape[1] - 1)
        critical = float(chdtri(df, 1 - level))
        return float(1 - chndtr(critical, df, effective * self.effect(mechanism, conduct)))

    def effect(self, mechanism: FiniteMechanism, conduct: Conduct | None = None) -> float:
        """w²: the statistic of one answer at the expected report shares."""
        conduct = Conduct() if conduct is None else conduct
        table = np.asarray(self.table)
        if isinstance(mechanism, JointView) and len(mechanism.attributes) == 2:
            return self._together(mechanism, table, conduct)
        channels = [mechanism.matrix(), None if self.columns is None else self.columns.matrix()]
        for channel, size, name in zip(channels, table.shape, ("rows", "columns"), strict=True):
            if channel is not None and len(channel) != size:
                raise DesignError(f"the table has {size} {name}, but their design has {len(channel)} values")
        second = np.eye(table.shape[1]) if channels[1] is None else channels[1]
        shares = self._not_complying(channels[0].T @ table @ second, table, conduct)  # type: ignore[union-attr]  # there
        square = [channel is None or channel.shape[0] == channel.shape[1] for channel in channels]
        rows, columns = shares.sum(axis=1), shares.sum(axis=0)
        if all(square):
            product = np.outer(rows, columns)
            return float(np.sum(np.divide((shares - product) ** 2, product, where=product > 0, out=0 * product)))
        return _whitened(mechanism, self.columns, shares)

    def _not_complying(self, shares: Floats, table: Floats, conduct: Conduct) -> Floats:
        """Who does not comply gives the first report in every randomised column, and keeps a public value."""
        if conduct.noncompliance == 0:
            return shares
        first = np.zeros_like(shares)
        if self.columns is None:
            first[0] = table.sum(axis=0)
        else:
            first[0, 0] = 1.0
        return np.asarray((1 - conduct.noncompliance) * shares + conduct.noncompliance * first)

    def _together(self, view: JointView, table: Floats, conduct: Conduct) -> float:
        from discreet.estimate.tables.independence import independence_fit, interaction_basis

        if self.columns is not None or view.sizes != table.shape:
            raise DesignError(
                f"columns randomised together need a table of {' × '.join(map(str, view.sizes))}, and no other design"
            )
        channel = view.matrix()
        shares = conduct.reports(table.reshape(1, -1) @ channel)
        fitted, directions = independence_fit(shares, channel, *table.shape)
        residuals = (shares - fitted) / np.sqrt(fitted)
        return float(np.sum((interaction_basis(fitted, directions)[0] @ residuals[0]) ** 2))

    def words(self) -> str:
        """See :class:`Aim`."""
        rows, columns = np.shape(self.table)
        return f"that a {rows} × {columns} table is not independent"

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"find": "association", "table": np.asarray(self.table).tolist()}


def _whitened(first: FiniteMechanism, second: FiniteMechanism | None, shares: Floats) -> float:
    """The Wald statistic of one answer where a channel has more reports than truths."""
    from discreet.estimate.tables.independence import whitened
    from discreet.mechanisms import GeneralizedResponse

    other = GeneralizedResponse.from_weights(shares.shape[1], 1, 0) if second is None else second
    left = whitened(first.inverse, shares.sum(axis=1))
    right = whitened(other.inverse, shares.sum(axis=0))
    return float(np.sum((left @ shares @ right.T) ** 2))
