"""How long a user waits before anything happens: the import, and the help of the command line."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from benchmarks.measure import Result, Times, at_most, run_process

#: What every user of tables waits for anyway.
_REFERENCE = "import numpy, pyarrow"
_WORK: tuple[tuple[str, Sequence[str], float | None], ...] = (
    ("import discreet", ("-c", "import discreet"), 1.5),
    ("discreet --help", ("-m", "discreet", "--help"), 2.0),
    (
        "import discreet and take every name of the top level",
        ("-c", "import discreet; [getattr(discreet, name) for name in discreet.__all__]"),
        None,
    ),
)


def start_up_results(repetitions: int) -> Iterator[Result]:
    """Processes from start to end, each in turn with the reference; nothing is warm but the cache of the disk."""
    for work, arguments, target in _WORK:
        pairs = []
        for i in range(repetitions + 1):
            pair = (_seconds(arguments), _seconds(("-c", _REFERENCE)))
            if i:  # the first pair fills the cache of the disk
                pairs.append(pair)
        times = Times(*(tuple(each) for each in zip(*pairs, strict=True)))
        yield at_most(work, _REFERENCE, target, 1 / times.ratio, _detail(times))


def _seconds(arguments: Sequence[str]) -> float:
    return run_process([sys.executable, *arguments]).seconds


def _detail(times: Times) -> str:
    ours, theirs = (sorted(each)[len(each) // 2] * 1e3 for each in (times.ours, times.reference))
    return f"ours {ours:.0f} ms, reference {theirs:.0f} ms, medians of {len(times.ours)}"
