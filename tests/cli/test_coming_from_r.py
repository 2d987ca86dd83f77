"""The page for users of R: its commands run as they are written, on a file as R writes it."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from discreet.cli.app import app

PAGE = (Path(__file__).parents[2] / "docs" / "coming_from_r.md").read_text()
COMMANDS = re.findall(r"^discreet .*$", PAGE, re.MULTILINE)[:10]
PLAN = re.search(r"```toml\n(.*?)```", PAGE, re.DOTALL)[1]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A data frame written by write.csv: dots in names, NA, factors as text, text in quotes."""
    rng = np.random.default_rng(6)
    n = 3_000
    age, female = rng.integers(18, 70, n), rng.random(n) < 0.5
    carrier = rng.random(n) < 1 / (1 + np.exp(-(-2 + 0.03 * age)))
    same = carrier == (rng.random(n) < 0.25)
    home = tmp_path_factory.mktemp("from_r")
    lines = ['"rr.q1","cov.age","cov.sex","group"']
    for i in range(n):
        lines.append(
            f'{int(same[i])},{"NA" if i % 50 == 0 else age[i]},"{"female" if female[i] else "male"}",{1 + i % 2}'
        )
    (home / "survey.csv").write_text("\n".join(lines) + "\n")
    (home / "plan.toml").write_text(PLAN)
    return home


def test_the_first_ten_commands_run_as_they_are_written(folder, monkeypatch):
    """In the order of the page, in one folder."""
    monkeypatch.chdir(folder)
    assert len(COMMANDS) == 10
    run, said = CliRunner(), {}
    for line in COMMANDS:
        done = run.invoke(app, shlex.split(line)[1:])
        assert done.exit_code == 0, f"{line}\n{done.output}"
        said[line] = done.output
    assert "60" in next(text for line, text in said.items() if "--missing drop" in line)  # rows with NA, counted
    assert "P(rr.q1" in next(text for line, text in said.items() if "regression" in line)


def test_true_answers_are_not_collected(folder, monkeypatch):
    """They are to be randomised first; and an answer that no design gives is shown, for it is no secret."""
    monkeypatch.chdir(folder)
    (folder / "true.toml").write_text(
        '[[private]]\ncolumns = ["rr.q1"]\ndomain = { binary = ["0", "1"] }\n'
        'mechanism = "randomized-response"\nepsilon = 1.0\n'
    )
    refused = CliRunner().invoke(app, ["collect", "survey.csv", "true.toml", "-o", "x.parquet"])
    assert refused.exit_code == 2
    assert "collected = true" in refused.output
    (folder / "odd.csv").write_text("rr.q1,cov.age,cov.sex\n0,1,f\nmaybe,2,m\n")
    odd = CliRunner().invoke(app, ["collect", "odd.csv", "plan.toml", "-o", "y.parquet"])
    assert odd.exit_code == 2
    assert "maybe" in odd.output
    assert not (folder / "y.parquet").exists()
