"""``make reproduce PAPER=inference`` and ``PAPER=survey`` run what lies in these folders."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest
from experiments.simulations import run_simulations

ROOT = Path(__file__).parents[2] / "experiments"


@pytest.mark.parametrize("package", ["inference", "survey"])
def test_every_simulation_is_run(package):
    """Every module that can be run is listed, and every one that is listed is there."""
    listed = import_module(f"experiments.{package}.__main__").SIMULATIONS
    runnable = {
        file.stem
        for file in (ROOT / package).glob("[a-z]*.py")
        if 'if __name__ == "__main__":' in file.read_text(encoding="utf-8")
    }
    assert set(listed) == runnable


@pytest.mark.parametrize(("package", "name"), [("inference", "power"), ("survey", "stuffing")])
def test_a_simulation_can_be_named_and_be_small(package, name, capfd):
    """With few runs it takes seconds; its output is printed with how long it took."""
    listed = import_module(f"experiments.{package}.__main__").SIMULATIONS
    run_simulations(f"experiments.{package}", listed, None, [name, "--runs", "2"])
    printed = capfd.readouterr().out
    assert printed.startswith(f"== {name}")
    assert len(printed.splitlines()) > 3
    with pytest.raises(SystemExit):
        run_simulations(f"experiments.{package}", listed, None, ["nothing"])
