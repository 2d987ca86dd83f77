"""Our version against another one, in one run: ``python -m benchmarks.against PATH``, the sources of the other.

PATH is a folder that holds the package, such as ``src`` of another work tree::

    git worktree add --detach ../earlier REVISION
    python -m benchmarks.against ../earlier/src

Each version runs in a process of its own, under the same Python and packages, and they take turns: releases of one
table with public columns of several kinds, order kept and shuffled, and opening what was released. What must be reached
is at least .95 of the speed of the other version.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.integrity import FOLDER, PUBLIC, TARGET, make_input, plan_of
from benchmarks.measure import ROOT, Result, Times, at_least

#: What a process does: once everything to warm up, and then again for every line that it is sent.
_CHILD = """
import json, sys, time
from discreet import Release, release
source, output, cases, openings = json.loads(sys.argv[1])
def turn():
    for plan, ending in cases:
        path, clocks = f"{output}.{ending}", (time.perf_counter, time.process_time)
        starts = [clock() for clock in clocks]
        release(source, plan, path, overwrite=True, ledger=None)
        took = [clock() - start for clock, start in zip(clocks, starts)]
        start = time.process_time()
        for _ in range(openings):
            Release.open(path)
        yield [*took, (time.process_time() - start) / openings]
list(turn())
print(json.dumps(None), flush=True)
for line in sys.stdin:
    print(json.dumps(list(turn())), flush=True)
"""
#: Opening is timed on small tables, of which nothing but the manifest counts.
_SMALL = 2_000
_OPENINGS = 200


class Version:
    """A process of one version."""

    def __init__(self, sources: Path, work: list[Any]) -> None:
        environment = dict(os.environ, PYTHONPATH=str(sources))
        command = [sys.executable, "-c", _CHILD, json.dumps(work)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment, cwd=FOLDER
        )
        self._read()

    def _read(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("one of the versions failed; its error is above")
        return json.loads(line)

    def turn(self) -> list[list[float]]:
        """Seconds of every case: a release by the clock, one in processor time, and one opening."""
        assert self._process.stdin is not None
        self._process.stdin.write("again\n")
        self._process.stdin.flush()
        found: list[list[float]] = self._read()
        return found

    def close(self) -> None:
        """End it."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def compared(other: Path, rows: int, openings: int, endings: list[str], repetitions: int) -> list[list[Times]]:
    """The times of every case, as lists of (by the clock, in processor time, opening)."""
    source = FOLDER / "against.parquet"
    make_input(source, rows)
    plans = [plan_of(public, order) for public in PUBLIC.values() for order in ("keep", "shuffle")]
    cases = [(plan, ending) for plan in plans for ending in endings]
    names, versions = ("ours", "other"), []
    for name, sources in zip(names, (ROOT / "src", other), strict=True):
        versions.append(Version(sources, [str(source), str(FOLDER / name), cases, openings]))
    turns: list[list[list[list[float]]]] = [[], []]
    for _ in range(repetitions):
        for version, found in zip(versions, turns, strict=True):
            found.append(version.turn())
    for version in versions:
        version.close()
    for file in (source, *(path for name in names for path in FOLDER.glob(f"{name}.*"))):
        file.unlink()
    return [
        [Times(*(tuple(turn[case][what] for turn in found) for found in turns)) for what in range(3)]
        for case in range(len(cases))
    ]


def results(other: Path, rows: int, repetitions: int) -> Iterator[Result]:
    """Releases of a large table, and opening a small one."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    named = [f"{name}, {order}" for name in PUBLIC for order in ("order kept", "shuffled")]
    for name, (clock, processor, _) in zip(named, compared(other, rows, 1, ["parquet"], repetitions), strict=True):
        for times, how in ((clock, "by the clock"), (processor, "processor time")):
            work = f"release of {rows:.0e} rows, two private columns, {name}, {how}"
            yield at_least(work, "the other version", TARGET, times.ratio, times.detail(rows, "other"))
    opened = [f"{name}, {ending}" for name in named for ending in ("parquet", "csv")]
    small = compared(other, _SMALL, _OPENINGS, ["parquet", "csv"], 3 * repetitions)
    for name, (_, _, opening) in zip(opened, small, strict=True):
        detail = opening.detail(1, "other").replace("ns/row", "ns each")
        yield at_least(f"opening a release, {name}", "the other version", TARGET, opening.ratio, detail)


def main() -> int:
    """Read the command line; exit code 1 when a target is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.against", description=__doc__)
    parser.add_argument("sources", type=Path, help="the folder that holds the other version of the package")
    parser.add_argument("--rows", type=int, default=4 * 10**6, help="rows of the table (default: 4·10⁶)")
    parser.add_argument("--repetitions", type=int, default=5)
    chosen = parser.parse_args()
    if not (chosen.sources / "discreet").is_dir():
        parser.error(f"{chosen.sources} does not hold the package")
    missed = 0
    for result in results(chosen.sources.resolve(), chosen.rows, chosen.repetitions):
        missed += result.passed is False
        print(f"{result.verdict:8}  {result.measured:>8}  {result.work}  [{result.detail}]", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
