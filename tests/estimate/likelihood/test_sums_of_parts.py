"""Likelihood fits whose rows lie in parts elsewhere: only sums come back, and the fit is that of all rows."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from discreet.errors import EstimationError
from discreet.estimate.data import map_reduce as passes
from discreet.estimate.regressions.likelihood import class_source, even_sample
from discreet.estimate.regressions.likelihood.fit import fit_binary
from discreet.estimate.regressions.likelihood.links import LINKS
from discreet.estimate.regressions.likelihood.multinomial import fit_multinomial
from discreet.estimate.regressions.likelihood.multinomial_rows import class_rows
from discreet.estimate.regressions.likelihood.predictor import fit_predictor
from discreet.estimate.regressions.likelihood.rows import ArrayRows, checked_rows
from discreet.estimate.sampling.unit_totals import UnitTotals

from .test_class_source import THREE, N, sample

NAMES, CLASSES = ("one", "x"), ("a", "b", "c")


@dataclass
class Elsewhere:
    """Rows cut into parts; nobody may read them here, and what a pass gives has to travel."""

    rows: Any
    cuts: tuple[int, ...]

    def chunks(self):
        """Whoever reads them here is wrong."""
        raise AssertionError("rows were read here")

    def each(self, work):
        """The sums of every part, some of which may be empty."""
        ends = [0, *self.cuts, self.rows.size]
        parts = [self.rows.take(slice(*pair)) for pair in pairwise(ends)]
        return [pickle.loads(pickle.dumps(work(iter([part] if part.size else [])))) for part in parts]


CUTS = [(), (1,), (3, 3, 2_000), tuple(range(500, N, 500))]


def same(theirs, mine):
    """All that a fit says, to 1e-10."""
    assert theirs.converged == mine.converged
    assert theirs.status == mine.status
    assert theirs.passes == mine.passes
    np.testing.assert_allclose(theirs.coefficients, mine.coefficients, rtol=0, atol=1e-10)
    np.testing.assert_allclose(theirs.covariance, mine.covariance, rtol=0, atol=1e-10)
    np.testing.assert_allclose(theirs.log_likelihood, mine.log_likelihood, rtol=1e-12)
    assert theirs.degrees_of_freedom == pytest.approx(mine.degrees_of_freedom, rel=1e-9)
    one, other = theirs.marginal_effects(), mine.marginal_effects()
    np.testing.assert_allclose(one.estimate, other.estimate, rtol=0, atol=1e-9)
    np.testing.assert_allclose(one.std_error, other.std_error, rtol=0, atol=1e-9)


def data(aside, *, continuous=True):
    """Rows, and what else is known about them."""
    found = sample(7, continuous=continuous)
    found["strata"] = found["clusters"] % 3
    return found, {name: found[name] for name in aside}


SURVEYS = [(), ("weights",), ("clusters",), ("strata",), ("weights", "strata", "clusters")]


@pytest.mark.parametrize("aside", SURVEYS)
@pytest.mark.parametrize("cuts", CUTS)
@pytest.mark.parametrize("continuous", [True, False])
def test_classes_as_outcome_and_as_predictor(aside, cuts, continuous, monkeypatch):
    """Weights, clusters that reach over parts, strata; rows that all differ, of which a sample is tried, and few."""
    monkeypatch.setattr(even_sample, "SAMPLE", 1_000)
    found, more = data(aside, continuous=continuous)
    rows, channels = class_rows(found["X"], found["y"], THREE, outcome=found["outcome"], **more)
    for fit in (
        lambda source: fit_multinomial(source, channels, NAMES, CLASSES),
        lambda source: fit_predictor(source, NAMES, CLASSES, family="logit"),
    ):
        mine = fit(ArrayRows(rows))
        same(fit(Elsewhere(rows, cuts)), mine)
        assert (mine.seen.together is None) == continuous


@pytest.mark.parametrize("aside", SURVEYS)
@pytest.mark.parametrize("cuts", CUTS)
def test_yes_and_no(aside, cuts, monkeypatch):
    """The same for a yes/no answer; with Firth's penalty where there is no survey, and read literally."""
    monkeypatch.setattr(even_sample, "SAMPLE", 1_000)
    found, more = data(aside)
    rows = checked_rows(found["X"], (found["y"] > 0).astype(int), 0.8, 0.7, **more)
    for penalty in (None, "firth") if not aside else (None,):
        mine, theirs = (
            fit_binary(source, LINKS["logit"], NAMES, penalty) for source in (ArrayRows(rows), Elsewhere(rows, cuts))
        )
        same(theirs, mine)
        assert theirs.summary() == mine.summary()
    same(theirs.naive(), mine.naive())


