"""Lists of near reports: checked, compared, and written as runs of codes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import MechanismError

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
