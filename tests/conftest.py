"""Settings shared by all tests."""

from __future__ import annotations

import os
import tempfile

# No test may write into the ledger of whoever runs it, or read it.
os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(prefix="discreet-tests-")
# Many tests release the same few rows; the ledger knows them again where a test asks for it.
os.environ["DISCREET_LEDGER_KEY"] = ""

import pytest
from hypothesis import HealthCheck, settings

from tests.parts import NOT_RUN

# Examples are derived from the test itself, so that a run gives the same answer everywhere.
settings.register_profile("discreet", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("discreet")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """A file stays on one worker, and with it what its tests share; so do all tests of Spark, with one cluster."""
    from xdist.scheduler import LoadFileScheduling

    class ByFile(LoadFileScheduling):
        def _split_scope(self, nodeid):
            return "tests/spark" if nodeid.startswith("tests/spark/") else super()._split_scope(nodeid)

    return ByFile(config, log)


def pytest_terminal_summary(terminalreporter):
    """One visible line for every part that was not there."""
    reasons = [str(report.longrepr[2]) for report in terminalreporter.stats.get("skipped", []) if report.longrepr]
    told = {reason.split(NOT_RUN, 1)[1].strip() for reason in reasons if NOT_RUN in reason}
    for reason in sorted(told):
        terminalreporter.write_line(f"NOT RUN: {reason}", yellow=True)
