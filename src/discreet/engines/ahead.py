"""Steps of a pipeline that run in a thread of their own: a little ahead of whoever takes what they make, or beside."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from types import TracebackType
from typing import Any, Self, TypeVar

from discreet.engines.at_once import UNWINDING_SECONDS

Item = TypeVar("Item")

#: Items that are made before they are asked for.
_DEPTH = 2
_DONE = object()


class Ahead(Iterator[Item]):
    """The same items in the same order, made in a thread from now on; an error comes where it would have come.

    Closing it stops the thread and closes the source.
    """

    def __init__(self, items: Iterable[Item]) -> None:
        self._made: queue.Queue[Any] = queue.Queue(_DEPTH)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._make, args=(items,), name="discreet-ahead", daemon=True)
        self._thread.start()

    def _make(self, items: Iterable[Item]) -> None:
        source: Iterator[Item] = iter(items)
        try:
            for item in source:
                self._put((item, None))
                if self._stop.is_set():
                    break
        except BaseException as error:
            self._put((None, error))
        else:
            self._put((_DONE, None))
        finally:
            close = getattr(source, "close", None)
            if close is not None:
                close()

    def _put(self, item: Any) -> None:
        while not self._stop.is_set():
            with contextlib.suppress(queue.Full):
                self._made.put(item, timeout=0.05)
                return

    def __next__(self) -> Item:
        if self._stop.is_set():
            raise StopIteration
        item, error = self._made.get()
        if error is None and item is not _DONE:
            return item  # type: ignore[no-any-return]  # what the queue holds
        self.close()
        raise StopIteration if error is None else error

    def close(self) -> None:
        """Make nothing more."""
        self._stop.set()
        self._thread.join(UNWINDING_SECONDS)


def side_by_side(streams: Iterable[Iterable[Item]], at_once: int) -> Generator[Item, None, None]:
    """The items of several streams, one stream after the other; the next ones are made meanwhile."""
    started: deque[Ahead[Item]] = deque()
    waiting = iter(streams)
    try:
        while True:
            started.extend(Ahead(stream) for stream in islice(waiting, at_once - len(started)))
            if not started:
                return
            yield from started[0]
            started.popleft().close()
    finally:
        for stream in started:
            stream.close()


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
