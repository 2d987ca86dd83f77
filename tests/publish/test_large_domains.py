"""A plan for the frequencies of a large domain: from the table to the estimate."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest

from discreet import Plan, PlanError, Randomness, Release, estimate, release
from discreet.mechanisms import CyclicResponse, GeneralizedResponse

THOUSAND = {"categorical": {"from": 0, "to": 999}}


def plan(**more):
    block = {"columns": ["code"], "domain": THOUSAND, "mechanism": "frequencies", "epsilon": 2.0}
    return {"format": 1, "private": [block | more]}


@pytest.mark.parametrize("name", ["out.parquet", "out.csv"])
def test_a_thousand_values_from_release_to_estimate(tmp_path, name):
    """The manifest alone is enough to read the numbers back as frequencies, with errors that hold."""
    n = 60_000
    weights = 1 / np.arange(1, 1_001)
    truths = np.random.default_rng(1).choice(1_000, n, p=weights / weights.sum())
    release(pa.table({"code": truths}), plan(), tmp_path / name, randomness=Randomness.seeded(2), ledger=None)
    opened = Release.open(tmp_path / name)
    mechanism = opened.mechanism("code")
    assert isinstance(mechanism, CyclicResponse)
    assert opened.guarantee.epsilon <= 2.0
    result = estimate.frequencies(opened, "code")
    truth = weights / weights.sum()
    ends = result.interval()
    covered = np.mean((ends[:, 0] <= truth) & (truth <= ends[:, 1]))
    assert 0.91 < covered < 0.985
    assert result.labels[7] == 7
    assert abs(result[0].estimate - truth[0]) < 6 * result[0].std_error
    plain = n**-0.5 * np.sqrt(GeneralizedResponse(1_000, 2.0).inverse.variances(np.full(1_000, 1e-3)).mean())
    assert 4 * result.std_error.mean() < plain


def test_released_cells_are_numbers_and_not_answers(tmp_path):
    """Also where there are as many reports as values: the names of truths would mislead."""
    letters = [f"value {i}" for i in range(13)]
    given = plan(domain={"categorical": letters}, epsilon=1.0)
    out = release(pa.table({"code": letters * 10}), given, randomness=Randomness.seeded(1))
    assert out.manifest.blocks[0].mechanism.shape == (13, 13)
    assert out.to_arrow().schema.field("code").type == pa.int64()
    assert set(out.to_arrow().column("code").to_pylist()) <= set(range(13))
    assert json.loads(out.manifest.to_json())["blocks"][0]["mechanism"]["kind"] == "cyclic"


def test_small_domains_keep_generalised_response():
    """The better of the two is taken."""
    read = Plan.from_dict(plan(domain={"binary": ["no", "yes"]}, epsilon=1.0))
    assert isinstance(read.blocks[0].mechanism, GeneralizedResponse)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"delta": 0.1}, r"private\[0\]\.delta does not belong"),
        ({"prior": [0.5]}, r"private\[0\]\.prior belongs"),
        ({"epsilon": -1.0}, r"private\[0\]\.epsilon must be above 0"),
        (
            {"domain": {"categorical": {"from": 0, "to": 9_999_999}}},
            r"private\[0\]\.domain: .* may have at most 10,000,000",
        ),
        ({"epsilon": 1e-100}, r"private\[0\]\.epsilon: epsilon = 1e-100 is too small"),
    ],
)
def test_keys_of_other_mechanisms_are_refused(more, message):
    """One sentence with the path of the key."""
    with pytest.raises(PlanError, match=message):
        Plan.from_dict(plan(**more))


def test_blanks_may_be_one_more_value():
    """A missing answer is protected like the others."""
    read = Plan.from_dict(plan(missing="category"))
    assert read.blocks[0].mechanism.shape[0] == 1_001
