"""Fit a loss to privatised records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from discreet import arguments
from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.m_estimation import bounded, functionals, general, kinked
from discreet.estimate.m_estimation.box.fit import fit_box
from discreet.estimate.m_estimation.box.inside import is_coarse, need_exact_records, refuse_coarse_grid
from discreet.estimate.m_estimation.choice import least_variance
from discreet.estimate.m_estimation.corrections import corrected_objective
from discreet.estimate.m_estimation.diagnosis import assemble, loss_text
from discreet.estimate.m_estimation.first_guess import (
    Guess,
    closed_form,
    first_guess,
    given_start,
    starting_points,
)
from discreet.estimate.m_estimation.identification import obstacle
from discreet.estimate.m_estimation.losses import (
    Expectation,
    Huber,
    IndexLoss,
    Poisson,
    Squared,
    resolve,
)
from discreet.estimate.m_estimation.objective import Objective
from discreet.estimate.m_estimation.outcomes import check_outcome
from discreet.estimate.m_estimation.result import MEstimate, sandwich
from discreet.estimate.m_estimation.sample import METHODS, Sample, labels_of, read_sample
from discreet.estimate.m_estimation.semiparametric import fit as semiparametric
from discreet.estimate.m_estimation.solver import Solution, best_of
from discreet.estimate.m_estimation.units import loss_in, result_in, sample_in, unit_of
from discreet.mechanisms.laplace import ZeroInflatedLaplace
from discreet.randomness import Randomness

#: Why "auto" takes the likelihood without looking at the variances of others.
_EFFICIENT = (
    'the method "likelihood" was chosen: where the model of the outcome is right no other has less variance in large '
    "samples"
)


def m_estimate(
    loss: Any,
    reports: Any,
    mechanism: ZeroInflatedLaplace,
    start: Any = None,
    method: str = "auto",
    public: Any = None,
    outcome: Any = None,
    outcome_mechanism: Any = None,
    *,
    names: Sequence[str] | None = None,
    randomness: Randomness | None = None,
    weights: Any = None,
    strata: Any = None,
    clusters: Any = None,
) -> MEstimate:
    """Minimise the expected loss over *true* records, from privatised ones.

    Parameters
    ----------
    loss : str, loss or function
        "squared", "logistic", "probit", "poisson", "check", "huber", "hinge"; one of ``estimate.losses``, such as
        ``losses.Check(tau=0.9)`` or ``losses.Expectation(f)``; or a function ``loss(theta, x[, y])`` that returns
        one number per row (then ``start`` is needed).
    reports : array (n, d)
        What ``mechanism.privatize`` gave.
    mechanism : ZeroInflatedLaplace
    start : array, optional
        A first guess.
    method : {"auto", "exact", "box", "likelihood", "drcl", "sdrcl", "sl", "naive"}
        How the loss is corrected. "exact" is unbiased with the smallest variance among functions that are unbiased
        for every x; "box" also uses that x lies in the box, and never evaluates the loss outside it (it needs a zero
        probability above 0); "likelihood" estimates the law of up to three numbers on cells and maximises the
        likelihood of a logistic, probit or Poisson model; "auto" fits those of the three that are valid here and keeps
        the one of least estimated variance, which a note names. "drcl", "sdrcl" and "sl" are those of zil2025, with x2
        drawn here; "naive" ignores the noise.
    public : array (n, k), optional
        Covariates that were not randomised; a column of ones is an intercept. Their coefficients come last.
    outcome : array (n,) or int, optional
        The outcome; or the coordinate of the reports that is the outcome, the others being the covariates.
    outcome_mechanism : Mechanism, optional
        How the outcome was randomised: a yes/no design, or a ``ZeroInflatedLaplace`` of one coordinate (with
        losses of y − η).
    names : sequence of str, optional
    randomness : Randomness, optional
        For the methods that draw x2.
    weights, strata, clusters : array (n,), optional
        Of a survey: positive weights, and labels; standard errors are linearised over them.

    Returns
    -------
    MEstimate

    Examples
    --------
    >>> from discreet.domains.box import Box
    >>> box, rng = Box([-1, -1], [1, 1]), np.random.default_rng(1)
    >>> x = rng.uniform(-1, 1, (20_000, 2)); y = x @ [1.0, -2.0] + rng.normal(size=20_000)
    >>> mechanism = ZeroInflatedLaplace(box, 1.0, 0.1)
    >>> fit = m_estimate("squared", mechanism.privatize(x, Randomness.seeded(2)), mechanism, outcome=y)
    >>> np.abs(fit.coefficients - [1.0, -2.0]).max() < 4 * fit.std_error.max(), fit.converged
    (np.True_, True)
    """
    chosen = resolve(loss)
    method = arguments.choice(method, "method", METHODS, EstimationError)
    if names is not None and not isinstance(names, str):  # one text is refused where the number of names is known
        names = arguments.listed(names, "names", EstimationError)
    sample = read_sample(
        reports, mechanism, public, outcome, outcome_mechanism, weights=weights, strata=strata, clusters=clusters
    )
    given = (chosen, sample, start, names, randomness)
    if method != "auto":
        return _by(method, *given)
    if _efficient(chosen, sample):
        fit = _by("likelihood", *given)
        if fit.converged:
            return replace(fit, notes=(*fit.notes, _EFFICIENT))
    spread = bounded.column_spread(sample) if isinstance(chosen, IndexLoss) else None
    candidates = {one: partial(_by, one, *given) for one in _valid(sample)}
    return least_variance(candidates, spread, partial(_covariance_at, chosen, sample, randomness))


def _valid(sample: Sample) -> tuple[str, ...]:
    """The corrections that "auto" compares, the preferred one first."""
    mechanisms = [sample.mechanism, *([sample.outcome_noise] if sample.outcome_noise is not None else [])]
    return ("exact",) if any(one.zero_probability == 0 or is_coarse(one) for one in mechanisms) else ("box", "exact")


def _efficient(loss: Any, sample: Sample) -> bool:
    """Whether there is a likelihood, which no correction can beat where the outcome's model is right."""
    if "box" not in _valid(sample) or not isinstance(loss, IndexLoss) or sample.outcome is None:
        return False
    labels = _names(None, sample, sample.private.shape[1] + sample.public.shape[1])
    return semiparametric.obstacle(loss, sample) is None and obstacle(loss, sample, labels, False) is None


