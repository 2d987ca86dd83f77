"""Answers that respondents randomised themselves."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest

from discreet import BudgetError, DomainError, PlanError, Randomness, ReleaseError, estimate
from discreet.audit import audit
from discreet.cli.design import _promise
from discreet.domains import Binary, Categorical
from discreet.mechanisms import BinaryResponse, ChannelResponse, GeneralizedResponse
from discreet.publish import Plan, release
from discreet.reading import Release
from tests.publish.conftest import plan_of


def collected(**design):
    return {"columns": ["cheated"], "domain": {"binary": ["no", "yes"]}, "collected": True, **design}


ANSWERS = pa.table({"mode": ["direct", "crosswise", "direct"], "cheated": ["no", "yes", "yes"]})


@pytest.mark.parametrize(
    ("design", "expected"),
    [
        ({"direct": True}, BinaryResponse.direct()),
        ({"warner": "2/3"}, BinaryResponse.warner("2/3")),
        ({"crosswise": "1/4"}, BinaryResponse.crosswise("1/4")),
        ({"crosswise": 0.25}, BinaryResponse.crosswise("1/4")),
        ({"forced": {"yes": "1/6", "no": "1/4"}}, BinaryResponse.forced("1/6", "1/4")),
        ({"forced": ["1/6", "1/4"]}, BinaryResponse.forced("1/6", "1/4")),
        ({"unrelated": {"p": "2/3", "prevalence": "1/4"}}, BinaryResponse.unrelated("2/3", "1/4")),
        ({"mangat": "3/5"}, BinaryResponse.mangat("3/5")),
        ({"kuk": {"yes": "4/5", "no": "1/5"}}, BinaryResponse.kuk("4/5", "1/5")),
        ({"triangular": "1/4"}, BinaryResponse.triangular("1/4")),
        ({"devore": "3/5"}, BinaryResponse.devore("3/5")),
        ({"mangat_singh": {"first": "1/3", "p": "3/5"}}, BinaryResponse.mangat_singh("1/3", "3/5")),
        ({"mangat_singh_singh": ["1/3", "1/4"]}, BinaryResponse.mangat_singh_singh("1/3", "1/4")),
        ({"two_stage_unrelated": ["1/3", "1/2", "1/4"]}, BinaryResponse.two_stage_unrelated("1/3", "1/2", "1/4")),
        ({"singh_joarder": "3/5"}, BinaryResponse.singh_joarder("3/5")),
        ({"matrix": [["2/3", "1/3"], ["1/3", "2/3"]]}, ChannelResponse([[2, 1], [1, 2]])),
        ({"mechanism": "channel", "matrix": [[2, 1], [1, 2]]}, ChannelResponse([[2, 1], [1, 2]])),
    ],
    ids=str,
)
def test_every_design_can_be_declared(design, expected):
    """The mechanism is exactly the one that the respondents used; the reports stay as they are."""
    answers = Release.from_reports(ANSWERS, Plan.from_dict(plan_of(collected(**design))))
    assert answers.mechanism("cheated") == expected
    assert answers.block("cheated").collected
    assert answers.to_arrow().column("cheated").to_pylist() == ["no", "yes", "yes"]
    assert answers.manifest.order == "keep"
    assert answers.manifest.randomness == {"secure": None, "source": "respondents"}


def test_devices_can_randomise_too():
    """A declared mechanism with its ε, as a telemetry client runs it."""
    block = collected(mechanism="randomized-response", epsilon=1.0) | {"domain": {"categorical": ["a", "b", "c"]}}
    table = pa.table({"cheated": ["a", "c"]})
    answers = Release.from_reports(table, Plan.from_dict(plan_of(block)))
    assert answers.mechanism("cheated") == GeneralizedResponse(3, 1.0)


def test_the_guarantee_is_certified_and_says_what_it_rests_on():
    """Dice have exact fractions; the promise does not cover those who did not follow the rule."""
    answers = Release.from_reports(ANSWERS, Plan.from_dict(plan_of(collected(forced=["1/6", "1/6"]))))
    assert answers.guarantee.epsilon == BinaryResponse.forced("1/6", "1/6").guarantee.epsilon
    assert answers.guarantee.unit == "record"
    assert "did not follow the design" in answers.guarantee.explain()


def test_reports_can_have_labels_of_their_own():
    """Crosswise answers are "different" and "same", not "no" and "yes"."""
    plan = Plan.from_dict(plan_of(collected(crosswise="1/4", reports=["different", "same"])))
    table = pa.table({"cheated": ["same", "different"]})
    block = Release.from_reports(table, plan).block("cheated")
    assert block.domain == Binary()
    assert block.reports == Categorical(["different", "same"])
    with pytest.raises(DomainError, match='expected one of "different", "same"'):
        Release.from_reports(ANSWERS, plan)


BY = collected(by="mode", designs={"direct": {"direct": True}, "crosswise": {"crosswise": "1/4"}})


def test_designs_can_differ_by_row():
    """One design per value of a public column; the weakest counts for the guarantee."""
    plan = Plan.from_dict(plan_of(BY, public=[{"columns": ["mode"]}]))
    answers = Release.from_reports(ANSWERS, plan)
    block = answers.block("cheated")
    assert block.by == "mode"
    assert dict(block.designs) == {"direct": BinaryResponse.direct(), "crosswise": BinaryResponse.crosswise("1/4")}
    assert block.mechanism is None
    assert answers.guarantee.epsilon == float("inf")
    assert any('differ by "mode"' in caveat for caveat in answers.guarantee.caveats)


def test_designs_as_the_toml_file_writes_them():
    """Dotted keys, fractions as text."""
    plan = Plan.parse(
        """
        [[public]]
        columns = ["mode"]
        [[private]]
        columns = ["cheated"]
        domain = { binary = ["no", "yes"] }
        collected = true
        by = "mode"
        designs.direct = { direct = true }
        designs.crosswise = { crosswise = "1/4" }
        """
    )
    assert dict(plan.blocks[0].designs)["crosswise"] == BinaryResponse.crosswise("1/4")


def test_a_row_without_design_is_refused():
    """A value of the public column that has no design, a blank included, stops the reading."""
    plan = Plan.from_dict(plan_of(BY, public=[{"columns": ["mode"]}]))
    for mode in ("phone", None):
        table = pa.table({"mode": ["direct", mode], "cheated": ["no", "yes"]})
        with pytest.raises(ReleaseError, match=r'column "mode", row 1 .*no design is declared'):
            Release.from_reports(table, plan)


def test_designs_can_be_chosen_by_a_number():
    """Numbers are compared as they are written."""
    plan = Plan.from_dict(
        plan_of(
            collected(by="wave", designs={"1": {"direct": True}, "2": {"warner": "2/3"}}),
            public=[{"columns": ["wave"]}],
        )
    )
    table = pa.table({"wave": [1, 2, 1], "cheated": ["no", "yes", "yes"]})
    assert Release.from_reports(table, plan).rows == 3


@pytest.mark.parametrize(
    ("block", "message"),
    [
        (collected(), r"private\[0\] needs exactly one design"),
        (collected(direct=True, warner="2/3"), "exactly one design"),
        (collected(direct=False), r"private\[0\]\.direct must be true"),
        (collected(warner="3/2"), r"private\[0\]\.warner: .*between 0 and 1"),
        (collected(warner="two thirds"), r"private\[0\]\.warner: "),
        (collected(forced="1/6"), r"private\[0\]\.forced must be a table with yes and no"),
        (collected(forced={"yes": "1/6"}), r"private\[0\]\.forced\.no is missing"),
        (collected(forced={"yes": "2/3", "no": "2/3"}), r"private\[0\]\.forced: .*must not exceed 1"),
        (collected(forced={"yess": "2/3", "no": "1/3"}), r'forced\.yess .* did you mean "yes"'),
        (collected(crosswise="1/4", epsilon=1.0), r"private\[0\]\.epsilon follows from the design"),
        (collected(crosswise="1/4", mechanism="channel"), r"crosswise cannot stand beside mechanism"),
        (collected(by="mode"), "needs both by and designs"),
        (collected(designs={}), "needs both by and designs"),
        (collected(by="mode", designs={}), r"designs must name a design"),
        (collected(by="mode", designs={"a": {"direct": True}}), r'by names "mode", which must be a public column'),
        (collected(by="mode", designs={"a": {"magic": 1}}), r"designs\.a\.magic is not a key"),
        (collected(by="mode", designs={"a": {"direct": True}}, warner="2/3"), r"warner cannot stand beside designs"),
        (
            collected(by="mode", designs={"a": {"direct": True}, "b": {"matrix": [[1, 1, 2], [2, 1, 1]]}}),
            "the same number of reports",
        ),
        (collected(crosswise="1/4", missing="category"), r'crosswise .*no rule for a blank; use missing = "public"'),
        (collected(crosswise="1/4") | {"domain": {"ordinal": ["a", "b", "c"]}}, "crosswise .*use a matrix"),
    ],
    ids=str,
)
def test_a_wrong_declaration_is_refused(block, message):
    """With the path of its key."""
    with pytest.raises(PlanError, match=message):
        Plan.from_dict(plan_of(block))


def test_true_answers_are_not_taken_for_reports(table):
    """A block that is not marked as collected belongs to release()."""
    with pytest.raises(ReleaseError, match="not marked collected = true"):
        Release.from_reports(table, Plan.from_dict(plan_of()))


def test_blanks_of_respondents():
    """A refusal is an error, or public when the plan says so."""
    table = pa.table({"cheated": ["no", None]})
    with pytest.raises(DomainError, match=r'column "cheated", row 1 .*missing'):
        Release.from_reports(table, Plan.from_dict(plan_of(collected(crosswise="1/4"))))
    public = Plan.from_dict(plan_of(collected(crosswise="1/4", missing="public")))
    assert Release.from_reports(table, public).to_arrow().column("cheated").to_pylist() == ["no", None]


def test_the_budget_also_bounds_what_was_collected():
    """A direct question exceeds every budget."""
    plan = Plan.from_dict(plan_of(collected(direct=True), budget={"epsilon": 10.0}))
    with pytest.raises(BudgetError, match="no finite ε"):
        Release.from_reports(ANSWERS, plan)


def test_collected_answers_can_be_published(tmp_path):
    """release() passes reports on without randomising them again, and shuffles the rows."""
    source = tmp_path / "answers.csv"
    pa_csv.write_csv(ANSWERS, source)
    plan = plan_of(BY, public=[{"columns": ["mode"]}])
    release(source, plan, tmp_path / "out.parquet")
    done = Release.open(tmp_path / "out.parquet")
    assert sorted(zip(*done.to_arrow().to_pydict().values(), strict=True)) == [
        ("crosswise", "yes"),
        ("direct", "no"),
        ("direct", "yes"),
    ]
    assert done.manifest.order == "shuffle"
    assert done.manifest.secure is None


def test_unlisted_columns_of_collected_tables_are_dropped():
    """The same safe default as everywhere."""
    answers = Release.from_reports(ANSWERS, Plan.from_dict(plan_of(collected(warner="2/3"))))
    assert answers.columns == ["cheated"]


def test_designs_can_be_chosen_by_a_categorical_column():
    """A dictionary-encoded column, as data frames hand it out, is read by its values."""
    plan = Plan.from_dict(plan_of(BY, public=[{"columns": ["mode"]}]))
    frame = pl.from_arrow(ANSWERS).with_columns(pl.all().cast(pl.Categorical))
    assert Release.from_reports(frame, plan).to_arrow().column("mode").to_pylist() == ["direct", "crosswise", "direct"]


BY_NUMBER = """
    [[public]]
    columns = ["mode"]
    [[private]]
    columns = ["x"]
    domain = { binary = [0, 1] }
    collected = true
    by = "mode"
    designs.1 = { direct = true }
    designs.2 = { crosswise = "1/4" }
