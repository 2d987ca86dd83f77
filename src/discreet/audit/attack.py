"""Attack a mechanism: simulate reports, build the best distinguisher, and bound ε from below.

Whoever can tell two truths apart too well has proven that the mechanism is less private than it says. The
distinguisher is chosen on one half of the reports and judged on the other, with Clopper–Pearson bounds that
hold jointly over all pairs tried, so that a correct mechanism is accused with probability at most 1e-9.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import permutations
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet import arguments
from discreet.errors import InputError
from discreet.mechanisms.finite import MAX_MATRIX
from discreet.privacy import Guarantee
from discreet.randomness import Randomness

#: Chance of accusing a correct mechanism.
FALSE_ALARM = 1e-9
#: Truths that are attacked when the domain is larger.
MAX_TRUTHS = 8
#: Reports per truth: eight truths of a hundred million 64-bit codes are 6 GB.
MAX_SAMPLES = 10**8


@runtime_checkable
class Attackable(Protocol):
    """What can be attacked: anything that randomises codes and makes a promise."""

    @property
    def guarantee(self) -> Guarantee:
        """The promise under attack."""

    @property
    def shape(self) -> tuple[int, int]:
        """Number of truths and reports."""

    def matrix(self) -> NDArray[np.float64]:
        """The channel that it claims to be."""

    def privatize(self, x: ArrayLike, randomness: Randomness | None = None) -> NDArray[Any]:
        """Randomise codes."""


@dataclass(frozen=True)
class AttackResult:
    """What the attack found.

    Attributes
    ----------
    epsilon_lower : float
        With confidence 1 − 1e-9 the mechanism is no more private than this, at the promised δ.
    epsilon_promised, delta_promised : float
        The promise.
    findings : tuple of str
        Everything that a correct implementation would not do.
    """

    epsilon_lower: float
    epsilon_promised: float
    delta_promised: float
    pair: tuple[int, int]
    samples: int
    findings: tuple[str, ...] = field(default=())

    @property
    def passed(self) -> bool:
        """Whether nothing was found."""
        return not self.findings

    def summary(self) -> str:
        """A few lines for people."""
        lines = [
            f"Attack with {self.samples:,} reports per truth: ε is at least {self.epsilon_lower:.4f} "
            f"(promised: at most {self.epsilon_promised:.4f}, δ = {self.delta_promised:g})."
        ]
        lines.extend(f"FOUND: {finding}" for finding in self.findings)
        if self.passed:
            lines.append("Nothing was found that contradicts the promise.")
        return "\n".join(lines)

    __str__ = summary

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "passed": self.passed,
            "epsilon_lower": self.epsilon_lower,
            "epsilon_promised": None if math.isinf(self.epsilon_promised) else self.epsilon_promised,
            "delta_promised": self.delta_promised,
            "pair": list(self.pair),
            "samples": self.samples,
            "findings": list(self.findings),
        }


def attack(
    mechanism: Attackable,
    samples: int = 200_000,
    *,
    truths: Sequence[int] | None = None,
    randomness: Randomness | None = None,
) -> AttackResult:
    """Attack a mechanism with simulated reports.

    Three things are tried: telling truths apart better than ε and δ allow; catching report frequencies that are
    not those of the stated channel; and catching randomness that repeats.

    Parameters
    ----------
    mechanism : Mechanism
        Anything with ``privatize``, ``shape``, ``guarantee`` and ``matrix()``, the channel it claims to be.
    samples : int
        Reports per truth.
    truths : sequence of int, optional
        Codes to attack; by default all, or eight spread over a large domain.
    """
    if not isinstance(mechanism, Attackable) or isinstance(mechanism, type):
        raise InputError(f"a mechanism with finitely many reports is needed, not {arguments.shown(mechanism)}")
    samples = arguments.whole(samples, "samples", least=100, most=MAX_SAMPLES)
    codes = _targets(mechanism.shape[0], truths)
    guarantee = mechanism.guarantee
    reports = {x: mechanism.privatize(np.full(samples, x), randomness) for x in codes}
    findings = _repetition(mechanism, codes, reports, randomness)
    findings += _wrong_frequencies(mechanism, codes, reports)
    lower, pair = _distinguish(codes, reports, mechanism.shape[1], guarantee.delta)
    if lower > guarantee.epsilon:
        findings.append(
            f"truths {pair[0]} and {pair[1]} can be told apart better than promised: "
            f"ε is at least {lower:.4f}, not at most {guarantee.epsilon:.4f}"
        )
    return AttackResult(lower, guarantee.epsilon, guarantee.delta, pair, samples, tuple(findings))


def _targets(size: int, truths: Sequence[int] | None) -> list[int]:
    if truths is not None:
        listed = arguments.listed(truths, "truths")
        chosen = list(dict.fromkeys(arguments.whole(x, "a code", most=size - 1) for x in listed))
        if len(chosen) < 2:
            raise InputError(f"an attack needs at least two different codes from 0 to {size - 1}")
        return chosen
    return [int(x) for x in np.unique(np.linspace(0, size - 1, min(size, MAX_TRUTHS)).round())]


def _repetition(
    mechanism: Attackable, codes: list[int], reports: dict[int, NDArray[Any]], randomness: Randomness | None
) -> list[str]:
    """A second run with the same truths must not give the same reports, unless nothing is random at all."""
    for x in codes:
        first = reports[x]
        if np.all(first == first[0]):
            continue  # a truth that is always reported the same way has nothing to repeat
        again = mechanism.privatize(np.full(first.size, x), randomness)
        if np.array_equal(first, again):
            return ["two runs gave exactly the same reports: the randomness repeats"]
        half = first.size // 2
        if np.array_equal(first[:half], first[half : 2 * half]):
            return ["the reports repeat within one run: the randomness has a short cycle"]
    return []


def _wrong_frequencies(mechanism: Attackable, codes: list[int], reports: dict[int, NDArray[Any]]) -> list[str]:
    """Each report must come as often as the channel says, by exact binomial tails."""
    if max(mechanism.shape) > MAX_MATRIX:
        return []
    from scipy.special import bdtr, bdtrc

    Q = mechanism.matrix()
    findings = []
    tests = 2 * len(codes) * Q.shape[1]
    for x in codes:
        n = reports[x].size
        counts = np.bincount(reports[x].astype(np.intp), minlength=Q.shape[1])
        if counts.size > Q.shape[1]:
            findings.append(f"truth {x} is reported as something the channel does not have")
            continue
        for y, count in enumerate(counts):
            p = Q[x, y]
            low = bdtr(count, n, p)
            high = bdtrc(count - 1, n, p) if count else 1.0
            if min(low, high) < FALSE_ALARM / tests or (p == 0 and count):
                findings.append(
                    f"truth {x} gives report {y} with frequency {count / n:.5f} where the channel says {p:.5f}"
                )
    return findings


def _distinguish(
    codes: list[int], reports: dict[int, NDArray[Any]], size: int, delta: float
) -> tuple[float, tuple[int, int]]:
    """The best lower bound on ε over all ordered pairs of truths."""
    training: dict[int, NDArray[np.int64]] = {}
    judging: dict[int, NDArray[np.int64]] = {}
    for x in codes:
        half = reports[x].size // 2
        training[x] = np.bincount(reports[x][:half].astype(np.intp), minlength=size)
        judging[x] = np.bincount(reports[x][half:].astype(np.intp), minlength=size)
    best, best_pair = 0.0, (codes[0], codes[1])
    pairs = list(permutations(codes, 2))
    error = FALSE_ALARM / (2 * len(pairs))
    for a, b in pairs:
        event = _best_event(training[a], training[b], delta, error)
        hits, misses = int(judging[a][event].sum()), int(judging[b][event].sum())
        lower = epsilon_bound(hits, int(judging[a].sum()), misses, int(judging[b].sum()), delta, error)
        if lower > best:
            best, best_pair = lower, (a, b)
    return best, best_pair


def _best_event(a: NDArray[np.int64], b: NDArray[np.int64], delta: float, error: float) -> NDArray[np.intp]:
    """The set of reports, most telling first, whose bound on the training half is largest."""
    order = np.argsort(-(a + 0.5) / (b + 0.5), kind="stable")
    n, m = int(a.sum()), int(b.sum())
    hits, misses = np.cumsum(a[order]), np.cumsum(b[order])
    tried = np.unique(np.linspace(0, order.size - 1, min(order.size, 64)).round().astype(int))
    scores = [epsilon_bound(int(hits[i]), n, int(misses[i]), m, delta, error) for i in tried]
    return order[: tried[int(np.argmax(scores))] + 1]


def epsilon_bound(hits: int, n: int, misses: int, m: int, delta: float, error: float) -> float:
    """A lower bound on ε from ``P(E | a) ≤ e^ε P(E | b) + δ`` with one-sided Clopper–Pearson bounds."""
    from scipy.special import betaincinv

    low = float(betaincinv(hits, n - hits + 1, error)) if hits else 0.0
    high = float(betaincinv(misses + 1, m - misses, 1 - error)) if misses < m else 1.0
    return math.log((low - delta) / high) if low > delta else 0.0
