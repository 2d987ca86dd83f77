"""A mixture of weighted-threshold answers and the uniform answer.

With probability θ the answer is uniform among those whose weighted number of truthful attributes, Σ v_i B_i, is at
least T; otherwise it is uniform among all. The density takes two values, and
``e^ε = 1 + θ/((1 − θ) P(Σ v_i B_i ≥ T))``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ManifestError, MechanismError
from discreet.mechanisms.base import stored_int
from discreet.mechanisms.joint.drawing import bernoulli_columns, choose_cells
from discreet.mechanisms.joint.law import (
    Floats,
    Law,
    Patterns,
    TruthRates,
    bits_of,
    checked_subset,
    draw_uniform_patterns,
    stored_integers,
    uniform_pattern,
)
from discreet.mechanisms.joint.weighted_sum import WeightedSum
from discreet.privacy.bounds import exp_bounds, log_up
from discreet.randomness import Randomness

#: Mixture shares and proposal probabilities are held over this denominator.
DENOMINATOR = 1 << 64
#: Largest Σ v_i: sums stay exact in floats, and a law of 2^23 sums fits into 64 MB.
MAX_SUM = 1 << 23
#: Proposals are drawn for this many cells at once.
_CELLS = 1 << 22
_FIFTY = Context(prec=50)


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
        """``ln(1 + Σ θ_j/((1 − Σθ) P(D_j)))``, with P(D_j) bounded from below; rounded up."""
        ratio = Fraction(1)
        for one, law in zip(self.components, self._sums, strict=True):
            inverse = exp_bounds(-law.log_probability_bounds()[0])[1]
            ratio += Fraction(one.share, DENOMINATOR) / self.uniform_share * inverse
        return log_up(ratio)

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
        kept = [i for i in range(len(self.sizes)) if i not in chosen]
        for one, law in zip(self.components, self._sums, strict=True):
            moved = np.array([sum(one.weights[i] * b for i, b in zip(chosen, bits, strict=True)) for bits in patterns])
            tails = _tails_of(law, kept)
            x = one.threshold - moved
            # The rest of the sum alone, discounted from T − moved on, times e^{t·moved} for the pattern itself.
            inside = np.where(x >= tails.size, 0.0, tails[np.clip(x, 0, tails.size - 1)])
            inside = np.where(x < 0, tails[0] * np.exp(law.tilt * np.minimum(x, 0)), inside)
            mass = inside * np.exp(law.tilt * (moved - moved.max())) * np.array([float(u) for u in uniform])
            total = float(mass.sum())
            share = Fraction(one.share, DENOMINATOR)
            out = [chance + share * Fraction(float(m / total)) for chance, m in zip(out, mass, strict=True)]
        whole = sum(out, Fraction(0))
        return tuple(chance / whole for chance in out)

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
    def _samplers(self) -> tuple[_Rejection, ...]:
        return tuple(_Rejection(law) for law in self._sums)

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


def _tails_of(law: WeightedSum, kept: Sequence[int]) -> Floats:
    """H of the sum of some of the attributes, under the tilt of all."""
    if not kept:
        return np.ones(1)
    chosen = list(kept)
    part = WeightedSum(law.sizes[chosen].tolist(), law.weights[chosen].tolist(), 0)
    part.__dict__["tilt"] = law.tilt
    return part.discounted


class _Rejection:
    """Exactly uniform draws from the answers with S ≥ T: tilted proposals, accepted with the right probability.

    Attribute i is proposed truthful with probability n_i/2^64, near its tilted rate. A proposal with S ≥ T is accepted
    with probability ``C Π_{B_i = 1} ρ_i^{−1}``, ρ_i the exact odds ratio of the proposal to the uniform law and C at
    most the smallest Π ρ_i of the event, which cancels the proposal exactly. Floats only screen; a comparison that
    is too close for them is decided with fifty digits and as many random bits as it takes.
    """

    def __init__(self, law: WeightedSum) -> None:
        rates = [Fraction(min(max(int(q * DENOMINATOR), 1), DENOMINATOR - 1), DENOMINATOR) for q in law.truth.tolist()]
        self._chances = tuple(rates)
        sizes, weights = law.sizes.tolist(), law.weights.tolist()
        tilt = Decimal(law.tilt)
        known: dict[tuple[Fraction, int], Decimal] = {}
        logs, off = [], Decimal(0)
        for rate, a, v in zip(rates, sizes, weights, strict=True):
            if (rate, a) not in known:
                odds = rate / (1 - rate) * (a - 1)
                known[rate, a] = _FIFTY.ln(_FIFTY.divide(Decimal(odds.numerator), Decimal(odds.denominator)))
            logs.append(known[rate, a])
            off += abs(known[rate, a] - tilt * v)
        self._exact_logs = logs
        self._logs = np.array([float(one) for one in logs])
        # Π ρ_i ≥ e^{tT − off} on the event: the rounding of the proposals costs a hair of the acceptance rate.
        self._log_c = float(_FIFTY.subtract(_FIFTY.multiply(tilt, Decimal(law.threshold)), off)) * (1 - 1e-15) - 1e-12
        # Sums stay below 2^24, so that they are exact in single precision.
        self._weights = law.weights.astype(np.float32)
        self._threshold = law.threshold
        self._guard = 1e-12 + 4e-16 * (len(logs) + 2) * (float(np.abs(self._logs).sum()) + abs(self._log_c))

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

    def _accept(self, patterns: Patterns, randomness: Randomness) -> NDArray[np.bool_]:
        log_chance = self._log_c - patterns @ self._logs
        words = randomness.words(len(patterns))
        chance = np.exp(np.minimum(log_chance, 0.0))
        drawn = words.astype(np.float64) * 2.0**-64
        out: NDArray[np.bool_] = drawn < chance
        close = np.abs(drawn - chance) <= self._guard * 4 + 1e-15
        for row in np.flatnonzero(close):
            out[row] = self._decide(patterns[row], int(words[row]), randomness)
        return out

    def _decide(self, pattern: NDArray[np.bool_], word: int, randomness: Randomness) -> bool:
        """Whether a uniform number that starts with these 64 bits is below the chance of acceptance."""
        exponent = Decimal(self._log_c)
        for i in np.flatnonzero(pattern):
            exponent = _FIFTY.subtract(exponent, self._exact_logs[i])
        chance = _FIFTY.exp(exponent)
        bits, digits = 64, word
        while bits < 160:
            low, high = Decimal(digits), Decimal(digits + 1)
            scaled = _FIFTY.multiply(chance, Decimal(1 << bits))
            if high <= scaled:
                return True
            if low >= scaled:
                return False
            digits = (digits << 64) | int(randomness.words(1)[0])
            bits += 64
        return Decimal(digits) < _FIFTY.multiply(chance, Decimal(1 << bits))
