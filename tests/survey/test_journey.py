"""The whole way, in a real browser: from the page to an audited release."""

from __future__ import annotations

import json
import os

from discreet import Release, estimate
from discreet.audit import audit
from discreet.survey import Questionnaire
from discreet.survey.database import Database
from discreet.survey.tallies import progress
from tests.survey.conftest import discreet, written
from tests.survey.driver import begin, forward, respond
from tests.survey.screens import SURVEY
from tests.survey.test_collector import OPEN, drawn

#: People who go through the page in a real browser; DISCREET_RESPONDENTS=1000 makes it a thousand.
IN_BROWSER = int(os.environ.get("DISCREET_RESPONDENTS", "8"))


def test_from_the_page_to_the_audit(serving, chromium, tmp_path):
    """People in a real browser and simulated ones; closed, audited, and the intervals cover the truth."""
    plan = written(tmp_path, OPEN)
    survey = Questionnaire.read(plan)
    server = serving(plan)
    people = [(year, int(i % 10 < 3)) for i in range(max(300, IN_BROWSER // 2)) for year in (0, 1)]
    for year, cheated in people[:IN_BROWSER]:
        context = chromium.new_context()
        page = context.new_page()
        page.goto(server.address)
        respond(page, [year, cheated])
        context.close()
    for text in drawn(survey, people[IN_BROWSER:]):
        assert server.put(text)[0].status_code == 201
    assert server.client.get("manifest.json").json()["page"]["sha256"] == server.told["page_sha256"]
    assert server.stop() == 0
    done = discreet("survey", "close", plan, "-o", tmp_path / "out.parquet", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["rows"] == len(people)
    release = Release.open(tmp_path / "out.parquet")
    assert release.manifest.source == "respondents"
    assert release.manifest.order == "shuffle"
    checked = audit(release)
    assert checked.passed, checked.summary()
    low, high = estimate.frequencies(release, "cheated").interval(1 - 1e-9)[1]
    assert low <= 0.3 <= high
    assert estimate.frequencies(release, "cheated", by="year")["first"].n == len(people) // 2
    again = discreet("survey", "close", plan, "-o", tmp_path / "again.csv")  # the same reports once more
    assert again.returncode == 0, again.stderr
    server = serving(plan)
    assert "closed" in server.client.get("/").text
    assert server.put("00")[0].status_code == 410
    assert server.client.delete("reports/" + "0" * 32).status_code == 410


def test_withdrawal_by_receipt_until_the_survey_closes(serving, chromium, tmp_path):
    """In the browser: the report is gone, the count says so, and a second time there is nothing to delete."""
    plan = written(tmp_path, OPEN)
    server = serving(plan)
    context = chromium.new_context()
    page = context.new_page()
    page.goto(server.address)
    respond(page, [0, 1])
    receipt = page.locator(".receipt").inner_text().replace(" ", "")
    page.click("text=Take the report back")
    page.click("button.danger")
    page.wait_for_selector("#withdrawnScreen")
    context.close()
    assert server.client.delete(f"reports/{receipt}").status_code == 404
    server.put("01")
    server.stop()
    database = Database(tmp_path / "survey.sqlite")
    assert (progress(database).reports, progress(database).total("withdrawn")) == (1, 1)
    database.close()


def test_somebody_who_tries_everything_sends_one_report(serving, chromium, tmp_path):
    """By keyboard, from right to left, in other languages, back, reloaded, without a network, taken back, and again."""
    plan = tmp_path / "survey.toml"
    plan.write_text(SURVEY, encoding="utf-8")
    survey, server = Questionnaire.read(plan), serving(plan)
    context = chromium.new_context(locale="ar", viewport={"width": 320, "height": 640})
    sent = []
    context.on("request", lambda request: sent.append(request) if request.method != "GET" else None)
    page = context.new_page()
    page.goto(server.address)
    assert page.evaluate("document.documentElement.dir") == "rtl"
    type_keys(page, "Tab", "Tab", "Enter")  # past the menu of languages, agree
    page.wait_for_selector("#practiceScreen")
    type_keys(page, "Tab", "Space", "Tab", "Enter", "Enter", "Tab", "Enter")  # choose, toss twice, go on
    page.wait_for_selector("#questionScreen")
    page.reload()  # in the middle: nothing was kept, it begins again
    page.wait_for_selector("#welcomeScreen")
    page.select_option(".bar select", "de")
    assert page.evaluate("[document.documentElement.dir, document.documentElement.lang]") == ["ltr", "de"]
    begin(page)
    type_keys(page, "Tab", "Space", "Enter")  # the first year
    type_keys(page, "Tab", "ArrowDown")
    page.select_option(".bar select", "ar")  # with an answer chosen but not given
    assert page.locator("#questionScreen input:checked").get_attribute("value") == "1"
    page.click("#questionScreen button.secondary")
    assert page.locator("#questionScreen input:checked").get_attribute("value") == "0"
    forward(page)
    forward(page)
    page.fill("#answer", "25")
    forward(page)
    assert "20" in page.locator("#error").inner_text()
    page.fill("#answer", "7")
    forward(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    context.set_offline(True)
    page.select_option("#answer", "1")
    forward(page)
    page.wait_for_selector("#waitingScreen")
    page.click("#waitingScreen button.primary")
    assert page.locator("#waitingScreen").count() == 1
    context.set_offline(False)
    page.wait_for_selector("#doneScreen")
    page.reload()
    page.wait_for_selector("#doneScreen")
    bodies = {request.post_data for request in sent}
    assert len(bodies) == 1
    assert survey.split(json.loads(bodies.pop())["report"]) is not None
    database = Database(tmp_path / "survey.sqlite")
    assert progress(database).reports == 1
    page.select_option(".bar select", "en")
    page.click("text=Take the report back")
    page.click("text=No, keep it")
    page.click("text=Take the report back")
    page.click("button.danger")
    page.wait_for_selector("#withdrawnScreen")
    assert progress(database).reports == 0
    page.click("#withdrawnScreen button")  # another person on this device
    page.wait_for_selector("#welcomeScreen")
    respond(page, [1, 0, "3", None])
    context.close()
    found = progress(database)
    assert (found.reports, found.total("received"), found.total("withdrawn"), found.total("refused")) == (1, 2, 1, 0)
    database.close()


def type_keys(page, *keys):
    for key in keys:
        page.keyboard.press(key)
