"""Semi-parametric maximum likelihood: coefficients at the top of the profile over all laws of the covariates.

The law is constant on cells: finer than the reports can tell, and still an approximation, whose bias is of second order
in the width of a cell; values that many people share are told apart from it. Intervals are by scores that do not feel
how the law was estimated (:mod:`.efficient_score`).
"""

from __future__ import annotations

import math

import numpy as np

from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.likelihood.optimizer import Optimum, maximise
from discreet.estimate.m_estimation.box.inside import need_exact_records, refuse_coarse_grid
from discreet.estimate.m_estimation.losses import IndexLoss, Logistic, Poisson, Probit
from discreet.estimate.m_estimation.result import MEstimate
from discreet.estimate.m_estimation.sample import Sample
from discreet.estimate.m_estimation.semiparametric.efficient_score import EfficientIntervals
from discreet.estimate.m_estimation.semiparametric.law import MOST_COORDINATES, CellLaw, fewest_rows
from discreet.estimate.m_estimation.semiparametric.model import CellModel
from discreet.estimate.m_estimation.semiparametric.profile import LawProfile

#: What a reader should know of the intervals.
_INTERVALS = (
    'intervals are by score tests, which takes seconds with several numbers; the interval "wald" has estimate ± z '
    "standard errors at once, which cover less where the law of the numbers is skewed or narrow"
)
#: Numbers of the densities of all rows at all points.
_MOST_NUMBERS = 1 << 25
#: Cells of the law.
_MOST_CELLS = 400
#: Groups of equal public values, each with a law of its own.
_MOST_GROUPS = 20
#: Products of scores that fall below this share of the curvature say nothing of the variance: equal counts, say.
_DEGENERATE = 0.1
_NO_MAXIMUM = "no maximum was found: the reports do not determine the coefficients"


def obstacle(loss: IndexLoss, sample: Sample) -> str | None:
    """Why there is no such likelihood here, in one sentence, or None."""
    if not isinstance(loss, (Logistic, Probit, Poisson)):
        return f'the method "likelihood" needs a model of the outcome: logistic, probit or poisson, not {loss.name}'
    d = sample.private.shape[1]
    if d > MOST_COORDINATES:
        return f'the method "likelihood" takes up to {MOST_COORDINATES} numeric columns with noise, not {d}'
    if sample.outcome_noise is not None:
        return 'the method "likelihood" needs an outcome without Laplace noise'
    rows, groups = _smallest_group(sample)
    if groups > _MOST_GROUPS or rows < fewest_rows(d):
        return (
            f'the method "likelihood" needs the law of {d} numeric column{"s" * (d > 1)} given the public ones: those '
            f"must have at most {_MOST_GROUPS} combinations of values, each in {fewest_rows(d):,} rows or more"
        )
    law = CellLaw.of(sample.mechanism, sample.private, rows)
    if law.cells > _MOST_CELLS:
        return (
            f'the method "likelihood" would need {law.cells:,} cells for so many numbers that people share, more than '
            f"{_MOST_CELLS}"
        )
    if sample.n * len(law.points) > _MOST_NUMBERS:
        most = _MOST_NUMBERS // len(law.points)
        return f'the method "likelihood" takes up to {most:,} rows with {d} numeric columns, not {sample.n:,}'
    return None


def _smallest_group(sample: Sample) -> tuple[int, int]:
    """The fewest rows with equal public values, and the number of such groups."""
    if not sample.public.size:
        return sample.n, 1
    counts = np.unique(sample.public, axis=0, return_counts=True)[1]
    return int(counts.min()), counts.size


def fit_likelihood(loss: IndexLoss, sample: Sample, start: Floats, labels: tuple[str, ...]) -> MEstimate:
    """Maximum likelihood, from a start that another method gives."""
    need_exact_records(sample.mechanism)
    refuse_coarse_grid(sample.mechanism)
    problem = obstacle(loss, sample)
    if problem is not None:
        raise EstimationError(problem)
    law = CellLaw.of(sample.mechanism, sample.private, _smallest_group(sample)[0])
    profile = LawProfile(CellModel(loss, sample, law))
    found = _maximum(profile, start)
    n, theta, weights = sample.n, found.theta, profile.model.weights
    with np.errstate(all="ignore"):
        scores = profile.efficient_scores(theta)
        hessian = _information(profile, theta, scores) / n
    meat = hessian if sample.design.plain else sample.design.meat(scores * weights[:, None])
    inverse = _inverse(hessian) if found.outcome == "maximum" else None
    covariance, intervals = np.full(hessian.shape, math.nan), None
    if inverse is not None:
        covariance = inverse @ meat @ inverse / n
        intervals = EfficientIntervals(loss, sample, law, theta, covariance)
    return MEstimate(
        coefficients=theta,
        covariance=covariance,
        names=labels,
        n=n,
        loss=loss.name,
        method="likelihood",
        converged=inverse is not None,
        status=_NO_MAXIMUM if inverse is None else "converged",
        notes=(_note(profile.model), _INTERVALS),
        hessian=hessian,
        scores=meat,
        _score=intervals,
    )


def _information(profile: LawProfile, theta: Floats, scores: Floats) -> Floats:
    """``Σ ŝŝ'`` of efficient scores; the curvature of the profile where it says nothing."""
    products = (scores * profile.model.weights[:, None]).T @ scores
    curvature = profile.terms(theta, "observed").information
    if not (np.isfinite(products).all() and np.isfinite(curvature).all()):
        return products
    values, vectors = np.linalg.eigh(curvature)
    if values[0] <= 0:
        return products
    whiten = vectors / np.sqrt(values)
    return curvature if np.linalg.eigvalsh(whiten.T @ products @ whiten)[0] < _DEGENERATE else products


def _inverse(matrix: Floats) -> Floats | None:
    """The inverse; None of a matrix that has none, columns measured by their own size."""
    size = np.sqrt(np.maximum(np.diag(matrix), 1e-300))
    scaled = matrix / np.outer(size, size)
    if not np.isfinite(scaled).all() or np.linalg.cond(scaled) > 1e12:
        return None
    return np.asarray(np.linalg.inv(scaled) / np.outer(size, size))


def _maximum(profile: LawProfile, start: Floats) -> Optimum:
    """The top of the profile, from the start or, where that leads nowhere, from zero."""
    scale = np.abs(profile.model.design).max(axis=0)
    with np.errstate(all="ignore"):
        found = maximise(profile, start, scale=scale)
        return found if found.outcome == "maximum" else maximise(profile, np.zeros(start.size), scale=scale)


def _note(model: CellModel) -> str:
    each = f", for each of {model.groups} groups of equal public values" if model.groups > 1 else ""
    shared = sum(axis.shared.size for axis in model.law.axes)
    own = f", {shared} values that many share among them" if shared else ""
    cells = f"the law of the numbers with noise was estimated on {model.law.cells} cells{own}{each}"
    return f"maximum likelihood: the model of the outcome is taken to be right; {cells}"
