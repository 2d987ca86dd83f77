"""Packages that only surveys need: asked for when they are used, with a sentence that says how to get them."""

from __future__ import annotations

import importlib.util

from discreet.errors import InputError


def needed(package: str, extra: str) -> None:
    """Refuse to go on without a package.

    >>> needed("json", "survey")
    >>> needed("no_such_package", "survey")
    Traceback (most recent call last):
    discreet.errors.InputError: this needs no_such_package: pip install 'discreet[survey]'
    """
    if importlib.util.find_spec(package) is None:
        raise InputError(f"this needs {package}: pip install 'discreet[{extra}]'")
