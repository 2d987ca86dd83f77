"""Every screen that people see, for the check of accessibility and for the pictures of the documentation.

``python -m tests.survey.screens`` draws the pictures anew, at 320 and 1280 pixels, into docs/images.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from discreet.survey import Questionnaire, build_page, check_survey
from discreet.survey.by_hand import instructions
from discreet.survey.dashboard import Dashboard
from discreet.survey.database import Database
from discreet.survey.invitations import new_code, write_invitations
from discreet.survey.page import notice_page
from discreet.survey.sheet import ethics_sheet
from discreet.survey.simulating import fill_database, simulated_reports
from tests.survey.driver import ADDRESS, Wire, begin, forward, give

SURVEY = """
format = 1
title = "Exam honesty"
[collect]
languages = ["en", "de", "ar"]
margin = 0.05
contact = "research@example.org"
title = { en = "Exam honesty survey", de = "Umfrage zu Ehrlichkeit in Prüfungen", ar = "استطلاع حول النزاهة في الامتحانات" }
[collect.consent]
en = "We want to know how common cheating in exams is, and how it goes with preparation. It takes two minutes."
de = "Wir möchten wissen, wie verbreitet Schummeln in Prüfungen ist. Es dauert zwei Minuten."
ar = "نريد أن نعرف مدى شيوع الغش في الامتحانات. يستغرق الأمر دقيقتين."
[[public]]
columns = ["year", "subject"]
[[private]]
columns = ["cheated"]
domain = { binary = ["no", "yes"] }
mechanism = "randomized-response"
epsilon = 1.0
missing = "category"
[[private]]
columns = ["hours"]
domain = { grid = { low = 0, high = 20, points = 5 } }
mechanism = "randomized-response"
epsilon = 1.5
[[question]]
column = "year"
text = { en = "In which year of your studies are you?", de = "In welchem Studienjahr sind Sie?", ar = "في أي سنة دراسية أنت؟" }
choices = [
  { value = "first", en = "First", de = "Erstes", ar = "الأولى" },
  { value = "second", en = "Second", de = "Zweites", ar = "الثانية" },
  { value = "later", en = "Third or later", de = "Drittes oder später", ar = "الثالثة أو بعدها" },
]
[[question]]
column = "cheated"
text = { en = "Did you cheat in an exam during the last twelve months?", de = "Haben Sie in den letzten zwölf Monaten in einer Prüfung geschummelt?", ar = "هل غششت في امتحان خلال الاثني عشر شهرًا الماضية؟" }
help = { en = "Notes, a phone, copying: anything that was not allowed.", de = "Zettel, Telefon, Abschreiben: alles, was nicht erlaubt war.", ar = "أوراق أو هاتف أو نقل: أي شيء لم يكن مسموحًا به." }
choices = [{ value = "no", en = "No", de = "Nein", ar = "لا" }, { value = "yes", en = "Yes", de = "Ja", ar = "نعم" }]
[[question]]
column = "hours"
text = { en = "How many hours did you prepare for your last exam?", de = "Wie viele Stunden haben Sie sich auf die letzte Prüfung vorbereitet?", ar = "كم ساعة استعددت لامتحانك الأخير؟" }
[[question]]
column = "subject"
input = "select"
text = { en = "What do you study?", de = "Was studieren Sie?", ar = "ماذا تدرس؟" }
choices = [
  { value = "a", en = "Arts and humanities", de = "Geisteswissenschaften", ar = "الآداب والعلوم الإنسانية" },
  { value = "s", en = "Natural sciences", de = "Naturwissenschaften", ar = "العلوم الطبيعية" },
  { value = "m", en = "Medicine", de = "Medizin", ar = "الطب" },
]
required = false
"""  # noqa: E501
LANGUAGES = ("en", "de", "ar")
WIDTHS = (320, 1280)
PICTURES = Path(__file__).parents[2] / "docs" / "images"


def survey_screens(browser, language: str, width: int) -> Iterator[tuple[str, object]]:
    """The page from the first screen to the last, and what can come in between; yields a name and the page."""
    survey = Questionnaire.parse(SURVEY)
    wire = Wire(build_page(survey).content)
    context = browser.new_context(locale=language, viewport={"width": width, "height": 800}, reduced_motion="reduce")
    wire.attach(context)
    page = context.new_page()
    page.goto(ADDRESS)
    yield "consent", page
    page.click("#welcomeScreen button.primary")
    page.check("#practiceScreen input[value='1']")
    page.click("#practiceScreen button.primary")
    yield "practice", page
    page.click("#practiceScreen .actions button:last-child")
    give(page, 1)
    yield "public-question", page
    forward(page)
    forward(page)
    yield "missing-answer", page
    give(page, 0)
    yield "private-question", page
    forward(page)
    give(page, "7")
    yield "number", page
    forward(page)
    give(page, 1)
    yield "last-question", page
    wire.status = 0
    forward(page)
    page.wait_for_selector("#waitingScreen")
    yield "waiting", page
    wire.status = 201
    page.click("#waitingScreen button.primary")
    page.wait_for_selector("#doneScreen")
    page.click("#doneScreen .actions button")
    yield "sent", page
    page.click("button.danger")
    page.wait_for_selector("#withdrawnScreen")
    yield "withdrawn", page
    wire.status = 409
    page.goto("about:blank")
    page.goto(ADDRESS)
    begin(page)
    for answer in (0, 1, "7", None):
        give(page, answer)
        forward(page)
    page.wait_for_selector("#refusedScreen")
    yield "refused", page
    wire.content = build_page(
        Questionnaire.parse(SURVEY.replace("[collect]", '[collect]\naccess = "invitation"'))
    ).content
    page.goto("about:blank")
    page.goto(ADDRESS)
    yield "invitation-needed", page
    wire.content = notice_page(survey, "closed").content
    page.goto("about:blank")
    page.goto(ADDRESS)
    yield "closed", page
    context.close()


def other_screens(browser, width: int, folder: Path) -> Iterator[tuple[str, object]]:
    """What the researcher sees: dashboard, invitations, sheets."""
    survey = Questionnaire.parse(SURVEY)
    database = Database(folder / f"{width}.sqlite")
    database.open(survey.design)
    fill_database(database, simulated_reports(survey, 900, np.random.default_rng(2)))
    contents = {
        "dashboard": Dashboard(survey, database).page("open").content,
        "by-hand": instructions(survey).encode(),
        "ethics-sheet": ethics_sheet(check_survey(survey, 2000)).encode(),
    }
    database.close()
    target = folder / f"invitations-{width}"
    _, sheet = write_invitations(survey, [new_code() for _ in range(6)], "https://survey.example.org", target)
    contents["invitations"] = sheet.read_bytes()
    for name, content in contents.items():
        context = browser.new_context(viewport={"width": width, "height": 800})
        Wire(content).attach(context)
        page = context.new_page()
        page.goto(ADDRESS + name)
        yield name, page
        context.close()


def draw(folder: Path = PICTURES) -> None:
    """All pictures: every screen in English at both widths, and the first ones from right to left."""
    from playwright.sync_api import sync_playwright

    from tests.survey.conftest import ARGUMENTS, BROWSERS

    path = next(found for name in BROWSERS if (found := shutil.which(name)))
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as scratch:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        for width in WIDTHS:
            for name, page in survey_screens(browser, "en", width):
                page.screenshot(path=folder / f"survey-{name}-{width}.png", full_page=True)
            for name, page in other_screens(browser, width, Path(scratch)):
                page.screenshot(path=folder / f"survey-{name}-{width}.png", full_page=True)
            for name, page in survey_screens(browser, "ar", width):
                if name in ("consent", "private-question", "sent"):
                    page.screenshot(path=folder / f"survey-{name}-ar-{width}.png", full_page=True)
        browser.close()


if __name__ == "__main__":
    draw()
