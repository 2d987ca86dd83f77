"""Tables in folders: parts in, parts out, and a manifest that is written last."""

from __future__ import annotations

import contextlib
import json
import os
import stat
import threading

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet import DomainError, ManifestError, Randomness, Release, ReleaseError, engines, estimate, release
from discreet.audit import audit
from discreet.manifest import json_schema
from discreet.publish import commit, outputs

PLAN = {
    "format": 1,
    "output": {"order": "keep"},
    "public": [{"columns": ["region"]}],
    "private": [
        {
            "columns": ["x"],
            "domain": {"binary": ["no", "yes"]},
            "mechanism": "randomized-response",
            "epsilon": 1.0,
        }
    ],
}


def plan(**changes):
    """The plan with some keys changed."""
    return {**PLAN, **changes}


def table(rows, seed=1):
    """Truths and a public column."""
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "region": pa.array(np.array(["north", "south"])[rng.integers(0, 2, rows)]),
            "x": pa.array(np.array(["no", "yes"])[(rng.random(rows) < 0.3).astype(int)]),
        }
    )


@pytest.fixture
def data(tmp_path):
    """A folder of three parts."""
    folder = tmp_path / "data"
    folder.mkdir()
    for number, rows in enumerate((100, 50, 70)):
        pq.write_table(table(rows, number), folder / f"part-{number}.parquet")
    (folder / "_SUCCESS").touch()
    (folder / ".part-9.parquet.crc").touch()
    return folder


@pytest.fixture
def small_parts(monkeypatch):
    """Parts of one block of digests."""
    monkeypatch.setattr(outputs, "PART_BATCHES", 1)
    monkeypatch.setattr(outputs, "rows_per_batch", lambda _: 1 << 16)


def cells_are_those_of_the_manifest(opened):
    """Whether the digests of an audit are those that were published."""
    found = {finding.subject: finding.verdict for finding in audit(opened).findings}
    return found["cells"] == "ok"


def test_a_folder_is_read_as_one_table(data, tmp_path):
    """One part after the other, in the order of their names; other files are no parts."""
    whole = pa.concat_tables([pq.read_table(data / f"part-{number}.parquet") for number in range(3)])
    done = release(data, PLAN, tmp_path / "out.parquet", Randomness.seeded(1), ledger=None)
    same = release(whole, PLAN, None, Randomness.seeded(1))
    assert done.rows == 220
    assert done.to_arrow().equals(same.to_arrow())


def test_a_release_in_a_folder_is_the_same_as_in_a_file(data, tmp_path, small_parts):
    """Cells, digests and estimates do not depend on the files; every part is listed with rows and SHA-256."""
    rows = (1 << 17) + 1000
    pq.write_table(table(rows), data / "part-3.parquet")
    one = release(data, PLAN, tmp_path / "one.parquet", Randomness.seeded(1), ledger=None)
    release(data, PLAN, tmp_path / "many", Randomness.seeded(1), ledger=None)
    many = Release.open(tmp_path / "many")
    assert many.to_arrow().equals(one.to_arrow())
    files = many.manifest.files
    assert [file.rows for file in files] == [1 << 16, 1 << 16, 1220]
    assert sorted(os.listdir(tmp_path / "many")) == ["_manifest.json", *(file.name for file in files)]
    assert many.manifest.content.columns == one.manifest.content.columns
    assert many.manifest.content.parts == (1 << 16, 1 << 16, 1220)
    assert cells_are_those_of_the_manifest(many)
    np.testing.assert_array_equal(estimate.frequencies(many, "x").estimate, estimate.frequencies(one, "x").estimate)


def test_the_manifest_of_a_folder_fits_the_schema(data, tmp_path):
    """Also its list of parts, which comes back as it was written."""
    jsonschema = pytest.importorskip("jsonschema")
    done = release(data, PLAN, tmp_path / "out", ledger=None)
    written = json.loads((tmp_path / "out" / "_manifest.json").read_text())
    jsonschema.validate(written, json_schema())
    assert type(done.manifest).from_dict(written) == done.manifest
    mode = stat.S_IMODE((tmp_path / "out" / "part-00000.parquet").stat().st_mode)
    assert mode == 0o666 & ~_umask()


def _umask():
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def test_folders_called_after_values_are_columns(tmp_path):
    """Hive's way: one more column of text for all rows below, which a plan may call public."""
    for term in ("2024-1", "2024%202", "__HIVE_DEFAULT_PARTITION__"):
        folder = tmp_path / "data" / f"term={term}"
        folder.mkdir(parents=True)
        pq.write_table(table(10), folder / "part-0.parquet")
    named = plan(public=[{"columns": ["region", "term"]}])
    done = release(tmp_path / "data", named, tmp_path / "out", ledger=None)
    assert (
        sorted(map(str, done.to_arrow(["term"]).column(0).to_pylist()))
        == ["2024 2"] * 10 + ["2024-1"] * 10 + ["None"] * 10
    )
    assert Release.open(tmp_path / "out").columns == ["region", "term", "x"]


