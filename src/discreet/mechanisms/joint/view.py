"""The small channel that a joint response induces on one, two or three of its attributes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ManifestError, MechanismError
from discreet.mechanisms.finite import MAX_MATRIX, FiniteMechanism
from discreet.mechanisms.inverse import DenseInverse, Inverse, UniformInverse
from discreet.mechanisms.joint.law import bits_of, checked_subset
from discreet.mechanisms.joint.response import JointResponse
from discreet.privacy import Certificate, Guarantee, certify
from discreet.privacy.exact import Rows
from discreet.privacy.trade_off import Pair
from discreet.randomness import Randomness

#: What a marginal level does not promise.
CAVEAT = "somebody who sees other columns of the same record too, against whom the record-level ε counts"


@dataclass(frozen=True)
class JointView(FiniteMechanism):
    """Some attributes of a joint response, seen as one column of combined codes.

    Code (x_1, x_2, …) is x_1·(a_2 a_3 …) + x_2·(a_3 …) + …. The channel follows from the probabilities of the 2^m
    patterns of truthful attributes: a report with pattern b has probability P(b)/Π_{b_i = 0}(a_i − 1).

    Parameters
    ----------
    joint : JointResponse
    attributes : tuple of int
        Which attributes, in which order.
    """

    joint: JointResponse
    attributes: tuple[int, ...]
    epsilon: float | None = field(default=None, init=False, compare=False)

    kind: ClassVar[str] = "joint-view"

    def __post_init__(self) -> None:
        object.__setattr__(self, "attributes", checked_subset(self.attributes, len(self.joint.sizes)))
        if math.prod(self.sizes) > MAX_MATRIX and len(self.attributes) > 1:
            raise MechanismError(
                f"a table of {' × '.join(map(str, self.sizes))} = {math.prod(self.sizes):,} cells is over the limit of "
                f"{MAX_MATRIX:,}"
            )

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of values of each attribute."""
        return tuple(self.joint.sizes[i] for i in self.attributes)

    @property
    def shape(self) -> tuple[int, int]:
        """As many reports as truths."""
        cells = math.prod(self.sizes)
        return cells, cells

    @cached_property
    def pattern_weights(self) -> tuple[tuple[int, ...], int]:
        """Integer weight of one report with each pattern, and their denominator."""
        return self.joint.pattern_weights(self.attributes)

    @property
    def denominator(self) -> int:
        """The sum of every row."""
        return self.pattern_weights[1]

    def row_pairs(self) -> tuple[Pair, ...]:
        """One pair of codes for every set of attributes in which they differ; see :meth:`JointResponse.row_pairs`."""
        return self.joint.row_pairs(self.attributes)

    def _patterns(self) -> NDArray[np.int64]:
        """For every pair of truth and report, the pattern of attributes that agree."""
        cells = np.arange(self.shape[0])
        codes = np.stack(np.unravel_index(cells, self.sizes), axis=1)
        pattern = np.zeros((cells.size, cells.size), np.int64)
        for position in range(len(self.sizes)):
            agree = codes[:, None, position] == codes[None, :, position]
            pattern = pattern * 2 + agree
        return pattern

    def _rows(self) -> Rows:
        weights = self.pattern_weights[0]
        return tuple(tuple(weights[p] for p in row) for row in self._patterns().tolist())

    def matrix(self) -> NDArray[np.float64]:
        """The channel in floats."""
        weights, denominator = self.pattern_weights
        return np.array([weight / denominator for weight in weights])[self._patterns()]

    @cached_property
    def eigenvalues(self) -> dict[tuple[int, ...], float]:
        """λ_T = E Π_{i ∈ T} χ_i for every set T of these attributes, by position; the empty set has 1."""
        chances = self.joint.pattern_chances(self.attributes)
        out = {}
        for chosen in range(1 << len(self.sizes)):
            members = tuple(i for i, bit in enumerate(bits_of(chosen, len(self.sizes))) if bit)
            total = Fraction(0)
            for pattern, chance in enumerate(chances):
                bits = bits_of(pattern, len(self.sizes))
                total += chance * math.prod(
                    (Fraction(1) if bits[i] else Fraction(-1, self.sizes[i] - 1) for i in members), start=Fraction(1)
                )
            out[members] = float(total)
        return out

    @property
    def guarantee(self) -> Guarantee:
        """What an attacker learns who sees only these columns."""
        if len(self.attributes) == 1:
            return Guarantee(self._column_level, unit="value", caveats=(CAVEAT,))
        return replace(self.certificate.guarantee, unit="record", caveats=(CAVEAT,))

    @cached_property
    def certificate(self) -> Certificate:
        """What the integers give, widened by the error to which the law gives their probabilities."""
        found = certify(self).within(self._relative_error())
        # The columns are a part of the record, so that its level holds for them too.
        level = self._column_level if len(self.attributes) == 1 else found.epsilon
        return replace(found, epsilon=min(level, self.joint.guarantee.epsilon))

    @property
    def _column_level(self) -> float:
        """The level of the first of these columns."""
        return min(float(self.joint.marginal_epsilons[self.attributes[0]]), self.joint.guarantee.epsilon)

    def _relative_error(self) -> Fraction:
        """A bound on the relative error of every probability of the channel."""
        if len(self.attributes) > 1:
            return self.joint.law.subset_error(self.attributes)
        low, high = self.joint.truth_bounds[self.attributes[0]]
        return (high - low) / min(high + low, 2 - high - low) if high > low else Fraction(0)

    @cached_property
    def inverse(self) -> Inverse:
        """One attribute: as for generalised response. Several: the inverse has the same structure as the channel.

        The channel is Σ_T λ_T E_T with orthogonal projections E_T, so its inverse is Σ_T E_T/λ_T.
        """
        if len(self.sizes) == 1:
            (other, keep), denominator = self.pattern_weights
            gap = keep - other
            return UniformInverse(self.sizes[0], denominator / gap, -other / gap)
        total = np.zeros(self.shape)
        for members, eigenvalue in self.eigenvalues.items():
            part = np.ones((1, 1))
            for position, size in enumerate(self.sizes):
                mean = np.full((size, size), 1 / size)
                part = np.kron(part, np.eye(size) - mean if position in members else mean)
            total += part / eigenvalue
        return DenseInverse(total)

    def _sample(self, codes: NDArray[Any], randomness: Randomness) -> NDArray[Any]:
        """Through the whole joint response: columns are never randomised one by one."""
        whole = np.zeros((codes.size, len(self.joint.sizes)), np.int64)
        whole[:, list(self.attributes)] = np.stack(np.unravel_index(codes.astype(np.intp), self.sizes), axis=1)
        reports = self.joint.privatize(whole, randomness)[:, list(self.attributes)].astype(np.int64)
        return np.asarray(np.ravel_multi_index(tuple(reports.T), self.sizes).astype(self.report_dtype))

    def to_dict(self) -> dict[str, Any]:
        """The joint response and the attributes."""
        return {"kind": self.kind, "joint": self.joint.to_dict(), "attributes": list(self.attributes)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild from the joint response."""
        try:
            joint, attributes = data["joint"], tuple(int(i) for i in data["attributes"])
        except (KeyError, TypeError, ValueError):
            raise ManifestError("a view needs its joint response and the numbers of its attributes") from None
        return cls(JointResponse.from_dict(joint), attributes)
