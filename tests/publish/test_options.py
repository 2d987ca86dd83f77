"""No option of a plan is silently ignored: beside every mechanism each known key changes the block or is refused."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pytest

from discreet import Plan, PlanError
from discreet.publish.label_design import with_labels_designed
from discreet.publish.plan.grammar import PRIVATE

BINARY = {"binary": ["no", "yes"]}
LINE = {"ordinal": [f"level {i}" for i in range(25)]}
LABEL = {"formula": "age", "coefficients": [-3.0, 0.5], "link": "logit", "criterion": "A"}

#: A valid block of every mechanism, and of every way in which a mechanism is designed.
BLOCKS = {
    "yes/no": {"mechanism": "randomized-response", "domain": BINARY, "epsilon": 1.0, "delta": 0.3, "prevalence": 0.05},
    "one of three": {
        "mechanism": "randomized-response", "domain": {"categorical": ["n", "s", "e"]}, "epsilon": 1.0,
    },
    "label": {
        "mechanism": "randomized-response", "domain": BINARY, "epsilon": 1.0, "delta": 0.3, "label": LABEL,
    },
    "channel": {"mechanism": "channel", "domain": BINARY, "matrix": [["3/4", "1/4"], ["1/4", "3/4"]]},
    "bipartite": {"mechanism": "bipartite", "domain": LINE, "epsilon": 1.0},
    "exponential": {"mechanism": "exponential", "domain": LINE, "epsilon": 1.0},
    "expected-error": {"mechanism": "expected-error", "domain": LINE, "epsilon": 1.0},
    "joint": {"mechanism": "joint", "columns": ["y", "z", "v"], "domains": [BINARY] * 3, "epsilons": [1.0, 2.0, 1.0]},
    "zero-inflated-laplace": {
        "mechanism": "zero-inflated-laplace", "columns": ["y", "z"], "domain": {"box": {"low": 0, "high": 1}},
        "epsilon": 1.0, "delta": 0.01,
    },
    "one number": {
        "mechanism": "unbiased", "columns": ["y", "z"], "domain": {"grid": {"low": 0, "high": 1, "points": 2}},
        "report": "one", "epsilon": 1.0,
    },
    "collected": {"collected": True, "domain": BINARY, "warner": "2/3"},
}  # fmt: skip

#: Values of every key that are worth giving; none of them is the default.
VALUES = {
    "columns": [["other"]],
    "domain": [{"categorical": ["x", "y", "z", "w"]}],
    "mechanism": ["exponential", "bipartite", "channel", "joint"],
    "epsilon": [0.7],
    "delta": [0.2],
    "prevalence": [0.5, [0.3, 0.7]],
    "symmetric": [True],
    "reports": [4, ["r", "s"], ["r", "s", "t", "u"]],
    "missing": ["public", "category"],
    "collected": [True],
    "by": ["age"],
    "designs": [{"1": {"direct": True}}],
    "label": [LABEL],
    "high": ["best", 3],
    "prior": [[0.52, *[0.02] * 24]],
    "missing_loss": [2.0],
    "domains": [[BINARY, BINARY, {"categorical": ["n", "s", "e"]}]],
    "epsilons": [[1.0, 1.5, 1.0]],
    "total": [2.0],
    "ratios": [[1.0, 2.0, 1.0]],
    "method": ["kronecker"],
    "pairs": ["free"],
    "zero_probability": [0.004],
    "exposure": [0.0002],
    "worst": [True],
    "margin": [0.05],
    "repeat": ["memoise"],
    "report": ["one"],
    "unit": ["attribute"],
    "grid": [0.125],
    "clip": [True],
    "target": ["median"],
    "direct": [True],
    "warner": ["3/4"],
    "crosswise": ["1/4"],
    "forced": [{"yes": "1/6", "no": "1/6"}],
    "unrelated": [{"p": "2/3", "prevalence": "1/4"}],
    "mangat": ["3/5"],
    "kuk": [{"yes": "4/5", "no": "1/5"}],
    "triangular": ["1/4"],
    "devore": ["3/5"],
    "mangat_singh": [["1/3", "3/5"]],
    "mangat_singh_singh": [{"p": "2/3", "prevalence": "1/4"}],
    "two_stage_unrelated": [["1/3", "3/5", "1/4"]],
    "singh_joarder": ["3/5"],
    "parameters": [{"model": "age", "p1": "age"}],
    "extended_crosswise": [{"p": "1/4", "groups": ["a", "b"]}],
    "matrix": [[["4/5", "1/5"], ["1/5", "4/5"]]],
    "file": ["matrix.csv"],
}

#: Options that leave the block as it is and are honoured all the same.
HONOURED = {("channel", "epsilon"): "a claim that the matrix has to meet"}


def block_of(block):
    """The finished block of a plan with one private block, labels designed for a small public table."""
    plan = Plan.from_dict({"public": [{"columns": ["age"]}], "private": [{"columns": ["y"]} | block]})
    table = pa.table({"age": np.linspace(-1, 1, 60)})
    return with_labels_designed(plan, table).blocks[0].to_dict()


def test_every_key_of_the_grammar_is_tried():
    """A key that is added to the grammar has to be added here."""
    assert set(VALUES) == set(PRIVATE)


def outcome(block):
    """The finished block, or the sentence that refuses it."""
    try:
        return block_of(block)
    except PlanError as refusal:
        return str(refusal)


@pytest.mark.parametrize("key", sorted(VALUES))
@pytest.mark.parametrize("name", sorted(BLOCKS))
def test_every_option_is_honoured_or_refused(name, key):
    """The block changes, or a sentence names a key path."""
    base = block_of(BLOCKS[name])
    for value in VALUES[key]:
        if BLOCKS[name].get(key) == value:
            continue
        found = outcome(BLOCKS[name] | {key: value})
        if isinstance(found, str):
            assert re.search(r"private\[0\]", found), found
        else:
            assert found != base or (name, key) in HONOURED, f"{name}: {key} = {value!r} changes nothing"


def test_options_that_contradict_each_other_are_refused():
    """Of two options of which only one could count, neither is dropped in silence."""
    for name, options, message in [
        ("label", {"prevalence": 0.1}, r"private\[0\]\.prevalence cannot stand beside label"),
        ("label", {"symmetric": True, "reports": 4}, r"private\[0\].*symmetric"),
        ("yes/no", {"symmetric": True, "reports": 4}, r"private\[0\].*symmetric"),
        ("yes/no", {"delta": 0.0, "reports": 4}, r"private\[0\].*delta > 0"),
        ("bipartite", {"label": LABEL}, r'private\[0\]\.label belongs to mechanism = "randomized-response"'),
        ("channel", {"label": LABEL}, r'private\[0\]\.label belongs to mechanism = "randomized-response"'),
        ("bipartite", {"high": 3, "prior": VALUES["prior"][0]}, r"private\[0\]\.prior shapes"),
        ("zero-inflated-laplace", {"zero_probability": 0.05, "target": "median"}, r"private\[0\]\.target"),
        ("collected", {"reports": 4}, r"private\[0\]\.reports"),
        ("channel", {"reports": 4}, r"private\[0\]\.reports"),
    ]:
        assert re.search(message, outcome(BLOCKS[name] | options)), (name, options)
