"""Release and open with digests of the cells, against the same without them, in one run.

On one core, what digests cost is processor time inside a release, taken out of the total of the same release: two
releases in turn differ by more than that on a machine that does anything else. On two cores, where they are taken
beside the writing, releases with and without them are timed by the clock in turn, which needs a machine that does
nothing else. Files are opened in turn, with digests and without.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import process_time, thread_time
from typing import Any

import numpy as np

from benchmarks.measure import RESULTS, Result, Times, at_least, in_turn, on_cores, two_cores
from discreet import Release, release
from discreet.audit import audit
from discreet.manifest.digest import Content, ContentDigest
from discreet.publish.pipeline import Work

FOLDER = RESULTS / "bench-files"
#: A release with digests has at least this rate of one without.
TARGET = 0.95
#: Times that a file is opened for one measurement.
OPENINGS = 200

PRIVATE = [
    {"columns": ["answer"], "domain": {"binary": [False, True]}},
    {"columns": ["band"], "domain": {"ordinal": ["<10k", "10-20k", "20-40k", ">40k"]}},
]
PUBLIC = {
    "no public column": [],
    "two whole numbers": ["sex", "age"],
    "numbers and text": ["sex", "age", "region", "w"],
}


def make_input(path: Path, rows: int, batch: int = 1 << 20) -> None:
    """Two answers, and public columns of the usual kinds."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(3)
    regions, bands = (
        pa.array(labels) for labels in ([f"region {i}" for i in range(16)], PRIVATE[1]["domain"]["ordinal"])
    )
    writer = None
    for start in range(0, rows, batch):
        n = min(batch, rows - start)
        table = pa.table(
            {
                "sex": rng.integers(0, 2, n).astype(np.int8),
                "age": rng.integers(18, 90, n).astype(np.int32),
                "region": regions.take(pa.array(rng.integers(0, 16, n))),
                "w": rng.random(n) + 0.5,
                "answer": rng.random(n) < 0.3,
                "band": bands.take(pa.array(rng.integers(0, 4, n))),
            }
        )
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table, row_group_size=batch)
    assert writer is not None
    writer.close()


class TimedDigest:
    """Passes everything on to the digest, or to nothing, and adds up the processor time."""

    def __init__(self, digest: ContentDigest | None) -> None:
        self._digest = digest
        self.seconds = 0.0

    def update(self, batch: Any) -> None:
        """Take in rows."""
        start = thread_time()
        if self._digest is not None:
            self._digest.update(batch)
        self.seconds += thread_time() - start

    def content(self) -> Content | None:
        """What a manifest holds."""
        start = thread_time()
        content = None if self._digest is None else self._digest.content()
        self.seconds += thread_time() - start
        return content


@contextmanager
def timed(*, digests: bool) -> Iterator[list[TimedDigest]]:
    """Releases whose digests are timed, or left out as they were before there were any."""
    real, used = Work.content_digest, []

    def instead(work: Work) -> TimedDigest:
        used.append(TimedDigest(real(work) if digests else None))
        return used[-1]

    Work.content_digest = instead  # type: ignore[method-assign,assign]
    try:
        yield used
    finally:
        Work.content_digest = real  # type: ignore[method-assign]


def plan_of(public: list[str], order: str) -> dict[str, object]:
    """A plan for these columns."""
    private = [block | {"mechanism": "randomized-response", "epsilon": 1.0} for block in PRIVATE]
    plan: dict[str, object] = {"output": {"order": order}, "private": private}
    return plan | ({"public": [{"columns": public}]} if public else {})


def integrity_results(rows: int, repetitions: int) -> Iterator[Result]:
    """Order kept and shuffled, for tables of several kinds."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    source, outputs = FOLDER / "input.parquet", [FOLDER / "with.parquet", FOLDER / "without.parquet"]
    make_input(source, rows)
    for name, public in PUBLIC.items():
        for order in ("keep", "shuffle"):
            written, opened = _measure(source, plan_of(public, order), outputs, repetitions)
            kept = "order kept" if order == "keep" else "shuffled"
            work = f"release of {rows:.0e} rows with digests, two private columns, {name}, {kept}"
            against, detail = "the same without digests", written.detail(rows, "without")
            yield at_least(f"{work}, 1 core, processor time", against, TARGET, written.ratio, detail)
            by_clock = _on_two_cores(source, plan_of(public, order), outputs[0], repetitions)
            detail = by_clock.detail(rows, "without")
            yield at_least(f"{work}, 2 cores, by the clock", against, TARGET, by_clock.ratio, detail)
        detail = opened.detail(OPENINGS, "without").replace("ns/row", "ns each")
        yield at_least(f"opening that file, {name}", "a file without digests", TARGET, opened.ratio, detail)
        yield _audit(outputs[0], rows, name, written)
    for file in (source, *outputs):
        file.unlink()


def _measure(source: Path, plan: dict[str, object], outputs: list[Path], repetitions: int) -> tuple[Times, Times]:
    with timed(digests=False):
        release(source, plan, outputs[1], overwrite=True, ledger=None)  # to be opened, and to warm up
    writing: list[tuple[float, float]] = []
    for _ in range(repetitions):
        with timed(digests=True) as used:
            start = process_time()
            release(source, plan, outputs[0], overwrite=True, ledger=None)
            total = process_time() - start
        writing.append((total, total - used[0].seconds))
    _open_in_turn(outputs)
    opening = [_open_in_turn(outputs) for _ in range(repetitions)]
    return Times(*zip(*writing, strict=True)), Times(*zip(*opening, strict=True))


def _on_two_cores(source: Path, plan: dict[str, object], output: Path, repetitions: int) -> Times:
    def released(*, digests: bool) -> None:
        with timed(digests=digests):
            release(source, plan, output, overwrite=True, ledger=None, workers=2)

    with on_cores(two_cores()):
        # Without digests first: what is left behind is the file with them, which is opened and audited.
        turns = in_turn(lambda: released(digests=False), lambda: released(digests=True), repetitions)
    return Times(turns.reference, turns.ours)


def _open_in_turn(outputs: list[Path]) -> tuple[float, float]:
    seconds = [0.0, 0.0]
    for _ in range(OPENINGS):
        for i, path in enumerate(outputs):
            start = process_time()
            Release.open(path)
            seconds[i] += process_time() - start
    return seconds[0], seconds[1]


def _audit(path: Path, rows: int, name: str, written: Times) -> Result:
    start = process_time()
    if not audit(Release.open(path)).passed:
        raise RuntimeError("the file that was timed does not pass its audit")
    took = process_time() - start
    return at_least(
        f"full audit of that file, {name}",
        "releasing it",
        None,
        min(written.ours) / took,
        f"{took / rows * 1e9:.3g} ns/row",
    )
