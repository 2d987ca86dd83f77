"""Several simulations one after the other: ``python -m experiments.inference`` and ``python -m experiments.survey``."""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Simulation:
    """A module that is called once in each of its modes; ``runs`` is its option for how many runs, if it has one."""

    modes: Sequence[str] = ("",)
    runs: str = "--runs"


def run_simulations(
    package: str, calls: Mapping[str, Simulation], description: str | None, arguments: Sequence[str] | None = None
) -> int:
    """Run all simulations of a package, or those that are named; the largest exit code."""
    parser = argparse.ArgumentParser(prog=f"python -m {package}", description=description)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"only these: {', '.join(calls)}")
    parser.add_argument("--runs", type=int, help="simulated runs of each (default: as its page reports them)")
    chosen = parser.parse_args(arguments)
    unknown = sorted(set(chosen.names) - set(calls))
    if unknown:
        parser.error(f"there is no {unknown[0]}; choose from {', '.join(calls)}")
    code = 0
    for name in chosen.names or calls:
        for mode in calls[name].modes:
            words = [mode, *([] if chosen.runs is None else [calls[name].runs, str(chosen.runs)])]
            words = [word for word in words if word]
            start = time.perf_counter()
            print(f"== {' '.join([name, *words])}", flush=True)
            code = max(code, subprocess.call([sys.executable, "-m", f"{package}.{name}", *words]))
            print(f"{time.perf_counter() - start:.0f} s\n", flush=True)
    return code