"""


def test_designs_named_by_whole_numbers_can_be_estimated(tmp_path):
    """From memory and from a CSV file, whose cells are text."""
    table = pa.table({"mode": [1, 2] * 50, "x": [0, 1] * 50})
    survey = Release.from_reports(table, Plan.parse(BY_NUMBER))
    expected = estimate.frequencies(survey, "x").estimate
    pa_csv.write_csv(table, tmp_path / "in.csv")
    written = release(tmp_path / "in.csv", Plan.parse(BY_NUMBER), tmp_path / "out.csv", ledger=None)
    assert estimate.frequencies(written, "x").estimate == pytest.approx(expected)
    assert estimate.frequencies(Release.open(tmp_path / "out.csv"), "x").estimate == pytest.approx(expected)


def test_designs_named_by_fractions_are_refused():
    """1.0 has no one spelling."""
    with pytest.raises(ReleaseError, match="whole numbers"):
        Release.from_reports(pa.table({"mode": [1.0, 2.0], "x": [0, 1]}), Plan.parse(BY_NUMBER))


def mixed_survey(**budget):
    """A survey like those on plagiarism: 3,600 students asked directly, 17,805 by the crosswise model."""
    plan = Plan.from_dict(plan_of(BY, public=[{"columns": ["mode"]}], **budget))
    table = pa.table({"mode": ["direct"] * 3_600 + ["crosswise"] * 17_805, "cheated": ["no", "yes", "no"] * 7_135})
    return Release.from_reports(table, plan), plan


def test_exposure_is_counted_by_design():
    """Those asked directly are exposed, the others are not; rows are not called people without a declaration."""
    answers, _ = mixed_survey()
    text = answers.explain()
    assert "(about 3,600 of 21,405 rows) a report proves the true answer" in text
    assert 'cheated by mode: "direct" 3,600 of 3,600; "crosswise" 0 of 17,805' in text
    assert "people" not in text.replace("respondents", "")
    declared, _ = mixed_survey(budget={"rows_per_person": 1})
    assert "(about 3,600 of 21,405 people) a person's report proves their true answer" in declared.explain()


def test_exposed_rows_are_not_multiplied_by_the_rows_of_a_person():
    """With up to three rows each the chance is a person's, the expected number still that of rows."""
    plan = Plan.from_dict(plan_of(collected(mangat="3/5"), budget={"rows_per_person": 3}))
    table = pa.table({"cheated": ["no", "yes"] * 500})
    answers = Release.from_reports(table, plan)
    single = BinaryResponse.mangat("3/5").guarantee.exposure
    assert answers.guarantee.exposure > single
    assert f"(about {single * 1000:,.0f} of 1,000 rows)" in answers.explain()


