"""Estimates that run where the data are: the same figures as on one machine, from sums that the executors made."""

from __future__ import annotations

import numpy as np
import pytest

from discreet import EstimationError, Release, engines, estimate
from discreet.audit import audit
from discreet.manifest.folder import FolderTable

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::ResourceWarning")


@pytest.fixture
def here(shuffled):
    """The release, read on this machine."""
    return Release.open(shuffled)


@pytest.fixture
def there(shuffled, engine):
    """The release, read by Spark."""
    return Release.open(shuffled, engine=engine)


@pytest.fixture
def no_rows_here(monkeypatch):
    """Whoever reads rows of the release in this process fails."""

    def refuse(*_):
        raise AssertionError("rows were read here")

    monkeypatch.setattr(FolderTable, "batches", refuse)
    monkeypatch.setattr(engines.spark, "repeated", refuse)


def same(theirs, mine):
    """Estimates and errors agree to 1e-10."""
    np.testing.assert_allclose(theirs.estimate, mine.estimate, atol=1e-10, rtol=0)
    np.testing.assert_allclose(theirs.std_error, mine.std_error, atol=1e-10, rtol=0)


QUESTIONS = {
    "frequencies": lambda one: estimate.frequencies(one, "k"),
    "grouped frequencies": lambda one: estimate.frequencies(one, "x", by="region")["n"],
    "weighted frequencies": lambda one: estimate.frequencies(one, "x", weights="w"),
    "crosstab": lambda one: estimate.crosstab(one, "x", "region"),
    "mean": lambda one: estimate.mean(one, "k"),
    "grouped mean": lambda one: estimate.mean(one, "k", by="region")["s"],
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_counts_are_made_there(question, here, there, request):
    """And identical: the driver reads no row and rebuilds none."""
    ask = QUESTIONS[question]
    mine = ask(here)
    request.getfixturevalue("no_rows_here")
    same(ask(there), mine)


def test_a_regression_is_summed_there(here, there, request):
    """With a covariate that differs in every row: gradients and informations come back, no row is read here."""
    mine = estimate.regression("x ~ region * age", here)
    request.getfixturevalue("no_rows_here")
    theirs = estimate.regression("x ~ region * age", there)
    same(theirs, mine)
    assert (theirs.converged, theirs.n, theirs.status) == (mine.converged, mine.n, mine.status)
    assert theirs.log_likelihood == pytest.approx(mine.log_likelihood, rel=1e-12)
    assert theirs.passes == mine.passes
    assert theirs.summary() == mine.summary()


def test_an_audit_reads_the_parts_there(here, there, request):
    """Digests, labels and counts: the same findings, and no cell is read here."""
    mine = audit(here)
    request.getfixturevalue("no_rows_here")
    assert audit(there).to_dict() == mine.to_dict()
    assert {finding.subject: finding.verdict for finding in mine.findings}["cells"] == "ok"


def test_what_needs_all_rows_reads_them_here(here, there):
    """A penalty, a transform of all values, effects: the same figures."""
    same(*(estimate.regression("x ~ region", one, penalty="firth") for one in (there, here)))
    mine, theirs = (estimate.regression("x ~ scale(age)", one) for one in (here, there))
    same(theirs, mine)
    same(theirs.marginal_effects(), mine.marginal_effects())


def test_what_is_wrong_is_one_sentence(there):
    """As on one machine, whoever finds it."""
    with pytest.raises(EstimationError, match="collinear"):
        estimate.regression("x ~ age + I(2 * age)", there)
    with pytest.raises(EstimationError, match="which the release does not have"):
        estimate.regression("x ~ height", there)


def test_the_command_line_asks_spark(shuffled, session, cluster, here):
    """Estimates and audits with --engine spark; a file of its own is refused."""
    from typer.testing import CliRunner

    from discreet.cli.app import app

    far = ["--engine", "spark", "--master", cluster.url]
    for question in (["estimate", "frequencies", str(shuffled), "x", "--json"], ["audit", str(shuffled), "--json"]):
        theirs, mine = (CliRunner().invoke(app, [*question, *more]) for more in (far, []))
        assert theirs.exit_code == mine.exit_code
        assert theirs.stdout == mine.stdout
    refused = CliRunner().invoke(app, ["estimate", "mean", str(shuffled / "_manifest.json"), "k", *far])
    assert refused.exit_code == 2
    assert "release in a folder" in refused.output
