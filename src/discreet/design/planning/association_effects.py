"""Finding that a coefficient is not zero: the Wald test of a yes/no regression through the channel.

One answer with covariates x has report y with probability ``q_y = Q[0, y] + G(x'β)(Q[1, y] − Q[0, y])``, and the
information about β is ``I = mean over rows of G'² x x' Σ_y (Q[1, y] − Q[0, y])²/q_y`` (Zhang et al. 2025, (5), for any
number of reports). The test compares ``W(β̂) = β̂_j/√([I(β̂)⁻¹]_jj/n)`` with z. Its error moves with β̂, so that W is not
spread like a standard normal: by the delta method its variance is ``g'I⁻¹g/n`` with g the gradient of W, and the power
``Φ((|W(β)| − z)/√(g'I⁻¹g/n))``. With g = (0, …, 1/se, …, 0) this is the textbook's ``Φ(|β_j|/se − z)``. In 22 simulated
settings (n from 300, ε from .5 to 4) it was off by 2.5 points of power at most, and by 3.7, too low, for a rare outcome
in a small group; the textbook's by up to 4.8 (``docs/validation.md``).

When some people do not comply, the fit, which does not know it, goes to the β* of the nearest model (White 1982): it
solves ``Σ_rows G' x Σ_y r_y (Q[1, y] − Q[0, y])/q_y(β*) = 0`` for the report shares r that really occur. W and g are
taken at β*, and the sandwich takes the place of I⁻¹.

Finding an association: the χ² test of a cross-table, ``estimate.crosstab(…).chi_square()``.

Under a true table F the report shares are ``P = Q₁ᵀ F Q₂`` (``Kᵀ F`` for columns randomised together), and each test is
asymptotically χ² with (k₁ − 1)(k₂ − 1) degrees of freedom and the non-centrality n·w², where w² is the statistic of
one answer at the expected shares:

* square channels (Pearson): ``w² = Σ (P − r cᵀ)²/(r cᵀ)`` with the margins r, c of P;
* more reports than truths (Wald): ``w² = ‖L₁ P L₂ᵀ‖²`` with the whitened corrections of both margins;
* randomised together (score): the residuals of P against its fit under independence, off the margins' directions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from discreet import arguments
from discreet.arguments import Floats
from discreet.design.planning.statistical_power import Aim, Conduct, finite, quantile
from discreet.errors import DesignError, EstimationError
from discreet.mechanisms import FiniteMechanism
from discreet.mechanisms.joint.view import JointView

#: Fisher scoring towards the nearest model: it converges in a few steps or not at all.
_STEPS, _STILL = 100, 1e-10
#: Step of the numerical gradient.
_STEP = 1e-5


@dataclass(frozen=True, eq=False)
class Coefficient(Aim):
    """That a coefficient of a yes/no regression is not zero.

    Parameters
    ----------
    covariates : array (rows, d)
        Covariates as they will occur, a column of ones for the intercept among them: a pilot, a register, or a made-up
        table in the right proportions. More rows do not mean more people.
    coefficients : array (d,)
        What is thought to be true.
    which : int
        The coefficient that is tested; the last by default.
    link : str
        As in :func:`discreet.estimate.binary_regression`.
    """

    covariates: ArrayLike
    coefficients: ArrayLike
    which: int = -1
    link: str = "logit"

    def __post_init__(self) -> None:
        from discreet.estimate.regressions.likelihood.links import link_named

        x = arguments.floats(self.covariates, "covariates", DesignError)
        beta = arguments.floats(self.coefficients, "coefficients", DesignError)
        if x.ndim != 2 or not x.size or not np.all(np.isfinite(x)):
            raise DesignError("covariates must be a table of finite numbers, one row per person")
        if beta.shape != (x.shape[1],) or not np.all(np.isfinite(beta)):
            raise DesignError(f"coefficients must be {x.shape[1]} finite numbers, one per column of covariates")
        if np.linalg.matrix_rank(x) < x.shape[1]:
            raise DesignError("the columns of covariates depend on each other: leave one of them out")
        which = arguments.whole(self.which, "which", DesignError, least=-len(beta), most=len(beta) - 1)
        if beta[which] == 0:
            raise DesignError("the coefficient that is tested is 0: there is nothing to find")
        try:
            link_named(self.link)
        except EstimationError as error:
            raise DesignError(error) from None
        for name, value in (("covariates", x), ("coefficients", beta), ("which", which % len(beta))):
            object.__setattr__(self, name, value)

    def chance(self, mechanism: FiniteMechanism, effective: int, level: float, conduct: Conduct) -> float:
        """See :class:`Aim`."""
        if mechanism.shape[0] != 2:
            raise DesignError(
                f"the coefficient is of a yes/no regression, and the design has {mechanism.shape[0]} values"
            )
        x, channel = np.asarray(self.covariates), mechanism.matrix()
        occurring = conduct.reports(_shares(self.link, x, np.asarray(self.coefficients), channel)[0])
        fitted = np.asarray(self.coefficients)
        if conduct.noncompliance > 0:
            fitted = self._nearest(channel, occurring)
        inverse, rates = self._inverse_information(fitted, channel)
        sandwich = inverse @ ((x * (occurring * rates**2).sum(axis=1)[:, None]).T @ x / len(x)) @ inverse
        ratio = self._ratio(fitted, channel)
        gradient = np.array([
            (self._ratio(fitted + step, channel) - self._ratio(fitted - step, channel)) / (2 * _STEP)
            for step in _STEP * np.eye(len(fitted))
        ])  # fmt: skip
        spread = math.sqrt(max(float(gradient @ sandwich @ gradient), np.finfo(float).tiny))
        return NormalDist().cdf((ratio * math.sqrt(effective) - quantile(level)) / spread)

    def _ratio(self, beta: Floats, channel: Floats) -> float:
        """W for one answer, in the direction of the coefficient that is thought to be true."""
        inverse, _ = self._inverse_information(beta, channel)
        sign = math.copysign(1.0, np.asarray(self.coefficients)[self.which])
        return sign * float(beta[self.which]) / math.sqrt(float(inverse[self.which, self.which]))

    def _inverse_information(self, beta: Floats, channel: Floats) -> tuple[Floats, Floats]:
        """I⁻¹ of one answer, and G'(Q[1, y] − Q[0, y])/q_y of every row and report."""
        x = np.asarray(self.covariates)
        shares, slopes = _shares(self.link, x, beta, channel)
        rates = np.divide(slopes, shares, out=np.zeros_like(slopes), where=shares > 0)
        information = (x * (slopes * rates).sum(axis=1)[:, None]).T @ x / len(x)
        try:
            inverse = np.linalg.inv(information)
        except np.linalg.LinAlgError:
            inverse = np.full_like(information, np.nan)
        if not np.all(np.isfinite(inverse)) or np.any(np.diag(inverse) <= 0):
            raise DesignError("the answers would say next to nothing about these coefficients")
        return inverse, rates

    def _nearest(self, channel: Floats, occurring: Floats) -> Floats:
        """β*: what a fit that expects everybody to comply goes to."""
        x, beta = np.asarray(self.covariates), np.array(self.coefficients, float)
        for _ in range(_STEPS):
            shares, slopes = _shares(self.link, x, beta, channel)
            rates = np.divide(slopes, shares, out=np.zeros_like(slopes), where=shares > 0)
            information = (x * (slopes * rates).sum(axis=1)[:, None]).T @ x
            step = np.linalg.solve(information, x.T @ (occurring * rates).sum(axis=1))
            beta = beta + step / max(1.0, float(np.abs(step).max()))
            if np.abs(step).max() < _STILL:
                return beta
        raise DesignError(
            "with this share of people who do not comply the fit would not settle: fewer reports of the other kind "
            "would come in than the design gives when nobody does it"
        )

    def words(self) -> str:
        """See :class:`Aim`."""
        beta = np.asarray(self.coefficients)
        return f"that a coefficient of {beta[self.which]:.4g} ({self.link}) is not 0"

    def to_dict(self) -> dict[str, Any]:
        """Plain data, without the covariates."""
        return {
            "find": "coefficient",
            "coefficients": np.asarray(self.coefficients).tolist(),
            "which": self.which,
            "link": self.link,
        }


def _shares(link: str, x: Floats, beta: Floats, channel: Floats) -> tuple[Floats, Floats]:
    """Report shares of every row, and how they move with the linear predictor."""
    from discreet.estimate.regressions.likelihood.links import link_named

    no, yes, slope = link_named(link).parts(x @ beta)
    shares = no[:, None] * channel[0] + yes[:, None] * channel[1]
    return shares, slope[:, None] * (channel[1] - channel[0])


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
