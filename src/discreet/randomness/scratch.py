"""Working memory that is used again and again."""

from __future__ import annotations

import numpy as np

from discreet.arguments import Floats


class Scratch:
    """Arrays for the steps of a long computation, the same ones at every step.

    numpy gives the arrays of a step back to the system when it ends and has them mapped again for the next one, which
    takes as long as the arithmetic on them. Every step asks for the same arrays in the same order, and finds them.

    Examples
    --------
    >>> scratch = Scratch()
    >>> first = scratch.floats(3)
    >>> scratch.restart()
    >>> np.shares_memory(first, scratch.floats(2))
    True
    """

    __slots__ = ("_arrays", "_next")

    def __init__(self) -> None:
        self._arrays: list[Floats] = []
        self._next = 0

    def restart(self) -> None:
        """A new step begins: what was handed out before is free again."""
        self._next = 0

    def floats(self, count: int) -> Floats:
        """The next array, whatever is in it."""
        place = self._next
        self._next += 1
        if place == len(self._arrays):
            self._arrays.append(np.empty(count))
        elif self._arrays[place].size < count:
            self._arrays[place] = np.empty(count)
        return self._arrays[place][:count]
