"""Where a manifest lies, and how it is tied to its table."""

from __future__ import annotations

import hashlib
import json

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from discreet import ManifestError, Randomness, ReleaseError
from discreet.manifest import storage as manifest_file
from discreet.publish import release
from discreet.reading import Release
from tests.manifest.conftest import PLAN, TABLE


@pytest.fixture
def parquet(tmp_path):
    path = tmp_path / "out.parquet"
    release(TABLE, PLAN, path, randomness=Randomness.seeded(3))
    return path


@pytest.fixture
def csv(tmp_path):
    path = tmp_path / "out.csv"
    release(TABLE, PLAN, path, randomness=Randomness.seeded(3))
    return path


def rewrite(path, table, metadata):
    pq.write_table(table.replace_schema_metadata(metadata), path)


def test_a_parquet_file_holds_its_manifest(parquet):
    """Under one key of the metadata, as plain JSON; nothing lies beside the file."""
    metadata = pq.read_metadata(parquet).metadata
    assert json.loads(metadata[b"discreet"]) == Release.open(parquet).manifest.to_dict()
    assert pq.read_schema(parquet).metadata[b"discreet"] == metadata[b"discreet"]
    assert [p.name for p in parquet.parent.iterdir()] == ["out.parquet"]


def test_a_csv_file_has_its_manifest_beside_it_with_its_digest(csv):
    """The digest is the SHA-256 of the released file."""
    beside = json.loads((csv.parent / "out.csv.manifest.json").read_text())
    assert beside["digest"]["sha256"] == hashlib.sha256(csv.read_bytes()).hexdigest()
    assert sorted(p.name for p in csv.parent.iterdir()) == ["out.csv", "out.csv.manifest.json"]


def test_a_large_manifest_lies_beside_its_parquet_file(tmp_path, monkeypatch):
    """Beyond the limit the footer holds only the digest of the sidecar."""
    monkeypatch.setattr(manifest_file, "EMBEDDED_BYTES", 100)
    path = tmp_path / "out.parquet"
    done = release(TABLE, PLAN, path)
    beside = tmp_path / "out.parquet.manifest.json"
    pointer = json.loads(pq.read_metadata(path).metadata[b"discreet"])
    assert pointer["sidecar"]["sha256"] == hashlib.sha256(beside.read_bytes()).hexdigest()
    assert Release.open(path).manifest == done.manifest
    beside.write_text(beside.read_text().replace("Campus", "campus"))
    with pytest.raises(ManifestError, match="SHA-256 differs"):
        Release.open(path)
    beside.unlink()
    with pytest.raises(ReleaseError, match=r"no out\.parquet\.manifest\.json beside it"):
        Release.open(path)


def test_a_real_large_domain_needs_a_sidecar(tmp_path):
    """Sixteen megabytes of labels do not go into a footer."""
    labels = [f"{i:07d}" + "x" * 60 for i in range(240_000)]
    block = {
        "columns": ["place"],
        "domain": {"categorical": labels},
        "mechanism": "randomized-response",
        "epsilon": 9.0,
    }
    path = tmp_path / "out.parquet"
    release(pa.table({"place": labels[:3]}), {"private": [block]}, path)
    assert (tmp_path / "out.parquet.manifest.json").stat().st_size > 16_000_000
    assert Release.open(path).block("place").domain.size == 240_000


def test_a_pointer_of_a_newer_format_is_refused(parquet):
    """Also when the manifest itself would lie elsewhere."""
    table = pq.read_table(parquet)
    rewrite(parquet, table, {b"discreet": b'{"format": 2, "sidecar": {"sha256": "0"}}'})
    with pytest.raises(ManifestError, match="newer"):
        Release.open(parquet)


def test_a_changed_csv_file_is_refused(csv):
    """One cell changed, and the digest no longer fits."""
    content = csv.read_text()
    csv.write_text(content.replace("yes", "no", 1) if "yes" in content else content.replace("no", "yes", 1))
    with pytest.raises(ManifestError, match=r"out\.csv does not match its manifest: its SHA-256 differs"):
        Release.open(csv)


def test_a_csv_manifest_without_digest_is_refused(csv):
    """Without a digest nothing ties the two files together."""
    beside = csv.parent / "out.csv.manifest.json"
    beside.write_text(json.dumps(json.loads(beside.read_text()) | {"digest": None}))
    with pytest.raises(ManifestError, match="no digest"):
        Release.open(csv)


def test_a_filtered_parquet_file_is_refused(parquet):
    """Tools copy metadata along; the number of rows gives them away."""
    table = pq.read_table(parquet)
    rewrite(parquet, table.filter(pc.field("age") > 20), table.schema.metadata)
    with pytest.raises(ManifestError, match="rows where 6 were released"):
        Release.open(parquet)


def test_a_parquet_file_with_other_columns_is_refused(parquet):
    """A dropped or added column is noticed."""
    table = pq.read_table(parquet)
    rewrite(parquet, table.drop_columns(["sex"]), table.schema.metadata)
    with pytest.raises(ManifestError, match="columns"):
        Release.open(parquet)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'"x"', b"\xff"])
def test_a_broken_footer_is_a_damaged_manifest(parquet, content):
    """Whatever stands under our key."""
    rewrite(parquet, pq.read_table(parquet), {b"discreet": content})
    with pytest.raises(ManifestError, match="damaged"):
        Release.open(parquet)


def test_a_table_without_manifest_is_not_a_release(tmp_path):
    """Any other Parquet or CSV file is refused as what it is."""
    pq.write_table(TABLE, tmp_path / "plain.parquet")
    (tmp_path / "plain.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ReleaseError, match=r"plain\.parquet is not a release"):
        Release.open(tmp_path / "plain.parquet")
    with pytest.raises(ReleaseError, match=r"plain\.csv is not a release"):
        Release.open(tmp_path / "plain.csv")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("absent.parquet", None, "there is no file"),
        ("absent.csv", None, "there is no file"),
        ("table.xlsx", b"", "use .parquet or .csv"),
        ("broken.parquet", b"PAR1 and then nothing", "cannot be read as a Parquet file"),
        ("empty.parquet", b"", "cannot be read as a Parquet file"),
    ],
)
def test_what_cannot_be_opened_is_said_in_one_sentence(tmp_path, name, content, message):
    """Missing, unknown or broken files."""
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(ReleaseError, match=message):
        Release.open(tmp_path / name)


def test_a_folder_is_not_a_release(tmp_path):
    """Even when its name ends well."""
    (tmp_path / "folder.parquet").mkdir()
    with pytest.raises(ReleaseError, match="is not a release"):
        Release.open(tmp_path / "folder.parquet")


def test_a_manifest_holds_no_path_and_no_data(parquet, csv):
    """Neither where the table lay nor any cell or digest of it."""
    for text in (
        Release.open(parquet).manifest.to_json(),
        (csv.parent / "out.csv.manifest.json").read_text(),
    ):
        assert str(parquet.parent) not in text
        assert "out." not in text
        assert '"f"' not in text
