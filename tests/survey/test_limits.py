"""What a stranger can use up of a collector: real sockets on the loopback address, and every limit in one place."""

from __future__ import annotations

import re
import resource
import socket
import time
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest

from discreet import PlanError
from discreet.survey import Questionnaire, limits
from discreet.survey.database import Database
from discreet.survey.serving import Idle
from discreet.survey.tallies import progress
from tests.survey.conftest import discreet, written
from tests.survey.test_collector import INVITED, OPEN
from tests.survey.test_plan import built

HEAD = "PUT /reports/{} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"


def connected(server):
    """A connection of its own."""
    return socket.create_connection(("127.0.0.1", int(server.address.rsplit(":", 1)[1].strip("/"))), timeout=30)


def said(connection):
    """Everything that comes before the other side closes."""
    found = b""
    while piece := connection.recv(65536):
        found += piece
    return found


@pytest.mark.parametrize("sent", ["", "GET / HT", HEAD.format("0" * 32) + "Content-Length: 100\r\n\r\n{"])
def test_four_hundred_half_open_connections_keep_nobody_out(serving, tmp_path, sent):
    """Of 256 files that the process may open; somebody else is answered while they are held, and they are closed."""
    server = serving(written(tmp_path, OPEN))
    resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (256, 256))
    held = [connected(server) for _ in range(400)]
    for connection in held:
        connection.sendall(sent.encode())
    for _ in range(3):
        assert httpx.get(server.address, timeout=60).status_code == 200
    assert server.put("01")[0].status_code == 201
    closed = 0
    for connection in held[:200]:
        try:
            closed += said(connection) == b""
        except ConnectionResetError:
            closed += 1
    assert closed == 200
    for connection in held:
        connection.close()
    assert server.stop() == 0
    assert "raddr" not in server.log.read_text()  # a full table of files is reported, nobody's address is


def test_heads_and_bodies_have_their_time(monkeypatch):
    """A connection without a request, or with half of one, is closed when its time is over; one at work is not."""
    now, gone = 0.0, []
    monkeypatch.setattr(time, "monotonic", lambda: now)

    class Connection:
        def __init__(self, name, cycle):
            self.cycle, self.transport = cycle, SimpleNamespace(abort=lambda: gone.append(name))

    def cycle(**state):
        return SimpleNamespace(**{"response_complete": False, "more_body": False} | state)

    late = Connection("new", None)
    every = [
        late,
        Connection("kept alive", cycle(response_complete=True)),
        Connection("body", cycle(more_body=True)),
        Connection("working", cycle()),
    ]
    idle = Idle()
    idle.close_overdue(every)
    now = limits.HEAD_SECONDS
    idle.close_overdue(every)
    assert gone == []
    late.cycle = cycle(more_body=True)  # its head came in time, and now its body is waited for
    now += 0.1
    idle.close_overdue(every)
    assert sorted(gone) == ["body", "kept alive"]
    now += limits.BODY_SECONDS + 0.1
    idle.close_overdue([late])
    assert sorted(gone) == ["body", "kept alive", "new"]


def test_a_length_is_stated_once(serving, tmp_path):
    """Content-Length with Transfer-Encoding is refused, and nothing behind it is read."""
    server = serving(written(tmp_path, OPEN))
    with connected(server) as connection:
        hidden = "GET /ready HTTP/1.1\r\nHost: a\r\n\r\n"
        framing = f"Content-Length: {5 + len(hidden)}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
        connection.sendall((HEAD.format("0" * 32) + framing + hidden).encode())
        answer = said(connection)
    assert answer.startswith(b"HTTP/1.1 400")
    assert answer.count(b"HTTP/1.1") == 1
    assert server.stop() == 0


def test_a_long_head_is_refused(serving, tmp_path):
    """No memory is filled with the head of a request."""
    server = serving(written(tmp_path, OPEN))
    with connected(server) as connection, pytest.raises((BrokenPipeError, ConnectionResetError)):
        connection.sendall(b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"x" * 1000 * limits.HEAD_BYTES)
    assert httpx.get(server.address, timeout=60).status_code == 200


