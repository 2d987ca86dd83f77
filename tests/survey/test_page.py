"""The page in a real browser: what it sends, what it keeps, what it shows, and to whom."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys

import pytest

from discreet.publish import Plan
from discreet.survey import TEMPLATE, Questionnaire, build_page
from discreet.survey.sampling import report
from discreet.survey.wording import LANGUAGES, wording
from tests.publish.conftest import block_of
from tests.survey.driver import Wire, begin, forward, give, opened, respond
from tests.survey.test_plan import ASKED, built, survey_of

SURVEY = Questionnaire.parse(TEMPLATE)
TRUTH = (0, 1, "7")  # the middle of the study, cheated, seven hours


def wire(survey=SURVEY, **options):
    return Wire(build_page(survey).content, **options)


@pytest.fixture
def alone(chromium):
    """Pages are closed after every test."""
    yield chromium
    for context in chromium.contexts:
        context.close()


def test_the_page_is_light_and_the_same_from_two_fresh_builds(tmp_path):
    """At most 30 kB compressed, and byte for byte equal when two processes make it."""
    small = built({**ASKED}, {"column": "sex", "text": "Sex?", "choices": ["f", "m"]}, public=["sex"])
    assert len(gzip.compress(build_page(small).content, 9)) <= 30_000
    path = tmp_path / "survey.toml"
    path.write_text(TEMPLATE, encoding="utf-8")
    digests = set()
    for seed in ("1", "2"):
        code = f"from discreet.survey import *; print(build_page(Questionnaire.read({str(path)!r})).sha256)"
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, **_path()},
            capture_output=True,
            text=True,
            check=True,
        )
        digests.add(done.stdout.strip())
    assert digests == {build_page(SURVEY).sha256}


def _path():
    import os

    return {key: os.environ[key] for key in ("PYTHONPATH", "PATH") if key in os.environ}


def test_different_truths_with_equal_reports_send_byte_identical_traffic(alone):
    """With the random bytes fixed, all requests with all headers are compared; nothing is sent before the end."""
    equal = 0
    for seed in range(4):
        traffic = []
        for cheated in (0, 1):
            record = wire()
            page = opened(alone, record, seed=seed)
            begin(page)
            give(page, 0)
            forward(page)
            give(page, cheated)
            forward(page)
            give(page, "7")
            assert len(record.requests) == 1
            forward(page)
            page.wait_for_selector("#doneScreen")
            traffic.append(record.requests)
            page.context.close()
        assert [request[0] for request in traffic[0]] == ["GET", "PUT"]
        assert len(traffic[0][1][3]) == len(traffic[1][1][3])
        bodies = [json.loads(requests[1][3]) for requests in traffic]
        assert set(bodies[0]) == {"design", "report"}
        if bodies[0] == bodies[1]:
            equal += 1
            assert traffic[0] == traffic[1]
    assert 1 <= equal <= 3  # both happen: the truth matters, and is hidden


@pytest.mark.parametrize("access", ["open", "invitation"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_list_of_what_was_sent_is_the_request(alone, language, access):
    """From what the page shows the whole request can be written down: nothing more is in it, and nothing less."""
    by = {"columns": ["cheated"], "domain": {"binary": ["no", "yes"]}, "collected": True, "by": "mode"}
    by["designs"] = {"direct": {"direct": True}, "dice": {"forced": ["1/6", "1/6"]}}
    year = {"column": "year", "text": {language: "Year?"}, "choices": ["first", "later"], "required": False}
    question = {"column": "cheated", "text": {language: "Did you?"}}
    collect = {"languages": [language], "access": access}
    survey = built(year, question, private=[by], public=["year", "mode"], collect=collect)
    record, words = wire(survey), wording(language)
    code = "ABCDE12345FGHJK67890"
    page = opened(alone, record, fragment=f"#{code}" if access == "invitation" else "")
    told = page.locator("#welcomeScreen dd").first.inner_text()
    assert told == words["leaves_code" if access == "invitation" else "leaves_text"]
    respond(page, (None, 1))
    shown = [
        (one.locator("dt").inner_text(), one.locator("dd").inner_text()) for one in page.locator(".sent > div").all()
    ]
    named = [words["receipt"], words["version"], "Year?", "Did you?", words["drawn"]]
    assert [name for name, _ in shown] == [*named, *([words["your_code"]] if access == "invitation" else [])]
    values = [value for _, value in shown]
    codes = "ABCDEFGHIJ".index(values[3].split(" ")[1]), ["direct", "dice"].index(values[4])
    assert values[2] == words["no_answer"]
    rebuilt = {"design": values[1], "report": survey.joined((2, *codes))}
    rebuilt |= {"code": values[5]} if access == "invitation" else {}
    ((method, url, headers, body),) = record.sent
    assert (method, url) == ("PUT", f"http://survey.example/reports/{values[0].replace(' ', '')}")
    assert json.loads(body) == rebuilt
    usual = {"accept", "accept-language", "cache-control", "content-type", "origin", "pragma", "user-agent"}
    assert {name for name, _ in headers if not name.startswith("sec-")} <= usual | {"content-length", "host"}
    assert page.locator("section p", has_text=words["sent_text"]).count() == 1


def test_one_body_length_over_all_truths(alone):
    """Codes of fixed width: with twelve answers the tenth is not longer than the first."""
    region = block_of(columns=["region"], domain={"categorical": [f"r{i}" for i in range(12)]}, missing="category")
    survey = built({"column": "region", "text": "Where?"}, private=[region])
    lengths = set()
    for answer in (0, 5, 11, None):
        record = wire(survey)
        respond(opened(alone, record), [answer])
        lengths.add(len(record.sent[0][3]))
    assert len(lengths) == 1


def test_without_javascript_nothing_is_asked_and_nothing_sent(alone):
    """Instructions in place of inputs."""
    record = wire()
    page = opened(alone, record, java_script_enabled=False)
    assert page.locator("input, select, button, form").count() == 0
    assert "JavaScript" in page.locator("body").inner_text()
    assert record.sent == []


def test_the_coin_is_drawn_before_the_answer(alone):
    """A, then B, then A again gives the report of A: nobody can try for a nicer one."""
    reports = {}
    for path in ("A", "B", "ABA", "BAB"):
        record = wire()
        page = opened(alone, record, seed=11)
        drawn = page.evaluate("bytesDrawn")
        begin(page)
        give(page, 0)
        forward(page)
        for answer in path:
            give(page, "AB".index(answer))
            forward(page)
            page.click("#questionScreen button.secondary")
        forward(page)
        give(page, "7")
        forward(page)
        page.wait_for_selector("#doneScreen")
        reports[path] = record.sent[0][3]
        assert page.evaluate("bytesDrawn") == drawn > 16  # all of it when the page was loaded
    assert reports["A"] == reports["ABA"]
    assert reports["B"] == reports["BAB"]


def test_a_full_survey_tells_respondents_so(alone):
    """The page does not go on sending."""
    record = wire(status=507)
    page = opened(alone, record)
    respond(page, TRUTH, wait="#refusedScreen")
    assert "takes no more reports" in page.locator("#refusedScreen").inner_text()
    assert len(record.sent) == 1


def test_a_reload_sends_the_same_bytes_and_draws_nothing_anew(alone):
    """While the network is away the report waits; it is remembered, the truth is not."""
    record = wire(status=0)
    page = opened(alone, record)
    respond(page, TRUTH, wait="#waitingScreen")
    kept = page.evaluate("JSON.stringify({ ...localStorage })")
    page.reload()
    page.wait_for_selector("#waitingScreen")
    record.status = 201
    page.click("#waitingScreen button.primary")
    page.wait_for_selector("#doneScreen")
    puts = [(url, body) for method, url, _, body in record.sent if method == "PUT"]
    assert len(puts) >= 3
    assert len(set(puts)) == 1
    assert json.loads(puts[0][1])["report"] in kept
    assert "toss" not in kept
    page.reload()
    page.wait_for_selector("#doneScreen")
    assert len([one for one in record.sent if one[0] == "PUT"]) == len(puts)


def test_it_works_offline_after_loading_and_sends_when_the_network_is_back(alone):
    """The browser itself is taken off the network."""
    record = wire()
    page = opened(alone, record)
    page.context.set_offline(True)
    record.status = 0
    respond(page, TRUTH, wait="#waitingScreen")
    record.status = 201
    page.context.set_offline(False)
    page.wait_for_selector("#doneScreen")
    assert page.locator(".receipt").inner_text().replace(" ", "") in record.sent[-1][1]


def test_neither_coin_nor_truth_is_stored_or_left_in_the_page(alone):
    """After sending, only the report is on the device: no input, no hidden value, one entry of storage, no cookie."""
    record = wire()
    page = opened(alone, record)
    respond(page, TRUTH)
    stored = page.evaluate("({ ...localStorage })")
    assert len(stored) == 1
    assert set(json.loads(next(iter(stored.values())))) == {"id", "codes", "sent"}
    assert page.evaluate("Object.keys(sessionStorage).length") == 0
    assert page.context.cookies() == []
    assert page.locator("#doneScreen input").count() == 0


def test_the_policy_lets_nothing_else_run_or_connect(alone):
    """The browser refuses a request to another place and a script that is not the page's."""
    record = wire()
    page = opened(alone, record)
    tried = page.evaluate(
        """async () => {
            const script = document.createElement("script");
            script.textContent = "window.run = true";
            document.body.append(script);
            let sent = true;
            try { await fetch("https://elsewhere.example/"); } catch { sent = false; }
            return [Boolean(window.run), sent];
        }"""
    )
    assert tried == [False, False]
    assert all("elsewhere" not in url for _, url, _, _ in record.requests)


