"""Made-up reports: how often intervals still hold, ``python -m experiments.survey.stuffing``.

In an open survey a share α of all reports is made up by people who try to move the result as far as they can. They
send the report that counts most for "yes" (or least), or answer by the rule about a truth that is not theirs. What is
meant is the share of "yes" among everybody, the forgers among them; the worst truth for the interval is the opposite
of what they claim, and that is the one they have here.
"""

from __future__ import annotations

import argparse

import numpy as np

from discreet import estimate
from discreet.mechanisms import BinaryResponse, ChannelResponse, FiniteMechanism

MECHANISMS: dict[str, FiniteMechanism] = {
    "warner .73": BinaryResponse.warner("0.73"),
    "crosswise 1/4": BinaryResponse.crosswise("1/4"),
    "forced 1/6, 1/6": BinaryResponse.forced("1/6", "1/6"),
    "four reports": ChannelResponse([[5, 3, 1, 1], [1, 3, 5, 1]]),
}
ATTACKS = ("for yes", "for no", "by the rule")


def reports_of_forgers(
    mechanism: FiniteMechanism, attack: str, count: int, generator: np.random.Generator
) -> tuple[np.ndarray, int]:
    """Counts of their reports, and the truth that they hide."""
    weights, size = mechanism.inverse.as_matrix(), mechanism.shape[1]
    if attack == "by the rule":  # they claim "yes", and the truth is "no"
        return generator.multinomial(count, mechanism.matrix()[1]), 0
    chosen = int(np.argmax(weights[1])) if attack == "for yes" else int(np.argmin(weights[1]))
    return np.bincount([chosen], minlength=size) * count, 0 if attack == "for yes" else 1


def coverage(
    mechanism: FiniteMechanism, attack: str, share: float, people: int, runs: int, generator: np.random.Generator
) -> tuple[float, float]:
    """How often the usual interval and the widened one hold the share of "yes" among everybody."""
    forgers = round(share * people)
    held = np.zeros(2)
    for _ in range(runs):
        forged, hidden = reports_of_forgers(mechanism, attack, forgers, generator)
        carriers = int(generator.binomial(people - forgers, 0.2))
        matrix = mechanism.matrix()
        honest = generator.multinomial(carriers, matrix[1])
        honest = honest + generator.multinomial(people - forgers - carriers, matrix[0])
        truth = (carriers + hidden * forgers) / people
        result = estimate.frequencies(counts=honest + forged, mechanism=mechanism)
        for i, (low, high) in enumerate((result.interval()[1], result.contaminated(share)[1])):
            held[i] += low <= truth <= high
    return held[0] / runs, held[1] / runs


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--people", type=int, default=1000)
    chosen = parser.parse_args()
    generator, lowest = np.random.default_rng(18), 1.0
    print(f"Coverage of 95 % intervals, {chosen.people:,} reports, {chosen.runs:,} surveys\n")
    print(f"{'mechanism':17}{'attack':13}{'forged':>7}{'usual':>8}{'widened':>9}")
    for name, mechanism in MECHANISMS.items():
        for attack in ATTACKS:
            for share in (0.02, 0.1):
                usual, widened = coverage(mechanism, attack, share, chosen.people, chosen.runs, generator)
                lowest = min(lowest, widened)
                print(f"{name:17}{attack:13}{share:7.0%}{usual:8.1%}{widened:9.1%}", flush=True)
    print(f"\nlowest of the widened: {lowest:.1%}")
    return int(lowest < 0.95 - 5 * np.sqrt(0.95 * 0.05 / chosen.runs))


if __name__ == "__main__":
    raise SystemExit(main())
