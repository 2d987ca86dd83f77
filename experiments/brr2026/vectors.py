"""Figure 11: networks on perturbed records of Adult and Bank Marketing, budgets per record and per feature side by
side.
"""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.neural_network import MLPClassifier

from discreet import Grid, Randomness
from discreet.learning import PrivateVectors
from experiments.learning.tables import WHERE, folder, has
from experiments.reporting import Check, Report, Table

#: The ends of the printed range of budgets.
LEVELS = (0.25, 3.5)
MECHANISMS = ("bipartite", "clamped-laplace")
POINTS = 21


def load(name: str) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Features on [0, 1] by declared bounds or by the number of categories, and the label."""
    data = folder()
    assert data is not None
    if name == "Adult":
        rows = pd.read_parquet(data / "adult.parquet").drop(columns="split")
        label = rows.pop("income").str.contains(">50K").to_numpy(np.int64)
        ends = {
            "age": 100,
            "fnlwgt": 1.5e6,
            "education_num": 16,
            "capital_gain": 1e5,
            "capital_loss": 5e3,
            "hours_per_week": 100,
        }
        lows: dict[str, float] = {}
    else:
        rows = pd.read_parquet(data / "bank_additional_full.parquet")
        label = (rows.pop("y") == "yes").to_numpy(np.int64)
        ends = {"age": 100, "duration": 3600, "campaign": 50, "pdays": 999, "previous": 10, "emp.var.rate": 2,
                "cons.price.idx": 96, "cons.conf.idx": -20, "euribor3m": 6, "nr.employed": 5300}  # fmt: skip
        lows = {"emp.var.rate": -4, "cons.price.idx": 92, "cons.conf.idx": -60, "nr.employed": 4900}
    columns = []
    for column in rows.columns:
        if column in ends:
            low = lows.get(column, 0.0)
            columns.append(np.clip((rows[column].to_numpy(float) - low) / (ends[column] - low), 0, 1))
        else:
            codes = rows[column].astype("category").cat.codes.to_numpy(float)
            columns.append(codes / max(codes.max(), 1))
    return np.column_stack(columns), label


def trained(X: NDArray[np.float64], y: NDArray[np.int64], held: NDArray[np.bool_], clean: NDArray[np.float64]) -> float:
    """Accuracy on true, held-out records of a network that was trained on X."""
    network = MLPClassifier((32, 16), batch_size=512, max_iter=6, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # six rounds are enough to compare
        network.fit(X[~held], y[~held])
    return float(network.score(clean[held], y[held]))


def run(report: Report, *, quick: bool) -> list[Check]:
    """Accuracies at a budget for the whole record, and at the same number for every feature."""
    if not has("adult.parquet", "bank_additional_full.parquet"):
        print(f"\nSKIPPED: Figure 11; {WHERE}")
        return []
    rows: list[list[object]] = []
    claims: list[Check] = []
    for name in ("Adult",) if quick else ("Adult", "Bank"):
        X, y = load(name)
        if quick:
            X, y = X[::10], y[::10]
        held = np.random.default_rng(0).random(len(y)) < 0.25
        majority = float(max(y[held].mean(), 1 - y[held].mean()))
        plain = trained(X, y, held, X)
        rows += [[name, "none", "–", np.inf, plain], [name, "the majority", "–", 0.0, majority]]
        for level in LEVELS[1:] if quick else LEVELS:
            for mechanism in MECHANISMS:
                for whom, total in (("record", level), ("feature", level * X.shape[1])):
                    vectors = PrivateVectors(
                        total, Grid(0, 1, POINTS), mechanism=mechanism, randomness=Randomness.seeded(1)
                    )
                    found = trained(vectors.fit_transform(X), y, held, X)
                    rows.append([name, mechanism, f"{level:g} a {whom}", round(total, 2), found])
                    if whom == "record" and mechanism == "bipartite":
                        claims.append(
                            Check(
                                f"{name}: {level:g} for the whole record teaches nothing beyond the majority",
                                found < majority + 0.02,
                                f"{found:.3f} against {majority:.3f}",
                            )
                        )
    columns = ["data", "mechanism", "budget", "ε of a record", "accuracy"]
    report.table("figure11", Table("Figure 11: networks on perturbed records, label public", columns, rows))
    return claims
