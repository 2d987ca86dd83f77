"""Regressions of, and on, one-of-k answers: equal rows put together, samples and streams give the same fit."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from discreet import Randomness, estimate, release
from discreet.estimate.data import map_reduce as passes
from discreet.estimate.regressions.likelihood import class_source, even_sample
from discreet.estimate.regressions.likelihood.multinomial import multinomial_regression
from discreet.estimate.regressions.likelihood.predictor import predictor_regression
from discreet.mechanisms import GeneralizedResponse

THREE = GeneralizedResponse(3, 2.0)
N = 6_000


def sample(seed=1, continuous=False):
    """A three-valued truth that depends on a covariate, and an outcome that depends on both."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=N) if continuous else rng.integers(0, 3, N) / 2
    odds = np.exp(np.column_stack([np.zeros(N), 0.3 + 0.5 * x, -0.4 + x]))
    truth = (rng.random(N)[:, None] > np.cumsum(odds / odds.sum(axis=1, keepdims=True), axis=1)).sum(axis=1)
    return {
        "X": np.column_stack([np.ones(N), x]),
        "y": THREE.privatize(truth, Randomness.seeded(seed)),
        "outcome": (rng.random(N) < 0.2 + 0.25 * truth).astype(float),
        "weights": rng.integers(1, 4, N).astype(float),
        "clusters": rng.integers(0, 60, N),
    }


def fits(data, kind, **more):
    if kind == "multinomial":
        return multinomial_regression(data["X"], data["y"], THREE, **more)
    return predictor_regression(data["outcome"], data["X"], data["y"], THREE, **more)


def same(one, other):
    assert one.converged
    assert other.converged
    assert one.coefficients == pytest.approx(other.coefficients, abs=1e-6)
    assert one.log_likelihood == pytest.approx(other.log_likelihood, abs=1e-6)
    for covariance in ("model", "observed", "robust"):
        assert one.covariance_of(covariance) == pytest.approx(other.covariance_of(covariance), rel=1e-5, abs=1e-9)
    assert one.covariance == pytest.approx(other.covariance, rel=1e-5, abs=1e-9)


@pytest.mark.parametrize("kind", ["multinomial", "predictor"])
@pytest.mark.parametrize("aside", [(), ("weights",), ("clusters",), ("weights", "clusters")])
def test_equal_rows_put_together_change_nothing(monkeypatch, kind, aside):
    """Coefficients and every covariance are those of the rows one by one."""
    data = sample()
    more = {name: data[name] for name in aside}
    together = fits(data, kind, **more)
    assert next(together.objective.source.chunks()).size <= 3 * 3 * 2
    monkeypatch.setattr(class_source, "_DIFFERENT", 0)
    single = fits(data, kind, **more)
    assert next(single.objective.source.chunks()).size == N
    same(together, single)
    if kind == "multinomial":
        effects, others = together.marginal_effects(), single.marginal_effects()
        assert effects.coefficients == pytest.approx(others.coefficients, abs=1e-6)
        assert effects.covariance == pytest.approx(others.covariance, rel=1e-4, abs=1e-9)
        assert together.naive().coefficients == pytest.approx(single.naive().coefficients, abs=1e-6)


@pytest.mark.parametrize("kind", ["multinomial", "predictor"])
def test_starts_on_a_sample_change_nothing(monkeypatch, kind):
    """Of rows that all differ a sample is tried first, and all are climbed."""
    data = sample(2, continuous=True)
    whole = fits(data, kind)
    monkeypatch.setattr(even_sample, "SAMPLE", 1_000)
    same(fits(data, kind), whole)


@pytest.mark.parametrize(
    ("formula", "family"), [("answer ~ x", "auto"), ("done ~ x + answer", "binary"), ("age ~ x + answer", "linear")]
)
def test_rows_are_read_again_where_they_do_not_fit(monkeypatch, formula, family):
    """Nothing held: every pass reads the release anew, and the fit is the same."""
    data = sample(3, continuous=True)
    table = pa.table(
        {
            "x": data["X"][:, 1],
            "answer": np.array(["a", "b", "c"])[data["y"]],
            "done": data["outcome"],
            "age": data["outcome"] + np.random.default_rng(4).normal(size=N),
        }
    )
    asked = {"domain": {"categorical": ["a", "b", "c"]}, "mechanism": "randomized-response", "epsilon": 3.0}
    plan = {"public": [{"columns": ["x", "done", "age"]}], "private": [{**asked, "columns": ["answer"]}]}
    made = release(table, plan, randomness=Randomness.seeded(5))
    held = estimate.regression(formula, made, family, method="likelihood")
    monkeypatch.setattr(passes, "HELD_BYTES", 0)
    monkeypatch.setattr(even_sample, "SAMPLE", 1_000)
    read = estimate.regression(formula, made, family, method="likelihood")
    same(read, held)
    assert read.passes > 3


def test_classes_without_people_are_named_with_what_to_fit_instead():
    """A class that never occurs has no finite coefficients; the fit says so at once and says what to do."""
    rng = np.random.default_rng(6)
    mechanism = GeneralizedResponse(16, 2.0)
    group = rng.integers(0, 2, 40_000)
    reports = rng.integers(0, 15, 40_000)  # fewer reports of the last class than the noise alone would give
    fit = multinomial_regression(np.column_stack([np.ones(40_000), group]), reports, mechanism)
    assert not fit.converged
    assert "infinite" in fit.status
    assert '"15: x1"' in fit.status
    assert "put them together with others" in fit.summary()
    assert "frequencies by group" in fit.summary()