def test_text_of_a_plan_is_text(alone):
    """Neither markup nor the end of a script."""
    nasty = "</script><img src=x onerror=window.run=1> {p} $& @STYLE@"
    survey = built(ASKED | {"text": nasty, "help": nasty}, collect={"title": nasty, "contact": nasty})
    page = opened(alone, wire(survey))
    assert page.locator("h1").inner_text().startswith("</script><img")
    begin(page)
    assert page.locator("#help").inner_text().startswith("</script><img")
    assert page.evaluate("window.run === undefined")


def test_columns_randomised_together_and_blanks_are_drawn_as_in_python(alone):
    """Joint cells, a blank that is randomised, one that is published, and a mode that was drawn."""
    joint = {"columns": ["smokes", "region"], "mechanism": "joint", "epsilons": [1.0, 2.0], "missing": "category"}
    joint["domains"] = [{"binary": ["no", "yes"]}, {"categorical": ["n", "s", "e", "w"]}]
    grid = block_of(columns=["hours"], domain={"grid": {"low": 0, "high": 20, "points": 5}}, missing="public")
    by = {"columns": ["cheated"], "domain": {"binary": ["no", "yes"]}, "collected": True, "by": "mode"}
    by["designs"] = {"direct": {"direct": True}, "dice": {"forced": ["1/6", "1/6"]}}
    questions = [{"column": name, "text": f"{name}?"} for name in ("smokes", "region", "hours", "cheated")]
    survey = Questionnaire(Plan.from_dict(survey_of(*questions, private=[joint, grid, by], public=["mode"])))
    record = wire(survey)
    page = opened(alone, record, seed=5)
    assert page.evaluate("typeof tosses === 'undefined' && typeof answers === 'undefined'")  # not in the window
    respond(page, [1, None, None, 0])
    codes = survey.split(json.loads(record.sent[0][3])["report"])
    assert codes[2] == 5  # blank, published as it is
    replayed = _replay(survey, 5, {"smokes": 1, "region": 4, "hours": 0, "cheated": 0})
    assert codes == (*replayed[:2], 5, *replayed[3:])


