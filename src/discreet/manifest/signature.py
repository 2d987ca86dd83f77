"""Signatures: who holds the public key can tell that nobody else changed a manifest, however well the change fits.

An Ed25519 signature (RFC 8032) over the canonical JSON (RFC 8785) of everything in the manifest except the field
``signature``. The manifest holds the digest of the cells, so the cells are signed with it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from discreet import arguments, limits
from discreet.blocks.checks import mapping, one_of
from discreet.errors import ManifestError, ReleaseError
from discreet.files import ordinary_content, reading, write_whole
from discreet.manifest.canonical_json import canonical_json

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

ALGORITHM = "ed25519"
#: Where the passphrase of an encrypted key is looked for.
PASSPHRASE_VARIABLE = "DISCREET_KEY_PASSPHRASE"

_HEXADECIMAL = {"public_key": re.compile(r"[0-9a-f]{64}"), "value": re.compile(r"[0-9a-f]{128}")}


@dataclass(frozen=True)
class Signature:
    """A signature and the public key that it is said to be of, both in hexadecimal."""

    public_key: str
    value: str

    def __post_init__(self) -> None:
        for name, pattern in _HEXADECIMAL.items():
            if not isinstance(getattr(self, name), str) or not pattern.fullmatch(getattr(self, name)):
                raise ManifestError(f"the manifest is damaged: signature.{name} must be hexadecimal of full length")

    def to_dict(self) -> dict[str, str]:
        """Plain data."""
        return {"algorithm": ALGORITHM, "public_key": self.public_key, "value": self.value}

    @classmethod
    def from_dict(cls, data: Any) -> Self:
        """Rebuild from plain data."""
        data = mapping(data, "the signature")
        if data.keys() != {"algorithm", "public_key", "value"}:
            raise ManifestError("the manifest is damaged: signature must have algorithm, public_key and value, only")
        one_of(data.get("algorithm"), "signature.algorithm", (ALGORITHM,))
        return cls(data.get("public_key"), data.get("value"))


def signed_bytes(document: Mapping[str, Any]) -> bytes:
    """What is signed: the manifest as it was published, without its signature."""
    return canonical_json({key: value for key, value in document.items() if key != "signature"})


class KeyPassphraseError(ReleaseError):
    """A private key that is encrypted, and no passphrase or a wrong one was given."""


class SigningKey:
    """A private key, with which a steward signs releases.

    It is never written into a manifest, a message or a representation.
    """

    __slots__ = ("_key", "path")

    def __init__(self, key: Ed25519PrivateKey, path: Path | None = None) -> None:
        self._key = key
        #: The file it was read from, over which nothing may be written.
        self.path = path

    @classmethod
    def read(cls, path: str | os.PathLike[str], passphrase: str | None = None) -> Self:
        """Read a PEM file.

        Parameters
        ----------
        path : path
            A private Ed25519 key in PKCS #8, as ``discreet keys new`` and ``openssl genpkey -algorithm ed25519``
            write it.
        passphrase : str, optional
            Of an encrypted key. Default: the environment variable ``DISCREET_KEY_PASSPHRASE``.
        """
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.serialization import load_pem_private_key

        path = arguments.path(path, "path", ReleaseError)
        if passphrase is not None:
            arguments.text(passphrase, "passphrase", ReleaseError)
        content, name = _content(path), path.name
        encrypted = b"ENCRYPTED" in content
        secret = passphrase if passphrase is not None else os.environ.get(PASSPHRASE_VARIABLE)
        if encrypted and not secret:
            raise KeyPassphraseError(f"{name} is encrypted; give its passphrase in {PASSPHRASE_VARIABLE}")
        try:
            key = load_pem_private_key(content, secret.encode() if encrypted and secret else None)
        except (ValueError, TypeError, UnsupportedAlgorithm):
            if encrypted:
                raise KeyPassphraseError(f"{name} cannot be decrypted with this passphrase") from None
            raise ReleaseError(f"{name} is not a private key in PEM form") from None
        if not isinstance(key, Ed25519PrivateKey):
            raise ReleaseError(f"{name} is not an Ed25519 key; make one with: discreet keys new {name}")
        return cls(key, path)

    @classmethod
    def generate(cls) -> Self:
        """A new key."""
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        return cls(Ed25519PrivateKey.generate())

    @property
    def public(self) -> PublicKey:
        """The key that others check with."""
        return PublicKey(self._key.public_key())

    def sign(self, document: Mapping[str, Any]) -> Signature:
        """Sign a manifest given as plain data."""
        return Signature(self.public.hex, self._key.sign(signed_bytes(document)).hex())

    def pem(self, passphrase: str | None = None) -> bytes:
        """PKCS #8 in PEM form, encrypted when a passphrase is given."""
        from cryptography.hazmat.primitives import serialization as form

        lock = form.BestAvailableEncryption(passphrase.encode()) if passphrase else form.NoEncryption()
        return self._key.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, lock)

    def __repr__(self) -> str:
        return f"<SigningKey of {self.public.hex[:16]}…>"


