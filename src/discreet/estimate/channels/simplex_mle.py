"""Maximum likelihood on the simplex: frequencies that are never negative, as a *named* alternative.

Maximise ``ℓ(f) = Σ_y c_y log (Qᵀf)_y`` over f ≥ 0, Σ f = 1. ℓ is concave, and for any feasible f

    max ℓ − ℓ(f) ≤ max_x Σ_y c_y Q[x, y]/(Qᵀf)_y − n,

which is zero exactly at a maximum (Lindsay 1983): the right side is the certificate that every fit carries.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import Floats
from discreet.errors import EstimationError

#: The log-likelihood is brought this close to its maximum: an error of about a thousandth of a standard error.
LIKELIHOOD_GAP = 1e-6
#: And this close relative to where the search began, so that a flat likelihood is climbed to its top as well.
_RELATIVE_GAP = 1e-6
#: Rounding of the certificate relative to n: below this nothing can be gained in double precision.
_ROUNDING = 1e-13
_MAX_STEPS = 100
#: Steps without gain after which a fit that is good enough is taken.
_PATIENCE = 5
#: Newton steps, each with a value that may enter or leave, before the search starts afresh.
_NEARBY_STEPS = 12
#: Share of the way to the boundary that a step may go.
_SHORT_OF_BOUNDARY = 0.995


@dataclass(frozen=True, eq=False)
class Fit:
    """A maximum-likelihood fit: frequencies, and the bound on what they miss of the largest log-likelihood."""

    frequencies: Floats
    gap: float

    @property
    def on_boundary(self) -> bool:
        """Whether some frequency is exactly zero."""
        return bool(np.any(self.frequencies == 0))


def uniform_fit(counts: Floats, keep: float, other: float) -> Fit:
    """The maximum for generalised response in closed form, O(N log N).

    Report shares ``p_x = other + (keep − other) f_x`` maximise ``Σ c_x log p_x`` over p ≥ other, Σ p = 1:
    ``p_x = max(other, c_x/λ)``. λ is found by filling up: with the k largest counts above the floor,
    ``λ_k = (their sum)/(1 − (N − k)·other)``, for the largest k that is consistent.
    """
    size = counts.size
    ordered = np.sort(counts)[::-1]
    above = np.arange(1, size + 1)
    multipliers = np.cumsum(ordered) / (1 - (size - above) * other)
    consistent = (ordered > other * multipliers) & (ordered > 0)
    multiplier = multipliers[np.flatnonzero(consistent)[-1]]
    frequencies = np.maximum(counts / multiplier - other, 0.0)
    frequencies /= frequencies.sum()
    shares = other + (keep - other) * frequencies
    rates = np.divide(counts, shares, out=np.zeros(size), where=counts > 0)
    largest = other * rates.sum() + (keep - other) * rates.max()
    return Fit(frequencies, max(0.0, float(largest - counts.sum())))


def channel_fit(channel: Floats, counts: Floats) -> Fit:
    """The maximum for any channel (or several side by side), by a primal–dual interior-point method.

    Newton's method on the perturbed optimality conditions ``s = ν − Q(c/p) ≥ 0``, ``f_x s_x = μ → 0``, with
    Mehrotra's predictor and corrector (1992). Rows of Q enter as differences from their mean: on the simplex
    nothing else matters, and for small ε the common part would drown them.

    Parameters
    ----------
    channel : array (truths, reports)
        Non-negative; rows need not sum to one when several designs stand side by side.
    counts : array
        Weighted or plain counts of reports.
    """
    total = float(counts.sum())
    problem = _Problem.of(channel, counts)
    f = np.full(channel.shape[0], 1 / channel.shape[0])
    steepness = float(np.abs(problem.advantage(f)).max())
    good = max(LIKELIHOOD_GAP / total, _ROUNDING)
    target = min(good, _RELATIVE_GAP * steepness)
    s = np.full(f.size, max(steepness, np.finfo(float).tiny))
    best, best_gap, since = f, problem.gap(f), 0
    for _ in range(_MAX_STEPS):
        if best_gap <= target or (best_gap <= good and since >= _PATIENCE):
            break
        before = best_gap
        try:
            f, s = _newton_step(problem, f, s)
        except np.linalg.LinAlgError:  # as close as double precision comes
            break
        # At a maximum either f_x or its multiplier is zero: what the multipliers push to zero is put there.
        best, best_gap = _better(problem, (best, best_gap), _pruned(f, s / steepness))
        since = 0 if best_gap < before else since + 1
    if best_gap > target:
        best, best_gap = _better(problem, (best, best_gap), f)
    if best_gap * total > 1e3 * max(LIKELIHOOD_GAP, _ROUNDING * total):
        raise EstimationError(
            "the maximum-likelihood estimate could not be found to the accuracy that is promised: "
            "the channel is too close to singular"
        )
    return Fit(best, max(0.0, best_gap * total))


def nearby_fit(channel: Floats, counts: Floats, start: Floats, gap: float = LIKELIHOOD_GAP) -> Fit:
    """The maximum for any channel from a start near it, with the same certificate as :func:`channel_fit`.

    Newton's method on the values that the start has. A value whose frequency reaches zero leaves, one toward which
    the likelihood rises enters. Where this does not reach the maximum, to within the gap, in a few steps,
    :func:`channel_fit` does, to within its own.
    """
    problem = _Problem.of(channel, counts)
    total = float(counts.sum())
    good = max(gap / total, _ROUNDING)
    f = start / start.sum()
    present = f > 0
    for _ in range(_NEARBY_STEPS):
        shares = f @ problem.channel
        if not np.all(shares > 0):
            break
        advantage = problem.advantage(f)
        if advantage.max() <= good:
            return Fit(f, max(0.0, float(advantage.max()) * total))
        present |= advantage > max(good, float(advantage.max()) / 2)
        try:
            step = _restricted_newton(problem, shares, present)
        except np.linalg.LinAlgError:
            break
        reach = min(_largest(f[present], step), 1.0)
        f = f.copy()
        f[present] = np.where(f[present] + reach * step <= _ROUNDING, 0.0, f[present] + reach * step)
        f /= f.sum()
        present = f > 0
    return channel_fit(channel, counts)


def _restricted_newton(problem: _Problem, shares: Floats, present: NDArray[np.bool_]) -> Floats:
    """The Newton step of the mean log-likelihood over the present values: ``H Δf + ν·1 = gradient``, ``Σ Δf = 0``."""
    differences = problem.differences[present]
    size = differences.shape[0]
    scaled = differences * (np.sqrt(problem.weights) / shares)
    system = np.ones((size + 1, size + 1))
    system[:size, :size] = scaled @ scaled.T
    system[size, size] = 0.0
    right = np.append(differences @ (problem.weights / shares), 0.0)
    return np.asarray(np.linalg.solve(system, right)[:size])


@dataclass(frozen=True, eq=False)
class _Problem:
    """Channel and counts, reduced to the reports that were seen."""

    channel: Floats
    differences: Floats
    weights: Floats

    @classmethod
    def of(cls, channel: Floats, counts: Floats) -> _Problem:
        seen = counts > 0
        used = channel[:, seen]
        if np.any(used.max(axis=0) == 0):
            raise EstimationError("the reports contain a value that the design can never produce")
        return cls(used, used - used.mean(axis=0), counts[seen] / counts.sum())

    def advantage(self, f: Floats) -> Floats:
        """``Q(w/p) − 1``: how fast the mean log-likelihood rises toward each vertex of the simplex."""
        rates = self.differences @ (self.weights / (f @ self.channel))
        return np.asarray(rates - f @ rates)

    def gap(self, f: Floats) -> float:
        """A bound on what the mean log-likelihood at f misses; infinite where a seen report is impossible."""
        return float(self.advantage(f).max()) if np.all(f @ self.channel > 0) else np.inf


def _better(problem: _Problem, best: tuple[Floats, float], f: Floats) -> tuple[Floats, float]:
    gap = problem.gap(f)
    return (f, gap) if gap < best[1] else best


def _pruned(f: Floats, s: Floats) -> Floats:
    kept = np.where(f > s, f, 0.0)
    total = kept.sum()
    return np.asarray(kept / total) if total > 0 else f


def _newton_step(problem: _Problem, f: Floats, s: Floats) -> tuple[Floats, Floats]:
    """One predictor–corrector step; f stays on the simplex and both stay positive."""
    from scipy.linalg import cho_factor, cho_solve

    shares = f @ problem.channel
    scaled = problem.differences * (np.sqrt(problem.weights) / shares)
    gradient = -(problem.differences @ (problem.weights / shares))
    hessian = scaled @ scaled.T
    hessian[np.diag_indices_from(hessian)] += s / f
    factor = cho_factor(hessian, lower=True, overwrite_a=True, check_finite=False)
    ones = cho_solve(factor, np.ones(f.size), check_finite=False)

    def direction(complement: Floats) -> tuple[Floats, Floats]:
        # H Δf − Δs + ν·1 = s − gradient,  s Δf + f Δs = complement,  Σ Δf = 0
        step = cho_solve(factor, complement / f + s - gradient, check_finite=False)
        step -= ones * (step.sum() / ones.sum())
        return step, (complement - s * step) / f

    gap = float(f @ s) / f.size
    predictor, predictor_s = direction(-f * s)
    reach = min(_largest(f, predictor), _largest(s, predictor_s))
    reached = float((f + reach * predictor) @ (s + reach * predictor_s)) / f.size
    step, step_s = direction((max(reached, 0.0) / gap) ** 3 * gap - f * s - predictor * predictor_s)
    moved = f + _SHORT_OF_BOUNDARY * _largest(f, step) * step
    return moved / moved.sum(), s + _SHORT_OF_BOUNDARY * _largest(s, step_s) * step_s


def _largest(values: Floats, step: Floats) -> float:
    """The largest step that keeps all values ≥ 0 and is a full one at most after the factor that follows."""
    falling = step < 0
    return float(np.min(-values[falling] / step[falling], initial=1 / _SHORT_OF_BOUNDARY))
