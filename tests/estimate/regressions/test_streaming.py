"""Regressions on several randomised columns in bounded memory: the same fit, whatever is kept and however it is cut."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from discreet import Randomness, release
from discreet.estimate.data import map_reduce
from discreet.estimate.regressions import first_look, model, reading
from discreet.estimate.regressions.formula import corrected_regression

from .test_formula import PLAN, released, truth

FITS = {
    "logit": ("cheated ~ age + smokes + region", {}),
    "mixed": ("cheated ~ age * smokes + sex", {}),
    "probit": ("sex ~ age + smokes", {"link": "probit"}),
    "linear": ("grade ~ age + smokes + hours", {}),
    "linear, both sides": ("hours ~ smokes + region + age", {"family": "linear"}),
    "linear over cells": ("grade ~ age * smokes", {}),
    "poisson": ("visits ~ hours + smokes + scale(age)", {"family": "poisson"}),
    "multinomial": ("region ~ age + smokes", {}),
    "ordinal": ("hours ~ age + smokes", {"family": "ordinal"}),
    "median": ("grade ~ age + smokes", {"family": "quantile"}),
    "huber": ("grade ~ age + smokes", {"family": "huber"}),
    "hinge": ("cheated ~ age + smokes", {"family": "hinge"}),
    "few rows differ": ("cheated ~ sex * smokes + region", {}),
    "few rows differ, linear": ("hours ~ sex + smokes + region", {"family": "linear"}),
}


@pytest.fixture(scope="module", params=["", 'weight = "w"\ncluster = "town"\nstrata = "sex"'], ids=["plain", "survey"])
def made(request):
    """A release, as a simple random sample and as a survey."""
    return released(truth(1_500), 4.0, survey=request.param)


@pytest.mark.parametrize("name", FITS)
def test_nothing_depends_on_what_is_kept_or_on_how_rows_are_cut(made, name, monkeypatch):
    """Rows in pieces of 611, made and looked at anew in every pass, equal rows apart: estimates, errors, effects."""
    formula, options = FITS[name]
    whole = corrected_regression(formula, made, **options)
    wanted = whole.marginal_effects()
    monkeypatch.setattr(map_reduce, "HELD_BYTES", 0)
    monkeypatch.setattr(reading, "_ROWS", 611)
    monkeypatch.setattr(first_look, "_DIFFERENT", 0)
    monkeypatch.setattr(model, "_AT_ONCE", 2_000)
    again = corrected_regression(formula, made, **options)
    assert again.converged == whole.converged
    np.testing.assert_allclose(again.estimate, whole.estimate, rtol=0, atol=1e-10)
    np.testing.assert_allclose(again.std_error, whole.std_error, rtol=0, atol=1e-10)
    effects = again.marginal_effects()
    np.testing.assert_allclose(effects.estimate, wanted.estimate, rtol=0, atol=1e-10)
    np.testing.assert_allclose(effects.std_error, wanted.std_error, rtol=0, atol=1e-9)
    assert again.sampling == whole.sampling or again.sampling.clusters == whole.sampling.clusters


def test_equal_rows_of_different_pieces_are_found(monkeypatch):
    """Three thousand rows in pieces of 211 are the same few rows as in one piece."""
    made = released(truth(3_000), 3.0)
    whole = corrected_regression("cheated ~ sex * smokes", made)
    monkeypatch.setattr(reading, "_ROWS", 211)
    again = corrected_regression("cheated ~ sex * smokes", made)
    assert again.risk.rows == whole.risk.rows < 20
    np.testing.assert_allclose(again.covariance, whole.covariance, rtol=1e-10)


FIT = """
import resource, sys
from discreet import Release, engines
from discreet.estimate.data import map_reduce
from discreet.estimate.regressions import reading
from discreet.estimate.regressions.formula import corrected_regression
from discreet.tables import readers as tables
tables.MAX_BATCH_ROWS = reading._ROWS = 1 << 15
map_reduce.HELD_BYTES = 1 << 22
peaks = []
for path in sys.argv[1:]:
    for formula in ("cheated ~ age + smokes + region", "grade ~ age + smokes + hours"):
        fit = corrected_regression(formula, Release.open(path))
        assert fit.converged
    peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
print(*peaks)
"""


def test_memory_does_not_grow_with_the_rows(tmp_path):
    """A public number that differs in every row: the peak with six times the rows is that with few.

    Held in memory the rows took 400 bytes each, 120 MB more.
    """
    for name, n in (("few", 60_000), ("many", 360_000)):
        plan = tmp_path / "plan.toml"
        plan.write_text(PLAN.format(epsilon=3.0, survey="", options=""))
        release(truth(n), plan, tmp_path / f"{name}.parquet", Randomness.seeded(1), ledger=None)
    paths = [str(tmp_path / f"{name}.parquet") for name in ("few", "many")]
    done = subprocess.run([sys.executable, "-c", FIT, *paths], capture_output=True, text=True, check=True)
    few, many = (int(number) for number in done.stdout.split())
    assert many - few < 50 << 10, (few, many)
