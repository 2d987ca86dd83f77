"""The collector of surveys: durable reports beside the same server's empty endpoint, and what is left after kill -9."""

from __future__ import annotations

import asyncio
import json
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from tests.survey.postgresql import programs, running

from benchmarks.measure import Result, at_least, every_core, on_cores
from discreet.survey import TEMPLATE
from discreet.survey.database import Database, digest
from discreet.survey.tallies import progress

CLIENTS = 50


@dataclass
class Served:
    """A collector in a process of its own."""

    process: subprocess.Popen[bytes]
    port: int
    design: str

    @classmethod
    def start(cls, plan: Path, database: str) -> Served:
        """Wait until it can be asked."""
        command = [sys.executable, "-m", "discreet", "survey", "serve", str(plan), "--port", "0", "--json"]
        process = subprocess.Popen([*command, "--database", database], stdout=subprocess.PIPE)
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
        return cls(process, int(told["address"].rsplit(":", 1)[1].strip("/")), told["design"])

    def end(self) -> None:
        """Stop it, and wait."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()


def ready_request() -> tuple[str, bytes]:
    """The empty endpoint."""
    return "", b"GET /ready HTTP/1.1\r\nHost: a\r\n\r\n"


def report_request(design: str) -> tuple[str, bytes]:
    """A new report."""
    receipt = secrets.token_hex(16)
    body = json.dumps({"design": design, "report": "012"}).encode()
    head = (
        f"PUT /reports/{receipt} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    )
    return receipt, f"{head}\r\n\r\n".encode() + body


async def _client(
    port: int, make: Callable[[], tuple[str, bytes]], until: float, done: list[str], times: list[float]
) -> None:
    """One client that asks again as soon as it was answered."""
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while time.perf_counter() < until:
            receipt, request = make()
            begun = time.perf_counter()
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            length = next((int(x.split(b":")[1]) for x in head.split(b"\r\n") if x.startswith(b"content-length")), 0)
            await reader.readexactly(length)
            if head[9:12] in (b"201", b"200", b"204"):
                done.append(receipt)
                times.append(time.perf_counter() - begun)
        writer.close()
    except (OSError, asyncio.IncompleteReadError):
        return


def load(port: int, make: Callable[[], tuple[str, bytes]], seconds: float) -> tuple[list[str], list[float]]:
    """Fifty clients for some seconds: what was acknowledged, and how long each took."""
    done: list[str] = []
    times: list[float] = []

    async def all_clients() -> None:
        until = time.perf_counter() + seconds
        await asyncio.gather(*(_client(port, make, until, done, times) for _ in range(CLIENTS)))

    asyncio.run(all_clients())
    return done, times


def collector_results(seconds: float, rounds: int) -> Iterator[Result]:
    """Both databases, each beside the empty endpoint of the same process; then ten kills under load."""
    with tempfile.TemporaryDirectory() as scratch, ExitStack() as stack:
        plan = Path(scratch) / "survey.toml"
        plan.write_text(TEMPLATE, encoding="utf-8")
        databases = {"SQLite": str(Path(scratch) / "survey.sqlite")}
        where = programs()
        if where is not None:
            with on_cores(every_core()):  # a database server has cores of its own
                databases["PostgreSQL"] = stack.enter_context(running(where))()
        for name, address in databases.items():
            yield _throughput(name, plan, address, seconds, rounds)
            yield _kills(name, plan, address, 10)


def _throughput(name: str, plan: Path, address: str, seconds: float, rounds: int) -> Result:
    server = Served.start(plan, address)
    empty: list[int] = []
    stored: list[int] = []
    acknowledged: list[str] = []
    waits: list[float] = []
    for _ in range(rounds):
        empty.append(len(load(server.port, ready_request, seconds)[0]))
        done, times = load(server.port, lambda: report_request(server.design), seconds)
        stored.append(len(done))
        acknowledged += done
        waits += times
    server.end()
    database = Database(address)
    lost = len(acknowledged) - progress(database).reports
    database.close()
    rate, plain = sum(stored) / seconds / rounds, sum(empty) / seconds / rounds
    slow = sorted(waits)[int(0.99 * len(waits))]
    each = ", ".join(f"{one / other:.2f}" for one, other in zip(stored, empty, strict=True))
    detail = (
        f"{rate:,.0f} against {plain:,.0f} requests/s (by round: {each}), {CLIENTS} clients, p99 {1e3 * slow:.0f} ms, "
        f"{len(acknowledged):,} acknowledged, {lost} lost"
    )
    found = at_least(f"durable reports, {name}", "the empty endpoint of the same server", 0.5, rate / plain, detail)
    assert lost == 0, "an acknowledged report is missing"
    return found


def _kills(name: str, plan: Path, address: str, kills: int) -> Result:
    """Killed again and again under load: is all that was acknowledged there, and nothing twice?"""
    import sqlalchemy as sa

    acknowledged: list[str] = []
    for _ in range(kills):
        server = Served.start(plan, address)
        ends = subprocess.Popen(
            [sys.executable, "-c", f"import os,time; time.sleep(1); os.kill({server.process.pid}, 9)"]
        )
        acknowledged += load(server.port, lambda design=server.design: report_request(design), 1.5)[0]  # type: ignore[misc]
        ends.wait()
        server.process.wait()
    database = Database(address)
    with database.engine.connect() as connection:
        kept = {bytes(ticket) for (ticket,) in connection.execute(sa.select(database.tables.reports.c.ticket))}
    lost = sum(digest(receipt) not in kept for receipt in acknowledged)
    database.close()
    return Result(
        f"{kills} kills under load, {name}",
        "acknowledged reports",
        "0 lost",
        f"{lost} lost",
        float(lost),
        lost == 0,
        f"{len(acknowledged):,} acknowledged",
    )
