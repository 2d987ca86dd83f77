"""The collector as the world meets it: a process of its own, real requests, real files."""

from __future__ import annotations

import json
import secrets
from contextlib import closing

import numpy as np
import pytest

from discreet import Release
from discreet.survey import Questionnaire
from discreet.survey.database import Database, digest
from discreet.survey.invitations import invite, new_code
from discreet.survey.sampling import coin, report
from discreet.survey.tallies import progress
from tests.publish.conftest import block_of
from tests.survey.conftest import discreet, written
from tests.survey.test_plan import ASKED, survey_of

YEAR = {"column": "year", "text": "Which year?", "choices": ["first", "second"]}
OPEN = survey_of(YEAR, ASKED, public=["year"])
INVITED = survey_of(YEAR, ASKED, public=["year"], collect={"access": "invitation"}, budget={"rows_per_person": 1})


def drawn(survey, truths):
    """Reports of simulated people, by the rule of the page; truths are (year, cheated)."""
    mechanism = survey.plan.blocks[0].mechanism
    random_bytes = secrets.token_bytes
    return [
        survey.joined((year, report(mechanism, cheated, coin(mechanism.denominator, random_bytes))))
        for year, cheated in truths
    ]


def test_a_report_is_stored_once_and_acknowledged_as_often_as_it_is_sent(serving, tmp_path):
    """The same bytes under the same id; other bytes under it are refused."""
    server = serving(written(tmp_path, OPEN))
    first, receipt = server.put("01")
    assert first.status_code == 201
    assert server.put("01", receipt=receipt)[0].status_code == 200
    assert server.put("11", receipt=receipt)[0].status_code == 409
    server.stop()
    database = Database(tmp_path / "survey.sqlite")
    assert progress(database).reports == 1
    assert progress(database).total("refused") == 1
    database.close()


def test_a_code_is_used_once(serving, tmp_path):
    """Unknown codes, used codes, and a report that comes again after the code was used."""
    plan = written(tmp_path, INVITED)
    survey, database = Questionnaire.read(plan), Database(tmp_path / "survey.sqlite")
    codes = invite(survey, database, 3)
    server = serving(plan)
    assert server.put("01", code=new_code())[0].status_code == 403
    first, receipt = server.put("01", code=codes[0])
    assert first.status_code == 201
    assert server.put("00", code=codes[0])[0].status_code == 409
    assert server.put("01", code=codes[0], receipt=receipt)[0].status_code == 200
    late = invite(survey, database, 1)[0]  # while the survey runs
    assert server.put("10", code=late)[0].status_code == 201
    server.stop()
    found = progress(database)
    assert (found.reports, found.invited, found.used) == (2, 4, 2)
    database.close()


def test_a_code_and_a_receipt_are_tried_a_few_times_a_minute(serving, tmp_path):
    """Whoever guesses ids under a code, or receipts, has to wait; nobody else has."""
    plan = written(tmp_path, INVITED)
    with closing(Database(tmp_path / "survey.sqlite")) as database:
        codes = invite(Questionnaire.read(plan), database, 2)
    server = serving(plan)
    tried = [server.put("01", code=codes[0])[0].status_code for _ in range(22)]
    assert tried == [201, *[409] * 19, 429, 429]
    assert server.put("01", code=codes[1])[0].status_code == 201
    tried = [server.client.delete(f"reports/{'0' * 32}").status_code for _ in range(22)]
    assert tried == [*[404] * 20, 429, 429]


def test_one_code_is_asked_for_a_few_times_a_minute(monkeypatch):
    """Beyond that it waits; another code does not."""
    from discreet.survey import collector

    now = 1000.0
    monkeypatch.setattr(collector.time, "monotonic", lambda: now)
    limit = collector.RateLimit(most=3)
    assert [limit.allows(b"a") for _ in range(4)] == [True, True, True, False]
    assert limit.allows(b"b")
    now += 61
    assert limit.allows(b"a")


