"""Fit a loss to privatised records."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import EstimationError
from discreet.estimate.m_estimation import functionals, general
from discreet.estimate.m_estimation.losses import Autodiff, Expectation, IndexLoss, Poisson, Squared, _Kinked, resolve
from discreet.estimate.m_estimation.objective import Moments, Noise, Objective, View
from discreet.estimate.m_estimation.result import MEstimate, sandwich
from discreet.estimate.m_estimation.sample import METHODS, Sample, read_sample
from discreet.estimate.m_estimation.solver import Solution, best_of
from discreet.mechanisms.laplace import ZeroInflatedLaplace
from discreet.randomness import Randomness

Floats = NDArray[np.float64]

#: The compact set: coefficients up to this many times the first guess, in units of the columns' spread.
_RADIUS = 30.0
#: Scales over which a kink is averaged while searching, in units of the spread of the residuals, from wide to narrow.
_WIDTHS = (1.0, 0.5)
#: The last one shrinks with n to this power, as for a density; what it leaves of bias is removed by scoring steps.
_LAST_WIDTH, _WIDTH_POWER = 2.0, -0.2
#: A corrected moment matrix is called identified when its smallest eigenvalue is this many standard errors above 0.
_IDENTIFIED = 3.0


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
    >>> fit.coefficients.round(1), fit.converged
    (array([ 1., -2.]), True)
    """
    chosen = resolve(loss)
    if method not in METHODS:
        raise EstimationError(f"the method must be one of {', '.join(METHODS)}, not {method!r}")
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
) -> MEstimate:
    """A loss on a linear index."""
    _check_outcome(loss, sample, method)
    objective = _objective(loss, sample, method, randomness)
    p = objective.views[0].design.shape[1]
    labels = _names(names, sample, p)
    if earlier is not None:
        curvature = np.array(earlier.hessian)
        objective = replace(objective, earlier=(np.array(earlier.coefficients), curvature, float(earlier.n)))
    scale = _column_scale(sample)
    guess, identified = _least_squares(objective, sample, method)
    if isinstance(loss, Squared):
        solution, final = _closed_form(objective, guess)
    else:
        solution, final = _search(objective, loss, sample, start, guess, scale, earlier)
    return _result(objective, final, solution, sample, labels, method, identified, earlier, randomness)


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
    if loss.outcomes == "count" and (sample.outcome_noise is not None or (y < 0).any()):
        raise EstimationError("the poisson loss needs counts that were not randomised")
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


def _column_scale(sample: Sample) -> Floats:
    """Spread of each column: a quarter of the box for private ones, root mean square for public ones."""
    private = sample.mechanism.box.widths / 4
    public = np.sqrt(np.mean(sample.public**2, axis=0)) if sample.public.size else np.empty(0)
    return np.concatenate([private, np.where(public > 0, public, 1.0)])


def _least_squares(objective: Objective, sample: Sample, method: str) -> tuple[Floats, tuple[bool, float]]:
    """Corrected least squares, and whether its moment matrix is clearly positive definite.

    ``M = X'X/n − (1 − δ₀)Λ²``. The second figure is how many times more rows would make it so.
    """
    x = objective.views[0].design
    target = np.zeros(sample.n)
    factor = 1.0
    for y, weight in objective.outcomes:
        shifted, factor = objective.loss.start(y)
        target += shifted if weight is None else shifted * weight
    matrix = np.array(objective.gram)
    vector = x.T @ target / sample.n
    if method == "naive":
        return np.asarray(np.linalg.lstsq(matrix, vector, rcond=None)[0] * factor, float), (True, 1.0)
    noise = objective.noise
    correction = np.diag((1 - noise.zero) * noise.variances)
    if objective.views[0].averaged is False and method == "sl":
        correction = np.diag(noise.variances)
    matrix = matrix - correction
    scale = 1 / np.sqrt(np.maximum(np.diag(matrix) * 0 + _column_scale(sample) ** 2, 1e-300))
    values, vectors = np.linalg.eigh(matrix * np.outer(scale, scale))
    # Standard error of the smallest eigenvalue: that of the mean of (v'x)².
    direction = vectors[:, 0] * scale
    part = x[: min(sample.n, 20_000)] @ direction
    spread_one = float(np.std(part * part)) / math.sqrt(sample.n)
    sure = bool(values[0] > _IDENTIFIED * spread_one)
    # Its true value is at most about 4/3 (a uniform column, in units of a quarter of the box).
    typical = max(float(values[0]), 0.3)
    more = (_IDENTIFIED * spread_one / typical) ** 2
    floor = np.maximum(values, max(0.02, spread_one))
    solution = scale * (vectors @ ((vectors.T @ (vector * scale)) / floor))
    return solution * factor, (sure, more)


