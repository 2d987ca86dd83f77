"""Surveys that are long, and days on which something breaks: every behaviour is a clear one."""

from __future__ import annotations

import gzip
import json
import sqlite3

import pytest

from discreet import Release
from discreet.audit import audit
from discreet.survey import Questionnaire
from discreet.survey.database import Database
from discreet.survey.tallies import progress
from tests.publish.conftest import block_of
from tests.survey.conftest import discreet, written
from tests.survey.driver import respond
from tests.survey.test_collector import OPEN
from tests.survey.test_plan import survey_of

PLACES = 2000


def long_survey():
    """Thirty questions: twelve private columns, three of them together and one of 2,000 places, and eighteen public."""
    public = [f"p{i}" for i in range(18)]
    joint = {"columns": ["j0", "j1", "j2"], "mechanism": "joint", "epsilons": [1.0, 1.0, 2.0]}
    joint["domains"] = [{"binary": ["no", "yes"]}, {"binary": ["no", "yes"]}, {"categorical": ["a", "b", "c"]}]
    places = block_of(columns=["place"], domain={"categorical": [f"Place {i}" for i in range(PLACES)]}, epsilon=6.0)
    blocks = [joint, places, *(block_of(columns=[f"s{i}"]) for i in range(8))]
    names = [*public, "j0", "j1", "j2", "place", *(f"s{i}" for i in range(8))]
    questions = [
        {"column": name, "text": f"What about {name}?"} | ({"choices": ["x", "y", "z"]} if name in public else {})
        for name in names
    ]
    questions[21]["input"] = "select"
    return survey_of(*questions, private=blocks, public=public)


def test_a_long_survey_is_answered_closed_and_audited(serving, chromium, tmp_path):
    """Thirty screens in a real browser; the page stays light, the dashboard draws, public answers are protected."""
    plan = written(tmp_path, long_survey())
    survey = Questionnaire.read(plan)
    assert len(survey.questions) == 30
    checked = discreet("survey", "check", plan, "--people", "500")
    assert checked.returncode == 0, checked.stderr
    assert "fewer than 5" in checked.stdout  # 3^18 public cells
    server = serving(plan)
    page = server.client.get("/").content
    assert len(gzip.compress(page, 9)) < 60_000
    context = chromium.new_context(viewport={"width": 320, "height": 640})
    tab = context.new_page()
    tab.goto(server.address)
    respond(tab, [1] * 18 + [1, 0, 2, 1234] + [1] * 8)
    assert tab.evaluate("document.documentElement.scrollWidth") <= 320
    context.close()
    width = survey.length
    for i in range(40):
        codes = tuple((i * (place + 3)) % field.size for place, field in enumerate(survey.fields))
        assert server.put(survey.joined(codes))[0].status_code == 201
    text = server.client.get(server.told["dashboard"]).text
    assert "What about place?" in text
    assert server.stop() == 0
    done = discreet("survey", "close", plan, "-o", tmp_path / "out.parquet")
    assert done.returncode == 2
    assert "--small-cells" in done.stderr
    done = discreet("survey", "close", plan, "-o", tmp_path / "out.parquet", "--small-cells", "blank", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["rows"] == 41
    assert audit(Release.open(tmp_path / "out.parquet")).passed
    assert width == 18 + 3 + 4 + 8


def test_restarted_served_twice_and_tried_out(serving, tmp_path):
    """What was acknowledged before a restart is there after it; a second process is refused; test runs stand apart."""
    plan = written(tmp_path, OPEN)
    first = serving(plan)
    _, receipt = first.put("01")
    trial = serving(plan, "--test")  # beside the real one: a file of its own
    assert trial.put("11")[0].status_code == 201
    assert trial.client.delete(f"reports/{receipt}").status_code == 404
    done = discreet("survey", "serve", plan, "--port", "0")
    assert done.returncode == 2
    assert "another process" in done.stderr
    dashboard = first.told["dashboard"].rsplit("/", 1)[1]
    assert first.stop() == 0
    second = serving(plan)
    assert second.told["dashboard"].rsplit("/", 1)[1] == dashboard  # the address is still good
    assert second.put("01", receipt=receipt)[0].status_code == 200
    second.stop()
    database = Database(tmp_path / "survey.sqlite")
    assert progress(database).reports == 1
    database.close()


def test_a_database_that_fails_is_a_pause_not_a_loss(serving, chromium, tmp_path):
    """While the database cannot be written the page keeps the report and tries again; then it is stored once."""
    plan = written(tmp_path, OPEN)
    server = serving(plan)
    context = chromium.new_context()
    page = context.new_page()
    page.goto(server.address)
    page.clock.install()
    blocking = sqlite3.connect(tmp_path / "survey.sqlite", isolation_level=None)
    blocking.execute("ALTER TABLE discreet_reports RENAME TO away")
    respond(page, [0, 1], wait="#waitingScreen")
    assert server.client.get("/").status_code == 200  # the page itself is served
    assert server.put("01")[0].status_code == 503
    assert server.client.get(server.told["dashboard"]).status_code == 503
    blocking.execute("ALTER TABLE away RENAME TO discreet_reports")
    blocking.close()
    page.clock.fast_forward(6000)  # the page tries again by itself after five seconds
    page.wait_for_selector("#doneScreen")
    context.close()
    assert server.stop() == 0
    database = Database(tmp_path / "survey.sqlite")
    assert progress(database).reports == 1
    database.close()


def test_a_postgresql_that_goes_away_and_comes_back(serving, tmp_path):
    """Requests are told to come again (503), the page is still served, and after the restart all goes on."""
    from tests.parts import missing
    from tests.survey.postgresql import programs, restarted, running

    where = programs()
    if where is None:
        missing("surveys in PostgreSQL", "no server: apt-get install postgresql")
    plan = written(tmp_path, OPEN)
    with running(where) as fresh:
        address = fresh()
        server = serving(plan, "--database", address)
        _, receipt = server.put("01")
        with restarted(where, address):
            assert server.put("01")[0].status_code == 503
            assert server.client.get("/").status_code == 200
            done = discreet("survey", "close", plan, "-o", tmp_path / "out.csv", "--database", address)
            assert done.returncode == 1
            assert "cannot be used" in done.stderr
            assert done.stderr.count("\n") == 1
        tries = [server.put("11")[0].status_code for _ in range(4)]
        assert tries[-1] == 201
        assert server.put("01", receipt=receipt)[0].status_code == 200
        done = discreet("survey", "serve", plan, "--port", "0", "--database", address)  # the lock was taken again
        assert done.returncode == 2
        assert "another process" in done.stderr
        assert server.stop() == 0
        database = Database(address)
        assert progress(database).reports == 1 + tries.count(201)
        database.close()


@pytest.mark.parametrize("days", [{"opens": "2020-01-01", "closes": "2099-01-01"}, {"closes": "2020-01-01"}])
def test_days_may_change_while_a_survey_runs(serving, tmp_path, days):
    """Served again with other days the same reports are there; a survey whose days are over still closes."""
    plan = written(tmp_path, OPEN)
    server = serving(plan)
    for i in range(12):
        server.put(f"{i % 2}1")
    server.stop()
    written(tmp_path, OPEN | {"collect": days})
    server = serving(plan)
    assert server.put("01")[0].status_code == (201 if "opens" in days else 410)
    server.stop()
    done = discreet("survey", "close", plan, "-o", tmp_path / "out.csv", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["rows"] == (13 if "opens" in days else 12)
