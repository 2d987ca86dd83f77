"""A plan is read completely or refused with the path of the key that is wrong."""

from __future__ import annotations

import dataclasses
import json
import math

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet import Binary, BudgetError, Categorical, Grid, Ordinal, PlanError
from discreet.domains import WithBlank
from discreet.mechanisms import BinaryResponse, ChannelResponse, GeneralizedResponse
from discreet.publish import Plan
from tests.publish.conftest import block_of, plan_of

WHOLE = """
format = 1
title = "Campus honesty survey"
[budget]
epsilon = 5.0
delta = 0.0
rows_per_person = 1
[survey]
weight = "w"
[output]
order = "shuffle"
[[public]]
columns = ["sex", "term"]
[[private]]
columns = ["cheated"]
domain = { binary = ["no", "yes"] }
mechanism = "randomized-response"
epsilon = 1.0
"""


def build(**more):
    return Plan.from_dict(plan_of(**more))


def only_block(**changes):
    return Plan.from_dict(plan_of(block_of(**changes))).blocks[0]


def refused(data, message):
    with pytest.raises(PlanError, match=message) as caught:
        Plan.from_dict(data)
    assert "\n" not in str(caught.value)


def test_the_plan_of_the_design_is_read():
    """Every section ends up where it belongs."""
    plan = Plan.parse(WHOLE)
    assert plan.title == "Campus honesty survey"
    assert plan.public == ("sex", "term", "w")
    assert plan.survey.weight == "w"
    assert plan.order == "shuffle"
    assert (plan.budget.epsilon, plan.budget.delta, plan.budget.rows_per_person) == (5.0, 0.0, 1)
    assert plan.private == ("cheated",)
    assert isinstance(plan.blocks[0].mechanism, BinaryResponse)
    assert plan.guarantee.unit == "person"
    assert plan.guarantee.epsilon <= 1.0


def test_a_plan_is_read_from_a_file_and_from_plain_data(tmp_path):
    """Three ways to the same plan."""
    path = tmp_path / "plan.toml"
    path.write_text(WHOLE)
    read, parsed = Plan.read(path), Plan.parse(WHOLE)
    given = Plan.from_dict(parsed.to_dict())
    assert read.blocks == parsed.blocks == given.blocks
    assert read.to_dict() == given.to_dict() == Plan.from_dict(given.to_dict()).to_dict()


def test_a_plan_cannot_be_changed():
    """It is a frozen value."""
    with pytest.raises(dataclasses.FrozenInstanceError):
        Plan.parse(WHOLE).title = "other"


def test_a_plan_without_declarations_promises_per_row():
    """Without rows per person the guarantee is about a row, and the summary says so."""
    plan = build()
    assert plan.guarantee.unit == "record"
    assert "not about a person" in plan.summary()


def test_a_named_person_without_a_number_declares_one_row():
    """The least that can be checked."""
    assert build(budget={"person": "id"}).budget.rows_per_person == 1


def test_summaries_say_what_is_promised_and_dropped():
    """Public, private, dropped, order, promise and budget in words."""
    text = str(Plan.parse(WHOLE))
    for part in ("sex, term, w", "cheated", "Every other column is dropped", "random order", "Budget: ε = 5"):
        assert part in text
    kept = build(output={"order": "keep"}).summary()
    assert "declared harmless" in kept
    assert "so there are 3" in Plan.from_dict(plan_of(block_of(missing="category"))).summary()


@pytest.mark.parametrize(
    ("domain", "expected"),
    [
        ({"binary": ["no", "yes"]}, Binary()),
        ({"binary": [False, True]}, Binary(False, True)),
        ({"binary": [0, 1]}, Binary(0, 1)),
        ({"categorical": ["n", "s", "e"]}, Categorical(["n", "s", "e"])),
        ({"categorical": {"from": 0, "to": 9_999_999}}, Categorical(range(10**7))),
        ({"ordinal": ["a", "b", "c"]}, Ordinal(["a", "b", "c"])),
        ({"ordinal": ["a", "b", "c"], "positions": [0, 1, 5]}, Ordinal(["a", "b", "c"], [0, 1, 5])),
        ({"grid": {"low": 0, "high": 1, "points": 5}}, Grid(0, 1, 5)),
    ],
    ids=str,
)
def test_every_domain_of_the_grammar(domain, expected):
    """Declared values become the domain; other than yes/no ones get generalised response."""
    block = only_block(domain=domain, epsilon=9.0)
    assert block.domain == expected
    kind = BinaryResponse if isinstance(expected, Binary) else GeneralizedResponse
    assert isinstance(block.mechanism, kind)
    assert block.guarantee.epsilon == pytest.approx(9.0, rel=1e-8)