def _closed_form(objective: Objective, guess: Floats) -> tuple[Solution, Objective]:
    """The squared loss: one linear system, whatever the method."""
    moments = objective.moments(guess * 0.0, scores=False)
    values = np.linalg.eigvalsh(moments.hessian / np.max(np.abs(moments.hessian)))
    if values[0] <= 1e-13:
        return Solution(guess, math.nan, False, False, 1), objective
    theta = np.asarray(np.linalg.solve(moments.hessian, -moments.gradient), float)
    return Solution(theta, math.nan, True, False, 1), objective


def _search(
    objective: Objective,
    loss: IndexLoss,
    sample: Sample,
    start: Any,
    guess: Floats,
    scale: Floats,
    earlier: MEstimate | None,
) -> tuple[Solution, Objective]:
    """Newton from several starts; a kink is first smoothed widely, then less and less."""
    p = guess.size
    starts = [guess, guess / 2, np.zeros(p)]
    if earlier is not None:
        starts = [np.array(earlier.coefficients)]
    if start is not None:
        given = np.asarray(start, float).reshape(-1)
        if given.shape != (p,) or not np.isfinite(given).all():
            raise EstimationError(f"start must be {p} finite numbers, not {given.shape}")
        starts.insert(0, given)
    if isinstance(loss, Poisson):
        starts = [_shrunk(one, objective.noise) for one in starts]
    radius = _RADIUS * (1 + max(float(np.linalg.norm(one * scale)) for one in starts))
    if not loss.kinked:
        return best_of(objective, starts, scale, radius), objective
    spread = 1.0 if loss.name == "hinge" else _residual_spread(objective, starts[0])
    n = sample.n + (0 if earlier is None else earlier.n)
    last = _LAST_WIDTH * spread * n**_WIDTH_POWER
    solution = None
    for width in [spread * width for width in _WIDTHS if spread * width > 1.2 * last] + [last]:
        smooth = objective.with_loss(loss.smoothed(width))
        solution = best_of(smooth, starts, scale, radius)
        starts = [solution.theta]
    assert solution is not None
    if not solution.converged:
        return solution, smooth
    return _scoring(objective, solution, curvature(objective, sample, solution.theta, last), scale), smooth


def _scoring(objective: Objective, solution: Solution, hessian: Floats, scale: Floats) -> Solution:
    """Steps ``θ − V⁻¹g``, g the gradient of the loss with its kink: they remove the bias of the averaging.

    The risk with its kink has many local minima near the solution, at a distance far below its standard error; the
    steps stop where the gradient is as small as single rows make it.
    """
    theta, best = solution.theta, math.inf
    if float(np.linalg.eigvalsh(hessian / np.outer(scale, scale))[0]) <= 0:
        return solution
    for _ in range(4):
        gradient = objective.moments(theta).gradient
        step = np.linalg.solve(hessian, gradient)
        size = float(gradient @ step)
        if size >= 0.5 * best or float(np.linalg.norm(step * scale)) > 0.5 * (1 + float(np.linalg.norm(theta * scale))):
            break
        theta, best = theta - step, size
    return Solution(theta, solution.value, True, False, solution.steps)


