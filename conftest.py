"""Settings shared by all tests and by the doctests of the code and the pages."""

from __future__ import annotations

import os
import sys
import tempfile

# No test may write into the ledger of the person who runs it, or read it.
os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(prefix="discreet-tests-")
# Many tests release the same few rows; only tests of the ledger let it recognise them.
os.environ["DISCREET_LEDGER_KEY"] = ""
os.environ["MPLBACKEND"] = "agg"

import pytest
from hypothesis import HealthCheck, settings
from tests.parts import NOT_RUN

# Examples are derived from the test itself, so that a run gives the same answer everywhere.
settings.register_profile("discreet", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("discreet")


@pytest.fixture(autouse=True)
def no_figure_stays_open():
    """Close what a test has drawn, so that no test counts the figures of another."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """A file stays on one worker, and with it what its tests share; so do all tests of Spark, with one cluster."""
    from xdist.scheduler import LoadFileScheduling

    config.option.loadscopereorder = False  # files in the random order of the run, not the largest first

    class ByFile(LoadFileScheduling):
        def _split_scope(self, nodeid):
            return "tests/spark" if nodeid.startswith("tests/spark/") else super()._split_scope(nodeid)

    return ByFile(config, log)


def pytest_terminal_summary(terminalreporter, config):
    """The seed of the random order, and one visible line for every part that was not there."""
    seed = getattr(config.option, "randomly_seed", None)
    if seed is not None:
        terminalreporter.write_line(f"random order: pytest --randomly-seed={seed} repeats it")
    reasons = [str(report.longrepr[2]) for report in terminalreporter.stats.get("skipped", []) if report.longrepr]
    told = {reason.split(NOT_RUN, 1)[1].strip() for reason in reasons if NOT_RUN in reason}
    for reason in sorted(told):
        terminalreporter.write_line(f"NOT RUN: {reason}", yellow=True)