def _replay(survey, seed, truth):
    """The same tape through the sampler of Python, in the order in which the page draws."""
    from discreet.survey.sampling import coin, drawn_channels

    state = seed * 2654435761 + 1

    def tape(count):
        nonlocal state
        drawn = bytearray()
        for _ in range(count):
            state = (state * 6364136223846793005 + 1442695040888963407) % (1 << 64)
            drawn.append(state >> 56)
        return bytes(drawn)

    tape(16)
    modes = [coin(len(block.designs), tape) for block in survey.assigned]
    codes = {}
    for block in survey.plan.blocks:
        channels = list(drawn_channels(block).values())
        count = 1 if block.together else len(block.columns)
        tosses = [[coin(channel.denominator, tape) for _ in range(count)] for channel in channels]
        design = 0 if block.by is None else modes[0]
        if block.together:
            sizes = [block.truths_of(name).size for name in block.columns]
            cell = 0
            for name, size in zip(block.columns, sizes, strict=True):
                cell = cell * size + truth[name]
            drawn = report(channels[0], cell, tosses[0][0])
            for name, size in zip(reversed(block.columns), reversed(sizes), strict=True):
                drawn, codes[name] = divmod(drawn, size)
        else:
            for i, name in enumerate(block.columns):
                codes[name] = report(channels[design], truth[name], tosses[design][i])
    return (*(codes[question.column] for question in survey.questions), *modes)


