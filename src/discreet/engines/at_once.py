"""Several threads work on one stream: each takes the next item when it is free, and results keep the order of items.

There are as many threads as workers, the caller's among them: while the result that it waits for is not there, it works
on a later item. So the steps of a pipeline share the cores, whichever step is the slow one, and no thread waits for a
core that another thread of the same pipeline holds.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future
from typing import Generic, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

#: Results that wait for each worker: enough that none is idle, few enough for memory.
_AHEAD = 2
#: How long a thread is waited for that nobody needs any more: it may be blocked in a read.
UNWINDING_SECONDS = 1.0


def at_once(items: Iterable[Item], function: Callable[[Item], Result], workers: int) -> Generator[Result, None, None]:
    """What the function gives for each item, in the order of the items; an error comes where it would have come.

    Items are taken by one thread at a time, never more than a few ahead of the results that were asked for.

    Examples
    --------
    >>> list(at_once(range(5), lambda number: number**2, workers=3))
    [0, 1, 4, 9, 16]
    """
    crew = _Crew(items, function, _AHEAD * workers)
    helpers = [threading.Thread(target=crew.help, name="discreet", daemon=True) for _ in range(workers - 1)]
    patience: float | None = UNWINDING_SECONDS
    try:
        for helper in helpers:
            helper.start()
        yield from crew.results()
        patience = None
    finally:
        crew.stop()
        for helper in helpers:
            if helper.ident is not None:
                helper.join(patience)


class _Crew(Generic[Item, Result]):
    """What the threads share; it changes under one condition only."""

    def __init__(self, items: Iterable[Item], function: Callable[[Item], Result], most: int) -> None:
        self._items = iter(items)
        self._function = function
        self._most = most
        self._changed = threading.Condition()
        self._taking = False  # whether a thread is taking the next item
        self._over = False  # whether nobody takes an item any more
        self._waiting: deque[Future[Result]] = deque()  # a result for each item that was taken, done or not

    def help(self) -> None:
        """Work until the items are over."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._over or self._free())
                if self._over:
                    return
                self._taking = True
            self._work()

    def results(self) -> Generator[Result, None, None]:
        """The results in order; whoever asks for one that is not there works, as the others do, until it is."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._next_is_done() or self._free() or self._finished())
                if self._finished():
                    return
                made = self._waiting.popleft() if self._next_is_done() else None
                self._taking = self._taking or made is None
                self._changed.notify_all()
            if made is None:
                self._work()
            else:
                yield made.result()

    def stop(self) -> None:
        """Let nobody take a further item."""
        with self._changed:
            self._over = True
            self._changed.notify_all()

    def _free(self) -> bool:
        """Whether the next item may be taken."""
        return not (self._over or self._taking) and len(self._waiting) < self._most

    def _next_is_done(self) -> bool:
        return bool(self._waiting) and self._waiting[0].done()

    def _finished(self) -> bool:
        return self._over and not self._taking and not self._waiting

    def _work(self) -> None:
        """Take the next item and work on it."""
        result: Future[Result] = Future()
        try:
            item = next(self._items)
        except StopIteration:
            self._took(over=True)
            return
        except BaseException as error:  # it belongs to whoever asks for this result, in whichever thread it came up
            result.set_exception(error)
            self._took(result, over=True)
            return
        self._took(result)
        try:
            result.set_result(self._function(item))
        except BaseException as error:
            result.set_exception(error)
        with self._changed:
            self._changed.notify_all()

    def _took(self, *results: Future[Result], over: bool = False) -> None:
        """Let another thread take the next item."""
        with self._changed:
            self._waiting.extend(results)
            self._taking = False
            self._over = self._over or over
            self._changed.notify_all()
