"""Reports that respondents' devices made with a designed mechanism: taken in as they are, and estimated from."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest

from discreet import DomainError, Plan, PlanError, Randomness, Release, estimate, release
from discreet.audit import audit
from discreet.blocks import JointBlock
from tests.publish.conftest import block_of, plan_of

N = 20_000
BANDS = {"ordinal": ["low", "middle", "high", "top"]}
#: Designs for one column of values, and how frequent these are.
LISTED = {
    "binary": (block_of(collected=True), [0.8, 0.2]),
    "prevalence": (block_of(collected=True, delta=0.1, prevalence=0.2), [0.8, 0.2]),
    "symmetric": (block_of(collected=True, delta=0.1, symmetric=True), [0.8, 0.2]),
    "four reports": (block_of(collected=True, delta=0.1, reports=4), [0.8, 0.2]),
    "generalised": (block_of(collected=True, domain=BANDS), [0.4, 0.3, 0.2, 0.1]),
    "bipartite": (block_of(collected=True, domain=BANDS, mechanism="bipartite"), [0.4, 0.3, 0.2, 0.1]),
    "exponential": (block_of(collected=True, domain=BANDS, mechanism="exponential"), [0.4, 0.3, 0.2, 0.1]),
    "expected-error": (
        block_of(collected=True, domain=BANDS, mechanism="expected-error", epsilon=3.0),
        [0.4, 0.3, 0.2, 0.1],
    ),
}
JOINT = {
    "columns": ["cheated", "band"],
    "domains": [{"binary": ["no", "yes"]}, BANDS],
    "mechanism": "joint",
    "epsilons": [1.0, 2.0],
    "collected": True,
}
NUMBERS = {
    "columns": ["age", "bmi"],
    "domain": {"box": {"low": [18, 12], "high": [100, 60]}},
    "mechanism": "zero-inflated-laplace",
    "epsilon": 6.0,
    "delta": 0.1,
    "collected": True,
}


def without_mark(block):
    """The plan of the devices: the same design, for true answers."""
    return Plan.from_dict(plan_of({key: value for key, value in block.items() if key != "collected"}))


def close(found, truth):
    """Within six standard errors, and those are not so large that anything would be."""
    return np.all(np.abs(found.estimate - truth) < 6 * found.std_error) and np.all(found.std_error < 0.1)


@pytest.mark.parametrize("name", LISTED)
def test_what_a_device_reports_is_taken_in_and_estimated_from(name):
    """Every cell stays as it is, the manifest says collected, the frequencies are found again."""
    block, truth = LISTED[name]
    plan = Plan.from_dict(plan_of(block))
    device = without_mark(block).blocks[0]
    codes = np.repeat(np.arange(len(truth)), (np.array(truth) * N).round().astype(int))
    reports = device.reports.decode(device.mechanism.privatize(codes, Randomness.seeded(5)))
    answers = plan.collect(pa.table({"cheated": reports}))
    assert answers.to_arrow()["cheated"].to_pylist() == list(reports)
    assert answers.manifest.blocks[0].collected
    assert answers.manifest.randomness == {"secure": None, "source": "respondents"}
    assert answers.mechanism("cheated") == device.mechanism
    found = estimate.frequencies(answers, "cheated")
    assert close(found, truth)
    raw = np.bincount(device.reports.encode(reports), minlength=len(truth))[: len(truth)] / N
    assert (np.abs(raw - truth) / found.std_error).max() > 4  # the shares of the reports would not do


def test_a_joint_response_is_collected():
    """Columns that a device randomised together, with their frequencies and their cross-table."""
    plan, device = Plan.from_dict(plan_of(JOINT)), without_mark(JOINT).blocks[0]
    rng = np.random.default_rng(0)
    cheated = rng.random(N) < 0.3
    band = np.where(cheated, rng.choice(4, N, p=[0.1, 0.2, 0.3, 0.4]), rng.choice(4, N, p=[0.4, 0.3, 0.2, 0.1]))
    reports = device.mechanism.privatize(np.column_stack([cheated, band]), Randomness.seeded(5))
    table = pa.table(
        {name: device.domains[j].decode(reports[:, j].astype(int)) for j, name in enumerate(("cheated", "band"))}
    )
    answers = plan.collect(table)
    assert answers.to_arrow().to_pydict() == table.to_pydict()
    assert answers.manifest.blocks[0].collected
    assert answers.guarantee.epsilon == plan.designs[0].guarantee.epsilon
    assert any("did not follow the design" in caveat for caveat in answers.guarantee.caveats)
    assert close(estimate.frequencies(answers, "cheated"), [1 - cheated.mean(), cheated.mean()])
    assert close(estimate.frequencies(answers, "band"), np.bincount(band) / N)
    assert estimate.crosstab(answers, "cheated", "band").chi_square().p_value < 1e-6
    assert JointBlock.from_dict(plan.blocks[0].to_dict()) == plan.blocks[0]


@pytest.mark.parametrize("more", [{}, {"zero_probability": 0.05, "unit": "attribute"}], ids=str)
def test_numbers_with_noise_are_collected(more):
    """Reports inside and outside the box alike; a regression is found again, and no number is changed."""
    plan, device = Plan.from_dict(plan_of(NUMBERS | more)), without_mark(NUMBERS | more).blocks[0]
    rng = np.random.default_rng(0)
    age = rng.uniform(20, 98, N)
    truth = np.column_stack([age, 12 + 0.4 * age + rng.uniform(0, 8, N)])
    reports = device.mechanism.privatize(truth, Randomness.seeded(5))
    assert ((reports < [18, 12]) | (reports > [100, 60])).any(axis=1).mean() > 0.1
    answers = plan.collect(pa.table({"age": reports[:, 0], "bmi": reports[:, 1]}))
    assert np.array_equal(np.column_stack([answers.to_arrow()[name] for name in ("age", "bmi")]), reports)
    assert answers.manifest.blocks[0].collected
    fit = estimate.regression("bmi ~ age", answers)
    slope = list(fit.names).index("age")
    assert abs(fit.estimate[slope] - 0.4) < 6 * fit.std_error[slope] < 0.4


def test_collected_reports_are_published_once(tmp_path):
    """release() writes them as they are, opens them again, and the audit passes."""
    plan, device = Plan.from_dict(plan_of(JOINT, NUMBERS)), without_mark(JOINT).blocks[0]
    numbers = without_mark(NUMBERS).blocks[0].mechanism.privatize([[20.0, 30.0]] * 500, Randomness.seeded(2))
    codes = device.mechanism.privatize(np.zeros((500, 2), int), Randomness.seeded(3)).astype(int)
    table = pa.table(
        {
            "cheated": device.domains[0].decode(codes[:, 0]),
            "band": device.domains[1].decode(codes[:, 1]),
            "age": numbers[:, 0],
            "bmi": numbers[:, 1],
        }
    )
    pa_csv.write_csv(table, tmp_path / "in.csv")
    for output in ("out.parquet", "out.csv"):
        release(tmp_path / "in.csv", plan, tmp_path / output, ledger=None)
        done = Release.open(tmp_path / output)
        assert sorted(map(str, done.to_arrow().to_pylist())) == sorted(map(str, table.to_pylist()))
        assert audit(done).passed


def test_a_number_that_the_mechanism_cannot_give_is_refused():
    """Off the grid, not finite, or missing: column and row are named, the number is not."""
    plan = Plan.from_dict(plan_of(NUMBERS))
    step = plan.blocks[0].mechanism.grid[0]
    for bad, what in (
        (20 + step / 2, f"no report of this mechanism.*a multiple of {step!r}"),
        (float("nan"), "missing"),
        (float("inf"), "no report"),
        (None, "missing"),
    ):
        table = pa.table({"age": [20.0, bad], "bmi": [20.0, 21.0]})
        with pytest.raises(DomainError, match=rf'column "age", row 1 .*{what}') as caught:
            plan.collect(table)
        assert str(bad) not in str(caught.value)
    public = Plan.from_dict(plan_of(NUMBERS | {"missing": "public"}))
    table = pa.table({"age": [20.0, None], "bmi": [-700.0, 21.0]})
    assert public.collect(table).to_arrow().to_pydict() == table.to_pydict()


def test_a_report_outside_its_domain_is_refused():
    """What a device reports must be one of the reports, for every mechanism."""
    for block in (LISTED["bipartite"][0], JOINT):
        plan = Plan.from_dict(plan_of(block))
        cells = {"cheated": ["no" if block is JOINT else "low", "perhaps"], "band": ["low", "top"]}
        with pytest.raises(DomainError, match=r'column "cheated", row 1 '):
            plan.collect(pa.table(cells))


@pytest.mark.parametrize(
    ("block", "message"),
    [
        (NUMBERS | {"clip": True}, r"private\[0\]\.clip moves true numbers into the box, but these were randomised"),
        (JOINT | {"warner": "2/3"}, r'private\[0\]\.warner does not belong to mechanism = "joint"'),
        (JOINT | {"by": "mode"}, r'private\[0\]\.by does not belong to mechanism = "joint"'),
        (JOINT | {"collected": "yes"}, r"private\[0\]\.collected must be true or false"),
        (NUMBERS | {"matrix": [[1]]}, r'private\[0\]\.matrix does not belong to mechanism = "zero-inflated-laplace"'),
        (block_of(collected=True, warner="2/3"), r"private\[0\]\.warner cannot stand beside mechanism"),
        (block_of(collected=True, matrix=[[2, 1], [1, 2]]), r'matrix belongs to mechanism = "channel"'),
        (block_of(collected=True, high="best"), r"high belongs to mechanism = bipartite"),
        (LISTED["bipartite"][0] | {"warner": "2/3"}, r"warner cannot stand beside mechanism"),
        (LISTED["exponential"][0] | {"prior": [0.5, 0.5]}, r"prior has no part in the exponential mechanism"),
        (
            block_of(collected=True, label={"formula": "age"}),
            r"label designs a randomisation, but these answers were randomised by the respondents",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_contradictory_keys_are_refused(block, message):
    """One clear sentence, with the path of the key."""
    with pytest.raises(PlanError, match=message):
        Plan.from_dict(plan_of(block))
