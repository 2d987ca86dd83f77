"""Surveys from spreadsheets, on paper, and for ethics boards; and a demonstration that runs."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import PlanError
from discreet.mechanisms import BinaryResponse, GeneralizedResponse
from discreet.survey import TEMPLATE, Questionnaire, check_survey
from discreet.survey.by_hand import by_hand, check_by_hand, instructions
from discreet.survey.sheet import ethics_sheet
from discreet.survey.xlsform import read_xlsform
from tests.survey.conftest import Server, discreet
from tests.survey.screens import SURVEY

FORM = """
| survey | | | | | | | |
| | type | name | label::English (en) | label::Deutsch (de) | required | constraint | discreet::epsilon |
| | start | start | | | | | |
| | select_one yn | cheated | Did you cheat? | Geschummelt? | yes | | 1.0 |
| | integer | hours | Hours? | Stunden? | yes | . >= 0 and . <= 20 | 2 |
| | select_one year | year | Year? | Jahr? | | | |
| choices | | | | |
| | list_name | name | label::English (en) | label::Deutsch (de) |
| | yn | no | No | Nein |
| | yn | yes | Yes | Ja |
| | year | 1 | First | Erstes |
| | year | 2 | Later | Später |
| settings | |
| | form_title | default_language |
| | Honesty | Deutsch (de) |
"""


def imported(tmp_path, form):
    path = tmp_path / "form.md"
    path.write_text(form, encoding="utf-8")
    return read_xlsform(path)


def test_a_form_becomes_a_survey_that_can_be_served(tmp_path):
    """Labels in all languages, private where there is a level, paradata left out and said."""
    found = imported(tmp_path, FORM)
    survey = Questionnaire.parse(found.plan)
    assert survey.collect.languages == ("de", "en")
    assert [(q.column, q.private, q.required) for q in survey.questions] == [
        ("cheated", True, True),
        ("hours", True, True),
        ("year", False, False),
    ]
    assert survey.plan.blocks[0].guarantee.epsilon == pytest.approx(1.0, rel=1e-8)
    assert survey.questions[2].choices[1].label["de"] == "Später"
    assert found.left_out == ["row 2 (start)"]


def test_an_excel_file_is_read_as_well(tmp_path):
    """The same form as .xlsx, through the command."""
    import openpyxl

    book = openpyxl.Workbook()
    book.remove(book.active)
    sheet = None
    for line in FORM.strip().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[0]:
            sheet = book.create_sheet(cells[0])
        else:
            sheet.append([cell or None for cell in cells[1:]])
    book.save(tmp_path / "form.xlsx")
    done = discreet("survey", "import", tmp_path / "form.xlsx")
    assert done.returncode == 0, done.stderr
    assert "left out: row 2" in done.stderr
    assert Questionnaire.parse(done.stdout).title == "Honesty"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("select_one yn", "text", "text cannot be randomised"),
        ("select_one yn", "select_multiple yn", "select_multiple cannot be randomised"),
        ("select_one yn", "select_one nothing", "its list of choices"),
        (". >= 0 and . <= 20", "", "needs bounds"),
        ("| 1.0 |", "| much |", "must be a number"),
        ("label::Deutsch (de)", "label::Deutsch", "which language"),
        ("| constraint |", "| relevant |", "depend on an answer"),
    ],
)
def test_what_cannot_be_asked_is_refused_with_its_row(tmp_path, old, new, message):
    """One sentence each."""
    with pytest.raises(PlanError, match=message):
        imported(tmp_path, FORM.replace(old, new))


@settings(max_examples=60)
@given(
    size=st.integers(2, 12),
    epsilon=st.floats(0.05, 6),
)
def test_dice_never_promise_less_privacy_than_the_plan(size, epsilon):
    """Rows sum to the sides, what is possible stays possible, and the certified ε is not above the plan's."""
    mechanism = GeneralizedResponse(size, epsilon)
    drawn = by_hand(mechanism)
    if drawn is None:  # no hundredths are so nearly equal
        assert epsilon < 0.5
        return
    assert all(sum(row) == drawn.sides for row in drawn.rows)
    assert all(sides > 0 for row in drawn.rows for sides in row)
    assert drawn.mechanism.guarantee.epsilon <= mechanism.guarantee.epsilon