def test_a_plan_says_the_exposure_of_every_design():
    """Before collecting nobody knows how many rows each design will have: no numbers of rows are made up."""
    _, plan = mixed_survey()
    text = "\n".join(_promise(plan, 20_000))
    assert 'Exposure of cheated by mode: "direct" 1; "crosswise" 0.' in text
    assert "20,000" not in text


def test_a_seeded_order_of_collected_answers_is_marked_insecure():
    """Whoever knows the seed can undo the order; a secure one, or the order as it was, says "respondents"."""
    plan = Plan.parse(BY_NUMBER)
    table = pa.table({"mode": [1, 2] * 50, "x": [0, 1] * 50})
    seeded = release(table, plan, randomness=Randomness.seeded(1))
    assert seeded.manifest.order == "shuffle"
    assert seeded.manifest.secure is False
    assert "seeded" in seeded.manifest.source
    assert not audit(seeded).passed
    secure = release(table, plan)
    assert (secure.manifest.secure, secure.manifest.source) == (None, "respondents")
    assert audit(secure).passed
    assert Release.from_reports(table, plan).manifest.secure is None


def test_columns_that_respondents_randomised_together_are_not_randomised_again():
    """Collected is collected, whatever kind of block it is."""
    domains = [{"binary": ["no", "yes"]}, {"categorical": ["x", "y", "z"]}]
    joint = {"columns": ["a", "b"], "domains": domains, "mechanism": "joint", "epsilons": [0.1, 0.1]}
    plan = Plan.from_dict({"output": {"order": "keep"}, "private": [joint]})
    asked = replace(plan, blocks=(replace(plan.blocks[0], collected=True),))
    table = pa.table({"a": ["no", "yes"] * 150, "b": ["x", "y", "z"] * 100})
    assert release(table, asked).to_arrow().to_pydict() == table.to_pydict()
    assert release(table, plan).to_arrow().to_pydict() != table.to_pydict()
