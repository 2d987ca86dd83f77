"""The table that the tests of Spark release, and the plan for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from discreet import Release

ROWS, FILES = 60_000, 6
RESPONSE = {"mechanism": "randomized-response"}
PRIVATE = [
    {**RESPONSE, "columns": ["x"], "domain": {"binary": ["no", "yes"]}, "epsilon": 1.0},
    {**RESPONSE, "columns": ["k"], "domain": {"categorical": {"from": 0, "to": 299}}, "epsilon": 3.0},
]


def plan(order: str = "shuffle", **budget: Any) -> dict[str, Any]:
    """A plan for the data below."""
    return {
        "format": 1,
        "budget": {"epsilon": 20.0, **budget},
        "output": {"order": order},
        "public": [{"columns": ["id", "region", "age", "w"]}],
        "private": PRIVATE,
    }


#: The plan for a random order, as a file holds it.
PLAN_FILE = """
format = 1
[budget]
epsilon = 20.0
[[public]]
columns = ["id", "region", "age", "w"]
[[private]]
columns = ["x"]
domain = { binary = ["no", "yes"] }
mechanism = "randomized-response"
epsilon = 1.0
[[private]]
columns = ["k"]
domain = { categorical = { from = 0, to = 299 } }
mechanism = "randomized-response"
epsilon = 3.0
"""


def write_truth(folder: Path, rows: int = ROWS, files: int = FILES) -> None:
    """A sorted table in several files, with a public number that is another one in every row."""
    rng = np.random.default_rng(1)
    folder.mkdir()
    step = rows // files
    for number in range(files):
        age = rng.normal(size=step)
        columns = {
            "id": np.arange(number * step, (number + 1) * step),
            "region": np.array(["n", "s"])[rng.integers(0, 2, step)],
            "age": age,
            "w": rng.integers(1, 5, step).astype(float),
            "x": np.array(["no", "yes"])[(rng.random(step) < 1 / (1 + np.exp(1 - age))).astype(int)],
            "k": rng.integers(0, 300, step),
        }
        pq.write_table(pa.table(columns), folder / f"part-{number}.parquet")


def by_id(opened: Release) -> dict[str, list[Any]]:
    """Reports and public cells, keyed by who they belong to."""
    table = opened.to_arrow().sort_by("id")
    assert table.column("id").to_pylist() == list(range(opened.rows))
    return table.select(["region", "x", "k"]).to_pydict()
