"""Text that means "missing" in a CSV file is declared; without a declaration it is text like any other."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from discreet.errors import EstimationError, InputError, PlanError, ReleaseError
from discreet.estimate import frequencies, regression
from discreet.publish import Plan
from discreet.publish import release as publish
from discreet.randomness import Randomness
from discreet.reading import Release

ROWS = 600
SECRET = "unspeakable"


def plan(missing=("NA", "-99"), **private):
    """One private column, with its blanks public; age and sex are public."""
    block = {
        "columns": ["cheated"],
        "domain": {"binary": ["no", "yes"]},
        "mechanism": "randomized-response",
        "epsilon": 4.0,
        "missing": "public",
    }
    return {
        "format": 1,
        **({} if missing is None else {"missing_values": list(missing)}),
        "output": {"order": "keep"},
        "public": [{"columns": ["age", "sex"]}],
        "private": [block | private],
    }


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """Ages with a few texts, sexes with NA, answers with NA and empty cells."""
    rng = np.random.default_rng(0)
    age = [str(one) for one in rng.integers(18, 90, ROWS)]
    sex = list(rng.choice(["f", "m"], ROWS))
    cheated = list(rng.choice(["no", "yes"], ROWS))
    age[3], age[10], age[11] = "NA", "-99", '"NA"'
    sex[5] = "NA"
    cheated[7], cheated[8] = "NA", ""
    path = tmp_path_factory.mktemp("csv") / "data.csv"
    lines = [",".join(row) for row in zip(age, sex, cheated, strict=True)]
    path.write_text("age,sex,cheated\n" + "\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_declared_text_is_missing_everywhere(source, tmp_path, ending):
    """In public and private columns, quoted or not; a number column stays one."""
    publish(source, plan(), tmp_path / f"out.{ending}", Randomness.seeded(1))
    out = Release.open(tmp_path / f"out.{ending}")
    table = out.to_arrow()
    blank = {name: np.flatnonzero(table[name].is_null()).tolist() for name in table.column_names}
    assert blank == {"age": [3, 10, 11], "sex": [5], "cheated": [7, 8]}
    assert out.manifest.columns[0].type == "integer"
    assert frequencies(out, "cheated", by="sex").groups == ["f", "m", "(missing)"]
    assert regression("cheated ~ age", out, missing="drop").names == ("Intercept", "age")


def test_without_a_declaration_nothing_is_guessed(source):
    """NA is a text like any other: refused in a private column, with its row and without its value."""
    with pytest.raises(InputError, match="row 7") as error:
        publish(source, plan(missing=None), randomness=Randomness.seeded(1))
    assert "NA" not in str(error.value)


@pytest.mark.parametrize("texts", [("NA", "-99"), ("", "NA", "-99")])
def test_the_empty_cell_is_always_missing(source, texts):
    """Whether the list names it or not."""
    table = publish(source, plan(missing=texts), randomness=Randomness.seeded(1)).to_arrow()
    assert table["cheated"].null_count == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"missing_values": "NA"}, "missing_values must be a list of texts"),
        ({"missing_values": [1]}, "missing_values must be a list of texts"),
        ({"missing_values": ["NA", "NA"]}, "missing_values lists a text twice"),
        ({"missing_values": ["no"]}, 'missing_values lists "no", which is also a value of "cheated"'),
        ({"missing_values": [str(i) for i in range(101)]}, "over the limit of 100"),
    ],
)
def test_bad_lists_are_refused(change, message):
    """One sentence with the key; a value cannot mean that there is none."""
    with pytest.raises(PlanError, match=message):
        Plan.from_dict(plan() | change)


@pytest.mark.parametrize(
    ("domain", "clash"),
    [
        ({"categorical": {"from": -99, "to": 0}}, True),
        ({"categorical": {"from": 0, "to": 9}}, False),
        ({"grid": {"low": -100, "high": 0, "points": 101}}, True),
    ],
)
def test_numbers_that_are_values_cannot_mean_missing(domain, clash):
    """The text is read as the domain reads it."""
    made = plan(domain=domain)
    if clash:
        with pytest.raises(PlanError, match='"-99", which is also a value'):
            Plan.from_dict(made)
    else:
        assert Plan.from_dict(made).missing_values == ("NA", "-99")
        assert '"NA", "-99" is missing' in Plan.from_dict(made).summary()


def test_sources_with_nulls_have_no_missing_text():
    """In a data frame a missing value is a null; the key would be ignored, so it is refused."""
    table = pa.table({"age": ["NA"], "sex": ["f"], "cheated": ["no"]})
    with pytest.raises(ReleaseError, match="missing_values is for a CSV file"):
        publish(table, plan(), randomness=Randomness.seeded(1))


def test_numbers_with_a_few_texts_are_refused_in_a_formula():
    """One odd cell must not turn an age into seventy categories; it is counted, not shown, and C() takes it."""
    rng = np.random.default_rng(0)
    age = [str(one) for one in rng.integers(18, 90, ROWS)]
    age[4] = age[9] = SECRET
    table = pa.table({"age": age, "sex": rng.choice(["1", "2", "other"], ROWS), "cheated": ["no", "yes"] * 300})
    out = publish(table, plan(missing=None), randomness=Randomness.seeded(1))
    with pytest.raises(
        EstimationError, match=r'column "age" .* 2 cells are text; .*missing_values .* C\(age\)'
    ) as error:
        regression("cheated ~ age", out)
    assert SECRET not in str(error.value)
    assert len(regression("cheated ~ C(sex)", out).names) == 3
    with pytest.raises(EstimationError, match="cells are text"):
        regression("cheated ~ sex", out)


def test_many_numbers_with_one_text_are_told_from_too_many_categories():
    """Also where there are more numbers than a category may have levels."""
    amounts = [f"{i}.5" for i in range(1999)] + ["none"]
    table = pa.table({"age": amounts, "sex": ["f", "m"] * 1000, "cheated": ["no", "yes"] * 1000})
    out = publish(table, plan(missing=None), randomness=Randomness.seeded(1))
    with pytest.raises(EstimationError, match="1 cell is text"):
        regression("cheated ~ age", out)
