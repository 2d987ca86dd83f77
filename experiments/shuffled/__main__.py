"""Bounds of shuffled files against enumeration: ``python -m experiments.shuffled`` (half a minute).

Every line compares the stated δ with the exact one, which enumerates the true answers of all other people. A ratio
below 1 would be an error of the bound, and ends the run.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable

import numpy as np
from tests.mechanisms.catalogue import FINITE

from discreet import privacy
from discreet.mechanisms import FiniteMechanism, GeneralizedResponse
from experiments.shuffled.exact import exact_binary_epsilon, exact_blanket, exact_delta, random_channel

#: Smaller exact figures are rounding errors of the enumeration.
LEAST = 1e-12


def ratios(given: object, channel: np.ndarray, people: int, epsilons: list[float]) -> list[float]:
    """Stated over exact δ, for each ε."""
    file = privacy.shuffled(given, people)
    exact = exact_delta(channel, people, epsilons)
    return [file.delta_at(epsilon) / delta for epsilon, delta in zip(epsilons, exact, strict=True) if delta > LEAST]


def channels(count: int = 200) -> Iterable[float]:
    """Random channels of 2–4 values and 2–5 reports among up to 9 people, three ε each."""
    for seed in range(count):
        generator = np.random.default_rng(seed)
        weights, people = random_channel(generator), int(generator.integers(2, 10))
        local = privacy.certify(weights.tolist()).epsilon
        yield from ratios(weights.tolist(), weights / 10**4, people, (generator.uniform(0, 1, 3) * local).tolist())


def mechanisms(count: int = 60) -> Iterable[float]:
    """Random mechanisms of the package, alone or two in a row, among as many people as can be enumerated."""
    usable: list[FiniteMechanism] = [one for one, *_ in FINITE.values() if one.guarantee.pure and max(one.shape) <= 7]
    generator = np.random.default_rng(1)
    for _ in range(count):
        row = [usable[i] for i in generator.integers(0, len(usable), generator.integers(1, 3))]
        channel = row[0].matrix() if len(row) == 1 else np.kron(row[0].matrix(), row[1].matrix())
        if channel.shape[1] > 8 or channel.shape[0] > 9:
            continue
        people = {2: 60, 3: 12, 4: 7, 5: 5}.get(channel.shape[1], 3) if channel.shape[0] <= 4 else 3
        local = sum(one.guarantee.epsilon for one in row)
        yield from ratios(row, channel, people, (generator.uniform(0, 1, 3) * min(local, 20.0)).tolist())


def blankets() -> Iterable[float]:
    """Generalised response among up to 1,000 people against the double sum of the blanket."""
    for level, size, people in ((0.5, 2, 1000), (1.0, 2, 300), (2.0, 4, 300), (4.0, 2, 1000), (5.0, 20, 500)):
        file = privacy.shuffled(GeneralizedResponse(size, level), people)
        for epsilon in np.linspace(0, 0.99, 12) * level:
            exact = exact_blanket(file.local, size, people, epsilon)
            if exact > 1e-30:
                yield file.delta_at(epsilon) / exact


def binary() -> Iterable[float]:
    """Stated over exact ε of binary response among up to 300 people at δ = 10⁻⁹."""
    for level in (0.1, 0.3, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0):
        for people in (10, 30, 100, 200, 300):
            yield privacy.shuffled(GeneralizedResponse(2, level), people).epsilon / exact_binary_epsilon(
                level, people, 1e-9
            )


def main() -> None:
    """Print smallest, median and largest ratio of every comparison."""
    for compare in (channels, mechanisms, blankets, binary):
        start = time.perf_counter()
        found = np.array(list(compare()))
        figures = ", ".join(f"{name(found):.6f}" for name in (np.min, np.median, np.max))
        print(
            f"{compare.__doc__} {found.size} comparisons: {figures} ({time.perf_counter() - start:.0f} s)", flush=True
        )
        if not (found >= 1 - 1e-8).all() or not math.isfinite(found.max()):
            raise SystemExit("a stated figure is below the exact one")


if __name__ == "__main__":
    main()
