"""Passes over parts that lie elsewhere: the same fit as over all rows in one place."""

from __future__ import annotations

import pickle

import numpy as np
import pyarrow as pa
import pytest

from discreet import Randomness, Release, engines, estimate, release
from discreet.audit import audit
from discreet.manifest.folder import FolderTable
from discreet.publish.run import folder_output

ROWS = 150_000
PLAN = {
    "format": 1,
    "output": {"order": "keep"},
    "public": [{"columns": ["age", "town"]}],
    "private": [
        {"columns": ["x"], "domain": {"binary": ["no", "yes"]}, "mechanism": "randomized-response", "epsilon": 1.0}
    ],
}


class PartByPart(engines.Local):
    """Works on every part by itself, with nothing but what can be sent there and back."""

    keeps_order = False

    def over_parts(self, table, work):
        """One part after the other, the last one first."""
        names = [part.name for part in table.parts]
        found = {name: pickle.loads(pickle.dumps(work(name))) for name in reversed(names)}
        return [found[name] for name in names]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A release in three parts, more rows than the sample on which starts are tried, some with a missing value."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(folder_output, "PART_BATCHES", 1)
        patch.setattr(folder_output, "rows_per_batch", lambda _: 1 << 16)
        rng = np.random.default_rng(1)
        age = rng.normal(size=ROWS)
        truth = np.array(["no", "yes"])[(rng.random(ROWS) < 1 / (1 + np.exp(1 - age))).astype(int)]
        town = pa.array(np.array(["n", "s", "w"])[rng.integers(0, 3, ROWS)])
        table = pa.table({"age": pa.array(age, mask=np.arange(ROWS) % 1000 == 7), "town": town, "x": truth})
        out = tmp_path_factory.mktemp("far") / "out"
        release(table, PLAN, out, Randomness.seeded(1))
    assert len(Release.open(out).manifest.files) == 3
    return out


def test_a_fit_is_that_of_one_place(folder):
    """Starts from the same sample, as many passes, the same figures; rows left out are counted."""
    asked = {"formula": "x ~ age + C(town)", "missing": "drop"}
    here = estimate.regression(release=Release.open(folder), **asked)
    there = estimate.regression(release=Release.open(folder, engine=PartByPart()), **asked)
    np.testing.assert_allclose(there.estimate, here.estimate, atol=1e-12, rtol=0)
    np.testing.assert_allclose(there.std_error, here.std_error, atol=1e-12, rtol=0)
    assert there.n == here.n == ROWS - ROWS // 1000
    assert there.facts.sample.size == pytest.approx(here.facts.sample.size, abs=200)
    assert there.facts.designs == here.facts.designs
    assert there.summary() == here.summary()


def test_the_sample_is_the_same_rows(folder):
    """Without rows left out: which rows are tried first does not depend on where they lie."""
    here, there = (estimate.regression("x ~ C(town)", Release.open(folder, engine=one)) for one in (None, PartByPart()))
    np.testing.assert_array_equal(there.facts.sample.X, here.facts.sample.X)
    np.testing.assert_array_equal(there.facts.sample.report, here.facts.sample.report)
    np.testing.assert_allclose(there.estimate, here.estimate, atol=1e-12, rtol=0)


def test_an_audit_is_that_of_one_place(folder, monkeypatch):
    """Digests and counts of parts are put together; a changed cell is found in the same words."""
    assert audit(Release.open(folder, engine=PartByPart())).to_dict() == audit(Release.open(folder)).to_dict()
    here, there = Release.open(folder), Release.open(folder, engine=PartByPart())
    read = FolderTable.batches

    def changed(self, columns):
        for number, batch in enumerate(read(self, columns)):
            yield batch if number else _moved(batch)

    monkeypatch.setattr(FolderTable, "batches", changed)
    mine, theirs = audit(here).to_dict(), audit(there).to_dict()
    assert not theirs["passed"]
    assert mine["passed"] == theirs["passed"]


def _moved(batch):
    """The first row at the end."""
    order = np.roll(np.arange(batch.num_rows), -1)
    return batch.take(pa.array(order))
