"""The command line: an edge without mathematics of its own."""

from __future__ import annotations

import atexit
import gc
import os
import sys
from contextlib import suppress
from io import TextIOWrapper

#: Commands that calculate on all cores and wait for nobody.
_BATCH_WORK = ("release", "audit")


def main() -> None:
    """Run the command line: the command that is named first or, for help and completion, all of them."""
    # Start-up makes some hundred thousand objects that stay: looking for garbage among them took a tenth of it, and
    # as long again at the end, when all of it goes anyway.
    gc.set_threshold(100_000, 20, 100)
    atexit.register(gc.freeze)
    _prepare_streams()
    named = sys.argv[1] if len(sys.argv) > 1 else None
    if named in _BATCH_WORK:
        _without_interruptions()
    from discreet.cli.app import COMMANDS, application

    try:
        application(named if named in COMMANDS else None)()
    except OSError as error:  # help and version are printed outside of commands
        from discreet.cli.terminal import ENVIRONMENT, complain, give_up_output

        give_up_output()
        complain(f"error: the text could not be printed ({error.strerror})")
        sys.exit(ENVIRONMENT)


def _prepare_streams() -> None:
    """Keep streams that are closed from becoming files of a release, and write what an encoding lacks as escapes."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, which is this one
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _without_interruptions() -> None:
    """Ask Linux not to stop a thread that calculates whenever another wakes up; a tenth of a release on two cores."""
    if sys.platform == "linux" and os.sched_getscheduler(0) == os.SCHED_OTHER:
        with suppress(OSError):  # where a sandbox does not allow it, it goes on as it is
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
