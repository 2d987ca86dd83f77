"""The audit recomputes every stated figure from the integers, and notices when one is too small."""

from __future__ import annotations

import json
from dataclasses import replace

import pyarrow as pa
import pytest

from discreet import Guarantee, Plan, Randomness, Release, release
from discreet.audit import audit
from discreet.mechanisms import ZeroInflatedLaplace

PLAN = """
[budget]
epsilon = 9.0
delta = 0.5
rows_per_person = 2
[[private]]
columns = ["a", "b"]
domain = { binary = ["no", "yes"] }
mechanism = "randomized-response"
epsilon = 1.0
[[private]]
columns = ["c"]
domain = { categorical = ["x", "y", "z"] }
mechanism = "randomized-response"
epsilon = 2.0
"""
TABLE = pa.table({"a": ["no", "yes"] * 50, "b": ["no"] * 100, "c": ["x", "y"] * 50})


def verdicts(done):
    """Verdict by subject."""
    return {finding.subject: finding.verdict for finding in audit(done).findings}


def test_an_honest_release_passes():
    """Everything is as stated, and the audit says what it could not check."""
    done = release(TABLE, Plan.parse(PLAN))
    report = audit(done)
    assert report.passed
    assert report.unchecked == ("signature",)
    assert {verdict for subject, verdict in verdicts(done).items() if subject != "signature"} == {"ok"}
    assert "Not checked: signature." in report.summary()
    assert "No audit can tell" in report.summary()
    json.dumps(report.to_dict())


def altered(done, **changes):
    """The same release with a manifest that says something else."""
    return Release.from_table(replace(done.manifest, **changes), done.to_arrow())


@pytest.mark.parametrize("factor", [0.5, 1 - 1e-8])
def test_a_stated_epsilon_that_is_too_small_fails(factor):
    """By half, or in the eighth digit; in a block, or in the sum."""
    done = release(TABLE, Plan.parse(PLAN))
    first = done.manifest.blocks[0]
    weaker = replace(first, guarantee=replace(first.guarantee, epsilon=first.guarantee.epsilon * factor))
    assert verdicts(altered(done, blocks=(weaker, done.manifest.blocks[1])))["block 0 (a, b)"] == "failure"
    total = done.manifest.guarantee
    lower = altered(done, guarantee=replace(total, epsilon=total.epsilon * factor))
    assert verdicts(lower)["all blocks together"] == "failure"
    assert not audit(lower).passed


def test_a_hidden_delta_or_exposure_fails():
    """A design with exposure cannot be stated without it."""
    level = 'mechanism = "randomized-response"\nepsilon = 1.0'
    plan = Plan.parse(PLAN.replace(level, f"{level}\ndelta = 0.1\nprevalence = 0.01"))
    done = release(TABLE, plan)
    assert verdicts(done)["block 0 (a, b)"] == "warning"
    first = done.manifest.blocks[0]
    for name in ("delta", "exposure"):
        hidden = replace(first, guarantee=replace(first.guarantee, **{name: 0.0}))
        assert verdicts(altered(done, blocks=(hidden, done.manifest.blocks[1])))["block 0 (a, b)"] == "failure"


def test_a_seeded_release_fails():
    """A simulation is not a release."""
    report = audit(release(TABLE, Plan.parse(PLAN), randomness=Randomness.seeded(1)))
    assert not report.passed
    assert "seed" in report.summary()


def test_kept_order_and_direct_questions_are_warned_about():
    """What the steward declared is repeated as a warning."""
    kept = release(TABLE, Plan.parse(PLAN + '[output]\norder = "keep"\n'))
    assert verdicts(kept)["row order"] == "warning"
    direct = Plan.parse("""
        [[private]]
        columns = ["a"]
        domain = { binary = ["no", "yes"] }
        collected = true
        direct = true
    """)
    asked = Release.from_reports(TABLE.select(["a"]), direct)
    assert verdicts(asked)["block 0 (a)"] == "warning"
    assert "no finite ε" in audit(asked).summary()
    assert asked.guarantee == Guarantee(float("inf"), unit="record", exposure=1.0, caveats=asked.guarantee.caveats)


@pytest.mark.parametrize(
    "change",
    [
        lambda m: {"guarantee": replace(m.guarantee, unit="person"), "rows_per_person": None},
        lambda m: {"guarantee": replace(m.guarantee, caveats=())},
        lambda m: {
            "blocks": (replace(m.blocks[0], guarantee=replace(m.blocks[0].guarantee, caveats=())), *m.blocks[1:])
        },
    ],
)
def test_a_promise_that_says_more_than_it_holds_fails(change):
    """A unit that was not declared, or a caveat that was left out."""
    plan = Plan.parse(
        PLAN.replace("rows_per_person = 2\n", "").replace("epsilon = 1.0", 'epsilon = 1.0\nmissing = "public"')
    )
    done = release(TABLE, plan)
    assert audit(done).passed
    assert not audit(altered(done, **change(done.manifest))).passed


def test_cells_that_are_no_reports_fail():
    """The file must hold what the manifest names."""
    done = release(TABLE, Plan.parse(PLAN))
    table = done.to_arrow()
    forged = table.set_column(0, "a", pa.array(["perhaps"] * table.num_rows))
    assert verdicts(Release.from_table(done.manifest, forged))["reports"] == "failure"


NUMERIC = """
[budget]
epsilon = {epsilon}
delta = 0.2
[[private]]
columns = ["h"]
domain = {{ box = {{ low = 0, high = 10 }} }}
mechanism = "zero-inflated-laplace"
epsilon = {epsilon}
delta = 0.1
zero_probability = 0.05
"""


def drawn_earlier(epsilon):
    """A release as an earlier version wrote it: noise from 52 bits, its finite precision counted once."""
    done = release(pa.table({"h": [1.0, 2.5] * 20}), Plan.parse(NUMERIC.format(epsilon=epsilon)))
    block = done.manifest.blocks[0]
    exact = block.mechanism
    then = ZeroInflatedLaplace(exact.box, exact.scale, 0.05, epsilon, exact.grid, sampling="52-bit")
    stated = replace(block.guarantee, delta=then.delta(epsilon) + then.sampling_slack, caveats=then.guarantee.caveats)
    return altered(done, blocks=(replace(block, mechanism=then, guarantee=stated),), guarantee=stated)


def test_noise_of_an_earlier_version_is_warned_about():
    """Its δ passes where finite precision is far below it, and the audit says what the manifest does not."""
    report = audit(drawn_earlier(1.0))
    assert report.passed
    (noise,) = [one for one in report.findings if one.subject == "noise of block 0"]
    assert noise.verdict == "warning"
    assert "no grid hides" in noise.detail


def test_noise_of_an_earlier_version_fails_at_large_epsilon():
    """At ε = 44 nothing is known about its δ; the same release drawn exactly passes."""
    assert verdicts(drawn_earlier(44.0))["block 0 (h)"] == "failure"
    done = release(pa.table({"h": [1.0, 2.5] * 20}), Plan.parse(NUMERIC.format(epsilon=44.0)))
    assert audit(done).passed
    assert "noise of block 0" not in verdicts(done)
