"""Coverage of what users are told, over many runs: settings answer a question whose truth is known with an interval.

Settings are run by several processes, and what each run gave is kept in ``--folder``, one file per setting, so that a
long simulation can be stopped and taken up again. A run is always the same run, however many processes there are.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import os
import re
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from discreet import Randomness
from experiments.store import RunFile

#: What a run leaves of every quantity.
COLUMNS = ("converged", "estimate", "std_error", "low", "high")


@dataclass(frozen=True)
class Setting:
    """A question whose answer is known.

    Attributes
    ----------
    name : str
    truth : mapping of str to float
        What is estimated, by name.
    ask : function
        The answer of one run, from a generator of people and a source of randomisation: a result, or several in the
        order of the truth. Coefficients are found by their names.
    """

    name: str
    truth: Mapping[str, float]
    ask: Callable[[np.random.Generator, Randomness], Any]


def lines(setting: Setting, run: int, seed: int) -> list[list[float]]:
    """What one run gives, a line per quantity."""
    key = [seed, run, *setting.name.encode()]
    source = Randomness.seeded(int(np.random.SeedSequence([1, *key]).generate_state(1)[0]))
    given = setting.ask(np.random.default_rng(key), source)
    found: list[list[float]] = []
    for result in given if isinstance(given, tuple) else (given,):
        ends = np.asarray(result.interval()).reshape(-1, 2)
        rows = np.column_stack([np.ravel(result.estimate), np.ravel(result.std_error), ends])
        names = getattr(result, "names", None)
        if isinstance(names, tuple):
            rows = rows[[names.index(name) for name in setting.truth if name in names]]
        found += [[float(getattr(result, "converged", True)), *row] for row in rows]
    if len(found) != len(setting.truth):
        raise ValueError(f"{setting.name}: {len(found)} answers to {len(setting.truth)} questions")
    return found


#: The setting that processes work on; they are forked, and find it here.
_CURRENT: list[Setting] = []


def _one(asked: tuple[int, int]) -> list[list[float]]:
    return lines(_CURRENT[0], *asked)


def run_setting(setting: Setting, runs: int, seed: int, folder: Path, processes: int) -> RunFile:
    """Carry out the runs that are missing."""
    name = re.sub(r"[^0-9A-Za-z]+", "_", setting.name).strip("_")
    kept = RunFile(folder / f"{name}_{len(setting.truth)}_seed{seed}.csv", COLUMNS, lines_per_run=len(setting.truth))
    missing = [(run, seed) for run in range(kept.take_up(), runs)]
    if missing:
        _CURRENT[:] = [setting]
        with multiprocessing.get_context("fork").Pool(min(processes, len(missing))) as pool:
            for made in pool.imap(_one, missing):
                kept.append(made)
    return kept


def report(setting: Setting, kept: RunFile, runs: int) -> list[str]:
    """One line per quantity: coverage with its Monte Carlo error, bias, and the stated error beside the spread."""
    found = {name: values.reshape(-1, len(setting.truth)) for name, values in kept.read(runs).items()}
    told = []
    for j, (name, truth) in enumerate(setting.truth.items()):
        good = found["converged"][:, j] == 1
        low, high, estimate = (found[column][good, j] for column in ("low", "high", "estimate"))
        # A grid's points are sums of floats: an end that is one of them is not missed by a rounding error.
        slack = 1e-9 * max(1.0, abs(truth))
        share = float(np.mean((low - slack <= truth) & (truth <= high + slack)))
        error = math.sqrt(max(share * (1 - share), 0.0475 / 4) / max(good.sum(), 1))
        spread = float(np.std(estimate)) or math.nan
        stated = float(np.sqrt(np.mean(found["std_error"][good, j] ** 2)))
        flag = "" if share + 2 * error >= 0.93 and share - 2 * error <= 0.99 else "   <<<"
        told.append(
            f"{setting.name:<52} {name:<16} {share:6.1%} ± {error:.1%}   "
            f"bias/sd {(np.mean(estimate) - truth) / spread:6.3f}   sd {spread:.4g}   "
            f"stated/sd {stated / spread:.3f}   {good.sum()} of {good.size}{flag}"
        )
    return told


def main(settings: Callable[[], Iterable[Setting]], text: str | None, folder: str) -> None:
    """Run settings and print a table."""
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--match", default="", help="only settings whose name holds this text")
    parser.add_argument("--folder", type=Path, default=Path("results") / folder)
    parser.add_argument("--processes", type=int, default=min(2, os.cpu_count() or 1))
    given = parser.parse_args()
    for setting in settings():
        if given.match in setting.name:
            began = time.perf_counter()
            kept = run_setting(setting, given.runs, given.seed, given.folder, given.processes)
            for line in report(setting, kept, given.runs):
                print(line)
            print(f"{'':<52} {time.perf_counter() - began:.0f} s", flush=True)
