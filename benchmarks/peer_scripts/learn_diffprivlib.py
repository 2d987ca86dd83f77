"""Fit diffprivlib's models on given arrays with the same bounds and ε, and print held-out errors as JSON."""

from __future__ import annotations

import json
import sys
import warnings

import diffprivlib
import numpy as np
from diffprivlib.models import LinearRegression, RandomForestClassifier

warnings.simplefilter("ignore")


def linear(data: dict[str, np.ndarray], epsilon: float, seed: int) -> float:
    """Root mean squared error of its linear regression."""
    low, high = data["low"], data["high"]
    X = np.clip(data["features"], low, high)
    y = np.clip(data["outcome"], *data["outcome_bounds"])
    model = LinearRegression(
        epsilon=epsilon, bounds_X=(low, high), bounds_y=tuple(data["outcome_bounds"]), random_state=seed
    )
    train = data["train"]
    model.fit(X[train], y[train])
    found = np.clip(model.predict(X[~train]), *data["outcome_bounds"])
    return float(np.sqrt(np.mean((found - data["outcome"][~train]) ** 2)))


def forest(data: dict[str, np.ndarray], epsilon: float, seed: int) -> float:
    """Accuracy of its random forest."""
    X = np.clip(data["features"], data["low"], data["high"])
    train = data["train"]
    model = RandomForestClassifier(
        epsilon=epsilon, bounds=(data["low"], data["high"]), classes=[0, 1], random_state=seed
    )
    model.fit(X[train], data["outcome"][train].astype(int))
    return float(np.mean(model.predict(X[~train]) == data["outcome"][~train]))


found: dict[str, list[float]] = {}
for name in sys.argv[3:]:
    with np.load(name) as file:
        arrays = {key: file[key] for key in file.files}
    measure = forest if "classes" in arrays else linear
    found[name] = [measure(arrays, float(sys.argv[1]), seed) for seed in range(int(sys.argv[2]))]
print(json.dumps({"version": diffprivlib.__version__, "found": found}))
