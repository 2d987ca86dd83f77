"""Standard output that cannot take the result: no release is made twice because its description was not printed."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet import Randomness, Release, release

PLAN = """
format = 1
title = "Größe → τίτλος"
[[public]]
columns = ["é"]
[[private]]
columns = ["x→y"]
domain = { binary = ["nö", "yes"] }
mechanism = "randomized-response"
epsilon = 1.0
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    where = tmp_path_factory.mktemp("streams")
    pq.write_table(pa.table({"é": list(range(60)), "x→y": ["nö", "yes"] * 30}), where / "data.parquet")
    (where / "plan.toml").write_text(PLAN, encoding="utf-8")
    (where / "collect.toml").write_text(
        PLAN.replace('mechanism = "randomized-response"\nepsilon = 1.0', "collected = true\nwarner = 0.7"),
        encoding="utf-8",
    )
    release(where / "data.parquet", where / "plan.toml", where / "there", Randomness.seeded(1), ledger=None)
    return where


def run(folder, words: str, output: str = "whole", encoding: str = "utf-8") -> subprocess.CompletedProcess[bytes]:
    """A command whose standard output is whole, closed, on a full disk, or a pipe that nobody reads."""
    environment = os.environ | {"XDG_STATE_HOME": str(folder / "state"), "PYTHONIOENCODING": encoding}
    command = [sys.executable, "-m", "discreet", *words.split()]
    if output == "closed":
        command = ["bash", "-c", 'exec "$@" >&-', "bash", *command]
    reader, writer = os.pipe()
    os.close(reader)
    try:
        with open(os.devnull if output == "closed" else "/dev/full", "wb") as full:
            stdout = {"whole": subprocess.PIPE, "pipe": writer}.get(output, full)
            return subprocess.run(
                command, check=False, cwd=folder, env=environment, stdout=stdout, stderr=subprocess.PIPE
            )
    finally:
        os.close(writer)


EFFECTS = {
    "release data.parquet plan.toml -o NEW.parquet": "NEW.parquet",
    "release data.parquet plan.toml -o NEW.csv --json --no-ledger": "NEW.csv",
    "release data.parquet plan.toml -o NEW": "NEW",
    "release data.parquet plan.toml -o there --append": "there",
    "collect data.parquet collect.toml -o NEW.parquet": "NEW.parquet",
    "keys new NEW.pem": "NEW.pem",
    "plan data.parquet -o NEW.toml": "NEW.toml",
}


@pytest.mark.parametrize("output", ["closed", "full", "pipe"])
@pytest.mark.parametrize("words", EFFECTS)
def test_what_was_made_is_said_where_the_result_cannot_be_printed(folder, tmp_path, words, output):
    """One sentence on standard error names what was made, exit code 1, and it is there and complete."""
    made = EFFECTS[words].replace("NEW", str(tmp_path / "new"))
    rows = Release.open(folder / "there").rows if made == "there" else 0
    done = run(folder, words.replace("NEW", str(tmp_path / "new")), output)
    said = [line for line in done.stderr.decode().splitlines() if not line.startswith("warning: ")]
    assert done.returncode == 1
    assert len(said) == 1
    assert said[0].startswith("error: the ")
    assert f'"{made}"' in said[0]
    assert said[0].endswith("do not repeat the command")
    if words.startswith(("release", "collect")):
        assert Release.open(folder / made).rows == rows + 60
    else:
        assert (folder / made).exists()


@pytest.mark.parametrize("words", ["show there", "audit there --json", "--version", "release --help"])
def test_a_text_that_cannot_be_printed_is_one_sentence(folder, words):
    """Without an effect the failure is that of the machine; nobody is told that something was made."""
    done = run(folder, words, "full")
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert b"could not be printed (No space left on device)" in done.stderr
    assert run(folder, words, "pipe").returncode == 1


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_an_encoding_that_lacks_letters_gets_escapes(folder, tmp_path, encoding):
    """A release is made and told with exit code 0; JSON stays JSON, and reads back the same."""
    done = run(folder, f"release data.parquet plan.toml -o {tmp_path / 'out.parquet'} --no-ledger", encoding=encoding)
    assert done.returncode == 0, done.stderr
    assert b"\\u03b5 = 1" in done.stdout  # ε
    shown = run(folder, f"show {tmp_path / 'out.parquet'} --json", encoding=encoding)
    assert json.loads(shown.stdout.decode(encoding))["title"] == "Größe → τίτλος"
    assert run(folder, "show none→.parquet", encoding=encoding).returncode == 2
