"""Minimise a corrected loss, and say how sure the minimum is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, cast

import numpy as np

from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.corrected_loss.families import Family
from discreet.estimate.corrected_loss.objective import CorrectedLoss
from discreet.estimate.corrected_loss.result import CorrectedRegression
from discreet.estimate.corrected_loss.robust import IndexFamily, fit_robust
from discreet.estimate.corrected_loss.sample import ScoreSquares
from discreet.estimate.corrected_loss.search import local_minimum
from discreet.estimate.corrected_loss.undetermined import status
from discreet.estimate.formulas import Matrices
from discreet.estimate.m_estimation.objective import Moments
from discreet.estimate.m_estimation.result import sandwich
from discreet.estimate.m_estimation.solver import Solution

#: How far a linear predictor of average size may go: far beyond any model, and a sign that there is no minimum.
_RADIUS = 50.0


class Risk(Protocol):
    """What is minimised: a corrected loss over cells, or the moments of a linear model."""

    @property
    def family(self) -> Family:
        """The loss."""

    @property
    def n(self) -> int:
        """Number of rows, or of records."""

    @property
    def transform(self) -> Floats | None:
        """Makes the coefficients of all linear predictors from the parameters; None where they are the same."""

    @property
    def total(self) -> float:
        """The sum of the weights."""

    @property
    def cells_used(self) -> int:
        """Number of cells; 0 where none are needed."""

    @property
    def scale(self) -> Floats:
        """The root mean square of every column of the model."""

    def coefficients(self, theta: Floats) -> Floats:
        """One row of coefficients per linear predictor."""

    def start(self) -> Floats:
        """Where to begin."""

    def moments(self, theta: Floats) -> Moments:
        """Value, gradient and second derivatives."""

    def meat(self, theta: Floats) -> ScoreSquares:
        """The middle of the sandwich."""


def fit_corrected(
    risk: Risk,
    names: Sequence[str],
    randomised: Sequence[str],
    *,
    notes: Sequence[str] = (),
    matrices: Matrices | None = None,
    weighted: bool = False,
) -> CorrectedRegression:
    """Fit a corrected loss.

    Parameters
    ----------
    risk : Risk
        A :class:`CorrectedLoss` or :class:`LinearMoments`; it holds the rows, weights, clusters and strata.
    names : sequence of str
        Of the columns of the model.
    randomised : sequence of str
        The randomised columns, for the summary.
    notes : sequence of str
    matrices : Matrices, optional
        Makes model matrices of new rows, for predictions.
    weighted : bool
        Whether the rows carry survey weights.
    """
    parameters, _ = risk.family.parameters(names)
    n = risk.n
    if n <= len(parameters):
        raise EstimationError(f"{n:,} rows are too few for {len(parameters)} coefficients")
    if isinstance(risk, CorrectedLoss) and isinstance(risk.family, IndexFamily):
        asked, found = risk.family, fit_robust(risk)
        solution, risk, hessian = found.solution, found.risk, found.hessian
        family = asked if asked.loss.kinked else risk.family  # a kink was averaged for the search only
    else:
        family, solution = risk.family, _solve(risk)
        hessian = risk.moments(solution.theta).hessian
    theta = np.array(solution.theta)
    meat, sampling = risk.meat(theta).finished()
    meat = meat / risk.total
    covariance = sandwich(hessian, meat, cast("int", risk.total))
    if not solution.converged:  # nothing is known about a point that is no minimum
        covariance = np.full(covariance.shape, np.nan)
    more = list(notes)
    if sampling is not None and sampling.recurring:
        more.append("cluster labels that recur in several strata were taken as different clusters")
    return CorrectedRegression(
        coefficients=theta,
        covariance=covariance,
        names=parameters,
        n=n,
        loss=family.name,
        method="corrected",
        converged=solution.converged,
        status=status(solution, hessian, parameters),
        notes=tuple(more),
        hessian=hessian,
        scores=meat,
        family=family,
        randomised=tuple(randomised),
        cells=risk.cells_used,
        weighted=weighted,
        sampling=sampling,
        risk=risk,
        matrices=matrices,
    )


def _solve(risk: Risk) -> Solution:
    """A squared loss is solved at once; others by Newton's method inside a trust region."""
    start = risk.start()
    if risk.family.curvature == "square":
        here = risk.moments(start)
        scale = risk.scale
        values = np.linalg.eigvalsh(here.hessian / np.outer(scale, scale))
        if values[0] <= 1e-12 * max(abs(values[-1]), 1e-300):
            return Solution(start, here.value, False, False, 1)
        theta = start - np.linalg.solve(here.hessian, here.gradient)
        return Solution(theta, risk.moments(theta).value, True, False, 1)
    assert isinstance(risk, CorrectedLoss)  # a linear model has a squared loss
    found = []
    for one in (start, np.zeros_like(start)):
        found.append(local_minimum(risk, one, _RADIUS))
        if found[-1].converged or not start.any():
            break
    return next((one for one in found if one.converged), found[0])
