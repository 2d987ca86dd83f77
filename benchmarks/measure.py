"""Time two things against each other, and a process with its memory."""

from __future__ import annotations

import compileall
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "results"


@dataclass(frozen=True)
class Result:
    """One line of the table.

    Attributes
    ----------
    work : str
        What was done.
    against : str
        What it is compared with.
    target : str
        What must be reached; empty when the figure is only reported.
    measured : str
        The ratio, or the memory, with its unit.
    value : float
        The same as a number.
    passed : bool or None
        None when there is no target, or nothing to measure.
    detail : str
        Times behind the ratio.
    """

    work: str
    against: str
    target: str
    measured: str
    value: float
    passed: bool | None
    detail: str

    @property
    def verdict(self) -> str:
        """Pass, FAIL, or only reported."""
        return "reported" if self.passed is None else "pass" if self.passed else "FAIL"


@dataclass(frozen=True)
class Times:
    """Seconds of two alternatives, run in turn so that both see the same machine."""

    ours: tuple[float, ...]
    reference: tuple[float, ...]

    @property
    def ratio(self) -> float:
        """Reference over ours, by medians: how many times faster we are."""
        return median(self.reference) / median(self.ours)

    def detail(self, rows: int, reference: str = "reference") -> str:
        """Nanoseconds per row, and the range of the ratio over the repetitions."""
        ours, theirs = (median(times) / rows * 1e9 for times in (self.ours, self.reference))
        pairs = sorted(b / a for a, b in zip(self.ours, self.reference, strict=True))
        return (
            f"ours {ours:.3g} ns/row, {reference} {theirs:.3g} ns/row; "
            f"ratios {pairs[0]:.2f}–{pairs[-1]:.2f} in {len(self.ours)} repetitions"
        )


def in_turn(ours: Callable[[], object], reference: Callable[[], object], repetitions: int) -> Times:
    """Run both alternately, once to warm up and then ``repetitions`` times each."""
    ours()
    reference()
    pairs = [(seconds(ours), seconds(reference)) for _ in range(repetitions)]
    return Times(*(tuple(times) for times in zip(*pairs, strict=True)))


def seconds(work: Callable[[], object]) -> float:
    """Wall-clock time of one call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def at_least(work: str, against: str, target: float | None, ratio: float, detail: str) -> Result:
    """A rate that must be at least so many times that of the reference."""
    stated = "" if target is None else f"≥ {target:,g} ×"
    shown = f"{ratio:.2f} ×" if ratio < 100 else f"{ratio:,.0f} ×"
    return Result(work, against, stated, shown, ratio, None if target is None else ratio >= target, detail)


def at_most(work: str, against: str, target: float | None, ratio: float, detail: str) -> Result:
    """A time that must be at most so many times that of the reference."""
    stated = "" if target is None else f"≤ {target:g} × the time"
    shown = f"{ratio:.2f} × the time"
    return Result(work, against, stated, shown, ratio, None if target is None else ratio <= target, detail)


@dataclass(frozen=True)
class Run:
    """A finished process."""

    seconds: float
    peak_bytes: int


# A process inherits the peak memory of the process that started it, so a small one in between starts it.
_LAUNCHER = """
import json, os, subprocess, sys, time
os.sched_setaffinity(0, json.loads(sys.argv.pop(1)))
start = time.perf_counter()
child = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
errors = child.stderr.read().decode(errors="replace")
_, status, usage = os.wait4(child.pid, 0)
print(json.dumps({"seconds": time.perf_counter() - start, "peak": usage.ru_maxrss * 1024,
                  "code": os.waitstatus_to_exitcode(status), "errors": errors}))
"""


def run_process(command: Sequence[str | Path], cores: Collection[int] | None = None) -> Run:
    """Run a command to its end; wall-clock time and peak resident memory of that process alone.

    ``cores`` are those that it may use; default: those of this process.
    """
    chosen = json.dumps(sorted(os.sched_getaffinity(0) if cores is None else cores))
    launcher = [sys.executable, "-I", "-S", "-c", _LAUNCHER, chosen, *map(str, command)]
    done = subprocess.run(launcher, capture_output=True, text=True, check=True, cwd=ROOT)
    report = json.loads(done.stdout)
    if report["code"] != 0:
        raise RuntimeError(f"{' '.join(map(str, command))} failed:\n{report['errors'].strip()}")
    return Run(report["seconds"], report["peak"])


def compile_sources() -> None:
    """Have the package compiled, as it is once it is installed; a work tree may not be."""
    if not compileall.compile_dir(ROOT / "src" / "discreet", quiet=1):
        raise RuntimeError("the package does not compile")


def two_cores() -> set[int]:
    """The core of this process and one more."""
    here = min(os.sched_getaffinity(0))
    return {here, next(core for core in range(os.cpu_count() or 1) if core != here)}


def every_core() -> set[int]:
    """All cores of the machine."""
    return set(range(os.cpu_count() or 1))


@contextmanager
def on_cores(cores: Collection[int]) -> Iterator[None]:
    """Let this process, and those that it starts meanwhile, use these cores."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def quietest_core(wait: float = 0.5) -> int:
    """The core, of those that this process may use, that was idle most in the last moments."""

    def idle() -> dict[int, int]:
        lines = Path("/proc/stat").read_text().splitlines()
        fields = (line.split() for line in lines if line.startswith("cpu") and line[3:4].isdigit())
        return {int(field[0][3:]): int(field[4]) for field in fields}

    allowed = sorted(os.sched_getaffinity(0))
    try:
        before = idle()
        time.sleep(wait)
        after = idle()
    except OSError:
        return allowed[-1]
    return max(allowed, key=lambda core: after.get(core, 0) - before.get(core, 0))