@pytest.mark.parametrize("workers", [1, 2, 5])
@pytest.mark.parametrize("order", ["keep", "shuffle"])
def test_any_number_of_workers_gives_a_whole_release(tmp_path, order, workers, monkeypatch):
    """Every row once, public cells unchanged; a seed gives the same reports whoever works."""
    from discreet.publish import pipeline as module

    monkeypatch.setattr(module, "rows_per_batch", lambda _: 1000)
    truth = table(20_500)
    pq.write_table(truth, tmp_path / "data.parquet")
    chosen = plan(output={"order": order})
    done = release(tmp_path / "data.parquet", chosen, tmp_path / "out", workers=workers, ledger=None)
    assert cells_are_those_of_the_manifest(Release.open(tmp_path / "out"))
    assert done.rows == 20_500
    counted = done.to_arrow(["region"]).column(0).value_counts().to_pylist()
    expected = truth.column("region").value_counts().to_pylist()
    assert {one["values"]: one["counts"] for one in counted} == {one["values"]: one["counts"] for one in expected}
    if order == "keep":
        assert done.to_arrow(["region"]).column(0).to_pylist() == truth.column("region").to_pylist()
    seeded = [
        release(tmp_path / "data.parquet", chosen, None, Randomness.seeded(3), workers=count, ledger=None)
        for count in (1, workers)
    ]
    assert seeded[0].to_arrow().equals(seeded[1].to_arrow())


@pytest.mark.parametrize("workers", [1, 3])
def test_errors_are_those_of_the_first_bad_row(tmp_path, workers, monkeypatch):
    """With the number of that row, however many work; nothing is left behind."""
    from discreet.publish import pipeline as module

    monkeypatch.setattr(module, "rows_per_batch", lambda _: 1000)
    cells = ["no"] * 9000
    cells[7654] = cells[8000] = "secret"
    wrong = pa.table({"region": ["n"] * 9000, "x": cells})
    parts = pa.RecordBatchReader.from_batches(wrong.schema, wrong.to_batches(max_chunksize=700))
    with pytest.raises(DomainError, match="row 7654") as caught:
        release(parts, PLAN, tmp_path / "out", workers=workers)
    assert "secret" not in str(caught.value)
    assert os.listdir(tmp_path) == []


def released(data, tmp_path):
    """A release in a folder."""
    release(data, PLAN, tmp_path / "out", ledger=None)
    return tmp_path / "out"


def test_parts_that_are_missing_added_or_changed_are_noticed(data, tmp_path):
    """One sentence that names the part."""
    out = released(data, tmp_path)
    part = out / "part-00000.parquet"
    content = part.read_bytes()
    extra = out / "part-00001.parquet"
    extra.write_bytes(content)
    with pytest.raises(ManifestError, match=r"part-00001\.parquet is not in the manifest"):
        Release.open(out)
    extra.unlink()
    pq.write_table(pq.read_table(part).slice(1), part)
    with pytest.raises(ManifestError, match=r"part-00000\.parquet was changed after the release"):
        Release.open(out)
    part.unlink()
    with pytest.raises(ManifestError, match=r"part-00000\.parquet is missing"):
        Release.open(out)


def test_a_folder_without_a_manifest_is_no_release(data, tmp_path):
    """It is written last, so nothing else proves that a release was finished."""
    with pytest.raises(ReleaseError, match=r"no _manifest\.json"):
        Release.open(data)
    out = released(data, tmp_path)
    (out / "_manifest.json").unlink()
    with pytest.raises(ReleaseError, match=r"no _manifest\.json"):
        Release.open(out)


@pytest.mark.parametrize("name", ["../secret.parquet", "part-/x.parquet", "x.parquet", "part-..", 7])
def test_parts_in_a_manifest_cannot_lead_out_of_the_folder(data, tmp_path, name):
    """A manifest comes from somebody else."""
    out = released(data, tmp_path)
    written = json.loads((out / "_manifest.json").read_text())
    written["parts"][0]["name"] = name
    (out / "_manifest.json").write_text(json.dumps(written))
    with pytest.raises(ManifestError, match="damaged"):
        Release.open(out)


