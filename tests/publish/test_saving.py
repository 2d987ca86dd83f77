"""A release in memory is kept in a file, and is the same release there."""

from __future__ import annotations

import subprocess
import sys

import pyarrow as pa
import pytest

from discreet import Release, ReleaseError, release
from discreet.audit import audit
from discreet.estimate import frequencies

TABLE = pa.table(
    {
        "cheated": ["no", "yes", "yes"] * 20,
        "code": ["007", "1,5", None] * 20,
        "weight": [0.5, 1.25, 2.0] * 20,
    }
)
PLAN = {
    "public": [{"columns": ["code", "weight"]}],
    "private": [
        {
            "columns": ["cheated"],
            "domain": {"binary": ["no", "yes"]},
            "mechanism": "randomized-response",
            "epsilon": 1.0,
        }
    ],
}


@pytest.fixture
def made() -> Release:
    return release(TABLE, PLAN)


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_what_is_saved_opens_passes_its_audit_and_says_the_same(made, tmp_path, ending):
    """Same rows, same estimate, same guarantee, digests that hold; nothing is randomised again."""
    kept = made.save(tmp_path / f"kept.{ending}")
    opened = Release.open(tmp_path / f"kept.{ending}")
    assert audit(opened).passed
    assert kept.guarantee == opened.guarantee == made.guarantee
    assert opened.to_arrow(["cheated"]).to_pydict() == made.to_arrow(["cheated"]).to_pydict()
    assert frequencies(opened, "cheated")["yes"].estimate == frequencies(made, "cheated")["yes"].estimate
    assert opened.manifest.id == made.manifest.id


@pytest.mark.parametrize("first", ["csv", "parquet"])
@pytest.mark.parametrize("second", ["csv", "parquet"])
def test_an_opened_release_can_be_kept_as_another_kind(made, tmp_path, first, second):
    """Cells stay what they are: 007 stays 007, and a blank a blank."""
    made.save(tmp_path / f"a.{first}")
    Release.open(tmp_path / f"a.{first}").save(tmp_path / f"b.{second}")
    opened = Release.open(tmp_path / f"b.{second}")
    assert audit(opened).passed
    assert opened.to_arrow(["code"]).to_pydict() == made.to_arrow(["code"]).to_pydict()
    if first == second == "csv":
        assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()


def test_what_must_not_be_written_is_refused(made, tmp_path):
    """An existing file, the release itself, an unknown kind."""
    made.save(tmp_path / "a.parquet")
    with pytest.raises(ReleaseError, match="exists"):
        made.save(tmp_path / "a.parquet")
    with pytest.raises(ReleaseError, match="this release itself"):
        Release.open(tmp_path / "a.parquet").save(tmp_path / "a.parquet", overwrite=True)
    with pytest.raises(ReleaseError, match=r"\.xlsx"):
        made.save(tmp_path / "a.xlsx")
    assert made.save(tmp_path / "a.parquet", overwrite=True).rows == 60


def test_data_frames_of_both_libraries(made):
    """Labels, not codes; columns may be chosen."""
    assert made.to_pandas()["cheated"].isin(["no", "yes"]).all()
    assert made.to_polars(["weight", "cheated"]).columns == ["weight", "cheated"]


def test_a_release_opened_through_the_top_level_can_be_saved(made, tmp_path):
    """Without importing anything else first."""
    made.save(tmp_path / "a.parquet")
    code = f"import discreet; discreet.Release.open({str(tmp_path / 'a.parquet')!r}).save({str(tmp_path / 'b.csv')!r})"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert Release.open(tmp_path / "b.csv").rows == 60
