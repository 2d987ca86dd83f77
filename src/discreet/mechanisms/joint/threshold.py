"""A mixture of weighted-threshold answers and the uniform answer.

With probability θ the answer is uniform among those whose weighted number of truthful attributes, Σ v_i B_i, is at
least T; otherwise it is uniform among all. The density takes two values, and
``e^ε = 1 + θ/((1 − θ) P(Σ v_i B_i ≥ T))``.

Exactly uniform draws from the answers whose weighted number of truthful attributes passes a threshold.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import MAX_EMAX, Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from discreet import limits
from discreet.arguments import Floats
from discreet.decimals import with_digits
from discreet.errors import ManifestError, MechanismError
from discreet.mechanisms.base import stored_int
from discreet.mechanisms.joint.law import (
    Law,
    Patterns,
    TruthRates,
    bernoulli_columns,
    bits_of,
    checked_subset,
    choose_cells,
    draw_uniform_patterns,
    stored_integers,
    uniform_pattern,
)
from discreet.mechanisms.joint.weighted_sum import UNIT, WeightedSum, exponentials
from discreet.privacy.bounds import exp_bounds, log_bounds, round_up
from discreet.randomness import Randomness

#: Proposal probabilities are held over this denominator: rates as near to one as 1 − e^{−60} still are good to 10^-12.
PROPOSALS = 1 << 128
#: Proposals are drawn for this many cells at once.
_CELLS = 1 << 22
#: Fifty digits, off by at most 5·10^-50 of the result of an operation; no exponent overflows.
_fifty = with_digits(50, exponents=MAX_EMAX)
_ULP = Decimal("5e-50")


class Rejection:
    """Tilted proposals, accepted with the probability that makes them uniform on the event S ≥ T.

    Attribute i is proposed truthful with probability n_i/2^128, at or just below its tilted rate, independently. With
    ``ρ_i = n_i (a_i − 1)/(2^128 − n_i)`` the odds ratio of the proposal to the uniform law, a proposal b with S ≥ T is
    accepted with probability

        α(b) = C Π_{b_i = 1} 1/ρ_i,

    which cancels the proposal: what is accepted is uniform on the event. α must not exceed one there. Rates are rounded
    down, so ln ρ_i ≤ t v_i, and Σ_{b_i = 1} ln ρ_i ≥ tS − Σ_i (t v_i − ln ρ_i) ≥ tT − Σ_i (t v_i − ln ρ_i); C is a
    number with fifty digits at or below e to that, taken as exact. Then α is a rational number.

    A uniform number U is compared with α in three steps: by floats, where their difference exceeds all roundings; else
    by fifty digits, with further bits of U; else, once in 2^64 such cases or less, by whole numbers. The comparison
    is always that of U with α itself. Hence no error is left in the law of the draws, and none is part of a stated ε.
    """

    @_fifty
    def __init__(self, law: WeightedSum) -> None:
        kinds, which, counts = law.kinds
        tilt = Decimal(law.tilt)
        numerators, logs = [], []
        short, largest = Decimal(0), Decimal(0)
        for (a, v), count in zip(kinds.tolist(), counts.tolist(), strict=True):
            exponent = tilt * v
            rate = PROPOSALS / (1 + (-exponent).exp() * (a - 1))
            # One less than the whole part: fifty digits of a rate are good to far less than one unit of 2^-128.
            n = int(rate) - 1
            log = (Decimal(n * (a - 1)) / (PROPOSALS - n)).ln()
            numerators.append(n)
            logs.append(log)
            short += count * max(exponent - log, Decimal(0))
            largest += count * (abs(log) + exponent)
        attributes = len(which)
        passed = tilt * law.threshold
        # Every sum below has at most k + 10 terms, which add up to at most this much and carry a few roundings each.
        largest += passed + 2
        self._slack = 20 * (attributes + 10) * (largest * _ULP)
        self._log_scale = passed - short - self._slack
        self._scale = (self._log_scale - self._slack).exp()
        self._numerators = [numerators[kind] for kind in which.tolist()]
        self._sizes = law.sizes.tolist()
        self._chances = tuple(Fraction(n, PROPOSALS) for n in self._numerators)
        self._exact_logs = [logs[kind] for kind in which.tolist()]
        self._logs = np.array([float(one) for one in self._exact_logs])
        # Sums stay below 2^24, so that they are exact in single precision, in whatever order they are added.
        self._weights = law.weights.astype(np.float32)
        self._threshold = law.threshold
        # k + 3 roundings of at most 1.1e-16 of Σ |ln ρ_i| + |ln C|, however the sum is ordered; and the slack.
        self._guard = 1e-12 + 4e-16 * (attributes + 3) * (float(np.abs(self._logs).sum()) + abs(float(self._log_scale)))

    def draw(self, count: int, randomness: Randomness) -> Patterns:
        """As many patterns as asked for."""
        columns = len(self._chances)
        out = np.empty((count, columns), bool)
        filled, batch = 0, max(1, min(_CELLS // columns, 16 * count + 64))
        while filled < count:
            proposals = bernoulli_columns(self._chances, batch, randomness)
            inside = proposals[(proposals.astype(np.float32) @ self._weights) >= self._threshold]
            taken = inside[self._accept(inside, randomness)][: count - filled]
            out[filled : filled + len(taken)] = taken
            filled += len(taken)
        return out

    def acceptance(self, pattern: NDArray[np.bool_]) -> Fraction:
        """α of a pattern of the event, exactly."""
        truthful = np.flatnonzero(pattern).tolist()
        top = _product([PROPOSALS - self._numerators[i] for i in truthful])
        bottom = _product([self._numerators[i] * (self._sizes[i] - 1) for i in truthful])
        return Fraction(self._scale) * Fraction(top, bottom)

    def _accept(self, patterns: Patterns, randomness: Randomness) -> NDArray[np.bool_]:
        """The first step; |e^{x+g} − e^x| ≤ 4g for x + g ≤ 0 and any g, so ``4·guard`` is a distance of chances."""
        log_chance = float(self._log_scale) - patterns @ self._logs
        words = randomness.words(len(patterns))
        chance = np.exp(np.minimum(log_chance, 0.0))
        drawn = words.astype(np.float64) * 2.0**-64
        out: NDArray[np.bool_] = drawn < chance
        close = np.abs(drawn - chance) <= self._guard * 4 + 1e-14
        for row in np.flatnonzero(close):
            out[row] = self._decide(patterns[row], int(words[row]), randomness)
        return out

    @_fifty
    def _decide(self, pattern: NDArray[np.bool_], word: int, randomness: Randomness) -> bool:
        """Whether a uniform number that starts with these 64 bits is below α."""
        exponent = self._log_scale
        for i in np.flatnonzero(pattern):
            exponent -= self._exact_logs[i]
        chance = exponent.exp()
        # C is e^{log_scale} to within two slacks, and the sum of logarithms is good to one.
        error = chance * (4 * self._slack)
        low, high = Fraction(chance - error), Fraction(chance + error)
        bits, digits = 64, word
        while True:
            if digits + 1 <= low * (1 << bits):
                return True
            if digits >= high * (1 << bits):
                return False
            if bits == 128:
                low = high = self.acceptance(pattern)
            digits = (digits << 64) | int(randomness.words(1)[0])
            bits += 64


def _product(factors: list[int]) -> int:
    """A product of many whole numbers, halves first, so that long factors meet long ones."""
    if len(factors) < 8:
        return math.prod(factors)
    middle = len(factors) // 2
    return _product(factors[:middle]) * _product(factors[middle:])


#: Mixture shares are held over this denominator.
DENOMINATOR = 1 << 64
#: Largest Σ v_i: sums stay exact in floats, and a law of 2^23 sums fits into 64 MB.
MAX_SUM = 1 << 23
#: Smallest scaled probability from which the pattern of some attributes is derived.
_LEAST_TOTAL = 2.0**-600


@dataclass(frozen=True)
class Threshold:
    """One weighted-threshold answer: its share of the mixture over 2^64, weights and threshold."""

    share: int
    weights: tuple[int, ...]
    threshold: int

    def __post_init__(self) -> None:
        total = sum(self.weights)
        if not 0 < self.share < DENOMINATOR:
            raise MechanismError("the share of a threshold answer must lie strictly between 0 and 1")
        if min(self.weights) < 0 or not 0 < self.threshold <= total <= MAX_SUM:
            raise MechanismError(f"weights must be ≥ 0 and add up to at least the threshold and at most {MAX_SUM:,}")


@dataclass(frozen=True)
class ThresholdLaw(Law):
    """A mixture of threshold answers; what is left of the shares is the uniform answer."""

    sizes: tuple[int, ...]
    components: tuple[Threshold, ...]

    kind: ClassVar[str] = "threshold"

    def __post_init__(self) -> None:
        if not self.components or sum(one.share for one in self.components) >= DENOMINATOR:
            raise MechanismError("the shares of the threshold answers must add up to less than one")
        if len(self.components) > limits.THRESHOLD_COMPONENTS:
            raise MechanismError(f"a mixture has at most {limits.THRESHOLD_COMPONENTS} threshold answers")
        if sum(sum(one.weights) for one in self.components) * len(self.sizes) > limits.THRESHOLD_WORK:
            raise MechanismError("the threshold answers have more attributes and larger weights than can be worked out")
        if any(len(one.weights) != len(self.sizes) for one in self.components):
            raise MechanismError("a threshold answer needs one weight per attribute")

    @cached_property
    def _sums(self) -> tuple[WeightedSum, ...]:
        return tuple(WeightedSum(self.sizes, one.weights, one.threshold) for one in self.components)

    @property
    def uniform_share(self) -> Fraction:
        """The probability of the uniform answer."""
        return 1 - Fraction(sum(one.share for one in self.components), DENOMINATOR)

    def record_epsilon(self) -> float:
        """``ln(1 + Σ θ_j/((1 − Σθ) P(D_j)))``, with P(D_j) bounded from below; rounded up.

        The draws follow the law exactly, so P(D_j) is all that is known only within bounds.
        """
        peaks = [Fraction(0)]
        for one, law in zip(self.components, self._sums, strict=True):
            share = log_bounds(Fraction(one.share, DENOMINATOR) / self.uniform_share)[1]
            peaks.append(share - law.log_probability_bounds()[0])
        largest = max(peaks)
        # Relative to the largest, so that nothing overflows; e^{−1000} more cannot be seen.
        total = sum((exp_bounds(max(peak - largest, Fraction(-1000)))[1] for peak in peaks), Fraction(0))
        return round_up(largest + log_bounds(total)[1])

    def truth_rates(self) -> TruthRates:
        """Mixture of the rates given each event; the bound on the error is part of the answer."""
        rates = [self.uniform_share / size for size in self.sizes]
        errors = [Fraction(0)] * len(self.sizes)
        for one, law in zip(self.components, self._sums, strict=True):
            share = Fraction(one.share, DENOMINATOR)
            found, error = law.truth_given_event()
            rates = [rate + share * Fraction(float(f)) for rate, f in zip(rates, found, strict=True)]
            errors = [total + share * Fraction(float(e)) for total, e in zip(errors, error, strict=True)]
        return TruthRates(tuple(rates), tuple(errors))

    def subset(self, attributes: Sequence[int]) -> tuple[Fraction, ...]:
        """From the law of the sum without these attributes: ``u(b) P(S' ≥ T − Σ v_i b_i)/P(S ≥ T)``."""
        chosen = checked_subset(attributes, len(self.sizes))
        sizes = [self.sizes[i] for i in chosen]
        patterns = [bits_of(pattern, len(chosen)) for pattern in range(1 << len(chosen))]
        uniform = [uniform_pattern(sizes, bits) for bits in patterns]
        out = [self.uniform_share * chance for chance in uniform]
        for one, law in zip(self.components, self._sums, strict=True):
            moved = np.array([sum(one.weights[i] * b for i, b in zip(chosen, bits, strict=True)) for bits in patterns])
            tails = self._rest(law, chosen).discounted
            x = one.threshold - moved
            # The rest of the sum alone, discounted from T − moved on (from 0 on below it), times e^{t·moved} for the
            # pattern itself.
            inside = np.where(x >= tails.size, 0.0, tails[np.clip(x, 0, tails.size - 1)])
            exponent = law.tilt * (np.minimum(x, 0) + moved - moved.max())
            mass = inside * exponentials(exponent) * np.array([float(u) for u in uniform])
            total = float(mass.sum())
            if not total >= _LEAST_TOTAL:
                raise MechanismError("the rates of these attributes are too unequal to be derived")
            share = Fraction(one.share, DENOMINATOR)
            out = [chance + share * Fraction(float(m / total)) for chance, m in zip(out, mass, strict=True)]
        whole = sum(out, Fraction(0))
        return tuple(chance / whole for chance in out)

    def subset_error(self, attributes: Sequence[int]) -> Fraction:
        """Relative error of every pattern's probability.

        A mass carries the roundings of H (:attr:`WeightedSum.relative_error`), of the exponent, whose rounding an
        exponential multiplies by its size, and four more; their sum 2^m further ones; the quotient all of these
        twice, and so does the last division. Underflow is invisible beside the uniform answer's share, which is at
        least 2^-64 of the probability that the pattern has under it.
        """
        chosen = checked_subset(attributes, len(self.sizes))
        worst = 0.0
        for one, law in zip(self.components, self._sums, strict=True):
            exponent = law.tilt * sum(one.weights[i] for i in chosen)
            roundings = exponent + 6 + (1 << len(chosen))
            worst = max(worst, self._rest(law, chosen).relative_error + UNIT * roundings)
        return Fraction(4.04 * worst) + Fraction(1, 1 << 100)

    @staticmethod
    def _rest(law: WeightedSum, without: Sequence[int]) -> WeightedSum:
        """The sum over the other attributes, under the tilt of all."""
        kept = np.setdiff1d(np.arange(len(law.sizes)), without)
        rest = WeightedSum(law.sizes[kept].tolist(), law.weights[kept].tolist(), 0)
        rest.__dict__["tilt"] = law.tilt
        return rest

    def pair_rates(self, attributes: Sequence[int]) -> Floats:
        """Mixture of the pair rates given each event."""
        inverse = np.array([1 / self.sizes[i] for i in attributes])
        pairs = np.outer(inverse, inverse)
        np.fill_diagonal(pairs, inverse)
        pairs *= float(self.uniform_share)
        for one, law in zip(self.components, self._sums, strict=True):
            pairs += one.share / DENOMINATOR * law.pairs_given_event(attributes)
        return np.asarray(pairs)

    @cached_property
    def _samplers(self) -> tuple[Rejection, ...]:
        return tuple(Rejection(law) for law in self._sums)

    def draw(self, count: int, randomness: Randomness) -> Patterns:
        """The component first, then a pattern in it."""
        shares = [one.share for one in self.components]
        which = choose_cells((DENOMINATOR - sum(shares), *shares), count, randomness)
        out = np.empty((count, len(self.sizes)), bool)
        uniform = np.flatnonzero(which == 0)
        out[uniform] = draw_uniform_patterns(self.sizes, uniform.size, randomness)
        for position, sampler in enumerate(self._samplers, start=1):
            rows = np.flatnonzero(which == position)
            out[rows] = sampler.draw(rows.size, randomness)
        return out

    def to_dict(self) -> dict[str, Any]:
        """Shares, weights and thresholds."""
        return {
            "kind": self.kind,
            "components": [
                {"share": str(one.share), "weights": [str(v) for v in one.weights], "threshold": str(one.threshold)}
                for one in self.components
            ],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], sizes: tuple[int, ...]) -> Self:
        """Rebuild from the integers."""
        try:
            components = tuple(
                Threshold(
                    stored_int(one, "share"), stored_integers(one, "weights", len(sizes)), stored_int(one, "threshold")
                )
                for one in data["components"]
            )
            return cls(sizes, components)
        except (KeyError, TypeError, AttributeError, MechanismError) as error:
            raise ManifestError(f"a joint response in the manifest is damaged ({error})") from None
