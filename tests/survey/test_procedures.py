"""Classic procedures in a survey: their own words and exact fractions on sheets and pages, or a refusal."""

from __future__ import annotations

import html
import re
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import PlanError, privacy
from discreet.mechanisms import BinaryResponse, ChannelResponse
from discreet.mechanisms.procedures import PARAMETERS
from discreet.survey import TEMPLATE, Questionnaire, build_page, check_survey
from discreet.survey.by_hand import _CHANCES, check_by_hand, hand_words, instructions
from discreet.survey.sheet import ethics_sheet
from discreet.survey.wording import LANGUAGES, wording
from tests.survey.conftest import discreet, written
from tests.survey.test_plan import built, survey_of

VALUES = {"first": "1/3", "p": "183/1000", "yes": "1/6", "no": "1/4", "prevalence": "0.24681"}
BY_HAND_ONLY = ("crosswise", "triangular", "unrelated", "mangat_singh_singh", "two_stage_unrelated", "kuk")


def block_of(name, values=VALUES):
    """A private block with a classic procedure."""
    given = {key: values[key] for key in PARAMETERS[name]}
    design = True if not given else next(iter(given.values())) if len(given) == 1 else given
    return {"columns": ["cheated"], "domain": {"binary": ["no", "yes"]}, "collected": True, name: design}


def survey_with(name, languages=("en",), values=VALUES):
    """A survey with one question that is asked by a procedure."""
    text = dict.fromkeys(languages, "Did you?")
    choices = [{"value": value} | dict.fromkeys(languages, value.upper()) for value in ("no", "yes")]
    question = {"column": "cheated", "text": text, "choices": choices}
    return built(question, private=[block_of(name, values)], collect={"languages": list(languages)})


def sides_of(text):
    """The sides of every die, spinner or pack that are printed, as shares, in order."""
    found = []
    for rule in re.findall(r'<div class="rule">(.*?)</div>', text, re.DOTALL):
        six, shares = "face" in rule, []
        for label in re.findall(r"<li><b>(.*?)</b>", rule):
            numbers = [int(number) for number in re.findall(r"\d+", label)]
            if " of " in label:
                shares.append(Fraction(*numbers))
            else:
                shares.append(Fraction(numbers[-1] - numbers[0] + 1, 6 if six else 100))
        found.append(shares)
    return found


def followed(name, values, spinners):
    """(p00, p11) of somebody who does what a sheet prints: shares of the text, and sides of the spinners."""
    first = [shares[0] for shares in spinners]
    match name:
        case "direct":
            return 1, 1
        case "warner":
            return first[0], first[0]
        case "crosswise":
            return values["p"], values["p"]
        case "triangular":
            return 1 - values["p"], 1
        case "forced":
            yes, no, truth = spinners[0]
            return no + truth, yes + truth
        case "unrelated":
            truth, harmless = spinners[0]
            return truth + harmless * (1 - values["prevalence"]), truth + harmless * values["prevalence"]
        case "mangat" | "devore":
            return first[0], 1
        case "kuk":
            return 1 - first[1], first[0]
        case "mangat_singh":
            return (first[0] + spinners[0][1] * first[1],) * 2
        case "mangat_singh_singh":
            return first[0] + spinners[0][1] * (1 - values["prevalence"]), 1
        case "two_stage_unrelated":
            harmless = spinners[0][1] * spinners[1][1]
            return 1 - harmless * values["prevalence"], 1 - harmless * (1 - values["prevalence"])
        case "singh_joarder":
            asked, turned = spinners[0]
            return asked, asked + turned * asked
    raise AssertionError(name)


