"""What the tests of this layer share: small tables, plans, and a ledger of their own."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

CHEATED = {
    "columns": ["cheated"],
    "domain": {"binary": ["no", "yes"]},
    "mechanism": "randomized-response",
    "epsilon": 1.0,
}


def plan_of(*private, **more):
    """A plan as plain data; by default one yes/no column."""
    return {"private": list(private) or [CHEATED], **more}


def block_of(**changes):
    """The yes/no block with changes; None removes a key."""
    return {key: value for key, value in (CHEATED | changes).items() if value is not None}


@pytest.fixture(autouse=True)
def own_ledger(tmp_path_factory, monkeypatch):
    """Every test has a state folder of its own."""
    state = tmp_path_factory.mktemp("state")
    monkeypatch.setenv("XDG_STATE_HOME", str(state))
    return state / "discreet" / "ledger.sqlite"


@pytest.fixture
def table():
    return pa.table(
        {
            "id": ["a", "b", "c", "d"],
            "sex": ["f", "m", "f", "m"],
            "cheated": ["no", "yes", "no", "no"],
            "secret": ["w", "x", "y", "z"],
        }
    )


@pytest.fixture(params=["parquet", "csv"])
def source(request, table, tmp_path):
    """The table as a file in a folder of its own."""
    folder = tmp_path / "in"
    folder.mkdir()
    path = folder / f"truth.{request.param}"
    if request.param == "parquet":
        pq.write_table(table, path)
    else:
        pa_csv.write_csv(table, path)
    return path


@pytest.fixture
def out(tmp_path):
    """An empty folder for outputs."""
    folder = tmp_path / "out"
    folder.mkdir()
    return folder
