"""The walls of the house: imports point one way, importing is light, the public names are pinned."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet

ROOT = Path(discreet.__file__).parent
LAYERS = [
    "domains",
    "privacy",
    "randomness",
    "mechanisms",
    "engines",
    "tables",
    "blocks",
    "manifest",
    "reading",
    "plots",
    "estimate",
    "design",
    "publish",
    "survey",
    "learning",
]
EDGES = ["audit", "cli"]
BASE = {"arguments", "arrow_functions", "decimals", "errors", "files", "lazy_names", "limits", "plain_text", "_version"}
HEAVY = ["scipy.optimize", "scipy.stats", "pandas", "formulaic", "matplotlib", "typer"]


def imports(path: Path) -> set[str]:
    """Layers that a file imports, type-checking imports excepted."""
    found = set()
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = []
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module] if node.module != "discreet" else [f"discreet.{a.name}" for a in node.names]
        elif isinstance(node, ast.Import):
            names = [a.name for a in node.names]
        found |= {name.split(".")[1] for name in names if name.startswith("discreet.")}
    return found


@pytest.mark.parametrize("layer", LAYERS + EDGES)
def test_imports_point_up_the_list_of_layers(layer):
    """A layer uses itself and the layers before it, never a later one."""
    allowed = set(LAYERS[: LAYERS.index(layer) + 1]) if layer in LAYERS else set(LAYERS + EDGES)
    files = list((ROOT / layer).rglob("*.py"))
    assert files
    for path in files:
        beyond = imports(path) - allowed - BASE - {layer}
        assert not beyond, f"{path.relative_to(ROOT)} imports {sorted(beyond)}"


def test_importing_discreet_loads_no_heavy_package():
    """Users of one function do not wait for plotting, data frames or optimisers."""
    code = f"import sys, discreet; print([m for m in {HEAVY!r} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_help_of_the_command_line_waits_for_no_table():
    """Whoever asks what the commands are waits for neither arrays nor tables."""
    late = [*HEAVY[:-1], "numpy", "pyarrow", "rich"]
    code = f"import sys, discreet.cli.app; print([m for m in {late!r} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_a_release_of_answers_waits_for_nothing_that_it_does_not_use(tmp_path):
    """One yes/no column needs no optimiser, no data frames, no other designer, command or function of Arrow."""
    source, plan = tmp_path / "data.parquet", tmp_path / "plan.toml"
    pq.write_table(pa.table({"answer": [True, False, True]}), source)
    plan.write_text(
        '[output]\norder = "keep"\n[[private]]\ncolumns = ["answer"]\ndomain = { binary = [false, true] }\n'
        'mechanism = "randomized-response"\nepsilon = 1.0\n'
    )
    arguments = ["discreet", "release", str(source), str(plan), "-o", str(tmp_path / "out.parquet"), "--no-ledger"]
    late = [*HEAVY[:-1], "rich", "pyarrow.compute", "numpy.ma", "discreet.design.planning", "discreet.cli.survey"]
    code = (
        f"import sys; sys.argv = {arguments!r}\nfrom discreet.cli import main\n"
        f"try:\n    main()\nexcept SystemExit as left:\n    assert left.code in (0, None)\n"
        f"print([m for m in {late!r} if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.splitlines()[-1] == "[]"


def test_public_names():
    """The top level holds what the documentation promises, and nothing by accident."""
    modules = {"privacy", "mechanisms", "design", "estimate"}
    names = {
        "Binary",
        "Box",
        "Categorical",
        "Ordinal",
        "Grid",
        "Metric",
        "Guarantee",
        "Randomness",
        "Plan",
        "Release",
        "release",
    }
    assert set(discreet.__all__) == modules | names | set(discreet.errors.__all__) | {"__version__"}
    for name in discreet.__all__:
        assert getattr(discreet, name) is not None


def test_every_public_name_is_documented():
    """Whoever asks for help gets an answer."""
    for module in (discreet, discreet.mechanisms, discreet.privacy, discreet.design, discreet.estimate):
        assert module.__doc__
        for name in module.__all__:
            if not name.startswith("__"):
                assert getattr(module, name).__doc__, name


def test_errors_form_one_family():
    """One except clause catches everything that discreet raises on purpose."""
    for name in discreet.errors.__all__:
        assert issubclass(getattr(discreet, name), discreet.DiscreetError)


@pytest.mark.parametrize("order", ["keep", "shuffle"])
def test_a_release_does_without_pandas(tmp_path, order):
    """Its import takes longer than the release of a small table; Arrow would load it for any list or array."""
    plan = {
        "output": {"order": order},
        "private": [{"columns": ["a"], "epsilon": 1.0}, {"columns": ["b"], "epsilon": 1.0}],
    }
    for block, domain in zip(plan["private"], ({"binary": [False, True]}, {"ordinal": ["x", "y", "z"]}), strict=True):
        block |= {"domain": domain, "mechanism": "randomized-response"}
    pq.write_table(pa.table({"a": [True, False] * 50, "b": ["x", "z"] * 50}), tmp_path / "in.parquet")
    code = (
        "import sys, discreet; from pathlib import Path; folder = Path(sys.argv[1])\n"
        f"discreet.release(folder / 'in.parquet', {plan!r}, folder / 'out.parquet', ledger=None)\n"
        "print('pandas' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
