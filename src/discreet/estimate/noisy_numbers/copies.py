"""Reports and copies of reports, with weights that undo the noise of any function on the box.

For a report x1 of a record in the box and any function f,

    1(x1 ∈ box) f(x1)/δ₀ + (1 − 1/δ₀) E[1(x1 + S ∈ box) f(x1 + S) | x1],   S_j = √(δ₀W)·λ_j·N_j,

has mean f(x): the exact correction of f·1(· ∈ box), which equals f there (W exponential, one per copy, N normal). The
mean over S is an average over R copies. They are quasi-random: the R points of a Kronecker sequence fill the cube of
uniform numbers evenly, shifted by a random vector that every record has for itself, so that a copy has exactly the law
of S and records are independent. The shifts come from a fixed seed: numerical integration of what is already published,
the same reports always giving the same answer. One half of the copies has shifts independent of those of the other; how
much the halves differ is what the integration adds to the variance.

Blocks that were randomised independently are undone one after the other: with two, a record is the sum over the four
choices of report or copy in each, and weights multiply.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.noisy_numbers.inside import Inside, need_exact_records
from discreet.mechanisms.laplace import ZeroInflatedLaplace

_SEED = 314159
#: Copies at first, and at most; those that would hold more numbers than this are not made.
FIRST_COPIES, _MOST_COPIES, _MOST_NUMBERS = 16, 256, 1 << 24
#: What copies may add to the variance, as a share of it.
MONTE_CARLO_SHARE = 0.05
#: Blocks in one loss: the choices of report or copy double with each.
_MOST_BLOCKS = 4


@dataclass(frozen=True)
class NoisyBlock:
    """Reports (n, d) of numbers that got their noise together."""

    reports: Floats
    mechanism: ZeroInflatedLaplace


@dataclass(frozen=True)
class Draw:
    """One copy (or report) of every record."""

    weight: float
    half: int  # 0 for what is not random, 1 and 2 for the halves of the copies
    values: Floats  # (n, D), all blocks side by side
    inside: NDArray[np.bool_]


@dataclass(frozen=True)
class Kept:
    """The copies that count: ``Σ weight·f(values)`` over those of a record corrects any f on the box."""

    record: NDArray[np.intp]
    values: Floats
    weight: Floats
    half: NDArray[np.int8]


def summed_by(record: NDArray[np.intp], numbers: Floats, n: int) -> Floats:
    """Sums (n, k) of rows (m, k) by record."""
    return np.stack([np.bincount(record, column, n) for column in numbers.T], axis=1)


class Copies:
    """The reports of some blocks and R copies of them.

    Parameters
    ----------
    blocks : sequence of NoisyBlock
    count : int
        R.
    outside : float
        What a copy outside the box counts, at the nearest point of the box: with 0 the function is continued by zero
        there, with 1 by its value at that point. No truth lies outside, so that any number is right on average.
    """

    def __init__(self, blocks: Sequence[NoisyBlock], count: int = FIRST_COPIES, outside: float = 0.0) -> None:
        if len(blocks) > _MOST_BLOCKS:
            raise EstimationError(
                f"the loss has numbers of {len(blocks)} independently randomised blocks; at most {_MOST_BLOCKS} can be "
                "undone together"
            )
        for block in blocks:
            need_exact_records(block.mechanism)
        self.blocks, self.count, self.outside = tuple(blocks), count, outside
        self._inside = [Inside.of(block.mechanism) for block in blocks]
        self.n: int = len(blocks[0].reports)

    def with_count(self, count: int) -> Copies:
        """The same blocks with another number of copies."""
        return Copies(self.blocks, count, self.outside)

    @property
    def most(self) -> int:
        """Copies that memory allows."""
        width = sum(block.mechanism.dimension for block in self.blocks) + 3
        return max(FIRST_COPIES, min(_MOST_COPIES, _MOST_NUMBERS // max(self.n * width, 1)))

    @cached_property
    def kept(self) -> Kept:
        """Those that count, at the nearest point of the declared box."""
        records: list[Any] = []
        values: list[Any] = []
        weights: list[Any] = []
        halves: list[Any] = []
        for draw in self.draws():
            record = np.arange(self.n) if self.outside else np.flatnonzero(draw.inside)
            records.append(record)
            values.append(self.clip(draw.values[record]))
            weights.append(draw.weight * np.where(draw.inside[record], 1.0, self.outside))
            halves.append(np.full(record.size, draw.half, np.int8))
        return Kept(*(np.asarray(np.concatenate(parts)) for parts in (records, values, weights, halves)))

    def clip(self, values: Floats) -> Floats:
        """The nearest points of the declared boxes."""
        return np.asarray(np.clip(values, *self.bounds))

    @cached_property
    def bounds(self) -> tuple[Floats, Floats]:
        """Ends of all declared boxes, side by side."""
        return (
            np.concatenate([one.declared_low for one in self._inside]),
            np.concatenate([one.declared_high for one in self._inside]),
        )

    def share(self, single: Floats, total: Floats) -> float:
        """What the copies add to the variance of sums by record, as a share of it, the largest over columns.

        Parameters
        ----------
        single : array (m, k)
            Weighed numbers of the copies that are kept.
        total : array (n, k)
            Their sums by record.
        """
        kept = self.kept
        gap = summed_by(kept.record, single * np.array([0.0, 1.0, -1.0])[kept.half][:, None], self.n)
        between, added = total.var(axis=0), np.mean(gap * gap, axis=0)
        return float(np.max(np.where(between > 0, added / np.where(between > 0, between, 1.0), 0.0)))

    def wanted(self, share: float) -> int:
        """How many copies bring a share of the variance down to what is allowed, as far as memory goes.

        It falls at least like 1/R; a little more, so that one more fit is enough.
        """
        count = math.ceil(1.3 * self.count * share / MONTE_CARLO_SHARE)
        return min(self.most, count + count % 2)

    def note(self, share: float) -> str:
        """How many copies there are, and what they leave in the variance."""
        text = f"averaged over {self.count:,} copies of every report, which make up {share:.1%} of the variance"
        return text if share <= MONTE_CARLO_SHARE else text + ": more would shorten the intervals"

    def draws(self) -> Iterator[Draw]:
        """Every report and copy in turn; the same each time."""
        noise = [_Noise(block.mechanism, self.n, place) for place, block in enumerate(self.blocks)]
        for chosen in itertools.product((False, True), repeat=len(self.blocks)):
            weight = math.prod(
                (1 - 1 / zero) if copied else 1 / zero
                for copied, zero in zip(chosen, (b.mechanism.zero_probability for b in self.blocks), strict=True)
            )
            for number in range(self.count if any(chosen) else 1):
                parts = [
                    block.reports + own.of(number) if copied else block.reports
                    for block, own, copied in zip(self.blocks, noise, chosen, strict=True)
                ]
                contained = [inside.contains(part) for inside, part in zip(self._inside, parts, strict=True)]
                yield Draw(
                    weight / (self.count if any(chosen) else 1),
                    1 + number % 2 if any(chosen) else 0,
                    np.concatenate(parts, axis=1) if len(parts) > 1 else parts[0],
                    np.asarray(np.logical_and.reduce(contained)),
                )


class _Noise:
    """S of one block, copy by copy."""

    def __init__(self, mechanism: ZeroInflatedLaplace, n: int, place: int) -> None:
        self._spread = math.sqrt(mechanism.zero_probability) * mechanism.noise_scale
        self._dimension = mechanism.dimension
        uniforms = 1 if mechanism.dimension == 1 else mechanism.dimension + 1
        generator = np.random.default_rng([_SEED, place])
        self._shifts = generator.random((2, n, uniforms))
        self._step = _kronecker(uniforms)

    def of(self, number: int) -> Floats:
        """S of every record for one copy."""
        from scipy.special import ndtri

        uniform = np.mod(self._shifts[number % 2] + (number // 2) * self._step, 1.0)
        uniform = np.clip(uniform, 2.0**-54, 1 - 2.0**-53)
        if self._dimension == 1:  # a Laplace variable needs one uniform number only
            side = np.where(uniform < 0.5, uniform, 1 - uniform)
            return np.asarray(np.where(uniform < 0.5, 1.0, -1.0) * np.log(2 * side) * self._spread / math.sqrt(2))
        size = np.sqrt(-np.log(uniform[:, :1]))
        return np.asarray(size * ndtri(uniform[:, 1:]) * self._spread)


def _kronecker(dimension: int) -> Floats:
    """Steps of a sequence that fills the cube evenly: powers of the root of ``x^{d+1} = x + 1`` (plastic numbers)."""
    root = 2.0
    for _ in range(60):
        root = (1 + root) ** (1 / (dimension + 1))
    return np.asarray(root ** -np.arange(1.0, dimension + 1))
