"""The example programs run as they are and print results."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.mark.parametrize(
    ("program", "printed"),
    [
        ("survey_prevalence.py", "age - 18"),
        ("steward_release.py", "surgery"),
        ("telemetry_counts.py", "interval"),
        ("compare_mechanisms.py", "generalised response: ε = 1.0"),
    ],
)
def test_an_example_runs(program, printed, capsys):
    """Each program ends without an error, and its results are printed."""
    runpy.run_path(str(EXAMPLES / program), run_name="__main__")
    assert printed in capsys.readouterr().out


def test_every_example_is_run_and_described():
    """The folder, the test and the page of the folder have the same programs."""
    programs = {path.name for path in EXAMPLES.glob("*.py")}
    described = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert len(programs) == 4
    assert all(f"`{name}`" in described for name in programs)
