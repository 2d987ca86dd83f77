"""The command line as a person uses it: every command, JSON, exit codes, and nothing left behind."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from discreet.cli.app import app

SECRET = "xyzzy-unspeakable"

PLAN = """
format = 1
title = "Campus honesty survey"
[budget]
epsilon = 3.0
rows_per_person = 1
[[public]]
columns = ["sex"]
[[private]]
columns = ["cheated"]
domain = { binary = ["no", "yes"] }
mechanism = "randomized-response"
epsilon = 1.0
[[private]]
columns = ["region"]
domain = { categorical = ["n", "s", "e", "w"] }
mechanism = "randomized-response"
epsilon = 2.0
"""


def discreet(*arguments, folder=None, env=None, timeout=120):
    """Run the installed command."""
    environment = os.environ | (env or {})
    return subprocess.run(
        [sys.executable, "-m", "discreet", *map(str, arguments)],
        check=False,
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment,
        timeout=timeout,
    )


@pytest.fixture
def survey(tmp_path):
    """A folder with a table and a plan."""
    n = 4000
    table = pa.table(
        {
            "sex": ["f", "m"] * (n // 2),
            "cheated": (["yes"] * 3 + ["no"] * 7) * (n // 10),
            "region": ["n", "s", "e", "w"] * (n // 4),
            "name": [f"{SECRET}-{i}" for i in range(n)],
        }
    )
    pq.write_table(table, tmp_path / "data.parquet")
    pyarrow.csv.write_csv(table, tmp_path / "data.csv")
    (tmp_path / "plan.toml").write_text(PLAN)
    return tmp_path


def test_the_whole_chain(survey):
    """plan, design, release, estimate, crosstab and audit follow each other, for both file formats."""
    skeleton = discreet("plan", "data.parquet", folder=survey)
    assert skeleton.returncode == 0
    assert "cheated" in skeleton.stdout
    assert SECRET not in skeleton.stdout
    designed = discreet("design", "plan.toml", "--rows", 4000, folder=survey)
    assert designed.returncode == 0
    assert "±" in designed.stdout
    assert "10 %" in designed.stdout
    for ending in ("parquet", "csv"):
        out = f"out.{ending}"
        released = discreet("release", f"data.{ending}", "plan.toml", "-o", out, "--no-ledger", folder=survey)
        assert released.returncode == 0, released.stderr
        assert "What is protected: one person" in released.stdout
        estimated = discreet("estimate", "frequencies", out, "cheated", "--by", "sex", folder=survey)
        assert estimated.returncode == 0, estimated.stderr
        assert "interval" in estimated.stdout
        fitted = discreet("estimate", "regression", out, "cheated ~ C(sex)", "--link", "probit", folder=survey)
        assert fitted.returncode == 0, fitted.stderr
        assert "P>|z|" in fitted.stdout
        crossed = discreet("estimate", "crosstab", out, "cheated", "region", folder=survey)
        assert crossed.returncode == 0, crossed.stderr
        audited = discreet("audit", out, "--attack", "--samples", 20000, folder=survey)
        assert audited.returncode == 0, audited.stdout
        assert SECRET.encode() not in (survey / out).read_bytes()


def test_json_everywhere(survey):
    """Every command can speak JSON, and estimates are close to the truth."""
    assert set(json.loads(discreet("plan", "data.csv", "--json", folder=survey).stdout)["columns"]) >= {"cheated"}
    designed = json.loads(discreet("design", "plan.toml", "--rows", 4000, "--json", folder=survey).stdout)
    assert designed["guarantee"]["epsilon"] <= 3
    checked = json.loads(discreet("release", "data.csv", "plan.toml", "--check", "--json", folder=survey).stdout)
    assert checked == checked | {"rows": 4000, "written": False}
    released = discreet("release", "data.csv", "plan.toml", "-o", "o.csv", "--json", "--no-ledger", folder=survey)
    assert json.loads(released.stdout)["manifest"]["rows"] == 4000
    frequencies = json.loads(discreet("estimate", "frequencies", "o.csv", "cheated", "--json", folder=survey).stdout)
    error = frequencies["std_error"][1]
    assert abs(frequencies["estimate"][1] - 0.3) < 7 * error
    crosstab = json.loads(discreet("estimate", "crosstab", "o.csv", "sex", "cheated", "--json", folder=survey).stdout)
    assert 0 <= crosstab["chi_square"]["p_value"] <= 1
    audited = json.loads(discreet("audit", "o.csv", "--json", folder=survey).stdout)
    assert audited["passed"] is True


def test_groups_by_several_columns(survey):
    """--by may be given again: one estimate for every combination, not for the last column alone."""
    plan = PLAN.replace('columns = ["sex"]', 'columns = ["sex", "term"]')
    (survey / "plan.toml").write_text(plan)
    table = pq.read_table(survey / "data.parquet")
    terms = pa.array(["autumn", "autumn", "spring", "spring"] * (table.num_rows // 4))
    pq.write_table(table.append_column("term", terms), survey / "data.parquet")
    discreet("release", "data.parquet", "plan.toml", "-o", "out.parquet", folder=survey)
    asked = ("estimate", "frequencies", "out.parquet", "cheated", "--by", "term", "--by", "sex")
    text = discreet(*asked, folder=survey)
    assert text.returncode == 0, text.stderr
    assert "4 groups" in text.stdout
    data = json.loads(discreet(*asked, "--json", folder=survey).stdout)
    assert data["by"] == ["term", "sex"]
    assert [group["group"] for group in data["groups"]][:2] == [["autumn", "f"], ["autumn", "m"]]


def test_json_of_a_regression_holds_the_intervals(survey):
    """At the level that was asked for, also side by side with the naive fit."""
    discreet("release", "data.parquet", "plan.toml", "-o", "out.parquet", folder=survey)
    asked = ("estimate", "regression", "out.parquet", "cheated ~ sex", "--json")
    narrow, wide = (json.loads(discreet(*asked, "--level", level, folder=survey).stdout) for level in (0.5, 0.99))
    assert (narrow["level"], wide["level"]) == (0.5, 0.99)
    for (low, high), (lower, higher) in zip(narrow["interval"], wide["interval"], strict=True):
        assert lower < low < high < higher
    assert wide["modelled"] == 'P(cheated = "yes")'
    both = json.loads(discreet(*asked, "--compare", "--level", 0.5, folder=survey).stdout)
    assert both["level"] == 0.5


def test_a_formula_may_come_before_its_file(survey):
    """Either order gives the same fit; the family and the method are options."""
    discreet("release", "data.parquet", "plan.toml", "-o", "out.parquet", "--no-ledger", folder=survey)
    options = ("--family", "binary", "--method", "likelihood", "--json")
    one = discreet("estimate", "regression", "out.parquet", "cheated ~ sex", *options, folder=survey)
    other = discreet("estimate", "regression", "cheated ~ sex", "out.parquet", *options, folder=survey)
    assert one.returncode == 0, one.stderr
    assert one.stdout == other.stdout


def test_a_penalised_fit_by_name(survey):
    """--penalty firth is said in the table and in JSON; another name is refused with exit code 2."""
    discreet("release", "data.csv", "plan.toml", "-o", "o.csv", "--no-ledger", folder=survey)
    fitted = discreet("estimate", "regression", "o.csv", "cheated ~ sex", "--penalty", "firth", folder=survey)
    assert fitted.returncode == 0, fitted.stderr
    assert "Firth's penalty" in fitted.stdout
    told = discreet("estimate", "regression", "o.csv", "cheated ~ sex", "--penalty", "firth", "--json", folder=survey)
    assert json.loads(told.stdout)["penalty"] == "firth"
    refused = discreet("estimate", "regression", "o.csv", "cheated ~ sex", "--penalty", "ridge", folder=survey)
    assert refused.returncode == 2
    assert 'penalty must be "firth"' in refused.stderr


def test_pictures_are_drawn_on_request(survey):
    """Every estimate can be drawn beside its table; an unknown kind of picture is refused."""
    discreet("release", "data.csv", "plan.toml", "-o", "o.csv", "--no-ledger", folder=survey)
    drawn = discreet("estimate", "frequencies", "o.csv", "region", "--plot", "f.png", folder=survey)
    forest = discreet("estimate", "regression", "o.csv", "cheated ~ sex", "--compare", "--plot", "g.svg", folder=survey)
    alone = discreet("estimate", "regression", "o.csv", "cheated ~ sex", "--plot", "h.png", folder=survey)
    crossed = discreet("estimate", "crosstab", "o.csv", "cheated", "region", "--plot", "i.png", folder=survey)
    refused = discreet("estimate", "frequencies", "o.csv", "region", "--plot", "f.bmp", folder=survey)
    assert "coef" in alone.stdout
    assert "region = " in crossed.stdout
    assert (survey / "h.png").exists()
    assert (survey / "i.png").exists()
    assert drawn.returncode == forest.returncode == 0, drawn.stderr + forest.stderr
    assert (survey / "f.png").stat().st_size > 5000
    assert "naive" in forest.stdout
    assert (survey / "g.svg").exists()
    assert refused.returncode == 2
    assert ".bmp" in refused.stderr


def test_check_writes_nothing(survey):
    """--check validates every row and leaves the folder as it was."""
    before = sorted(p.name for p in survey.iterdir())
    done = discreet("release", "data.csv", "plan.toml", "--check", folder=survey)
    assert done.returncode == 0
    assert "Nothing was written" in done.stdout
    assert sorted(p.name for p in survey.iterdir()) == before


def test_the_ledger_warns_when_the_same_truth_is_released_again(survey):
    """The second release of a file warns on standard error, and still works."""
    first = discreet("release", "data.csv", "plan.toml", "-o", "a.csv", "--ledger", "book.jsonl", folder=survey)
    second = discreet("release", "data.csv", "plan.toml", "-o", "b.csv", "--ledger", "book.jsonl", folder=survey)
    assert "warning" not in first.stderr
    assert "warning" in second.stderr
    assert second.returncode == 0
    assert SECRET.encode() not in (survey / "book.jsonl").read_bytes()


BAD = {
    "no such file": (["release", "nothing.csv", "plan.toml", "-o", "o.csv"], "nothing.csv"),
    "no such plan": (["release", "data.csv", "nothing.toml", "-o", "o.csv"], "nothing.toml"),
    "no output": (["release", "data.csv", "plan.toml"], "-o"),
    "output exists": (["release", "data.csv", "plan.toml", "-o", "data.parquet"], "overwrite"),
    "input is output": (
        ["release", "data.csv", "plan.toml", "-o", "data.csv", "--overwrite"],
        "the output is the input",
    ),
    "unknown ending": (["release", "data.csv", "plan.toml", "-o", "o.xlsx"], "xlsx"),
    "not a release": (["estimate", "frequencies", "data.parquet", "cheated"], "manifest"),
    "plan that exists": (["plan", "data.csv", "-o", "plan.toml"], "overwrite"),
    "plan over its data": (["plan", "data.csv", "-o", "data.csv", "--overwrite"], "the output is the input"),
    "plan into no folder": (["plan", "data.csv", "-o", "nodir/p.toml"], "nodir"),
    "level": (["design", "plan.toml", "--rows", "100", "--level", "2"], "level"),
    "rows missing": (["design", "plan.toml"], "--rows"),
    "rows zero": (["design", "plan.toml", "--rows", "0"], "--rows"),
    "unknown link": (["estimate", "regression", "data.parquet", "cheated ~ sex", "--link", "x"], "manifest"),
    "unknown command": (["divine", "x"], "divine"),
    "unknown option": (["design", "plan.toml", "--rows", "3", "--colour"], "colour"),
}


@pytest.mark.parametrize("case", list(BAD))
def test_bad_calls_get_one_clear_sentence_and_exit_code_2(survey, case):
    """What is wrong, on standard error; no traceback; nothing written."""
    arguments, expected = BAD[case]
    before = {p.name: p.stat().st_mtime_ns for p in survey.iterdir()}
    done = discreet(*arguments, folder=survey)
    assert done.returncode == 2, done.stderr
    assert expected in done.stderr
    assert "Traceback" not in done.stderr
    assert {p.name: p.stat().st_mtime_ns for p in survey.iterdir()} == before


BAD_PLANS = {
    "unknown column": (PLAN.replace('"cheated"', '"cheeted"'), "cheeted"),
    "epsilon zero": (PLAN.replace("epsilon = 1.0", "epsilon = 0"), "private[0].epsilon"),
    "epsilon infinite": (PLAN.replace("epsilon = 1.0", "epsilon = inf"), "private[0].epsilon"),
    "epsilon too large": (
        PLAN.replace("epsilon = 3.0", "epsilon = 900").replace("epsilon = 1.0", "epsilon = 800"),
        "too large",
    ),
    "delta": (PLAN.replace("epsilon = 1.0", "epsilon = 1.0\ndelta = 1.5"), "delta"),
    "budget": (PLAN.replace("epsilon = 3.0", "epsilon = 2.5"), "budget"),
    "duplicate column": (PLAN.replace('["region"]', '["cheated"]'), "cheated"),
    "malformed": (PLAN + "\n[[private]\n", "TOML"),
    "unknown key": (PLAN.replace("title", "titel"), "titel"),
    "newer format": (PLAN.replace("format = 1", "format = 2"), "format"),
    "value outside the domain": (PLAN.replace('["n", "s", "e", "w"]', '["n", "s", "e"]'), 'column "region", row 3'),
    "mechanism for another domain": (
        PLAN.replace('"randomized-response"\nepsilon = 2', '"bipartite"\nepsilon = 2'),
        "order or a distance",
    ),
}


@pytest.mark.parametrize("case", list(BAD_PLANS))
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_bad_plans_get_one_clear_sentence_and_leave_nothing(survey, case, ending):
    """Every mistake in a plan is named by its key path or column, for both formats."""
    text, expected = BAD_PLANS[case]
    (survey / "plan.toml").write_text(text)
    before = sorted(p.name for p in survey.iterdir())
    done = discreet("release", f"data.{ending}", "plan.toml", "-o", f"o.{ending}", "--no-ledger", folder=survey)
    assert done.returncode == 2, done.stderr
    assert expected in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert sorted(p.name for p in survey.iterdir()) == before


def test_an_offending_value_is_shown_only_on_request(survey):
    """--show-values prints it on the terminal; nothing else does."""
    plan = PLAN.replace('columns = ["region"]\ndomain = { categorical = ["n", "s", "e", "w"] }',
                        'columns = ["name"]\ndomain = { categorical = ["n", "s"] }')  # fmt: skip
    (survey / "plan.toml").write_text(plan)
    quiet = discreet("release", "data.csv", "plan.toml", "-o", "o.csv", folder=survey)
    loud = discreet("release", "data.csv", "plan.toml", "-o", "o.csv", "--show-values", folder=survey)
    assert quiet.returncode == loud.returncode == 2
    assert SECRET not in quiet.stderr
    assert "--show-values shows it on this terminal, --check counts all that do not fit" in quiet.stderr
    assert f"{SECRET}-0" in loud.stderr


def test_a_check_lists_what_does_not_fit_column_by_column(survey):
    """A line for each column, what may be done about it, and the same as data; values only on request."""
    plan = PLAN.replace('["no", "yes"]', '["No", "YES"]').replace('["n", "s", "e", "w"]', '["n", "s"]')
    (survey / "plan.toml").write_text(plan)
    quiet = discreet("release", "data.csv", "plan.toml", "--check", folder=survey)
    first, *listed, last = quiet.stderr.splitlines()
    assert (quiet.returncode, quiet.stdout) == (2, "")
    assert first == f"error: {len(listed)} private columns do not fit the plan:"
    assert [line.split('"')[1] for line in listed] == ["cheated", "region"]
    assert "differ from a declared value in capitals or spaces only" in listed[0]
    assert "--show-values shows the first such value of each column" in last
    loud = discreet("release", "data.csv", "plan.toml", "--check", "--show-values", folder=survey)
    assert re.findall(r"\(the value is '(\w+)'\)", loud.stderr) == ["yes", "e"], loud.stderr
    data = json.loads(discreet("release", "data.csv", "plan.toml", "--check", "--json", folder=survey).stdout)
    assert not data["written"]
    assert [one["column"] for one in data["violations"]] == ["cheated", "region"]
    assert all(set(one) == {"column", "rows", "at_least", "first_row", "problem", "near"} for one in data["violations"])


def test_a_tampered_release_is_noticed(survey):
    """A released CSV that was edited does not match its digest any more."""
    discreet("release", "data.csv", "plan.toml", "-o", "o.csv", "--no-ledger", folder=survey)
    path = survey / "o.csv"
    path.write_text(path.read_text().replace("yes", "no", 1))
    done = discreet("audit", "o.csv", folder=survey)
    assert done.returncode == 2
    assert "digest" in done.stderr or "match" in done.stderr


def test_an_audit_that_fails_has_its_own_exit_code(survey):
    """A manifest that states less ε than its integers give is caught: exit code 3."""
    discreet("release", "data.csv", "plan.toml", "-o", "o.csv", "--no-ledger", folder=survey)
    path = survey / "o.csv.manifest.json"
    manifest = json.loads(path.read_text())
    manifest["blocks"][0]["guarantee"]["epsilon"] = 0.5
    manifest["guarantee"]["epsilon"] = 2.5
    path.write_text(json.dumps(manifest))
    done = discreet("audit", "o.csv", folder=survey)
    assert done.returncode == 3, done.stderr
    assert "less private than stated" in done.stdout


def test_interrupting_a_release_leaves_nothing_behind(tmp_path):
    """Ctrl-C in the middle: exit code 130, no partial output, no temporary file."""
    (tmp_path / "plan.toml").write_text(PLAN)
    code = textwrap.dedent(
        """
        import os, signal, sys
        import pyarrow as pa
        from discreet.cli.terminal import command
        import discreet

        @command
        def run():
            def stop(rows):
                os.kill(os.getpid(), signal.SIGINT)
            table = pa.table({"sex": ["f"] * 3000000, "cheated": ["no"] * 3000000, "region": ["n"] * 3000000})
            discreet.release(table, "plan.toml", "out.csv", progress=stop)
        import typer
        typer.run(run)
        """
    )
    done = subprocess.run(
        [sys.executable, "-c", code], check=False, cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 130, done.stderr
    assert "interrupted" in done.stderr
    assert sorted(p.name for p in tmp_path.iterdir()) == ["plan.toml"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_an_environment_error(survey, monkeypatch, capsys):
    """No space for the plan: exit code 1, one sentence, and no file; a device in its place is a wrong name."""

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(SystemExit) as left:
        app(["plan", str(survey / "data.csv"), "-o", str(survey / "full.toml")])
    assert left.value.code == 1
    assert "No space left" in capsys.readouterr().err
    assert not (survey / "full.toml").exists()
    done = discreet("plan", "data.csv", "-o", "/dev/full", "--overwrite", folder=survey)
    assert done.returncode == 2
    assert "not an ordinary file" in done.stderr


def test_help_teaches(survey):
    """Every command explains itself."""
    for arguments in (
        [],
        ["plan"],
        ["design"],
        ["release"],
        ["estimate"],
        ["estimate", "frequencies"],
        ["audit"],
        ["demo"],
    ):
        done = discreet(*arguments, "--help", folder=survey)
        assert done.returncode == 0
        assert len(done.stdout) > 300
    assert discreet("--version").stdout.startswith("discreet 0.")


def test_the_demo(tmp_path):
    """The demo runs, draws its picture, and its corrected estimate is near the truth."""
    done = discreet("demo", "--json", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    overall = json.loads(done.stdout)["prevalence"][0]
    assert abs(overall["corrected"] - overall["truth"]) < 7 * overall["std_error"]
    assert abs(overall["naive"] - overall["truth"]) > 0.05
    assert (tmp_path / "demo" / "prevalence.png").read_bytes().startswith(b"\x89PNG")
    again = discreet("demo", folder=tmp_path)
    assert again.returncode == 2
    assert "--overwrite" in again.stderr
    (tmp_path / "demo" / "mine.txt").write_text("keep me")
    kept = discreet("demo", "--overwrite", folder=tmp_path)
    assert kept.returncode == 2
    assert (tmp_path / "demo" / "mine.txt").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="a setting of Linux")
@pytest.mark.parametrize(("command", "batch"), [("release", True), ("show", False)])
def test_a_release_is_batch_work(command, batch):
    """Linux is told so, and only of commands that calculate on all cores."""
    code = f"import os, sys; sys.argv = ['discreet', '{command}', '--help']\nfrom discreet.cli import main\n"
    code += "try:\n    main()\nexcept SystemExit:\n    print(os.sched_getscheduler(0) == os.SCHED_BATCH)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == str(batch)
