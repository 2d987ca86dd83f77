"""Estimates straight from a release: the manifest says how the reports were made, nothing else is needed."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from discreet.blocks import ColumnBlock, DesignsByRow
from discreet.domains import Binary, Categorical, WithBlank
from discreet.errors import InputError, ReleaseError
from discreet.estimate import crosstab, crosstab_of_reports, frequencies
from discreet.manifest import Column, Manifest, Survey, composed_guarantee
from discreet.mechanisms import BinaryResponse, GeneralizedResponse
from discreet.publish import release as publish
from discreet.randomness import Randomness
from discreet.reading import Release

YES_NO = Binary()
REGION = Categorical(["n", "s", "e", "w"])
ASKED = BinaryResponse("4/5", "7/10")
WHERE = GeneralizedResponse(4, 1.5)
DESIGNS = {"direct": BinaryResponse.direct(), "crosswise": BinaryResponse.crosswise("1/4")}
ROWS = 3000


@pytest.fixture(scope="module")
def codes():
    """Reports as codes, and the public columns."""
    rng = np.random.default_rng(0)
    return {
        "cheated": rng.integers(0, 2, ROWS),
        "region": rng.integers(0, 4, ROWS),
        "voted": rng.integers(0, 2, ROWS),
        "blank": rng.integers(0, 3, ROWS),
        "silent": rng.random(ROWS) < 0.1,
        "sex": rng.choice(np.array(["f", "m", None], object), ROWS),
        "mode": rng.choice(np.array(["direct", "crosswise"], object), ROWS),
        "w": rng.uniform(0.5, 3, ROWS),
        "stratum": rng.integers(0, 3, ROWS),
        "school": rng.integers(0, 40, ROWS),
    }


def of(column, domain, mechanism, missing="reject"):
    """A column whose reports are labelled like its truths."""
    return ColumnBlock(columns=(column,), domain=domain, reports=domain, mechanism=mechanism, missing=missing)


def make(codes, survey=None):
    """A release in memory of several batches."""
    labels = {
        "cheated": YES_NO.decode_arrow(codes["cheated"]),
        "region": REGION.decode_arrow(codes["region"]),
        "voted": YES_NO.decode_arrow(codes["voted"]),
        "blank": WithBlank(YES_NO).decode_arrow(codes["blank"]),
        "hidden": pa.array(np.where(codes["silent"], None, YES_NO.decode(codes["cheated"]).astype(object))),
        **{name: pa.array(codes[name]) for name in ("sex", "mode", "w", "stratum", "school")},
    }
    table = pa.table(labels)
    pieces = pa.concat_tables([table.slice(start, 700) for start in range(0, ROWS, 700)])
    blocks = (
        of("cheated", YES_NO, ASKED),
        of("region", REGION, WHERE),
        DesignsByRow(columns=("voted",), domain=YES_NO, reports=YES_NO, by="mode", designs=DESIGNS, collected=True),
        of("blank", WithBlank(YES_NO), GeneralizedResponse(3, 1.0), missing="category"),
        of("hidden", YES_NO, ASKED, missing="public"),
    )
    private = {name for block in blocks for name in block.columns}
    manifest = Manifest(
        rows=ROWS,
        columns=tuple(Column(name, "private" if name in private else "public") for name in table.column_names),
        blocks=blocks,
        guarantee=composed_guarantee(blocks),
        secure=False,
        source="a test",
        order="keep",
        survey=survey or Survey(),
    )
    return Release.from_table(manifest, pieces)


@pytest.fixture(scope="module")
def release(codes):
    return make(codes)


def test_frequencies_from_a_release(release, codes):
    """Mechanism, labels and reports come from the release and equal the estimate in memory."""
    for column, mechanism, domain in (("cheated", ASKED, YES_NO), ("region", WHERE, REGION)):
        result = frequencies(release, column)
        expected = frequencies(codes[column], mechanism)
        np.testing.assert_array_equal(result.estimate, expected.estimate)
        np.testing.assert_array_equal(result.covariance, expected.covariance)
        assert result.labels == domain.labels
        assert result.column == column
        assert f'Frequencies of "{column}"' in str(result)


def test_grouping_by_a_public_column(release, codes):
    """by= names a public column; rows without a label are their own group."""
    result = frequencies(release, "region", by="sex")
    assert result.groups == ["f", "m", "(missing)"]
    np.testing.assert_array_equal(result.estimate, frequencies(codes["region"], WHERE, by=codes["sex"]).estimate)
    assert result.by == "sex"
    assert "sex" in result.summary().splitlines()[2]
    by_array = frequencies(release, "region", by=codes["sex"])
    np.testing.assert_array_equal(by_array.estimate, result.estimate)


def test_survey_columns_default_from_the_manifest(codes):
    """Weights, strata and clusters declared in the manifest are used, and can be turned off or replaced."""
    declared = make(codes, Survey("w", "stratum", "school"))
    expected = frequencies(
        codes["cheated"], ASKED, weights=codes["w"], strata=codes["stratum"], clusters=codes["school"]
    )
    result = frequencies(declared, "cheated")
    np.testing.assert_allclose(result.estimate, expected.estimate, atol=1e-13)
    np.testing.assert_allclose(result.covariance, expected.covariance, atol=1e-15)
    plain = frequencies(declared, "cheated", weights=False, strata=False, clusters=False)
    np.testing.assert_array_equal(plain.estimate, frequencies(codes["cheated"], ASKED).estimate)
    only = frequencies(make(codes), "cheated", weights="w")
    np.testing.assert_allclose(
        only.std_error, frequencies(codes["cheated"], ASKED, weights=codes["w"]).std_error, rtol=1e-12
    )
    table = crosstab(declared, "cheated", "region")
    assert table.chi_square().method == "rao-scott"


def test_designs_that_differ_by_row(release, codes):
    """A column asked in two modes is read with each row's own design."""
    result = frequencies(release, "voted")
    expected = frequencies(codes["voted"], DESIGNS, designs=codes["mode"])
    np.testing.assert_allclose(result.estimate, expected.estimate, atol=1e-13)
    np.testing.assert_allclose(result.covariance, expected.covariance, atol=1e-15)
    by_mode = frequencies(release, "voted", by="mode")
    chosen = codes["mode"] == "crosswise"
    np.testing.assert_allclose(
        by_mode["crosswise"].estimate, frequencies(codes["voted"][chosen], DESIGNS["crosswise"]).estimate, atol=1e-12
    )


