"""A release needs nothing of Python to be analysed: R reads the manifest and gives the same figures."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from discreet import estimate, release
from tests.parts import missing

SCRIPT = Path(__file__).parents[2] / "docs" / "examples" / "read_manifest.R"


def test_r_reads_a_manifest_and_estimates_a_prevalence(tmp_path):
    """To twelve digits of what the package says, from the CSV file and its manifest alone."""
    if shutil.which("Rscript") is None:
        missing("R", "Debian: r-base-core r-cran-jsonlite")
    table = pa.table({"rr.q1": np.where(np.arange(900) % 3 == 0, "yes", "no")})
    asked = {"columns": ["rr.q1"], "domain": {"binary": ["no", "yes"]}, "mechanism": "randomized-response"}
    made = release(table, {"private": [{**asked, "epsilon": 1.0}]}, tmp_path / "out.csv", ledger=None)
    done = subprocess.run(
        ["Rscript", SCRIPT, tmp_path / "out.csv", "rr.q1"], capture_output=True, text=True, check=False
    )
    if "there is no package called" in done.stderr:
        missing("jsonlite of R", "Debian: r-cran-jsonlite")
    assert done.returncode == 0, done.stderr
    found, ours = json.loads(done.stdout), estimate.frequencies(made, "rr.q1")["yes"]
    assert found["n"] == 900
    assert found["estimate"] == pytest.approx(float(ours), abs=1e-12)
    assert found["std_error"] == pytest.approx(ours.std_error[0], rel=1e-12)
