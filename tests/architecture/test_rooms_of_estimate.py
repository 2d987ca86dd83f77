"""The rooms of ``discreet.estimate`` import in one direction, also inside functions and for type checkers."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from discreet import estimate

ROOT = Path(estimate.__file__).parent
#: Every room may use those before it.
ORDER = (
    "reporting",
    "intervals",
    "channels",
    "data",
    "sampling",
    "noisy_numbers",
    "bounds",
    "means",
    "proportions",
    "tables",
    "replication",
    "formulas",
    "regressions",
    "m_estimation",
    "compliance",
)


def used(room: str) -> Iterator[tuple[str, str]]:
    """Other rooms that a room imports anywhere in its files, with the file."""
    for path in sorted((ROOT / room).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("discreet.estimate"):
                parts = str(node.module).split(".")[2:]
                for other in [parts[0]] if parts else [alias.name for alias in node.names]:
                    if other != room:
                        yield other, path.name


@pytest.mark.parametrize("room", ORDER)
def test_a_room_uses_only_rooms_before_it(room):
    """No circle, and none that is held open by a function or by TYPE_CHECKING."""
    allowed = set(ORDER[: ORDER.index(room)])
    assert {(other, file) for other, file in used(room) if other not in allowed} == set()


def test_no_module_has_the_name_of_a_public_function():
    """A module of that name would take the place of the function in the package."""
    functions = {name for name in estimate.__all__ if name.islower()} - {"losses"}
    modules = {path.stem for path in ROOT.glob("*.py")} | {path.name for path in ROOT.iterdir() if path.is_dir()}
    assert modules & functions == set()