def test_blank_as_a_value(release, codes):
    """With missing="category" the blank is estimated like any other value."""
    result = frequencies(release, "blank")
    np.testing.assert_array_equal(result.estimate, frequencies(codes["blank"], GeneralizedResponse(3, 1.0)).estimate)
    assert result.labels == ["no", "yes", None]
    assert "(blank)" in str(result)


def test_public_blanks_are_counted_and_reported(release, codes):
    """With missing="public" rows without a report are left out, and the result says how many."""
    result = frequencies(release, "hidden")
    kept = ~codes["silent"]
    np.testing.assert_array_equal(result.estimate, frequencies(codes["cheated"][kept], ASKED).estimate)
    assert result.notes == (f"{int(codes['silent'].sum())} rows without an answer left out",)
    table = crosstab(release, "hidden", "sex")
    assert table.n == kept.sum()
    assert table.notes == result.notes
    weighted = frequencies(release, "hidden", weights="w", clusters="school", by="sex")
    assert weighted.n.sum() == kept.sum()
    assert weighted.notes == result.notes


def test_groups_without_answers_are_named(codes):
    """A group in which nobody answered is left out by name."""
    silent = codes | {"silent": codes["sex"] == "m"}
    result = frequencies(make(silent), "hidden", by="sex")
    assert result.groups == ["f", "(missing)"]
    assert any("without any answer left out: m" in note for note in result.notes)


