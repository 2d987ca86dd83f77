"""Spreadsheets as people make them for ODK, Kobo and SurveyCTO, built with openpyxl and read from the file."""

from __future__ import annotations

import openpyxl
import pytest

from discreet import Grid, PlanError
from discreet.survey import Questionnaire, build_page
from discreet.survey.xlsform import read_xlsform
from tests.survey.conftest import discreet

YES_NO = [["list_name", "name", "label"], ["yn", "no", "No"], ["yn", "yes", "Yes"]]


def written(folder, survey, choices=YES_NO, settings=(["form_title"], ["Form"])):
    """A workbook with the three sheets of a form, and one that is nobody's business."""
    book = openpyxl.Workbook()
    book.active.title = "README"
    for name, rows in (("survey", survey), ("choices", choices), ("settings", settings)):
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(list(row))
    path = folder / "form.xlsx"
    book.save(path)
    return path


LABELS = [f"label::{name}" for name in ("English (en)", "Français (fr)", "العربية (ar)")]
HINTS = [name.replace("label", "hint") for name in LABELS]
MORE = ["required", "appearance", "constraint", "default", "discreet::epsilon", "discreet::mechanism"]
EVER = ["Ever", "Un jour", "يومًا ما"]
CLINIC = [
    ["type", "name", *LABELS, *HINTS, *MORE],
    ["start", "start"],
    ["deviceid", "device"],
    ["note", "hello", "Welcome", "Bienvenue", "أهلا"],
    ["begin_group", "about", "About you", "Vous", "عنك"],
    ["select_one sex", "sex", "Sex", "Sexe", "الجنس", None, None, None, True, "minimal"],
    ["integer", "age", "Age", "Âge", "العمر", None, None, None, "yes", None, ". >= 18 and . <= 99", 30],
    ["end_group", "about"],
    [],
    ["select_one yn", "test", "Tested?", "Testé ?", "هل أجريت فحصًا؟", *EVER, "true()", None, None, None, 1.5],
    ["select_one often", "alcohol", "Alcohol?", "Alcool ?", "الكحول؟", *[None] * 7, 2, "bipartite"],
]
CLINIC_CHOICES = [
    ["list_name", "name", "label::English (en)", "label::Français (fr)", "label::العربية (ar)"],
    ["sex", "f", "Female", "Femme", "أنثى"],
    ["sex", "m", "Male", "Homme", "ذكر"],
    ["yn", 0, "No", "Non", "لا"],
    ["yn", 1, "Yes", "Oui", "نعم"],
    *[["often", i, f"{i} times", f"{i} fois", f"{i} مرات"] for i in range(5)],
]


def test_a_form_of_a_clinic_in_three_languages(tmp_path):
    """Groups, notes, defaults and looks are left out and said, with the rows as a spreadsheet counts them."""
    path = written(tmp_path, CLINIC, CLINIC_CHOICES, [["form_title", "default_language"], ["Clinic", "Français (fr)"]])
    found = read_xlsform(path)
    survey = Questionnaire.parse(found.plan.replace('"bipartite"', '"randomized-response"'))
    assert survey.title == "Clinic"
    assert survey.collect.languages[0] == "fr"
    assert set(survey.collect.languages) == {"en", "fr", "ar"}
    assert [(q.column, q.private, q.required) for q in survey.questions] == [
        ("sex", False, True),
        ("age", False, True),
        ("test", True, True),
        ("alcohol", True, False),
    ]
    assert survey.questions[1].grid == Grid(18, 99, 82)
    assert survey.questions[2].help["ar"] == "يومًا ما"
    assert survey.plan.blocks[1].missing == "category"
    assert found.left_out == [
        "row 2 (start)",
        "row 3 (deviceid)",
        "row 4 (note)",
        "row 5 (begin_group)",
        "row 6 (appearance)",
        "row 7 (default)",
        "row 8 (end_group)",
    ]
    assert 'mechanism = "bipartite"' in found.plan
    assert "Testé" in build_page(survey).content.decode()


def test_the_command_prints_what_can_be_served_and_says_what_is_missing(tmp_path):
    """A mechanism that does not go with the values is one sentence of the plan."""
    path = written(tmp_path, CLINIC, CLINIC_CHOICES)
    done = discreet("survey", "import", path)
    assert done.returncode == 2
    assert "ordinal" in done.stderr
    assert done.stdout == ""
    plain = [[*row[:12], *row[12:13]] for row in CLINIC]
    done = discreet("survey", "import", written(tmp_path, plain, CLINIC_CHOICES))
    assert done.returncode == 0, done.stderr
    assert "left out: row 7 (default)" in done.stderr
    assert Questionnaire.parse(done.stdout).length > 0