@pytest.mark.parametrize("values", [VALUES, dict.fromkeys(VALUES, "1/3"), dict.fromkeys(VALUES, "0.41")])
@pytest.mark.parametrize("name", PARAMETERS)
def test_whoever_follows_the_printed_sheet_draws_from_the_certified_mechanism(name, values):
    """Fractions of the text and sides of every die, spinner and pack give the plan's channel exactly."""
    survey = survey_with(name, values=values)
    text = instructions(survey)
    check_by_hand(survey)
    words = html.unescape(re.search(r"<p>(.*?)</p>", text)[1])
    pattern = re.escape(hand_words("en")["procedures"][name])
    for key in PARAMETERS[name]:
        pattern = pattern.replace(rf"\{{{key}\}}", rf"(?P<{key}>[\d/]+)")
    pattern = re.sub(r"\\\{\w+\\\}", ".*?", pattern)
    printed = {key: Fraction(value) for key, value in re.fullmatch(pattern, words).groupdict().items()}
    assert printed == {key: Fraction(values[key]) for key in PARAMETERS[name]}
    p00, p11 = followed(name, printed, sides_of(text))
    (mechanism,) = survey.plan.blocks[0].channels_of("cheated").values()
    assert privacy.certify(BinaryResponse(p00, p11)).epsilon == privacy.certify(mechanism).epsilon
    assert (p00, p11) == (mechanism.p00, mechanism.p11)
    assert html.escape(mechanism.guarantee.summary()) in text


@pytest.mark.parametrize("name", PARAMETERS)
def test_every_language_has_the_words_of_every_procedure(name):
    """The same places in each, and nobody reads about other chances."""
    text = instructions(survey_with(name, LANGUAGES))
    places = {language: set(re.findall(r"\{\w+\}", hand_words(language)["procedures"][name])) for language in LANGUAGES}
    assert set(map(frozenset, places.values())) == {frozenset(places["en"])}
    assert places["en"] >= {f"{{{key}}}" for key in PARAMETERS[name]}
    for language in LANGUAGES:
        begin = hand_words(language)["procedures"][name].split("{")[0]
        assert html.escape(begin) in text


@pytest.mark.parametrize("name", PARAMETERS)
def test_a_page_speaks_of_the_procedure_or_is_refused(name, tmp_path):
    """What a device can draw it names; a harmless statement and cards stay with the respondent. Check says the same."""
    survey = survey_with(name)
    checked = check_survey(survey)
    said = checked.summary()
    assert "send a different one" not in said
    assert "of 100 people" not in said.lower().replace("of 100 people with the same answer, up to", "")
    plan = written(tmp_path, survey_of({"column": "cheated", "text": "Did you?"}, private=[block_of(name)]))
    done = discreet("survey", "page", plan, "-o", tmp_path / "page.html")
    if name in BY_HAND_ONLY:
        assert checked.page is None
        assert done.returncode == 2
        assert f"{name} needs a harmless statement or cards" in done.stderr
        assert len(done.stderr.strip().splitlines()) == 1
        assert not (tmp_path / "page.html").exists()
        assert name in said
        assert "by hand" in ethics_sheet(checked)
        with pytest.raises(PlanError, match="harmless statement or cards"):
            build_page(survey)
    else:
        assert done.returncode == 0, done.stderr
        if name != "direct":
            for language in LANGUAGES:
                assert {f"{{{key}}}" for key in PARAMETERS[name]} <= set(
                    re.findall(r"\{\w+\}", wording(language)[f"by_{name}"])
                )
            values = [str(Fraction(VALUES[key])) for key in PARAMETERS[name]]
            assert all(f"chance {value}" in said for value in values)


def test_a_page_names_the_procedure_in_a_browser(chromium):
    """The chances of the plan, the labels of the answers, and that a code can be certain."""
    from tests.survey.driver import Wire, opened

    page = opened(chromium, Wire(build_page(survey_with("forced")).content))
    assert (
        "With chance 1/6 your device sends “YES”, with chance 1/4 “NO”" in page.locator("#welcomeScreen").inner_text()
    )
    page.context.close()
    page = opened(chromium, Wire(build_page(survey_with("mangat")).content))
    text = page.locator("#welcomeScreen").inner_text()
    assert "it sends “NO” with chance 183/1000, otherwise “YES”" in text
    assert "up to 18 send a code that only this answer can give" in text
    assert "Some reports still show an answer for certain" in text
    page.context.close()


