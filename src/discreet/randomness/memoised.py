"""Repeated questions: the same person and value give the same report, by a keyed pseudo-random function.

A report is made from a uniform integer that is a function of (purpose, person, value) under a secret key:

    HMAC-SHA256(key, tag ‖ purpose ‖ length of person ‖ person ‖ value ‖ attempt ‖ part)

Every field but the person has a fixed length, and the length of the person stands before it, so that no two questions
give the same message. The first ⌈log₂ d⌉ bits of the parts of an attempt are an integer; one of d or more is rejected
and the next attempt taken, so that what remains is uniform on 0 … d − 1 as far as HMAC cannot be told from random.
"""

from __future__ import annotations

import hmac
import os
import secrets
import stat
from pathlib import Path
from typing import Any, NoReturn

from discreet import arguments
from discreet.errors import Argument, InputError, SystemFailureError

#: Bytes of a key.
KEY_BYTES = 32
_TAG = b"discreet memoise 1\0"
_IDENTITY = b"discreet memoise key id 1\0"
_PART_BITS = 256


class MemoKey:
    """A secret of 32 bytes that fixes every report. Whoever has it and the reports can undo the randomisation.

    Parameters
    ----------
    secret : bytes
        Of a cryptographic generator; never a password.
    """

    __slots__ = ("_kept", "_secret", "path")

    def __init__(self, secret: bytes, path: Path | None = None, *, kept: bool = True) -> None:
        if not isinstance(secret, bytes) or len(secret) != KEY_BYTES:
            raise InputError(f"a key for memoised reports is {KEY_BYTES} random bytes, or the path of a file with one")
        self._secret = secret
        self.path = path
        self._kept = kept

    @classmethod
    def of(cls, key: Any, *, create: bool = False) -> MemoKey:
        """A key, its bytes, or the path of its file; with ``create`` the file is made if it is not there."""
        if isinstance(key, cls):
            return key
        if isinstance(key, bytes):
            return cls(key)
        path = arguments.path(key, "key", InputError)
        if not arguments.flag(create, "create", InputError) or os.path.lexists(path):
            return cls._read(path)
        made = cls.new(path)
        made.keep()
        return made

    @classmethod
    def new(cls, path: Path) -> MemoKey:
        """A new key for a file that is not there; ``keep`` writes it, when nothing else can be refused."""
        if not path.parent.is_dir():
            raise InputError(f"there is no folder {path.parent}")
        return cls(secrets.token_bytes(KEY_BYTES), path, kept=False)

    def keep(self) -> None:
        """Write a new key into its file, which only its owner can read; one that is there stays."""
        if self._kept or self.path is None:
            return
        try:
            handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "w", encoding="ascii") as file:
                file.write(self._secret.hex() + "\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise SystemFailureError(f"the key {self.path} cannot be written: {error.strerror}") from None
        self._kept = True

    @classmethod
    def _read(cls, path: Path) -> MemoKey:
        try:
            status = path.stat()
            if not stat.S_ISREG(status.st_mode):
                raise InputError(f"the key {path} is not an ordinary file")
            if os.name == "posix" and stat.S_IMODE(status.st_mode) & 0o077:
                raise InputError(f"the key {path} can be read by others: chmod 600 {path}")
            content = path.read_text(encoding="ascii").strip() if status.st_size <= 4 * KEY_BYTES else ""
            secret = bytes.fromhex(content)
            if len(secret) != KEY_BYTES:
                raise InputError(f"the file {path} holds no key for memoised reports")
            return cls(secret, path)
        except FileNotFoundError:
            raise InputError(
                f"there is no key {path}; ", Argument("create=True"), " makes one, to be kept for all waves"
            ) from None
        except OSError as error:
            raise SystemFailureError(f"the key {path} cannot be read: {error.strerror}") from None
        except InputError:
            raise
        except ValueError:  # not ASCII, not hexadecimal, or of another length
            raise InputError(f"the file {path} holds no key for memoised reports") from None

    @property
    def id(self) -> str:
        """A name for the key that says nothing about it."""
        return hmac.digest(self._secret, _IDENTITY, "sha256")[:12].hex()

    def integer(self, purpose: bytes, person: bytes, value: int, bound: int) -> int:
        """The integer below ``bound`` of a person and a value."""
        head = _TAG + purpose + len(person).to_bytes(8, "big") + person + value.to_bytes(8, "big")
        bits = (bound - 1).bit_length()
        parts = max(1, -(-bits // _PART_BITS))
        attempt = 0
        while True:
            start = head + attempt.to_bytes(4, "big")
            drawn = b"".join(
                hmac.digest(self._secret, start + part.to_bytes(4, "big"), "sha256") for part in range(parts)
            )
            number = int.from_bytes(drawn, "big") >> (parts * _PART_BITS - bits)
            if number < bound:
                return number
            attempt += 1

    def __repr__(self) -> str:
        return "MemoKey(...)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a key for memoised reports is not pickled: it stays where it is read")
