"""``[collect]`` and ``[[question]]``: read completely or refused with the path of the key."""

from __future__ import annotations

import datetime

import pytest

from discreet import Grid, PlanError
from discreet.publish import Plan
from discreet.survey import TEMPLATE, Questionnaire, check_survey
from tests.publish.conftest import block_of, plan_of

ASKED = {"column": "cheated", "text": "Did you?"}


def survey_of(*questions, collect=None, private=None, public=(), **more):
    """A survey as plain data; by default one private question."""
    data = plan_of(*(private or [block_of()]), **more)
    data |= {"collect": collect or {}, "question": list(questions) or [ASKED]}
    return data | ({"public": [{"columns": list(public)}]} if public else {})


def built(*questions, **more):
    return Questionnaire(Plan.from_dict(survey_of(*questions, **more)))


def refused(message, *questions, **more):
    with pytest.raises(PlanError, match=message) as caught:
        built(*questions, **more)
    assert "\n" not in str(caught.value)


def test_the_template_works_as_it_is():
    """What ``survey new`` prints can be served at once."""
    survey = Questionnaire.parse(TEMPLATE)
    assert [question.column for question in survey.questions] == ["year", "cheated", "hours"]
    assert [question.private for question in survey.questions] == [False, True, True]
    assert all(block.collected for block in survey.plan.blocks)
    checked = check_survey(survey, 2000)
    assert not checked.small
    assert "73" in checked.summary()


def test_a_plan_without_questions_is_as_it_was():
    """The new tables change nothing where they are not."""
    plan = Plan.from_dict(plan_of())
    assert plan.collection is None
    assert plan.questions == ()
    with pytest.raises(PlanError, match=r"no \[collect\] table"):
        Questionnaire(plan)


def test_everything_that_can_be_said_is_read():
    """Days as TOML writes them or as text, languages, labels, numbers."""
    collect = {
        "access": "invitation",
        "opens": datetime.date(2030, 1, 1),
        "closes": datetime.date(2030, 2, 1),
        "languages": ["en", "ar"],
        "smallest_cell": 7,
        "title": {"en": "Honesty", "ar": "الصدق"},
        "contact": "me@example.org",
        "origins": ["https://pages.example.org"],
        "margin": 0.03,
    }
    collect |= {"opens": "2030-01-01", "closes": "2030-02-01"}
    text = {"en": "Did you?", "ar": "هل فعلت؟"}
    choices = [{"value": "yes", "en": "Yes", "ar": "نعم"}, {"value": "no", "en": "No", "ar": "لا"}]
    age = {"column": "age", "text": text, "choices": {"grid": {"low": 18, "high": 99, "points": 82}}, "required": False}
    survey = built({"column": "cheated", "text": text, "choices": choices}, age, collect=collect, public=["age"])
    assert survey.collect.opens == datetime.date(2030, 1, 1)
    assert survey.collect.smallest_cell == 7
    private, public = survey.questions
    assert [choice.value for choice in private.choices] == ["no", "yes"]  # in the order of the codes
    assert private.choices[1].label["ar"] == "نعم"
    assert public.grid == Grid(18, 99, 82)
    assert survey.fields[1].blank == 82
    assert Plan.parse('title = "x"\n' + TOML_DAYS).collection.opens == datetime.date(2030, 1, 1)


TOML_DAYS = """
[collect]
opens = 2030-01-01
[[private]]
columns = ["cheated"]
domain = { binary = ["no", "yes"] }
mechanism = "randomized-response"
epsilon = 1.0
[[question]]
column = "cheated"
text = "Did you?"
"""


def test_branching_on_a_private_answer_is_refused():
    """Whether a later question is shown would give the answer away."""
    later = {"column": "why", "text": "Why?", "choices": ["a", "b"], "when": {"cheated": "yes"}}
    refused("depends on a private answer", ASKED, later, public=["why"])
    refused("not available", ASKED | {"when": {"why": "a"}}, later | {"when": "why"}, public=["why"])


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ({"column": "other"}, "neither public nor private"),
        ({"text": None}, r"question\[0\].text"),
        ({"text": {"de": "Ja?"}}, "text.en is missing"),
        ({"text": {"en": "A", "de": "B"}}, "does not list"),
        ({"choices": ["no", "maybe"]}, "every value of the domain"),
        ({"choices": ["no", "yes", "yes"]}, "every value of the domain"),
        ({"input": "text"}, "free text cannot be randomised"),
        ({"input": "list"}, "chosen, not typed"),
        ({"input": "number"}, "must be number for a grid"),
        ({"required": False}, "does not go with missing"),
        ({"colour": "red"}, "is not a key of a plan"),
    ],
)
def test_wrong_questions_are_refused_with_their_path(question, message):
    """One sentence each."""
    refused(message, ASKED | question)


