"""Minimise a corrected loss, and say how sure the minimum is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

import numpy as np

from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.formulas import Matrices
from discreet.estimate.regressions.cell_passes import Moments
from discreet.estimate.regressions.families import Family
from discreet.estimate.regressions.invert_test import RiskStanding, ScoreIntervals
from discreet.estimate.regressions.losses import Check
from discreet.estimate.regressions.optimise import Optimum
from discreet.estimate.regressions.result import CorrectedRegression
from discreet.estimate.regressions.robust import IndexFamily, fit_robust
from discreet.estimate.regressions.sample import ScoreSquares
from discreet.estimate.regressions.sandwich import sandwich
from discreet.estimate.regressions.search import (
    CLEAR,
    clearance,
    is_noise,
    least_squares,
    local_minimum,
    parameter_metric,
    solved,
    status,
)

#: A gradient of this many standard errors is none.
_SMALL_GRADIENT = 1e-3


class Risk(Protocol):
    """What is minimised: a corrected loss over cells or copies, the moments of a linear model, an exact correction."""

    @property
    def family(self) -> Family:
        """The loss."""

    @property
    def n(self) -> int:
        """Number of rows, or of records."""

    @property
    def size(self) -> int:
        """Number of parameters."""

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
    def metric(self) -> Floats:
        """The mean of x x' over rows, and over cells where there are any."""

    def coefficients(self, theta: Floats) -> Floats:
        """One row of coefficients per linear predictor."""

    def moments(self, theta: Floats) -> Moments:
        """Value, gradient and second derivatives."""

    def meat(self, theta: Floats) -> ScoreSquares:
        """The middle of the sandwich."""

    def bends(self, theta: Floats, direction: Floats) -> ScoreSquares:
        """The squares of the second derivatives of rows along a direction."""

    def linear_scores(self) -> ScoreSquares:
        """Of a squared loss: what the covariance of its scores at every θ is made of."""


def fit_corrected(
    risk: Any,
    names: Sequence[str],
    randomised: Sequence[str],
    *,
    notes: Sequence[str] = (),
    matrices: Matrices | None = None,
    weighted: bool = False,
    method: str = "corrected",
    start: Floats | None = None,
) -> CorrectedRegression:
    """Fit a corrected loss.

    Parameters
    ----------
    risk : Risk
        It holds the rows, weights, clusters and strata.
    names : sequence of str
        Of the columns of the model.
    randomised : sequence of str
        The randomised columns, for the summary.
    notes : sequence of str
    matrices : Matrices, optional
        Makes model matrices of new rows, for predictions.
    weighted : bool
        Whether the rows carry survey weights.
    method : str
        How the summary calls the correction.
    start : array, optional
        Where to search from first.
    """
    parameters, _ = risk.family.parameters(names)
    if risk.n <= len(parameters):
        raise EstimationError(f"{risk.n:,} rows are too few for {len(parameters)} coefficients")
    family, solution, scored, hessian, smooth = _minimum(risk, start)
    theta = np.array(solution.theta)
    middle, sampling = scored.meat(theta).finished()
    clear = clearance(smooth, theta, hessian) if solution.converged else -math.inf
    if solution.converged and (is_noise(clear) or not (family.kinked or _is_root(scored, theta, middle))):
        solution = replace(solution, outcome="flat")
    middle = middle / risk.total
    covariance = sandwich(hessian, middle, risk.total)
    if solution.converged and not np.isfinite(covariance).all():
        solution = replace(solution, outcome="flat")
    clear = min(clear, _locality(risk, family, hessian, covariance))
    if not solution.converged:  # nothing is known about a point that is no minimum
        covariance = np.full(covariance.shape, np.nan)
    more = list(notes)
    if sampling is not None and sampling.recurring:
        more.append("cluster labels that recur in several strata were taken as different clusters")
    inverted = None
    if solution.converged:
        inverted = ScoreIntervals(partial(RiskStanding, scored), theta, covariance)
    return CorrectedRegression(
        coefficients=theta,
        covariance=covariance,
        names=tuple(parameters),
        n=risk.n,
        loss=family.name,
        method=method,
        converged=solution.converged,
        status=status(solution, hessian, parameter_metric(risk), parameters, clear, risk.n),
        notes=tuple(more),
        hessian=np.array(hessian),
        scores=np.array(middle),
        family=family,
        randomised=tuple(randomised),
        cells=risk.cells_used,
        weighted=weighted,
        sampling=sampling,
        risk=scored,
        matrices=matrices,
        inverted=inverted,
    )


def _minimum(risk: Any, start: Floats | None) -> tuple[Family, Optimum, Any, Floats, Any]:
    """The family, the minimum, the loss whose scores count there, its curvature, and a smooth loss that has it."""
    if isinstance(risk.family, IndexFamily):
        asked, found = risk.family, fit_robust(risk, start)
        family = asked if asked.loss.kinked else found.risk.family  # a kink was averaged for the search only
        return family, found.solution, found.risk, found.hessian, found.smooth
    solution = solved(risk) if risk.family.curvature == "square" else _searched(risk, start)
    return risk.family, solution, risk, risk.moments(solution.theta).hessian, risk


def _locality(risk: Any, family: Family, hessian: Floats, covariance: Floats) -> float:
    """For a quantile: how short the error of the linear predictor is of the tail, on the scale of the clearance.

    A quantile can move by ``min(τ, 1 − τ)/f(0)`` before its tail is used up, f(0) the density of the residuals at it. A
    loss is no longer quadratic over errors of more than half of that.
    """
    loss = getattr(family, "loss", None)
    if not isinstance(loss, Check) or risk.constant is None or not np.isfinite(covariance).all():
        return math.inf
    length = min(loss.tau, 1 - loss.tau) / max(float(hessian[risk.constant, risk.constant]), 1e-300)
    error = math.sqrt(max(float(np.sum(covariance * parameter_metric(risk.curved or risk))), 0.0))
    return CLEAR * 0.5 * length / error if error > 0 else math.inf


def _searched(risk: Any, start: Floats | None) -> Optimum:
    """The minimum nearest to a start, or to the next one where there is none."""
    first = risk.start()
    starts = [first] if start is None else [start, first]
    near = risk.family.approximation() if risk.transform is None else None
    found = []
    for place in range(len(starts) + 2):
        if place == len(starts):
            one = first if near is None else least_squares(risk, near)[0]
        else:
            one = starts[place] if place < len(starts) else np.zeros_like(first)
        found.append(local_minimum(risk, one))
        if found[-1].converged:
            return found[-1]
    return found[0]


def _is_root(risk: Any, theta: Floats, middle: Floats) -> bool:
    """Whether the gradient is zero but for a small part of its standard error."""
    gradient = risk.moments(theta).gradient * risk.total
    size = np.sqrt(np.maximum(np.diag(middle), 1e-300))
    return bool(np.max(np.abs(gradient) / size, initial=0.0) < _SMALL_GRADIENT)
