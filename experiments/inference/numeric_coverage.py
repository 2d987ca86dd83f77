"""Coverage of the intervals that users get for numeric vectors by default, in settings that are not kind to them.

    python -m experiments.inference.numeric_coverage [--runs 200] [--match "d = 1"]

One to three numbers, little and much noise, even, skewed, narrow, related and lumped laws, six losses, n = 150 to
5,000. Where there is a likelihood, the method "auto" is the method "likelihood". The settings named "tried" were looked
at while its intervals were built, and, on other samples, two humps, incomes (logistic at n = 150, Poisson at 1,000) and
the first logistic one; the others were not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from discreet import Box
from discreet.estimate import m_estimate
from discreet.mechanisms import ZeroInflatedLaplace
from experiments.inference.coverage import Setting, main

Rng = np.random.Generator
Law = Callable[[Rng, int, int], Any]


def even(rng: Rng, n: int, d: int) -> Any:
    """Independent and uniform on the box."""
    return rng.uniform(-1, 1, (n, d))


def skewed(rng: Rng, n: int, d: int) -> Any:
    """Most people near the lower end."""
    return 2 * rng.beta(1, 4, (n, d)) - 1


def related(rng: Rng, n: int, d: int) -> Any:
    """Coordinates with a correlation of about .6."""
    common = rng.normal(size=(n, 1))
    return np.tanh(0.7 * common + 0.5 * rng.normal(size=(n, d)))


def lumped(rng: Rng, n: int, d: int) -> Any:
    """Whole numbers 0 … 5 put on the box, zero for half the people."""
    return np.where(rng.random((n, d)) < 0.5, 0, rng.integers(0, 6, (n, d))) * 0.4 - 1


def at_ends(rng: Rng, n: int, d: int) -> Any:
    """Yes/no answers that were declared as numbers."""
    return np.where(rng.random((n, d)) < 0.3, 1.0, -1.0)


def thin_tail(rng: Rng, n: int, d: int) -> Any:
    """Nearly all people in the lowest tenth of the box, as incomes are under a generous bound."""
    return 2 * rng.beta(1, 20, (n, d)) - 1


def narrow(rng: Rng, n: int, d: int) -> Any:
    """A bell that is narrower than a cell of the law."""
    return np.clip(rng.normal(0.3, 0.08, (n, d)), -1, 1)


def incomes(rng: Rng, n: int, d: int) -> Any:
    """Lognormal, related, with two in a hundred at the bound."""
    common = rng.normal(size=(n, 1))
    return 2 * np.minimum(np.exp(-2 + 0.5 * common + 0.8 * rng.normal(size=(n, d))), 1) - 1


def two_humps(rng: Rng, n: int, d: int) -> Any:
    """Few high, many low, nobody between."""
    high = rng.random((n, d)) < 0.15
    return np.where(high, rng.uniform(0.5, 1, (n, d)), rng.uniform(-1, -0.5, (n, d)))


def outcome(loss: str, index: Any, rng: Rng) -> Any:
    """An outcome whose model the loss is right for."""
    if loss == "logistic":
        return (rng.random(index.size) < 1 / (1 + np.exp(-index))) * 1.0
    if loss == "probit":
        return (rng.normal(size=index.size) < index) * 1.0
    if loss == "poisson":
        return rng.poisson(np.exp(index)).astype(float)
    return index + rng.standard_t(5, index.size)


def setting(
    loss: str, slopes: list[float], law: Law, scale: float, zero: float, n: int, intercept: float = 0.2
) -> Setting:
    """One loss on one law with one noise."""
    d = len(slopes)
    mechanism = ZeroInflatedLaplace(Box([-1] * d, [1] * d), scale, zero)

    def ask(rng: Rng, source: Any) -> Any:
        x = law(rng, n, d)
        y = outcome(loss, x @ slopes + intercept, rng)
        return m_estimate(loss, mechanism.privatize(x, source), mechanism, outcome=y, public=np.ones(n))

    truth = {f"x{j + 1}": slope for j, slope in enumerate(slopes)} | {"public1": intercept}
    name = f"{loss}, d = {d}, {law.__name__}, ({scale:g}, {zero:g}), n = {n:,}"
    return Setting(name + (f", intercept {intercept:g}" if intercept != 0.2 else ""), truth, ask)


def tried() -> Iterator[Setting]:
    """Those that were looked at while the intervals of the likelihood were built."""
    yield setting("poisson", [1.0], skewed, 1.0, 0.1, 300)
    yield setting("poisson", [1.0], skewed, 1.0, 0.1, 1_000)
    yield setting("poisson", [1.0], skewed, 1.0, 0.1, 5_000)
    yield setting("poisson", [3.0], thin_tail, 1.0, 0.1, 2_000, intercept=3.0)
    yield setting("logistic", [3.0], narrow, 0.5, 0.1, 2_000, intercept=-1.0)
    yield setting("poisson", [1.0, 0.5], skewed, 1.0, 0.1, 1_000)


def settings() -> Iterator[Setting]:
    """All of them."""
    for one in tried():
        yield replace(one, name=f"tried, {one.name}")
    yield setting("logistic", [1.0], skewed, 0.5, 0.05, 1_000)
    yield setting("logistic", [1.0], lumped, 2.0, 0.1, 5_000)
    yield setting("logistic", [1.0], at_ends, 2.0, 0.1, 1_000)
    yield setting("logistic", [2.0], even, 1.0, 0.1, 5_000, intercept=-3.0)
    yield setting("logistic", [1.0], incomes, 1.0, 0.1, 150)
    yield setting("probit", [-1.0], incomes, 1.0, 0.1, 800)
    yield setting("poisson", [-1.0], incomes, 1.0, 0.1, 1_000)
    yield setting("poisson", [1.5], incomes, 0.7, 0.05, 3_000, intercept=1.0)
    yield setting("poisson", [0.8], two_humps, 3.0, 0.08, 1_500)
    yield setting("logistic", [1.0, -0.5], related, 1.0, 0.1, 5_000)
    yield setting("probit", [0.7, 0.0], skewed, 2.0, 0.15, 1_000)
    yield setting("poisson", [0.8, 0.4], lumped, 1.0, 0.1, 5_000)
    yield setting("poisson", [0.7, -0.4], incomes, 1.0, 0.1, 3_000, intercept=0.5)
    yield setting("logistic", [1.0, 0.5, -1.0], skewed, 1.0, 0.1, 5_000)
    yield setting("logistic", [1.0, 0.5, -1.0], related, 3.0, 0.15, 1_000)
    yield setting("squared", [1.0, -0.5], skewed, 1.0, 0.1, 1_000)
    yield setting("squared", [1.0], lumped, 4.0, 0.1, 5_000)
    yield setting("check", [1.0, -0.5], skewed, 1.0, 0.2, 5_000)
    yield setting("check", [1.0], lumped, 0.5, 0.1, 1_000)
    yield setting("huber", [1.0, 0.5, -1.0], related, 1.0, 0.15, 5_000)


if __name__ == "__main__":
    main(settings, __doc__, "numeric_coverage")
