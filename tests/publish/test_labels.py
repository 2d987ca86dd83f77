"""A private label designed for a regression, reading only public columns."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from discreet import Plan, PlanError, Randomness, ReleaseError, design, estimate, release

PLAN = """
format = 1
[[public]]
columns = ["age", "sex"]
[[private]]
columns = ["cheated"]
domain = { binary = ["no", "yes"] }
mechanism = "randomized-response"
epsilon = 1.0
delta = 0.3
label = { formula = "age + C(sex)", coefficients = [-3.0, 0.02, 0.3], criterion = "A" }
"""


def table(n=4000, seed=0):
    """Public covariates and a rare label."""
    rng = np.random.default_rng(seed)
    age, sex = rng.integers(18, 70, n), rng.choice(["f", "m"], n)
    chance = 1 / (1 + np.exp(3 - 0.02 * age - 0.3 * (sex == "m")))
    return pa.table({"age": age, "sex": sex, "cheated": np.where(rng.random(n) < chance, "yes", "no")})


def test_the_design_is_the_one_for_the_regression():
    """The released mechanism is that of design.label for the public columns."""
    data = table()
    done = release(data, Plan.parse(PLAN), randomness=Randomness.seeded(1))
    X = np.column_stack([np.ones(4000), data["age"].to_numpy(), np.array(data["sex"].to_pylist()) == "m"])
    assert done.mechanism("cheated") == design.label(1.0, 0.3, X, [-3.0, 0.02, 0.3]).mechanism
    assert done.guarantee.fits(1.0, 0.3)
    fit = estimate.regression("cheated ~ age + C(sex)", done)
    assert fit.converged


def test_csv_columns_that_are_numbers_count_as_numbers(tmp_path):
    """A CSV file gives the same design as the table it came from."""
    data = table()
    pyarrow.csv.write_csv(data, tmp_path / "data.csv")
    plan = Plan.parse(PLAN)
    from_csv = release(tmp_path / "data.csv", plan, ledger=None, randomness=Randomness.seeded(1))
    from_table = release(data, plan, randomness=Randomness.seeded(1))
    assert from_csv.mechanism("cheated") == from_table.mechanism("cheated")


def test_the_label_is_not_read_for_the_design():
    """Changing every private value leaves the design as it is."""
    data = table()
    other = data.set_column(2, "cheated", pa.array(["yes"] * 4000))
    plan = Plan.parse(PLAN)
    designs = [release(t, plan, randomness=Randomness.seeded(1)).mechanism("cheated") for t in (data, other)]
    assert designs[0] == designs[1]


def test_ranges_and_several_classes():
    """A range of coefficients, and a label with three values through the optimal channel."""
    ranged = PLAN.replace("[-3.0, 0.02, 0.3]", "{ low = [-4.0, 0.0, 0.0], high = [0.0, 0.05, 0.5] }")
    assert release(table(), Plan.parse(ranged)).guarantee.fits(1.0, 0.3)
    classes = """
        [[public]]
        columns = ["age"]
        [[private]]
        columns = ["cheated"]
        domain = { categorical = ["no", "yes", "often", "always"] }
        mechanism = "randomized-response"
        epsilon = 1.0
        label = { formula = "age", coefficients = [[0.1, 0.0], [0.2, 0.01], [0.0, 0.0]] }
    """
    done = release(table(), Plan.parse(classes))
    assert done.mechanism("cheated").shape[0] == 4
    assert estimate.frequencies(done, "cheated").estimate.sum() == pytest.approx(1)


def test_a_symmetric_label_exposes_nobody():
    """Asked for p00 = p11, the design has it, although a corner would be better for this regression."""
    done = release(table(), Plan.parse(PLAN.replace("delta = 0.3", "delta = 0.3\nsymmetric = true")))
    assert done.mechanism("cheated") == design.binary(1.0, 0.3, symmetric=True).mechanism
    assert done.guarantee.exposure == 0
    assert release(table(), Plan.parse(PLAN)).guarantee.exposure == pytest.approx(0.3)


def test_a_label_with_four_reports():
    """Four reports are the design that dominates all others, under the names that the plan gives."""
    four = PLAN.replace("delta = 0.3", "delta = 0.3\nreports = 4")
    done = release(table(), Plan.parse(four))
    assert done.mechanism("cheated") == design.binary(1.0, 0.3, reports=4).mechanism
    named = release(table(), Plan.parse(four.replace("reports = 4", 'reports = ["n", "y", "N", "Y"]')))
    assert set(named.to_arrow()["cheated"].to_pylist()) <= {"n", "y", "N", "Y"}
    two = release(table(), Plan.parse(four.replace("reports = 4", 'reports = ["n", "y"]')))
    assert set(two.to_arrow()["cheated"].to_pylist()) == {"n", "y"}


def test_before_the_data_is_read_the_promise_is_known():
    """The level does not depend on the design, so the plan states it without data."""
    plan = Plan.parse(PLAN)
    assert plan.guarantee.fits(1.0, 0.3)
    assert "made for the regression" in plan.summary()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('formula = "age + C(sex)"', 'formula = "cheated"', "not a public column"),
        ('formula = "age + C(sex)"', 'formula = "age + ("', "private\\[0\\].label.formula"),
        ("[-3.0, 0.02, 0.3]", "[-3.0, 0.02]", "3 columns"),
        ('criterion = "A"', 'criterion = "E"', "criterion"),
        ('criterion = "A"', 'criterium = "A"', "criterium"),
        (", coefficients = [-3.0, 0.02, 0.3]", "", "coefficients"),
        ('label = { formula = "age + C(sex)",', "label = {", "formula is missing"),
        ("delta = 0.3", 'delta = 0.3\nmissing = "category"', "blank|blanks"),
        ("delta = 0.3", "delta = 0.3\nprevalence = 0.1", "private\\[0\\].prevalence"),
        (
            'mechanism = "randomized-response"',
            'mechanism = "channel"\nmatrix = [["3/5", "2/5"], ["2/5", "3/5"]]',
            "label belongs",
        ),
    ],
)
def test_mistakes_name_the_key(old, new, message):
    """One clear sentence with the key path."""
    with pytest.raises(PlanError, match=message):
        release(table(), Plan.parse(PLAN.replace(old, new)))


def test_a_stream_cannot_be_read_twice():
    """A label design needs a first look at the public columns."""
    data = table()
    with pytest.raises(ReleaseError, match="stream"):
        release(pa.RecordBatchReader.from_batches(data.schema, data.to_batches()), Plan.parse(PLAN))
