"""Where chance comes from."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from discreet.errors import InputError
from discreet.randomness.stream import SOURCE, secure_bytes


class Randomness:
    """A source of random bytes.

    ``Randomness()`` is secure: AES-256 in counter mode under keys from OpenSSL's generator, which the operating
    system seeds. It holds no state of its own: every thread has a stream, and a forked process takes a new key, so
    threads and forks never share one (:mod:`discreet.randomness.stream`).

    ``Randomness.seeded(n)`` is reproducible, for simulation and tests only. It is *not* secure: whoever knows
    the seed can undo the randomisation. Everything made with it is marked insecure, into the manifest.

    Examples
    --------
    >>> Randomness().secure
    True
    >>> Randomness.seeded(7).bytes(3)
    array([139,  74, 229], dtype=uint8)
    """

    __slots__ = ("_generator", "_seed")

    def __init__(self) -> None:
        self._generator: np.random.Generator | None = None
        self._seed: Any = None

    @classmethod
    def seeded(cls, seed: int) -> Randomness:
        """A reproducible, insecure source for simulation."""
        if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
            raise InputError(f"a seed must be a whole number ≥ 0, not {seed!r}")
        source = cls()
        source._seed = int(seed)
        source._generator = np.random.Generator(np.random.PCG64(int(seed)))
        return source

    @property
    def secure(self) -> bool:
        """Whether the bytes come from the cryptographic generator."""
        return self._generator is None

    def bytes(self, count: int) -> NDArray[np.uint8]:
        """``count`` uniform bytes."""
        if self._generator is not None:
            return np.frombuffer(self._generator.bytes(count), np.uint8)
        return secure_bytes(count)

    def words(self, count: int, dtype: DTypeLike = np.uint64) -> NDArray[Any]:
        """``count`` uniform unsigned integers of the given type."""
        return self.bytes(count * np.dtype(dtype).itemsize).view(dtype)

    def to_dict(self) -> dict[str, Any]:
        """What a manifest says about the source; a seed is never written."""
        return {"secure": self.secure, "source": SOURCE if self.secure else "seeded simulation"}

    def __repr__(self) -> str:
        return "Randomness()" if self.secure else f"Randomness.seeded({self._seed})"


def resolve(randomness: Randomness | None) -> Randomness:
    """The given source, or the secure one; anything else is refused."""
    if randomness is None:
        return Randomness()
    if not isinstance(randomness, Randomness):
        raise InputError(
            "randomness must be Randomness() or Randomness.seeded(n), "
            f"not {type(randomness).__name__}; numpy generators are not secure"
        )
    return randomness
