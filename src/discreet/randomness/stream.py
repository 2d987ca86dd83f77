"""A stream of secure bytes: AES-256 in counter mode under a secret key.

What is assumed is what OpenSSL's own generator assumes, that AES-256 under a secret key looks random: q blocks under
one key can be told from random ones with an advantage of at most q²/2¹²⁹ beyond breaking the cipher, 2⁻⁷⁷ for the 2²⁶
blocks that a key serves for. Then the next key is asked for.

Nothing is ever drawn twice. A stream with keys of its own (:func:`own_stream`) belongs to one thread, and a forked
process, which starts with a copy of it, takes a new key. A stream under a derived key
(:class:`~discreet.randomness.key.StreamKey`) is one for all threads of the process that opened it, and refuses to go on
in another one: it could only repeat itself there.
"""

from __future__ import annotations

import os
import ssl
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError

#: What a manifest says of bytes from a cipher, and of bytes from OpenSSL's generator itself.
AES_SOURCE, OPENSSL_SOURCE = "AES-256-CTR, keyed by OpenSSL", "OpenSSL"
#: Bytes that one key serves for.
KEY_BYTES = 1 << 30
#: Bytes enciphered at once: the zeros stay in the cache.
_BLOCK = 1 << 18
#: What the cipher may write beyond its input, by its own account.
ROOM = 15
_ZEROS = memoryview(bytes(_BLOCK))

#: The i-th secret of a stream: a key of 32 bytes and the 16 bytes at which the counter starts.
Secrets = Callable[[int], bytes]


class Stream:
    """Bytes under one secret after the other.

    Parameters
    ----------
    secrets : callable
        Gives the i-th secret.
    repeats : bool
        Whether the secrets are the same in every process, so that only one may draw.
    """

    __slots__ = ("_cipher", "_left", "_lock", "_number", "_process", "_repeats", "_secrets")

    def __init__(self, secrets: Secrets, *, repeats: bool) -> None:
        self._secrets = secrets
        self._repeats = repeats
        self._number = 0
        self._cipher: Any = None
        self._left = 0
        self._process = os.getpid()
        self._lock = threading.Lock()

    def bytes(self, count: int) -> NDArray[np.uint8]:
        """``count`` uniform bytes, those that follow the last ones."""
        out = np.empty(count + ROOM, np.uint8)
        self.fill(out, count)
        return out[:count]

    def fill(self, out: NDArray[np.uint8], count: int) -> None:
        """The same, into the beginning of an array with ``ROOM`` bytes to spare."""
        if self._process != os.getpid():
            self._after_fork()
        into = memoryview(out)  # type: ignore[arg-type]  # numpy arrays are buffers, which typing does not know
        with self._lock:
            start = 0
            while start < count:
                if self._left == 0:
                    self._take_secret()
                size = min(_BLOCK, count - start, self._left)
                self._cipher.update_into(_ZEROS[:size], into[start : start + size + ROOM])
                self._left -= size
                start += size

    def _after_fork(self) -> None:
        """A fork copies the stream; both sides would go on with the same noise."""
        if self._repeats:
            raise InputError("a stream under a derived key was opened in another process; open it where it is used")
        self._lock, self._left, self._process = threading.Lock(), 0, os.getpid()

    def _take_secret(self) -> None:
        secret = self._secrets(self._number)
        self._cipher = _cipher(secret)
        self._number += 1
        self._left = KEY_BYTES

    def __reduce__(self) -> Any:
        raise TypeError("a stream of secure bytes is not to be copied: its noise would be used twice")


def _cipher(secret: bytes) -> Any:
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    return Cipher(algorithms.AES(secret[:32]), modes.CTR(secret[32:48])).encryptor()


def has_cipher() -> bool:
    """Whether AES-256 in counter mode can be had; bytes come from OpenSSL's generator where it cannot."""
    if not _CIPHER_WORKS:
        try:
            _CIPHER_WORKS.append(bool(_cipher(bytes(48)).update(bytes(1))))
        except Exception:  # a broken or forbidden library says so in ways of its own
            _CIPHER_WORKS.append(False)
    return _CIPHER_WORKS[0]


_CIPHER_WORKS: list[bool] = []


class _Streams(threading.local):
    """One stream for every thread."""

    def __init__(self) -> None:
        self.stream = Stream(lambda _: ssl.RAND_bytes(48), repeats=False)


_STREAMS = _Streams()


def _renew() -> None:
    _STREAMS.__init__()  # type: ignore[misc]  # the number of a process can come back, so it is not relied upon


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)


def own_stream() -> Stream | None:
    """The stream of this thread, under keys from OpenSSL's generator; none where there is no cipher."""
    return _STREAMS.stream if has_cipher() else None
