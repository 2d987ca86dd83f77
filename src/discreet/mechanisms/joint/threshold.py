"""A mixture of weighted-threshold answers and the uniform answer.

With probability θ the answer is uniform among those whose weighted number of truthful attributes, Σ v_i B_i, is at
least T; otherwise it is uniform among all. The density takes two values, and
``e^ε = 1 + θ/((1 − θ) P(Σ v_i B_i ≥ T))``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from discreet import limits
from discreet.arguments import Floats
from discreet.errors import ManifestError, MechanismError
from discreet.mechanisms.base import stored_int
from discreet.mechanisms.joint.discounting import UNIT, exponentials
from discreet.mechanisms.joint.drawing import choose_cells
from discreet.mechanisms.joint.law import (
    Law,
    Patterns,
    TruthRates,
    bits_of,
    checked_subset,
    draw_uniform_patterns,
    stored_integers,
    uniform_pattern,
)
from discreet.mechanisms.joint.rejection import Rejection
from discreet.mechanisms.joint.weighted_sum import WeightedSum
from discreet.privacy.bounds import exp_bounds, log_bounds, round_up
from discreet.randomness import Randomness

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
