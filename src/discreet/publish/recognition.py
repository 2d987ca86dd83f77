"""The same truth under another name: digests of private columns under a key that only their owner has.

A digest of a table could be compared with the digest of a guess, so it is an HMAC under a key of its own, of mode 0600,
in another folder than the ledger. Whoever holds both can confirm a guess of a whole column; the ledger alone says
nothing.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import os
import secrets
import warnings
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa

from discreet import arrow_functions as pc
from discreet.blocks import Block
from discreet.errors import ReleaseError, SystemFailureError
from discreet.files import read_secret, write_whole
from discreet.publish.ledger import LedgerWarning

#: Names another file for the key; when it is empty, no digests are kept.
VARIABLE = "DISCREET_LEDGER_KEY"
_BYTES = 32


def key_path() -> Path | None:
    """``$XDG_CONFIG_HOME/discreet/ledger.key``, or ``~/.config/discreet/ledger.key``; None when none is wanted."""
    named = os.environ.get(VARIABLE)
    if named is not None:
        return Path(named) if named else None
    try:
        folder = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    except RuntimeError:
        raise SystemFailureError(
            f"there is no home folder for the key of the ledger; name one with {VARIABLE}"
        ) from None
    return Path(folder) / "discreet" / "ledger.key"


def read_key() -> bytes | None:
    """The key, made when there is none yet. A key that cannot be had is said, and the release goes on without."""
    try:
        path = key_path()
        return None if path is None else _read(path)
    except (OSError, ReleaseError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        warnings.warn(
            f"the ledger will not recognise this table under another name: its key cannot be used ({why})",
            LedgerWarning,
            stacklevel=4,
        )
        return None


def _read(path: Path) -> bytes:
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with contextlib.suppress(ReleaseError):  # another release made it at the same moment
            write_whole(path, secrets.token_bytes(_BYTES), private=True)
    key = read_secret(path, _BYTES, "key", ReleaseError)
    if len(key) != _BYTES:
        raise ReleaseError(f"{path} holds no key")
    return key


class TruthDigest:
    """Digests of the private columns of a table while it is read: of their values in order, however they are stored.

    Codes are digested together with what they mean, so that a CSV file, a Parquet file and a data frame of the same
    answers have the same digest wherever a plan declares the same domain.
    """

    def __init__(self, key: bytes, blocks: Iterable[Block]) -> None:
        self._rows = 0
        self._columns = {}
        for block in blocks:
            for name in block.columns:
                head = json.dumps([name, block.truths_of(name).to_dict()], sort_keys=True).encode()
                self._columns[name] = tuple(
                    hmac.new(key, part + head, hashlib.sha256) for part in (b"values", b"blanks")
                )

    def update(self, batch: pa.RecordBatch) -> None:
        """Take in a batch of codes."""
        for name, (values, blanks) in self._columns.items():
            column = batch.column(name)
            if column.null_count:
                missing = np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False)) + self._rows
                blanks.update(missing.astype("<i8").tobytes())
                column = pc.fill_null(column, 0)
            values.update(np.ascontiguousarray(column.to_numpy()).data)
        self._rows += batch.num_rows

    def digests(self) -> dict[str, str]:
        """One digest per column, of all rows so far."""
        length = self._rows.to_bytes(8, "big")
        found = {}
        for name, (values, blanks) in self._columns.items():
            ended = values.copy()
            ended.update(blanks.digest() + length)
            found[name] = ended.hexdigest()
        return found