def test_a_report_whose_code_was_not_yet_marked_is_completed_when_it_comes_again(tmp_path):
    """Killed between the two commits: the report is there, the code unused; the page sends again."""
    import asyncio

    from discreet.survey.writer import Outcome, Writer

    survey = Questionnaire.read(written(tmp_path, INVITED))
    database = Database(tmp_path / "survey.sqlite")
    (code,) = invite(survey, database, 1)

    async def scenario():
        writer = Writer(database, invited=True)
        writer._use_codes = lambda codes: None  # dies here
        writer.start()
        first = await writer.ask(b"a" * 16, "01", digest(code))
        writer.stop()
        assert progress(database).used == 0
        writer = Writer(database, invited=True)
        writer.start()
        second = await writer.ask(b"a" * 16, "01", digest(code))
        third = await writer.ask(b"b" * 16, "01", digest(code))
        writer.stop()
        return first, second, third

    assert asyncio.run(scenario()) == (Outcome.STORED, Outcome.KNOWN, Outcome.USED_CODE)
    assert (progress(database).reports, progress(database).used) == (1, 1)
    database.close()


def test_a_code_is_not_spent_on_a_report_that_was_not_stored(tmp_path, monkeypatch):
    """The report comes first: where it fails the code is good still, and the same request succeeds later."""
    import asyncio

    from discreet.survey import writer as module

    survey = Questionnaire.read(written(tmp_path, INVITED))
    database = Database(tmp_path / "survey.sqlite")
    (code,) = invite(survey, database, 1)

    def full(*_):
        raise OSError("the disk is full")

    async def scenario():
        writer = module.Writer(database, invited=True)
        writer.start()
        with monkeypatch.context() as broken:
            broken.setattr(module, "insert_new", full)
            first = await writer.ask(b"a" * 16, "01", digest(code))
        assert (progress(database).reports, progress(database).used) == (0, 0)
        second = await writer.ask(b"a" * 16, "01", digest(code))
        writer.stop()
        return first, second

    assert asyncio.run(scenario()) == (module.Outcome.FAILED, module.Outcome.STORED)
    assert (progress(database).reports, progress(database).used) == (1, 1)
    database.close()


def test_editing_a_running_survey_is_refused(serving, tmp_path):
    """Another text is another design; more days are not."""
    plan = written(tmp_path, OPEN)
    serving(plan).stop()
    written(tmp_path, OPEN | {"collect": {"closes": "2099-01-01"}})
    serving(plan).stop()
    written(tmp_path, survey_of(YEAR, ASKED | {"text": "Really?"}, public=["year"]))
    for command in (("serve", plan, "--port", "0"), ("close", plan, "-o", tmp_path / "out.csv")):
        done = discreet("survey", *command)
        assert done.returncode == 2
        assert "changed since it began" in done.stderr


def test_answers_of_a_test_run_never_enter_a_release(serving, tmp_path):
    """They are in a file of their own, and the page says that it is a test."""
    plan = written(tmp_path, OPEN)
    server = serving(plan, "--test")
    assert "nothing counts" in server.client.get("/").text or '"test":true' in server.client.get("/").text
    assert server.put("01")[0].status_code == 201
    server.stop()
    done = discreet("survey", "close", plan, "-o", tmp_path / "out.csv")
    assert done.returncode == 2
    assert "no survey" in done.stderr
    assert not (tmp_path / "out.csv").exists()


def test_before_and_after_its_days_nothing_is_taken(serving, tmp_path):
    """The page says so, and requests are refused."""
    early = written(tmp_path, OPEN | {"collect": {"opens": "2099-01-01"}}, "early.toml")
    late = written(tmp_path, OPEN | {"collect": {"closes": "2020-01-01"}}, "late.toml")
    server = serving(early)
    assert "2099-01-01" in server.client.get("/").text
    assert server.put("01")[0].status_code == 425
    server = serving(late)
    assert "closed" in server.client.get("/").text
    assert server.put("01")[0].status_code == 410


