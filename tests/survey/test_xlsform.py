"""Spreadsheets as people make them for ODK, Kobo and SurveyCTO, built with openpyxl and read from the file."""

from __future__ import annotations

import openpyxl
import pytest

from discreet import Grid, PlanError, ReleaseError
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
    (tmp_path / "x.xlsx").write_bytes(b"\x89PNG")
    with pytest.raises(ReleaseError, match="cannot be read as an XLSForm"):
        read_xlsform(tmp_path / "x.xlsx")
    with pytest.raises(ReleaseError, match="there is no file"):
        read_xlsform(tmp_path / "none.xlsx")
    with pytest.raises(PlanError, match="nothing would be randomised"):
        read_xlsform(written(tmp_path, [HEAD, ASKED[:8]]))


SHEET = '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>{}</sheetData>{}</worksheet>'


def workbook(path, sheet, extra=None):
    """A workbook whose sheet called survey has this XML."""
    import zipfile

    import openpyxl

    book = openpyxl.Workbook()
    book.active.title = "survey"
    book.save(path)
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    parts |= {"xl/worksheets/sheet1.xml": sheet.encode()} | (extra or {})
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return path


def row(number, *cells):
    return f'<row r="{number}">' + "".join(f'<c r="{one}" t="str"><v>x</v></c>' for one in cells) + "</row>"


ENTITIES = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">' + "".join(
    f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)
BOMBS = {
    "a hundred megabytes of spaces": lambda: (SHEET.format(" " * 100_000_000, ""),),
    "cells in the last column": lambda: (SHEET.format("".join(row(i, f"XFD{i}") for i in range(1, 9000)), ""),),
    "a cell in the last row": lambda: (SHEET.format(row(1, "A1") + row(1_048_576, "A1048576"), ""),),
    "a million empty cells": lambda: (SHEET.format("<row>" + "<c/>" * 1_000_000 + "</row>", ""),),
    "a million rows": lambda: (SHEET.format("<row/>" * 1_000_000, ""),),
    "entities": lambda: (ENTITIES + "]>" + SHEET.format(row(1, "A1").replace("x", "&i;"), ""),),
    "a million styles": lambda: (SHEET.format("", ""), {"xl/styles.xml": b"<s>" + b"<xf/>" * 1_000_000 + b"</s>"}),
    "strings": lambda: (SHEET.format("", ""), {"xl/sharedStrings.xml": b"<s>" + b"<si><t/></si>" * 600_000 + b"</s>"}),
    "no XML": lambda: ("worksheet",),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_form_that_unpacks_to_any_size_is_refused_at_once(tmp_path, name):
    """One sentence, within two seconds of work and a bounded memory."""
    import time
    import tracemalloc

    read_xlsform(written(tmp_path, [HEAD, ASKED]))  # all modules are loaded before the time is taken
    path = workbook(tmp_path / "form.xlsx", *BOMBS[name]())
    tracemalloc.start()
    begun = time.process_time()
    with pytest.raises(ReleaseError) as caught:
        read_xlsform(path)
    taken, (_, peak) = time.process_time() - begun, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert taken < 2
    assert peak < 50_000_000
    assert "\n" not in str(caught.value)
    assert "form.xlsx" in str(caught.value)


def test_sizes_that_an_archive_understates_bound_what_is_read(tmp_path):
    """The stated size of a part is patched; no more than that is unpacked."""
    import struct

    path = workbook(tmp_path / "form.xlsx", SHEET.format(" " * 100_000_000, ""))
    content = path.read_bytes()
    path.write_bytes(
        content.replace(struct.pack("<I", len(SHEET.format(" " * 100_000_000, ""))), struct.pack("<I", 100))
    )
    with pytest.raises(ReleaseError, match=r"form\.xlsx"):
        read_xlsform(path)


@pytest.mark.parametrize(("name", "size"), [("form.md", 1_000_001), ("form.csv", 1_000_001), ("form.xlsx", 4_000_001)])
def test_long_files_are_refused_before_they_are_read(tmp_path, name, size):
    """Text has a limit too, and what is no workbook is read as text."""
    (tmp_path / name).write_bytes(b"|" * size)
    with pytest.raises(ReleaseError, match="over the limit"):
        read_xlsform(tmp_path / name)


@pytest.mark.parametrize(
    "content", [b"\xd0\xcf\x11\xe0" + b"\x00" * 600, b"PK\x03\x04" + b"\x00" * 50, b"\xff\xfe|", b""]
)
def test_whatever_bytes_a_form_has_there_is_one_sentence(tmp_path, content):
    """Old workbooks, cut archives, other encodings."""
    (tmp_path / "form.xls").write_bytes(content)
    with pytest.raises((ReleaseError, PlanError)) as caught:
        read_xlsform(tmp_path / "form.xls")
    assert "\n" not in str(caught.value)


def test_a_pipe_is_not_waited_for(tmp_path):
    """A form is an ordinary file."""
    import os

    os.mkfifo(tmp_path / "form.xlsx")
    with pytest.raises(ReleaseError, match="a pipe"):
        read_xlsform(tmp_path / "form.xlsx")
