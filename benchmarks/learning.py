"""Private boosted trees: their time beside scikit-learn's trees, their errors beside diffprivlib's models, in one
run.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from experiments.learning.tables import REGRESSIONS, WHERE, Table, adult, adult_bounds, folder
from sklearn.ensemble import HistGradientBoostingRegressor

from benchmarks.measure import Result, at_most, in_turn
from benchmarks.peers import SCRIPTS, PeerError, environment, run
from discreet import Randomness
from discreet.learning import PrivateBoostingClassifier, PrivateBoostingRegressor

#: diffprivlib needs an older scikit-learn than ours.
REQUIREMENTS = ("diffprivlib", "scikit-learn<1.8")
EPSILON = 1.0


def learning_results(repetitions: int) -> Iterator[Result]:
    """Time on superconductivity; errors on three tables of numbers and on Adult."""
    data = folder()
    if data is None:
        yield Result("private learning", "", "", f"skipped: {WHERE}", float("nan"), None, "")
        return
    yield time_result(REGRESSIONS["superconductivity"](data), repetitions)
    yield from peer_results(data, repetitions)


def time_result(table: Table, repetitions: int) -> Result:
    """Fifty trees of depth six on 32 bins, against as many trees with as many leaves and bins."""
    ours = PrivateBoostingRegressor(EPSILON, (table.low, table.high), table.outcome_bounds, clip=True)
    theirs = HistGradientBoostingRegressor(max_iter=50, max_leaf_nodes=64, max_bins=32, early_stopping=False)
    times = in_turn(
        lambda: ours.fit(table.features, table.outcome),
        lambda: theirs.fit(table.features, table.outcome),
        repetitions,
    )
    rows = len(table.outcome)
    work = f"boosting, 50 trees, {rows:,} × {table.features.shape[1]}"
    return at_most(work, "HistGradientBoosting", 10.0, 1 / times.ratio, times.detail(rows, "scikit-learn"))


def peer_results(data: Path, runs: int) -> Iterator[Result]:
    """The same rows, bounds and ε; means over runs."""
    tables = {name: read(data) for name, read in REGRESSIONS.items()}
    people = adult(data)
    with tempfile.TemporaryDirectory() as place:
        files = {}
        for name, table in tables.items():
            train, _ = table.parts(0)
            files[name] = _saved(Path(place), name, table.features, table.outcome, train, table.low, table.high,
                                 outcome_bounds=table.outcome_bounds)  # fmt: skip
        low, high = adult_bounds(people)
        files["Adult"] = _saved(
            Path(place), "adult", people.features, people.outcome, people.train, low, high, classes=[0, 1]
        )
        try:
            python = environment("diffprivlib-learning", REQUIREMENTS)
            out = json.loads(run([python, SCRIPTS / "learn_diffprivlib.py", EPSILON, runs, *files.values()]))
        except PeerError as error:
            yield Result("private learning", "diffprivlib", "", f"not available: {error}", float("nan"), None, "")
            return
    against = f"diffprivlib {out['version']}"
    for name, table in tables.items():
        train, _ = table.parts(0)
        ours = float(np.mean([_error(table, train, seed) for seed in range(runs)]))
        theirs = float(np.mean(out["found"][str(files[name])]))
        yield _better(f"held-out error, {name}, ε = 1", f"{against} LinearRegression", ours / theirs, ours, theirs)
    ours = float(np.mean([_accuracy(people, low, high, seed) for seed in range(runs)]))
    theirs = float(np.mean(out["found"][str(files["Adult"])]))
    yield _better(
        "errors, Adult, ε = 1", f"{against} RandomForestClassifier", (1 - ours) / (1 - theirs), 1 - ours, 1 - theirs
    )


def _better(work: str, against: str, ratio: float, ours: float, theirs: float) -> Result:
    return Result(work, against, "< 1 ×", f"{ratio:.2f} ×", ratio, ratio < 1, f"ours {ours:.4g}, theirs {theirs:.4g}")


def _saved(place: Path, name: str, features, outcome, train, low, high, **more) -> Path:  # type: ignore[no-untyped-def]
    file = place / f"{name.replace(' ', '_')}.npz"
    np.savez(file, features=features, outcome=outcome, train=train, low=low, high=high, **more)
    return file


def _error(table: Table, train: np.ndarray, seed: int) -> float:
    model = PrivateBoostingRegressor(
        EPSILON, (table.low, table.high), table.outcome_bounds, clip=True, randomness=Randomness.seeded(seed)
    ).fit(table.features[train], table.outcome[train])
    return float(np.sqrt(np.mean((model.predict(table.features[~train]) - table.outcome[~train]) ** 2)))


def _accuracy(people, low, high, seed: int) -> float:  # type: ignore[no-untyped-def]
    model = PrivateBoostingClassifier(EPSILON, (low, high), [0, 1], clip=True, randomness=Randomness.seeded(seed))
    model.fit(people.features[people.train], people.outcome[people.train])
    return float(model.score(people.features[~people.train], people.outcome[~people.train]))
