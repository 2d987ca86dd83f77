"""A table appended to a release: new parts, one promise for whoever is in both, and the old release until the end."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet import BudgetError, ManifestError, Release, ReleaseError, estimate, release
from discreet.audit import audit
from discreet.manifest import Manifest, json_schema
from discreet.manifest.signature import SigningKey
from discreet.publish import Ledger, outputs


def plan(order="keep", epsilon=1.0, **budget):
    """A plan for the tables below."""
    private = {"columns": ["x"], "domain": {"binary": ["no", "yes"]}, "mechanism": "randomized-response"}
    return {
        "format": 1,
        "budget": budget,
        "output": {"order": order},
        "public": [{"columns": ["month"]}],
        "private": [{**private, "epsilon": epsilon}],
    }


def month(name, rows=500, seed=1):
    """The truths of a month."""
    rng = np.random.default_rng(seed)
    cells = np.array(["no", "yes"])[(rng.random(rows) < 0.3).astype(int)]
    return pa.table({"month": [name] * rows, "who": np.arange(rows), "x": cells})


def verdicts(opened):
    """What an audit says."""
    return {finding.subject: finding.verdict for finding in audit(opened).findings}


@pytest.fixture
def january(tmp_path):
    """A release of one month in a folder."""
    release(month("jan"), plan(rows_per_person=1), tmp_path / "out")
    return tmp_path / "out"


@pytest.mark.parametrize("order", ["keep", "shuffle"])
def test_a_month_is_added(tmp_path, order):
    """Old parts stay as they are, byte for byte; rows, digests, estimates and audit are those of both."""
    out, chosen = tmp_path / "out", plan(order, rows_per_person=1)
    release(month("jan"), chosen, out)
    before = (out / "part-00000.parquet").read_bytes()
    old = Release.open(out)
    first = old.to_arrow()
    done = release(month("feb", 300, 2), chosen, out, append=True)
    opened = Release.open(out)
    assert done.manifest == opened.manifest
    assert (out / "part-00000.parquet").read_bytes() == before
    assert sorted(os.listdir(out)) == ["_manifest.json", "part-00000.parquet", "part-00001.parquet"]
    assert os.listdir(tmp_path) == ["out"]
    assert opened.to_arrow().slice(0, 500).equals(first)
    assert opened.to_arrow(["month"]).column(0).to_pylist() == ["jan"] * 500 + ["feb"] * 300
    assert [one.rows for one in opened.manifest.additions] == [500, 300]
    assert [one.id for one in opened.manifest.additions] == [old.manifest.id, opened.manifest.id]
    assert set(verdicts(opened).values()) <= {"ok", "warning", "unchecked"}
    assert verdicts(opened)["cells"] == "ok"
    counted = estimate.frequencies(opened, "x")
    assert counted.estimate.sum() == pytest.approx(1)
    alone = estimate.frequencies(opened, "x", by="month")
    np.testing.assert_array_equal(alone["jan"].estimate, estimate.frequencies(old, "x").estimate)
    assert "2 additions" in opened.summary()


def test_whoever_is_in_both_is_told_what_both_spend(january):
    """Rows per person add up, and with them ε; per row nothing changes, and which month a row is of is not covered."""
    assert Release.open(january).guarantee.epsilon == pytest.approx(1, rel=1e-8)
    release(month("feb"), plan(rows_per_person=1), january, append=True)
    done = release(month("mar"), plan(rows_per_person=3), january, append=True)
    assert done.manifest.rows_per_person == 5
    assert [one.rows_per_person for one in done.manifest.additions] == [1, 1, 3]
    assert done.guarantee.unit == "person"
    assert done.guarantee.epsilon == pytest.approx(5, rel=1e-8)
    assert any("additions" in caveat for caveat in done.guarantee.caveats)
    assert verdicts(done)["all blocks together"] == "ok"


def test_without_a_declaration_the_promise_stays_about_a_row(tmp_path):
    """And one release that declares cannot be mixed with another that does not."""
    release(month("jan"), plan(), tmp_path / "out")
    done = release(month("feb"), plan(), tmp_path / "out", append=True)
    assert done.guarantee.unit == "record"
    assert done.guarantee.epsilon == pytest.approx(1, rel=1e-8)
    with pytest.raises(ReleaseError, match="does not declare rows per person and the plan does"):
        release(month("mar"), plan(rows_per_person=1), tmp_path / "out", append=True)


def test_a_named_person_is_counted_in_every_month(tmp_path):
    """Checked in each; the sum then holds without looking at who is in both."""
    named = plan(person="who")
    release(month("jan"), named, tmp_path / "out")
    done = release(month("feb"), named, tmp_path / "out", append=True)
    assert done.manifest.person_checked
    assert done.manifest.rows_per_person == 2
    twice = pa.concat_tables([month("mar"), month("mar")])
    with pytest.raises(ReleaseError, match="more than 1 row"):
        release(twice, named, tmp_path / "out", append=True)
    assert Release.open(tmp_path / "out").manifest == done.manifest
    assert sorted(os.listdir(tmp_path / "out")) == ["_manifest.json", "part-00000.parquet", "part-00001.parquet"]


def test_both_together_must_fit_the_budget(tmp_path):
    """Refused before a row is read, in a sentence that says what is needed; a larger budget is the same design."""
    small = plan() | {"budget": {"epsilon": 1.5, "rows_per_person": 1}}
    release(month("jan"), small, tmp_path / "out")
    needed = r"in all 2 additions has ε = 2, δ = 0 per person, but budget allows ε = 1\.5.*of its own adds as much"
    with pytest.raises(BudgetError, match=needed):
        release(month("feb"), small, tmp_path / "out", append=True)
    large = plan() | {"budget": {"epsilon": 2.0, "rows_per_person": 1}}
    assert release(month("feb"), large, tmp_path / "out", append=True).rows == 1000


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"public": [{"columns": ["month", "who"]}]}, "other public columns than that of out"),
        ({"output": {"order": "shuffle"}}, "another order"),
        ({"private": [{**plan()["private"][0], "epsilon": 0.5}]}, 'randomises "x" in another way'),
        ({"private": [{**plan()["private"][0], "columns": ["y"]}]}, "other private columns"),
        ({"survey": {"strata": "month"}}, "other survey columns"),
    ],
)
def test_another_design_is_refused(january, change, message):
    """In a sentence that says what differs; the release stays as it was."""
    before = Release.open(january).manifest
    table = month("feb").append_column("y", month("feb").column("x"))
    with pytest.raises(ReleaseError, match=message):
        release(table, plan(rows_per_person=1) | change, january, append=True)
    assert Release.open(january).manifest == before


def test_what_cannot_be_added_to(january, tmp_path):
    """A folder that is no release, a file, nothing, another type; and never together with overwrite."""
    chosen = plan(rows_per_person=1)
    with pytest.raises(ReleaseError, match="no release that could be added to"):
        release(month("feb"), chosen, tmp_path / "absent", append=True)
    with pytest.raises(ReleaseError, match="needs the folder"):
        release(month("feb"), chosen, append=True)
    with pytest.raises(ReleaseError, match="only a release in a folder"):
        release(month("feb"), chosen, tmp_path / "out.parquet", append=True)
    with pytest.raises(ReleaseError, match="choose one"):
        release(month("feb"), chosen, january, append=True, overwrite=True)
    with pytest.raises(ReleaseError, match="append must be true or false"):
        release(month("feb"), chosen, january, append="yes")
    other = month("feb").set_column(0, "month", pa.array(range(500)))
    with pytest.raises(ReleaseError, match='column "month" is int64 in the table and string in out'):
        release(other, chosen, january, append=True)
    assert sorted(os.listdir(tmp_path)) == ["out"]


def test_a_changed_release_is_not_added_to(january):
    """A part is not what its manifest says."""
    part = january / "part-00000.parquet"
    pq.write_table(pq.read_table(part).slice(1), part)
    with pytest.raises(ManifestError, match="was changed after the release"):
        release(month("feb"), plan(rows_per_person=1), january, append=True)


def test_what_was_signed_is_signed_again_by_the_same(tmp_path):
    """Nobody else adds to it, and not without a signature."""
    key, chosen = SigningKey.generate(), plan(rows_per_person=1)
    release(month("jan"), chosen, tmp_path / "out", signing_key=key)
    for wrong in (None, SigningKey.generate()):
        with pytest.raises(ReleaseError, match="with the key that it was signed with"):
            release(month("feb"), chosen, tmp_path / "out", append=True, signing_key=wrong)
    release(month("feb"), chosen, tmp_path / "out", append=True, signing_key=key)
    opened = Release.open(tmp_path / "out")
    assert {one.subject: one.verdict for one in audit(opened, public_key=key.public).findings}["signature"] == "ok"
    written = json.loads((tmp_path / "out" / "_manifest.json").read_text())
    written["release"]["title"] = "forged"
    (tmp_path / "out" / "_manifest.json").write_text(json.dumps(written))
    with pytest.raises(ReleaseError, match="changed after it was signed"):
        release(month("mar"), chosen, tmp_path / "out", append=True, signing_key=key)


def test_the_ledger_knows_every_month(tmp_path):
    """Under the identity that the manifest lists; the same month again is warned about."""
    book = Ledger(tmp_path / "ledger.sqlite")
    for name in ("jan", "feb"):
        pq.write_table(month(name), tmp_path / f"{name}.parquet")
    chosen = plan(rows_per_person=1)
    release(tmp_path / "jan.parquet", chosen, tmp_path / "out", ledger=book)
    done = release(tmp_path / "feb.parquet", chosen, tmp_path / "out", append=True, ledger=book)
    assert [entry.release for entry in book.entries()] == [one.id for one in done.manifest.additions]
    assert {entry.state for entry in book.entries()} == {"done"}
    with pytest.warns(UserWarning, match="released once before"):
        release(tmp_path / "feb.parquet", chosen, tmp_path / "out", append=True, ledger=book)


def test_one_insecure_month_makes_the_release_insecure(january):
    """Whoever knows the seed can undo that month."""
    from discreet import Randomness

    done = release(month("feb"), plan(rows_per_person=1), january, Randomness.seeded(1), append=True)
    assert done.manifest.insecure
    assert [one.secure for one in done.manifest.additions] == [True, False]
    assert verdicts(done)["randomness"] == "failure"


def test_the_manifest_fits_the_schema_and_its_own_checks(january):
    """Additions that do not make up the release are damaged."""
    jsonschema = pytest.importorskip("jsonschema")
    release(month("feb", 300), plan(rows_per_person=1), january, append=True)
    written = json.loads((january / "_manifest.json").read_text())
    jsonschema.validate(written, json_schema())
    assert Manifest.from_dict(written).to_dict() == written
    for wrong in ({"rows": 301}, {"rows_per_person": 2}, {"id": written["additions"][0]["id"]}):
        changed = written | {"additions": [written["additions"][0], written["additions"][1] | wrong]}
        with pytest.raises(ManifestError, match="damaged"):
            Manifest.from_dict(changed)
    moved = [written["additions"][0] | {"rows": 499}, written["additions"][1] | {"rows": 301}]
    with pytest.raises(ManifestError, match="ends inside a part"):
        Manifest.from_dict(written | {"additions": moved})
    with pytest.raises(ManifestError, match="at least two"):
        Manifest.from_dict(written | {"additions": written["additions"][:1]})


def test_many_parts_and_a_file_of_all(tmp_path, monkeypatch):
    """Parts of several blocks in both months; kept in one file the digests are found again."""
    monkeypatch.setattr(outputs, "PART_BATCHES", 1)
    monkeypatch.setattr(outputs, "rows_per_batch", lambda _: 1 << 16)
    rows = (1 << 16) + 700
    release(month("jan", rows), plan(), tmp_path / "out")
    release(month("feb", rows), plan(), tmp_path / "out", append=True)
    opened = Release.open(tmp_path / "out")
    assert [file.rows for file in opened.manifest.files] == [1 << 16, 700] * 2
    assert verdicts(opened)["cells"] == "ok"
    saved = opened.save(tmp_path / "one.parquet")
    assert saved.manifest.additions == opened.manifest.additions
    assert verdicts(Release.open(tmp_path / "one.parquet"))["cells"] == "ok"


#: Appends with the process killed before the file operation of that number in the folder of the output.
KILLED = """
import sys
from pathlib import Path
from discreet import release
from tests.publish.test_appending import month, plan
from tests.security.kills import _die_at_step
out, step = Path(sys.argv[1]), int(sys.argv[2])
_die_at_step(step, str(out.parent))
release(month("feb", 300, 2), plan(rows_per_person=1), out, append=True)
"""


def test_a_kill_at_every_step_leaves_the_old_release_or_the_new_one(january, tmp_path):
    """Before each file operation in turn, until one comes through; what is there can be opened and added to."""
    before, ended = Release.open(january).manifest, []
    for step in range(30):
        done = subprocess.run(
            [sys.executable, "-c", KILLED, str(january), str(step)], capture_output=True, check=False, timeout=120
        )
        opened = Release.open(january)
        assert opened.rows in (500, 800)
        assert verdicts(opened)["cells"] == "ok"
        ended.append(done.returncode)
        if opened.rows == 800:
            break
        assert opened.manifest == before
    assert 5 < len(ended) < 30
    assert set(ended[:-1]) == {-9}
    release(month("mar", 100), plan(rows_per_person=1), january, append=True)
    opened = Release.open(january)
    assert opened.rows == 900
    assert sorted(os.listdir(january)) == ["_manifest.json", *(file.name for file in opened.manifest.files)]
    assert os.listdir(tmp_path) == ["out"]


def test_on_the_command_line(january, tmp_path):
    """The sentence says how many rows are new; help explains it."""
    from typer.testing import CliRunner

    from discreet.cli.app import app

    pq.write_table(month("feb", 300), tmp_path / "feb.parquet")
    (tmp_path / "plan.toml").write_text(
        '[budget]\nrows_per_person = 1\n[output]\norder = "keep"\n[[public]]\ncolumns = ["month"]\n[[private]]\n'
        'columns = ["x"]\ndomain = { binary = ["no", "yes"] }\nmechanism = "randomized-response"\nepsilon = 1.0\n'
    )
    arguments = ["release", tmp_path / "feb.parquet", tmp_path / "plan.toml", "-o", january, "--no-ledger"]
    run = CliRunner().invoke(app, [*map(str, arguments), "--append"])
    assert run.exit_code == 0, run.output
    assert "800 rows, 300 of them added now" in run.output
    shown = CliRunner().invoke(app, ["show", str(january)])
    assert "Put together from 2 additions" in shown.output
    assert CliRunner().invoke(app, ["audit", str(january)]).exit_code == 0
    both = CliRunner().invoke(app, [*map(str, arguments), "--append", "--overwrite"])
    assert both.exit_code == 2
    assert "--append" in CliRunner().invoke(app, ["release", "--help"]).output
    checked = CliRunner().invoke(app, [*map(str, arguments), "--append", "--check"])
    assert checked.exit_code == 0
    assert "Nothing was written" in checked.output
