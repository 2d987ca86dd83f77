"""Keys, signing and checking on the command line."""

from __future__ import annotations

import json

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from discreet.cli.app import app
from tests.manifest.conftest import TABLE

PLAN = """
[[private]]
columns = ["cheated"]
domain = { binary = ["no", "yes"] }
mechanism = "randomized-response"
epsilon = 1.0
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Commands in a folder with a table and a plan."""
    monkeypatch.chdir(tmp_path)
    pq.write_table(TABLE, "data.parquet")
    (tmp_path / "plan.toml").write_text(PLAN)

    def call(*arguments, code=0, **more):
        done = CliRunner().invoke(app, [str(argument) for argument in arguments], **more)
        assert done.exit_code == code, done.output
        return done

    return call


def test_sign_and_check(run):
    """A new key, release --sign, audit --key; an unsigned release fails that audit with its own exit code."""
    made = run("keys", "new", "steward.pem")
    assert "audit out.parquet --key steward.public.pem" in made.stdout
    run("release", "data.parquet", "plan.toml", "-o", "out.parquet", "--sign", "steward.pem", "--no-ledger")
    checked = run("audit", "out.parquet", "--key", "steward.public.pem")
    assert "OK        signature: the manifest is as the holder of the given key" in checked.stdout
    assert "Not checked" not in checked.stdout
    run("release", "data.parquet", "plan.toml", "-o", "plain.parquet", "--no-ledger")
    assert (
        "FAILURE   signature: there is none"
        in run("audit", "plain.parquet", "--key", "steward.public.pem", code=3).stdout
    )
    data = json.loads(run("audit", "plain.parquet", "--json").stdout)
    assert (data["passed"], data["unchecked"]) == (True, ["signature"])


def test_a_key_is_not_overwritten(run):
    """Exit code 2 and one sentence."""
    run("keys", "new", "k.pem")
    assert "exists already" in run("keys", "new", "k.pem", code=2).stderr


def test_an_encrypted_key_asks_the_environment(run, monkeypatch):
    """Made with a prompt, used with the variable; without either, exit code 2 before anything is read."""
    run("keys", "new", "k.pem", "--passphrase", input="open sesame\nopen sesame\n")
    refused = run("release", "data.parquet", "plan.toml", "-o", "o.parquet", "--sign", "k.pem", code=2)
    assert "DISCREET_KEY_PASSPHRASE" in refused.stderr
    monkeypatch.setenv("DISCREET_KEY_PASSPHRASE", "open sesame")
    run("release", "data.parquet", "plan.toml", "-o", "o.parquet", "--sign", "k.pem", "--no-ledger")
    run("audit", "o.parquet", "--key", "k.public.pem")
