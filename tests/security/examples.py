"""A small survey, its plan and its manifest, to be attacked."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa

from discreet import Randomness
from discreet.publish import release

#: A private value: it must never show up in a message.
SECRET = "xyzzy-unspeakable"

ROWS = 200
_RNG = np.random.default_rng(5)
TABLE = pa.table(
    {
        "age": _RNG.integers(18, 80, ROWS),
        "income": _RNG.gamma(3.0, 10.0, ROWS),
        "sex": _RNG.choice(["f", "m"], ROWS),
        "rr.q1": _RNG.choice(["no", "yes"], ROWS),
        "name": [f"{SECRET}-{i}" for i in range(ROWS)],
    }
)
PLAN = {
    "title": "Campus honesty survey",
    "public": [{"columns": ["age", "income", "sex"]}],
    "private": [
        {
            "columns": ["rr.q1"],
            "domain": {"binary": ["no", "yes"]},
            "mechanism": "randomized-response",
            "epsilon": 2.0,
        }
    ],
}


def released():
    """A release of the survey, in memory."""
    return release(TABLE, PLAN, randomness=Randomness.seeded(1))


def with_label(formula):
    """The plan, with the private column designed for a regression."""
    block = PLAN["private"][0] | {"label": {"formula": formula, "coefficients": [0.0, 0.0]}}
    return PLAN | {"private": [block]}


def manifest():
    """The manifest as plain data, for changing."""
    return json.loads(released().manifest.to_json())