def test_what_is_there_stays(data, tmp_path):
    """A name that is taken is refused; with overwrite a release is replaced whole, and nothing else ever is."""
    out = released(data, tmp_path)
    before = Release.open(out).manifest.id
    with pytest.raises(ReleaseError, match="exists already"):
        release(data, PLAN, out, ledger=None)
    assert Release.open(out).manifest.id == before
    release(data, PLAN, out, overwrite=True, ledger=None)
    assert Release.open(out).manifest.id != before
    (tmp_path / "mine").mkdir()
    with pytest.raises(ReleaseError, match="not a release"):
        release(data, PLAN, tmp_path / "mine", overwrite=True, ledger=None)
    for inside in (data, data / "out", data / "out.parquet"):
        with pytest.raises(ReleaseError, match=r"lies inside|is the input"):
            release(data, PLAN, inside, ledger=None)
    assert sorted(os.listdir(tmp_path)) == ["data", "mine", "out"]


def test_what_a_killed_process_left_is_put_right(data, tmp_path):
    """Unfinished parts go; a release that was about to be replaced comes back."""
    out = released(data, tmp_path)
    before = Release.open(out).manifest.id
    out.rename(tmp_path / ".discreet-out.old")
    (tmp_path / ".discreet-out.tmp").mkdir()
    (tmp_path / ".discreet-out.tmp" / "part-00000.parquet").touch()
    with pytest.raises(ReleaseError, match="exists already"):
        release(data, PLAN, out, ledger=None)
    assert Release.open(out).manifest.id == before
    assert sorted(os.listdir(tmp_path)) == ["data", "out"]


def test_a_folder_that_others_still_write_to_is_removed(data, tmp_path):
    """Executors outlive their driver for a moment: what they add while the folder is tidied up goes as well."""
    left, ended = tmp_path / ".discreet-out.tmp", threading.Event()

    def linger():
        number = 0
        while not ended.is_set():
            number += 1
            with contextlib.suppress(OSError):
                (left / f"staged/{number % 20}").mkdir(parents=True, exist_ok=True)
                (left / f"staged/{number % 20}/{number}.parquet").touch()

    executor = threading.Thread(target=linger)
    executor.start()
    threading.Timer(0.3, ended.set).start()
    try:
        while not left.exists():
            pass
        commit.remove(left)
    finally:
        ended.set()
        executor.join()
    release(data, plan(), tmp_path / "out", ledger=None)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "out"]


def test_parts_must_look_alike(data, tmp_path):
    """Different columns or types are refused before a row is read; so is a folder without parts."""
    pq.write_table(table(5).rename_columns(["region", "y"]), data / "part-9.parquet")
    with pytest.raises(ReleaseError, match=r"part-9\.parquet has other columns or types than part-0\.parquet"):
        release(data, PLAN, tmp_path / "out", ledger=None)
    (tmp_path / "empty").mkdir()
    with pytest.raises(ReleaseError, match="holds no Parquet file"):
        release(tmp_path / "empty", PLAN, tmp_path / "out", ledger=None)
    twice = tmp_path / "twice" / "x=1"
    twice.mkdir(parents=True)
    pq.write_table(table(5), twice / "part-0.parquet")
    with pytest.raises(ReleaseError, match="both a column"):
        release(tmp_path / "twice", PLAN, tmp_path / "out", ledger=None)


@pytest.mark.parametrize("workers", [0, -1, 1.5, "2", True])
def test_workers_are_a_whole_number(workers, data):
    """From one on."""
    with pytest.raises(ReleaseError, match="workers"):
        release(data, PLAN, workers=workers, ledger=None)


def test_a_changed_part_is_another_truth_for_the_ledger(data, tmp_path):
    """A folder is known by all of its parts."""
    from discreet.publish.ledger import Fingerprint

    before = Fingerprint.of(data)
    assert Fingerprint.of(data) == before
    pq.write_table(table(51, 5), data / "part-1.parquet")
    assert Fingerprint.of(data) != before


def test_parts_are_read_side_by_side_with_equal_results(tmp_path, small_parts):
    """Whatever the number of workers, rows come in the order of the parts, and estimates agree to the last bit."""
    release(table(300_000), PLAN, tmp_path / "out", Randomness.seeded(1))
    opened = [Release.open(tmp_path / "out", engine=engines.Local(workers)) for workers in (1, 2, 7)]
    opened.append(Release.open(tmp_path / "out"))
    assert len(opened[0].manifest.files) == 5
    first, *others = (one.to_arrow() for one in opened)
    assert all(other.equals(first) for other in others)
    fits = [estimate.regression("x ~ region", one) for one in opened]
    assert all((fit.estimate == fits[0].estimate).all() for fit in fits)
    assert all((fit.covariance == fits[0].covariance).all() for fit in fits)
