"""Run every tutorial from the built wheel, each in an environment of its own: ``make tutorials``.

A tutorial may use nothing that its page does not show: the environment holds the wheel and what it depends on, the
folder is empty, and cells are run in the order of the page. Lines that start with ``!`` are typed into a shell.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

HERE = Path(__file__).parent
#: A cell of code, without the tags that say how its results are shown.
CELL = re.compile(r"```\{code-cell\}[^\n]*\n(?::tags:[^\n]*\n)?(.*?)```", re.DOTALL)
#: What a reader is promised: five minutes of machine time.
MOST_SECONDS = 300


def script(page: Path) -> str:
    """The cells of a page as one program; the last expression of a cell is printed, as a notebook shows it."""
    parts = ["import subprocess as _shell"]
    for cell in CELL.findall(page.read_text()):
        lines = [f"_shell.run({line[1:]!r}, shell=True, check=True)" if line.startswith("!") else line
                 for line in cell.splitlines()]  # fmt: skip
        tree = ast.parse("\n".join(lines))
        if tree.body and isinstance(tree.body[-1], ast.Expr) and not cell.rstrip().endswith(";"):
            shown = ast.unparse(tree.body.pop())
            parts += [ast.unparse(tree), f"print({shown})"]
        else:
            parts.append(ast.unparse(tree))
    return "\n".join(parts)


def build_wheel(folder: Path) -> Path:
    """The package as users get it."""
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--wheel-dir",
        str(folder),
        str(HERE.parent),
    ]
    subprocess.run(command, check=True)
    return next(folder.glob("discreet-*.whl"))


def run(page: Path, wheel: Path, folder: Path) -> float:
    """Make an environment, install the wheel, run the page; the seconds that the page itself took."""
    home = folder / page.stem
    venv.create(home / "environment", with_pip=True)
    binaries = home / "environment" / "bin"
    subprocess.run([binaries / "python", "-m", "pip", "install", "--quiet", str(wheel)], check=True)
    work = home / "work"
    work.mkdir()
    (home / "tutorial.py").write_text(script(page))
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "DISCREET"))}
    environment = kept | {"PATH": f"{binaries}:{os.environ['PATH']}", "MPLBACKEND": "agg", "XDG_STATE_HOME": str(home)}
    started = time.monotonic()
    subprocess.run([binaries / "python", home / "tutorial.py"], cwd=work, env=environment, check=True,
                   stdout=subprocess.DEVNULL, timeout=MOST_SECONDS)  # fmt: skip
    return time.monotonic() - started


def check_types(wheel: Path, folder: Path) -> None:
    """A strict type checker must find the types in the wheel, and accept a user's program."""
    home = folder / "types"
    venv.create(home, with_pip=True)
    python = home / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", str(wheel), "mypy"], check=True)
    program = HERE.parent / "tests" / "typing" / "user_program.py"
    subprocess.run(
        [python, "-m", "mypy", "--strict", "--cache-dir", str(home / "cache"), str(program)], cwd=home, check=True
    )


def main() -> None:
    """Run all tutorials and check the types, or run the tutorials that are named."""
    named = sys.argv[1:]
    pages = [page for page in sorted((HERE / "tutorials").glob("*.md")) if CELL.search(page.read_text())]
    with tempfile.TemporaryDirectory(prefix="discreet-tutorials-") as folder:
        wheel = build_wheel(Path(folder))
        chosen = [page for page in pages if not named or page.stem in named]
        for page in chosen:
            print(f"{page.stem}: {run(page, wheel, Path(folder)):.0f} seconds", flush=True)
        if not named:
            check_types(wheel, Path(folder))
    print(f"{len(chosen) + (not named)} passed, 0 failed")


if __name__ == "__main__":
    main()
