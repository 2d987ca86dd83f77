"""Every file is read and written through `discreet.files`: the source is searched for other ways."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import discreet

ROOT = Path(discreet.__file__).parent
#: Functions, whatever they belong to, that open, read, write or replace a file.
METHODS = {
    *("read_text", "read_bytes", "write_text", "write_bytes", "savefig", "to_csv", "to_parquet", "tofile", "touch"),
    *("symlink_to", "hardlink_to", "mkstemp", "NamedTemporaryFile", "TemporaryFile"),
}
#: Functions of one module that do.
OF_MODULES = {
    "os": {"open", "fdopen", "link", "symlink", "truncate", "mkfifo", "pread", "replace", "rename"},
    "io": {"open", "FileIO"},
    "codecs": {"open"},
    "gzip": {"open"},
    "zipfile": {"ZipFile"},
    "shutil": {"copy", "copy2", "copyfile", "copytree", "move"},
    "pa": {"OSFile", "memory_map", "input_stream", "output_stream", "FileOutputStream", "create_memory_map"},
    "pq": {
        *("ParquetFile", "ParquetWriter", "ParquetDataset", "read_table", "read_schema", "read_metadata"),
        *("write_table", "write_metadata", "write_to_dataset"),
    },
    "pa_csv": {"open_csv", "read_csv", "write_csv"},
    "pd": {"read_csv", "read_parquet", "read_json", "read_excel", "read_stata", "read_spss", "read_sas"},
    "pl": {"read_csv", "read_parquet", "scan_parquet", "scan_csv"},
    "np": {"load", "loadtxt", "genfromtxt", "fromfile", "memmap", "save", "savetxt", "savez"},
    "sqlite3": {"connect"},
    "tomllib": {"load", "loads"},
}
#: Modules from which none of these is taken by name.
MODULES = {"os", "io", "shutil", "pyarrow.parquet", "pyarrow.csv", "tomllib", "tempfile", "sqlite3"}
HOME = "files/"
#: Each with its reason: in all of them the file was opened, or is written, by what `discreet.files` gives.
EXCEPTIONS = {
    "tables/readers.py": {"pa.OSFile", "pq.ParquetFile", "pa_csv.open_csv"},  # under the name of a file that is open
    "audit/storage.py": {"pq.write_table", "pq.read_metadata"},  # in memory
    "publish/outputs.py": {"pq.ParquetWriter"},  # into a sink that create_private made, or a new private folder
    "publish/appending.py": {"os.link", "shutil.copytree", "shutil.copy2"},  # parts that a digest was checked of
    "publish/ledger.py": {"sqlite3.connect"},  # SQLite opens by name; the kind of file is checked before
    "publish/shuffle.py": {"TemporaryFile"},  # a file without a name
    "publish/spark.py": {"read_bytes", "write_bytes", "pq.ParquetWriter"},  # in the private folder of a run
    "cli/demo.py": {"pq.write_table"},  # into a sink that whole_file made
    "plots/canvas.py": {"savefig"},  # into a sink that whole_file made
    "publish/pipeline.py": {"pq.ParquetWriter"},  # into a sink in memory, to try what the format can hold
    "survey/spreadsheet.py": {"zipfile.ZipFile"},  # content that the opener has read
    "cli/__init__.py": {"os.open"},  # the null device, in place of a stream that is closed
    "cli/terminal.py": {"os.open"},  # likewise
}


def opened(source: str) -> Iterator[str]:
    """What a source calls, or takes from a module by name, that opens a file."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module in MODULES:
            listed = set().union(*OF_MODULES.values()) | METHODS
            yield from (f"{node.module}.{alias.name}" for alias in node.names if alias.name in listed)
        if not isinstance(node, ast.Call):
            continue
        called = node.func
        if isinstance(called, ast.Name) and called.id == "open":
            yield "open"
        if isinstance(called, ast.Attribute):
            of = called.value.id if isinstance(called.value, ast.Name) else ""
            if called.attr in OF_MODULES.get(of, ()):
                yield f"{of}.{called.attr}"
            elif called.attr in METHODS and not _is_resource(called.value):
                yield called.attr
            elif called.attr == "open" and _looks_like_a_path(node):
                yield "Path.open"


def _is_resource(value: ast.expr) -> bool:
    """Whether a file of the package itself is read, as it was installed."""
    return "resources.files" in ast.unparse(value)


def _looks_like_a_path(call: ast.Call) -> bool:
    """Whether a method called open has the arguments of ``Path.open``: a mode, an encoding, or none."""
    modes = [a.value for a in call.args[:1] if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    plain = any(set(mode) <= set("rwxabt+") for mode in modes)
    named = any(word.arg in {"mode", "encoding", "newline", "buffering"} for word in call.keywords)
    return plain or named or not (call.args or call.keywords)


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.py")), ids=lambda path: str(path.relative_to(ROOT)))
def test_no_file_is_opened_in_another_way(path):
    """One opener, one gate, one writer; the exceptions are few, each has its reason, and none is out of date."""
    inside = path.relative_to(ROOT).as_posix()
    if not inside.startswith(HOME):
        assert set(opened(path.read_text())) == EXCEPTIONS.get(inside, set())


@pytest.mark.parametrize(
    "source",
    [
        "open(path)",
        "Path(name).open()",
        "path.open('rb')",
        "path.open(encoding='utf-8')",
        "path.read_text()",
        "(folder / name).write_bytes(content)",
        "os.open(path, os.O_RDONLY)",
        "from os import open as opened",
        "pq.read_table(path)",
        "pa.OSFile(path)",
        "from pyarrow.parquet import read_table",
        "figure.savefig(path)",
        "tomllib.loads(text)",
    ],
)
def test_the_search_finds_what_it_looks_for(source):
    """A check that could not fail would be none."""
    assert list(opened(source))


@pytest.mark.parametrize("source", ["Release.open(path)", "webbrowser.open(address)", "database.open(design)"])
def test_the_search_takes_no_other_verb_for_a_file(source):
    """Releases, databases and pages are opened, too."""
    assert not list(opened(source))
