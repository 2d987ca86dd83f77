"""A source that gives words from a script and then one word for ever, so that every draw is known to its last bit."""

from __future__ import annotations

import numpy as np

from discreet.randomness import Randomness

#: 1010… in binary: a number that goes on like this is neither near its lower nor its upper end.
AND_SO_ON = 0xAAAAAAAAAAAAAAAA


class Scripted(Randomness):
    """Words in order; then ``then`` for ever."""

    def __init__(self, words=(), then=AND_SO_ON):
        super().__init__()
        self.script = [int(word) % 2**64 for word in words]
        self.then = then

    def bytes(self, count):
        """The next bytes, whole words at a time but for the last."""
        wanted = -(-count // 8)
        taken = [self.script.pop(0) if self.script else self.then for _ in range(wanted)]
        return np.array(taken, np.uint64).view(np.uint8)[:count]

    draws = bytes
