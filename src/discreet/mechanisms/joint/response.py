"""JointResponse: all attributes of a record randomised together."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet import arguments
from discreet.arguments import Floats
from discreet.errors import DomainError, ManifestError, MechanismError
from discreet.mechanisms.base import RecordMechanism, integer_codes
from discreet.mechanisms.joint.grouped import GroupedLaw
from discreet.mechanisms.joint.law import Law, bernoulli_columns, bits_of, checked_sizes, stored_integers
from discreet.mechanisms.joint.product import ProductLaw
from discreet.mechanisms.joint.star import StarLaw
from discreet.mechanisms.joint.threshold import ThresholdLaw
from discreet.privacy import Guarantee
from discreet.privacy.bounds import log_up
from discreet.privacy.trade_off import Pair
from discreet.randomness import Randomness, resolve, uniform

if TYPE_CHECKING:
    from discreet.mechanisms.joint.view import JointView

#: Every law that a manifest can name. Entries are added, never changed.
LAWS: dict[str, type[Law]] = {cls.kind: cls for cls in (ProductLaw, GroupedLaw, StarLaw, ThresholdLaw)}
#: The post-channels keep a report with a probability over this denominator.
POST_DENOMINATOR = 1 << 64
#: Attributes up to which all pairs of records are written out: 6^6 weights.
MAX_PAIRED = 6
#: Cells of the table handled at once.
_CELLS = 1 << 22


@dataclass(frozen=True, repr=False)
class JointResponse(RecordMechanism):
    """Several attributes of a record, randomised together (Yamamoto and Shibuya 2024).

    A random pattern says which attributes are reported truthfully; the others report any of their other values.
    Each report is then kept with probability ``post[i]/2^64`` and otherwise replaced by a uniformly random
    value, which brings every attribute to its level exactly and cannot weaken the promise about the record.

    Two kinds of levels, for two adversaries. ``guarantee`` is the record's: whoever sees the *whole* record learns at
    most this about it, and about each of its attributes. ``marginal_epsilons`` are what somebody learns who sees
    *only one column*; they are not a promise against anybody who sees more.

    Parameters
    ----------
    law : Law
        The law of the pattern.
    post : sequence of int, optional
        The probability, times 2^64, with which each report is kept; default always.

    Examples
    --------
    >>> from discreet.mechanisms.joint import ProductLaw
    >>> joint = JointResponse(ProductLaw((2, 2), (3, 3), (1, 1)))
    >>> joint.guarantee.epsilon
    2.1972245773362196
    >>> joint.marginal_epsilons.round(6).tolist()
    [1.098612, 1.098612]
    """

    law: Law
    post: tuple[int, ...]

    kind: ClassVar[str] = "joint"

    def __init__(self, law: Law, post: Sequence[int] | None = None) -> None:
        if not isinstance(law, Law):
            raise MechanismError(f"a joint response needs the law of its patterns, not {type(law).__name__}")
        checked_sizes(law.sizes)
        kept = (POST_DENOMINATOR,) * len(law.sizes) if post is None else tuple(int(one) for one in post)
        if len(kept) != len(law.sizes) or not all(0 < one <= POST_DENOMINATOR for one in kept):
            raise MechanismError("post must hold, for every attribute, a whole number from 1 to 2^64")
        object.__setattr__(self, "law", law)
        object.__setattr__(self, "post", kept)

    def __repr__(self) -> str:
        if len(self.sizes) > 12:
            return f"<JointResponse of {len(self.sizes):,} attributes, {self.law.kind} law>"
        return f"JointResponse({self.law!r}, {self.post!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.law, self.post)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of values of every attribute."""
        return self.law.sizes

    @property
    def dimension(self) -> int:
        """Number of attributes."""
        return len(self.law.sizes)

    @cached_property
    def guarantee(self) -> Guarantee:
        """What is promised about a whole record."""
        return Guarantee(self.law.record_epsilon(), unit="record")

    @cached_property
    def truth_bounds(self) -> tuple[tuple[Fraction, Fraction], ...]:
        """Lower and upper bounds on P(report = truth) for every attribute, the post-channel included."""
        rates = self.law.truth_rates()
        bounds = []
        for rate, error, kept, size in zip(rates.rates, rates.error, self.post, self.sizes, strict=True):
            share = Fraction(kept, POST_DENOMINATOR)
            rest = (1 - share) / size
            bounds.append(
                (share * max(rate - error, Fraction(0)) + rest, share * min(rate + error, Fraction(1)) + rest)
            )
        return tuple(bounds)

    @cached_property
    def truth_rates(self) -> Floats:
        """P(report = truth) for every attribute."""
        return _frozen(np.array([float((low + high) / 2) for low, high in self.truth_bounds]))

    @cached_property
    def marginal_epsilons(self) -> Floats:
        """What an attacker learns who sees only one column: ``|ln(p_i (a_i − 1)/(1 − p_i))|``, rounded up.

        An attribute that is reported truthfully less often than by pure chance is one about which a report tells what
        the value is not.
        """
        alike = list(zip(self.truth_bounds, self.sizes, strict=True))
        levels = {(bounds, size): _column_level(*bounds, size) for bounds, size in set(alike)}
        return _frozen(np.array([levels[one] for one in alike]))

    @cached_property
    def eigenvalues(self) -> Floats:
        """λ_i = (a_i p_i − 1)/(a_i − 1): how much of a frequency survives in its column."""
        sizes = np.array(self.sizes, float)
        return _frozen((sizes * self.truth_rates - 1) / (sizes - 1))

    def pair_eigenvalues(self, attributes: Sequence[int] | None = None) -> Floats:
        """λ_ij = E[χ_i χ_j], χ_i = (a_i B_i − 1)/(a_i − 1): how much of an association survives; λ_i on the diagonal.

        The channel of a pair has the eigenvalues 1, λ_i, λ_j and λ_ij. Under independent randomisation
        λ_ij = λ_i λ_j.
        """
        last = len(self.sizes) - 1
        listed = arguments.listed(range(last + 1) if attributes is None else attributes, "attributes", MechanismError)
        chosen = [arguments.whole(i, "an attribute", MechanismError, most=last) for i in listed]
        if len(set(chosen)) != len(chosen) or not chosen:
            raise MechanismError(f"different attributes from 0 to {len(self.sizes) - 1} are needed")
        sizes = np.array([self.sizes[i] for i in chosen], float)
        kept = np.array([self.post[i] / POST_DENOMINATOR for i in chosen])
        both = self.law.pair_rates(chosen)
        rates = np.diag(both)
        scale = sizes / (sizes - 1)
        pairs = np.outer(scale, scale) * (
            both - rates[:, None] / sizes[None, :] - rates[None, :] / sizes[:, None] + np.outer(1 / sizes, 1 / sizes)
        )
        pairs *= np.outer(kept, kept)
        np.fill_diagonal(pairs, kept * scale * (rates - 1 / sizes))
        return np.asarray(pairs)

    def table_eigenvalue(self, attributes: Sequence[int]) -> float:
        """λ_S = E[Π_{i∈S} χ_i]: how much survives of how these attributes go together.

        Under independent randomisation it is the product of their own λ_i.
        """
        chosen = tuple(attributes)
        chances = np.array([float(one) for one in self.pattern_chances(chosen)])
        for size in (self.sizes[i] for i in chosen):  # one attribute after the other, the first running slowest
            lies, truths = np.split(chances, 2)
            chances = truths - lies / (size - 1)
        return float(chances[0])

    def pattern_chances(self, attributes: Sequence[int]) -> tuple[Fraction, ...]:
        """The 2^m probabilities that exactly these of m attributes are reported truthfully, post-channels included."""
        m = len(tuple(attributes))
        if m == 1:
            low, high = self.truth_bounds[attributes[0]]
            return 1 - (low + high) / 2, (low + high) / 2
        chances = list(self.law.subset(attributes))
        for position, i in enumerate(attributes):
            share = Fraction(self.post[i], POST_DENOMINATOR)
            if share == 1:
                continue
            bit, size = 1 << (m - 1 - position), self.sizes[i]
            mixed = list(chances)
            for pattern, chance in enumerate(chances):
                pair = chance + chances[pattern ^ bit]
                mixed[pattern] = share * chance + (1 - share) * pair * Fraction(1 if pattern & bit else size - 1, size)
            chances = mixed
        return tuple(chances)

    def pattern_weights(self, attributes: Sequence[int]) -> tuple[tuple[int, ...], int]:
        """The integer weight of one report with each pattern of m attributes, and the denominator of these weights."""
        sizes = [self.sizes[i] for i in attributes]
        each = []
        for pattern, chance in enumerate(self.pattern_chances(attributes)):
            bits = bits_of(pattern, len(sizes))
            each.append(chance / math.prod(1 if bit else size - 1 for bit, size in zip(bits, sizes, strict=True)))
        denominator = math.lcm(*(chance.denominator for chance in each))
        return tuple(int(chance * denominator) for chance in each), denominator

    def row_pairs(self, attributes: Sequence[int] | None = None) -> tuple[Pair, ...]:
        """One pair of records for every set of attributes in which they differ, with the smallest weight of any record.

        Records that differ in the same attributes look alike, in either order. The list is empty where the sets are
        too many or their probabilities are not exact.
        """
        chosen = tuple(range(self.dimension)) if attributes is None else tuple(attributes)
        if len(chosen) > MAX_PAIRED or self.law.subset_error(chosen):
            return ()
        weights, _ = self.pattern_weights(chosen)
        sizes = [self.sizes[i] for i in chosen]
        return tuple(_differing(weights, sizes, bits_of(b, len(chosen))) for b in range(1, len(weights)))

    def view(self, *attributes: int) -> JointView:
        """The exact channel of one attribute, or of several as one column of combined codes."""
        from discreet.mechanisms.joint.view import JointView

        return JointView(self, attributes)

    def privatize(self, x: ArrayLike, randomness: Randomness | None = None) -> NDArray[Any]:
        """Randomise an (n, k) array of codes; returns report codes of the same shape."""
        source = resolve(randomness)
        codes = self._valid_codes(x)
        out = np.empty(codes.shape, np.min_scalar_type(max(self.sizes) - 1))
        rows = max(1, _CELLS // codes.shape[1])
        for start in range(0, len(codes), rows):
            out[start : start + rows] = self._sample(codes[start : start + rows], source)
        return out

    def _valid_codes(self, x: ArrayLike) -> NDArray[Any]:
        codes = integer_codes(x)
        if codes.ndim != 2 or codes.shape[1] != self.dimension:
            raise DomainError(f"a table of {self.dimension} columns of codes is needed, not the shape {codes.shape}")
        limits = np.array(self.sizes)
        bad = (codes >= limits) | (codes < 0)
        if bad.any():
            row, column = (int(i) for i in np.argwhere(bad)[0])
            raise DomainError(
                f"a code of attribute {column} is out of range",
                row=row,
                expected=f"a whole number from 0 to {self.sizes[column] - 1}",
                value=codes[row, column],
            )
        return codes

    def _sample(self, codes: NDArray[Any], randomness: Randomness) -> NDArray[Any]:
        truthful = self.law.draw(len(codes), randomness)
        out = codes.astype(np.min_scalar_type(max(self.sizes) - 1))
        self._replace(out, ~truthful, randomness, but_not_own=True)
        changed = [i for i, kept in enumerate(self.post) if kept < POST_DENOMINATOR]
        if changed:
            chances = tuple(Fraction(POST_DENOMINATOR - self.post[i], POST_DENOMINATOR) for i in changed)
            mask = np.zeros(out.shape, bool)
            mask[:, changed] = bernoulli_columns(chances, len(codes), randomness)
            self._replace(out, mask, randomness, but_not_own=False)
        return out

    def _replace(
        self, out: NDArray[Any], where: NDArray[np.bool_], randomness: Randomness, *, but_not_own: bool
    ) -> None:
        """Draw the marked cells anew: among all values, or among all but the one that is there."""
        for size in sorted(set(self.sizes)):
            columns = np.flatnonzero(np.array(self.sizes) == size)
            part = out[:, columns]
            marked = where[:, columns]
            count = int(np.count_nonzero(marked))
            if but_not_own and size == 2:
                part ^= marked.astype(part.dtype)
            elif but_not_own:
                part[marked] = (part[marked].astype(np.int64) + 1 + uniform(size - 1, count, randomness)) % size
            else:
                part[marked] = uniform(size, count, randomness)
            out[:, columns] = part

    def to_dict(self) -> dict[str, Any]:
        """Sizes, the law's integers, and the post-channels."""
        return {
            "kind": self.kind,
            "sizes": list(self.sizes),
            "law": self.law.to_dict(),
            "post": [str(kept) for kept in self.post],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild from the integers."""
        try:
            sizes = checked_sizes(data["sizes"])
            law = LAWS[data["law"]["kind"]].from_dict(data["law"], sizes)
            return cls(law, stored_integers(data, "post", len(sizes)))
        except (KeyError, TypeError, MechanismError) as error:
            raise ManifestError(f"a joint response in the manifest is damaged ({error})") from None


def _column_level(low: Fraction, high: Fraction, size: int) -> float:
    """The larger of ln(odds ratio) and its negative, where P(report = truth) lies between two bounds."""
    if low <= 0 or high >= 1:
        return math.inf
    return log_up(max(high * (size - 1) / (1 - high), (1 - low) / (low * (size - 1)), Fraction(1)))


def _differing(weights: Sequence[int], sizes: Sequence[int], differ: Sequence[int]) -> Pair:
    """Two records that differ in some attributes: weights of their reports, by the patterns of agreement with each."""
    states = [
        ((1, 0, 1), (0, 1, 1), (0, 0, size - 2)) if other else ((1, 1, 1), (0, 0, size - 1))
        for size, other in zip(sizes, differ, strict=True)
    ]
    columns = []
    for report in product(*states):
        first = second = 0
        ways = 1
        for with_first, with_second, count in report:
            first, second, ways = 2 * first + with_first, 2 * second + with_second, ways * count
        columns.append((ways * weights[first], ways * weights[second], ways * min(weights)))
    return Pair(*(tuple(column) for column in zip(*columns, strict=True)))


def _frozen(values: Floats) -> Floats:
    values.flags.writeable = False
    return values
