"""The command line: an edge without mathematics of its own."""

from __future__ import annotations

import atexit
import gc
import sys


def main() -> None:
    """Run the command line: the command that is named first or, for help and completion, all of them."""
    # Start-up makes some hundred thousand objects that stay: looking for garbage among them took a tenth of it, and
    # as long again at the end, when all of it goes anyway.
    gc.set_threshold(100_000, 20, 100)
    atexit.register(gc.freeze)
    from discreet.cli.app import COMMANDS, application

    named = sys.argv[1] if len(sys.argv) > 1 else None
    application(named if named in COMMANDS else None)()
