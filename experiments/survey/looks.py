"""A survey that is looked at a hundred times: ``python -m experiments.survey.looks``.

For each setting 1,000 surveys are simulated and looked at 100 times, first after 30 reports (the dashboard shows
nothing before) and last after all of them. A survey misses if at any look an interval leaves the truth out: of one
value, and of any value of the question. Rare answers, few reports, many values and weak protection are where an
estimated standard deviation is least to be trusted. Intervals are computed here for all surveys at once; for some of
them they are compared with those of ``interval(method="anytime")``.
"""

from __future__ import annotations

import argparse

import numpy as np

from discreet import design, estimate
from discreet.arguments import Floats
from discreet.estimate.channels.moments import conditional_variances
from discreet.estimate.intervals.anytime import factor, reach
from discreet.estimate.intervals.wilson import wilson
from discreet.mechanisms import BinaryResponse, FiniteMechanism, GeneralizedResponse

LOOKS, FIRST = 100, 30


def settings() -> list[tuple[str, FiniteMechanism, list[float], int]]:
    """A name, a mechanism, the law of the truth, and the number of reports in the end."""
    four = design.binary(0.5, 0.1, reports=4).mechanism
    binary = {
        "warner, ε = 1": BinaryResponse.warner("0.73"),
        "warner, ε = 3": BinaryResponse.warner("0.953"),
        "forced 1/6, 1/6": BinaryResponse.forced("1/6", "1/6"),
        "mangat 3/5": BinaryResponse.mangat("3/5"),
        "four reports": four,
        "warner, ε = 6": BinaryResponse.warner("0.9975"),
        "asked directly": BinaryResponse("1", "1"),
    }
    out = []
    for name, mechanism in binary.items():
        for prevalence in (0.01, 0.05, 0.3):
            out += [(name, mechanism, [1 - prevalence, prevalence], n) for n in (300, 3_000)]
    for epsilon in (1.0, 3.0):
        five = GeneralizedResponse(5, epsilon)
        out += [(f"five values, ε = {epsilon:g}", five, [0.6, 0.3, 0.08, 0.01, 0.01], n) for n in (300, 3_000)]
    return out


def intervals(counts: Floats, mechanism: FiniteMechanism, n: int, level: float) -> tuple[Floats, Floats]:
    """The confidence sequence at n for many tables of counts at once: (surveys, values) low and high ends."""
    centre = counts / n @ mechanism.inverse.as_matrix().T
    own, other = (np.broadcast_to(values, centre.shape) for values in conditional_variances(mechanism))
    return wilson(centre, own, other, 1.0, n, factor(n, level))


def plugged_in(counts: Floats, mechanism: FiniteMechanism, n: int) -> tuple[Floats, Floats]:
    """The same with the standard deviation of the answers so far."""
    weights, shares = mechanism.inverse.as_matrix(), counts / n
    deviation = np.sqrt(np.maximum(shares @ (weights**2).T - (shares @ weights.T) ** 2, 0))
    centre, half = shares @ weights.T, reach(n, deviation, 0.95)
    return centre - half, centre + half


def missed(
    mechanism: FiniteMechanism, law: list[float], most: int, runs: int, generator: np.random.Generator
) -> list[float]:
    """Shares of surveys that ever miss: the last value (σ estimated; σ(π)), any value, any with the level split."""
    truth = np.array(law)
    shares = truth @ mechanism.matrix()
    at = np.unique(np.linspace(FIRST, most, LOOKS).astype(int))
    steps = np.stack([generator.multinomial(step, shares, runs) for step in np.diff(at, prepend=0)])
    counted = steps.cumsum(axis=0)
    ever = np.zeros((4, runs), bool)
    for n, counts in zip(at, counted, strict=True):
        ends = (
            plugged_in(counts, mechanism, int(n)),
            intervals(counts, mechanism, int(n), 0.95),
            intervals(counts, mechanism, int(n), 1 - 0.05 / truth.size),
        )
        estimated, own, split = ((truth < low) | (truth > high) for low, high in ends)
        ever |= np.stack([estimated[:, -1], own[:, -1], own.any(axis=1), split.any(axis=1)])
        _compare(mechanism, counts[0], int(n))
    return [float(share) for share in ever.mean(axis=1)]


def _compare(mechanism: FiniteMechanism, counts: Floats, n: int) -> None:
    low, high = intervals(counts[None].astype(float), mechanism, n, 0.95)
    ours = np.clip(np.stack([low[0], high[0]], axis=1), 0, 1)
    result = estimate.frequencies(counts=counts, mechanism=mechanism)
    np.testing.assert_allclose(result.interval(method="anytime"), ours, atol=1e-9)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    runs = parser.parse_args().runs
    generator, worst = np.random.default_rng(5), 0.0
    print(f"{runs:,} surveys, {LOOKS} looks each: ever missed, 95 % (at most 5 %)\n")
    print(f"{'':39}{'one value':>11}{'':>12}{'any value':>12}{'any value,':>13}")
    print(f"{'mechanism':22}{'rarest':>8}{'reports':>9}{'σ estimated':>12}{'σ(π)':>11}{'':>12}{'level split':>13}")
    for name, mechanism, law, most in settings():
        estimated, one, anything, together = missed(mechanism, law, most, runs, generator)
        worst = max(worst, one)
        print(
            f"{name:22}{min(law):8.0%}{most:9,}{estimated:12.1%}{one:11.1%}{anything:12.1%}{together:13.1%}", flush=True
        )
    print(f"\nworst of one value: {worst:.1%}")
    return int(worst > 0.05)


if __name__ == "__main__":
    raise SystemExit(main())