@pytest.mark.parametrize("origin", ["http://[::1", "http://[", "https://a]b", "http://a:b:c", "null", "x" * 100])
def test_an_origin_that_is_no_address_is_the_senders_mistake(serving, tmp_path, origin):
    """400 or 403, never a failure of the collector; and no other way of asking fails either."""
    server = serving(written(tmp_path, OPEN))
    for method in ("PUT", "DELETE", "OPTIONS"):
        answer = server.client.request(method, f"reports/{'0' * 32}", headers={"origin": origin})
        assert answer.status_code in (400, 403)
    assert server.stop() == 0


def test_a_survey_keeps_as_many_reports_as_its_plan_says(serving, tmp_path):
    """Further ones are refused for good; one that was stored is acknowledged again, and one taken back makes room."""
    plan = written(tmp_path, OPEN | {"collect": {"most": 3}})
    server = serving(plan)
    first = server.put("01")[1]
    assert [server.put("00")[0].status_code for _ in range(4)] == [201, 201, 507, 507]
    assert server.put("01", receipt=first)[0].status_code == 200
    assert server.client.delete(f"reports/{first}").status_code == 204
    assert [server.put("11")[0].status_code for _ in range(2)] == [201, 507]
    assert server.stop() == 0
    database = Database(tmp_path / "survey.sqlite")
    assert progress(database).reports == 3
    database.close()
    plan = written(tmp_path, OPEN | {"collect": {"most": 4}})  # it may grow while the survey runs
    server = serving(plan)
    assert [server.put("11")[0].status_code for _ in range(2)] == [201, 507]


@pytest.mark.parametrize("most", [0, -1, 1.5, "many", True])
def test_a_cap_is_a_whole_number(most):
    """One sentence with its path."""
    with pytest.raises(PlanError, match=r"collect\.most"):
        built(collect={"most": most})


def test_all_reports_together_have_a_rate(tmp_path, monkeypatch):
    """Beyond it everybody waits; the page sends again by itself."""
    import asyncio

    from discreet.survey.collector import Collector

    monkeypatch.setattr(limits, "ALL_PER_MINUTE", 0)
    survey, database = Questionnaire.read(written(tmp_path, OPEN)), Database(tmp_path / "survey.sqlite")
    database.open(survey.design)
    transport = httpx.ASGITransport(Collector(survey, database).app())

    async def asked():
        async with httpx.AsyncClient(transport=transport, base_url="http://a") as client:
            return [(await client.request(how, f"/reports/{'0' * 32}")).status_code for how in ("PUT", "DELETE")]

    assert asyncio.run(asked()) == [429, 429]
    database.close()


@pytest.mark.parametrize(
    "address",
    [
        "javascript:alert(1)",
        "=HYPERLINK(1)",
        "ftp://a.example",
        "https://a.example/\n=1",
        "https://a.example/?x=1",
        "https://a.example/#x",
        "https://user@a.example",
        "http://[::1",
        "https:///x",
        'https://a.example/"',
        "https://a.example/<b>",
        "https://a.example:99999",
        " https://a.example",
        "",
    ],
)
def test_invitations_lead_to_an_address_of_the_web(tmp_path, address):
    """Refused in one sentence, with no file and no code made."""
    plan = written(tmp_path, INVITED)
    done = discreet("survey", "invite", plan, "--count", "2", "--url", address, "-o", tmp_path / "out")
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / "survey.sqlite").exists()


def test_every_limit_is_in_the_documentation():
    """One table has them all."""
    page = (Path(__file__).parents[2] / "docs" / "asking.md").read_text(encoding="utf-8")
    table = page.split("## Limits", 1)[1].split("\n## ", 1)[0].replace(",", "")
    for name, value in vars(limits).items():
        if name.isupper():
            assert re.search(rf"\b{value:g}\b" if value < 1e6 else rf"\b{value}\b", table), name