def test_what_people_read_never_promises_more_than_holds():
    """No language says "anonymous", all have the same sentences with the same numbers, odds are of 100 people."""
    keys = set(wording("en"))
    for language in LANGUAGES:
        words = wording(language)
        assert set(words) == keys
        text = json.dumps(words, ensure_ascii=False).lower()
        for banned in ("anonym", "anónim", "مجهول", "epsilon", "ε"):
            assert banned not in text, (language, banned)
        for key in ("odds", "odds_range", "odds_exposed", "dots"):
            assert "100" in words[key]
        for key in keys:
            places = {part.split("}")[0] for part in words[key].split("{")[1:]}
            assert places == {part.split("}")[0] for part in wording("en")[key].split("{")[1:]}, (language, key)


def test_a_report_that_proves_an_answer_is_announced(alone):
    """A procedure whose "no" proves "no" does not get the usual sentence."""
    mangat = {"columns": ["cheated"], "domain": {"binary": ["no", "yes"]}, "collected": True, "mangat": "3/5"}
    page = opened(alone, wire(built(private=[mangat])))
    text = page.locator("#welcomeScreen").inner_text()
    assert "up to 60 send a code that only this answer can give" in text
    assert "no report shows for certain" not in text


def test_numbers_are_rounded_to_the_grid_as_in_python_and_wrong_ones_are_refused(alone):
    """Nearest point, ties down; outside is an error that says the bounds."""
    direct = {"columns": ["x"], "domain": {"grid": {"low": 0, "high": 20, "points": 5}}, "collected": True}
    direct["matrix"] = [[int(i == j) for j in range(5)] for i in range(5)]
    survey = built({"column": "x", "text": "x?"}, private=[direct])
    domain = survey.plan.blocks[0].domain
    for number in ("0", "2.5", "2.51", "7.5", "17.5", "20"):
        record = wire(survey)
        respond(opened(alone, record), [number])
        assert json.loads(record.sent[0][3])["report"] == str(domain.encode([float(number)])[0])
    page = opened(alone, wire(survey))
    begin(page)
    for wrong in ("", "-1", "20.5"):
        page.fill("#answer", wrong)
        forward(page)
        assert "0" in page.locator("#error").inner_text()
        assert page.locator("#questionScreen").count() == 1


def test_the_whole_survey_by_keyboard_alone(alone):
    """Tab, arrows, space and return, and the focus is on the new heading after every step."""
    record = wire()
    page = opened(alone, record)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.tagName") == "H1"
    for key in ("Tab", "Space", "Tab", "Enter", "Tab", "Enter"):  # choose, toss, go on
        page.keyboard.press(key)
    page.wait_for_selector("#questionScreen")
    for keys in (("Tab", "ArrowDown", "Enter"), ("Tab", "Space", "Enter"), ("Tab", "5", "Enter")):
        for key in keys:
            page.keyboard.press(key)
    page.wait_for_selector("#doneScreen")
    assert len(record.sent) == 1


def test_an_invitation_is_read_from_the_link_or_typed(alone):
    """The code travels in the fragment, which is not sent with the request for the page, and in the body at the end."""
    survey = built(collect={"access": "invitation"})
    code = "ABCDEFGHJKMNPQRSTVWX"
    for fragment, typed in (("#" + code, None), ("", "abcde fghjk mnpqr stvwx")):
        record = wire(survey)
        page = opened(alone, record, fragment=fragment)
        if typed:
            page.wait_for_selector("#uninvitedScreen")
            page.fill("#code", typed[:-1])
            page.click("#uninvitedScreen button[type=submit]")
            assert "not known" in page.locator("#uninvitedScreen .error").inner_text()
            page.fill("#code", typed)
            page.click("#uninvitedScreen button[type=submit]")
        page.wait_for_selector("#welcomeScreen")
        respond(page, [1])
        assert json.loads(record.sent[0][3])["code"] == code
        assert all(code not in url for _, url, _, _ in record.requests if "reports" not in url)


def test_a_report_is_withdrawn_from_the_last_screen_and_by_receipt(alone):
    """Two clicks, because it cannot be undone; or the receipt on another device."""
    record = wire()
    page = opened(alone, record)
    respond(page, TRUTH)
    receipt = page.locator(".receipt").inner_text()
    page.click("text=Take the report back")
    assert len(record.sent) == 1
    page.click("button.danger")
    page.wait_for_selector("#withdrawnScreen")
    assert record.sent[-1][0] == "DELETE"
    assert page.evaluate("Object.keys(localStorage).length") == 0
    other = opened(alone, record)
    other.click("summary")
    other.fill("#given", receipt.upper())
    other.click("details button")
    other.wait_for_selector("#withdrawnScreen")
    assert record.sent[-1][1] == record.sent[-2][1]
