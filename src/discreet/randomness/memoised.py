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
from pathlib import Path
from typing import Any, NoReturn

from discreet import arguments
from discreet.errors import Argument, InputError
from discreet.files import read_secret, write_whole

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
        write_whole(self.path, f"{self._secret.hex()}\n".encode(), private=True)
        self._kept = True

    @classmethod
    def _read(cls, path: Path) -> MemoKey:
        refused = f"the file {path} holds no key for memoised reports"
        try:
            secret = bytes.fromhex(read_secret(path, 4 * KEY_BYTES, "key", InputError).decode("ascii"))
        except FileNotFoundError:
            raise InputError(
                f"there is no key {path}; ", Argument("create=True"), " makes one, to be kept for all waves"
            ) from None
        except UnicodeDecodeError:
            raise InputError(refused) from None
        except InputError:
            raise
        except ValueError:  # not hexadecimal
            raise InputError(refused) from None
        if len(secret) != KEY_BYTES:
            raise InputError(refused)
        return cls(secret, path)

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
