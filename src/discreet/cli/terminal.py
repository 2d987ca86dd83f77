"""How commands speak: results on standard output, one clear sentence and an exit code for failures."""

from __future__ import annotations

import errno
import json
import os
import re
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from types import FrameType
from typing import TYPE_CHECKING, Any, ParamSpec

import typer

from discreet.cli.wording import in_options, running
from discreet.errors import DiscreetError, DomainError, InputError
from discreet.plain_text import CONTROL, one_line, printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, ProgressColumn

P = ParamSpec("P")

BAD_INPUT, ENVIRONMENT, AUDIT_FAILED, INTERRUPTED = 2, 1, 3, 130


class Terminated(BaseException):
    """The system asks the process to end."""

    def __init__(self, signal_number: int) -> None:
        self.signal = signal_number
        super().__init__(signal_number)


@contextmanager
def terminable() -> Iterator[None]:
    """Let a request to end, or a closed terminal, unwind what is under way, as Ctrl-C does; a second one waits."""
    earlier: dict[int, Any] = {}

    def end(number: int, _: FrameType | None) -> None:
        for each in earlier:
            signal.signal(each, signal.SIG_IGN)
        raise Terminated(number)

    if threading.current_thread() is threading.main_thread():
        for name in ("SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) == signal.SIG_DFL:
                earlier[number] = signal.signal(number, end)
    try:
        yield
    finally:
        for number, handler in earlier.items():
            signal.signal(number, handler)


def command(function: Callable[P, None]) -> Callable[P, None]:
    """Turn errors of a command into a sentence on standard error and the right exit code."""

    @wraps(function)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> None:
        token = running.set(function)
        try:
            with warnings.catch_warnings(), terminable():
                warnings.simplefilter("default")
                warnings.showwarning = _show_warning
                function(*args, **kwargs)
        except DomainError as error:
            _refuse_cells(error, shown=kwargs.get("show_values"))
        except InputError as error:
            fail(in_options(error), BAD_INPUT)
        except (typer.Exit, typer.Abort):
            raise
        except KeyboardInterrupt:
            fail("interrupted; nothing unfinished was left behind", INTERRUPTED)
        except Terminated as ended:
            fail("terminated; nothing unfinished was left behind", 128 + ended.signal)
        except (DiscreetError, OSError) as error:
            fail(_sentence(error), ENVIRONMENT)
        except MemoryError:  # of Python, numpy or Arrow
            fail("this machine has not enough memory for this; nothing unfinished was left behind", ENVIRONMENT)
        except Exception as error:
            if os.environ.get("DISCREET_DEBUG"):
                raise
            # The text of an unforeseen error may quote a private value.
            fail(
                f"unforeseen {type(error).__name__}; its text is not shown because it could quote private data "
                "(DISCREET_DEBUG=1 shows it)",
                ENVIRONMENT,
            )
        finally:
            running.reset(token)

    return guarded


def _refuse_cells(error: DomainError, *, shown: object) -> None:
    """Say which cells do not fit; ``shown`` says whether with values, and is None where a command cannot show any."""
    found = error.violations
    quiet = shown is False and error.value is not None
    if sum(one.rows for one in found) <= 1:
        counted = "" if found else ", --check counts all that do not fit"
        hint = f" (--show-values shows it on this terminal{counted})" if quiet else ""
        said = in_options(error)
        fail(f"{said} (the value is {error.value!r})" if shown else f"{said}{hint}", BAD_INPUT)
    what = "1 private column does" if len(found) == 1 else f"{len(found)} private columns do"
    complain(f"error: {what} not fit the plan:")
    for one in found:
        value = f" (the value is {one.value!r})" if shown else ""
        complain(f"  {one_line(one.sentence() + value)}")
    if quiet:
        complain("  (--show-values shows the first such value of each column on this terminal)")
    raise typer.Exit(BAD_INPUT)


def _sentence(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    return in_options(error)


def fail(sentence: str, code: int) -> None:
    """Say what is wrong and leave."""
    complain(f"error: {one_line(sentence)}")
    raise typer.Exit(code)


def complain(line: str) -> None:
    """A line on standard error; where that is closed or full, the exit code remains."""
    with suppress(OSError, ValueError):
        typer.echo(line, err=True)


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    said = f"warning: {one_line(in_options(message))}"
    if _live is None:
        complain(said)
    else:  # above the line on which progress is shown
        _live.print(said, markup=False, highlight=False, soft_wrap=True)


def emit(text: str, data: Any, as_json: bool, *, made: str | None = None) -> None:
    """Print a result for people, or as JSON.

    ``made`` states what the command has done that stays done: where the result cannot be printed, this is said in its
    place, so that nobody repeats the command.
    """
    if as_json:
        # Control characters beyond ASCII are written as JSON escapes, so that the text still reads back the same.
        written = json.dumps(data, ensure_ascii=not _writes_unicode(), indent=2, allow_nan=False, default=_plain)
        shown = re.sub(f"(?![\n])[{CONTROL}]", lambda found: f"\\u{ord(found[0]):04x}", written)
    else:
        shown = printable(text)
    try:
        if sys.stdout is None:
            raise OSError(errno.EBADF, "standard output is closed")
        print(shown, flush=True)
    except (OSError, ValueError) as error:
        give_up_output()
        why = _sentence(error) if isinstance(error, OSError) else "standard output is closed"
        if made is not None:
            fail(f"{made}, but its description could not be printed ({why}); do not repeat the command", ENVIRONMENT)
        if isinstance(error, BrokenPipeError):  # whoever read the result has seen enough of it
            raise typer.Exit(ENVIRONMENT) from None
        fail(f"the result could not be printed ({why})", ENVIRONMENT)


def _writes_unicode() -> bool:
    """Whether standard output takes every character as it is."""
    return (getattr(sys.stdout, "encoding", None) or "utf-8").lower().replace("-", "").startswith("utf")


def give_up_output() -> None:
    """Let what is still to be written to standard output go nowhere: Python would fail on it again at its end."""
    with suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(type(value).__name__)


#: The console on which progress is shown at this moment.
_live: Console | None = None


@contextmanager
def _shown(*columns: str | ProgressColumn) -> Iterator[Progress]:
    """A line of progress on standard error, which goes away at the end; warnings are written above it."""
    global _live  # noqa: PLW0603  # there is one terminal
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True) as bar:
        _live = console
        try:
            yield bar
        finally:
            _live = None


def _watched() -> bool:
    """Whether somebody sees a line that is written over: at a terminal, not in a notebook, which keeps each of them."""
    return (
        sys.stderr is not None
        and sys.stderr.isatty()
        and os.environ.get("TERM") != "dumb"
        and "JPY_PARENT_PID" not in os.environ
    )


@contextmanager
def progress_bar(description: str, total: int | None) -> Iterator[Callable[[int], None] | None]:
    """A progress bar on standard error when somebody is watching; yields the callback or None."""
    if not _watched():
        yield None
        return
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn(description), BarColumn(), TaskProgressColumn(), TextColumn("{task.completed:,} rows"))
    with _shown(*columns, TimeRemainingColumn()) as bar:
        task = bar.add_task(description, total=total)
        yield lambda done: bar.update(task, completed=done)


@contextmanager
def working(description: str) -> Iterator[None]:
    """Say that a computation of unknown length goes on, and for how long, when somebody is watching."""
    if not _watched():
        yield
        return
    from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

    with _shown(SpinnerColumn(), TextColumn(description), TimeElapsedColumn()) as bar:
        bar.add_task(description, total=None)
        yield