def test_values_of_a_domain_can_lie_in_a_file(tmp_path):
    """CSV and Parquet, found beside the plan."""
    (tmp_path / "places.csv").write_text("code,name\n1,north\n2,south\n3,east\n")
    pq.write_table(pa.table({"code": [5, 6, 7]}), tmp_path / "codes.parquet")
    text = WHOLE.replace('{ binary = ["no", "yes"] }', '{ categorical = { file = "FILE", column = "COLUMN" } }')
    for file, column, values in (
        ("places.csv", "name", ["north", "south", "east"]),
        ("codes.parquet", "code", [5, 6, 7]),
    ):
        path = tmp_path / "plan.toml"
        path.write_text(text.replace("FILE", file).replace("COLUMN", column))
        plan = Plan.read(path)
        assert plan.blocks[0].domain == Categorical(values)
        assert [used.name for used in plan.files] == [file]
    path.write_text(text.replace("FILE", "places.csv").replace("COLUMN", "nothing"))
    with pytest.raises(PlanError, match=r'categorical\.file: places\.csv has no column "nothing"'):
        Plan.read(path)
    path.write_text(text.replace("FILE", "absent.csv").replace("COLUMN", "name"))
    with pytest.raises(PlanError, match=r"categorical\.file: there is no file"):
        Plan.read(path)


def test_options_of_a_yes_no_question():
    """delta, prevalence, symmetric and reports reach the designer."""
    assert only_block(delta=0.4, prevalence=0.1).mechanism.p00 == 1
    assert only_block(delta=0.4, prevalence=[0.05, 0.6]).guarantee.delta > 0
    symmetric = only_block(delta=0.4, symmetric=True).mechanism
    assert symmetric.p00 == symmetric.p11
    four = only_block(delta=0.1, reports=4)
    assert four.reports.labels == ["no", "yes", "no (certain)", "yes (certain)"]
    named = only_block(delta=0.1, reports=["a", "b", "c", "d"])
    assert named.reports.labels == ["a", "b", "c", "d"]


def test_the_blank_as_a_category_makes_yes_no_three_valued():
    """Generalised response over three values, and the domain holds the blank."""
    block = only_block(missing="category")
    assert block.domain == WithBlank(Binary())
    assert block.mechanism == GeneralizedResponse(3, 1.0)
    assert block.reports == block.domain


def test_a_channel_is_read_exactly(tmp_path):
    """Fractions as text, floats and integers; inline or from a file."""
    wide = [["1/2", "1/4", "1/4"], ["1/4", "1/4", "1/2"]]
    block = only_block(mechanism="channel", epsilon=None, matrix=wide, reports=["a", "b", "c"])
    assert block.mechanism == ChannelResponse(wide)
    assert block.reports == Categorical(["a", "b", "c"])
    square = only_block(mechanism="channel", epsilon=None, matrix=[[3, 1], [1, 3]])
    assert square.reports == Binary()
    (tmp_path / "matrix.csv").write_text("1/2, 1/4, 1/4\n1/4,1/4,1/2\n")
    data = plan_of(block_of(mechanism="channel", epsilon=None, file="matrix.csv", reports=["a", "b", "c"]))
    assert Plan.from_dict(data, folder=tmp_path).blocks[0] == block


def test_the_epsilon_of_a_channel_is_a_claim_that_is_checked():
    """The certified guarantee must not exceed it; δ is stated at that ε."""
    matrix = [["3/4", "1/4"], ["1/4", "3/4"]]
    assert only_block(mechanism="channel", matrix=matrix, epsilon=1.1).guarantee.epsilon == pytest.approx(math.log(3))
    refused(
        plan_of(block_of(mechanism="channel", matrix=matrix, epsilon=1.0)),
        r"private\[0\]\.epsilon: the matrix gives ε = 1.09862, .*more than the declared ε = 1,",
    )
    loose = only_block(mechanism="channel", matrix=matrix, epsilon=1.0, delta=0.1)
    assert (loose.guarantee.epsilon, loose.guarantee.delta) == (1.0, pytest.approx(0.75 - math.e / 4))
    refused(plan_of(block_of(mechanism="channel", matrix=matrix, epsilon=1.0, delta=0.01)), "more than the declared")
    refused(plan_of(block_of(mechanism="channel", matrix=[["1/2", "1/2"], [0, 1]], epsilon=3.0)), "no finite ε")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"mechanism": "zero-inflated-laplace"}, r"private\[0\]\.domain must be a box"),
        ({"domain": {"box": {"low": 0, "high": 1}}}, r"private\[0\]\.domain: a box needs mechanism"),
        ({"zero_probability": 0.1}, r"private\[0\]\.zero_probability belongs to mechanism"),
    ],
    ids=str,
)
def test_numeric_keys_and_boxes_belong_to_their_mechanism(changes, message):
    """A box and its options anywhere else would be silently ignored, so they are refused."""
    refused(plan_of(block_of(**changes)), message)


