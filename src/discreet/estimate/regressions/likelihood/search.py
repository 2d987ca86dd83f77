"""Several starts, the best optimum, and what kind of optimum it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.arguments import Floats
from discreet.estimate.regressions.likelihood.objective import Anchored
from discreet.estimate.regressions.optimise import Optimum, Surface, inverse_root, maximise

#: Strength of the pull in a sample: linear predictors of about ±10 cost half a unit of log-likelihood.
_PULL = 0.01
#: Random starts besides the reasoned ones; their linear predictors have this root mean square.
_RANDOM, _SPREAD = 4, 1.5
#: A standard error, per unit of root mean squared linear predictor, from which on infinity is considered.
_VAGUE = 20.0
#: Log-likelihoods that differ by less are equal.
_HIGHER = 1e-3
#: A standard error in the sample, on the same scale, from which on its optimum may say nothing of
#: that of all rows: under strong randomisation a sample can be highest far away, at a step that fits its noise.
_LOOSE = 0.25


@dataclass(frozen=True, eq=False)
class Found:
    """The best optimum of a search.

    Attributes
    ----------
    optimum : Optimum
    direction : array or None
        Where the log-likelihood does not fall on the way to infinity: the maximum is not finite.
    others : tuple of float
        Log-likelihoods of the other local maxima that were met.
    starts : int
    higher : float
        By how much the best step function of the covariates beats this optimum, where that was looked for.
    """

    optimum: Optimum
    direction: Floats | None
    others: tuple[float, ...]
    starts: int
    higher: float = 0.0

    @property
    def local(self) -> bool:
        """Whether a higher log-likelihood is known far away."""
        return self.higher > _HIGHER

    @property
    def converged(self) -> bool:
        """Whether this is a finite maximum, and no higher point is known."""
        return self.optimum.outcome == "maximum" and self.direction is None and not self.local

    def status(self, names: Sequence[str], scale: Floats) -> str:
        """What happened, in words."""
        if self.direction is not None:
            moving = [names[j] for j in affected(self.direction, scale)]
            return (
                "the maximum likelihood estimate is infinite: the log-likelihood does not fall as "
                f"{listed(moving)} {'grows' if len(moving) == 1 else 'grow'} without bound"
            )
        if self.local:
            return (
                f"a local maximum: the log-likelihood is higher by {self.higher:.2f} far away, at a step function of "
                "the covariates"
            )
        if self.optimum.outcome == "maximum":
            return "converged"
        if self.optimum.outcome == "flat":
            return "not converged: the log-likelihood is flat where the search ended, and not at a maximum"
        return f"not converged after {self.optimum.iterations} iterations"


def listed(names: Sequence[str]) -> str:
    """Names in quotation marks."""
    return ", ".join(f'"{name}"' for name in names)


def affected(direction: Floats, scale: Floats) -> list[int]:
    """The coefficients that move along a direction."""
    size = np.abs(direction) * scale
    return [int(j) for j in np.flatnonzero(size > 1e-3 * size.max())]


def random_starts(metric: Floats, count: int = _RANDOM) -> list[Floats]:
    """Starts whose linear predictors have a root mean square of 1.5; always the same ones."""
    generator = np.random.default_rng(20250)
    starts = generator.standard_normal((count, metric.shape[0])) / np.sqrt(np.maximum(np.diag(metric), 1e-300))
    sizes = np.sqrt(np.einsum("ij,jk,ik->i", starts, metric, starts))
    return list(_SPREAD * starts / sizes[:, None])


def search(surface: Surface, starts: Sequence[Floats], scale: Floats) -> Found:
    """Climb from every start and keep the best."""
    found: list[Optimum] = []
    for start in starts:
        one = maximise(surface, start, scale=scale, known=found)
        if one.outcome != "joined":
            found.append(one)
    return chosen(surface, found, scale, len(starts))


def search_with_sample(surface: Surface, sample: Surface, starts: Sequence[Floats], scale: Floats) -> Found:
    """Try the starts on a sample; climb on all rows from the most promising point.

    The sample is anchored, so that a column that hardly varies in it sends nothing to infinity. When the climb on
    all rows does not end at a maximum, every other candidate is climbed too; when the sample tells little, so is zero.
    """
    anchored = Anchored(sample, _PULL)
    tried: list[Optimum] = []
    for start in starts:
        one = maximise(anchored, start, scale=scale, known=tried)
        if one.outcome != "joined":
            tried.append(one)
    tried.sort(key=lambda one: -one.value)
    # Optima of the sample within its own noise of the best could each be the best on all rows.
    candidates = [one.theta for one in tried if one.value > tried[0].value - 10.0][:3]
    if len(candidates) > 1:
        values = [surface.value(theta) for theta in candidates]
        candidates = [candidates[i] for i in np.argsort(values)[::-1]]
    found = [maximise(surface, candidates[0], scale=scale)]
    more: list[Floats] = []
    if found[0].outcome != "maximum":
        more = candidates[1:] or [np.zeros(scale.size)]
    elif loose(tried[0], sample.metric):
        more = [np.zeros(scale.size)]
    for start in more:
        one = maximise(surface, start, scale=scale, known=found)
        if one.outcome != "joined":
            found.append(one)
    return chosen(surface, found, scale, len(starts))


def loose(optimum: Optimum, metric: Floats) -> bool:
    """Whether some linear predictor of unit size has a standard error above a quarter at this optimum."""
    weakest = np.linalg.eigvals(np.linalg.solve(metric, optimum.information)).real.min()
    return bool(weakest < 1.0 / _LOOSE**2)


def chosen(surface: Surface, found: Sequence[Optimum], scale: Floats, starts: int) -> Found:
    """The highest optimum; among equals (to 1e-6) a finite one."""
    best = max(one.value for one in found)
    top = [one for one in found if one.value >= best - 1e-6 * (1 + 1e-6 * abs(best))]
    winner = min(top, key=lambda one: (one.outcome != "maximum", -one.value))
    others = {round(one.value, 4) for one in found if one.outcome == "maximum" and one.value < best - 1e-3}
    return Found(winner, to_infinity(surface, winner, scale), tuple(sorted(others, reverse=True)), starts)


def to_infinity(surface: Surface, optimum: Optimum, scale: Floats) -> Floats | None:
    """A direction in which the log-likelihood never falls again, if the optimum looks like lying on one.

    Looked for only where the information has all but vanished or the search was still moving. Along a ray the
    likelihood of each row tends to a limit; when the log-likelihood far out is not below that at the optimum, the
    maximum is at infinity (for all practical purposes, where the difference is below 1e-4).
    """
    if optimum.theta.size == 0:
        return None
    whiten = inverse_root(surface.metric)
    inner = whiten.T @ optimum.information @ whiten
    values, vectors = np.linalg.eigh((inner + inner.T) / 2)
    vague = values < 1.0 / _VAGUE**2
    if optimum.outcome == "maximum" and not vague.any():
        return None
    candidates = [optimum.step]
    if vague.any():
        # What is left of the step, and of the estimate itself, in the directions that are not pinned down.
        basis = whiten @ vectors[:, vague]
        candidates += [basis @ (basis.T @ surface.metric @ part) for part in (optimum.step, optimum.theta)]
        candidates += list(basis.T)
    for candidate in candidates:
        size = np.abs(candidate) * scale
        if not np.isfinite(size).all() or size.max() == 0:
            continue
        # Components at the level of the convergence error are noise, and would grow along the ray.
        direction = np.where(size > 1e-3 * size.max(), candidate, 0.0)
        length = float(np.sqrt(direction @ surface.metric @ direction))
        if length == 0:  # a step too small to have a direction
            continue
        direction = direction / length
        for ray in (direction, -direction):
            if all(_holds(surface, optimum, distance * ray) for distance in (15.0, 60.0, 300.0)):
                return np.asarray(ray)
    return None


def _holds(surface: Surface, optimum: Optimum, move: Floats) -> bool:
    value = surface.value(optimum.theta + move)
    return bool(value >= optimum.value - 1e-4)
