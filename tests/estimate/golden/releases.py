"""The releases that the golden results are made from: reports drawn by numpy through the channel of every mechanism.

They are stored as Parquet files, so that neither a new sampler nor a new design changes them.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from discreet import Plan, Randomness, Release, release
from discreet.manifest import Survey

FOLDER = Path(__file__).parent / "releases"
NO_YES = {"binary": ["no", "yes"]}
_RR = {"mechanism": "randomized-response"}
#: Columns of answers, each randomised alone or in a block.
ANSWERS = [
    {"columns": ["cheated"], "domain": NO_YES, **_RR, "epsilon": 2.0},
    {"columns": ["smokes"], "domain": NO_YES, **_RR, "epsilon": 2.0, "delta": 0.1},
    {"columns": ["drinks"], "domain": NO_YES, **_RR, "epsilon": 2.0, "delta": 0.05, "reports": 4},
    {"columns": ["party"], "domain": {"categorical": ["red", "green", "blue"]}, **_RR, "epsilon": 3.0},
    {
        "columns": ["health"],
        "domain": {"ordinal": ["bad", "fair", "good", "best"]},
        **_RR,
        "epsilon": 3.0,
        "missing": "category",
    },
    {"columns": ["meals"], "domain": {"ordinal": [0, 1, 2, 5]}, **_RR, "epsilon": 3.0},
    {
        "columns": ["hours"],
        "domain": {"grid": {"low": 0, "high": 20, "points": 5}},
        "mechanism": "unbiased",
        "epsilon": 3.0,
    },
    {"columns": ["pain"], "domain": {"ordinal": [0, 1, 2, 3, 4]}, "mechanism": "exponential", "epsilon": 4.0},
    {"columns": ["days"], "domain": {"ordinal": list(range(9))}, "mechanism": "bipartite", "epsilon": 2.0},
    {"columns": ["stay"], "domain": {"ordinal": [0, 1, 2, 3]}, "mechanism": "expected-error", "epsilon": 2.0},
    {
        "columns": ["code"],
        "domain": {"categorical": {"from": 0, "to": 39}},
        "mechanism": "frequencies",
        "epsilon": 1.0,
    },
    {
        "columns": ["vote"],
        "domain": {"categorical": ["a", "b", "c"]},
        "mechanism": "channel",
        "matrix": [["2/3", "1/6", "1/6"], ["1/4", "1/2", "1/4"], ["1/8", "1/8", "3/4"]],
    },
    {
        "columns": ["ill", "trade", "old"],
        "domains": [NO_YES, {"categorical": ["n", "s", "e"]}, NO_YES],
        "mechanism": "joint",
        "epsilons": [3.0, 4.0, 3.0],
        "pairs": "triples",
    },
]
PUBLIC = ["age", "sex", "region", "school", "w", "people", "income", "visits", "glad"]
#: Numbers with noise.
NUMBERS = [
    {
        "columns": ["x", "z"],
        "domain": {"box": {"low": [0, -1], "high": [10, 1]}},
        "mechanism": "zero-inflated-laplace",
        "epsilon": 5.0,
        "delta": 0.2,
    },
    {
        "columns": ["pure"],
        "domain": {"box": {"low": [0], "high": [1]}},
        "mechanism": "zero-inflated-laplace",
        "epsilon": 6.0,
        "delta": 0.01,
        "zero_probability": 0.0,
    },
    {
        "columns": ["noisy"],
        "domain": {"box": {"low": [-10], "high": [30]}},
        "mechanism": "zero-inflated-laplace",
        "epsilon": 6.0,
        "delta": 0.2,
    },
    {"columns": ["cheated"], "domain": NO_YES, **_RR, "epsilon": 3.0},
    {"columns": ["party"], "domain": {"categorical": ["red", "green", "blue"]}, **_RR, "epsilon": 4.0},
]
#: One number of every row, drawn at random; such a block is never collected, only released.
ONE_OF_TWO = {
    "columns": ["rent", "fuel"],
    "domains": [{"grid": {"low": 0, "high": 10, "points": 3}}, {"grid": {"low": 0, "high": 4, "points": 3}}],
    "mechanism": "unbiased",
    "report": "one",
    "epsilon": 3.0,
}
NUMBERS_PUBLIC = ["age", "region", "school", "w", "people", "y", "tall", "visits"]
#: What a manifest may declare about the sample.
SURVEYS = {
    "simple": Survey(),
    "weighted": Survey(weight="w"),
    "clustered": Survey(cluster="school"),
    "stratified": Survey(weight="w", strata="region", fpc="people"),
    "survey": Survey(weight="w", strata="region", cluster="school"),
}


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def _sample(n: int, rng: np.random.Generator) -> dict[str, Any]:
    """What is public: people in schools in three regions, with weights."""
    region = np.sort(rng.choice(3, n, p=[0.5, 0.3, 0.2]))
    school = region * 100 + rng.integers(0, 12, n)
    age = rng.integers(18, 70, n).astype(float)
    return {
        "region": np.array(["north", "south", "west"])[region],
        "school": school,
        "people": np.array([9_000, 4_000, 1_500])[region],
        "w": np.round(rng.uniform(0.5, 2.0, n) * np.array([1.0, 2.0, 0.7])[region], 3),
        "age": age,
        "sex": np.array(["f", "m"])[rng.integers(0, 2, n)],
        "effect": rng.normal(size=400)[school] * 0.5,
    }


def _answers(n: int, rng: np.random.Generator) -> tuple[dict[str, Any], dict[str, Any]]:
    """Public columns, and the codes of the true answers."""
    data = _sample(n, rng)
    old = (data["age"] - 44) / 15
    smokes = rng.random(n) < _sigmoid(-0.4 + 0.5 * old + data["effect"])
    cheated = rng.random(n) < _sigmoid(-0.8 + 0.6 * old + smokes)
    party = np.where(rng.random(n) < _sigmoid(old), 2, rng.integers(0, 2, n))
    meals = np.clip(rng.poisson(1.0 + 0.8 * cheated, n), 0, 3)
    number = np.array([0, 1, 2, 5])[meals]
    data |= {
        "income": np.round(2.0 + 0.5 * old + 1.0 * smokes + 0.4 * number + rng.normal(size=n), 3),
        "visits": rng.poisson(np.exp(0.2 + 0.3 * old + 0.5 * smokes)),
        "glad": np.where(rng.random(n) < _sigmoid(0.3 - 0.8 * smokes + 0.3 * old), "yes", "no"),
    }
    drinks = rng.random(n) < np.where(smokes, 0.6, 0.3)
    truth = {
        "cheated": cheated,
        "smokes": smokes,
        "drinks": drinks,
        "party": party,
        "health": rng.choice(5, n, p=[0.2, 0.3, 0.25, 0.15, 0.1]),
        "meals": meals,
        "hours": np.clip(rng.poisson(1.5 + smokes, n), 0, 4),
        "pain": np.clip(rng.poisson(1.0 + cheated, n), 0, 4),
        "days": np.clip(rng.poisson(3.0, n), 0, 8),
        "stay": np.clip(rng.poisson(1.0, n), 0, 3),
        "code": np.minimum(rng.geometric(0.1, n) - 1, 39),
        "vote": rng.choice(3, n, p=[0.5, 0.3, 0.2]),
        "ill": rng.random(n) < np.where(smokes, 0.5, 0.2),
        "trade": party,
        "old": data["age"] > 50,
    }
    return data, {name: np.asarray(codes, np.int64) for name, codes in truth.items()}


def _numbers(n: int, rng: np.random.Generator) -> tuple[dict[str, Any], dict[str, Any]]:
    data = _sample(n, rng)
    x, z = 10 * rng.beta(2, 2.5, n), rng.uniform(-1, 1, n)
    cheated = rng.random(n) < _sigmoid(-1.0 + 0.3 * x)
    y = 1.0 + 0.8 * x - 1.5 * z + rng.normal(size=n)
    data |= {
        "y": np.round(y, 3),
        "tall": np.where(rng.random(n) < _sigmoid(-2 + 0.5 * x + z), "yes", "no"),
        "visits": rng.poisson(np.exp(-0.5 + 0.15 * x)),
    }
    truth = {
        "x": x,
        "z": z,
        "pure": rng.beta(2, 2, n),
        "noisy": np.clip(y + rng.normal(size=n), -10, 30),
        "cheated": np.asarray(cheated, np.int64),
        "party": np.where(rng.random(n) < _sigmoid(x - 4), 2, rng.integers(0, 2, n)),
    }
    return data, truth


def _through(matrix: Any, codes: Any, rng: np.random.Generator) -> Any:
    """Reports of these true codes: the inverse of the distribution function of every row of the channel."""
    edges = np.cumsum(np.asarray(matrix, float), axis=1)
    return np.minimum((edges[codes] < rng.random(codes.size)[:, None]).sum(axis=1), edges.shape[1] - 1)


def _with_noise(mechanism: Any, truth: Any, rng: np.random.Generator) -> Any:
    """Zero-inflated Laplace noise, rounded to the grid."""
    noise = np.sqrt(rng.exponential(size=len(truth)))[:, None] * rng.normal(size=truth.shape) * mechanism.scale
    noise[rng.random(len(truth)) < mechanism.zero_probability] = 0.0
    return np.round((truth + noise) / mechanism.grid) * mechanism.grid + 0.0


def _reports(block: Any, truth: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """The released cells of a block."""
    names, mechanism = block.columns, block.mechanism
    if mechanism.kind == "zero-inflated-laplace":
        found = _with_noise(mechanism, np.column_stack([truth[name] for name in names]), rng)
        return dict(zip(names, found.T, strict=True))
    if mechanism.kind == "joint":
        view, sizes = mechanism.view(*range(len(names))), mechanism.sizes
        codes = np.ravel_multi_index([truth[name] for name in names], sizes)
        together = np.unravel_index(_through(view.matrix(), codes, rng), sizes)
        return {
            name: block.reports_of(name).decode_arrow(one.astype(np.int64))
            for name, one in zip(names, together, strict=True)
        }
    return {name: block.reports_of(name).decode_arrow(_through(mechanism.matrix(), truth[name], rng)) for name in names}


def make() -> None:
    """Draw all reports and store the releases."""
    FOLDER.mkdir(exist_ok=True)
    kinds = {"answers": (ANSWERS, PUBLIC, _answers, 1_000), "numbers": (NUMBERS, NUMBERS_PUBLIC, _numbers, 800)}
    for seed, (kind, (blocks, public, drawn, n)) in enumerate(kinds.items()):
        rng = np.random.default_rng([20_261, seed])
        data, truth = drawn(n, rng)
        private = [{**block, "collected": True} for block in blocks]
        plan = Plan.from_dict({"public": [{"columns": public}], "private": private, "output": {"order": "keep"}})
        cells = {name: one for block in plan.blocks for name, one in _reports(block, truth, rng).items()}
        table = pa.table({**{name: data[name] for name in public}, **cells})
        Release.from_reports(table, plan).save(FOLDER / f"{kind}.parquet", overwrite=True)
    _row_designs(np.random.default_rng([20_261, 9]))
    _one_of_two(np.random.default_rng([20_261, 10]))


def _one_of_two(rng: np.random.Generator) -> None:
    n = 600
    table = pa.table(
        {
            "sex": np.array(["f", "m"])[rng.integers(0, 2, n)],
            "rent": 10 * rng.beta(2, 3, n),
            "fuel": 4 * rng.beta(2, 1, n),
        }
    )
    plan = {"public": [{"columns": ["sex"]}], "private": [ONE_OF_TWO], "output": {"order": "keep"}}
    released = release(table, plan, randomness=Randomness.seeded(1))
    released.save(FOLDER / "one.parquet", overwrite=True)


def _row_designs(rng: np.random.Generator) -> None:
    """People asked under two designs, of whom some answer "no" whatever they are told."""
    n = 1_200
    group, carrier = rng.integers(0, 2, n), rng.random(n) < 0.3
    told = np.array([0.3, 0.8])[group]
    says = np.where(rng.random(n) < 0.1, False, carrier | (rng.random(n) < told))
    age = np.round(rng.normal(size=n), 3)
    designs = {"few": {"mangat": "7/10"}, "many": {"mangat": "2/10"}}
    block = {"columns": ["cheated"], "domain": NO_YES, "collected": True, "by": "mode", "designs": designs}
    plan = Plan.from_dict({"public": [{"columns": ["age", "mode"]}], "private": [block], "output": {"order": "keep"}})
    mode = np.array(["few", "many"])[group]
    table = pa.table({"age": age, "mode": mode, "cheated": np.where(says, "yes", "no")})
    Release.from_reports(table, plan).save(FOLDER / "designs.parquet", overwrite=True)


@cache
def opened(name: str, survey: str = "simple") -> Release:
    """A stored release, as if its manifest declared this sample."""
    stored = Release.open(FOLDER / f"{name}.parquet")
    return Release.from_table(replace(stored.manifest, survey=SURVEYS[survey]), stored.to_arrow())