def test_a_form_that_names_a_procedure_is_refused_in_a_sentence(tmp_path):
    """A cell of a form has no place for the parameters of a procedure."""
    form = tmp_path / "form.md"
    form.write_text(
        "| survey | | | | | |\n| | type | name | label | discreet::epsilon | discreet::mechanism |\n"
        "| | select_one yn | cheated | Did you? | 1.0 | crosswise |\n"
        "| choices | | |\n| | list_name | name | label |\n| | yn | no | No |\n| | yn | yes | Yes |\n",
        encoding="utf-8",
    )
    done = discreet("survey", "import", form)
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1
    assert "row 2: crosswise is a procedure" in done.stderr


@settings(max_examples=60, deadline=None)
@given(size=st.integers(2, 12), epsilon=st.floats(0.05, 6))
def test_printed_ranges_are_the_certified_channel(size, epsilon):
    """Read back from the sheet, they give the ε that it states, which is not above the plan's."""
    values = [f"v{i}" for i in range(size)]
    block = {"columns": ["x"], "domain": {"categorical": values}, "mechanism": "randomized-response"}
    survey = built({"column": "x", "text": "Which?"}, private=[block | {"epsilon": epsilon}])
    text = instructions(survey)
    rows = [
        [len(range(int(low), int(high or low) + 1)) for low, high in re.findall(r"<b>(\d+)(?: to (\d+))?</b>", rule)]
        for rule in re.findall(r'<div class="rule">(.*?)</div>', text, re.DOTALL)
    ]
    if not rows:
        assert epsilon < 0.5
        return
    certified = ChannelResponse(rows).guarantee
    assert certified.epsilon <= epsilon
    assert html.escape(certified.summary()) in text


def test_sheets_of_a_design_with_delta_keep_delta_and_exposure():
    """Hundredths do not raise the chance of a report that proves an answer."""
    from discreet.design import binary
    from discreet.survey.by_hand import by_hand

    for reports in (2, 4):
        for delta in (0.001, 0.0149, 0.05):
            mechanism = binary(1.0, delta, reports=reports).mechanism
            drawn = by_hand(mechanism)
            if drawn is not None:
                assert privacy.certify(drawn.mechanism).delta(1.0) <= delta
                assert drawn.mechanism.guarantee.exposure <= mechanism.guarantee.exposure


def test_missing_translations_are_reported():
    """Choices without labels are printed as they are in the table, and check lists them for every question."""
    text = {"en": "Did you?", "de": "Haben Sie?"}
    plain = {"column": "cheated", "text": text}
    survey = built(plain, collect={"languages": ["en", "de"]})
    said = check_survey(survey)
    assert said.to_dict()["untranslated"] == {"cheated": ["no", "yes"]}
    assert 'warning: "cheated" is answered with "no", "yes" in en, de: no labels are given.' in said.summary()
    german = built({"column": "cheated", "text": "Ja?"}, collect={"languages": ["de"]})
    assert check_survey(german).to_dict()["untranslated"] == {"cheated": ["no", "yes"]}
    given = [{"value": "no", "en": "No", "de": "Nein"}, {"value": "yes", "en": "Yes", "de": "Ja"}]
    survey = built(plain | {"choices": given}, collect={"languages": ["en", "de"]})
    assert check_survey(survey).to_dict()["untranslated"] == {}
    assert "„Nein“" in instructions(survey)
    assert check_survey(Questionnaire.parse(TEMPLATE)).to_dict()["untranslated"] == {}
    year = {"column": "year", "text": text, "choices": [1, 2]}
    survey = built(plain | {"choices": given}, year, public=["year"], collect={"languages": ["en", "de"]})
    assert check_survey(survey).to_dict()["untranslated"] == {}  # numbers need none


def test_every_outcome_of_a_procedure_has_a_word():
    """In each language."""
    for language in LANGUAGES:
        words = hand_words(language)
        for spinners in _CHANCES.values():
            for what, _ in (outcome for spinner in spinners for outcome in spinner):
                assert what in ("yes", "no") or words["chances"][what]
