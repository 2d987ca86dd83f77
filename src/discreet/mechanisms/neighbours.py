"""Lists of near reports: checked, compared, and written as runs of codes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import MechanismError

#: Largest number of entries of all lists together: 2^30 entries of two or four bytes.
MAX_ENTRIES = 1 << 30
#: Truths that are compared at once.
_BLOCK = 256
#: Truths that are compared with all others before every pair is.
_TRIED = 8


def checked_lists(neighbours: ArrayLike, size: int, near: int) -> NDArray[Any]:
    """One sorted row of different codes per truth, in the smallest type, never to change."""
    if size * near > MAX_ENTRIES:
        raise MechanismError(
            f"{size:,} lists of {near:,} near reports are over the limit of 2^30 entries; "
            "use fewer values or a larger ε"
        )
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


def from_runs(texts: Any, near: Any) -> NDArray[np.int64]:
    """The lists that ``to_runs`` wrote."""
    if not isinstance(texts, Sequence) or isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
        raise MechanismError("the near reports must be one text per truth")
    try:
        lists = [_codes(text) for text in texts]
    except ValueError:
        raise MechanismError('the near reports must be runs of codes such as "0-4 7"') from None
    if any(len(codes) != near for codes in lists):
        raise MechanismError(f"every truth needs {near} near reports")
    return np.array(lists, np.int64)


def _codes(text: str) -> list[int]:
    codes: list[int] = []
    for run in text.split():
        first, _, last = run.partition("-")
        low, high = int(first), int(last or first)
        if high - low > MAX_ENTRIES:
            raise ValueError
        codes.extend(range(low, high + 1))
    return codes