def test_columns_that_depend_on_each_other_are_found_elsewhere():
    """By the triangular factors of the parts."""
    found, _ = data(())
    X = np.column_stack([found["X"], 2 * found["X"][:, 1] + 1])
    rows = checked_rows(X, (found["y"] > 0).astype(int), 0.8, 0.7)
    with pytest.raises(EstimationError, match="collinear"):
        fit_binary(Elsewhere(rows, (100, 3_000)), LINKS["logit"], ("one", "x", "z"))


def test_a_sample_is_the_same_for_any_cuts(monkeypatch):
    """The very same rows; and no more than asked for."""
    monkeypatch.setattr(even_sample, "SAMPLE", 100)
    found, _ = data(())
    rows = checked_rows(found["X"], (found["y"] > 0).astype(int), 0.8, 0.7)

    def looking(chunks):
        made = even_sample.EvenSample()
        for chunk in chunks:
            made.add(chunk)
        return made

    taken = []
    for cuts in CUTS:
        parts = Elsewhere(rows, cuts).each(looking)
        whole = parts[0]
        for part in parts[1:]:
            whole = whole + part
        taken.append(np.concatenate([part.X[:, 1] for part in whole.parts()]))
    assert 50 < taken[0].size <= 100
    for one in taken[1:]:
        np.testing.assert_array_equal(one, taken[0])


def test_too_many_clusters_do_not_travel(monkeypatch):
    """One sentence with the number and what to do instead; here there is no such limit."""
    monkeypatch.setattr(passes, "MOST_SENT", 50)
    found, more = data(("clusters",))
    rows = checked_rows(found["X"], (found["y"] > 0).astype(int), 0.8, 0.7, **more)
    assert fit_binary(ArrayRows(rows), LINKS["logit"], NAMES).converged
    with pytest.raises(EstimationError, match=r"more than 50 clusters.*one machine"):
        fit_binary(Elsewhere(rows, (2_000,)), LINKS["logit"], NAMES)


def test_recurring_clusters_and_labels_of_text_add_up():
    """A label in two strata is two clusters, whichever part it came in; parts without rows change nothing."""
    rng = np.random.default_rng(3)
    strata, clusters = rng.choice(["n", "s"], 400), rng.choice(["a", "b", "c", "d"], 400)
    scores = rng.normal(size=(400, 2))

    def sums(some):
        made = UnitTotals(2)
        made.add(strata[some], clusters[some], scores[some])
        return made

    whole = sums(slice(None)).finished()
    parts = UnitTotals(2) + sums(slice(300, 400)) + sums(slice(0, 7)) + sums(slice(7, 300)) + UnitTotals(2)
    found = parts.finished()
    assert (found.clusters, found.strata, found.recurring) == (8, 2, True)
    assert (whole.clusters, whole.strata, whole.recurring) == (8, 2, True)
    np.testing.assert_allclose(found.scores, whole.scores, rtol=1e-12)


def test_equal_rows_of_parts_are_put_together(monkeypatch):
    """As many different rows as in one piece, with the same sums; too many in one part are too many."""
    found, more = data(("weights",), continuous=False)
    rows, _ = class_rows(found["X"], found["y"], THREE, **more)
    order = {}
    for cuts in CUTS:
        seen = class_source.look(Elsewhere(rows, cuts), NAMES).together
        keys = [tuple(key) for key in np.column_stack([seen.X, seen.report])]
        order[cuts] = {key: (w, s) for key, w, s in zip(keys, seen.weights, seen.squares, strict=True)}
        assert order[cuts] == order[()]
    monkeypatch.setattr(class_source, "_DIFFERENT", 4)
    assert class_source.look(Elsewhere(rows, (100,)), NAMES).together is None
