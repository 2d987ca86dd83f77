"""Regressions on several randomised columns, beside plain regressions on the true columns in the same run."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from experiments.several_columns.worlds import World, ten_columns, three_columns

from benchmarks.measure import Result, at_most, in_turn
from discreet.estimate.regressions.formula import corrected_regression

EPSILON = 2.0


def several_results(rows: int, repetitions: int) -> Iterator[Result]:
    """A logit with three randomised columns, and a linear model with ten of them and ``rows`` rows."""
    yield logit_result(100_000, repetitions)
    yield linear_result(rows, repetitions)


def true_columns(world: World, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The model matrix and outcome that somebody who knows the truth would use."""
    table = world.draw(n, np.random.default_rng(seed))
    outcome, predictors = (side.strip() for side in world.formula.split("~"))
    columns = [np.ones(n)]
    for name in predictors.split(" + "):
        values = table[name].to_numpy()
        if values.dtype.kind == "f":
            columns.append(values)
        else:
            columns += [(values == level).astype(float) for level in np.unique(values)[1:]]
    y = table[outcome].to_numpy()
    return np.column_stack(columns), y if y.dtype.kind == "f" else (y == "yes").astype(float)


def logit_result(n: int, repetitions: int) -> Result:
    """Reading the release, fit and standard errors, against statsmodels' Logit of the truth with standard errors."""
    import statsmodels.api as sm

    world = three_columns(EPSILON)
    made, (X, y) = world.released(n, 5), true_columns(world, n, 5)
    check(world, made)
    times = in_turn(
        lambda: corrected_regression(world.formula, made).std_error,
        lambda: sm.Logit(y, X).fit(disp=0).bse,
        repetitions,
    )
    work = f"logit of {n:.0e} rows, three randomised columns, from the release"
    return at_most(work, "statsmodels Logit on the truth", 10.0, 1 / times.ratio, times.detail(n, "statsmodels"))


def linear_result(n: int, repetitions: int) -> Result:
    """Reading the release, fit and standard errors, against numpy's least squares of the truth without them."""
    world = ten_columns(EPSILON)
    made, (X, y) = world.released(n, 6), true_columns(world, n, 6)
    check(world, made)
    times = in_turn(
        lambda: corrected_regression(world.formula, made).std_error,
        lambda: np.linalg.lstsq(X, y, rcond=None),
        repetitions,
    )
    work = f"linear model of {n:.0e} rows, ten randomised columns, from the release"
    return at_most(work, "numpy lstsq on the truth", 10.0, 1 / times.ratio, times.detail(n, "numpy"))


def check(world: World, made: object) -> None:
    """What was timed gives the coefficients back."""
    fit = corrected_regression(world.formula, made)  # type: ignore[arg-type]
    order = [fit.names.index(name) for name in world.truth]
    off = np.abs(fit.estimate[order] - list(world.truth.values())) / fit.std_error[order]
    if not fit.converged or off.max() > 6:
        raise RuntimeError("the regression that was timed does not give the coefficients back")
