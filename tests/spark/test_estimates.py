"""Estimates that run where the data are: the same figures as on one machine, from sums that the executors made."""

from __future__ import annotations

import numpy as np
import pytest

from discreet import EstimationError, Release, engines, estimate
from discreet.audit import audit
from discreet.estimate.regressions.likelihood import even_sample
from discreet.reading.over_parts import over_parts
from discreet.tables.readers import FolderTable
from tests.estimate.questions_of_parts import DROP, QUESTIONS, REGRESSIONS, released_in_parts

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::ResourceWarning")


@pytest.fixture
def here(shuffled):
    """The release, read on this machine."""
    return Release.open(shuffled)


@pytest.fixture
def there(shuffled, engine):
    """The release, read by Spark."""
    return Release.open(shuffled, engine=engine)


def refuse_rows(monkeypatch):
    """Whoever reads rows of a release in this process fails."""

    def refuse(*_):
        raise AssertionError("rows were read here")

    monkeypatch.setattr(FolderTable, "batches", refuse)


@pytest.fixture
def no_rows_here(monkeypatch):
    """From now on."""
    refuse_rows(monkeypatch)


def same(theirs, mine):
    """Estimates and errors agree to 1e-10."""
    np.testing.assert_allclose(theirs.estimate, mine.estimate, atol=1e-10, rtol=0)
    np.testing.assert_allclose(theirs.std_error, mine.std_error, atol=1e-10, rtol=0)


COUNTS = {
    "frequencies": lambda one: estimate.frequencies(one, "k"),
    "grouped frequencies": lambda one: estimate.frequencies(one, "x", by="region")["n"],
    "weighted frequencies": lambda one: estimate.frequencies(one, "x", weights="w"),
    "crosstab": lambda one: estimate.crosstab(one, "x", "region"),
    "mean": lambda one: estimate.mean(one, "k"),
    "grouped mean": lambda one: estimate.mean(one, "k", by="region")["s"],
}


@pytest.mark.parametrize("question", COUNTS)
def test_counts_are_made_there(question, here, there, request):
    """And identical: the driver reads no row and rebuilds none."""
    ask = COUNTS[question]
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


@pytest.fixture(scope="module")
def survey(tmp_path_factory, engine):
    """A survey in three parts, made on one machine: read here, and by Spark."""
    out = released_in_parts(tmp_path_factory.mktemp("survey") / "out", True)
    return Release.open(out), Release.open(out, engine=engine)


@pytest.mark.parametrize(
    "question",
    ["mean of numbers with noise", "mean by town", "quantile of public numbers"],
)
def test_means_of_numbers_are_summed_there(question, survey, monkeypatch):
    """Of numbers that differ in every row, with weights, strata and clusters: no row is read here."""
    here, there = survey
    mine = QUESTIONS[question](here)
    refuse_rows(monkeypatch)
    theirs = QUESTIONS[question](there)
    same(theirs, mine)
    assert theirs.summary() == mine.summary()


@pytest.mark.parametrize(
    "name",
    ["classes", "yes/no on an answer", "corrected", "corrected, linear"],
)
def test_regressions_with_strata_and_clusters_are_summed_there(name, survey, monkeypatch):
    """Of several classes, on a randomised predictor and through the corrected loss; marginal effects too."""
    here, there = survey
    monkeypatch.setattr(even_sample, "SAMPLE", 500)  # fewer than there are rows: the climb passes over the parts
    formula, options = REGRESSIONS[name]
    mine = estimate.regression(formula, here, **options, **DROP)
    wanted = mine.marginal_effects()
    refuse_rows(monkeypatch)
    theirs = estimate.regression(formula, there, **options, **DROP)
    same(theirs, mine)
    same(theirs.marginal_effects(), wanted)
    assert theirs.summary() == mine.summary()


def test_sums_of_many_parts_are_added_up_there(survey, monkeypatch):
    """Two at a time, on the executors, in the order of the parts: few come back however many parts there are."""
    here, there = survey

    def rows(part, first_row):
        return [(first_row, sum(batch.num_rows for batch in part.batches(["x"])))]

    monkeypatch.setattr(engines.spark, "AT_ONCE", 2)
    alone = over_parts(there, rows)
    assert [first for [(first, _)] in alone] == [0, 1_100, 2_200]
    assert over_parts(there, rows, add=True) == [alone[0] + alone[1], alone[2]]
    same(estimate.frequencies(there, "c"), estimate.frequencies(here, "c"))


def test_a_penalty_is_summed_there_and_residuals_are_read_here(here, there, monkeypatch):
    """What has one number for every row, or needs all rows at once, is the same in the time of one machine."""
    mine, theirs = estimate.regression("x ~ region", here), estimate.regression("x ~ region", there)
    np.testing.assert_allclose(theirs.residuals(), mine.residuals(), atol=1e-10, rtol=0)
    np.testing.assert_allclose(theirs.interval(method="score"), mine.interval(method="score"), atol=1e-6, rtol=0)
    penalised = estimate.regression("x ~ region", here, penalty="firth")
    refuse_rows(monkeypatch)
    same(estimate.regression("x ~ region", there, penalty="firth"), penalised)


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
