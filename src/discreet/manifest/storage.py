"""Where a manifest lives: inside a Parquet file, or beside the table with a digest that ties the two.

Parquet
    Under the key ``discreet`` of the file's metadata. Over 16 MB it lies beside the file instead, and the
    metadata hold its SHA-256.
CSV
    In ``<output>.manifest.json``, which holds the SHA-256 of the table.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from discreet.errors import ManifestError, ReleaseError
from discreet.manifest.checks import mapping
from discreet.manifest.document import FORMAT, Manifest, check_format, refuse_constant
from discreet.manifest.tables import ParquetTable, reading

#: The key in the metadata of a Parquet file. It never changes.
KEY = b"discreet"
#: Largest manifest kept inside a Parquet file: readers load the whole footer before the first row.
EMBEDDED_BYTES = 16_000_000
#: Made once: with options of its own, json.loads would make one for every call.
_DECODER = json.JSONDecoder(parse_constant=refuse_constant)
#: Largest manifest that is also repeated in the schema that Arrow stores.
_IN_SCHEMA_BYTES = 1_000_000


def sidecar_path(path: Path) -> Path:
    """Where the manifest lies when it is not inside the file."""
    return path.with_name(path.name + ".manifest.json")


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
    return (manifest.with_digest(digest).to_json(indent=1) + "\n").encode()


def read_parquet_manifest(table: ParquetTable) -> tuple[Manifest, Mapping[str, Any]]:
    """The manifest of a Parquet file, checked against the rows and columns that are there, and its plain data."""
    content = table.metadata.get(KEY)
    if content is None:
        raise ReleaseError(f"{table.path.name} is not a release: it holds no manifest of discreet")
    data = _json(content)
    if "sidecar" in data:
        check_format(data)
        content = _sidecar(table.path)
        expected = mapping(data["sidecar"], "the pointer to the sidecar").get("sha256")
        if hashlib.sha256(content).hexdigest() != expected:
            raise ManifestError(
                f"{sidecar_path(table.path).name} is not the manifest of {table.path.name}: its SHA-256 differs"
            )
        data = _json(content)
    manifest = Manifest.from_dict(data)
    if manifest.rows != table.rows:
        raise ManifestError(
            f"{table.path.name} does not match its manifest: "
            f"it has {table.rows} rows where {manifest.rows} were released"
        )
    if table.schema.names != [column.name for column in manifest.columns]:
        raise ManifestError(f"{table.path.name} does not match its manifest: its columns are not the released ones")
    return manifest, data


def read_csv_manifest(path: Path) -> tuple[Manifest, Mapping[str, Any]]:
    """The manifest beside a CSV file, checked against the digest of the file, and its plain data."""
    data = _json(_sidecar(path))
    manifest = Manifest.from_dict(data)
    if manifest.digest is None:
        raise ManifestError(f"{sidecar_path(path).name} is damaged: it holds no digest of the table")
    with reading(path, "CSV"), path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != manifest.digest:
        raise ManifestError(f"{path.name} does not match its manifest: its SHA-256 differs, so it was changed")
    return manifest, data


def _sidecar(path: Path) -> bytes:
    beside = sidecar_path(path)
    if not beside.is_file():
        raise ReleaseError(f"{path.name} is not a release: there is no {beside.name} beside it")
    with reading(beside, "manifest"):
        return beside.read_bytes()


def _json(content: bytes) -> Mapping[str, Any]:
    try:
        data = _DECODER.decode(content.decode())
    except (ValueError, RecursionError):
        raise ManifestError("the manifest is damaged: it is not valid JSON") from None
    return mapping(data, "the top level")