def curvature(objective: Objective, sample: Sample, theta: Floats, width: float) -> Floats:
    """V of a loss with a kink: the second derivative of its smooth risk.

    Two widths h and 2h are combined so that their bias in h² cancels. Under strong noise this is itself noisy; where
    it does not differ by more than its noise from ``f(0)·E[xx']``, f(0) the density of the residuals at the kink, it
    is drawn towards that (a positive-part shrinkage). The latter holds when residuals do not depend on x.
    """
    objective = replace(objective, earlier=None)
    narrow = objective.with_loss(objective.loss.smoothed(width))
    wide = objective.with_loss(objective.loss.smoothed(2 * width))
    found = (4 * narrow.moments(theta).hessian - wide.moments(theta).hessian) / 3
    if not objective.loss.location:
        return np.asarray(found)
    density, noise = _density_and_noise(narrow, wide, theta)
    moment = _second_moment(objective, sample)
    gap = found - density * moment
    keep = max(0.0, 1.0 - float(noise.sum()) / max(float((gap * gap / np.outer(*[np.diag(moment)] * 2)).sum()), 1e-300))
    return np.asarray(density * moment + keep * gap)


def _density_and_noise(narrow: Objective, wide: Objective, theta: Floats) -> tuple[float, Floats]:
    """The corrected density of the residuals at the kink; the variance of V, in units of the columns' moments."""
    q = narrow.noise.q(theta)
    y, _ = narrow.outcomes[0]
    n = narrow.n
    bend = np.zeros(n)
    rough = np.zeros((theta.size, theta.size))
    for near, far in zip(narrow.views, wide.views, strict=True):
        eta = near.design @ theta
        part = (4 * narrow._terms(near, eta, y, q)[2] - wide._terms(far, eta, y, q)[2]) / 3
        bend += part
        square = near.design**2
        rough += (square * (part * part)[:, None]).T @ square / n**2
    moment = np.maximum(
        np.mean(narrow.views[0].design ** 2, axis=0) - narrow.noise.variances * (1 - narrow.noise.zero), 1e-12
    )
    return float(bend.mean()), rough / np.outer(moment, moment)


def _second_moment(objective: Objective, sample: Sample) -> Floats:
    """``E[xx']`` of true records."""
    x = np.concatenate([sample.private, sample.public], axis=1)
    moment = x.T @ x / sample.n
    if len(objective.views) == 1 and not objective.views[0].curved:  # the naive fit takes noise for truth
        return np.asarray(moment)
    return np.asarray(moment - np.diag((1 - objective.noise.zero) * objective.noise.variances))


def _shrunk(theta: Floats, noise: Noise) -> Floats:
    """A start at which the corrected Poisson loss exists."""
    q = noise.q(theta)
    return theta if q < 0.5 else theta * math.sqrt(0.4 / q)


def _residual_spread(objective: Objective, theta: Floats) -> float:
    """Standard deviation of y − θ'x for true records, by the corrected second moment; never below a tenth of y's."""
    y = objective.outcomes[0][0]
    r = y - objective.views[0].design @ theta
    noise = objective.noise
    added = 2 * (1 - noise.zero) * noise.q(theta)
    if noise.other is not None:
        added += 2 * (1 - noise.other[0]) * noise.other[1]
    own = float(np.std(y)) if noise.outcome == 0 and noise.other is None else math.sqrt(max(added, 1e-300))
    return math.sqrt(max(float(np.mean(r * r)) - added, (0.1 * own) ** 2, 1e-300))


