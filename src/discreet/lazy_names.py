"""Names of a package that are loaded when they are first asked for, so that an import waits for nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(package: str, homes: Mapping[str, str | None]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package (PEP 562).

    Parameters
    ----------
    package : str
        Its name; it is being imported.
    homes : mapping of str to str or None
        The module below the package in which each name is; None: the name is a module itself.
    """
    module = sys.modules[package]

    def load(name: str) -> Any:
        """What is asked for, when it is first asked for."""
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = homes[name]
        if home is None:
            return import_module(f"{package}.{name}")
        value = getattr(import_module(f"{package}.{home}"), name)
        setattr(module, name, value)
        return value

    def listed() -> list[str]:
        return sorted(module.__all__)

    return load, listed
