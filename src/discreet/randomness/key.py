"""One secret, and a stream for every purpose and partition of a work that is done in many places.

A partition of a table may be worked on twice, because a machine was lost or slow. Under fresh randomness the two
results differ, and whoever sees both has two reports of one truth: the promise is broken. Under a derived stream they
are the same, provided the partition has the same rows in the same order.

The secret of stream (purpose, partition) number i is HMAC-SHA512 under the key of an encoding from which all three can
be read back, so that no two streams share a byte of their input. A stream never depends on the content of a row:
equal rows would share their noise.
"""

from __future__ import annotations

import hashlib
import hmac
import ssl
from typing import Any, Self

from discreet.errors import InputError
from discreet.randomness.stream import Stream

#: Partitions that a key can tell apart.
MAX_PARTITIONS = 1 << 32
_KEY_BYTES = 32
_DOMAIN = b"discreet stream 1\0"


def encoded(purpose: str, partition: int, number: int) -> bytes:
    """Purpose, partition and number of a secret as bytes; different ones never give the same bytes."""
    name = purpose.encode()
    return b"".join(
        (_DOMAIN, len(name).to_bytes(8, "big"), name, partition.to_bytes(8, "big"), number.to_bytes(8, "big"))
    )


class StreamKey:
    """256 secret bits. They are not printed, and leave this process only by ``reveal``.

    Examples
    --------
    >>> key = StreamKey.fresh()
    >>> (key.stream("noise", 3).bytes(8) == key.stream("noise", 3).bytes(8)).all()
    np.True_
    >>> (key.stream("noise", 3).bytes(8) == key.stream("order", 3).bytes(8)).all()
    np.False_
    >>> key
    StreamKey(secret)
    """

    __slots__ = ("_secret", "secure")

    def __init__(self, secret: bytes, *, secure: bool = True) -> None:
        if not isinstance(secret, bytes) or len(secret) != _KEY_BYTES:
            raise InputError(f"a key for streams must be {_KEY_BYTES} bytes")
        self._secret: bytes | None = secret
        self.secure = secure

    @classmethod
    def fresh(cls) -> Self:
        """A key from OpenSSL's generator."""
        return cls(ssl.RAND_bytes(_KEY_BYTES))

    @classmethod
    def of_seed(cls, seed: int) -> Self:
        """The key of a seed: for simulation, since whoever knows the seed knows the key."""
        return cls(hashlib.sha256(b"discreet seeded simulation\0" + str(seed).encode()).digest(), secure=False)

    def stream(self, purpose: str, partition: int) -> Stream:
        """The bytes for one purpose in one partition, from their beginning."""
        if isinstance(partition, bool) or not isinstance(partition, int) or not 0 <= partition < MAX_PARTITIONS:
            raise InputError(f"a partition has a number from 0 to {MAX_PARTITIONS - 1:,}; use fewer partitions")
        secret = self.reveal()
        return Stream(
            lambda number: hmac.digest(secret, encoded(purpose, partition, number), "sha512")[:48], repeats=True
        )

    def reveal(self) -> bytes:
        """The secret itself, for those who carry it to another machine on purpose."""
        if self._secret is None:
            raise InputError("the key was forgotten; a finished work cannot be repeated under it")
        return self._secret

    def forget(self) -> None:
        """Let go of the secret: from now on the key opens nothing."""
        self._secret = None

    def __repr__(self) -> str:
        return "StreamKey(secret)" if self._secret is not None else "StreamKey(forgotten)"

    def __reduce__(self) -> Any:
        raise TypeError("a key is not pickled by accident; reveal() hands it out")
