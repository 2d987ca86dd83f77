"""Coverage of estimates with weights that are calibrated to known totals.

    python -m experiments.inference.calibration_coverage [--runs 400] [--match raking] [--processes 1]

A population of 60,000 people is drawn once. Region, sex and the sum of ages are known; samples are simple, of people
who answer the less the younger they are, or of clusters in strata. Asked for are a number that follows age, a share
that hardly does, totals, a difference of groups and a cell of a table; "fixed" is the same mean with errors that take
the weights as given.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from discreet import Grid, Randomness, estimate
from discreet.mechanisms import BinaryResponse, GeneralizedResponse
from experiments.inference.coverage import Setting, main

Rng = np.random.Generator
PEOPLE = 60_000
HOURS, CHEATED = GeneralizedResponse(11, 4.0), BinaryResponse.warner("0.85")
GRID = Grid(0, 10, 11)
METHODS: tuple[tuple[str, tuple[float, float] | None], ...] = (
    ("raking", None),
    ("linear", (0.05, 20.0)),
    ("logit", (0.1, 10.0)),
)


def population() -> dict[str, Any]:
    """Everybody: public columns, truths, strata and clusters whose people are alike."""
    rng = np.random.default_rng(17)
    cluster = np.arange(PEOPLE) // 30
    own = rng.normal(size=PEOPLE // 30)[cluster]
    age = np.clip(np.round(45 + 12 * rng.normal(size=PEOPLE) + 5 * own), 18, 90)
    return {
        "region": np.array(["a", "b", "c", "d"])[rng.choice(4, PEOPLE, p=[0.55, 0.3, 0.1, 0.05])],
        "sex": np.where(rng.random(PEOPLE) < 0.5, "f", "m"),
        "age": age,
        "hours": np.clip(np.round((age - 18) / 7 + 0.8 * rng.normal(size=PEOPLE)), 0, 10).astype(int),
        "cheated": rng.random(PEOPLE) < 0.05 + 0.1 * (age < 30),
        "cluster": cluster,
        "stratum": cluster % 4,
    }


ALL = population()
TOTALS = {
    "region": {one: int(np.sum(ALL["region"] == one)) for one in "abcd"},
    "sex": {one: int(np.sum(ALL["sex"] == one)) for one in "fm"},
    "age": float(ALL["age"].sum()),
}


def chosen(rng: Rng, kind: str, n: int) -> tuple[Any, Any, dict[str, Any]]:
    """Who is in the sample, with which weight, and how the sample was made."""
    if kind == "simple":
        return rng.choice(PEOPLE, n, replace=False), None, {}
    if kind == "answering less when young":
        answers = 1 / (1 + np.exp(-(ALL["age"] - 45) / 10))
        return np.flatnonzero(rng.random(PEOPLE) < n / PEOPLE * answers / answers.mean()), None, {}
    picked = np.concatenate([rng.choice(np.unique(ALL["cluster"][ALL["stratum"] == h]), k, replace=False)
                             for h, k in enumerate(np.array([4, 3, 2, 1]) * n // 300)])  # fmt: skip
    rows = np.flatnonzero(np.isin(ALL["cluster"], picked))
    stratum = ALL["stratum"][rows]
    weight = (PEOPLE / 120) / (np.array([4, 3, 2, 1]) * n // 300)[stratum]
    return rows, weight, {"strata": stratum, "clusters": ALL["cluster"][rows]}


def setting(kind: str, n: int, method: str, bounds: tuple[float, float] | None) -> Setting:
    """One way to sample and one way to calibrate."""
    hours, cheated, north = ALL["hours"], ALL["cheated"], ALL["region"] == "b"
    truth = {
        "mean": float(hours.mean()),
        "mean, fixed": float(hours.mean()),
        "total": float(hours.sum()),
        "share": float(cheated.mean()),
        "number of yes": float(cheated.sum()),
        "a − b": float(hours[ALL["region"] == "a"].mean() - hours[north].mean()),
        "no, f": float(np.mean(~cheated & (ALL["sex"] == "f"))),
        "no, m": float(np.mean(~cheated & (ALL["sex"] == "m"))),
        "yes, f": float(np.mean(cheated & (ALL["sex"] == "f"))),
        "yes, m": float(np.mean(cheated & (ALL["sex"] == "m"))),
    }

    def ask(rng: Rng, source: Randomness) -> Any:
        rows, weights, aside = chosen(rng, kind, n)
        table = {name: ALL[name][rows] for name in ("region", "sex", "age")}
        given = estimate.calibrate(table, TOTALS, method, bounds=bounds, weights=weights)
        about = {"labels": GRID, **aside}
        numbers, yes = HOURS.privatize(hours[rows], source), CHEATED.privatize(cheated[rows], source)
        groups = estimate.mean(numbers, HOURS, by=table["region"], weights=given, **about)
        return (
            estimate.mean(numbers, HOURS, weights=given, **about),
            estimate.mean(numbers, HOURS, weights=given.weights, **about),
            estimate.total(numbers, HOURS, weights=given, **about),
            estimate.mean(yes, CHEATED, weights=given, **aside),
            estimate.total(yes, CHEATED, weights=given, **aside),
            groups.compare("a", "b"),
            estimate.crosstab_of_reports(yes, table["sex"], CHEATED, None, weights=given, **aside).cells,
        )

    return Setting(f"{method}, {kind}, n = {n:,}", truth, ask)


def settings() -> Iterator[Setting]:
    """All of them."""
    for kind in ("simple", "answering less when young", "clusters in strata"):
        for n in (600, 3_000):
            for method, bounds in METHODS:
                yield setting(kind, n, method, bounds)


if __name__ == "__main__":
    main(settings, __doc__, "calibration_coverage")
