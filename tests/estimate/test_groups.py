"""Groups by one or several public columns, values by their label, and arrays beside rows whose order is not theirs."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest

from discreet.domains import WithBlank
from discreet.errors import EstimationError
from discreet.estimate import ValueFrequency, crosstab, frequencies, joint_table
from discreet.mechanisms import BinaryResponse, GeneralizedResponse
from discreet.publish import Plan
from discreet.publish import release as publish
from discreet.randomness import Randomness
from discreet.reading import Release

ROWS = 2000
WARNER = BinaryResponse.warner("3/4")


def plan(**extra):
    """Two private columns, four public ones."""
    private = {"mechanism": "randomized-response", "epsilon": 2.0}
    return {
        "format": 1,
        "public": [{"columns": ["region", "sex", "w", "h"]}],
        "private": [
            {"columns": ["cheated"], "domain": {"binary": ["no", "yes"]}, **private},
            {"columns": ["drinks"], "domain": {"binary": ["no", "yes"]}, **private},
            {
                "columns": ["smokes", "votes"],
                "domains": [{"binary": ["no", "yes"]}, {"binary": ["no", "yes"]}],
                "mechanism": "joint",
                "epsilons": [1.0, 1.0],
            },
        ],
        **extra,
    }


@pytest.fixture(scope="module")
def truth():
    """Everybody in the north cheated, and nobody in the south."""
    rng = np.random.default_rng(3)
    north = np.arange(ROWS) % 2 == 0
    answers = {name: rng.choice(["no", "yes"], ROWS) for name in ("drinks", "smokes", "votes")}
    return pa.table(
        {
            "region": np.where(north, "north", "south"),
            "sex": rng.choice(["f", "m"], ROWS),
            "w": rng.uniform(1, 2, ROWS),
            "h": rng.integers(0, 5, ROWS),
            "cheated": np.where(north, "yes", "no"),
            **answers,
        }
    )


@pytest.fixture(scope="module")
def shuffled(truth):
    return publish(truth, plan(), randomness=Randomness.seeded(1))


@pytest.fixture(scope="module")
def kept(truth):
    return publish(truth, plan(output={"order": "keep"}), randomness=Randomness.seeded(1))


@pytest.mark.parametrize("role", ["by", "weights", "strata", "clusters"])
def test_arrays_are_refused_beside_rows_in_random_order(shuffled, truth, role):
    """Rows of the source say nothing about the rows of a shuffled release, so an array from outside is refused."""
    column = {"by": "region", "weights": "w", "strata": "h", "clusters": "h"}[role]
    outside = truth[column].to_numpy(zero_copy_only=False)
    with pytest.raises(EstimationError, match=rf"^{role}: an array .* random order; name a public column"):
        frequencies(shuffled, "cheated", **{role: outside})
    frequencies(shuffled, "cheated", **{role: column})
    if role == "by":
        return
    with pytest.raises(EstimationError, match="random order"):
        crosstab(shuffled, "cheated", "drinks", **{role: outside})
    with pytest.raises(EstimationError, match="random order"):
        joint_table(shuffled, ["smokes", "votes"], **{role: outside})


def test_arrays_go_with_rows_that_kept_their_order(kept, truth):
    """Where the order of the source was kept, an array gives what the released column gives."""
    outside = truth["region"].to_numpy(zero_copy_only=False)
    found = frequencies(kept, "cheated", by=outside)
    np.testing.assert_array_equal(found.estimate, frequencies(kept, "cheated", by="region").estimate)
    assert found["north"]["yes"].estimate > 0.9
    assert found["south"]["yes"].estimate < 0.1


def test_collected_answers_keep_their_order():
    """Answers that respondents randomised stay in their rows, so arrays beside them are fine."""
    asked = {
        "format": 1,
        "private": [{"columns": ["a"], "domain": {"binary": ["no", "yes"]}, "collected": True, "crosswise": "1/4"}],
    }
    taken = Release.from_reports(pa.table({"a": ["no", "yes", "yes", "no"] * 5}), Plan.from_dict(asked))
    assert list(frequencies(taken, "a", by=np.tile([1, 2], 10))) == [1, 2]


def test_several_columns_group_by_their_combinations(shuffled):
    """Each combination that occurs is a group, labelled by a tuple, and is what its rows alone give."""
    found = frequencies(shuffled, "cheated", by=["region", "sex"])
    labels = [("north", "f"), ("north", "m"), ("south", "f"), ("south", "m")]
    assert list(found) == found.groups == labels
    assert len(found) == 4
    assert [label for label, _ in found.items()] == labels
    table = shuffled.to_arrow().to_pandas()
    for region, sex in labels:
        rows = table[(table.region == region) & (table.sex == sex)]
        codes = (rows.cheated == "yes").to_numpy().astype(int)
        alone = frequencies(codes, shuffled.mechanism("cheated"))
        np.testing.assert_array_equal(found[region, sex].estimate, alone.estimate)
        np.testing.assert_array_equal(found[region, sex].std_error, alone.std_error)
    text = found.summary()
    assert text.splitlines()[2].split()[:3] == ["region", "sex", "value"]
    assert text.splitlines()[3].split()[:3] == ["north", "f", "yes"]
    data = json.loads(json.dumps(found.to_dict()))
    assert data["by"] == ["region", "sex"]
    assert [part["group"] for part in data["groups"]] == [list(label) for label in labels]


def test_groups_of_several_columns_in_any_number_and_batches(monkeypatch):
    """Three arrays with gaps, a few rows at a time: combinations in the order of their labels, missing ones last."""
    rng = np.random.default_rng(0)
    reports, numbers = rng.integers(0, 2, 400), rng.integers(0, 12, 400)
    words, flags = rng.choice(np.array(["b", "a", None], object), 400), rng.random(400) < 0.5
    monkeypatch.setattr("discreet.estimate.data.rows._ROWS", 17)
    found = frequencies(reports, WARNER, by=[words, numbers, flags])
    expected = sorted({(w is None, w or "", n, f) for w, n, f in zip(words, numbers, flags, strict=True)})
    assert list(found) == [("(missing)" if gone else w, n, f) for gone, w, n, f in expected]
    for w, n, f in list(found)[::9]:
        rows = (words == (None if w == "(missing)" else w)) & (numbers == n) & (flags == f)
        np.testing.assert_array_equal(found[w, n, f].evidence.counts, np.bincount(reports[rows], minlength=2))


def test_one_column_in_a_list_is_one_column(shuffled):
    """A list of one name groups as the name does."""
    found, alone = frequencies(shuffled, "cheated", by=["sex"]), frequencies(shuffled, "cheated", by="sex")
    assert list(found) == ["f", "m"]
    assert found.to_dict() == alone.to_dict()


def test_a_grouping_by_an_unknown_column_is_named(shuffled):
    """Every name of a list must be a public column."""
    with pytest.raises(EstimationError, match='by: the release has no column "age"'):
        frequencies(shuffled, "cheated", by=["region", "age"])
    with pytest.raises(EstimationError, match='"drinks" is private'):
        frequencies(shuffled, "cheated", by=["region", "drinks"])


def test_grouped_results_are_a_mapping(shuffled):
    """Iteration gives labels, an unknown label is a KeyError, membership works."""
    found = frequencies(shuffled, "cheated", by="region")
    assert dict(found) == {label: found[label] for label in ("north", "south")}
    assert "north" in found
    assert "west" not in found
    with pytest.raises(KeyError):
        found["west"]


def test_frequencies_by_label(shuffled):
    """``result["yes"]`` is the frequency of one value, with its error and interval."""
    found = frequencies(shuffled, "cheated")
    one = found["yes"]
    assert isinstance(one, ValueFrequency)
    assert (one.label, one.estimate, one.std_error) == ("yes", found.estimate[1:], found.std_error[1:])
    assert float(one) == found.estimate[1]
    for method in ("wilson", "wald", "clopper-pearson"):
        np.testing.assert_array_equal(one.interval(0.9, method), found.interval(0.9, method)[1:])
    assert str(one).startswith(f"yes: {float(one):.4f} (std. error ")
    assert json.loads(json.dumps(one.to_dict()))["interval"]["low"] == one.interval()[0, 0]
    assert list(found) == ["no", "yes"]
    assert len(found) == 2
    assert "maybe" not in found
    with pytest.raises(KeyError):
        found["maybe"]


def test_values_without_labels_and_blanks_have_an_index_too():
    """Codes stand for values whose labels are not known; None is the blank."""
    assert frequencies(counts=[60, 40], mechanism=WARNER)[1].estimate == pytest.approx(0.3)
    from discreet.domains import Binary

    three = frequencies(counts=[60, 40, 20], mechanism=GeneralizedResponse(3, 1.0), labels=WithBlank(Binary()))
    assert three[None].estimate == three.estimate[2]
    assert three["yes"].estimate == three.estimate[1]
