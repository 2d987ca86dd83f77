"""What a stranger can lay beside a table, into a plan or into a key's place: an answer in a sentence, at once."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from discreet import ManifestError, Plan, Release, ReleaseError, release
from discreet.audit import audit
from discreet.cli.app import app
from discreet.errors import InputError, PlanError, SystemFailureError
from discreet.manifest.digest import CellForm, ContentDigest
from discreet.manifest.signature import PublicKey, SigningKey, new_keys
from discreet.plots import checked_picture
from discreet.publish import Ledger
from tests.publish.conftest import plan_of
from tests.security.conftest import bounded
from tests.security.examples import PLAN

SMALL = pa.table({"cheated": ["no", "yes", "no", "no"]})


@pytest.fixture
def keys(tmp_path):
    return new_keys(tmp_path / "steward.pem")


@pytest.fixture
def out(tmp_path, keys):
    """A signed release in CSV."""
    (tmp_path / "out").mkdir()
    path = tmp_path / "out" / "out.csv"
    release(SMALL, plan_of(), path, signing_key=keys[0])
    return path


def beside(path: Path) -> tuple[Path, Path]:
    """Where the manifest of a table lies, and where it waits."""
    return path.with_name(path.name + ".manifest.json"), path.with_name(f".discreet-{path.name}.manifest")


def lay(kind: str, path: Path) -> None:
    path.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")


@pytest.mark.parametrize("kind", ["pipe", "endless device"])
@pytest.mark.parametrize("place", [0, 1])
def test_pipes_and_devices_beside_a_table_are_refused(out, kind, place):
    """Archives and repositories can hold them: opening waits for none and reads none to its end."""
    lay(kind, beside(out)[place])
    with bounded(10), pytest.raises(ReleaseError, match="not an ordinary file"):
        Release.open(out)


@pytest.mark.parametrize("kind", ["pipe", "endless device"])
def test_pipes_and_devices_are_never_replaced_by_a_manifest(out, kind):
    """What stands where the manifest must go is not read to its end, and stays."""
    lay(kind, beside(out)[0])
    with bounded(10), pytest.raises(ReleaseError, match="not a manifest"):
        release(SMALL, plan_of(), out, overwrite=True)
    assert os.path.lexists(beside(out)[0])


def test_a_pipe_that_waits_for_an_output_is_swept(tmp_path):
    """Nothing but an ordinary file is a manifest that waits."""
    path = tmp_path / "new.csv"
    lay("pipe", beside(path)[1])
    with bounded(10):
        release(SMALL, plan_of(), path)
    assert not beside(path)[1].exists()


@pytest.mark.parametrize("kind", ["pipe", "endless device"])
def test_pipes_and_devices_are_no_keys(tmp_path, kind):
    """A public key comes with a release, from anybody."""
    lay(kind, tmp_path / "key.pem")
    for read in (PublicKey.read, SigningKey.read):
        with bounded(10), pytest.raises(ReleaseError, match="not an ordinary file"):
            read(tmp_path / "key.pem")


def test_a_genuine_manifest_in_hiding_does_not_vouch_for_a_false_one_in_view(out, keys):
    """The signed manifest waits out of sight, and the file that people read states another ε: the audit fails."""
    shown, hidden = beside(out)
    genuine = json.loads(shown.read_text())
    hidden.write_bytes(shown.read_bytes())
    shown.write_text(json.dumps(genuine | {"digest": {"sha256": "0" * 64}, "title": "ε = 0.01"}))
    found = audit(Release.open(out), public_key=keys[1])
    assert not found.passed
    assert "out.csv.manifest.json is not the manifest that was checked" in found.summary()


def test_what_is_in_view_is_read_before_what_waits(out, keys):
    """A false manifest in hiding that names the right table is not preferred to the genuine one."""
    shown, hidden = beside(out)
    hidden.write_text(json.dumps(json.loads(shown.read_text()) | {"title": "another"}))
    found = Release.open(out)
    assert found.manifest.title != "another"
    assert audit(found, public_key=keys[1]).passed


def test_a_manifest_beside_a_parquet_file_that_holds_its_own_fails_the_audit(tmp_path, keys):
    """Whoever reads the file beside the table would believe a manifest that nobody checked."""
    path = tmp_path / "out.parquet"
    release(SMALL, plan_of(), path, signing_key=keys[0])
    assert audit(Release.open(path), public_key=keys[1]).passed
    beside(path)[0].write_text(json.dumps(Release.open(path).manifest.to_dict() | {"title": "another"}))
    assert not audit(Release.open(path), public_key=keys[1]).passed


def test_a_key_that_is_given_twice_is_refused(out):
    """Readers differ in which of the two they believe, so a signature of one says nothing about the other."""
    shown, _ = beside(out)
    shown.write_text(shown.read_text().replace("{", '{"format": 1, "title": "another",', 1))
    with pytest.raises(ManifestError, match="key twice"):
        Release.open(out)


@pytest.mark.parametrize("zone", [None, "America/New_York"])
def test_times_that_are_moved_to_another_zone_are_found(tmp_path, zone):
    """The same ticks mean another hour: the type of a public column is part of what was released."""
    table = SMALL.append_column("seen", pa.array([1, 2, 3, 4], pa.timestamp("us", "UTC")))
    plan = Plan.from_dict(
        {
            "public": [{"columns": ["seen"]}],
            "private": [
                {
                    "columns": ["cheated"],
                    "domain": {"binary": ["no", "yes"]},
                    "mechanism": "randomized-response",
                    "epsilon": 1.0,
                }
            ],
        }
    )
    path = tmp_path / "out.parquet"
    release(table, plan, path)
    assert audit(Release.open(path)).passed
    stored = pq.read_table(path)
    moved = stored.column("seen").cast(pa.int64()).cast(pa.timestamp("us", zone))
    pq.write_table(stored.set_column(stored.schema.get_field_index("seen"), "seen", moved), path)
    with pytest.raises(ManifestError, match='"seen" is not of the type'):
        Release.open(path)


def test_as_many_parts_as_rows_are_no_burden():
    """A manifest may cut its table into parts of one row: looking for the next part costs no look at all others."""
    count = 60_000
    digest = ContentDigest({"x": CellForm(pa.int8())}, [1] * count)
    with bounded(20):
        digest.update(pa.record_batch({"x": pa.array([1] * count, pa.int8())}))
        assert digest.content().parts == (1,) * count


@pytest.mark.parametrize("name", ["a" * 300 + ".csv", "circle.csv"])
@pytest.mark.parametrize("outside", [False, True])
def test_files_that_cannot_be_are_not_there(tmp_path, name, outside):
    """A name that is too long and links in a circle are bad input, not a failure of the machine."""
    (tmp_path / "circle.csv").symlink_to("circle.csv")
    block = PLAN["private"][0] | {"domain": {"categorical": {"file": name, "column": "x"}}}
    with pytest.raises(PlanError, match="there is no file"):
        Plan.from_dict(PLAN | {"private": [block]}, tmp_path, outside_files=outside)


def test_design_names_the_files_whose_values_a_plan_publishes(tmp_path):
    """A received plan could make a domain of another table that lies in its folder; the steward reads that first."""
    (tmp_path / "values.csv").write_text("x\nno\nyes\n")
    (tmp_path / "plan.toml").write_text(
        '[[private]]\ncolumns = ["a"]\ndomain = { categorical = { file = "values.csv", column = "x" } }\n'
        'mechanism = "randomized-response"\nepsilon = 1.0\n'
    )
    said = CliRunner().invoke(app, ["design", str(tmp_path / "plan.toml"), "--rows", "100"])
    assert said.exit_code == 0, said.output
    assert "publishes what it reads from" in said.output
    assert "values.csv" in said.output.replace("\n", "")


def test_a_picture_is_not_drawn_through_a_link(tmp_path):
    """A release may come with a link called like the picture that one will want."""
    (tmp_path / "precious").write_text("mine")
    (tmp_path / "picture.svg").symlink_to("precious")
    with pytest.raises(InputError, match="is a link"):
        checked_picture(tmp_path / "picture.svg")
    assert (tmp_path / "precious").read_text() == "mine"


@pytest.mark.parametrize("name", ["", ".", "/"])
def test_a_key_needs_a_name(name):
    """A folder is no name for a key: bad input."""
    said = CliRunner().invoke(app, ["keys", "new", name])
    assert said.exit_code == 2
    assert "no name for a file" in said.output


def test_an_empty_passphrase_is_not_taken_for_none(tmp_path):
    """Whoever asks for an encrypted key never gets one that is not."""
    with pytest.raises(ReleaseError, match="empty passphrase"):
        new_keys(tmp_path / "key.pem", "")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("fails", ["key.pem", "key.public.pem"])
def test_a_key_that_cannot_be_written_leaves_nothing(tmp_path, monkeypatch, fails):
    """On a full disk neither an empty file nor half a pair is left to stand in the way."""
    real = os.fsync

    def full(descriptor):
        if os.readlink(f"/proc/self/fd/{descriptor}").endswith(f"-{fails}.tmp"):
            raise OSError(28, "No space left on device")
        return real(descriptor)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(SystemFailureError, match="No space left"):
        new_keys(tmp_path / "key.pem")
    assert not list(tmp_path.iterdir())


def test_without_a_home_folder_the_ledger_is_asked_for(monkeypatch):
    """A container may run as a user that has none."""

    def nowhere():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setattr(Path, "home", nowhere)
    with pytest.raises(SystemFailureError, match="no home folder"):
        Ledger.default()