def _result(
    objective: Objective,
    final: Objective,
    solution: Solution,
    sample: Sample,
    names: tuple[str, ...],
    method: str,
    identified: tuple[bool, float],
    earlier: MEstimate | None,
    randomness: Randomness | None,
) -> MEstimate:
    moments = _moments_at(objective, final, sample, solution.theta)
    n = sample.n
    scores = moments.scores
    if earlier is not None:
        total = n + earlier.n
        scores = (n * scores + earlier.n * np.array(earlier.scores)) / total
        n = total
    covariance = sandwich(moments.hessian, scores, n)
    converged = solution.converged and bool(np.isfinite(covariance).all())
    status, notes = _status(objective, solution, converged, identified, n, method)
    again: Callable[..., MEstimate] = partial(_update, loss=objective.loss, sample=sample, method=method, names=names)
    return MEstimate(
        np.array(solution.theta),
        covariance,
        names,
        n,
        _loss_text(objective.loss),
        method,
        converged,
        status,
        notes,
        np.array(moments.hessian),
        np.array(scores),
        partial(again, randomness=randomness),
    )


def _moments_at(objective: Objective, final: Objective, sample: Sample, theta: Floats) -> Moments:
    """Scores of the loss as it is; for a kink, its curvature from the smoothed risk."""
    exact = objective.moments(theta)
    if final is objective:
        return exact
    assert isinstance(final.loss, _Kinked)
    bent = curvature(objective, sample, theta, final.loss.bandwidth)
    if objective.earlier is not None:
        _, before, rows = objective.earlier
        bent = (objective.n * bent + rows * before) / (objective.n + rows)
    return Moments(exact.value, exact.gradient, bent, exact.scores)


def _status(
    objective: Objective, solution: Solution, converged: bool, identified: tuple[bool, float], n: int, method: str
) -> tuple[str, tuple[str, ...]]:
    notes = []
    sure, more = identified
    needed = f"about {max(math.ceil(more * n), n + 1):,} rows"
    if method == "naive":
        notes.append("the noise was ignored: these coefficients are biased")
    problem = objective.loss.check(objective.noise.q(solution.theta)) if method != "naive" else None
    if problem:
        notes.append(problem)
    if converged and not sure and method != "naive":
        notes.append(
            f"the noise nearly hides how the covariates vary; treat the standard errors with care ({needed} would do)"
        )
    if converged:
        return "converged", tuple(notes)
    if solution.boundary:
        return (
            f"the solution is on the boundary of the compact set: too noisy to identify the coefficients; {needed} "
            "would be needed",
            tuple(notes),
        )
    if not sure:
        return f"not identified: the noise hides how the covariates vary; {needed} would be needed", tuple(notes)
    return "no minimum was found: the problem is singular or too noisy; try another start or more rows", tuple(notes)


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
) -> MEstimate:
    if sample.joint:
        raise EstimationError("an estimate whose outcome is among the reports cannot be updated")
    if sample.weights is not None:
        raise EstimationError("an estimate with a randomised yes/no outcome cannot be updated; fit all rows")
    if not before.converged:
        raise EstimationError("an estimate that did not converge cannot be updated; fit all rows")
    fresh = read_sample(reports, sample.mechanism, public, outcome, sample.outcome_noise)
    if fresh.public.shape[1] != sample.public.shape[1]:
        raise EstimationError(f"public must have {sample.public.shape[1]} columns, as before")
    return fit_index(loss, fresh, None, method, names, randomness, earlier=before)


def _names(given: Sequence[str] | None, sample: Sample, p: int) -> tuple[str, ...]:
    if given is not None:
        if len(given) != p:
            raise EstimationError(f"names must be {p}, one per coefficient, not {len(given)}")
        return tuple(map(str, given))
    d = sample.private.shape[1]
    return tuple(f"x{j + 1}" for j in range(d)) + tuple(f"public{j + 1}" for j in range(p - d))


def _loss_text(loss: IndexLoss) -> str:
    tau = getattr(loss, "tau", None)
    return f"{loss.name} (tau = {tau:g})" if tau is not None else loss.name