def test_malformed_and_forged_requests_are_refused(serving, tmp_path):
    """Each with its own status, none stored."""
    server = serving(written(tmp_path, OPEN | {"collect": {"origins": ["https://pages.example.org"]}}))
    path, design = f"reports/{'a' * 32}", server.told["design"]
    good = {"design": design, "report": "01"}
    assert server.client.put(path, json=good | {"design": "0" * 64}).status_code == 412
    assert server.client.put(path, json=good | {"report": "02"}).status_code == 422
    assert server.client.put(path, json=good | {"more": "x"}).status_code == 422
    assert server.client.put(path, content=b"[" * 500, headers={"content-type": "application/json"}).status_code == 422
    assert server.client.put(path, content=json.dumps(good)).status_code == 415
    assert server.client.put(path, json=good | {"report": "0" * 5000}).status_code == 413
    assert server.client.put("reports/short", json=good).status_code == 404
    assert server.client.put(path, json=good, headers={"origin": "https://evil.example"}).status_code == 403
    assert server.client.options(path, headers={"origin": "https://evil.example"}).status_code == 403
    listed = {"origin": "https://pages.example.org"}
    asked = server.client.options(path, headers=listed)
    assert asked.headers["access-control-allow-origin"] == listed["origin"]
    assert "PUT" in asked.headers["access-control-allow-methods"]
    assert server.client.put(path, json=good, headers=listed).status_code == 201
    assert server.client.get("dashboard/wrong").status_code == 404
    server.stop()
    database = Database(tmp_path / "survey.sqlite")
    assert progress(database).reports == 1
    database.close()


def test_nothing_of_a_request_is_kept(serving, tmp_path):
    """A planted address, agent and code are found in no file and in nothing that was printed."""
    plan = written(tmp_path, INVITED)
    with closing(Database(tmp_path / "survey.sqlite")) as database:
        (code,) = invite(Questionnaire.read(plan), database, 1)
    server = serving(plan)
    planted = {
        "user-agent": "planted-agent-7Q",
        "x-forwarded-for": "203.0.113.77",
        "referer": "https://planted.example/7Q",
    }
    assert server.put("01", code=code, **planted)[0].status_code == 201
    assert server.put("01", code="X" * 20, **planted)[0].status_code == 403
    assert server.client.get("/?planted-query-7Q", headers=planted).status_code == 200
    printed = server.kill()
    found = printed + b"".join(path.read_bytes() for path in tmp_path.iterdir())
    for secret in ("planted-agent", "203.0.113.77", "planted.example", "planted-query", code, "X" * 20):
        assert secret.encode() not in found


def test_addresses_that_others_can_reach_need_a_certificate_or_a_decision(tmp_path):
    """Whoever alters the page reads the truth."""
    plan = written(tmp_path, OPEN)
    done = discreet("survey", "serve", plan, "--host", "0.0.0.0", "--port", "0")
    assert done.returncode == 2
    assert "--insecure-lan" in done.stderr


def test_two_servers_do_not_share_a_survey(serving, tmp_path):
    """Nor is it closed while it is served."""
    plan = written(tmp_path, OPEN)
    server = serving(plan)
    server.put("01")
    for command in (("serve", plan, "--port", "0"), ("close", plan, "-o", tmp_path / "out.csv")):
        done = discreet("survey", *command)
        assert done.returncode == 2
        assert "another process" in done.stderr


def test_one_flipped_byte_is_found(serving, tmp_path):
    """``verify`` compares what is served with what the plan builds."""
    plan = written(tmp_path, OPEN)
    server = serving(plan)
    done = discreet("survey", "verify", server.address, plan)
    assert done.returncode == 0, done.stderr
    other = written(tmp_path, survey_of(YEAR, ASKED | {"text": "Did you!"}, public=["year"]), "other.toml")
    done = discreet("survey", "verify", server.address, other, "--json")
    assert done.returncode == 3
    assert json.loads(done.stdout)["first_difference"] > 0


def test_small_public_cells_are_a_decision(serving, tmp_path):
    """Refused at first; left out or kept when somebody says so. Four blanks beside one answer would be the other."""
    plan = written(tmp_path, OPEN)
    server = serving(plan)
    for text in ["01"] * 20 + ["11"] * 4:
        server.put(text)
    server.stop()
    done = discreet("survey", "close", plan, "-o", tmp_path / "out.parquet")
    assert done.returncode == 2
    assert "4 people" in done.stderr
    done = discreet("survey", "close", plan, "-o", tmp_path / "out.parquet", "--small-cells", "blank", "--json")
    assert done.returncode == 0, done.stderr
    table = Release.open(tmp_path / "out.parquet").to_arrow()
    assert table["year"].null_count == 24


