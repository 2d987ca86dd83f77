"""Where chance comes from."""

from __future__ import annotations

import ssl
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from discreet.errors import InputError

#: Bytes asked of OpenSSL at once: large enough to hide the call, small enough to stay in the cache.
_BLOCK = 1 << 20


class Randomness:
    """A source of random bytes.

    ``Randomness()`` reads OpenSSL's generator (AES-256 in counter mode, seeded by the operating system). It
    holds no state of its own: OpenSSL keeps one generator per thread and reseeds in a forked process, so
    threads and forks never share a stream.

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
        if count <= _BLOCK:
            return np.frombuffer(ssl.RAND_bytes(count), np.uint8)
        out = np.empty(count, np.uint8)
        for start in range(0, count, _BLOCK):
            stop = min(start + _BLOCK, count)
            out[start:stop] = np.frombuffer(ssl.RAND_bytes(stop - start), np.uint8)
        return out

    def words(self, count: int, dtype: DTypeLike = np.uint64) -> NDArray[Any]:
        """``count`` uniform unsigned integers of the given type."""
        return self.bytes(count * np.dtype(dtype).itemsize).view(dtype)

    def to_dict(self) -> dict[str, Any]:
        """What a manifest says about the source; a seed is never written."""
        return {"secure": self.secure, "source": "OpenSSL" if self.secure else "seeded simulation"}

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