def test_numbers_with_every_way_of_saying_their_bounds(tmp_path):
    """Ranges with steps, constraints with brackets, and strict ones of whole numbers."""
    rows = [
        ["type", "name", "label", "parameters", "constraint", "required", "discreet::epsilon"],
        ["range", "mood", "Mood?", "start=0 end=10 step=2", None, "yes", 1],
        ["integer", "nights", "Nights?", None, ".>0 and .<8", "yes", 1],
        ["integer", "drinks", "Drinks?", None, "(. <= 20) and (. >= 0)", "yes", 2.5],
        ["decimal", "height", "Height?", "step=0.5", ". >= 1 and . <= 2.5", "yes", None],
    ]
    survey = Questionnaire.parse(read_xlsform(written(tmp_path, rows)).plan)
    grids = [question.grid for question in survey.questions]
    assert grids == [Grid(0, 10, 6), Grid(1, 7, 7), Grid(0, 20, 21), Grid(1, 2.5, 4)]


def test_a_long_list_of_choices_becomes_a_menu(tmp_path):
    """An education survey with 200 districts and codes that are numbers."""
    rows = [
        ["type", "name", "label", "required", "discreet::epsilon"],
        ["select_one district", "district", "Where?", "yes", None],
        ["select_one yn", "bribe", "Did you pay?", "yes", 1],
    ]
    places = [["district", 1000 + i, f"District {i}"] for i in range(200)]
    survey = Questionnaire.parse(read_xlsform(written(tmp_path, rows, [*YES_NO, *places])).plan)
    assert survey.questions[0].size == 200
    assert survey.questions[0].choices[7].value == "1007"


HEAD = ["type", "name", "label", "relevant", "choice_filter", "constraint", "parameters", "required"]
HEAD = [*HEAD, "discreet::epsilon"]
ASKED = ["select_one yn", "cheated", "Did you?", None, None, None, None, "yes", 1]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (["select_one yn", "why", "Why?", "${cheated} = 'yes'"], "row 4: relevant makes a question depend"),
        (["select_one yn", "town", "Town?", None, "region = ${region}"], "row 4: choice_filter makes the choices"),
        (["select_one yn or_other", "b", "B?"], "or_other asks for free text"),
        (["select_one nothing", "b", "B?"], "its list of choices is not there"),
        (["select_one yn", "b", "B?", None, None, ". != 'no'"], "constraint on choices"),
        (["select_multiple yn", "b", "B?"], "select_multiple cannot be randomised"),
        (["select_one_from_file towns.csv", "b", "B?"], "select_one_from_file cannot be randomised"),
        (["text", "b", "B?"], "text cannot be randomised"),
        (["geopoint", "b", "B?"], "geopoint cannot be randomised"),
        (["date", "b", "B?"], "date cannot be randomised"),
        (["image", "b", "B?"], "image cannot be randomised"),
        (["begin_repeat", "b", "B?"], "several times"),
        (["acknowledge", "b", "B?"], "not a kind of question"),
        (["integer", "b", "B?"], "needs bounds"),
        (["integer", "b", "B?", None, None, ". >= 0 and . <= 9 and . != 4"], "only bounds are understood"),
        (["integer", "b", "B?", None, None, ". >= 0 or . <= 9"], "only bounds are understood"),
        (["decimal", "b", "B?", None, None, ". > 0 and . < 9"], "for integer alone"),
        (["range", "b", "B?", None, None, None, "start=0 end=10 step=3"], "do not end at 10"),
        (["range", "b", "B?", None, None, None, "start=5 end=1 step=1"], "an end above its start"),
        (["select_one yn", "b", None], "label is missing"),
        (["select_one yn", "b", "B?", None, None, None, None, "yes", "much"], "must be a number"),
    ],
)
def test_what_cannot_be_asked_is_refused_with_the_row_of_the_sheet(tmp_path, row, message):
    """An empty row above it does not shift the count; one sentence, nothing printed."""
    path = written(tmp_path, [HEAD, ASKED, [], row] if "row 4" in message else [HEAD, ASKED, row])
    with pytest.raises(PlanError, match=message) as caught:
        read_xlsform(path)
    assert "\n" not in str(caught.value)


def test_languages_are_named_or_refused(tmp_path):
    """A label without a language beside others, a language that is only a name, one without words for the page."""
    for column, message in (
        ("label", "say which language it is"),
        ("label::Deutsch", "say which language it is"),
        ("label::Suomi (fi)", "the words of a page are there in"),
    ):
        rows = [["type", "name", "label::English (en)", column, "discreet::epsilon"]]
        with pytest.raises(PlanError, match=message):
            read_xlsform(written(tmp_path, [*rows, ["select_one yn", "a", "A?", "B?", 1]]))


def test_a_file_that_is_no_form(tmp_path):
    """A picture called .xlsx, a missing file, and a form in which nothing is private."""
    from discreet import ReleaseError

    (tmp_path / "x.xlsx").write_bytes(b"\x89PNG")
    with pytest.raises(ReleaseError, match="cannot be read as an XLSForm"):
        read_xlsform(tmp_path / "x.xlsx")
    with pytest.raises(ReleaseError, match="there is no file"):
        read_xlsform(tmp_path / "none.xlsx")
    with pytest.raises(PlanError, match="nothing would be randomised"):
        read_xlsform(written(tmp_path, [HEAD, ASKED[:8]]))
