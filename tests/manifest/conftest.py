"""A small release in every form."""

from __future__ import annotations

import pyarrow as pa
import pytest

from discreet import Randomness
from discreet.publish import Plan, release

TABLE = pa.table(
    {
        "sex": ["f", "m", "f", None, "m", "f"],
        "age": [31, 4, 17, 90, 55, None],
        "w": [1.0, 2.5, 1.0, 0.5, 3.0, 1.0],
        "cheated": ["no", "yes", "no", "no", "yes", "no"],
        "income": ["low", None, "high", "low", "high", "high"],
    }
)

PLAN = Plan.parse(
    """
    title = "Campus honesty survey"
    [survey]
    weight = "w"
    [[public]]
    columns = ["sex", "age"]
    [[private]]
    columns = ["cheated"]
    domain = { binary = ["no", "yes"] }
    mechanism = "randomized-response"
    epsilon = 1.0
    [[private]]
    columns = ["income"]
    domain = { ordinal = ["low", "high"] }
    mechanism = "randomized-response"
    epsilon = 0.5
    missing = "category"
    """
)


@pytest.fixture(params=["memory", "parquet", "csv"])
def form(request):
    return request.param


@pytest.fixture
def released(form, tmp_path):
    output = None if form == "memory" else tmp_path / f"out.{form}"
    return release(TABLE, PLAN, output, randomness=Randomness.seeded(3))