@pytest.mark.parametrize(
    ("collect", "message"),
    [
        ({"access": "secret"}, "collect.access must be one of"),
        ({"languages": ["en", "tlh"]}, "must be a table|not in"),
        ({"languages": ["English"]}, "is not a language"),
        ({"opens": "soon"}, "must be a day"),
        ({"opens": "2030-01-02", "closes": "2030-01-01"}, "is before"),
        ({"origins": ["https://a.example/page"]}, "is not an origin"),
        ({"smallest_cell": 0}, "at least 1"),
        ({"margin": 2}, "below 1"),
    ],
)
def test_wrong_settings_are_refused_with_their_path(collect, message):
    """One sentence each."""
    refused(message, collect=collect)


def test_every_column_is_asked_for_once():
    """Neither forgotten nor twice."""
    refused('question is missing for "age"', ASKED, public=["age"])
    refused("twice", ASKED, ASKED)
    with pytest.raises(PlanError, match=r"question needs \[collect\]"):
        Plan.from_dict(plan_of(question=[ASKED]))


def test_nothing_is_promised_that_a_page_cannot_know():
    """Open access has no promise about a person, weights and names are not asked for, order is not kept."""
    refused("needs collect.access", budget={"rows_per_person": 1})
    assert built(collect={"access": "invitation"}, budget={"rows_per_person": 1}).plan.guarantee.unit == "person"
    refused("weight", survey={"weight": "w"})
    refused("nobody is asked for a name", budget={"person": "name"})
    refused("the order of arrival is forgotten", output={"order": "keep"})


def test_a_mode_is_drawn_for_everybody_or_asked_for():
    """A direct-question arm: rows differ by a public column that nobody has to be asked for."""
    block = {"columns": ["cheated"], "domain": {"binary": ["no", "yes"]}, "collected": True, "by": "mode"}
    block["designs"] = {"direct": {"direct": True}, "dice": {"forced": ["1/6", "1/6"]}}
    drawn = built(private=[block], public=["mode"])
    assert [field.name for field in drawn.fields] == ["cheated", "mode"]
    assert drawn.data["assigned"] == [["direct", "dice"]]
    mode = {"column": "mode", "text": "Which?", "choices": ["dice", "direct"]}
    asked = built(ASKED, mode, private=[block], public=["mode"])
    assert asked.assigned == ()
    assert asked.data["blocks"][0]["designs"] == [1, 0]
    refused("must be the designs", ASKED, mode | {"choices": ["dice", "cards"]}, private=[block], public=["mode"])


def test_reports_have_one_length_and_are_read_back():
    """Fixed widths; what is too long, too short or beyond the last code is no report."""
    region = block_of(columns=["region"], domain={"categorical": [str(i) for i in range(12)]})
    survey = built(ASKED, {"column": "region", "text": "Where?"}, private=[block_of(), region])
    assert survey.length == 3
    assert survey.split("111") == (1, 11)
    assert survey.joined((1, 11)) == "111"
    for wrong in ("", "11", "1111", "212", "112", "1x1", "1 1", "١11"):
        assert survey.split(wrong) is None


def test_the_design_changes_with_every_question_and_not_with_the_days():
    """What may be changed while a survey runs, and what may not."""
    first = built(collect={"closes": "2030-01-01"}).design
    assert built(collect={"closes": "2030-02-01", "opens": "2029-01-01"}).design == first
    assert built(ASKED | {"text": "Did you really?"}).design != first
    assert built(private=[block_of(epsilon=1.1)]).design != first


def test_small_public_cells_are_pointed_out_before_anybody_is_asked():
    """Too many combinations for the people who are expected."""
    year = {"column": "year", "text": "When?", "choices": list(range(1950, 1960))}
    survey = built(ASKED, year, public=["year"])
    assert check_survey(survey, 49).small
    assert "fewer than 5" in check_survey(survey, 49).summary()
    assert not check_survey(survey, 50).small
