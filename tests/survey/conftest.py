"""Real parts for the tests of surveys: a Chromium, a PostgreSQL, a collector in a process of its own."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.parts import missing

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ARGUMENTS = [
    "--no-sandbox",
    "--headless",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


@pytest.fixture(scope="module")
def chromium():
    """A running browser; closed after the module, because it keeps an event loop in this thread."""
    path = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if path is None:
        missing("pages in a real browser", "no Chromium: apt-get install chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def sampler(chromium):
    """A blank page in which the sampler is loaded as the ES module that it is."""
    from discreet.survey import sampler_source

    context = chromium.new_context()
    page = context.new_page()
    page.goto("about:blank")
    page.evaluate(
        """async (source) => {
            const address = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
            window.sampler = await import(address);
        }""",
        sampler_source(),
    )
    yield page
    context.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where a survey lives."""
    return tmp_path
