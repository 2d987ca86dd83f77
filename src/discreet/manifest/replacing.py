"""A release that is replaced or added to while it is opened: a reader gets the old one or the new one, whole."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from discreet.errors import InputError, ReleaseError, SystemFailureError
from discreet.files import Identity
from discreet.files.whole import replaced_path
from discreet.manifest.parts import MANIFEST_NAME
from discreet.manifest.storage import sidecar_path

Opened = TypeVar("Opened")

#: How often a release may be replaced while it is opened; each time it is opened anew.
_ATTEMPTS = 50
#: How long a name may be without a release while a folder is replaced, where two names cannot be exchanged at once.
_GAP_SECONDS = 2.0


def steadily(path: Path, open_now: Callable[[], Opened]) -> Opened:
    """What opening gives or raises, if the same release lay at the path before and after; else it is opened again."""
    for _ in range(_ATTEMPTS):
        before = _state(path)
        try:
            opened = open_now()
        except (InputError, SystemFailureError):
            if _state(path) == before:
                raise
        else:
            if _state(path) == before:
                return opened
    raise ReleaseError(f"{path} was replaced {_ATTEMPTS} times while it was opened; open it when that has ended")


def _state(path: Path) -> tuple[Identity | None, ...]:
    """Which table and manifest lie at a path; a folder that is being replaced is waited for."""
    if not path.name:  # a folder above, whose name is not written here
        return (_identity(path), _identity(path / MANIFEST_NAME))
    deadline = time.monotonic() + _GAP_SECONDS
    while not os.path.lexists(path) and replaced_path(path).is_dir():
        if time.monotonic() > deadline:
            raise ReleaseError(
                f"there is no {path}: a process was stopped while it replaced this release; the earlier release is "
                f"complete in {replaced_path(path)}, rename it or repeat the release"
            )
        time.sleep(_GAP_SECONDS / 100)
    return tuple(_identity(one) for one in (path, path / MANIFEST_NAME, sidecar_path(path)))


def _identity(path: Path) -> Identity | None:
    try:
        return Identity.of(os.stat(path))
    except (OSError, ValueError):
        return None
