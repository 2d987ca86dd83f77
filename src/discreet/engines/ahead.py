"""A step of a pipeline that runs in a thread of its own, a little ahead of whoever takes what it makes."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Generator, Iterable, Iterator
from typing import Any, TypeVar

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
