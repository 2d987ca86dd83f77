"""Figure 9: boosted trees with five kinds of leaves, and without noise."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

from discreet import Randomness
from discreet.learning import PrivateBoostingRegressor
from discreet.learning.boosting.leaves import KINDS
from experiments.learning.tables import REGRESSIONS, WHERE, folder, has
from experiments.learning.tables import Table as Data
from experiments.reporting import Check, Report, Table, new_figure

#: The levels of the figure's axis as far as the text names them, and a few around.
LEVELS = (1.0, 2.0, 5.0, 10.0)
#: The printed settings of DPBoost.
SETTINGS = {"n_estimators": 50, "learning_rate": 0.1, "max_depth": 6}
#: Printed in appendix B.1: the error with bipartite response as a share of that with Laplace noise, ε = 5.
PRINTED_RATIO = {"temperature bias": 0.66, "abalone": 0.45, "superconductivity": 0.67}


def error(data: Data, predicted: np.ndarray, held: np.ndarray) -> float:
    """Root mean squared error on rows that were held out."""
    return float(np.sqrt(np.mean((predicted - data.outcome[held]) ** 2)))


def private_error(data: Data, epsilon: float, leaf: str, seed: int, **settings: float) -> float:
    """Of one private fit."""
    train, held = data.parts(seed)
    model = PrivateBoostingRegressor(
        epsilon,
        (data.low, data.high),
        data.outcome_bounds,
        leaf,
        clip=True,
        randomness=Randomness.seeded(seed),
        **settings,
    )
    return error(data, model.fit(data.features[train], data.outcome[train]).predict(data.features[held]), held)


def baselines(data: Data, seed: int) -> tuple[float, float]:
    """Trees without noise (as many, as deep, as many bins), and predicting the mean."""
    train, held = data.parts(seed)
    plain = HistGradientBoostingRegressor(max_iter=50, max_leaf_nodes=64, max_bins=32, early_stopping=False)
    plain.fit(data.features[train], data.outcome[train])
    return error(data, plain.predict(data.features[held]), held), float(np.std(data.outcome[held]))


def run(report: Report, *, quick: bool) -> list[Check]:
    """All tables, or a sentence about where to get them."""
    data = folder()
    if data is None or not has("abalone.csv", "temperature_bias.parquet", "superconductivity_78of82.parquet"):
        print(f"\nSKIPPED: Figure 9; {WHERE}")
        return []
    rows: list[Sequence[object]] = []
    claims: list[Check] = []
    names = ["abalone"] if quick else list(REGRESSIONS)
    for name in names:
        table = REGRESSIONS[name](data)
        runs = 2 if quick else 3
        levels = (5.0,) if quick else LEVELS
        plain, spread = (float(np.mean(each)) for each in zip(*(baselines(table, s) for s in range(runs)), strict=True))
        means: dict[tuple[str, float], float] = {}
        for epsilon in levels:
            for leaf in KINDS:
                found = [private_error(table, epsilon, leaf, seed, **SETTINGS) for seed in range(runs)]
                means[leaf, epsilon] = float(np.mean(found))
                rows.append([name, leaf, epsilon, means[leaf, epsilon], float(np.std(found) / runs**0.5)])
        rows += [[name, "without noise", np.inf, plain, np.nan], [name, "the mean", 0.0, spread, np.nan]]
        ratio = means["bipartite", 5.0] / means["laplace", 5.0]
        claims.append(
            Check(
                f"{name}, ε = 5: the printed ratio of bipartite to Laplace, {PRINTED_RATIO[name]:.0%}, is too low",
                ratio > PRINTED_RATIO[name] + 0.1,
                f"{ratio:.0%}",
            )
        )
        claims += [
            Check(
                f"{name}, ε = {epsilon:g}: sums are better than the other kinds of leaves",
                means["sums", epsilon] <= min(means[leaf, epsilon] for leaf in KINDS),
                f"{means['sums', epsilon]:.3g}, the best of all {min(means[leaf, epsilon] for leaf in KINDS):.3g}",
            )
            for epsilon in levels
            if epsilon <= 5  # at ten they are alike
        ]
        claims.append(
            Check(
                f"{name}, ε = {levels[0]:g}: sums are better than predicting the mean",
                means["sums", levels[0]] < spread,
                f"{means['sums', levels[0]]:.3g} against {spread:.3g}",
            )
        )
    columns = ["data", "leaves", "ε", "held-out error", "Monte Carlo error"]
    report.table("figure9", Table("Figure 9: root mean squared errors", columns, rows))
    draw(report, rows, names)
    return claims


def draw(report: Report, rows: Sequence[Sequence[object]], names: Sequence[str]) -> None:
    """Errors by level, one picture per table."""
    figure, axes = new_figure(len(names), "Figure 9")
    for ax, name in zip(axes, names, strict=True):
        for leaf in KINDS:
            mine = [(row[2], row[3]) for row in rows if row[0] == name and row[1] == leaf]
            ax.plot(*zip(*mine, strict=True), marker="o", label=leaf)
        for what, style in (("without noise", ":"), ("the mean", "--")):
            ax.axhline(
                next(row[3] for row in rows if row[0] == name and row[1] == what), ls=style, c="grey", label=what
            )
        ax.set(title=name, xlabel="ε", ylabel="held-out error", yscale="log")
        ax.legend(fontsize=7)
    report.figure("figure9", figure)
