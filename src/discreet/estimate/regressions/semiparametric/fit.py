"""Semi-parametric maximum likelihood: coefficients at the top of the profile over all laws of the covariates.

The law is constant on cells: finer than the reports can tell, and still an approximation, whose bias is of second order
in the width of a cell; values that many people share are told apart from it. Intervals are by scores that do not feel
how the law was estimated (:mod:`.efficient_score`).
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import Floats
from discreet.estimate.noisy_numbers.inside import need_exact_records, refuse_coarse_grid
from discreet.estimate.noisy_numbers.sample import Sample
from discreet.estimate.regressions.losses import IndexLoss, Logistic, Poisson, Probit
from discreet.estimate.regressions.optimise import Optimum, maximise
from discreet.estimate.regressions.result import CorrectedRegression
from discreet.estimate.regressions.sandwich import sandwich
from discreet.estimate.regressions.semiparametric.efficient_score import efficient_intervals
from discreet.estimate.regressions.semiparametric.law import MOST_COORDINATES, CellLaw, fewest_rows
from discreet.estimate.regressions.semiparametric.model import CellModel
from discreet.estimate.regressions.semiparametric.profile import LawProfile

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


def fit_likelihood(
    loss: IndexLoss, sample: Sample, start: Floats, beside: CorrectedRegression, order: NDArray[np.intp]
) -> CorrectedRegression:
    """Maximum likelihood, from a fit inside the box.

    Parameters
    ----------
    start : array (p,)
        Private coefficients, then public ones.
    beside : CorrectedRegression
        The fit inside the box: its loss averages predictions over the true numbers.
    order : array of int
        The place of every coefficient, private ones first, in the result.
    """
    need_exact_records(sample.mechanism)
    refuse_coarse_grid(sample.mechanism)
    law = CellLaw.of(sample.mechanism, sample.private, _smallest_group(sample)[0])
    profile = LawProfile(CellModel(loss, sample, law))
    found = _maximum(profile, start)
    n, theta, weights = sample.n, found.theta, profile.model.weights
    with np.errstate(all="ignore"):
        scores = profile.efficient_scores(theta) * weights[:, None]
        hessian = _curvature(profile, theta, scores) / n
    middle, sampling = sample.design.middle(scores)
    covariance = sandwich(hessian, middle, n) if found.outcome == "maximum" else np.full(hessian.shape, math.nan)
    converged = bool(np.isfinite(covariance).all())
    back = np.argsort(order)
    square = np.ix_(back, back)
    inverted = None
    if converged:
        inner = efficient_intervals(loss, sample, law, theta, covariance)
        inverted = lambda quantile: inner(quantile)[back]  # noqa: E731
    if sampling is not None:
        squares = None if sampling.squares is None else sampling.squares[:, back][:, :, back]
        sampling = replace(sampling, totals=sampling.totals[:, back], squares=squares)
    return replace(
        beside,
        coefficients=theta[back],
        covariance=covariance[square],
        method="likelihood",
        converged=converged,
        status="converged" if converged else _NO_MAXIMUM,
        notes=(_note(profile.model), _INTERVALS),
        hessian=hessian[square],
        scores=middle[square],
        sampling=sampling,
        inverted=inverted,
        prefers_score=True,
        row_scores=-scores[:, back],
    )


def _curvature(profile: LawProfile, theta: Floats, scores: Floats) -> Floats:
    """The curvature of the profile; products of efficient scores where it is not positive."""
    curvature = profile.terms(theta, "observed").information
    if np.isfinite(curvature).all() and np.linalg.eigvalsh(curvature)[0] > 0:
        return curvature
    return np.asarray(scores.T @ scores)


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
