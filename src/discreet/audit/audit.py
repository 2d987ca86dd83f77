"""Check a release against its own manifest, and the manifest against a key."""

from __future__ import annotations

import os
from typing import Any

from discreet import arguments
from discreet.audit.cells import cell_findings
from discreet.audit.findings import Audit, Finding
from discreet.audit.guarantees import guarantee_findings
from discreet.audit.signatures import signature_finding
from discreet.audit.storage import storage_findings
from discreet.errors import InputError
from discreet.manifest.signature import PublicKey
from discreet.manifest.storage import other_manifest, sidecar_path
from discreet.reading import Release


def audit(release: Release, *, public_key: str | os.PathLike[str] | PublicKey | None = None) -> Audit:
    """Recompute what can be recomputed, and say what cannot.

    Every mechanism is rebuilt from its integers and certified again; the stated ε, δ and exposure must not be
    smaller than what the integers give. Every cell is read: the columns must have the digests that the manifest
    states, hold reports that it names, and counts that its channels can produce. The signature is checked.

    Parameters
    ----------
    release : Release
        As opened.
    public_key : path or PublicKey, optional
        The steward's. With it a release that is not signed, or not with this key, fails.
    """
    release = arguments.instance(release, Release, "release")
    key = _public_key(public_key)
    return Audit(
        (
            signature_finding(release, key),
            *_beside(release),
            *storage_findings(release),
            *guarantee_findings(release.manifest),
            *cell_findings(release),
            _randomness(release),
            _order(release),
        )
    )


def _public_key(given: Any) -> PublicKey | None:
    if given is None or isinstance(given, PublicKey):
        return given
    if not isinstance(given, (str, os.PathLike)):
        raise InputError(f"public_key must be a path or a PublicKey, not {type(given).__name__}")
    return PublicKey.read(given)


def _beside(release: Release) -> list[Finding]:
    """People and other programs read the file beside a table, so it must be the manifest that was checked."""
    if release.path is None or not other_manifest(release.path, release.document):
        return []
    shown = sidecar_path(release.path).name
    return [Finding("manifest", "failure", f"{shown} is not the manifest that was checked here: do not believe it")]


def _randomness(release: Release) -> Finding:
    manifest = release.manifest
    if all(block.collected for block in manifest.blocks):
        if manifest.randomness.get("secure") is False:
            return Finding("randomness", "failure", "rows were put in order by a seeded generator, which can be undone")
        return Finding("randomness", "ok", "answers were randomised by the respondents")
    if manifest.randomness.get("secure") is True:
        return Finding("randomness", "ok", "cryptographic generator, as the manifest states")
    return Finding("randomness", "failure", "a seeded generator was used: whoever knows the seed knows the truth")


def _order(release: Release) -> Finding:
    if release.manifest.order == "keep":
        return Finding("row order", "warning", "kept as it was; the steward declared that it reveals nothing")
    return Finding("row order", "ok", "shuffled, as the manifest states")
