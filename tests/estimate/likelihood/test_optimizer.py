"""Climbing log-likelihoods that are not concave."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.estimate.regressions.likelihood.links import link_named
from discreet.estimate.regressions.likelihood.objective import Anchored, Objective
from discreet.estimate.regressions.likelihood.rows import ArrayRows, Rows
from discreet.estimate.regressions.likelihood.search import random_starts
from discreet.estimate.regressions.likelihood.yes_no import BinaryModel
from discreet.estimate.regressions.optimise import maximise


def many_columns(seed, n=4_000, columns=50, right=0.65):
    """A surface with rare and frequent yes/no columns, all of one spread, under strong randomisation."""
    rng = np.random.default_rng(seed)
    own = (rng.random((n, columns - 1)) < np.geomspace(0.002, 0.3, columns - 1)).astype(float)
    own[0] = 1
    X = np.column_stack([np.ones(n), (own - own.mean(axis=0)) / own.std(axis=0)])
    truth = rng.random(n) < 1 / (1 + np.exp(1 - X[:, -6:].sum(axis=1)))
    made = np.where(rng.random(n) < right, truth, ~truth).astype(np.uint8)
    design = np.array([[right, 1 - right], [1 - right, right]])
    rows = Rows(X, made, design[:, :, None], given_no=design[0, made], given_yes=design[1, made])
    model = BinaryModel(link_named("logit"))
    return Anchored(Objective(model, ArrayRows(rows), X.T @ X / n, n), 0.01), np.abs(X).max(axis=0)


@pytest.mark.parametrize("seed", [1, 2])
def test_climbs_with_many_columns_end_at_a_maximum(seed):
    """By expected information alone none of them did within a hundred steps, and eighty columns took minutes."""
    surface, scale = many_columns(seed)
    for start in random_starts(surface.metric):
        found = maximise(surface, start, scale=scale)
        assert found.outcome == "maximum"
        terms = surface.terms(found.theta, "observed")
        assert np.linalg.eigvalsh(terms.information)[0] > 0
        assert float(terms.score @ np.linalg.solve(terms.information, terms.score)) < 1e-8
