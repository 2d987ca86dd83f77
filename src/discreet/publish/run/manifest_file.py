"""How a manifest is written into a table or beside it, and whether what lies there belongs together."""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from discreet.files import file_sha256
from discreet.manifest import Manifest
from discreet.manifest.document import FORMAT
from discreet.manifest.storage import KEY, manifests_beside, pointer, table_digest
from discreet.manifest.tables import PARQUET, reading

#: Largest manifest kept inside a Parquet file: readers load the whole footer before the first row.
EMBEDDED_BYTES = 16_000_000
#: Largest manifest that is also repeated in the schema that Arrow stores.
_IN_SCHEMA_BYTES = 1_000_000


def footer_entry(manifest: Manifest) -> tuple[bytes, bytes | None]:
    """What goes into the metadata of a Parquet file, and what goes beside it, if anything."""
    content = manifest.to_json().encode()
    if len(content) <= EMBEDDED_BYTES:
        return content, None
    pointer = {"format": FORMAT, "sidecar": {"sha256": hashlib.sha256(content).hexdigest()}}
    return json.dumps(pointer).encode(), content


def arrow_schema_entry(schema: pa.Schema, entry: bytes) -> dict[bytes, bytes]:
    """The types that Arrow readers restore, in the form that Arrow itself stores.

    A manifest of ordinary size is part of it, so that it also shows in ``pq.read_schema(path).metadata`` and
    travels along when somebody rewrites the file with Arrow, whose number of rows then gives it away.
    """
    if len(entry) <= _IN_SCHEMA_BYTES:
        schema = schema.with_metadata({KEY: entry})
    return {b"ARROW:schema": base64.b64encode(schema.serialize().to_pybytes())}


def sidecar_of_csv(manifest: Manifest, digest: str) -> bytes:
    """The manifest of a CSV file with this SHA-256."""
    return (replace(manifest, digest=digest).to_json(indent=1) + "\n").encode()


def is_manifest(content: bytes) -> bool:
    """Whether this was written as a manifest by some version of discreet."""
    try:
        data = json.loads(content)
    except (ValueError, RecursionError):
        return False
    return isinstance(data, dict) and {"format", "software", "release", "blocks"} <= data.keys()


def belongs(manifest: bytes, path: Path) -> bool:
    """Whether a manifest beside a table is the one of this table, by its digest."""
    if not path.is_file():
        return False
    if path.suffix.lower() in PARQUET:
        return hashlib.sha256(manifest).hexdigest() == pointer(path)
    with reading(path, "CSV"):
        return table_digest(manifest) == file_sha256(path)


def is_torn(path: Path) -> bool:
    """Whether a table and the manifests beside it do not belong together, so that no release is there."""
    if not path.is_file():
        return False
    beside = [content for content in manifests_beside(path) if is_manifest(content)]
    claimed = pointer(path) is not None if path.suffix.lower() in PARQUET else bool(beside)
    return claimed and not any(belongs(content, path) for content in beside)
