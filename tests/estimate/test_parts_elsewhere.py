"""Passes over parts that lie elsewhere: the same figures as over all rows in one place, from sums alone."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from discreet import EstimationError, Randomness, Release, estimate, release
from discreet.audit import audit
from discreet.estimate.data import map_reduce as passes
from discreet.publish import outputs
from discreet.tables.readers import FolderTable

from .part_by_part import PartByPart
from .questions_of_parts import DROP, QUESTIONS, REGRESSIONS, released_in_parts

ROWS = 150_000
PLAN = {
    "format": 1,
    "output": {"order": "keep"},
    "public": [{"columns": ["age", "town"]}],
    "private": [
        {"columns": ["x"], "domain": {"binary": ["no", "yes"]}, "mechanism": "randomized-response", "epsilon": 1.0}
    ],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A release in three parts, more rows than the sample on which starts are tried, some with a missing value."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(outputs, "PART_BATCHES", 1)
        patch.setattr(outputs, "rows_per_batch", lambda _: 1 << 16)
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


def _agree(theirs, mine, atol=1e-10):
    np.testing.assert_allclose(theirs.estimate, mine.estimate, rtol=0, atol=atol)
    np.testing.assert_allclose(theirs.std_error, mine.std_error, rtol=0, atol=atol)


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """The same release here and elsewhere: a simple random sample, and a survey."""
    found = {}
    for name in ("plain", "survey"):
        out = released_in_parts(tmp_path_factory.mktemp(name) / "out", name == "survey")
        found[name] = Release.open(out), Release.open(out, engine=PartByPart())
    return found


@pytest.mark.parametrize("sample", ["plain", "survey"])
@pytest.mark.parametrize("question", QUESTIONS)
def test_estimates_come_back_as_sums(both, sample, question, monkeypatch):
    """Counts, means, totals and quantiles, with what changes the sums; and what is said of them."""
    here, there = both[sample]
    mine = QUESTIONS[question](here)
    there.engine.refuse_rows_here(monkeypatch)
    theirs = QUESTIONS[question](there)
    _agree(theirs, mine)
    assert theirs.notes == mine.notes
    assert theirs.summary() == mine.summary()


@pytest.mark.parametrize("sample", ["plain", "survey"])
@pytest.mark.parametrize("name", REGRESSIONS)
def test_regressions_come_back_as_sums(both, sample, name, monkeypatch):
    """All families, both kinds of fit, rows that are equal and rows that are not; marginal effects too."""
    here, there = both[sample]
    formula, options = REGRESSIONS[name]
    mine = estimate.regression(formula, here, **options, **DROP)
    wanted = mine.marginal_effects()
    there.engine.refuse_rows_here(monkeypatch)
    theirs = estimate.regression(formula, there, **options, **DROP)
    _agree(theirs, mine)
    _agree(theirs.marginal_effects(), wanted, 1e-9)
    assert (theirs.converged, theirs.status, theirs.n, theirs.notes) == (
        mine.converged,
        mine.status,
        mine.n,
        mine.notes,
    )
    assert theirs.summary() == mine.summary()


def test_what_is_sent_is_small(both):
    """Far below the megabyte above which PySpark writes a function to a file: no row, no table, no part but one."""
    _, there = both["plain"]
    if not there.engine.sent:
        pytest.skip("there is no pyspark")
    there.engine.sent.clear()
    for formula in ("x ~ age * s + c", "visits ~ age + s + c", "c ~ age"):
        estimate.regression(formula, there, **DROP).marginal_effects()
    estimate.mean(there, "hours", by="drinks")
    estimate.quantile(there, "hours", 0.5)
    assert len(there.engine.sent) > 20
    assert max(there.engine.sent) < 1 << 18


def test_more_groups_than_can_be_sent_are_refused(both, monkeypatch):
    """In one sentence that says how many and what to do; here they are worked out."""
    here, there = both["plain"]
    monkeypatch.setattr(passes, "MOST_SENT", 20)
    assert len(estimate.mean(here, "hours", by="town")) == 30
    for ask in (estimate.mean, estimate.frequencies):
        with pytest.raises(
            EstimationError, match=r"more than 20 combinations of clusters and groups.*without an engine"
        ):
            ask(there, "x", by="town")


def test_a_stratum_has_one_population_size_wherever_its_rows_lie(both):
    """Parts that contradict each other are refused like rows that do."""
    _, there = both["plain"]
    with pytest.raises(EstimationError, match="fpc"):
        estimate.frequencies(there, "x", strata="drinks", fpc="people")
