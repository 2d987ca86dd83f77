"""What was acknowledged is there: after ``kill -9`` under load, in SQLite and in a real PostgreSQL."""

from __future__ import annotations

import asyncio
import secrets
import threading

import httpx
import numpy as np
import pytest

from discreet.survey import Questionnaire
from discreet.survey.closing import close_survey
from discreet.survey.database import Database, digest
from discreet.survey.invitations import invite
from discreet.survey.tallies import all_reports, progress
from tests.publish.conftest import block_of
from tests.survey.conftest import discreet, written
from tests.survey.test_collector import INVITED, OPEN
from tests.survey.test_plan import survey_of

KILLS, CLIENTS = 3, 6  # ten kills are in the benchmark


def load(server, acknowledged, attempted, stop):
    """A client that sends until it is told to stop, and again what was not acknowledged."""
    client = httpx.Client(base_url=server.address, timeout=10)
    while not stop.is_set():
        receipt = secrets.token_hex(16)
        attempted.append(receipt)
        try:
            answer = client.put(f"reports/{receipt}", json={"design": server.told["design"], "report": "01"})
        except httpx.HTTPError:
            break
        if answer.status_code in (200, 201):
            acknowledged.append(receipt)
    client.close()


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_every_acknowledged_report_survives_a_kill(kind, serving, request, tmp_path):
    """Killed under load again and again: all that was acknowledged is there, and none twice."""
    plan = written(tmp_path, OPEN)
    address = request.getfixturevalue("postgres")() if kind == "postgres" else str(tmp_path / "survey.sqlite")
    acknowledged, attempted = [], []
    for _ in range(KILLS):
        server = serving(plan, "--database", address)
        stop, before = threading.Event(), len(acknowledged)
        clients = [threading.Thread(target=load, args=(server, acknowledged, attempted, stop)) for _ in range(CLIENTS)]
        for client in clients:
            client.start()
        while len(acknowledged) < before + 25:
            stop.wait(0.01)
        server.kill()
        stop.set()
        for client in clients:
            client.join()
    database = Database(address)
    import sqlalchemy as sa

    with database.engine.connect() as connection:
        kept = [bytes(ticket) for (ticket,) in connection.execute(sa.select(database.tables.reports.c.ticket))]
    assert len(kept) == len(set(kept))
    assert {digest(receipt) for receipt in acknowledged} <= set(kept)
    assert set(kept) <= {digest(receipt) for receipt in attempted}
    assert len(acknowledged) >= 25 * KILLS
    database.close()


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_requests_of_one_commit_are_judged_in_the_order_they_came(kind, request, tmp_path):
    """Twice the same, other bytes under one id, one code for two reports, an unknown code; then all of it again."""
    from discreet.survey.writer import Outcome, Writer

    address = request.getfixturevalue("postgres")() if kind == "postgres" else str(tmp_path / "survey.sqlite")
    survey, database = Questionnaire.read(written(tmp_path, INVITED)), Database(address)
    codes = [digest(code) for code in invite(survey, database, 3)]
    a, b, c, d, e = (bytes([i]) * 16 for i in range(5))
    sent = [(a, "01", codes[0]), (a, "01", codes[0]), (b, "00", codes[1]), (b, "01", codes[1]), (c, "10", codes[1])]
    sent += [(d, "10", b"?" * 16), (e, "11", codes[2])]
    groups = []

    async def scenario():
        writer = Writer(database, invited=True)
        commit = writer._commit
        writer._commit = lambda group: (groups.append(len(group)), commit(group))
        writer.start()
        first, again = [await asyncio.gather(*(writer.ask(*one) for one in sent)) for _ in range(2)]
        writer.stop()
        return first, again

    first, again = asyncio.run(scenario())
    stored, known, other, used, unknown = (
        Outcome.STORED,
        Outcome.KNOWN,
        Outcome.OTHER,
        Outcome.USED_CODE,
        Outcome.UNKNOWN_CODE,
    )
    assert first == [stored, known, stored, other, used, unknown, stored]
    assert again == [known, known, known, other, used, unknown, known]
    assert groups[:2] == [7, 7]
    found = progress(database)
    assert (found.reports, found.used, found.total("received"), found.total("refused")) == (3, 3, 3, 6)
    database.close()


