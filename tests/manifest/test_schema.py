"""Every key that is ever written is in the published schema and on the page that describes it."""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path

import jsonschema
import numpy as np
import pyarrow as pa
import pytest

from discreet import Plan, Randomness, Release, release
from discreet.manifest import json_schema
from discreet.manifest.signature import SigningKey
from discreet.mechanisms import KINDS
from discreet.publish.plan.numeric import ClippedWarning
from tests.manifest.examples import EXAMPLES
from tests.manifest.test_golden import GOLDEN

PAGE = (Path(__file__).parents[2] / "docs" / "manifest.md").read_text()
#: Objects whose keys are names that people chose: values of a column, probabilities of a procedure.
NAMED = {"designs", "procedure"}


def strict(node):
    """The schema, with every object closed: a key that it does not describe is an error."""
    if isinstance(node, list):
        return [strict(one) for one in node]
    if not isinstance(node, dict):
        return node
    closed = {key: strict(value) for key, value in node.items()}
    described = node.get("type") == "object" and not node.keys().isdisjoint({"properties", "oneOf"})
    return closed | ({"unevaluatedProperties": False} if described else {})


STRICT = jsonschema.Draft202012Validator(strict(json_schema()))


def keys(data, named=False):
    """All keys of plain data, at every depth, but for the names that people chose."""
    if isinstance(data, list):
        return set().union(*map(keys, data))
    if not isinstance(data, dict):
        return set()
    return (set() if named else set(data)).union(*(keys(value, key in NAMED) for key, value in data.items()))


N = 400
RNG = np.random.default_rng(0)
TABLE = pa.table(
    {
        "who": [f"person {number}" for number in range(N)],
        "town": np.array(["n", "s"])[np.arange(N) % 2],
        "mode": np.array(["direct", "crosswise"])[np.arange(N) % 2],
        "w": np.ones(N),
        "size": np.full(N, 5_000),
        "r1": np.ones(N),
        "r2": np.ones(N),
        "yes": np.array(["no", "yes"])[RNG.integers(0, 2, N)],
        "other": np.array(["no", "yes"])[RNG.integers(0, 2, N)],
        "hours": RNG.uniform(0, 60, N),
        "income": RNG.uniform(0, 60, N),
    }
)
BINARY = {"binary": ["no", "yes"]}
GRID = {"grid": {"low": 0, "high": 60, "points": 4}}
YES = {"columns": ["yes"], "domain": BINARY, "epsilon": 1.0, "mechanism": "randomized-response"}
NOISE = {"columns": ["hours"], "domain": {"box": {"low": 0, "high": 40}}, "mechanism": "zero-inflated-laplace"}
ONE = {"columns": ["hours", "income"], "domains": [GRID, GRID], "mechanism": "unbiased", "report": "one", "epsilon": 1}
BY_MODE = {"by": "mode", "designs": {"direct": {"direct": True}, "crosswise": {"crosswise": "1/4"}}}
SAMPLED = {"weight": "w", "strata": "town", "fpc": "size"}
REPLICATED = {"weight": "w", "replicates": ["r1", "r2"], "replication": "bootstrap", "replicate_scale": 0.5}
#: What is private, and the rest of the plan.
PLANS = {
    "plain": ([YES], {"title": "Honesty"}),
    "person": ([YES], {"budget": {"epsilon": 5.0, "person": "who"}}),
    "missing": ([YES | {"missing": "category"}, YES | {"columns": ["other"], "missing": "public"}], {}),
    "clip": ([NOISE | {"epsilon": 1.0, "delta": 0.2, "clip": True}], {}),
    "one number": ([ONE], {}),
    "rounded": ([YES, {"columns": ["hours"], "domain": GRID, "mechanism": "unbiased", "epsilon": 1.0}], {}),
    "together": (
        [{"columns": ["yes", "other"], "domains": [BINARY] * 2, "mechanism": "joint", "epsilons": [1.0, 2.0]}],
        {},
    ),
    "sampled": ([YES], {"survey": SAMPLED}),
    "replicated": ([YES], {"survey": REPLICATED}),
}


def plan_of(private, more):
    """A plan of two public columns and these."""
    return {"format": 1, "public": [{"columns": ["town", "mode"]}], "private": private} | more


def fresh(folder):
    """Manifests as releases write them, of every kind of block, output and origin."""
    key, again, plain = SigningKey.generate(), folder / "folder", plan_of([YES], {})
    for name, (private, more) in PLANS.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ClippedWarning)
            yield name, release(TABLE, plan_of(private, more), ledger=None, randomness=Randomness.seeded(1))
    yield "signed", release(TABLE, plain, folder / "signed.parquet", ledger=None, signing_key=key)
    yield "csv", release(TABLE, plain, folder / "safe.csv", ledger=None, safe_csv=True)
    for append in (False, True):
        release(TABLE, plain, again, ledger=None, append=append)
    yield "appended", Release.open(again)
    memoised = plan_of([YES | {"repeat": "memoise"}], {"budget": {"person": "who"}})
    yield "memoised", release(TABLE, memoised, randomness=Randomness.memoised(bytes(32)), ledger=None)
    collected = {"columns": ["yes"], "domain": BINARY, "collected": True} | BY_MODE
    yield "collected", Release.from_reports(TABLE, Plan.from_dict(plan_of([collected], {})))


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Every manifest that the tests have: examples, old ones, and fresh ones."""
    found = {name: one.to_dict() for name, one in EXAMPLES.items()}
    found |= {path.name: json.loads(path.read_text()) for path in GOLDEN}
    found |= {f"fresh {name}": one.manifest.to_dict() for name, one in fresh(tmp_path_factory.mktemp("fresh"))}
    return found


def test_every_key_is_in_the_schema(written):
    """Each object has no other key than those that the schema describes."""
    for name, data in written.items():
        assert [f"{name}: {one.json_path}: {one.message[:200]}" for one in STRICT.iter_errors(data)] == []
    changed = written["binary"] | {"stranger": 1}
    assert [one.message for one in STRICT.iter_errors(changed)] != []
    assert {one["mechanism"]["kind"] for data in written.values() for one in data["blocks"] if one["mechanism"]} == {
        *KINDS
    }


def test_every_key_is_on_the_page(written):
    """In code type or in an example; names that people chose are no keys."""
    everything = set().union(*map(keys, written.values()))
    assert {key for key in everything if not re.search(rf'[`"]{key}[`"]', PAGE)} == set()