def _covariance_at(
    loss: Any, sample: Sample, randomness: Randomness | None, method: str, theta: Floats
) -> Floats | None:
    """The sandwich of a correction at coefficients of another; None for losses whose curvature is not a plain mean."""
    if not isinstance(loss, IndexLoss) or loss.kinked or not sample.design.plain:
        return None
    unit = unit_of(loss, sample)
    objective = corrected_objective(loss_in(loss, unit), sample_in(sample, unit), method, randomness)
    moments = objective.moments(theta / unit)
    return sandwich(moments.hessian, moments.scores, sample.n) * unit**2


def _by(
    method: str, loss: Any, sample: Sample, start: Any, names: Sequence[str] | None, randomness: Randomness | None
) -> MEstimate:
    """The fit by one method."""
    if method == "box":
        need_exact_records(sample.mechanism)
        if not isinstance(loss, Expectation):
            refuse_coarse_grid(sample.mechanism)
    if method == "drcl" and sample.mechanism.zero_probability == 0:
        raise EstimationError(f'the method "{method}" needs a zero probability above 0')
    if method == "likelihood":
        if not isinstance(loss, IndexLoss):
            raise EstimationError('the method "likelihood" needs a model of the outcome: logistic, probit or poisson')
        return _by_likelihood(loss, sample, start, names, randomness)
    if isinstance(loss, Expectation):
        return functionals.expectation(loss, sample, method, names, randomness)
    if not isinstance(loss, IndexLoss):
        return general.fit(loss, sample, start, method, names, randomness)
    return fit_index(loss, sample, start, method, names, randomness)


def _by_likelihood(
    loss: IndexLoss, sample: Sample, start: Any, names: Sequence[str] | None, randomness: Randomness | None
) -> MEstimate:
    """Maximum likelihood from corrected least squares; more rows are added by the method "box"."""
    check_outcome(loss, sample, "likelihood")
    p = sample.private.shape[1] + sample.public.shape[1]
    labels = _names(names, sample, p)
    problem = semiparametric.obstacle(loss, sample) or obstacle(loss, sample, labels, False)
    if problem is not None:
        raise EstimationError(problem)
    if start is None:
        objective = corrected_objective(loss, sample, "exact", None)
        first = first_guess(objective, sample, "box").theta
    else:
        first = given_start(start, p)
    fit = semiparametric.fit_likelihood(loss, sample, first, labels)
    again = partial(_update, loss=loss, sample=sample, method="box", names=labels)
    return replace(fit, _again=partial(again, randomness=randomness, needed=0.0))


