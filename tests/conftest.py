"""Settings shared by all tests."""

from __future__ import annotations

import os
import tempfile

# No test may write into the ledger of whoever runs it, or read it.
os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(prefix="discreet-tests-")

from hypothesis import HealthCheck, settings

# Examples are derived from the test itself, so that a run gives the same answer everywhere.
settings.register_profile("discreet", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("discreet")