def test_procedures_with_dice_stay_what_they_are():
    """One sixth is one face."""
    assert by_hand(BinaryResponse.forced("1/6", "1/6")).rows == ((5, 1), (1, 5))
    assert by_hand(BinaryResponse.mangat("1/2")).rows == ((3, 3), (0, 6))
    assert math.isinf(by_hand(BinaryResponse.mangat("1/2")).mechanism.guarantee.epsilon)


def test_sheets_for_interviews_are_there_in_every_language():
    """With the lines of a plan for what is really drawn."""
    text = instructions(Questionnaire.parse(SURVEY))
    for language in ("en", "de", "ar"):
        assert f'lang="{language}"' in text
    assert "collected = true" in text
    assert "73/100" not in text  # a blank is a third answer here
    survey = Questionnaire.parse(TEMPLATE)
    assert "73/100" in instructions(survey)
    check_by_hand(survey)


def test_the_sheet_for_the_ethics_board_says_what_can_go_wrong():
    """Promise, error bars, who could misuse what; and no word that promises too much."""
    text = ethics_sheet(check_survey(Questionnaire.parse(SURVEY), 2000))
    for part in ("What leaves the device", "What is stored", "What a report can reveal", "Who could misuse what"):
        assert part in text
    assert "could serve another page to one person" in text
    assert "anonym" not in text.lower()


def test_invitations_are_printed_whole_and_readable_by_their_owner_only(tmp_path):
    """A code in its link and beside its QR code, which scales without being cut; a list is never overwritten."""
    from discreet import ReleaseError
    from discreet.survey.invitations import new_code, write_invitations

    survey = Questionnaire.parse(SURVEY.replace("[collect]", '[collect]\naccess = "invitation"'))
    codes = [new_code() for _ in range(3)]
    listed, sheet = write_invitations(survey, codes, "https://survey.example.org/", tmp_path / "out")
    assert listed.read_text().splitlines()[1] == f"{codes[0]},https://survey.example.org/#{codes[0]}"
    assert sheet.read_text().count("viewBox") == 3
    assert listed.stat().st_mode & 0o77 == sheet.stat().st_mode & 0o77 == 0
    with pytest.raises(ReleaseError, match="exists"):
        write_invitations(survey, codes, "https://survey.example.org/", tmp_path / "out")


def test_the_demonstration_runs(tmp_path):
    """A survey with simulated people at once."""
    server = Server.started(["demo", "--people", "60", "--no-browser", "--json"], tmp_path / "demo.log")
    assert "Exam honesty survey" in server.client.get("/").text
    assert "<dd>60</dd>" in server.client.get(server.told["dashboard"]).text
    assert server.stop() == 0


def test_commands_say_what_they_did(tmp_path):
    """new, check --sheet, page, instructions, page --sampler; and what is wrong, in a sentence."""
    plan = tmp_path / "survey.toml"
    plan.write_text(discreet("survey", "new").stdout, encoding="utf-8")
    done = discreet("survey", "check", plan, "--people", "2000", "--sheet", tmp_path / "sheet.html", "--json")
    assert json.loads(done.stdout)["margins"]["cheated"][""] == pytest.approx(0.0474, abs=1e-3)
    assert (tmp_path / "sheet.html").exists()
    done = discreet("survey", "page", plan, "-o", tmp_path / "page.html", "--collector", "https://collect.example.org")
    assert done.returncode == 0, done.stderr
    assert "connect-src https://collect.example.org" in (tmp_path / "page.html").read_text()
    assert discreet("survey", "page", "--sampler", "-o", tmp_path / "sampler.js").returncode == 0
    assert discreet("survey", "instructions", plan, "-o", tmp_path / "hand.html").returncode == 0
    done = discreet("survey", "page", plan, "-o", tmp_path / "p.html", "--collector", "http://far.example.org")
    assert done.returncode == 2
    assert "https://collect.example.org" in done.stderr
    assert discreet("survey", "invite", plan, "--count", "3", "--url", "https://a.example").returncode == 2