def fit_index(
    loss: IndexLoss,
    sample: Sample,
    start: Any,
    method: str,
    names: Sequence[str] | None,
    randomness: Randomness | None,
    earlier: MEstimate | None = None,
    needed: float = 0.0,
) -> MEstimate:
    """A loss on a linear index, fitted in units of the spread of the outcome.

    Parameters
    ----------
    needed : float
        The rows that the earlier estimate would have needed.
    """
    check_outcome(loss, sample, method)
    p = sample.private.shape[1] + sample.public.shape[1]
    labels = _names(names, sample, p)
    first = None if start is None else given_start(start, p)
    unit = unit_of(loss, sample)
    own, scaled = loss_in(loss, unit), sample_in(sample, unit)
    before = None if earlier is None else result_in(earlier, loss, unit)
    first = None if first is None else first / unit
    result, own, needed = _fit_scaled(own, scaled, first, method, labels, randomness, before, needed)
    if isinstance(own, Huber):
        own = replace(own, threshold=own.k * unit)
        notes = [_threshold_note(own)] if isinstance(loss, Huber) and loss.threshold is None else []
        result = replace(result, notes=(*result.notes, *notes))
    again: Callable[..., MEstimate] = partial(_update, loss=own, sample=sample, method=method, names=labels)
    return replace(
        result_in(result, own, 1 / unit),
        loss=loss_text(own),
        _again=partial(again, randomness=randomness, needed=needed),
    )


def _threshold_note(loss: Huber) -> str:
    return f"the threshold, {loss.k:.4g}, is {Huber.efficient:g} times the spread of the residuals"


def _fit_scaled(
    loss: IndexLoss,
    sample: Sample,
    start: Floats | None,
    method: str,
    labels: tuple[str, ...],
    randomness: Randomness | None,
    earlier: MEstimate | None,
    needed: float,
) -> tuple[MEstimate, IndexLoss, float]:
    """The fit, the loss with everything chosen, and the rows that it would need."""
    boxed = method == "box"
    objective = corrected_objective(loss, sample, "exact" if boxed else method, randomness)
    before = None
    if earlier is not None:
        before = (np.array(earlier.coefficients), np.array(earlier.hessian), float(earlier.n))
        objective = replace(objective, earlier=before)
    guess = first_guess(objective, sample, method)
    if isinstance(loss, Huber) and loss.threshold is None:
        loss = replace(loss, threshold=Huber.efficient * guess.bends_over(loss, guess.theta))
        objective = objective.with_loss(loss)
    problem = obstacle(loss, sample, labels, earlier is not None)
    if boxed:
        made = fit_box(loss, sample, start, guess, before)
        found = made.solution, made.bent
        result, needed = assemble(
            made.objective, *found, sample, labels, method, guess, earlier, needed, problem, made.inflation
        )
        return replace(result, notes=(*result.notes, *made.notes)), loss, needed
    found = _found(objective, sample, start, guess, earlier)
    result, needed = assemble(objective, *found, sample, labels, method, guess, earlier, needed, problem)
    return result, loss, needed


def _found(
    objective: Objective, sample: Sample, start: Floats | None, guess: Guess, earlier: MEstimate | None
) -> tuple[Solution, kinked.KinkedFit | None]:
    """Where the risk is least."""
    loss = objective.loss
    if isinstance(loss, Squared):
        return closed_form(objective, guess.theta), None
    starts, scale, radius = starting_points(objective, start, guess, bounded.column_spread(sample), earlier)
    if not loss.kinked:
        solution = best_of(objective, starts, scale, radius)
        if isinstance(loss, Poisson) and not solution.converged:
            # The risk falls without bound: where the search ended means nothing.
            solution = replace(solution, theta=starts[0])
        return solution, None
    length = guess.bends_over(loss, starts[0])
    found = kinked.search(objective, sample, starts, scale, radius, length, guess.moment)
    return found.solution, found


def _update(
    before: MEstimate,
    reports: Any,
    public: Any,
    outcome: Any,
    *,
    loss: IndexLoss,
    sample: Sample,
    method: str,
    names: tuple[str, ...],
    randomness: Randomness | None,
    needed: float,
) -> MEstimate:
    if not sample.design.plain:
        raise EstimationError("an estimate with survey weights, strata or clusters cannot be updated; fit all rows")
    if not before.converged:
        raise EstimationError("an estimate that did not converge cannot be updated; fit all rows")
    if sample.joint:
        if outcome is not None:
            raise EstimationError("the outcome is a coordinate of the reports, as before; leave it out")
        fresh = read_sample(reports, sample.whole, public, sample.outcome_given, None)
    elif np.ndim(outcome) == 0 and outcome is not None:
        raise EstimationError("the outcome of an update must be one number per report, as before")
    else:
        fresh = read_sample(reports, sample.mechanism, public, outcome, sample.outcome_given)
    if fresh.public.shape[1] != sample.public.shape[1]:
        raise EstimationError(f"public must have {sample.public.shape[1]} columns, as before")
    return fit_index(loss, fresh, None, method, names, randomness, earlier=before, needed=needed)


def _names(given: Sequence[str] | None, sample: Sample, p: int) -> tuple[str, ...]:
    if given is not None:
        return labels_of(given, p, "coefficient")
    d = sample.private.shape[1]
    return tuple(f"x{j + 1}" for j in range(d)) + tuple(f"public{j + 1}" for j in range(p - d))
