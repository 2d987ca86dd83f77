"""Coverage of the methods "auto" and "likelihood" for numeric vectors, in settings that were not used to build them.

    python -m experiments.inference.numeric_coverage [--runs 200] [--match "d = 1"]

One to three numbers, little and much noise, even, skewed, related and lumped laws, six losses, n = 1,000 and 5,000.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
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
    loss: str, slopes: list[float], law: Law, scale: float, zero: float, n: int, method: str, intercept: float = 0.2
) -> Setting:
    """One loss on one law with one noise."""
    d = len(slopes)
    mechanism = ZeroInflatedLaplace(Box([-1] * d, [1] * d), scale, zero)

    def ask(rng: Rng, source: Any) -> Any:
        x = law(rng, n, d)
        y = outcome(loss, x @ slopes + intercept, rng)
        return m_estimate(loss, mechanism.privatize(x, source), mechanism, outcome=y, public=np.ones(n), method=method)

    truth = {f"x{j + 1}": slope for j, slope in enumerate(slopes)} | {"public1": intercept}
    name = f"{method}: {loss}, d = {d}, {law.__name__}, ({scale:g}, {zero:g}), n = {n:,}"
    return Setting(name + (f", intercept {intercept:g}" if intercept != 0.2 else ""), truth, ask)


def settings() -> Iterator[Setting]:
    """All of them."""
    for method in ("likelihood", "auto"):
        yield setting("logistic", [1.0], skewed, 0.5, 0.05, 1_000, method)
        yield setting("logistic", [1.0], lumped, 2.0, 0.1, 5_000, method)
        yield setting("logistic", [1.0], at_ends, 2.0, 0.1, 1_000, method)
        yield setting("logistic", [2.0], even, 1.0, 0.1, 5_000, method, -3.0)
        yield setting("poisson", [1.0], skewed, 1.0, 0.1, 1_000, method)
        yield setting("logistic", [1.0, -0.5], related, 1.0, 0.1, 5_000, method)
        yield setting("probit", [0.7, 0.0], skewed, 2.0, 0.15, 1_000, method)
        yield setting("poisson", [0.8, 0.4], lumped, 1.0, 0.1, 5_000, method)
        yield setting("logistic", [1.0, 0.5, -1.0], skewed, 1.0, 0.1, 5_000, method)
        yield setting("logistic", [1.0, 0.5, -1.0], related, 3.0, 0.15, 1_000, method)
    yield setting("squared", [1.0, -0.5], skewed, 1.0, 0.1, 1_000, "auto")
    yield setting("squared", [1.0], lumped, 4.0, 0.1, 5_000, "auto")
    yield setting("check", [1.0, -0.5], skewed, 1.0, 0.2, 5_000, "auto")
    yield setting("check", [1.0], lumped, 0.5, 0.1, 1_000, "auto")
    yield setting("huber", [1.0, 0.5, -1.0], related, 1.0, 0.15, 5_000, "auto")


if __name__ == "__main__":
    main(settings, __doc__, "numeric_coverage")
