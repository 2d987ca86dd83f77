"""Bipartite randomised response: the m reports that are nearest to the truth are likely, all others unlikely.

Lists of near reports: checked, compared, and written as runs of codes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet import arguments
from discreet.errors import ManifestError, MechanismError, NotIdentifiedError
from discreet.mechanisms.base import stored_int
from discreet.mechanisms.exact_integers import checked_epsilon, high_and_low, weight
from discreet.mechanisms.finite import MAX_MATRIX, FiniteMechanism
from discreet.mechanisms.generalized import MAX_SIZE
from discreet.mechanisms.inverse import Inverse, UniformInverse, dense_inverse
from discreet.privacy.exact import Rows
from discreet.privacy.trade_off import Pair
from discreet.randomness import Coins, Randomness, uniform

#: Largest number of entries of all lists together: 2^30 entries of two or four bytes.
MAX_ENTRIES = 1 << 30
#: Characters of one run: two codes of eight digits and a dash.
_RUN_CHARACTERS = 20
#: Truths that are compared at once.
_BLOCK = 256
#: Truths that are compared with all others before every pair is.
_TRIED = 8


def checked_lists(neighbours: ArrayLike, size: int, near: int) -> NDArray[Any]:
    """One sorted row of different codes per truth, in the smallest type, never to change."""
    if size * near > MAX_ENTRIES:
        raise too_many_entries(size, near)
    lists = np.asarray(neighbours)
    if lists.shape != (size, near) or lists.dtype.kind not in "iu":
        raise MechanismError(f"the near reports must be {size} lists of {near} codes")
    if lists.size and (lists.min() < 0 or lists.max() >= size):
        raise MechanismError(f"a near report must be a code from 0 to {size - 1}")
    lists = lists.astype(np.min_scalar_type(size - 1))
    if near > 1:
        # Row by row blocks: a list that is sorted already is left as it is.
        for start in range(0, size, _BLOCK):
            part = lists[start : start + _BLOCK]
            if np.any(part[:, 1:] <= part[:, :-1]):
                part.sort(axis=1)
                if np.any(part[:, 1:] == part[:, :-1]):
                    raise MechanismError("the near reports of a truth must be different")
    lists.flags.writeable = False
    return lists


def least_overlap(lists: NDArray[Any], possible: int) -> int:
    """The smallest number of near reports that two truths have in common; stops at what is possible at best."""
    size, near = lists.shape
    # On a map most truths have nothing in common with some other: a few of them settle the question.
    for truth in np.unique(np.linspace(0, size - 1, _TRIED).astype(int)):
        own = np.zeros(size, bool)
        own[lists[truth]] = True
        if int(np.count_nonzero(own[lists], axis=1).min()) <= possible:
            return possible
    member = np.zeros((size, size), np.float32)
    np.put_along_axis(member, lists.astype(np.int64), 1.0, axis=1)
    fewest = int(near)
    for start in range(0, size, _BLOCK):
        # Counts below 2^24 are exact in 32-bit floats.
        fewest = min(fewest, int((member[start : start + _BLOCK] @ member.T).min()))
        if fewest <= possible:
            break
    return fewest


def to_runs(lists: NDArray[Any]) -> list[str]:
    """One text per truth: its near reports as runs of consecutive codes.

    >>> to_runs(np.array([[0, 1, 2, 5], [1, 3, 4, 5]]))
    ['0-2 5', '1 3-5']
    """
    return [_runs(row.astype(np.int64)) for row in lists]


def _runs(codes: NDArray[np.int64]) -> str:
    breaks = np.flatnonzero(np.diff(codes) != 1)
    first = codes[np.concatenate([[0], breaks + 1])].tolist()
    last = codes[np.concatenate([breaks, [codes.size - 1]])].tolist()
    return " ".join(f"{a}-{b}" if b > a else str(a) for a, b in zip(first, last, strict=True))


def from_runs(texts: Any, size: Any, near: Any) -> NDArray[Any]:
    """The lists that ``to_runs`` wrote: ``size`` of them with ``near`` codes each, checked before they are made."""
    if not isinstance(texts, Sequence) or isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
        raise MechanismError("the near reports must be one text per truth")
    if any(isinstance(one, bool) or not isinstance(one, int) for one in (size, near)):
        raise MechanismError("size and m must be whole numbers")
    if len(texts) != size or not 1 <= near <= size:
        raise MechanismError(f"the near reports must be {size} texts of {near} codes")
    if size * near > MAX_ENTRIES:
        raise too_many_entries(size, near)
    lists = np.empty((size, near), np.min_scalar_type(size - 1))
    for row, text in zip(lists, texts, strict=True):
        _fill(row, text, size)
    return lists


def _fill(row: NDArray[Any], text: str, size: int) -> None:
    """Write the runs of one truth into its row."""
    filled = 0
    for run in text.split():
        first, _, last = run.partition("-")
        if not (first.isdecimal() and (last or first).isdecimal() and len(run) <= _RUN_CHARACTERS):
            raise MechanismError('the near reports must be runs of codes such as "0-4 7"')
        low, high = int(first), int(last or first)
        if not low <= high < size:
            raise MechanismError(f"a near report must be a code from 0 to {size - 1}")
        if filled + high - low + 1 > row.size:
            break
        row[filled : filled + high - low + 1] = np.arange(low, high + 1)
        filled += high - low + 1
    else:
        if filled == row.size:
            return
    raise MechanismError(f"every truth needs {row.size} near reports")


def too_many_entries(size: int, near: int) -> MechanismError:
    """Lists that would not fit."""
    return MechanismError(
        f"{size:,} lists of {near:,} near reports are over the limit of 2^30 entries; use fewer values or a larger ε"
    )


@dataclass(frozen=True, init=False, repr=False, eq=False)
class BipartiteResponse(FiniteMechanism):
    """Bipartite randomised response (Zhang, Zhu, Chen and Hu 2026), without an N×N matrix.

    Under truth x the m reports that are nearest to x have weight ``high`` each and the other N − m weight ``low``;
    ``high/low ≤ e^ε``, and every row sums to ``m·high + (N − m)·low``. With m = 1 it is generalised response.

    Parameters
    ----------
    size : int
        Number of values N, from 2 to 10⁷.
    near : int
        Number of likely reports m, from 1 to N.
    epsilon : float
        The privacy level; the realised one is within 1e-9 of it and never above (and zero for m = N).
    neighbours : array (N, m) of int, optional
        The codes of the likely reports under each truth. By default the values are equidistant points on a line:
        the m nearest are the codes from ``x − ⌊m/2⌋`` on, moved into 0 … N − 1; of two values that are equally near
        the smaller code comes first.

    Notes
    -----
    For equidistant points the channel has rank N − m + 1: from m = 2 on the values at each end have the same row and
    their frequencies are not identified.

    Examples
    --------
    >>> mechanism = BipartiteResponse(5, 3, 1.0)
    >>> mechanism.matrix().round(4)[0]
    array([0.2677, 0.2677, 0.2677, 0.0985, 0.0985])
    >>> mechanism.guarantee.epsilon <= 1.0
    True
    """

    size: int
    near: int
    high: int
    low: int
    #: Codes of the near reports, sorted, one row per truth; None for equidistant points.
    neighbours: NDArray[Any] | None
    epsilon: float | None = field(default=None, init=False)

    kind: ClassVar[str] = "bipartite"

    def __init__(self, size: int, near: int, epsilon: float, neighbours: ArrayLike | None = None) -> None:
        self._set(size, near, *high_and_low(checked_epsilon(epsilon)), neighbours)

    def _set(self, size: int, near: int, high: int, low: int, neighbours: ArrayLike | None) -> None:
        size = arguments.whole(size, "size", MechanismError, least=2, most=MAX_SIZE)
        near = arguments.whole(near, "near", MechanismError, least=1, most=size)
        object.__setattr__(self, "size", size)
        object.__setattr__(self, "near", near)
        object.__setattr__(self, "high", high)
        object.__setattr__(self, "low", low)
        lists = None if neighbours is None else checked_lists(neighbours, size, near)
        object.__setattr__(self, "neighbours", lists)
        object.__setattr__(self, "epsilon", None)

    @classmethod
    def from_weights(cls, size: int, near: int, high: int, low: int, neighbours: ArrayLike | None = None) -> Self:
        """From the two integers themselves."""
        high, low = weight(high, "high"), weight(low, "low")
        if not high > low > 0:
            raise MechanismError("bipartite response needs weights high > low > 0")
        mechanism = object.__new__(cls)
        mechanism._set(size, near, high, low, neighbours)
        return mechanism

    def __repr__(self) -> str:
        lists = "" if self.neighbours is None else f", {self.neighbours.tolist()!r}"
        return f"BipartiteResponse.from_weights({self.size}, {self.near}, {self.high}, {self.low}{lists})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BipartiteResponse):
            return NotImplemented
        if self._numbers != other._numbers or (self.neighbours is None) != (other.neighbours is None):
            return False
        return self.neighbours is None or bool(np.array_equal(self.neighbours, other.neighbours))  # type: ignore[arg-type]

    def __hash__(self) -> int:
        return hash(self._numbers)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_weights, (*self._numbers, self.neighbours)

    @property
    def _numbers(self) -> tuple[int, int, int, int]:
        return self.size, self.near, self.high, self.low

    @property
    def shape(self) -> tuple[int, int]:
        """(N, N)."""
        return self.size, self.size

    @property
    def denominator(self) -> int:
        """``m·high + (N − m)·low``."""
        return self.near * self.high + (self.size - self.near) * self.low

    def first_near(self, codes: ArrayLike) -> NDArray[np.int64]:
        """The smallest near report under each truth, for equidistant points."""
        return np.clip(np.asarray(codes, np.int64) - self.near // 2, 0, self.size - self.near)

    def near_reports(self, code: int) -> NDArray[np.int64]:
        """The codes of the m likely reports under one truth, in order."""
        if self.neighbours is not None:
            return np.asarray(self.neighbours[code], np.int64)
        return int(self.first_near(code)) + np.arange(self.near, dtype=np.int64)

    def _rows(self) -> Rows:
        rows = []
        for x in range(self.size):
            row = [self.low] * self.size
            for y in self.near_reports(x).tolist():
                row[y] = self.high
            rows.append(tuple(row))
        return tuple(rows)

    def matrix(self) -> NDArray[np.float64]:
        """The channel in floats: ``Q[x, y] = P(report y | truth x)``."""
        if self.size > MAX_MATRIX:
            self.weights()  # refuses
        out = np.full(self.shape, self.low / self.denominator)
        lists = np.stack([self.near_reports(x) for x in range(self.size)])
        np.put_along_axis(out, lists, self.high / self.denominator, axis=1)
        return out

    def row_pairs(self) -> tuple[Pair, ...]:
        """The two truths whose near reports overlap least: every other pair is harder to tell apart.

        With k near reports in common, ``δ(ε) = (m − k)(high − e^ε·low)/d``. For equidistant points the two ends
        have k = max(0, 2m − N); metric domains of more than 4,096 values are stated with this least possible k,
        which can only overstate δ. ε does not depend on it.
        """
        fewest = max(0, 2 * self.near - self.size)
        if self.neighbours is not None and self.size <= MAX_MATRIX:
            fewest = least_overlap(self.neighbours, fewest)
        return (Pair.of_two_weights(self.high, self.low, self.near, fewest, self.size),)

    def exposure(self) -> Fraction:
        """Every report is possible under every truth."""
        return Fraction(0)

    @property
    def rank(self) -> int | None:
        """The rank of the channel where it is known in closed form: N − m + 1 for equidistant points."""
        return self.size - self.near + 1 if self.neighbours is None else None

    @cached_property
    def inverse(self) -> Inverse:
        """The linear map from report shares to frequencies; with m ≥ 2 most channels have none."""
        if self.near == 1 and (self.neighbours is None or self._names_itself):
            gap = self.high - self.low
            return UniformInverse(self.size, self.denominator / gap, -self.low / gap)
        if self.neighbours is None:
            last = self.size - self.near + self.near // 2
            groups: tuple[tuple[int, ...], ...] = (tuple(range(self.near // 2 + 1)), tuple(range(last, self.size)))
            if self.near == self.size:
                groups = (tuple(range(self.size)),)
            named = " and ".join(f"{group[0]} to {group[-1]}" for group in groups if len(group) > 1)
            raise NotIdentifiedError(
                f"the channel does not tell these values apart (by code): {named}; their frequencies cannot be "
                "estimated one by one: merge them, ask for bounds, or use generalised response",
                groups=tuple(group for group in groups if len(group) > 1),
            )
        return dense_inverse(self.weights(), self.denominator)

    @property
    def _names_itself(self) -> bool:
        assert self.neighbours is not None
        return bool(np.array_equal(self.neighbours[:, 0], np.arange(self.size)))

    @cached_property
    def _near_excess(self) -> Coins:
        """A near report for certain with probability m(high − low)/d; else the answer is uniform on all N."""
        return Coins([self.near * (self.high - self.low)], self.denominator)

    def _sample(self, codes: NDArray[Any], randomness: Randomness) -> NDArray[Any]:
        out = uniform(self.size, codes.size, randomness, self.report_dtype)
        if not out.flags.writeable:
            out = out.copy()
        near = np.flatnonzero(self._near_excess.toss(codes.size, randomness))
        truths = codes.take(near)
        rank = uniform(self.near, near.size, randomness, np.int32)
        if self.neighbours is None:
            # For every int type of codes: 32 bits hold 10⁷ with a sign to spare.
            reports = truths.astype(np.int32)
            reports -= np.int32(self.near // 2)
            np.clip(reports, 0, self.size - self.near, out=reports)
            reports += rank
        else:
            reports = self.neighbours[truths, rank]
        out[near] = reports.astype(self.report_dtype)
        return out

    def to_dict(self) -> dict[str, Any]:
        """Closed form: size, m, high, low; for metric domains also the near reports, as runs such as "0-4 7"."""
        data: dict[str, Any] = {
            "kind": self.kind,
            "size": self.size,
            "m": self.near,
            "high": str(self.high),
            "low": str(self.low),
        }
        if self.neighbours is not None:
            data["neighbours"] = to_runs(self.neighbours)
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild from the integers."""
        high, low = stored_int(data, "high"), stored_int(data, "low")
        try:
            lists = from_runs(data["neighbours"], data["size"], data["m"]) if "neighbours" in data else None
            return cls.from_weights(data["size"], data["m"], high, low, lists)
        except (KeyError, MechanismError) as error:
            raise ManifestError(f"a bipartite response in the manifest is damaged ({error})") from None
