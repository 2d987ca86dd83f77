"""Regression of a randomised yes/no answer on public covariates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.data.checks import checked_names
from discreet.estimate.data.map_reduce import Source
from discreet.estimate.regressions.likelihood.binary import BinaryRegression
from discreet.estimate.regressions.likelihood.firth import Firth, checked_penalty
from discreet.estimate.regressions.likelihood.half_spaces import best_step
from discreet.estimate.regressions.likelihood.links import Link, link_named
from discreet.estimate.regressions.likelihood.objective import Anchored, Model, Moments, Objective
from discreet.estimate.regressions.likelihood.rows import ArrayRows, checked_rows
from discreet.estimate.regressions.likelihood.scan import Scan, scan
from discreet.estimate.regressions.likelihood.search import Found, loose, random_starts, search, search_with_sample
from discreet.estimate.regressions.likelihood.yes_no import BinaryModel
from discreet.estimate.regressions.optimise import Surface, maximise

#: Log-likelihoods that differ by less are equal.
_HIGHER = 1e-3
_STEP_FITS_BETTER = (
    "so many reports are noise that a step function of the covariates fits them better; "
    'the interval "score" does not use the maximum, and the penalty "firth" draws it back'
)


def binary_regression(
    X: Any,
    y: Any,
    p00: Any = None,
    p11: Any = None,
    link: str = "logit",
    weights: Any = None,
    offset: Any = None,
    clusters: Any = None,
    names: Sequence[str] | None = None,
    *,
    mechanism: Any = None,
    designs: Any = None,
    strata: Any = None,
    penalty: str | None = None,
) -> BinaryRegression:
    """Regression of a randomised yes/no answer: coefficients about the truth, from the reports.

    ``P(report 1 | x) = 1 − p00 + (p00 + p11 − 1) G(x'β + offset)``, fitted by maximum likelihood (Zhang et al. 2025,
    equation (4), for logit, probit and cauchit); with any channel Q of more reports,
    ``P(report r | x) = Q[0, r] (1 − G) + Q[1, r] G``. The log-likelihood is not concave: several starts are tried.

    Parameters
    ----------
    X : array or table (rows, columns)
        Covariates, as they are: add a column of ones for an intercept.
    y : array
        Reports, 0 or 1; with a mechanism, report codes from 0.
    p00, p11 : float or array
        The design: probability of report 0 under a true "no" and of report 1 under a true "yes". One number, or
        one per row for mixed survey modes. p00 + p11 < 1 (crosswise) is fine; direct questions have p00 = p11 = 1.
    link : {"logit", "probit", "cauchit", "cloglog"}
    weights : array, optional
        Survey weights. Standard errors are then robust (sandwich).
    offset : array, optional
        Added to the linear predictor.
    clusters : array, optional
        One label per row; standard errors then allow for dependence within clusters.
    names : sequence of str, optional
        Names of the columns. Default: the header of a table, or x1, x2, …
    mechanism : FiniteMechanism, matrix, or mapping from name to either; optional
        Instead of p00 and p11: a channel with two truths and any number of reports, as from
        ``design.binary(..., reports=4)``. With a mapping, ``designs`` names the one of every row.
    designs : array, optional
    strata : array, optional
        One label per row: clusters (or rows) were sampled within strata. A cluster is read within its stratum, and its
        scores are centred there, as in :func:`frequencies`; sampling is taken as with replacement.
    penalty : {None, "firth"}
        "firth": maximise the likelihood times the root of the determinant of the information (Firth 1993). Estimates
        are then finite and less biased where "yes" is rare or the randomisation strong; intervals are by default
        those of the penalised profile likelihood. Not with weights, clusters or strata.

    Returns
    -------
    BinaryRegression

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import Randomness
    >>> from discreet.mechanisms import BinaryResponse
    >>> chance = np.random.default_rng(1)
    >>> age = chance.normal(size=20_000)
    >>> truth = chance.random(20_000) < 1 / (1 + np.exp(1 - age))
    >>> reports = BinaryResponse("3/4", "3/4").privatize(truth, Randomness.seeded(1))
    >>> X = np.column_stack([np.ones(20_000), age])
    >>> fit = binary_regression(X, reports, 0.75, 0.75, names=["const", "age"])
    >>> fit.converged, bool(np.all(np.abs(fit.coefficients - [-1, 1]) < 3 * fit.std_error))
    (True, True)
    """
    chosen = link_named(link)
    rows = checked_rows(X, y, p00, p11, weights, offset, clusters, mechanism=mechanism, designs=designs, strata=strata)
    return fit_binary(ArrayRows(rows), chosen, checked_names(names, X, rows.X.shape[1]), penalty)


def fit_binary(source: Source, link: Link, names: tuple[str, ...], penalty: str | None = None) -> BinaryRegression:
    """Fit rows from any source: one pass to look, a few to climb, one for the moments."""
    penalty = checked_penalty(penalty)
    facts = scan(source, names)
    if penalty is not None and (facts.weighted or facts.clustered or facts.stratified):
        raise EstimationError(
            "a penalised fit needs independent, equally weighted rows: no weights, no clusters, no strata"
        )
    model = BinaryModel(link)
    unit = facts.total / facts.n
    objective = Objective(model, source, facts.metric, facts.n, passes=1, unit=unit)
    sample = Objective(model, ArrayRows(facts.sample), facts.metric, facts.sample.size, unit=unit)
    starts = _starts(facts, model)
    surface, sample_surface = (objective, sample) if penalty is None else (Firth(objective), Firth(sample))
    in_sample = facts.sample.size == facts.n
    if in_sample:
        found = search(surface, starts, facts.scale)
    else:
        found = search_with_sample(surface, sample_surface, starts, facts.scale)
    if penalty is None and in_sample and found.converged and loose(found.optimum, facts.metric):
        step, _ = best_step(facts.sample, found.optimum.theta)
        found = replace(found, higher=step / unit - found.optimum.value)
    done = finish(objective, found, names, facts.scale, surface)
    notes = list(done.notes)
    silent = facts.n - facts.informative
    if silent:
        notes.append(f"{silent:,} rows have reports that do not depend on the truth (p00 + p11 = 1)")
    if facts.weighted:
        notes.append("survey weights: the log-likelihood is a weighted sum, and information criteria do not exist")
    sampling = {"weighted": facts.weighted, "clustered": facts.clustered, "stratified": facts.stratified}
    fields = fit_fields(objective, found, replace(done, notes=tuple(notes)), names, facts.scale) | sampling
    refit = partial(fit_binary, link=link, names=names, penalty=penalty)
    return BinaryRegression(**fields, link_function=link, facts=facts, source=source, refit=refit, penalty=penalty)


def fit_fields(
    objective: Objective, found: Found, done: Finished, names: tuple[str, ...], scale: Floats
) -> dict[str, Any]:
    """What a search found, as the fields of a :class:`.LikelihoodFit`."""
    return {
        "coefficients": done.theta,
        "names": names,
        "n": objective.rows,
        "objective": objective,
        "moments": done.moments,
        "scale": scale,
        "direction": found.direction,
        "converged": done.converged,
        "status": done.status,
        "notes": done.notes,
        "passes": objective.passes,
    }


@dataclass(frozen=True, eq=False)
class Finished:
    """An optimum with its moments, and words about it."""

    theta: Floats
    moments: Moments
    converged: bool
    status: str
    notes: tuple[str, ...]


def finish(
    objective: Objective,
    found: Found,
    names: Sequence[str],
    scale: Floats,
    surface: Surface | None = None,
    advice: str | None = None,
) -> Finished:
    """The last pass: both informations and the sums of squares at the optimum of the surface that was climbed."""
    theta = np.array(found.optimum.theta)
    moments = objective.moments(theta)
    status = found.status(names, scale)
    notes = []
    if found.others:
        values = ", ".join(f"{value:.4f}" for value in found.others)
        notes.append(f"other local maxima of the log-likelihood were met and left, at {values}")
    converged = found.converged
    curvature = moments.observed
    if surface is not None and surface is not objective:
        curvature = surface.terms(theta, "observed").information
    if found.optimum.outcome == "maximum" and found.direction is None and not positive_definite(curvature):
        converged = False
        status = "not converged: the search ended at a stationary point that is no maximum"
    if found.direction is not None:
        notes.append(
            'Wald intervals say nothing here and profile intervals are too short; use the interval "score", or a '
            'penalised fit (penalty "firth")'
        )
    elif found.local:
        notes.append(_STEP_FITS_BETTER if advice is None else advice)
    if moments.sampling is not None and moments.sampling.recurring:
        notes.append("cluster labels that recur in several strata were taken as different clusters")
    return Finished(theta, moments, converged, status, tuple(notes))


def positive_definite(matrix: Floats) -> bool:
    """Whether a matrix is positive definite, whatever the units of its rows."""
    scale = 1.0 / np.sqrt(np.maximum(np.diag(matrix), 1e-300))
    return bool(np.linalg.eigvalsh(matrix * np.outer(scale, scale))[0] > 0)


def _starts(facts: Scan, model: BinaryModel) -> list[Floats]:
    """Zero, whose first step is the linear estimate from unbiased labels; the naive fit, as it is and corrected."""
    zero = np.zeros(facts.scale.size)
    sample = ArrayRows(facts.sample.taken_literally())
    literal = Objective(model, sample, facts.metric, facts.sample.size, unit=facts.total / facts.n)
    naive = maximise(Anchored(literal, 0.1), zero, scale=facts.scale, iterations=8).theta
    rows = facts.sample
    lift = float(np.mean(np.sum(rows.difference * rows.reads_yes, axis=0)))  # p00 + p11 − 1 for two reports
    starts = [zero]
    if abs(lift) < 1:  # reports are truths otherwise, and the naive fit is the fit
        # Near one half G is a line, so that the randomisation shrinks the naive coefficients by the factor lift.
        factor = float(np.clip(1.0 / lift, -4.0, 4.0)) if lift else 1.0
        starts += [naive, factor * naive, *random_starts(facts.metric)]
    return starts


def fit_in_memory(
    model: Model,
    rows: Any,
    metric: Floats,
    scale: Floats,
    names: tuple[str, ...],
    start: Floats | None = None,
    more: Sequence[Floats] = (),
    beyond: Callable[[Floats], list[Floats]] | None = None,
    advice: str | None = None,
) -> dict[str, Any]:
    """Fit any model to rows held in memory: a given start (or zero), random ones around it, and more, on all rows.

    ``beyond`` says where a higher maximum than the one that was found may be, if it is not the last, and ``advice``
    what to do where that is at infinity.

    Returns the fields that every :class:`~discreet.estimate.regressions.likelihood.result.LikelihoodFit` has.
    """
    unit = 1.0 if rows.weights is None else float(np.mean(rows.weights))
    objective = Objective(model, ArrayRows(rows), metric, rows.size, unit=unit)
    centre = np.zeros(scale.size) if start is None else start
    further = [one for one in more if _is_possible(objective, one)]
    found = search(objective, [centre, *(centre + move for move in random_starts(metric)), *further], scale)
    if beyond is not None:
        far = [one for one in beyond(found.optimum.theta) if _is_possible(objective, one)]
        again = search(objective, [found.optimum.theta, *far], scale)
        gain = again.optimum.value - found.optimum.value
        if gain > _HIGHER and (again.direction is None or found.direction is not None):
            found = again
        elif gain > _HIGHER:  # the higher one is at infinity: a step that fits a few rows
            found = replace(found, higher=gain)
    done = finish(objective, found, names, scale, advice=advice)
    sampling = {"weighted": rows.weights, "clustered": rows.clusters, "stratified": rows.strata}
    return fit_fields(objective, found, done, names, scale) | {name: one is not None for name, one in sampling.items()}


def _is_possible(objective: Objective, theta: Floats) -> bool:
    """Whether a climb can start: too far away a report that was made may be impossible."""
    terms = objective.terms(theta, "expected")
    return bool(np.isfinite(terms.value) and np.isfinite(terms.score).all() and np.isfinite(terms.information).all())
