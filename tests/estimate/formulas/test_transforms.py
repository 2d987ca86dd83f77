"""Transforms that depend on all rows: the textbook's numbers, and the same whatever the batches."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from scipy.interpolate import CubicSpline

from discreet import Randomness
from discreet.estimate import regression
from discreet.estimate.data import map_reduce as passes
from discreet.estimate.formulas import Matrices, read_terms
from discreet.estimate.formulas.distribution import Distribution
from discreet.publish import release

N = 3000
RNG = np.random.default_rng(11)
X = np.sort(RNG.gamma(2.0, 20.0, N))  # sorted: every batch has another mean and another spread
AGE = RNG.integers(18, 80, N)
TABLE = pa.table({"x": X, "age": AGE, "sex": RNG.choice(["f", "m"], N)})
FORMULAS = [
    "scale(x)",
    "center(x)",
    "poly(x, 3)",
    "bs(x, df=6)",
    "cs(x, df=4)",
    "I(center(x) ** 2)",
    "scale(log(age)):sex",
]


def made(formula, batches, table=TABLE):
    matrices = Matrices(formula, read_terms(formula).columns, batches)
    return matrices.matrix(table)


@pytest.mark.parametrize("formula", FORMULAS)
def test_the_state_is_that_of_all_rows(formula):
    """Made from twenty batches and applied batch by batch, every row is coded as in one piece."""
    pieces = TABLE.to_batches(max_chunksize=150)
    matrices = Matrices(formula, read_terms(formula).columns, lambda: pieces)
    streamed = np.vstack([matrices.matrix(piece) for piece in pieces])
    np.testing.assert_allclose(streamed, made(formula, TABLE.to_batches), rtol=1e-9, atol=1e-9)


def test_center_and_scale():
    """Mean and standard deviation over rows, not over different values."""
    age = AGE.astype(float)
    np.testing.assert_allclose(made("center(age)", TABLE.to_batches)[:, 1], age - age.mean(), atol=1e-10)
    expected = (age - age.mean()) / age.std(ddof=1)
    np.testing.assert_allclose(made("scale(age)", TABLE.to_batches)[:, 1], expected, atol=1e-10)


def test_poly_is_orthonormal_over_the_rows():
    """As R's poly: columns of length one, orthogonal to each other and to the constant, up to sign those of QR."""
    columns = made("poly(x, 4)", TABLE.to_batches)[:, 1:]
    np.testing.assert_allclose(columns.T @ columns, np.eye(4), atol=1e-9)
    np.testing.assert_allclose(columns.sum(axis=0), 0.0, atol=1e-9)
    q, _ = np.linalg.qr(np.vander((X - X.mean()) / X.std(), 5, increasing=True))
    np.testing.assert_allclose(np.abs(columns), np.abs(q[:, 1:]), atol=1e-8)
    raw = made("poly(x, 2, raw=True)", TABLE.to_batches)[:, 1:]
    np.testing.assert_allclose(raw, np.column_stack([X, X**2]))


def test_bs_has_its_knots_at_quantiles():
    """Df − 3 inner knots; together with the dropped first column the splines sum to one."""
    columns = made("bs(x, df=6)", TABLE.to_batches)[:, 1:]
    knots = np.quantile(X, [0.25, 0.5, 0.75])
    given = made(f"bs(x, knots=[{', '.join(f'{k!r}' for k in knots.tolist())}])", TABLE.to_batches)[:, 1:]
    assert columns.shape == (N, 6)
    np.testing.assert_allclose(columns, given, atol=1e-9)
    assert columns.min() >= 0
    assert columns.sum(axis=1).max() <= 1 + 1e-12


def test_cs_spans_the_natural_splines():
    """With a constant, df columns reproduce every natural cubic spline on df + 1 knots, and have mean zero."""
    columns = made("cs(x, df=4)", TABLE.to_batches)
    np.testing.assert_allclose(columns[:, 1:].mean(axis=0), 0.0, atol=1e-10)
    knots = np.quantile(X, np.linspace(0, 1, 5))
    for values in np.eye(5):
        target = CubicSpline(knots, values, bc_type="natural")(X)
        fit = np.linalg.lstsq(columns, target, rcond=None)[0]
        np.testing.assert_allclose(columns @ fit, target, atol=1e-8)


def test_quantiles_of_counts_are_those_of_the_rows():
    """Ties and repeated values included."""
    ages = AGE.astype(float)
    found = Distribution.of([ages[:100], ages[100:], np.array([np.nan])], "age")
    p = np.linspace(0, 1, 37)
    np.testing.assert_allclose(found.quantiles(p), np.quantile(ages, p), atol=1e-12)
    assert found.deviation == pytest.approx(ages.std(ddof=1))


def test_a_streamed_fit_is_the_fit_in_memory(monkeypatch):
    """Above the limit rows are read batch by batch, with one state for all: the estimates are the same."""
    plan = {
        "public": [{"columns": ["x", "sex"]}],
        "private": [
            {
                "columns": ["ill"],
                "domain": {"binary": ["no", "yes"]},
                "mechanism": "randomized-response",
                "epsilon": 3.0,
            }
        ],
        "output": {"order": "keep"},
    }
    chance = 1 / (1 + np.exp(-(X - 40) / 20))
    table = TABLE.append_column("ill", pa.array(np.where(RNG.random(N) < chance, "yes", "no")))
    released = release(table, plan, randomness=Randomness.seeded(3))
    memory = regression("ill ~ scale(x) + sex", released)
    read = released.batches
    monkeypatch.setattr(passes, "HELD_BYTES", 0)
    monkeypatch.setattr(
        type(released), "batches", lambda _, names=None: (p for b in read(names) for p in _pieces(b, 250))
    )
    streamed = regression("ill ~ scale(x) + sex", released)
    np.testing.assert_allclose(streamed.estimate, memory.estimate, rtol=1e-6)
    np.testing.assert_allclose(streamed.std_error, memory.std_error, rtol=1e-5)


def _pieces(batch, rows):
    return [batch.slice(start, rows) for start in range(0, batch.num_rows, rows)]