def test_the_raw_files_after_closing_hold_no_order_and_no_link(serving, tmp_path):
    """Every byte of SQLite and its log is searched; before closing it finds the order, so the search works."""
    names = [f"q{i}" for i in range(3)]
    blocks = [block_of(columns=[name], domain={"categorical": [f"v{j}" for j in range(1000)]}) for name in names]
    questions = [{"column": name, "text": name} for name in names]
    data = survey_of(*questions, private=blocks, collect={"access": "invitation"})
    plan = written(tmp_path, data)
    survey, database = Questionnaire.read(plan), Database(tmp_path / "survey.sqlite")
    count = 150
    codes = invite(survey, database, count)
    server = serving(plan)
    generator = np.random.default_rng(7)
    reports = [f"{n:09d}" for n in generator.choice(10**9, count, replace=False)]
    receipts = [server.put(text, code=code)[1] for text, code in zip(reports, codes, strict=True)]
    server.kill()
    log = (tmp_path / "survey.sqlite-wal").read_bytes()
    assert abs(rank_correlation(log, reports)) > 0.9
    done = discreet("survey", "close", plan, "-o", tmp_path / "out.parquet")
    assert done.returncode == 0, done.stderr
    database.close()
    left = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.name.startswith("survey.sqlite")}
    assert len(left.get("survey.sqlite-wal", b"")) == 0
    content = b"".join(left.values())
    for secret in (*codes, *receipts):
        assert secret.encode() not in content
        assert digest(secret) not in content
    assert all(content.count(text.encode()) == 1 for text in reports)
    assert abs(rank_correlation(content, reports)) < 6 / np.sqrt(count)


def rank_correlation(content, reports):
    """Between the order of arrival and the place in a file (Spearman)."""
    places = np.array([content.find(text.encode()) for text in reports])
    assert (places >= 0).all()
    return np.corrcoef(np.arange(len(reports)), np.argsort(np.argsort(places)))[0, 1]


def test_a_machine_that_tries_everything_finds_no_failure(serving, tmp_path):
    """Requests made from the OpenAPI document, good and bad: every status is a documented one, none is 5xx."""
    import schemathesis

    server = serving(written(tmp_path, OPEN))
    schema = schemathesis.openapi.from_dict(server.client.get("openapi.json").json())
    seen = set()
    for operation in schema.get_all_operations():
        documented = {int(status) for status in operation.ok().definition.raw["responses"]}
        wrong = [schemathesis.GenerationMode.NEGATIVE] if "{id}" in operation.ok().path else []
        for mode in [schemathesis.GenerationMode.POSITIVE, *wrong]:
            for case in examples(operation.ok().as_strategy(generation_mode=mode), 25):
                status = case.call(base_url=server.address.rstrip("/")).status_code
                seen.add(status)
                assert status < 500
                assert status in documented | {404, 405}
    assert {201, 204, 422} <= seen
    server.stop()


def examples(strategy, count):
    """A fixed list of examples of a strategy."""
    from hypothesis import Phase, given, settings

    found = []

    @settings(max_examples=count, database=None, phases=[Phase.generate])
    @given(strategy)
    def collect(case):
        found.append(case)

    collect()
    return found


@pytest.mark.parametrize("people", [10, 60])
def test_the_dashboard_shows_what_may_be_seen(serving, tmp_path, people):
    """Estimates from thirty reports on, small cells withheld, and the number that is still needed."""
    plan = written(tmp_path, OPEN | {"collect": {"margin": 0.1}})
    server = serving(plan)
    for i in range(people):
        server.put("11" if i < 3 else f"0{i % 2}")
    text = server.client.get(server.told["dashboard"]).text
    assert f"<dd>{people}</dd>" in text
    assert ("Estimates are shown from 30 reports on" in text) == (people < 30)
    assert ("holds at every look" in text) == (people >= 30)
    assert "fewer than 5" in text
    if people >= 30:
        assert "more reports reach the planned margin" in text
    assert server.client.get(server.told["dashboard"] + "/figures").text in text
