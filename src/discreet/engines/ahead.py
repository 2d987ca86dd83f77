"""Steps of a pipeline that run in a thread of their own: a little ahead of whoever takes what they make, or beside."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Any, Self, TypeVar

Item = TypeVar("Item")

#: Items that are made before they are asked for.
_DEPTH = 2
_DONE = object()


def ahead(items: Iterable[Item]) -> Generator[Item, None, None]:
    """The same items in the same order; an error comes where it would have come. Closing it closes its source."""
    made: queue.Queue[Any] = queue.Queue(_DEPTH)
    stop = threading.Event()

    def put(item: Any) -> None:
        while not stop.is_set():
            with contextlib.suppress(queue.Full):
                made.put(item, timeout=0.05)
                return

    def make() -> None:
        source: Iterator[Item] = iter(items)
        try:
            for item in source:
                put((item, None))
                if stop.is_set():
                    break
        except BaseException as error:
            put((None, error))
        else:
            put((_DONE, None))
        finally:
            close = getattr(source, "close", None)
            if close is not None:
                close()

    thread = threading.Thread(target=make, name="discreet-ahead", daemon=True)
    thread.start()
    try:
        while True:
            item, error = made.get()
            if error is not None:
                raise error
            if item is _DONE:
                return
            yield item
    finally:
        stop.set()
        thread.join()


class Beside:
    """Calls that run one after the other while the caller goes on with something else.

    Parameters
    ----------
    threads : bool
        Whether there is a thread for them; without one they run at once.

    Examples
    --------
    >>> done = []
    >>> with Beside(threads=True) as beside:
    ...     beside.call(done.append, 1)
    ...     beside.call(done.append, 2)
    >>> done
    [1, 2]
    """

    def __init__(self, *, threads: bool) -> None:
        self._pool = ThreadPoolExecutor(1, "discreet-beside") if threads else None
        self._last: Future[Any] | None = None

    def call(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Have it done; an error of the call before comes here."""
        if self._pool is None:
            function(*arguments)
            return
        self._settle()
        self._last = self._pool.submit(function, *arguments)

    def _settle(self) -> None:
        if self._last is not None:
            self._last.result()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown()
        if error is None:
            self._settle()
