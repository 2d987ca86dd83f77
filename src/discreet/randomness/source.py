"""Where chance comes from."""

from __future__ import annotations

import ssl
import threading
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from discreet.errors import InputError
from discreet.randomness.key import StreamKey
from discreet.randomness.memoised import MemoKey
from discreet.randomness.stream import AES_SOURCE, OPENSSL_SOURCE, ROOM, Stream, has_cipher, own_stream

#: Bytes of a thread's memory for draws. A new array is mapped by the system page by page, which takes longer than
#: to fill it.
_KEPT = 1 << 20


class _Memory(threading.local):
    def __init__(self) -> None:
        self.draws = np.empty(_KEPT + ROOM, np.uint8)


_MEMORY = _Memory()


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

    __slots__ = ("_generator", "_secure", "_seed", "_stream", "memo")

    def __init__(self) -> None:
        self._generator: np.random.Generator | None = None
        self._seed: Any = None
        self._stream: Stream | None = None
        self._secure = True
        #: The key of memoised reports, which are a function of person and value; None for chance.
        self.memo: MemoKey | None = None

    @classmethod
    def seeded(cls, seed: int) -> Randomness:
        """A reproducible, insecure source for simulation."""
        if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
            raise InputError(f"a seed must be a whole number ≥ 0, not {seed!r}")
        source = cls()
        source._seed = int(seed)
        source._secure = False
        source._generator = np.random.Generator(np.random.PCG64(int(seed)))
        return source

    @classmethod
    def memoised(cls, key: Any, *, create: bool = False) -> Randomness:
        """The same person and value give the same report, in every wave of a repeated question.

        For :func:`discreet.release` with a plan whose blocks say ``repeat = "memoise"``; everything else that needs
        chance in such a release is drawn from the secure source.

        Parameters
        ----------
        key : path or bytes
            A secret of 32 bytes, to be kept for all waves and shown to nobody: a file of mode 0600, or the bytes.
        create : bool
            Make the file if it is not there.
        """
        source = cls()
        source.memo = MemoKey.of(key, create=create)
        return source

    @classmethod
    def keyed(cls, key: StreamKey, purpose: str, partition: int) -> Randomness:
        """The stream of one purpose in one partition: as secure as the key, and the same whenever it is opened."""
        source = cls()
        source._stream, source._secure = key.stream(purpose, partition), key.secure
        return source

    def key(self) -> StreamKey:
        """A key for a work in many partitions: fresh, or the next that the seed gives."""
        return StreamKey.fresh() if self._seed is None else StreamKey.of_seed(int.from_bytes(self.bytes(16).tobytes()))

    @property
    def secure(self) -> bool:
        """Whether the bytes come from the cryptographic generator."""
        return self._secure

    @property
    def repeats(self) -> bool:
        """Whether this is the generator of a seed, whose bytes have to mean the same in every version."""
        return self._generator is not None

    def bytes(self, count: int) -> NDArray[np.uint8]:
        """``count`` uniform bytes."""
        if self._generator is not None:
            return np.frombuffer(self._generator.bytes(count), np.uint8)
        self._refuse_memo()
        stream = self._stream or own_stream()
        return np.frombuffer(ssl.RAND_bytes(count), np.uint8) if stream is None else stream.bytes(count)

    def draws(self, count: int) -> NDArray[np.uint8]:
        """``count`` uniform bytes for use at once: the next call in this thread may write over them."""
        self._refuse_memo()
        stream = None if self._generator is not None else self._stream or own_stream()
        if stream is None or count > _KEPT:
            return self.bytes(count)
        memory = _MEMORY.draws
        stream.fill(memory, count)
        return memory[:count]

    def _refuse_memo(self) -> None:
        """Fresh chance where the same report was meant would spend again, wave after wave."""
        if self.memo is not None:
            raise InputError(
                'memoised reports need to know the person: use release() with a plan that says repeat = "memoise"'
            )

    def words(self, count: int, dtype: DTypeLike = np.uint64) -> NDArray[Any]:
        """``count`` uniform unsigned integers of the given type."""
        return self.bytes(count * np.dtype(dtype).itemsize).view(dtype)

    def to_dict(self) -> dict[str, Any]:
        """What a manifest says about the source; a seed is never written."""
        secure_source = AES_SOURCE if has_cipher() else OPENSSL_SOURCE
        return {"secure": self.secure, "source": secure_source if self.secure else "seeded simulation"}

    def __repr__(self) -> str:
        if self.memo is not None:
            return "Randomness.memoised(...)"
        if self._stream is not None:
            return "Randomness.keyed(...)"
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