def test_joint_block_as_the_design_writes_it():
    """A joint block has a domain and a level for every column, and one promise about the record."""
    block = {
        "columns": ["smokes", "region"],
        "domains": [{"binary": ["no", "yes"]}, {"categorical": ["n", "s"]}],
        "mechanism": "joint",
        "epsilons": [1.0, 2.0],
    }
    plan = Plan.from_dict(plan_of(block))
    assert plan.guarantee.unit == "record"
    assert plan.guarantee.epsilon < 3.0


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (plan_of(titel="x"), r'^titel is not a key of a plan; did you mean "title"\?'),
        (plan_of(block_of(epsilonn=1.0)), r'private\[0\]\.epsilonn is not a key of a plan; did you mean "epsilon"\?'),
        (plan_of(block_of(), block_of(columns=["b"], xyz=1)), r"private\[1\]\.xyz is not a key of a plan$"),
        (plan_of(budget={"epsillon": 1}), r'budget\.epsillon .* did you mean "epsilon"'),
        (plan_of(survey={"weights": "w"}), r'survey\.weights .* did you mean "weight"'),
        (plan_of(output={"sort": "keep"}), r"output\.sort is not a key"),
        (plan_of(public=[{"column": ["a"]}]), r'public\[0\]\.column .* did you mean "columns"'),
        (plan_of(block_of(domain={"binari": ["a", "b"]})), r'private\[0\]\.domain\.binari .* did you mean "binary"'),
        (plan_of(block_of(mechanism="randomised-response")), r'must be one of .* did you mean "randomized-response"'),
        (plan_of(output={"order": "sorted"}), r'output\.order must be one of "shuffle", "keep", not "sorted"'),
        (plan_of(block_of(epsilon=0)), r"private\[0\]\.epsilon must be above 0, not 0"),
        (plan_of(block_of(epsilon=-1)), r"private\[0\]\.epsilon must be above 0, not -1"),
        (plan_of(block_of(), block_of(columns=["b"], epsilon=math.inf)), r"private\[1\]\.epsilon must be finite"),
        (plan_of(block_of(epsilon=math.nan)), r"private\[0\]\.epsilon must be finite"),
        (plan_of(block_of(epsilon="one")), r"private\[0\]\.epsilon must be a number"),
        (plan_of(block_of(epsilon=True)), r"private\[0\]\.epsilon must be a number"),
        (plan_of(block_of(epsilon=1000.0)), r"private\[0\]\.epsilon: .*too large.*for the largest denominator"),
        (plan_of(block_of(epsilon=None)), r"private\[0\]\.epsilon is missing"),
        (plan_of(block_of(delta=-0.1)), r"private\[0\]\.delta must lie between 0 and 1, not -0.1"),
        (plan_of(block_of(delta=1.5)), r"private\[0\]\.delta must lie between 0 and 1"),
        (plan_of(block_of(delta=0.1, prevalence=2)), r"private\[0\]\.prevalence must be"),
        (plan_of(block_of(delta=0.1, prevalence=[0.4, 0.2])), r"private\[0\]\.prevalence must be"),
        (plan_of(block_of(reports=3)), r"private\[0\]\.reports must be 2 or 4"),
        (plan_of(block_of(domain={"ordinal": ["a", "b"]}, delta=0.1)), r"private\[0\]\.delta is an option of a yes/no"),
        (plan_of(block_of(missing="category", prevalence=0.1)), r"private\[0\]\.prevalence is an option of a yes/no"),
        (plan_of(block_of(domain={"ordinal": ["a", "b"]}, reports=4)), r"private\[0\]\.reports belongs to a yes/no"),
        (plan_of(block_of(matrix=[[1]])), r'private\[0\]\.matrix belongs to mechanism = "channel"'),
        (plan_of(block_of(missing="drop")), r"private\[0\]\.missing must be one of"),
        (plan_of(block_of(mechanism=None)), r"private\[0\]\.mechanism is missing"),
        (plan_of(block_of(columns=None)), r"private\[0\]\.columns is missing"),
        (plan_of(block_of(domain=None)), r"private\[0\]\.domain is missing"),
        (plan_of(block_of(columns="cheated")), r"private\[0\]\.columns must be a list"),
        (plan_of(block_of(columns=[])), r"private\[0\]\.columns must be a list"),
        (plan_of(block_of(columns=["a", "a"])), r'private\[0\]\.columns lists "a" twice'),
        (plan_of(block_of(), block_of()), r'private\[1\]\.columns lists "cheated", which is private already'),
        (plan_of(public=[{"columns": ["cheated"]}]), r'private\[0\]\.columns lists "cheated", which is public already'),
        (plan_of(survey={"weight": "cheated"}), r'lists "cheated", which is public already'),
        (plan_of(public=[{"columns": ["a"]}, {"columns": ["a"]}]), r'public\[1\]\.columns lists "a", .*already'),
        (plan_of(survey={"weight": "a", "strata": "a"}), "one column for two purposes"),
        (plan_of(budget={"person": "cheated"}), r'budget\.person names "cheated", which is private'),
        (plan_of(budget={"rows_per_person": 0}), r"budget\.rows_per_person must be a whole number of at least 1"),
        (plan_of(budget={"rows_per_person": 1.5}), r"budget\.rows_per_person must be a whole number"),
        (plan_of(budget={"delta": 0.1}), r"budget\.delta needs budget\.epsilon"),
        (plan_of(budget={"epsilon": 0}), r"budget\.epsilon must be above 0"),
        (plan_of(budget=3), r"budget must be a table"),
        (plan_of(public={"columns": ["a"]}), r"public must be a list of tables, each written \[\[public\]\]"),
        (plan_of(title=7), "title must be text"),
        (plan_of(survey={"weight": 7}), r"survey\.weight must be text"),
        (plan_of(format=2), r"format = 2 is newer"),
        (plan_of(format="1"), r"format must be a whole number"),
        ({}, r"at least one \[\[private\]\] block"),
        ({"private": []}, r"at least one \[\[private\]\] block"),
        (plan_of(block_of(domain=["no", "yes"])), r"private\[0\]\.domain must be a table"),
        (plan_of(block_of(domain={})), r"private\[0\]\.domain needs exactly one of"),
        (plan_of(block_of(domain={"binary": ["a", "b"], "grid": {}})), r"needs exactly one of"),
        (plan_of(block_of(domain={"binary": ["a"]})), r"private\[0\]\.domain\.binary must list two values"),
        (plan_of(block_of(domain={"binary": ["a", "a"]})), r"private\[0\]\.domain\.binary: .*must all be different"),
        (plan_of(block_of(domain={"binary": ["a", 1]})), r"private\[0\]\.domain\.binary: "),
        (plan_of(block_of(domain={"categorical": "abc"})), r"private\[0\]\.domain\.categorical: .*must be a list"),
        (plan_of(block_of(domain={"categorical": {"from": 0}})), r"categorical\.to is missing"),
        (plan_of(block_of(domain={"categorical": {"from": "a", "to": "b"}})), r"needs whole numbers"),
        (plan_of(block_of(domain={"categorical": {"file": "x.csv"}})), r"categorical\.column is missing"),
        (plan_of(block_of(domain={"ordinal": {"from": 0, "to": 3}})), r"ordinal must list its values"),
        (plan_of(block_of(domain={"ordinal": ["a", "b"], "positions": [1, 1]})), r"ordinal: .*increase"),
        (plan_of(block_of(domain={"ordinal": ["a", "b"], "positions": 3})), r"positions must be a list"),
        (plan_of(block_of(domain={"binary": ["a", "b"], "positions": [1, 2]})), r"positions belongs to an ordinal"),
        (plan_of(block_of(domain={"grid": {"low": 0, "high": 1}})), r"domain\.grid\.points is missing"),
        (plan_of(block_of(domain={"grid": {"low": 1, "high": 0, "points": 3}})), r"domain\.grid: .*low < high"),
        (plan_of(block_of(mechanism="channel", epsilon=None)), r"private\[0\] needs either matrix or file"),
        (
            plan_of(block_of(mechanism="channel", epsilon=None, matrix=[["1/2", "1/3"], [0, 1]])),
            r"\.matrix: .*sum to 1",
        ),
        (plan_of(block_of(mechanism="channel", epsilon=None, matrix=[[1, 1], [1, 1], [1, 1]])), r"3 rows, but .* 2"),
        (
            plan_of(block_of(mechanism="channel", epsilon=None, matrix=[[1, 1], [1, 1]], missing="category")),
            "the blank is one of them",
        ),
        (plan_of(block_of(mechanism="channel", epsilon=None, matrix=[[1, 1, 2], [2, 1, 1]])), r"\.reports is missing"),
        (
            plan_of(block_of(mechanism="channel", epsilon=None, matrix=[[3, 1], [1, 3]], reports=["a"])),
            r"\.reports has 1 labels, but there are 2 reports",
        ),
        (
            plan_of(block_of(mechanism="channel", epsilon=None, matrix=[[3, 1], [1, 3]], reports="ab")),
            r"\.reports must be a list",
        ),
        (plan_of(block_of(mechanism="channel", epsilon=None, delta=0.1, matrix=[[3, 1], [1, 3]])), r"delta needs"),
        (plan_of(block_of(mechanism="channel", prevalence=0.1, matrix=[[3, 1], [1, 3]])), r"prevalence belongs to"),
        (plan_of(block_of(mechanism="channel", epsilon=None, file="absent.csv")), r"file: there is no file"),
        (plan_of(block_of(symmetric="yes")), r"symmetric must be true or false"),
        (plan_of(block_of(collected="yes")), r"collected must be true or false"),
        (plan_of(block_of(crosswise="1/4")), r"crosswise describes answers .* add collected = true"),
        (plan_of(block_of(by="mode")), r"by describes answers .* add collected = true"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_wrong_plan_is_refused_with_the_path_of_its_key(data, message):
    """One sentence: where, what, and which bound."""
    refused(data, message)


@pytest.mark.parametrize("text", ["= 3", "[budget\n", "a = 1\na = 2", 'x = "\\q"', "\x00"])
def test_malformed_toml_is_refused(text):
    """With the line where reading stopped."""
    with pytest.raises(PlanError, match="not valid TOML"):
        Plan.parse(text)


def test_a_plan_that_cannot_be_read(tmp_path):
    """Missing, a folder, or not text."""
    with pytest.raises(PlanError, match="there is no file"):
        Plan.read(tmp_path / "absent.toml")
    with pytest.raises(PlanError, match="cannot be read"):
        Plan.read(tmp_path)
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(PlanError, match="not text in UTF-8"):
        Plan.read(tmp_path / "binary.toml")


def test_plain_data_only():
    """Objects that no TOML file can hold are refused."""
    with pytest.raises(PlanError, match="only tables, lists"):
        Plan.from_dict({"private": [object()]})


def test_a_matrix_file_holds_numbers_only(tmp_path):
    """A header is not a row of the matrix."""
    (tmp_path / "m.csv").write_text("no,yes\n1,0\n")
    with pytest.raises(PlanError, match=r"private\[0\]\.file: m\.csv must hold numbers"):
        Plan.from_dict(plan_of(block_of(mechanism="channel", epsilon=None, file="m.csv")), folder=tmp_path)


@pytest.mark.parametrize(
    ("budget", "fits"),
    [
        ({"epsilon": 2.0}, True),
        ({"epsilon": 1.999999}, False),
        ({"epsilon": 4.0, "rows_per_person": 2}, True),
        ({"epsilon": 3.9, "rows_per_person": 2}, False),
        ({"rows_per_person": 100}, True),
        ({}, True),
    ],
    ids=str,
)
def test_the_budget_bounds_the_composed_guarantee(budget, fits):
    """Two columns at ε = 1 need 2 per row, and that times the rows a person can have."""
    plan = Plan.from_dict(plan_of(block_of(columns=["a", "b"]), budget=budget))
    if fits:
        plan.check_budget()
        return
    with pytest.raises(BudgetError, match=rf"needs ε = [24], .* budget allows ε = {budget['epsilon']}, δ = 0"):
        plan.check_budget()


def test_delta_has_a_budget_of_its_own():
    """A δ that was not budgeted is over budget."""
    block = block_of(delta=0.1, prevalence=0.25)
    with pytest.raises(BudgetError, match=r"δ = 0\.1.*δ = 0\.0$"):
        Plan.from_dict(plan_of(block, budget={"epsilon": 9.0})).check_budget()
    Plan.from_dict(plan_of(block, budget={"epsilon": 9.0, "delta": 0.1})).check_budget()


def test_the_digest_of_a_plan_is_that_of_its_text():
    """Any change of the text is another plan to the ledger."""
    assert Plan.parse(WHOLE).digest != Plan.parse(WHOLE + "\n").digest
    assert len(build().digest) == 64
    assert json.loads(build().text) == plan_of()
