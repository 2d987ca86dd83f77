"""Coverage and error of regressions on several randomised columns, over many releases: what users get.

    python -m experiments.several_columns [three | ten | joint] [--epsilon 1 2 3] [--n 20000] [--runs 2000] [--seed 1]
    python -m experiments.several_columns likelihood [--epsilon 1 2 3] [--n 20000] [--runs 200]

``three``: a logit with three randomised columns. ``ten``: a linear model with ten. ``joint``: a logit of one on three
others of ten columns that were randomised together. Every run draws a new table. ``likelihood``: the corrected loss
beside maximum likelihood with a correct model of the predictors, in the setting of ``three``.
"""

from __future__ import annotations

import argparse
import math

import numpy as np

from discreet.estimate.regressions.formula import corrected_regression

from .maximum_likelihood import maximum_likelihood
from .worlds import WORLDS, three_columns


def coverage(what: str, epsilon: float, n: int, runs: int, seed: int) -> None:
    """Coverage of 95 % intervals, spread beside mean standard error, and failures."""
    world = WORLDS[what](epsilon)
    wanted = np.array(list(world.truth.values()))
    inside, estimates, errors, failed = [], [], [], 0
    for run in range(runs):
        fit = corrected_regression(world.formula, world.released(n, seed * 1_000_003 + run), family=world.family)
        order = [fit.names.index(name) for name in world.truth]
        low, high = fit.interval()[order].T
        if not fit.converged:
            failed += 1
            continue
        inside.append((low <= wanted) & (wanted <= high))
        estimates.append(fit.estimate[order])
        errors.append(fit.std_error[order])
    found, spread = np.array(estimates), np.std(estimates, axis=0, ddof=1)
    share = np.mean(inside, axis=0)
    print(f"{what}: ε = {epsilon:g} per column, n = {n:,}, {runs} runs, {failed} without a minimum")
    for j, name in enumerate(world.truth):
        print(
            f"  {name:<12} true {wanted[j]:6.2f}  bias {np.mean(found[:, j]) - wanted[j]:7.4f}  sd {spread[j]:.4f}  "
            f"mean se {np.mean(np.array(errors)[:, j]):.4f}  covered {share[j]:.3f} ± "
            f"{math.sqrt(0.95 * 0.05 / len(inside)):.3f}"
        )
    print(f"  coverage from {share.min():.3f} to {share.max():.3f}", flush=True)


def beside_likelihood(epsilon: float, n: int, runs: int, seed: int) -> None:
    """Root mean squared errors of both, and their ratio."""
    world = three_columns(epsilon)
    wanted = np.array(list(world.truth.values()))
    ours, theirs = [], []
    for run in range(runs):
        made = world.released(n, seed * 1_000_003 + run)
        fit = corrected_regression(world.formula, made, family="binary")
        if fit.converged:
            ours.append(fit.estimate[[fit.names.index(name) for name in world.truth]] - wanted)
            theirs.append(maximum_likelihood(made, fit.risk.coefficients(fit.estimate)[0]) - wanted)
    rmse = [np.sqrt(np.mean(np.square(one), axis=0)) for one in (ours, theirs)]
    print(f"likelihood: ε = {epsilon:g} per column, n = {n:,}, {len(ours)} of {runs} runs")
    for j, name in enumerate(world.truth):
        print(f"  {name:<12} corrected {rmse[0][j]:.4f}  maximum likelihood {rmse[1][j]:.4f}", end="")
        print(f"  ratio {rmse[0][j] / rmse[1][j]:.3f}")
    print(f"  all together {math.sqrt(np.sum(rmse[0] ** 2) / np.sum(rmse[1] ** 2)):.3f}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="?", choices=[*WORLDS, "likelihood"], default="three")
    parser.add_argument("--epsilon", type=float, nargs="+", default=[1.0, 2.0, 3.0])
    parser.add_argument("--n", type=int, default=20_000)
    parser.add_argument("--runs", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    for level in given.epsilon:
        if given.what == "likelihood":
            beside_likelihood(level, given.n, given.runs, given.seed)
        else:
            coverage(given.what, level, given.n, given.runs, given.seed)
