"""What became of a fit: whether it can be trusted, how many rows would do, and the result that says so."""

from __future__ import annotations

import math

import numpy as np

from discreet.arguments import Floats
from discreet.estimate.m_estimation import kinked
from discreet.estimate.m_estimation.box.objective import Risk
from discreet.estimate.m_estimation.first_guess import Guess
from discreet.estimate.m_estimation.influence import LIMIT, decided_by_few, share_of_few
from discreet.estimate.m_estimation.losses import Check, Huber, IndexLoss, Poisson, Squared
from discreet.estimate.m_estimation.result import MEstimate, sandwich
from discreet.estimate.m_estimation.sample import Sample
from discreet.estimate.m_estimation.solver import Solution

#: Beyond this share of the length over which a loss bends, the error of an index is too large for a quadratic risk.
_LOCAL = 0.5
#: A Huber threshold below this many residual spreads has too few rows inside it to know the curvature.
_NARROW = 0.3
#: From fewer rows no number of rows that would be enough is estimated.
_FEW = 20


def assemble(
    objective: Risk,
    solution: Solution,
    bent: kinked.KinkedFit | None,
    sample: Sample,
    names: tuple[str, ...],
    method: str,
    guess: Guess,
    earlier: MEstimate | None,
    needed: float,
    problem: str | None,
    inflation: float = 1.0,
) -> tuple[MEstimate, float]:
    """The result, and the rows that it would need."""
    scored = objective if bent is None else bent.scores
    moments = scored.moments(solution.theta)
    n, scores, hessian = sample.n, moments.scores, moments.hessian if bent is None else bent.curvature.matrix
    if not sample.design.plain:
        scores = sample.design.meat(scored.row_scores(solution.theta))
    scores = scores * inflation
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
        coefficients=np.array(solution.theta),
        covariance=covariance,
        names=names,
        n=n,
        loss=loss_text(objective.loss),
        method=method,
        converged=converged,
        status=status,
        notes=notes,
        hessian=np.array(hessian),
        scores=np.array(scores),
    )
    return result, needed


def _explodes(objective: Risk, theta: Floats, hessian: Floats) -> str | None:
    """Why a minimum of a loss that grows without bound outside the box is not to be trusted, or None."""
    problem = objective.loss.check(objective.noise.q(theta))
    if problem is not None:
        return problem
    share = share_of_few(objective.row_scores(theta), hessian)
    return decided_by_few(share, objective.n) if share > LIMIT else None


def _needed(
    objective: Risk,
    solution: Solution,
    converged: bool,
    guess: Guess,
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
    objective: Risk,
    solution: Solution,
    converged: bool,
    guess: Guess,
    more: float,
    n: int,
    method: str,
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


def loss_text(loss: IndexLoss) -> str:
    """The loss with what was chosen for it."""
    tau = getattr(loss, "tau", None)
    if isinstance(loss, Huber) and loss.threshold is not None:
        return f"{loss.name} (threshold = {loss.threshold:.4g})"
    return f"{loss.name} (tau = {tau:g})" if tau is not None else loss.name
