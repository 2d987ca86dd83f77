"""Where a manifest lives: inside a Parquet file, or beside the table with a digest that ties the two.

Parquet
    Under the key ``discreet`` of the file's metadata. Over 16 MB it lies beside the file instead, and the
    metadata hold its SHA-256.
CSV
    In ``<output>.manifest.json``, which holds the SHA-256 of the table.

A table and a manifest beside it are two files, but one release. While a release is put in place its manifest waits
under a name of its own, ``.discreet-<output>.manifest``; the table getting its name is the moment that counts, and a
reader who comes in between takes the manifest, here or there, that belongs to the table. What belongs together is
decided by digests alone, so a process may be killed anywhere.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from discreet import limits
from discreet.blocks.checks import mapping
from discreet.errors import DiscreetError, ManifestError, ReleaseError
from discreet.files import file_sha256, ordinary_content, ordinary_file
from discreet.manifest.document import FORMAT, Manifest, check_format, parsed
from discreet.tables.footer import Footer, check_copies
from discreet.tables.readers import PARQUET, ParquetTable, reading

#: The key in the metadata of a Parquet file. It never changes.
KEY = b"discreet"


def sidecar_path(path: Path) -> Path:
    """Where the manifest lies when it is not inside the file."""
    return path.with_name(path.name + ".manifest.json")


def staged_path(path: Path) -> Path:
    """Where the manifest waits while its table is put in place."""
    return path.with_name(f".discreet-{path.name}.manifest")


def read_parquet_manifest(table: ParquetTable) -> tuple[Manifest, Mapping[str, Any]]:
    """The manifest of a Parquet file, checked against the rows and columns that are there, and its plain data."""
    content = table.metadata.get(KEY)
    if content is None:
        raise ReleaseError(f"{table.path.name} is not a release: it holds no manifest of discreet")
    with reading(table.path, "Parquet"), ordinary_file(table.path, same=table.identity) as file:
        pairs = Footer.read(file).pairs
    check_copies(pairs, KEY)
    if pairs != table.metadata:
        raise ManifestError(f"{table.path.name} is damaged: its footer can be read in two ways")
    data = parsed(content)
    if "sidecar" in data:
        check_format(data)
        expected = mapping(data["sidecar"], "the pointer to the sidecar").get("sha256")
        for beside in _manifests(table.path):
            if hashlib.sha256(beside).hexdigest() == expected:
                data = parsed(beside)
                break
        else:
            raise ManifestError(
                f"{sidecar_path(table.path).name} is not the manifest of {table.path.name}: its SHA-256 differs, "
                "so one of them was changed or is being replaced"
            )
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
    before = _manifests(path)
    with reading(path, "CSV"):
        digest = file_sha256(path)
    # What everybody sees goes before what waits.
    data = _with_digest(reversed(before), digest)
    if data is None:  # again, since a replacement may have come in between
        data = _with_digest(reversed(_manifests(path)), digest)
    if data is not None:
        return Manifest.from_dict(data), data
    if Manifest.from_json(before[-1]).digest is None:
        raise ManifestError(f"{sidecar_path(path).name} is damaged: it holds no digest of the table")
    raise ManifestError(
        f"{path.name} does not match its manifest: its SHA-256 differs, so it was changed or is being replaced"
    )


def _with_digest(manifests: Iterable[bytes], digest: str) -> Mapping[str, Any] | None:
    """The plain data of the first manifest that names this digest of its table."""
    for content in manifests:
        with contextlib.suppress(ManifestError):
            data = parsed(content)
            if _named_digest(data) == digest:
                return data
    return None


def other_manifest(path: Path, document: Mapping[str, Any]) -> bool:
    """Whether a file beside a table passes for its manifest and is not this one, which was read from elsewhere."""
    try:
        return parsed(manifest_bytes(sidecar_path(path))) != document
    except FileNotFoundError:
        return False
    except (DiscreetError, OSError):
        return True


def manifest_bytes(path: Path) -> bytes:
    """What a file beside a table holds, in the size that a manifest can have."""
    return ordinary_content(path, limits.MANIFEST_BYTES)


def manifests_beside(path: Path) -> list[bytes]:
    """The manifests beside a table; first the one that waits, since it may be put in place meanwhile."""
    found = []
    for beside in (staged_path(path), sidecar_path(path)):
        with reading(beside, "manifest"), contextlib.suppress(FileNotFoundError, IsADirectoryError):
            found.append(manifest_bytes(beside))
    return found


def _manifests(path: Path) -> list[bytes]:
    """The manifests beside a table, of which there must be one."""
    found = manifests_beside(path)
    if not found:
        raise ReleaseError(f"{path.name} is not a release: there is no {sidecar_path(path).name} beside it")
    return found


def table_digest(manifest: bytes) -> str | None:
    """The SHA-256 of a CSV table that a manifest names."""
    try:
        return _named_digest(json.loads(manifest))
    except (ValueError, RecursionError):
        return None


def _named_digest(data: Any) -> str | None:
    try:
        digest = data["digest"]["sha256"]
    except (TypeError, KeyError):
        return None
    return digest if isinstance(digest, str) else None


def pointer(path: Path) -> str | None:
    """The SHA-256 of the manifest beside a Parquet file that its metadata name, if they do."""
    try:
        digest = json.loads(ParquetTable(path).metadata[KEY])["sidecar"]["sha256"]
    except (DiscreetError, ValueError, TypeError, KeyError, RecursionError):
        return None
    return digest if isinstance(digest, str) else None


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
