"""A fast stream of secure bytes: AES-256 in counter mode, under a key from OpenSSL's generator.

``ssl.RAND_bytes`` is secure and slow: several times as slow as the cipher it runs, because it makes a few thousand
bytes at a time and then a new key. Here one key serves for up to a gibibyte. What is assumed is what OpenSSL's own
generator assumes, that AES-256 under a secret key looks random: q blocks under one key can be told from random ones
with an advantage of at most q²/2¹²⁹ beyond breaking the cipher, 2⁻⁷⁷ for the 2²⁶ blocks of a key.

A stream belongs to one thread of one process. A forked process finds that the number of its process is another one
and takes a new key, so no two processes ever share noise. Keys are never written, printed or pickled.
"""

from __future__ import annotations

import os
import ssl
import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: What a manifest says.
SOURCE = "AES-256-CTR, keyed by OpenSSL"
#: Bytes that one key serves for.
KEY_BYTES = 1 << 30
#: Bytes enciphered at once: the zeros stay in the cache.
_BLOCK = 1 << 18
#: What the cipher may write beyond its input.
_ROOM = 15
_ZEROS = memoryview(bytes(_BLOCK))


class Stream:
    """Secure bytes for one thread of one process."""

    __slots__ = ("_cipher", "_left", "_process")

    def __init__(self) -> None:
        self._cipher: Any = None
        self._left = 0
        self._process = -1

    def fill(self, count: int) -> NDArray[np.uint8]:
        """``count`` uniform bytes."""
        if self._process != os.getpid():  # a fork copies the stream; both sides would go on with the same noise
            self._left = 0
        out = np.empty(count + _ROOM, np.uint8)
        into = memoryview(out)  # type: ignore[arg-type]  # numpy arrays are buffers, which typing does not know
        for start in range(0, count, _BLOCK):
            size = min(_BLOCK, count - start)
            if self._left < size:
                self._take_key()
            self._cipher.update_into(_ZEROS[:size], into[start : start + size + _ROOM])
            self._left -= size
        return out[:count]

    def _take_key(self) -> None:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        seed = ssl.RAND_bytes(48)
        self._cipher = Cipher(algorithms.AES(seed[:32]), modes.CTR(seed[32:])).encryptor()
        self._left = KEY_BYTES
        self._process = os.getpid()

    def __reduce__(self) -> Any:
        raise TypeError("a stream of secure bytes is not to be copied: its noise would be used twice")


class _Streams(threading.local):
    def __init__(self) -> None:
        self.stream = Stream()


_STREAMS = _Streams()


def _forget() -> None:
    _STREAMS.stream = Stream()


if hasattr(os, "register_at_fork"):  # the number of a process can come back; a fork from C, though, is only told by it
    os.register_at_fork(after_in_child=_forget)


def secure_bytes(count: int) -> NDArray[np.uint8]:
    """``count`` uniform bytes from the stream of this thread."""
    return _STREAMS.stream.fill(count)