def test_a_survey_in_postgresql_from_invitation_to_release(serving, postgres, tmp_path):
    """The same journey; after closing neither ``xmin`` nor ``ctid`` nor any table tells an order or a link."""
    import sqlalchemy as sa

    names = ["q0", "q1", "q2"]
    blocks = [block_of(columns=[name], domain={"categorical": [f"v{j}" for j in range(1000)]}) for name in names]
    data = survey_of(
        *[{"column": name, "text": name} for name in names], private=blocks, collect={"access": "invitation"}
    )
    plan, address = written(tmp_path, data), postgres()
    survey, database = Questionnaire.read(plan), Database(address)
    count = 120
    codes = invite(survey, database, count)
    server = serving(plan, "--database", address)
    generator = np.random.default_rng(3)
    reports = [f"{n:09d}" for n in generator.choice(10**9, count, replace=False)]
    receipts = [server.put(text, code=code)[1] for text, code in zip(reports, codes, strict=True)]
    assert server.put(reports[0], code=codes[0])[0].status_code == 409
    assert server.client.delete(f"reports/{receipts.pop()}").status_code == 204
    reports.pop()
    server.stop()
    assert sorted(all_reports(database)) == sorted(reports)
    assert abs(_order(database, database.tables.reports, reports)) > 0.9  # before closing the order can be seen
    done = discreet("survey", "close", plan, "-o", tmp_path / "out.parquet", "--database", address)
    assert done.returncode == 0, done.stderr
    assert progress(database).reports == len(reports)
    assert (progress(database).used, progress(database).total("withdrawn")) == (count, 1)
    closed = database.tables.closed
    with database.engine.connect() as connection:
        writers = connection.execute(sa.text(f"SELECT DISTINCT xmin::text FROM {closed.name}")).all()
        tables = connection.execute(sa.text("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")).scalars()
        content = "".join(str(connection.execute(sa.text(f"SELECT * FROM {name}")).all()) for name in tables)
    assert len(writers) == 1
    assert abs(_order(database, closed, reports)) < 6 / np.sqrt(len(reports))
    for secret in (*codes, *receipts):
        assert repr(digest(secret))[2:-1] not in content
        assert secret not in content
    database.close()


def _order(database, table, reports):
    """Correlation of the order of arrival with transaction number and place in the table."""
    import sqlalchemy as sa

    query = sa.text(f"SELECT report FROM {table.name} ORDER BY xmin::text::bigint, ctid")
    with database.engine.connect() as connection:
        found = [report for (report,) in connection.execute(query)]
    place = {report: i for i, report in enumerate(found)}
    return np.corrcoef(np.arange(len(reports)), [place[report] for report in reports])[0, 1]


def test_closing_is_all_or_nothing(tmp_path, monkeypatch):
    """A release that cannot be written leaves the survey open, and its reports where they were."""
    survey = Questionnaire.read(written(tmp_path, INVITED))
    database = Database(tmp_path / "survey.sqlite")
    database.open(survey.design)
    import sqlalchemy as sa

    with database.engine.begin() as connection:
        rows = [{"ticket": secrets.token_bytes(16), "report": "01"} for _ in range(10)]
        connection.execute(sa.insert(database.tables.reports), rows)
    with pytest.raises(Exception, match=r"no such|does not exist|folder"):
        close_survey(survey, database, tmp_path / "nowhere" / "out.parquet")
    assert not database.closed
    assert progress(database).reports == 10
    close_survey(survey, database, tmp_path / "out.parquet")
    assert database.closed
    database.close()
