"""What others adopt: metadata, a reference with every public module, tutorials that show every step."""

from __future__ import annotations

import importlib.util
import re
import tomllib
from pathlib import Path

import pytest

import discreet

ROOT = Path(__file__).parents[2]
#: Folders whose names are reached through other modules, or through the command line.
INNER = {"tables", "blocks", "reading", "cli", "domains", "files", "manifest", "publish", "randomness"}


def script(name: str):
    """A Python file of the documentation, as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_reference_has_every_public_module():
    """A new layer is in the reference, or is said to be none of the user's business."""
    listed = {name.removeprefix("discreet.") for name in script("reference_pages").MODULES}
    layers = {path.name for path in Path(discreet.__file__).parent.iterdir() if (path / "__init__.py").exists()}
    assert layers - listed == INNER


def test_the_reference_has_every_public_name(tmp_path):
    """Each on its own page; the pages are made from the exports."""
    pages = script("reference_pages")
    pages.write_reference(tmp_path)
    for name in ("design", "estimate", "mechanisms", "privacy"):
        module = getattr(discreet, name)
        text = (tmp_path / f"discreet_{name}.md").read_text()
        for one in set(module.__all__) - {"losses"}:
            assert re.search(rf"\n   {one}\n|discreet\.{one}`", text), f"discreet.{name}.{one} is not in the reference"


def test_the_classifiers_name_the_system_that_is_tested():
    """Linux, and no other one until tests run there."""
    said = [line for line in (ROOT / "pyproject.toml").read_text().splitlines() if "Operating System" in line]
    assert [line.strip() for line in said] == ['"Operating System :: POSIX :: Linux",']


def test_versions_agree():
    """Package, citation, changelog."""
    assert f"version: {discreet.__version__}" in (ROOT / "CITATION.cff").read_text()
    assert f"## {discreet.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_lowest_versions_are_the_same_everywhere():
    """In the metadata, in ``make test-oldest`` and on the page about support."""
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    lowest = dict(one.split(">=") for one in needed)
    tested = dict(re.findall(r"([a-z]+)==([\d.]+)\.\*", (ROOT / "Makefile").read_text()))
    assert tested == lowest
    page = (ROOT / "docs" / "stability.md").read_text()
    for name, version in lowest.items():
        assert name in page
        assert version in page


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "tutorials").glob("*_*.md")), ids=lambda page: page.stem)
def test_a_tutorial_is_a_program(page):
    """Every cell compiles, and there are enough of them to be a tutorial."""
    runner = script("run_tutorials")
    assert len(runner.CELL.findall(page.read_text())) >= 8
    compile(runner.script(page), page.name, "exec")


def test_the_package_description_has_no_relative_picture_or_link():
    """It is shown where no other file of the project is."""
    text = (ROOT / "docs" / "pypi.md").read_text()
    assert not re.search(r"\]\((?!https://)", text)
