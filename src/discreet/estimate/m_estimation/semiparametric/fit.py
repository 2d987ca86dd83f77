"""Semi-parametric maximum likelihood: coefficients by efficient scores, the law of the covariates by EM.

With ``s`` the score of the coefficients and ``u`` those of the cell probabilities, ``s − E[su'](E[uu'])⁻¹u`` is what
the rows say about the coefficients when the law is unknown. Between steps of EM for the law, the coefficients move by
``I⁻¹ Σ ŝ``, ``I = Σ ŝŝ'``, which is also the inverse of their covariance (Begun, Hall, Huang and Wellner 1983). The law
is constant on cells: finer than the reports can tell, and still an approximation, whose bias is of second order in the
width of a cell; values that many people share are told apart from it.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.m_estimation.box.inside import need_exact_records, refuse_coarse_grid
from discreet.estimate.m_estimation.losses import IndexLoss, Logistic, Poisson, Probit
from discreet.estimate.m_estimation.result import MEstimate
from discreet.estimate.m_estimation.sample import Sample
from discreet.estimate.m_estimation.semiparametric.law import MOST_COORDINATES, CellLaw
from discreet.estimate.m_estimation.semiparametric.model import CellModel, Pattern
from discreet.mechanisms import FiniteMechanism

#: Numbers of the densities of all rows at all points.
_MOST_NUMBERS = 1 << 25
#: Cells of the law.
_MOST_CELLS = 400
#: Groups of equal public values, each with a law of its own, and the rows that one needs per cell.
_MOST_GROUPS, _ROWS_PER_CELL = 20, 5
#: EM steps of the law between two steps of the coefficients; rounds of both; the step, in standard errors, at which
#: they end.
_LAW_STEPS, _ROUNDS, _SMALL = 15, 40, 0.02
#: A step of the index in one round.
_REACH = 1.0


def obstacle(loss: IndexLoss, sample: Sample) -> str | None:
    """Why there is no such likelihood here, in one sentence, or None."""
    if not isinstance(loss, (Logistic, Probit, Poisson)):
        return f'the method "likelihood" needs a model of the outcome: logistic, probit or poisson, not {loss.name}'
    d = sample.private.shape[1]
    if d > MOST_COORDINATES:
        return f'the method "likelihood" takes up to {MOST_COORDINATES} numeric columns with noise, not {d}'
    if sample.outcome_noise is not None:
        return 'the method "likelihood" needs an outcome without Laplace noise'
    law = CellLaw.of(sample.mechanism, sample.private)
    if law.cells > _MOST_CELLS:
        return (
            f'the method "likelihood" would need {law.cells:,} cells for so many numbers that people share, more than '
            f"{_MOST_CELLS}"
        )
    if sample.n * len(law.points) > _MOST_NUMBERS:
        most = _MOST_NUMBERS // len(law.points)
        return f'the method "likelihood" takes up to {most:,} rows with {d} numeric columns, not {sample.n:,}'
    _, counts = np.unique(sample.public, axis=0, return_counts=True) if sample.public.size else (None, np.ones(1))
    fewest = _ROWS_PER_CELL * law.cells
    if counts.size > _MOST_GROUPS or (counts.size > 1 and counts.min() < fewest):
        return (
            'the method "likelihood" needs the law of the numbers given the public columns: these must have at most '
            f"{_MOST_GROUPS} combinations of values, each in {fewest:,} rows or more"
        )
    return None


def fit_likelihood(loss: IndexLoss, sample: Sample, start: Floats, labels: tuple[str, ...]) -> MEstimate:
    """Maximum likelihood, from a start that another method gives."""
    need_exact_records(sample.mechanism)
    refuse_coarse_grid(sample.mechanism)
    problem = obstacle(loss, sample)
    if problem is not None:
        raise EstimationError(problem)
    patterns, groups = _patterns(sample)
    model = CellModel(loss, sample, patterns, groups)
    theta, pi, converged = _maximum(model, start)
    n, scores = sample.n, model.scores(theta, pi, everywhere=True)
    information = (scores * model.weights[:, None]).T @ scores
    hessian, meat = information / n, sample.design.meat(scores * model.weights[:, None])
    covariance = np.full((theta.size, theta.size), math.nan)
    if converged:
        inverse = np.linalg.inv(hessian)
        covariance = inverse @ meat @ inverse / n
        converged = bool(np.isfinite(covariance).all())
    status = "converged" if converged else "no maximum was found: the reports do not determine the coefficients"
    each = f", for each of {groups} groups of equal public values" if groups > 1 else ""
    shared = sum(axis.shared.size for axis in model.law.axes)
    own = f", {shared} values that many share among them" if shared else ""
    cells = f"the law of the numbers with noise was estimated on {model.law.cells} cells{own}{each}"
    return MEstimate(
        coefficients=theta,
        covariance=covariance,
        names=labels,
        n=n,
        loss=loss.name,
        method="likelihood",
        converged=converged,
        status=status,
        notes=(f"maximum likelihood: the model of the outcome is taken to be right; {cells}",),
        hessian=hessian,
        scores=meat,
    )


def _maximum(model: CellModel, start: Floats) -> tuple[Floats, Floats, bool]:
    """Coefficients, the law, and whether the steps ended."""
    theta, pi = np.array(start, float), model.even()
    size = np.sqrt(np.mean(model.design**2, axis=0))
    for round_number in range(_ROUNDS):
        for _ in range(_LAW_STEPS if round_number else 3 * _LAW_STEPS):
            pi = model.law_step(theta, pi)
        scores = model.scores(theta, pi)
        weighed = scores * model.weights[:, None]
        information = weighed.T @ scores
        if not np.isfinite(information).all() or np.linalg.cond(information / np.outer(size, size)) > 1e12:
            return theta, pi, False
        total = weighed.sum(axis=0)
        step = np.linalg.solve(information, total)
        length = float(np.linalg.norm(step * size))
        if float(total @ step) < _SMALL**2:
            return theta + step, pi, True
        theta = theta + step * min(1.0, _REACH / length)
    return theta, pi, False


def _patterns(sample: Sample) -> tuple[list[Pattern], int]:
    """Rows with the same outcome and public values; and the number of different public values."""
    n = sample.n
    group: NDArray[np.intp] = np.zeros(n, np.intp)
    public = np.zeros((1, 0))
    if sample.public.size:
        public, group = np.unique(sample.public, axis=0, return_inverse=True)
        group = group.reshape(-1)
    assert sample.outcome is not None
    values, code = np.unique(sample.outcome, return_inverse=True)
    channel = sample.outcome_given.matrix() if isinstance(sample.outcome_given, FiniteMechanism) else None
    found = []
    for key in np.unique(group * values.size + code):
        g, place = divmod(int(key), values.size)
        value = float(values[place])
        outcomes: tuple[tuple[float, float], ...] = ((value, 1.0),)
        if channel is not None:
            outcomes = ((0.0, float(channel[0, int(value)])), (1.0, float(channel[1, int(value)])))
        rows = np.flatnonzero((group == g) & (code == place))
        found.append(Pattern(rows, g, public[g], outcomes))
    return found, len(public)
