"""What the attacks share: a guard against hanging and swelling, and a state folder of their own."""

from __future__ import annotations

import contextlib
import resource
import signal

import pytest

#: Seconds after which an attack counts as a hang. Each answers in milliseconds; a loaded machine is given plenty.
PATIENCE = 30
#: Kilobytes by which the process may grow while it answers.
GROWTH = 400_000


@contextlib.contextmanager
def bounded(seconds: int = PATIENCE, kilobytes: int = GROWTH):
    """Fail, instead of hanging or filling the memory of the machine, when what is inside does not come to an end."""

    def give_up(*_):
        raise AssertionError(f"no answer within {seconds} seconds")

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    previous = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, previous)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < kilobytes, f"the process grew by {grown // 1000} MB"


@pytest.fixture(autouse=True)
def own_state(tmp_path_factory, monkeypatch):
    """No attack writes into the ledger of another test."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