class PublicKey:
    """A public key, with which anybody checks who signed."""

    __slots__ = ("_key",)

    def __init__(self, key: Ed25519PublicKey) -> None:
        self._key = key

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        """Read a PEM file."""
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
        from cryptography.hazmat.primitives.serialization import load_pem_public_key

        path = arguments.path(path, "path", ReleaseError)
        content, name = _content(path), path.name
        if b"PRIVATE KEY" in content:
            raise ReleaseError(f"{name} is a private key; check with the public one, and keep this one to yourself")
        try:
            key = load_pem_public_key(content)
        except (ValueError, UnsupportedAlgorithm):
            raise ReleaseError(f"{name} is not a public key in PEM form") from None
        if not isinstance(key, Ed25519PublicKey):
            raise ReleaseError(f"{name} is not an Ed25519 key")
        return cls(key)

    @classmethod
    def from_hex(cls, value: str) -> Self:
        """From the 32 bytes that a signature names."""
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        return cls(Ed25519PublicKey.from_public_bytes(bytes.fromhex(value)))

    @property
    def hex(self) -> str:
        """Its 32 bytes in hexadecimal."""
        return self._key.public_bytes_raw().hex()

    def verifies(self, document: Mapping[str, Any], signature: Signature) -> bool:
        """Whether this key signed exactly this manifest."""
        from cryptography.exceptions import InvalidSignature

        try:
            self._key.verify(bytes.fromhex(signature.value), signed_bytes(document))
        except InvalidSignature:
            return False
        return True

    def pem(self) -> bytes:
        """SubjectPublicKeyInfo in PEM form."""
        from cryptography.hazmat.primitives import serialization as form

        return self._key.public_bytes(form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo)

    def __repr__(self) -> str:
        return f"<PublicKey {self.hex[:16]}…>"


def new_keys(path: str | os.PathLike[str], passphrase: str | None = None) -> tuple[Path, Path]:
    """Write a new private key that only its owner can read, and the public key beside it.

    Returns
    -------
    tuple of Path
        The private file, mode 0600, and the public one: ``steward.pem`` and ``steward.public.pem``.
    """
    private = arguments.path(path, "path", ReleaseError)
    if not private.name:
        raise ReleaseError(f'"{path}" is no name for a file; say how the private key is to be called, e.g. steward.pem')
    if passphrase is not None and not arguments.text(passphrase, "passphrase", ReleaseError):
        raise ReleaseError("an empty passphrase protects nothing; give another, or none to leave the key unencrypted")
    public = private.with_name(f"{private.stem}.public.pem")
    for file in (private, public):
        if os.path.lexists(file):
            raise ReleaseError(f"{file} exists already; a key is never overwritten, choose another name")
    key = SigningKey.generate()
    write_whole(private, key.pem(passphrase), private=True)
    try:
        write_whole(public, key.public.pem())
    except BaseException:  # half a pair is of no use, and would stand in the way of the next one
        private.unlink()
        raise
    return private, public


def _content(path: Path) -> bytes:
    """What a key file holds."""
    with reading(path, what="key file"):
        return ordinary_content(path, limits.KEY_BYTES)
