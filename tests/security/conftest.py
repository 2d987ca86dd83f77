"""What the attacks share: a guard against hanging and swelling, and a state folder of their own."""

from __future__ import annotations

import contextlib
import resource
import signal

import pytest

#: Seconds of the processor after which an attack counts as a hang. Each answers in milliseconds.
PATIENCE = 30
#: How many times longer by the clock, for what waits and computes nothing: others may use the machine as well.
WAITING = 20
#: Kilobytes by which the process may grow while it answers.
GROWTH = 400_000


@contextlib.contextmanager
def bounded(seconds: float = PATIENCE, kilobytes: int = GROWTH):
    """Fail, instead of hanging or filling the memory of the machine, when what is inside does not come to an end."""

    def give_up(*_):
        raise AssertionError(f"no answer within {seconds} seconds")

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    limits = {signal.SIGPROF: (signal.ITIMER_PROF, seconds), signal.SIGALRM: (signal.ITIMER_REAL, WAITING * seconds)}
    previous = {number: signal.signal(number, give_up) for number in limits}
    try:
        for timer, limit in limits.values():
            signal.setitimer(timer, limit)
        yield
    finally:
        for number, (timer, _) in limits.items():
            signal.setitimer(timer, 0)
            signal.signal(number, previous[number])
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < kilobytes, f"the process grew by {grown // 1000} MB"


@pytest.fixture(autouse=True)
def own_state(tmp_path_factory, monkeypatch):
    """No attack writes into the ledger of another test."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
