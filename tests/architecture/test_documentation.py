"""What the documentation says about the code: the files and functions that it names exist."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

import discreet

SOURCE = Path(discreet.__file__).parent
ROOT = Path(__file__).parents[2]
PAGES = [
    *(page for page in sorted((ROOT / "docs").rglob("*.md")) if not {"_build", "reference"} & set(page.parts)),
    ROOT / "CONTRIBUTING.md",
    ROOT / "README.md",
    ROOT / "SECURITY.md",
]
MATHEMATICS = [page for page in sorted((ROOT / "docs" / "mathematics").glob("*.md")) if page.stem != "index"]
HEADING = "\n## Where the formulas are\n"
#: A line of the table: what, in which file, the names that hold it.
LINE = re.compile(r"\| (?P<what>[^|]+) \| `(?P<file>[\w/]+\.py)` \| (?P<names>`[\w.]+`(?:, `[\w.]+`)*) \|")
FILE = re.compile(r"`((?:[\w-]+/)+(?:[\w-]+\.(?:py|md|toml|json))?)`")


@cache
def names_in(path: Path) -> set[str]:
    """Functions, classes, methods, properties and constants of a file."""
    found: set[str] = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{part.name}" for part in node.body if isinstance(part, ast.FunctionDef)}
        if isinstance(node, ast.Assign):
            found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return found


@pytest.mark.parametrize("page", MATHEMATICS, ids=lambda page: page.stem)
def test_every_page_of_mathematics_says_where_its_formulas_are(page):
    """The promise of the index: a table of formulas with file and function, each of which exists."""
    _, heading, table = page.read_text().partition(HEADING)
    assert heading, f"{page.name} has no section on where its formulas are"
    rows = [line for line in table.strip().splitlines() if line.startswith("|")][2:]
    assert rows
    for row in rows:
        match = LINE.fullmatch(row)
        assert match, f"{page.name}: cannot read {row!r}"
        file = SOURCE / match["file"]
        assert file.is_file(), f"{page.name} names {match['file']}, which does not exist"
        for name in re.findall(r"`([\w.]+)`", match["names"]):
            assert name in names_in(file), f"{page.name} names {name} in {match['file']}, where it is not"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_files_that_a_page_names_exist(page):
    """In the source, or from the top of the project."""
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    for name in FILE.findall(text):
        places = (SOURCE / name, ROOT / name, ROOT / "src" / name, page.parent / name)
        assert any(place.exists() for place in places), f"{page.name} names {name}, which does not exist"


def test_a_wrong_name_would_be_noticed():
    """The check can fail."""
    assert "certify" in names_in(SOURCE / "privacy" / "certificate.py")
    assert "Certificate.delta" in names_in(SOURCE / "privacy" / "certificate.py")
    assert "certfy" not in names_in(SOURCE / "privacy" / "certificate.py")
    assert LINE.fullmatch("| pure ε | `privacy/certificate.py` | `certify` |")
    assert not LINE.fullmatch("| pure ε | privacy/certificate.py | certify |")


def test_commands_can_be_pasted_as_they_are_shown():
    """What is said beside a command in a block of code is marked as a comment."""
    blocks = [
        (page.name, block)
        for page in PAGES
        for block in re.findall(r"```[^\n]*\n(.*?)```", page.read_text(), re.DOTALL)
    ]
    found = [
        f"{page}: {line}"
        for page, block in blocks
        for line in block.splitlines()
        if line.startswith("discreet ") and re.search(r"\S {3,}[^#\s]", line)
    ]
    assert found == []


def test_keys_have_the_names_that_the_command_gives_them():
    """``keys new steward.pem`` writes steward.pem and steward.public.pem, and pages sign and audit with these."""
    named = re.compile(r"keys new (\S+?)[`\s].{0,200}?--sign (\S+?)[`\s].{0,200}?--key (\S+?)[`\s]", re.DOTALL)
    found = [match for page in PAGES for match in named.findall(page.read_text())]
    assert len(found) >= 3
    for made, private, public in found:
        assert made.endswith(".pem")
        assert (private, public) == (made, made.removesuffix(".pem") + ".public.pem")
