"""No line of the package runs text, unpickles, or starts a program: a received file has nothing to reach for."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import discreet

ROOT = Path(discreet.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
#: Calls that turn text or bytes into behaviour.
FORBIDDEN = {"eval", "exec", "compile", "__import__", "execfile", "input", "breakpoint"}
#: Modules that do.
MODULES = {
    "pickle",
    "cPickle",
    "dill",
    "cloudpickle",
    "joblib",
    "marshal",
    "shelve",
    "subprocess",
    "yaml",
    "ctypes",
    "pty",
}
ATTRIBUTES = {
    ("os", "system"),
    ("os", "popen"),
    ("np", "load"),
    ("numpy", "load"),
    ("pd", "read_pickle"),
    ("pd", "eval"),
}


#: Modules that load parts of the package when they are first asked for, from tables that stand in its files.
LOADS_ITS_OWN = {ROOT / path for path in ("lazy_names.py", "cli/app.py")}
#: What driver and executors of one run hand to each other: the layout, checked by a digest that travels apart, and
#: sums. Spark itself sends its functions in this form.
BETWEEN_EXECUTORS = {
    (ROOT / "publish" / "spark.py", "pickle"),
    (ROOT / "engines" / "spark.py", "pickle"),
}
#: One system call that Python has no name for: two folders exchange theirs.
SYSTEM_CALLS = {(ROOT / "files" / "whole.py", "ctypes")}


def found(tree, path):
    """What a file does that it must not."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in FORBIDDEN:
            yield node.func.id
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if (node.value.id, node.attr) in ATTRIBUTES:
                yield f"{node.value.id}.{node.attr}"
            if node.attr in ("eval", "query") and node.value.id in ("frame", "df", "table", "batch"):
                yield f"{node.value.id}.{node.attr}"
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] in MODULES)
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in MODULES:
            yield str(node.module)
        if isinstance(node, ast.keyword) and node.arg == "allow_pickle":
            yield "allow_pickle"
        if isinstance(node, ast.alias) and node.name == "import_module" and path not in LOADS_ITS_OWN:
            yield "import_module"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_nothing_runs_text(path):
    """Neither eval nor pickle nor a shell."""
    assert [
        one for one in found(ast.parse(path.read_text()), path) if (path, one) not in BETWEEN_EXECUTORS | SYSTEM_CALLS
    ] == []


@pytest.mark.parametrize(
    "code", ["eval(x)", "import pickle", "from subprocess import run", "np.load(f)", "os.system(x)"]
)
def test_the_search_finds_what_it_looks_for(code):
    """A check that could not fail would be none."""
    assert list(found(ast.parse(code), ROOT / "x" / "y.py"))


def test_formulaic_parses_no_received_text():
    """Only `formulas` hands anything to formulaic, as finished terms that it looks up: no string is parsed there."""
    users = [path for path in FILES if "formulaic" in path.read_text() and "import" in path.read_text()]
    importing = [
        path
        for path in users
        if any("formulaic" in line for line in path.read_text().splitlines() if "import " in line)
    ]
    assert [str(path.relative_to(ROOT)) for path in importing] == ["estimate/formulas/matrices.py"]
    text = importing[0].read_text()
    assert text.count("Formula(") == 1
    assert 'eval_method="python"' not in text
