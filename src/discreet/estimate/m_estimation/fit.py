"""Fit a loss to privatised records."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import arguments
from discreet.errors import EstimationError
from discreet.estimate.m_estimation import bounded, functionals, general, kinked
from discreet.estimate.m_estimation.identification import obstacle
from discreet.estimate.m_estimation.influence import LIMIT, decided_by_few, share_of_few
from discreet.estimate.m_estimation.losses import (
    Autodiff,
    Check,
    Expectation,
    Huber,
    IndexLoss,
    Poisson,
    Squared,
    resolve,
)
from discreet.estimate.m_estimation.objective import Noise, Objective, View
from discreet.estimate.m_estimation.result import MEstimate, sandwich
from discreet.estimate.m_estimation.sample import METHODS, Sample, labels_of, numbers, read_sample
from discreet.estimate.m_estimation.solver import Solution, best_of
from discreet.estimate.m_estimation.units import loss_in, result_in, sample_in, unit_of
from discreet.mechanisms.laplace import ZeroInflatedLaplace
from discreet.randomness import Randomness

Floats = NDArray[np.float64]

#: The compact set: coefficients up to this many times the first guess, in units of the columns' spread.
_RADIUS = 30.0
#: A corrected moment matrix is called identified when its smallest eigenvalue is this many standard errors above 0.
_IDENTIFIED = 3.0
#: Beyond this share of the length over which a loss bends, the error of an index is too large for a quadratic risk.
_LOCAL = 0.5
#: A Huber threshold below this many residual spreads has too few rows inside it to know the curvature.
_NARROW = 0.3
#: From fewer rows no number of rows that would be enough is estimated.
_FEW = 20


def m_estimate(
    loss: Any,
    reports: Any,
    mechanism: ZeroInflatedLaplace,
    start: Any = None,
    method: str = "exact",
    public: Any = None,
    outcome: Any = None,
    outcome_mechanism: Any = None,
    *,
    names: Sequence[str] | None = None,
    randomness: Randomness | None = None,
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
    method : {"exact", "drcl", "sdrcl", "sl", "naive", "box"}
        How the loss is corrected. "exact" is unbiased with the smallest variance among functions that are unbiased
        for every x; "drcl", "sdrcl" and "sl" are those of zil2025, with x2 drawn here; "naive" ignores the noise;
        "box" (expectations in one dimension only) also uses that x lies in the box.
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
    sample = read_sample(reports, mechanism, public, outcome, outcome_mechanism)
    if method == "drcl" and mechanism.zero_probability == 0:
        raise EstimationError(f'the method "{method}" needs a zero probability above 0')
    if isinstance(chosen, Expectation):
        return functionals.expectation(chosen, sample, method, names, randomness)
    if method == "box":
        raise EstimationError('the method "box" is for expectations of functions of one coordinate')
    if not isinstance(chosen, IndexLoss):
        assert callable(chosen) or isinstance(chosen, Autodiff)
        return general.fit(chosen, sample, start, method, names, randomness)
    return fit_index(chosen, sample, start, method, names, randomness)


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
    _check_outcome(loss, sample, method)
    p = sample.private.shape[1] + sample.public.shape[1]
    labels = _names(names, sample, p)
    first = None if start is None else _given_start(start, p)
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
        loss=_loss_text(own),
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
    objective = _objective(loss, sample, method, randomness)
    if earlier is not None:
        curvature = np.array(earlier.hessian)
        objective = replace(objective, earlier=(np.array(earlier.coefficients), curvature, float(earlier.n)))
    guess = _first_guess(objective, sample, method)
    if isinstance(loss, Huber) and loss.threshold is None:
        loss = replace(loss, threshold=Huber.efficient * guess.bends_over(loss, guess.theta))
        objective = objective.with_loss(loss)
    found = _found(objective, sample, start, guess, earlier)
    problem = obstacle(loss, sample, labels, earlier is not None)
    result, needed = _result(objective, *found, sample, labels, method, guess, earlier, needed, problem)
    return result, loss, needed


def _found(
    objective: Objective, sample: Sample, start: Floats | None, guess: _Guess, earlier: MEstimate | None
) -> tuple[Solution, kinked.KinkedFit | None]:
    """Where the risk is least."""
    loss = objective.loss
    if isinstance(loss, Squared):
        return _closed_form(objective, guess.theta), None
    starts, scale, radius = _starts(objective, start, guess, bounded.column_spread(sample), earlier)
    if not loss.kinked:
        solution = best_of(objective, starts, scale, radius)
        if isinstance(loss, Poisson) and not solution.converged:
            # The risk falls without bound: where the search ended means nothing.
            solution = replace(solution, theta=starts[0])
        return solution, None
    length = guess.bends_over(loss, starts[0])
    found = kinked.search(objective, sample, starts, scale, radius, length, guess.moment)
    return found.solution, found


def _check_outcome(loss: IndexLoss, sample: Sample, method: str) -> None:
    y, zero = sample.outcome, sample.mechanism.zero_probability
    if y is None:
        raise EstimationError(f"the {loss.name} loss needs an outcome")
    if loss.outcomes == "binary" and sample.weights is None:
        allowed = (0.0, 1.0) if loss.name != "hinge" else (-1.0, 0.0, 1.0)
        if sample.joint or sample.outcome_noise is not None or not np.isin(y, allowed).all():
            raise EstimationError(f"the {loss.name} loss needs outcomes 0 and 1")
    if sample.weights is not None and loss.outcomes == "count":
        raise EstimationError("counts are not outcomes of a yes/no design")
    if loss.outcomes == "count" and sample.outcome_noise is not None:
        raise EstimationError("the poisson loss needs counts that were not randomised")
    if loss.outcomes == "count" and (y < 0).any():
        raise EstimationError("the poisson loss needs counts, none of them negative")
    if loss.kinked and method in ("sdrcl", "sl"):
        raise EstimationError(f'the {loss.name} loss has no second derivative, which the method "{method}" needs')
    if loss.name == "huber" and method in ("sdrcl", "sl"):
        raise EstimationError(f'the huber loss has no continuous curvature, which the method "{method}" needs')
    if zero == 0 and method == "exact" and (loss.kinked or loss.name == "huber"):
        raise EstimationError(
            f"the {loss.name} loss cannot be corrected when no record is published exactly (zero probability 0); "
            "release with a zero probability above 0"
        )
    if sample.outcome_noise is not None:
        if not loss.location:
            raise EstimationError(f"a noisy outcome needs a loss of y − η, which {loss.name} is not")
        if not sample.joint and not isinstance(loss, Squared):
            if method != "exact":
                raise EstimationError('noise of the outcome is corrected by the method "exact" only')
            if sample.outcome_noise.zero_probability == 0:
                raise EstimationError(f"the {loss.name} loss needs a zero probability above 0 for the outcome too")


def _objective(loss: IndexLoss, sample: Sample, method: str, randomness: Randomness | None) -> Objective:
    mechanism, zero = sample.mechanism, sample.mechanism.zero_probability
    # Without public columns the reports are used where they are.
    design = np.concatenate([sample.private, sample.public], axis=1) if sample.public.size else sample.private
    variances = np.zeros(design.shape[1])
    variances[: sample.private.shape[1]] = mechanism.noise_scale**2
    outcome, other = 0.0, None
    if sample.outcome_noise is not None:
        own = float(sample.outcome_noise.noise_scale[0] ** 2)
        if sample.joint:
            outcome = own
        else:
            other = (sample.outcome_noise.zero_probability, own / 2)
    assert sample.outcome is not None
    y = np.asarray(sample.outcome, float)
    if method in ("exact", "naive"):
        second = design
    elif sample.joint:
        raise EstimationError('an outcome among the reports is corrected by the methods "exact" and "naive" only')
    else:
        second = np.concatenate([mechanism.doubly_randomized(sample.private, randomness), sample.public], axis=1)
    views = {
        "exact": (View(design, 1.0, 1 - zero, averaged=True),),
        "naive": (View(design, 1.0, 0.0),),
        "drcl": (View(design, 1 / max(zero, 1e-300), 0.0), View(second, 1 - 1 / max(zero, 1e-300), 0.0)),
        "sdrcl": (View(design, 1.0, 0.0), View(second, 0.0, 1 - zero)),
        "sl": (View(second, 1.0, 1.0),),
    }[method]
    if sample.weights is not None:
        truths = [np.full(sample.n, float(value)) for value in (0, 1)]
        outcomes: tuple[tuple[Floats, Floats | None], ...] = tuple(
            (truth, sample.weights[:, value]) for value, truth in enumerate(truths)
        )
    else:
        outcomes = ((np.where(y > 0, 1.0, 0.0) if loss.name == "hinge" else y, None),)
    return Objective(loss, views, outcomes, Noise(zero, variances, outcome, other))


@dataclass(frozen=True)
class _Guess:
    """Corrected least squares and how well its moment matrix is known.

    Parameters
    ----------
    moments : SecondMoments or None
        Of true covariates and outcomes; None for the squared loss, which is solved at once.
    moment : array or None
        ``E[xx']`` of true covariates; None when the noise is taken for truth.
    sure : bool
        Whether it is clearly positive definite.
    more : float
        How many times more rows would make it so.
    """

    theta: Floats
    moments: bounded.SecondMoments | None
    moment: Floats | None
    sure: bool
    more: float

    def bends_over(self, loss: IndexLoss, theta: Floats) -> float:
        """The length over which the risk bends: the spread of y − η, or one for losses of an index alone."""
        if not loss.location or self.moments is None:
            return 1.0
        return self.moments.residual_spread(theta)


def _first_guess(objective: Objective, sample: Sample, method: str) -> _Guess:
    """Least squares on true records: bounded moments, but for the squared loss its own, corrected squares."""
    x = objective.views[0].design
    target = np.zeros(sample.n)
    factor = 1.0
    for y, weight in objective.outcomes:
        shifted, factor = objective.loss.start(y)
        target += shifted if weight is None else shifted * weight
    if method == "naive":
        taken = bounded.as_they_are(x, target)
        solution = np.linalg.lstsq(np.array(objective.gram), x.T @ target / sample.n, rcond=None)[0]
        return _Guess(np.asarray(solution * factor, float), taken, None, True, 1.0)
    scale = 1 / bounded.column_spread(sample)
    moments = None
    if isinstance(objective.loss, Squared):
        noise = objective.noise
        matrix = objective.gram - np.diag((1.0 if method == "sl" else 1 - noise.zero) * noise.variances)
        vector = x.T @ target / sample.n
        values, vectors = np.linalg.eigh(matrix * np.outer(scale, scale))
        # Standard error of the smallest eigenvalue: that of the mean of (v'x)².
        part = x[: min(sample.n, 20_000)] @ (vectors[:, 0] * scale)
        error = float(np.std(part * part)) / math.sqrt(sample.n)
    else:
        moments = bounded.second_moments(sample, target)
        matrix, vector = moments.square.mean, moments.cross.mean
        values, vectors = np.linalg.eigh(matrix * np.outer(scale, scale))
        error = moments.square.along(vectors[:, 0] * scale)[1]
    # Its true value is at most about 4/3 (a uniform column, in units of a quarter of the box).
    more = (_IDENTIFIED * error / max(float(values[0]), 0.3)) ** 2
    floor = np.maximum(values, max(0.02, error))
    solution = scale * (vectors @ ((vectors.T @ (vector * scale)) / floor))
    return _Guess(solution * factor, moments, matrix, bool(values[0] > _IDENTIFIED * error), more)


def _closed_form(objective: Objective, guess: Floats) -> Solution:
    """The squared loss: one linear system, whatever the method."""
    moments = objective.moments(guess * 0.0, scores=False)
    # Columns may be years and cents: each is measured by its own size.
    scale = 1 / np.sqrt(np.maximum(np.abs(np.diag(moments.hessian)), 1e-300))
    scaled = moments.hessian * np.outer(scale, scale)
    if np.linalg.eigvalsh(scaled)[0] <= 1e-13:
        return Solution(guess, math.nan, False, False, 1)
    theta = np.asarray(scale * np.linalg.solve(scaled, -moments.gradient * scale), float)
    return Solution(theta, math.nan, True, False, 1)


def _starts(
    objective: Objective, start: Floats | None, guess: _Guess, scale: Floats, earlier: MEstimate | None
) -> tuple[list[Floats], Floats, float]:
    """Where to search from, in which units, and how far."""
    p = guess.theta.size
    starts = [guess.theta, guess.theta / 2, np.zeros(p)]
    if earlier is not None:
        starts = [np.array(earlier.coefficients)]
    if start is not None:
        starts.insert(0, start)
    if isinstance(objective.loss, Poisson):
        starts = [_shrunk(one, objective.noise) for one in starts]
    radius = _RADIUS * (1 + max(float(np.linalg.norm(one * scale)) for one in starts))
    return starts, scale, radius


def _given_start(start: Any, p: int) -> Floats:
    try:
        given = np.atleast_1d(numbers(start, "start", single=True))
    except EstimationError:
        given = np.empty(0)
    if given.shape != (p,):
        raise EstimationError(f"start must be {p} finite numbers, one per coefficient")
    return given


def _shrunk(theta: Floats, noise: Noise) -> Floats:
    """A start at which the corrected Poisson loss exists."""
    q = noise.q(theta)
    return theta if q < 0.5 else theta * math.sqrt(0.4 / q)


def _result(
    objective: Objective,
    solution: Solution,
    bent: kinked.KinkedFit | None,
    sample: Sample,
    names: tuple[str, ...],
    method: str,
    guess: _Guess,
    earlier: MEstimate | None,
    needed: float,
    problem: str | None,
) -> tuple[MEstimate, float]:
    moments = (objective if bent is None else bent.scores).moments(solution.theta)
    n, scores, hessian = sample.n, moments.scores, moments.hessian if bent is None else bent.curvature.matrix
    if earlier is not None:
        total = n + earlier.n
        scores = (n * scores + earlier.n * np.array(earlier.scores)) / total
        if bent is not None:
            hessian = (n * hessian + earlier.n * np.array(earlier.hessian)) / total
        n = total
    covariance = sandwich(hessian, scores, n)
    if problem is not None:
        covariance = np.full_like(covariance, math.nan)
    converged = solution.converged and bool(np.isfinite(covariance).all())
    own, notes = _needed(objective, solution, converged, guess, covariance, n, method, bent)
    if converged and problem is None and method != "naive" and isinstance(objective.loss, Poisson):
        problem = _explodes(objective, solution.theta, hessian)
        converged = problem is None
    # Rows of one kind: what each part says about how many are needed counts by its size.
    needed = (sample.n * own + (n - sample.n) * needed) / n
    status = problem or _status(objective, solution, converged, guess, needed / n, n, method)
    result = MEstimate(
        np.array(solution.theta),
        covariance,
        names,
        n,
        _loss_text(objective.loss),
        method,
        converged,
        status,
        notes,
        np.array(hessian),
        np.array(scores),
    )
    return result, needed


def _explodes(objective: Objective, theta: Floats, hessian: Floats) -> str | None:
    """Why a minimum of a loss that grows without bound outside the box is not to be trusted, or None."""
    problem = objective.loss.check(objective.noise.q(theta))
    if problem is not None:
        return problem
    share = share_of_few(objective.row_scores(theta), hessian)
    return decided_by_few(share, objective.n) if share > LIMIT else None


def _needed(
    objective: Objective,
    solution: Solution,
    converged: bool,
    guess: _Guess,
    covariance: Floats,
    n: int,
    method: str,
    bent: kinked.KinkedFit | None,
) -> tuple[float, tuple[str, ...]]:
    """How many rows this sample says are needed to trust the standard errors, and what else there is to know."""
    rows = objective.n
    if method == "naive":
        notes: list[str] = ["the noise was ignored: these coefficients are biased"]
        problem, needed = None, 0.0
    else:
        problem, notes = objective.loss.check(objective.noise.q(solution.theta)), []
        needed = guess.more * rows
    if problem and not converged:
        notes.append(problem)
    if isinstance(objective.loss, Poisson) and not solution.converged:
        notes.append("the coefficients are those of the start: the corrected risk has no minimum near it")
    if bent is not None and bent.curvature.clear < kinked.CLEAR:
        needed = max(needed, rows * (kinked.CLEAR / max(bent.curvature.typical, 0.1)) ** 2)
        if bent.curvature.simple:
            notes.append(
                "the curvature is too noisy to see how errors depend on the covariates: the standard errors suppose "
                "that they do not"
            )
    if converged and method != "naive" and not isinstance(objective.loss, Squared):
        assert guess.moment is not None
        error = math.sqrt(max(float(np.sum(covariance * guess.moment)), 0.0))
        length = guess.bends_over(objective.loss, solution.theta)
        if bent is not None and isinstance(objective.loss, Check):
            length = bent.curvature.bends_over(objective.loss.tau)
        needed = max(needed, n * (error / (_LOCAL * length)) ** 2)
    return needed, tuple(notes)


def _status(
    objective: Objective, solution: Solution, converged: bool, guess: _Guess, more: float, n: int, method: str
) -> str:
    """What happened; a number of rows only where it was estimated."""
    rows = f"about {_round_up(max(more * n, n + 1)):,} rows" if more > 1 and n >= _FEW else "more rows"
    if converged:
        if more > 1 and method != "naive":
            return f"converged, but too noisy to trust the standard errors: {rows} would do"
        loss = objective.loss
        if isinstance(loss, Huber) and loss.k < _NARROW * guess.bends_over(loss, solution.theta):
            return (
                "converged, but the threshold is so far below the spread of the residuals that the standard errors "
                f"mean little: take at least {_NARROW:g} spreads, or the check loss"
            )
        return "converged"
    if solution.boundary:
        return (
            "the solution is on the boundary of the compact set: too noisy to identify the coefficients; "
            f"{rows} would be needed"
        )
    if more > 1 or not guess.sure:
        return f"not identified: the noise hides how the covariates vary; {rows} would be needed"
    return "no minimum was found: the problem is singular or too noisy; try another start or more rows"


def _round_up(rows: float) -> int:
    """Two digits: more would be a promise."""
    if not rows < 1e15:
        return 10**15
    step = int(10.0 ** max(0, len(str(math.ceil(rows))) - 2))
    return math.ceil(rows / step) * step


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
    if sample.joint:
        raise EstimationError("an estimate whose outcome is among the reports cannot be updated")
    if sample.weights is not None:
        raise EstimationError("an estimate with a randomised yes/no outcome cannot be updated; fit all rows")
    if not before.converged:
        raise EstimationError("an estimate that did not converge cannot be updated; fit all rows")
    if np.ndim(outcome) == 0 and outcome is not None:
        raise EstimationError("the outcome of an update must be one number per report, as before")
    fresh = read_sample(reports, sample.mechanism, public, outcome, sample.outcome_noise)
    if fresh.public.shape[1] != sample.public.shape[1]:
        raise EstimationError(f"public must have {sample.public.shape[1]} columns, as before")
    return fit_index(loss, fresh, None, method, names, randomness, earlier=before, needed=needed)


def _names(given: Sequence[str] | None, sample: Sample, p: int) -> tuple[str, ...]:
    if given is not None:
        return labels_of(given, p, "coefficient")
    d = sample.private.shape[1]
    return tuple(f"x{j + 1}" for j in range(d)) + tuple(f"public{j + 1}" for j in range(p - d))


def _loss_text(loss: IndexLoss) -> str:
    tau = getattr(loss, "tau", None)
    if isinstance(loss, Huber) and loss.threshold is not None:
        return f"{loss.name} (threshold = {loss.threshold:.4g})"
    return f"{loss.name} (tau = {tau:g})" if tau is not None else loss.name
