"""The shape of the code: no circles of imports, nothing that outgrows a reader, nobody asked for its type.

The lists of exceptions are debts. They shrink, and nothing is added to them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import discreet

ROOT = Path(discreet.__file__).parent
FILES = {
    ".".join(path.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(ROOT.rglob("*.py"))
}
LINES, FUNCTION_LINES = 600, 60
#: Whoever wants to know what a mechanism of records is asks for it here, and nowhere else.
ASKS_FOR_THE_TYPE = {
    "discreet.estimate.noisy_numbers.sample",  # an outcome on arrays has one of two kinds of noise
    "discreet.estimate.tables.api",  # the first argument of a public function is checked
}


def _at_import(tree: ast.AST) -> Iterator[ast.stmt]:
    """Statements that run when a module is imported; imports for type checkers and inside functions do not."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.stmt):
            yield node
        yield from _at_import(node)


def imported(source: str, modules: set[str]) -> set[str]:
    """Which of these modules a source imports, packages when a name is taken from one."""
    found = set()
    for node in _at_import(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            below = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in modules else str(node.module) for name in below}
    return found & modules


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Modules that import each other: what is left when those are taken away, again and again, that import no other
    one, or that no other one imports.
    """
    left = {module: set(found) for module, found in graph.items()}
    while True:
        used = set().union(*left.values()) if left else set()
        ends = {module for module, found in left.items() if not found & left.keys() or module not in used}
        if not ends:
            return [sorted(left)] if left else []
        left = {module: found - ends for module, found in left.items() if module not in ends}


def test_no_modules_import_each_other_in_a_circle():
    """A circle has no beginning for whoever reads it; in no folder, nor across folders."""
    graph = {
        module: imported(path.read_text(), FILES.keys() - {module}) for module, path in FILES.items() if path.exists()
    }
    assert len(graph) > 200
    assert sum(map(len, graph.values())) > 1000
    assert circles(graph) == []


def test_a_circle_would_be_found():
    """Of three modules two import each other; an import inside a function or for types alone is none."""
    sources = {
        "a.b": "from a import c",
        "a.c": "try:\n    from a.b import name\nexcept ImportError:\n    pass",
        "a.d": "import a.b",
        "a.e": "def f():\n    import a.f\nif TYPE_CHECKING:\n    from a import f",
        "a.f": "from a.e import f",
    }
    graph = {module: imported(source, sources.keys() - {module}) for module, source in sources.items()}
    assert circles(graph) == [["a.b", "a.c"]]


@pytest.mark.parametrize("module", FILES)
def test_no_file_outgrows_a_reader(module):
    """Past six hundred lines a file is split by concept."""
    lines = len(FILES[module].read_text().splitlines())
    assert lines <= LINES, f"{module} has {lines} lines"


def functions(module: str, source: str) -> Iterator[tuple[str, int]]:
    """Every function with its number of lines, its docstring not counted."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            first = node.body[0]
            says = 0 if ast.get_docstring(node) is None else (first.end_lineno or 0) - first.lineno + 1
            yield f"{module}.{node.name}", (node.end_lineno or 0) - node.lineno + 1 - says


def test_no_function_outgrows_a_screen():
    """Sixty lines, the docstring not counted."""
    found = [one for module, path in FILES.items() for one in functions(module, path.read_text())]
    assert {name for name, lines in found if lines > FUNCTION_LINES} == set()


def test_the_length_of_a_function_is_counted_without_its_docstring():
    """The counter itself."""
    source = 'def f():\n    """One.\n\n    Two.\n    """\n    a = 1\n    return a'
    assert list(functions("m", source)) == [("m.f", 3)]


QUESTION = re.compile(
    r"isinstance\([^\n]*\b(JointResponse|ZeroInflatedLaplace)\b|hasattr\((mechanism|domain)\b|mechanism\.kind =="
)


def test_nobody_asks_a_mechanism_for_its_type():
    """Blocks answer; outside the folder of the mechanisms few places ask, and each is listed with its reason."""
    asking = {
        module
        for module, path in FILES.items()
        if not module.startswith("discreet.mechanisms") and QUESTION.search(path.read_text())
    }
    assert asking <= ASKS_FOR_THE_TYPE