def test_crosstab_from_a_release(release, codes):
    """Two private columns, or a private and a public one in sorted label order."""
    table = crosstab(release, "cheated", "region")
    expected = crosstab_of_reports(codes["cheated"], codes["region"], ASKED, WHERE)
    np.testing.assert_array_equal(table.estimate, expected.estimate)
    assert table.row_labels == ["no", "yes"]
    assert table.column_labels == ["n", "s", "e", "w"]
    assert table.chi_square().p_value == expected.chi_square().p_value
    mixed = crosstab(release, "sex", "cheated")
    assert mixed.row_labels == ["f", "m", "(missing)"]
    shares = frequencies(release, "cheated", by="sex")
    np.testing.assert_allclose(mixed.estimate, shares.estimate * (shares.n / ROWS)[:, None], atol=1e-12)
    assert '"sex" × "cheated"' in str(mixed)
    modes = crosstab(release, "voted", "region")
    assert modes.chi_square().method == "rao-scott"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda r: frequencies(r, "nothing"), "nothing"),
        (frequencies, "name a column"),
        (lambda r: frequencies(r, "cheated", by="nothing"), 'by: the release has no column "nothing"'),
        (lambda r: frequencies(r, "cheated", by="region"), "private.*crosstab"),
        (lambda r: frequencies(r, "cheated", weights="sex"), 'column "sex" must hold real numbers only'),
        (lambda r: frequencies(r, "cheated", strata="sex"), "no value"),
        (lambda r: frequencies(r, "cheated", labels=["a", "b"]), "manifest"),
        (lambda r: frequencies(r, "cheated", weights=[1.0]), "one entry per row"),
        (lambda r: crosstab(r, "cheated"), "two columns"),
        (lambda r: crosstab(r, "cheated", "cheated"), "twice"),
        (lambda r: crosstab(r, "cheated", "nothing"), "nothing"),
        (lambda r: crosstab([0, 1], "cheated", "region"), "crosstab_of_reports"),
        (lambda r: crosstab_of_reports(r, "cheated"), r'crosstab\(release, "rows", "columns"\)'),
    ],
)
def test_bad_requests(release, call, message):
    """What cannot be had from the release is said in one sentence."""
    with pytest.raises(InputError, match=message):
        call(release)


def test_missing_report_without_policy_is_an_error():
    """A null where every row should have a report names the column and the row."""
    blocks = (of("cheated", YES_NO, ASKED),)
    manifest = Manifest(
        rows=3, columns=(Column("cheated", "private"),), blocks=blocks, guarantee=composed_guarantee(blocks),
        secure=False, source="a test",
    )  # fmt: skip
    table = pa.table({"cheated": pa.array(["no", None, "yes"])})
    with pytest.raises(ReleaseError, match=r'"cheated", row 1 .*is blank, but no blank was released'):
        frequencies(Release.from_table(manifest, table), "cheated")


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_through_a_file(tmp_path, kind):
    """Plan, release, file and back: the estimate finds the truth, also weighted and by group."""
    rng = np.random.default_rng(1)
    n = 20_000
    truth = np.where(rng.random(n) < 0.3, "yes", "no")
    table = pa.table(
        {"cheated": truth, "sex": np.where(rng.random(n) < 0.5, "f", "m"), "w": rng.uniform(1, 2, n).round(3)}
    )
    plan = {
        "format": 1,
        "budget": {"epsilon": 2.0},
        "survey": {"weight": "w"},
        "public": [{"columns": ["sex"]}],
        "private": [
            {
                "columns": ["cheated"],
                "domain": {"binary": ["no", "yes"]},
                "mechanism": "randomized-response",
                "epsilon": 2.0,
            }
        ],
    }
    path = tmp_path / f"out.{kind}"
    publish(table, plan, path, Randomness.seeded(3), ledger=None)
    opened = Release.open(path)
    result = frequencies(opened, "cheated")
    assert abs(result.estimate[1] - np.mean(truth == "yes")) < 6 * result.std_error[1]
    assert result.std_error[1] < 0.01
    assert result.evidence.weights is not None
    assert frequencies(opened, "cheated", by="sex").groups == ["f", "m"]
    assert crosstab(opened, "cheated", "sex").chi_square().p_value > 1e-6
