"""Whose word a manifest is."""

from __future__ import annotations

from discreet.audit.findings import Finding
from discreet.manifest.signature import PublicKey, Signature
from discreet.reading import Release

SUBJECT = "signature"


def signature_finding(release: Release, key: PublicKey | None) -> Finding:
    """Check the signature with the key that was given, or with the one that the manifest names."""
    signature = release.manifest.signature
    if signature is None:
        return _unsigned(key)
    fits = PublicKey.from_hex(signature.public_key).verifies(release.document, signature)
    if not fits:
        return Finding(SUBJECT, "failure", "does not fit: the manifest was changed after it was signed")
    if key is None:
        return Finding(
            SUBJECT,
            "unchecked",
            f"fits the key {_short(signature)} that the manifest itself names; to learn whose key that is, give the "
            "audit the steward's public key",
        )
    if key.hex != signature.public_key:
        return Finding(SUBJECT, "failure", f"made with another key ({_short(signature)}) than the one given")
    return Finding(SUBJECT, "ok", f"the manifest is as the holder of the given key ({_short(signature)}) signed it")


def _unsigned(key: PublicKey | None) -> Finding:
    if key is not None:
        return Finding(SUBJECT, "failure", "there is none, though a key was given to check it with")
    return Finding(
        SUBJECT,
        "unchecked",
        "there is none. Whoever could write the file could have rewritten its manifest to fit: cells with their "
        "digests, weights with their ε, rows per person with the guarantee. This audit cannot know",
    )


def _short(signature: Signature) -> str:
    return f"{signature.public_key[:16]}…"
