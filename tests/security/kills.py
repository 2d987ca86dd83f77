"""Releases that are killed, at random or at every step, and what is found afterwards.

``python -m tests.security.kills --kills 50`` kills fifty releases of each kind and prints what was found. Each release
is ``discreet release`` itself, in a process forked from one that has imported everything, so that most of its time
is spent reading, randomising and writing.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from discreet.errors import DiscreetError
from discreet.files.whole import temporary_path
from discreet.publish import Ledger, release
from discreet.reading import Release

#: More than the beginning of a table without a row takes.
HEADER_BYTES = 20
#: How long a file is waited for.
PATIENCE_SECONDS = 60.0
KINDS = ("parquet", "csv", "shuffle", "overwrite")
PLAN = """
title = "{title}"
[output]
order = "{order}"
[[public]]
columns = ["x"]
[[private]]
columns = ["cheated"]
domain = {{ binary = [false, true] }}
mechanism = "randomized-response"
epsilon = 1.0
"""
NEXT = {"private": [{"columns": ["a"], "domain": {"binary": [False, True]}, "epsilon": 1.0}]}
NEXT["private"][0]["mechanism"] = "randomized-response"


def serve() -> None:
    """Fork a process for every line of standard input, kill it when it is time, and say how it ended."""
    import pyarrow.csv  # noqa: F401  # what the children need is loaded once, here

    from discreet.cli.app import app
    from discreet.manifest import storage as manifest_file
    from discreet.publish import Plan, shuffle

    Plan.parse(PLAN.format(title="", order="keep"))
    for line in sys.stdin:
        order = json.loads(line)
        child = os.fork()
        if child == 0:
            code = 70
            try:
                shuffle.MEMORY_BYTES = order["memory"]
                manifest_file.EMBEDDED_BYTES = order["embedded"]
                os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
                if order["step"] is not None:
                    _die_at_step(order["step"], order["folder"])
                app(order["arguments"])
            except SystemExit as end:
                code = int(end.code or 0)
            finally:
                os._exit(code)
        if order["kill"] is not None:
            number, moment, awaited = order["kill"]
            deadline = time.monotonic() + (PATIENCE_SECONDS if awaited else moment)
            while time.monotonic() < deadline and not _ended(child):
                if awaited and Path(awaited).exists():
                    awaited, deadline = None, time.monotonic() + moment
                time.sleep(0.0005)
            os.kill(child, number)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def _ended(child: int) -> bool:
    """Whether a child has ended; it is still there to be asked how."""
    return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _die_at_step(step: int, folder: str) -> None:
    """Be killed before this file operation in the folder of the output."""
    done = 0

    def watch(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal done
        changes = event in {"os.rename", "os.link", "os.remove", "os.chmod"} or (
            event == "open" and bool(int(arguments[2]) & (os.O_WRONLY | os.O_RDWR))  # type: ignore[call-overload]
        )
        if changes and str(arguments[0]).startswith(folder):
            done += 1
            if done > step:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)


class Server:
    """The process that ``serve`` runs in."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.security.kills", "--serve"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
            cwd=Path(__file__).parents[2],
        )

    def run(self, order: dict[str, object]) -> int:
        """How a release ended."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(order), file=self._process.stdin, flush=True)
        return int(self._process.stdout.readline())

    def close(self) -> None:
        """End it."""
        self._process.communicate()


@dataclass
class Killer:
    """Starts releases into one folder, kills them and looks at what they leave."""

    server: Server
    folder: Path
    rows: int
    seed: int = 1
    found: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.out = self.folder / "out"
        self.out.mkdir()
        self.source = self.folder / "truth.parquet"
        self.ledger = self.folder / "ledger.sqlite"
        rng = np.random.default_rng(self.seed)
        table = pa.table({"x": rng.integers(0, 10**6, self.rows), "cheated": rng.random(self.rows) < 0.5})
        pq.write_table(table, self.source)

    def empty(self) -> None:
        """Remove every output."""
        for path in self.out.iterdir():
            path.unlink()

    def run(
        self,
        target: Path,
        title: str,
        *,
        kill: tuple[int, float, str | None] | None = None,
        step: int | None = None,
        overwrite: bool = False,
        order: str = "keep",
        memory: int = 1 << 28,
        embedded: int = 16_000_000,
    ) -> int:
        """One release; its exit code, negative if it was killed.

        It can be killed by a signal so many seconds after its start or after a file is there, or at a step.
        """
        plan = self.folder / "plan.toml"
        plan.write_text(PLAN.format(title=title, order=order))
        arguments = ["release", self.source, plan, "-o", target, "--ledger", self.ledger]
        arguments += ["--overwrite"] if overwrite else []
        return self.server.run(
            {
                "arguments": [str(argument) for argument in arguments],
                "folder": str(self.out),
                "memory": memory,
                "embedded": embedded,
                "step": step,
                "kill": kill,
            }
        )

    def inspect(self, target: Path, title: str, old: str | None, code: int) -> str:
        """Check what a release left, ended or killed; returns what was found there."""
        left = sorted(path for path in self.out.iterdir() if path.name.startswith(".discreet-"))
        for path in left:
            if path.suffix != ".manifest":  # which holds no reports and may be read by anyone
                assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
        assert code in {0, 143, -signal.SIGKILL}, code
        assert not left or code == -signal.SIGKILL, left
        there = title_of(target)
        assert there in {old, title}, (there, old, title)
        entry = next((entry for entry in Ledger(self.ledger).entries() if entry.title == title), None)
        state = None if entry is None else entry.state
        if there == title:
            assert state in {"started", "done"}
        elif any(path.suffix == ".tmp" and path.stat().st_size > HEADER_BYTES for path in left):
            assert state == "started"
        if code == 0:
            assert (there, state) == (title, "done")
        end = "killed" if code < 0 else f"exit {code}"
        self.found[f"{end} with table {'new' if there == title else 'as before'}{', left-overs' if left else ''}"] += 1
        return title if there == title else str(old)

    def start_next(self, target: Path) -> None:
        """The next release into the folder leaves nothing of the one before but a whole release or none."""
        before = title_of(target)
        other = self.out / "next.parquet"
        release(pa.table({"a": [True]}), NEXT, other, ledger=None)
        other.unlink()
        assert title_of(target) == before
        names = {path.name for path in self.out.iterdir()}
        assert names <= {target.name, f"{target.name}.manifest.json"}, names
        if before is None:
            assert not names, names
        elif target.suffix == ".csv":
            assert len(names) == 2, names


def title_of(target: Path) -> str | None:
    """The title of the release that is there; a table that cannot be opened is not allowed to be there."""
    if not target.exists():
        return None
    done = Release.open(target)
    assert sum(batch.num_rows for batch in done.batches(["cheated"])) == done.rows
    return done.manifest.title


def settings_of(kind: str) -> dict[str, object]:
    """How a kind of release is run."""
    if kind == "shuffle":
        return {"order": "shuffle", "memory": 1 << 20}
    return {"overwrite": True} if kind == "overwrite" else {}


def kill_randomly(killer: Killer, kind: str, kills: int) -> None:
    """Kill releases of one kind at random times, by SIGTERM and SIGKILL in turns."""
    target = killer.out / ("out.parquet" if kind == "parquet" else "out.csv")
    settings = settings_of(kind)
    killer.run(killer.out / "first.csv", "waits until the server is there")
    killer.empty()
    began = time.monotonic()
    assert killer.run(target, f"{kind} first", **settings) == 0  # type: ignore[arg-type]
    whole = time.monotonic() - began
    old: str | None = f"{kind} first"
    for number in range(kills):
        if kind != "overwrite":
            killer.empty()
            old = None
        title = f"{kind} {number}"
        # By turns from the start of the process, and from the moment when the table is begun.
        awaited = str(temporary_path(target)) if number // 2 % 2 else None
        kill = (signal.SIGKILL if number % 2 else signal.SIGTERM, killer.random.uniform(0.0, whole), awaited)
        began = time.monotonic()
        code = killer.run(target, title, kill=kill, **settings)  # type: ignore[arg-type]
        if code == 0:  # it was faster than the last one
            whole = min(whole, time.monotonic() - began)
        old = killer.inspect(target, title, old, 143 if code == -signal.SIGTERM else code)
        killer.start_next(target)


def main() -> None:
    """Kill as many releases of each kind as asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--serve", action="store_true")
    chosen = parser.parse_args()
    if chosen.serve:
        serve()
        return
    server = Server()
    for kind in KINDS:
        with tempfile.TemporaryDirectory() as folder:
            killer = Killer(server, Path(folder), chosen.rows, chosen.seed)
            try:
                kill_randomly(killer, kind, chosen.kills)
            except DiscreetError as error:
                raise SystemExit(f"{kind}: broken: {error}") from error
            found = ", ".join(f"{count} × {what}" for what, count in sorted(killer.found.items()))
            print(f"{kind:10} {chosen.kills} kills: {found}; none broken, none missing from the ledger", flush=True)
    server.close()


if __name__ == "__main__":
    main()
