"""The privacy blanket: the part of a report's distribution that is the same for every true answer.

Report y has at least the probability m(y) = min_x Q[x, y] under every true answer. A person with the true answer x or
x' hides among the reports of the others that come from this common part (Balle, Bell, Gascón and Nissim 2019):

    δ(ε) ≤ E[(ℓ₁ + … + ℓ_n)₊]/n,    ℓ = (Q[x, y] − e^ε Q[x', y])/m(y) with probability m(y), and 0 otherwise.

The law of the pair ``(Q[x, y]/m(y), Q[x', y]/m(y))`` therefore determines the bound for every ε. It holds for every
smaller m as well.

**Several blocks of one row** are one product channel: probabilities, first and second numbers multiply. A pair of true
rows may leave some blocks unchanged. The function F(u, v) = E(uA − e^ε vB + R)₊ with A, B ≥ 0 satisfies
F(s, s) + F(r, r) ≤ F(s, r) + F(r, s). So if the two numbers of x and some x' are exchangeable, then leaving x unchanged
is never worse than changing it to x', and is not compared.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from itertools import chain, combinations_with_replacement, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import Floats
from discreet.privacy.exact import Rows
from discreet.privacy.mean_excess import ROUNDING, mean_excess
from discreet.privacy.trade_off import Pair

#: Truths² × reports up to which all pairs of true answers are compared: seconds, and 200 MB.
MAX_COMPARED = 1 << 23
#: Different pairs of true rows that are compared.
MAX_PAIRS = 4096
#: Pairs of numbers in the law of one pair of rows; more are merged.
MAX_ATOMS = 1 << 14
#: Numbers of one sign in the law of a difference; more are merged.
_NODES = 256
#: Differences that are smaller than this share of the largest are merged with 0.
_SMALLEST = 1e-5


class Law(NamedTuple):
    """The pair (Q[x, y]/m(y), Q[x', y]/m(y)) of one ordered pair of true rows: its values and their probabilities."""

    chance: Floats
    first: Floats
    second: Floats
    #: Roundings that each figure carries at most.
    roundings: int = 4

    def delta(self, epsilon: float, people: int, enough: float = 0.0) -> float:
        """An upper bound on δ(ε) among so many people: ``E[(ℓ₁ + … + ℓ_n)₊]/n``, ``ℓ = first − e^ε·second``.

        ``enough``: a coarser bound will do where it is at most this.
        """
        weighted = math.exp(epsilon) * self.second
        value = self.first - weighted + (self.roundings + 8) * ROUNDING * (self.first + weighted)
        chance, roundings = self.chance, self.roundings
        if value.size > 2 * _NODES:
            nodes = np.unique(np.concatenate([-_nodes(-value), [0.0], _nodes(value)]))
            place, up = _split(value, nodes, up=True)
            down = np.bincount(place, chance * (1 - up), nodes.size)
            chance = np.asarray(down + np.bincount(place + 1, chance * up, nodes.size), float)
            roundings, value = roundings + 2 * value.size + 4, nodes
        used = (chance > 0) & (value != 0)
        return mean_excess(chance[used], value[used], people, roundings, enough)

    def times(self, other: Law) -> Law:
        """The law of a row with both blocks."""
        chance = np.outer(self.chance, other.chance).ravel()
        both = np.outer(self.first, other.first) + 1j * np.outer(self.second, other.second)
        pairs, place, times = np.unique(both.ravel(), return_inverse=True, return_counts=True)
        roundings = self.roundings + other.roundings + 1 + int(times.max())
        law = Law(np.asarray(np.bincount(place, chance), float), pairs.real, pairs.imag, roundings)
        return law._merged() if law.chance.size > MAX_ATOMS else law

    def _merged(self) -> Law:
        """Fewer pairs: each is split between the corners of its cell of a grid so that both means stay.

        That only raises the mean of a convex function of ``first − e^ε·second``, also after further blocks, whose
        numbers multiply both. Shares are rounded so that ``first`` rises and ``second`` falls.
        """
        side = math.isqrt(MAX_ATOMS)
        grid = [np.geomspace(numbers.min(), numbers.max(), side) for numbers in (self.first, self.second)]
        i, up = _split(self.first, grid[0], up=True)
        j, right = _split(self.second, grid[1], up=False)
        total = np.zeros(side * side)
        for di, dj in product((0, 1), repeat=2):
            share = (up if di else 1 - up) * (right if dj else 1 - right)
            total += np.bincount((i + di) * side + j + dj, self.chance * share, side * side)
        used = np.flatnonzero(total)
        return Law(total[used], grid[0][used // side], grid[1][used % side], self.roundings + 4 * self.chance.size + 8)


class Block(NamedTuple):
    """What has to be compared for one block: pairs of different true answers, and answers that stay as they are."""

    changed: tuple[Law, ...]
    unchanged: tuple[Law, ...] = ()


def block_of_pairs(pairs: Sequence[Pair]) -> Block | None:
    """A closed form: pairs of rows in which the two numbers are exchangeable; None where no blanket is stated."""
    if not pairs or any(not pair.blanket for pair in pairs):
        return None
    return Block(tuple(_law(pair) for pair in pairs))


def _law(pair: Pair) -> Law:
    denominator = sum(pair.first)
    used = [(m / denominator, a / m, b / m) for a, b, m in zip(*pair, strict=True) if m]
    chance, first, second = (np.array(column) for column in zip(*used, strict=True))
    return Law(chance, first, second)


def block_of_rows(rows: Rows, denominator: int) -> Block | None:
    """All pairs of different rows, equal laws once; None where they are too many to be compared."""
    rows = tuple(dict.fromkeys(rows))
    columns = [column for column in zip(*rows, strict=True) if any(column)]
    if len(rows) ** 2 * len(columns) > MAX_COMPARED:
        return None
    least = [min(column) for column in columns]
    # A ratio or a probability is correctly rounded: equal ones are equal floats.
    ratio = np.array([[weight / m for weight in column] for column, m in zip(columns, least, strict=True)]).T
    chance = np.array([m / denominator for m in least])
    values, code = np.unique(ratio, return_inverse=True)
    masses, mass = np.unique(chance, return_inverse=True)
    if values.size**2 * masses.size >= 1 << 63:
        return None
    code, count = code.reshape(ratio.shape), len(rows)
    keys = ((code[:, None, :] * values.size + code[None, :, :]) * masses.size + mass).reshape(count * count, -1)
    keys.sort(axis=1)
    laws, kind = np.unique(keys, axis=0, return_inverse=True)
    if len(laws) > MAX_PAIRS:
        return None
    kind = kind.reshape(count, count)
    exchangeable = kind == kind.T
    np.fill_diagonal(exchangeable, False)
    alone = np.flatnonzero(~exchangeable.any(axis=1))

    def law(key: NDArray[np.int64]) -> Law:
        kinds, times = np.unique(key, return_counts=True)
        pair, m = np.divmod(kinds, masses.size)
        return Law(masses[m] * times, values[pair // values.size], values[pair % values.size])

    changed = np.unique(kind[~np.eye(count, dtype=bool)])
    return Block(tuple(law(laws[i]) for i in changed), tuple(law(laws[i]) for i in np.unique(kind[alone, alone])))


def laws_of_row(blocks: Sequence[Block]) -> tuple[Law, ...] | None:
    """The laws of all pairs of true rows that have to be compared; None where they are too many."""
    groups: dict[bytes, tuple[Block, int]] = {}
    for block in blocks:
        key = b"".join(part.tobytes() for law in chain(*block) for part in law[:3])
        groups[key] = (block, groups.get(key, (block, 0))[1] + 1)
    choices = [len(block.changed) + len(block.unchanged) for block, _ in groups.values()]
    counts = [math.comb(n + times - 1, times) for n, (_, times) in zip(choices, groups.values(), strict=True)]
    if math.prod(counts) > MAX_PAIRS:
        return None
    # Large differences first: the worst pair is found early, and the others are only compared with it.
    return tuple(sorted(_pairs_of_rows(groups.values()), key=lambda law: -_spread(law)))


def _pairs_of_rows(groups: Iterable[tuple[Block, int]]) -> Iterator[Law]:
    """One law for every choice of a pair of answers in each block, at least one changed; equal blocks commute."""
    options = []
    for block, times in groups:
        answers = [*((law, True) for law in block.changed), *((law, False) for law in block.unchanged)]
        options.append(list(combinations_with_replacement(answers, times)))
    for chosen in product(*options):
        parts = list(chain(*chosen))
        if any(changed for _, changed in parts):
            yield reduce(Law.times, (law for law, _ in parts))


def _spread(law: Law) -> float:
    return float((law.chance * (law.first - law.second) ** 2).sum())


def _nodes(value: Floats) -> Floats:
    """Numbers from the largest down in equal ratios; none where no value is positive."""
    most = value.max()
    return np.geomspace(most * _SMALLEST, most, _NODES) if most > 0 else np.zeros(0)


def _split(value: Floats, nodes: Floats, *, up: bool) -> tuple[NDArray[np.intp], Floats]:
    """The node below each value, and the share of the next one that keeps the mean, rounded up or down."""
    place = np.clip(np.searchsorted(nodes, value, "right") - 1, 0, nodes.size - 2)
    width = nodes[place + 1] - nodes[place]
    share = (value - nodes[place]) / np.where(width > 0, width, 1)
    return place, np.clip(share * (1 + (8 if up else -8) * ROUNDING), 0, 1)
