"""What survey commands write: nothing that exists, nothing that they read, and codes only with their files."""

from __future__ import annotations

import csv
import os
import signal
import subprocess
import sys
from contextlib import closing

import pytest
import sqlalchemy as sa

from discreet import InputError, ReleaseError
from discreet.survey import Questionnaire
from discreet.survey.database import Database, digest
from discreet.survey.invitations import send_invitations
from tests.survey.conftest import discreet, written
from tests.survey.test_collector import INVITED, OPEN

WRITERS = {
    "page": ("page", "PLAN", "-o", "OUTPUT"),
    "sheet": ("check", "PLAN", "--sheet", "OUTPUT"),
    "instructions": ("instructions", "PLAN", "-o", "OUTPUT"),
}


def run(command, plan, output, *more):
    places = {"PLAN": plan, "OUTPUT": output}
    return discreet("survey", *(places.get(part, part) for part in command), *more)


def refused(done):
    assert done.returncode == 2, (done.stdout, done.stderr)
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr


@pytest.mark.parametrize("command", WRITERS.values(), ids=WRITERS)
def test_nothing_that_exists_is_overwritten_unasked(command, tmp_path):
    """The plan and the database never; other files with --overwrite; links never, wherever they lead."""
    plan, target, link = written(tmp_path, OPEN), tmp_path / "kept.html", tmp_path / "link.html"
    database, before = tmp_path / "survey.sqlite", plan.read_bytes()
    target.write_text("mine", encoding="utf-8")
    database.write_bytes(b"reports")
    link.symlink_to(target)
    for output in (plan, database):
        refused(run(command, plan, output))
        refused(run(command, plan, output, "--overwrite"))
    refused(run(command, plan, tmp_path / "x" / ".." / "survey.toml"))
    for arguments in ((target,), (link,), (link, "--overwrite"), (tmp_path,), (tmp_path / "none" / "x.html",)):
        refused(run(command, plan, *arguments))
    assert target.read_text() == "mine"
    assert (plan.read_bytes(), database.read_bytes()) == (before, b"reports")
    done = run(command, plan, target, "--overwrite")
    assert done.returncode == 0, done.stderr
    assert target.read_text().startswith("<!doctype html>")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "kept.html",
        "link.html",
        "survey.sqlite",
        "survey.toml",
    ]


def test_closing_writes_neither_over_the_plan_nor_over_the_database(tmp_path):
    """Also where --overwrite is given."""
    plan = written(tmp_path, OPEN, "survey.csv")
    for output in (plan, tmp_path / "survey.sqlite"):
        done = discreet("survey", "close", plan, "-o", output, "--overwrite")
        refused(done)
        assert "choose another name" in done.stderr


@pytest.mark.parametrize("content", [b"my notes", b"code,link\n", b"SQLite format 2\x00"])
def test_a_database_is_not_made_of_another_file(tmp_path, content):
    """Nor through a link, nor of a folder or a pipe."""
    survey = Questionnaire.read(written(tmp_path, OPEN))
    other, link, pipe = tmp_path / "notes.txt", tmp_path / "link.sqlite", tmp_path / "pipe.sqlite"
    other.write_bytes(content)
    link.symlink_to(tmp_path / "nowhere")
    os.mkfifo(pipe)
    for path in (other, link, pipe, tmp_path):
        with pytest.raises(InputError):
            Database(path).open(survey.design)
    assert other.read_bytes() == content
    assert not (tmp_path / "nowhere").exists()


def stored(path):
    """Digests of all codes in a database."""
    if not path.exists():
        return set()
    with closing(Database(path)) as database:
        if not sa.inspect(database.engine).has_table("discreet_invitations"):
            return set()
        with database.engine.connect() as connection:
            return {bytes(code) for (code,) in connection.execute(sa.select(database.tables.invitations.c.code))}


def listed(path):
    """Digests of all codes in a list."""
    with path.open(encoding="utf-8", newline="") as file:
        return {digest(row["code"]) for row in csv.DictReader(file)}


INVITE = """
import os, signal, sys
from pathlib import Path
from discreet.cli.app import app
step, folder, arguments = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
done = 0
def watch(event, given):
    global done
    writes = event == "open" and isinstance(given[2], int) and given[2] & (os.O_WRONLY | os.O_RDWR)
    changes = writes or event in {"os.rename", "os.link", "os.remove", "os.chmod", "os.mkdir"}
    if changes and str(given[0]).startswith(folder):
        if done == step:
            os.kill(os.getpid(), signal.SIGKILL)
        done += 1
sys.addaudithook(watch)
app(["survey", "invite", *arguments])
"""


def test_codes_and_their_files_belong_together_wherever_a_process_is_killed(tmp_path):
    """Killed before every file operation: a list holds stored codes only, and no stored code is lost."""
    survived = 0
    for step in range(60):
        folder = tmp_path / str(step)
        folder.mkdir()
        plan, out = written(folder, INVITED), folder / "out"
        arguments = [str(plan), "--count", "3", "--url", "https://a.example", "-o", str(out)]
        command = [sys.executable, "-c", INVITE, str(step), str(out), *arguments]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        codes, final = stored(folder / "survey.sqlite"), out / "invitations.csv"
        if final.exists():
            assert listed(final) == codes
            assert (out / "invitations.html").exists()
        elif codes:
            assert listed(out / ".discreet-invitations.csv.tmp") == codes
        if done.returncode != -signal.SIGKILL:
            assert done.returncode == 0, done.stderr
            survived += 1
            break
        again = discreet("survey", "invite", *arguments)
        assert again.returncode in (0, 2), again.stderr
        assert listed(final) == stored(folder / "survey.sqlite")
        left = sorted(path.name for path in out.iterdir() if not path.name.endswith(".lock"))
        assert left == ["invitations.csv", "invitations.html"]
        assert ("was completed" in again.stderr) == (
            bool(codes) and again.returncode == 2 and "exists" not in again.stderr
        )
    assert survived == 1
    assert step > 4


def test_no_code_is_stored_if_a_file_cannot_be_written_and_no_file_stays_without_codes(tmp_path, monkeypatch):
    """A file in the way, and a database that fails."""
    plan = written(tmp_path, INVITED)
    survey, out = Questionnaire.read(plan), tmp_path / "out"
    with closing(Database(tmp_path / "survey.sqlite")) as database:
        for taken in ("invitations.csv", "invitations.html"):
            out.mkdir()
            (out / taken).write_text("mine", encoding="utf-8")
            with pytest.raises(ReleaseError, match="exists"):
                send_invitations(survey, database, 3, "https://a.example", out)
            assert [path.name for path in out.iterdir()] == [taken]
            (out / taken).unlink()
            out.rmdir()
        monkeypatch.setattr(database, "add_codes", lambda codes: (_ for _ in ()).throw(ReleaseError("no")))
        with pytest.raises(ReleaseError, match="no"):
            send_invitations(survey, database, 3, "https://a.example", out)
        assert list(out.iterdir()) == []
    assert stored(tmp_path / "survey.sqlite") == set()
