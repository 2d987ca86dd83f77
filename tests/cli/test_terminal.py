"""What somebody at a terminal sees: progress on its own line, warnings above it, tables whatever becomes of plots."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
import time

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet import Plan, Randomness, release

PLAN = """
format = 1
[[public]]
columns = ["age"]
[[private]]
columns = ["cheated"]
domain = { binary = ["no", "yes"] }
mechanism = "randomized-response"
epsilon = 1.0
[[private]]
columns = ["bmi"]
domain = { box = { low = [12], high = [60] } }
mechanism = "zero-inflated-laplace"
epsilon = 1.0
delta = 0.1
clip = true
"""

ROWS = 60_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    where = tmp_path_factory.mktemp("terminal")
    table = pa.table(
        {
            "age": [20 + i % 40 for i in range(ROWS)],
            "cheated": [("no", "yes")[i % 3 == 0] for i in range(ROWS)],
            "bmi": [10.0 + i % 45 for i in range(ROWS)],
        }
    )
    pq.write_table(table, where / "data.parquet", row_group_size=5_000)
    (where / "plan.toml").write_text(PLAN)
    release(table, Plan.parse(PLAN.replace("clip = true", "").replace("low = [12]", "low = [10]")),
            where / "out.parquet", Randomness.seeded(1))  # fmt: skip
    return where


def at_a_terminal(folder, *words: str, **variables: str) -> tuple[int, str, str]:
    """Run a command whose standard error is a terminal: exit code, standard output, and all that the terminal got."""
    primary, secondary = pty.openpty()
    environment = os.environ | {"TERM": "xterm-256color", "COLUMNS": "120", "XDG_STATE_HOME": str(folder / "state")}
    environment = {name: value for name, value in environment.items() if name != "JPY_PARENT_PID"} | variables
    command = [sys.executable, "-m", "discreet", *words]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=secondary, cwd=folder, env=environment)
    os.close(secondary)
    seen, deadline = b"", time.monotonic() + 120
    while time.monotonic() < deadline:
        ready, _, _ = select.select([primary], [], [], 0.1)
        if ready:
            try:
                part = os.read(primary, 65536)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            seen += part
        elif process.poll() is not None:
            break
    out, _ = process.communicate(timeout=60)
    os.close(primary)
    return process.returncode, out.decode(), seen.decode()


def lines_of(screen: str) -> list[str]:
    """What stood on each line when the cursor left it; what was erased before is gone."""
    lines = []
    for line in screen.replace("\r\n", "\n").split("\n"):
        left = re.split(r"\x1b\[2K", line)[-1].split("\r")[-1]
        lines.append(re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", left))
    return lines


def test_warnings_stand_above_the_line_of_progress(folder):
    """Both a release before and clipped numbers are told while the bar is there: each on a line of its own."""
    first = at_a_terminal(folder, "release", "data.parquet", "plan.toml", "-o", "one.parquet")
    assert first[0] == 0, first
    code, _, screen = at_a_terminal(folder, "release", "data.parquet", "plan.toml", "-o", "two.parquet")
    assert code == 0
    assert "releasing" in screen  # the bar was shown
    told = [line for line in lines_of(screen) if "warning:" in line]
    assert len(told) == 2
    assert all(line.startswith("warning: ") and "releasing" not in line and "rows/" not in line for line in told)
    assert any("this table was released once before" in line for line in told)
    assert any("numbers outside the box" in line for line in told)


def test_fits_say_that_they_are_at_work(folder):
    """A fit shows that it goes on and for how long, on standard error only; the table is all that is printed."""
    code, out, screen = at_a_terminal(folder, "estimate", "regression", "out.parquet", "cheated ~ age")
    assert code == 0
    assert "fitting" in screen
    assert re.search(r"\d:\d\d:\d\d", screen)
    assert "fitting" not in out
    assert "Logit regression" in out
    for words in (["frequencies", "out.parquet", "cheated"], ["mean", "out.parquet", "bmi"]):
        code, out, screen = at_a_terminal(folder, "estimate", *words)
        assert (code, "estimating" in screen, "estimate" in out) == (0, True, True)


@pytest.mark.parametrize("variables", [{"TERM": "dumb"}, {"JPY_PARENT_PID": "1"}])
def test_nothing_is_written_over_where_it_would_be_kept(folder, variables):
    """A notebook's shell is a terminal too, and keeps every line of progress: there is none, and warnings stay."""
    first = at_a_terminal(folder, "release", "data.parquet", "plan.toml", "-o", f"{variables!s}.parquet", **variables)
    assert first[0] == 0
    assert "releasing" not in first[2]
    assert "warning: " in first[2]
    assert at_a_terminal(folder, "estimate", "mean", "out.parquet", "bmi", **variables)[2] == ""


@pytest.mark.parametrize(
    ("words", "picture", "code"),
    [
        (["frequencies", "out.parquet", "cheated"], "p.png", 0),
        (["frequencies", "out.parquet", "cheated"], "p.txt", 2),
        (["frequencies", "out.parquet", "cheated"], "nowhere/p.png", 2),
        (["mean", "out.parquet", "bmi"], "p.txt", 2),
        (["quantile", "out.parquet", "age"], "p.txt", 2),
        (["crosstab", "out.parquet", "cheated", "age"], "p.txt", 2),
        (["regression", "out.parquet", "cheated ~ age"], "p.txt", 2),
        (["regression", "out.parquet", "cheated ~ age", "--compare"], "p.txt", 2),
    ],
)
def test_a_picture_never_withholds_the_table(folder, words, picture, code):
    """The table is printed whether the picture can be drawn or not; the exit code says which."""
    done, out, screen = at_a_terminal(folder, "estimate", *words, "--plot", picture)
    assert done == code, screen
    assert any(word in out for word in ("estimate", "coef", "95 % interval"))
    assert out.count("\n") > 3
    assert (folder / picture).exists() == (code == 0)
    assert ("error: " in screen) == (code == 2)
    (folder / picture).unlink(missing_ok=True)


def test_a_picture_of_power_never_withholds_the_table(folder):
    """The same for the curves of discreet design."""
    code, out, _ = at_a_terminal(folder, "design", "plan.toml", "--rows", "1000", "--power-plot", "p.txt")
    assert code == 2
    assert "Power, 0.1 against 0.15" in out
