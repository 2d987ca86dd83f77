"""Accessibility: axe-core finds no violation of WCAG 2.2 AA on any screen, in three languages, one right to left."""

from __future__ import annotations

import pytest

from tests.survey.screens import LANGUAGES, other_screens, survey_screens

STANDARD = {"runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]}}


def violations(page):
    """What axe-core finds."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page, options=STANDARD).response
    return [(one["id"], one["nodes"][0]["html"][:120]) for one in found["violations"]]


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_screen_of_the_page_shuts_anybody_out(chromium, language):
    """Every screen, at the width of a small phone; and nothing is wider than it."""
    seen = set()
    for name, page in survey_screens(chromium, language, 320):
        assert violations(page) == [], (language, name)
        assert page.evaluate("document.documentElement.scrollWidth") <= 320, (language, name)
        if name != "closed":  # says it in all languages at once
            assert page.evaluate("document.documentElement.dir") == ("rtl" if language == "ar" else "ltr")
        seen.add(name)
    assert len(seen) == 13


def test_no_screen_of_the_researcher_does(chromium, tmp_path):
    """Dashboard, invitations, and the sheets for printing."""
    for name, page in other_screens(chromium, 320, tmp_path):
        assert violations(page) == [], name


def test_a_violation_would_be_found(chromium):
    """The check can fail."""
    page = chromium.new_page()
    page.set_content("<html><body><input type=text><p style='color:#ccc'>faint</p></body></html>")
    assert {name for name, _ in violations(page)} >= {"label", "color-contrast"}
    page.close()
