"""Measure everything, print the table and write it under results/."""

from __future__ import annotations

import argparse
import csv
import os
import platform
import ssl
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

from benchmarks.attributes import attribute_results
from benchmarks.bipartite import bipartite_results
from benchmarks.collector import collector_results
from benchmarks.cyclic import cyclic_results
from benchmarks.estimating import estimate_results
from benchmarks.five_columns import five_column_results
from benchmarks.integrity import integrity_results
from benchmarks.laplace import laplace_results
from benchmarks.learning import learning_results
from benchmarks.measure import RESULTS, Result, compile_sources, quietest_core
from benchmarks.peers import peer_results
from benchmarks.privatise import binary_results, category_results
from benchmarks.regression import regression_results
from benchmarks.release import release_results
from benchmarks.several_columns import several_results
from benchmarks.spark import spark_results
from benchmarks.start_up import start_up_results

COLUMNS = ("work, one core", "against", "must reach", "measured", "verdict", "detail")


def suites(rows: int, *, quick: bool) -> dict[str, Callable[[], Iterator[Result]]]:
    """Every group of measurements by name."""
    small, large = (10**6, 10**7) if quick else (10**7, 10**8)

    def binary() -> Iterator[Result]:
        yield from binary_results(small, 9)
        yield from binary_results(large, 5)

    return {
        "binary": binary,
        "categories": lambda: category_results(small, 9),
        "peers": lambda: peer_results(small),
        "estimate": lambda: estimate_results(large, 5),
        "release": lambda: release_results(rows, 5),
        "five-columns": lambda: five_column_results(rows, 1),
        "integrity": lambda: integrity_results(small, 5),
        "attributes": lambda: attribute_results(quick=quick),
        "regression": lambda: regression_results(small, 9),
        "several": lambda: several_results(10**6, 5),
        "bipartite": lambda: bipartite_results(10**6, 5),
        "laplace": lambda: laplace_results(small, 5),
        "learning": lambda: learning_results(2 if quick else 5),
        "cyclic": lambda: cyclic_results(2 * 10**6, 5),
        "spark": lambda: spark_results(10**7, 3),
        "start-up": lambda: start_up_results(9),
        "collector": lambda: collector_results(2.0 if quick else 5.0, 3),
    }


def versions(core: int) -> str:
    """What was measured on what."""
    packages = ", ".join(f"{name} {version(name)}" for name in ("discreet", "numpy", "scipy", "pyarrow"))
    return (
        f"{packages}; Python {platform.python_version()}, {ssl.OPENSSL_VERSION}; {_processor()}, core {core} of "
        f"{os.cpu_count()}, {platform.system()} {platform.release()}"
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def cells(result: Result) -> tuple[str, ...]:
    """The cells of one line."""
    return result.work, result.against, result.target or "–", result.measured, result.verdict, result.detail


def write(results: Sequence[Result], heading: str, folder: Path, name: str) -> None:
    """The table as CSV and as Markdown."""
    lines = [cells(result) for result in results]
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow((*COLUMNS, "value", "versions"))
        writer.writerows((*line, repr(result.value), heading) for line, result in zip(lines, results, strict=True))
    table = [" | ".join(line) for line in (COLUMNS, ["---"] * len(COLUMNS), *lines)]
    text = f"{heading}\n\n" + "\n".join(f"| {line} |" for line in table) + "\n"
    (folder / f"{name}.md").write_text(text, encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line; exit code 1 when a target is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="10⁶ and 10⁷ rows instead of 10⁷ and 10⁸; no verdicts")
    parser.add_argument(
        "--only",
        action="append",
        metavar="NAME",
        help=", ".join(suites(0, quick=True)),
    )
    parser.add_argument("--rows", type=int, help="rows of the file that is released (default: 10⁸, quick 10⁷)")
    parser.add_argument("--core", type=int, help="the core to run on (default: the quietest)")
    chosen = parser.parse_args(arguments)
    rows = chosen.rows or (10**7 if chosen.quick else 10**8)
    available = suites(rows, quick=chosen.quick)
    for name in chosen.only or ():
        if name not in available:
            parser.error(f"--only must be one of {', '.join(available)}, not {name!r}")
    core = quietest_core() if chosen.core is None else chosen.core
    os.sched_setaffinity(0, {core})  # processes that are started inherit it
    compile_sources()
    heading = versions(core)
    print(heading, flush=True)
    results: list[Result] = []
    for name in chosen.only or available:
        for result in available[name]():
            if chosen.quick:  # the targets are meant at full size, where starting up does not count
                result = replace(result, passed=None)
            results.append(result)
            print(
                f"{result.verdict:8}  {result.measured:>16}  {result.target:>16}  {result.work}, against "
                f"{result.against}  [{result.detail}]",
                flush=True,
            )
    # A quick or partial run never replaces the figures of a full one.
    name = "benchmarks-partial" if chosen.quick or chosen.only or chosen.rows else "benchmarks"
    write(results, heading, RESULTS, name)
    print(f"\nWritten: {RESULTS / name}.csv and .md")
    missed = [result.work for result in results if result.passed is False]
    for work in missed:
        print(f"MISSED: {work}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
