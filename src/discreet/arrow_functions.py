"""Functions of Arrow on columns: ``pyarrow.compute``, loaded when the first of them is called.

Naming its three hundred functions takes Arrow a twentieth of a second, which a small release does not have to wait for.
"""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    """A function of ``pyarrow.compute``."""
    from pyarrow import compute

    return getattr(compute, name)
