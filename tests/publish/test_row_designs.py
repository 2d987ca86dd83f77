"""Designs of rows that stand in columns of the answers, as R's RRglm takes them, and answers written in other ways."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from discreet import Plan, PlanError, Release, ReleaseError, estimate, limits, release
from discreet.audit import audit
from discreet.cli.app import app
from discreet.errors import DomainError
from discreet.mechanisms import BinaryResponse
from discreet.publish.layout import AnswersReadWarning

#: GLMMRR's chance of a "yes" is c + d·prevalence: model, p1, p2, c, d.
MODELS = [
    ("DQ", None, None, 0, 1),
    ("Warner", "4/5", None, 1 / 5, 3 / 5),
    ("Forced", "3/4", "1/3", 1 / 12, 3 / 4),
    ("UQM", "3/4", "1/5", 1 / 20, 3 / 4),
    ("Crosswise", "1/4", None, 3 / 4, -1 / 2),
    ("Triangular", "1/5", None, 1 / 5, 4 / 5),
    ("Kuk", "4/5", "1/5", 1 / 5, 3 / 5),
]
PLAN = """
format = 1
[[public]]
columns = ["age"]
[[private]]
columns = ["rr.q"]
domain = { binary = ["0", "1"] }
collected = true
parameters = { model = "RRmodel", p1 = "RRp1", p2 = "RRp2" }
"""


def survey(rows: int = 7000, seed: int = 1) -> pa.Table:
    rng = np.random.default_rng(seed)
    which = rng.integers(0, len(MODELS), rows)
    models, p1, p2, c, d = (np.array(column, object)[which] for column in zip(*MODELS, strict=True))
    age = rng.integers(18, 60, rows)
    truth = rng.random(rows) < 1 / (1 + np.exp(1.5 - 0.03 * (age - 18)))
    answer = rng.random(rows) < c.astype(float) + d.astype(float) * truth
    return pa.table(
        {
            "age": age,
            "rr.q": np.where(answer, "1", "0"),
            "RRmodel": models.tolist(),
            "RRp1": p1.tolist(),
            "RRp2": p2.tolist(),
        }
    )


def test_models_of_r_give_their_c_and_d():
    """Every model has GLMMRR's chance of a "yes": c for those with truth 0, c + d for those with truth 1."""
    found = Release.from_reports(survey(), Plan.parse(PLAN))
    designs = found.block("rr.q").designs
    assert len(designs) == len(MODELS)
    chances = sorted((float(1 - one.p00), float(one.p11 - (1 - one.p00))) for one in designs.values())
    assert np.array(chances) == pytest.approx(np.array(sorted((float(c), float(d)) for *_, c, d in MODELS)))
    assert designs["forced yes=1/12 no=1/6"] == BinaryResponse.forced("1/12", "1/6")


def test_promise_is_that_of_the_worst_row():
    """Without direct questions the largest ε of the designs is stated; with them nothing is promised."""
    table = survey()
    private = table.filter(pa.array([name in ("Warner", "Forced", "Kuk") for name in table["RRmodel"].to_pylist()]))
    found = Release.from_reports(private, Plan.parse(PLAN))
    each = [BinaryResponse.warner("4/5"), BinaryResponse.forced("1/12", "1/6"), BinaryResponse.kuk("4/5", "1/5")]
    assert found.guarantee.epsilon == max(one.guarantee.epsilon for one in each)
    assert Release.from_reports(table, Plan.parse(PLAN)).guarantee.epsilon == np.inf


def test_estimates_agree_with_probabilities_given_by_hand(tmp_path):
    """Frequencies, regression, audit and show work on the released file, and the regression equals the one by hand."""
    table = survey()
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN)
    pq.write_table(table, tmp_path / "answers.parquet")
    out = tmp_path / "out.parquet"
    runner = CliRunner()
    done = runner.invoke(app, ["collect", str(tmp_path / "answers.parquet"), str(plan), "-o", str(out)])
    assert done.exit_code == 0, done.output
    opened = Release.open(out)
    assert "RRp1" not in opened.columns  # not listed as public: only the names of the designs are released
    formula = "`rr.q` ~ age"
    fit = estimate.regression(formula, opened)
    chance = {name: (c, d) for name, *_, c, d in MODELS}
    c, d = np.array([chance[name] for name in table["RRmodel"].to_pylist()], float).T
    X = np.column_stack([np.ones(len(c)), table["age"].to_numpy()])
    y = (np.array(table["rr.q"].to_pylist()) == "1").astype(int)
    by_hand = estimate.binary_regression(X, y, 1 - c, c + d)
    assert fit.estimate == pytest.approx(by_hand.estimate, abs=1e-6)
    assert fit.std_error == pytest.approx(by_hand.std_error, rel=1e-5)
    shares = estimate.frequencies(opened, "rr.q")
    expected = np.mean(1 / (1 + np.exp(1.5 - 0.03 * (table["age"].to_numpy() - 18))))
    assert abs(shares.estimate[1] - expected) < 6 * shares.std_error[1]
    assert audit(opened).passed
    for command in (["show", str(out)], ["estimate", "frequencies", str(out), "rr.q"], ["audit", str(out)]):
        assert runner.invoke(app, command).exit_code == 0
    refused = runner.invoke(app, ["design", str(plan), "--rows", "100"])
    assert refused.exit_code == 2
    assert "private[0].parameters: the designs stand in columns of the answers" in refused.stderr


def test_csv_as_r_writes_it(tmp_path):
    """Decimals, NA and spellings of one number in a CSV file: the same design once, by its exact fraction."""
    (tmp_path / "answers.csv").write_text(
        'rr.q,RRmodel,RRp1,RRp2,age\n0,"DQ",NA,NA,20\n1,"warner",0.80,NA,30\n1,"Warner",4/5,NA,40\n0,"Warner",0.8,,50\n'
    )
    plan = Plan.parse('missing_values = ["NA"]\n' + PLAN)
    found = release(tmp_path / "answers.csv", plan, ledger=None)
    assert list(found.block("rr.q").designs) == ["direct", "warner p=4/5"]


def test_one_design_with_its_own_parameters():
    """Where all rows share a procedure the plan names it, and the columns hold its parameters."""
    plan = PLAN.replace('model = "RRmodel", p1 = "RRp1", p2 = "RRp2"', 'design = "crosswise", p = "share"')
    table = pa.table({"age": [1, 2, 3], "rr.q": ["0", "1", "0"], "share": [0.25, 0.3, 0.25]})
    found = Release.from_reports(table, Plan.parse(plan.replace("collected", 'by = "how"\ncollected')))
    assert dict(found.block("rr.q").designs) == {
        "crosswise p=1/4": BinaryResponse.crosswise("1/4"), "crosswise p=3/10": BinaryResponse.crosswise("3/10"),
    }  # fmt: skip
    assert found.to_arrow()["how"].to_pylist() == ["crosswise p=1/4", "crosswise p=3/10", "crosswise p=1/4"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"RRmodel": ["DQ", "Warned"]}, '"Warned" is no model; known are DQ, Warner'),
        ({"RRmodel": ["DQ", None]}, 'row 1 .*"RRmodel" is blank'),
        ({"RRp1": ["0.8", None]}, 'row 1 .*"RRp1" is blank'),
        ({"RRp1": ["0.8", "much"]}, 'row 1 .*"RRp1" must be a number or a fraction'),
        ({"RRp1": [0.8, 1.2]}, "between 0 and 1"),
        ({"RRp1": [True, False]}, "must be numbers or text"),
        ({"rr.q.design": ["a", "b"]}, 'has a column "rr.q.design" already'),
    ],
)
def test_bad_parameters_are_one_sentence(change, words):
    """Unknown models, blanks and numbers that are no probabilities name row and column."""
    cells = {"age": [1, 2], "rr.q": ["0", "1"], "RRmodel": ["Warner"] * 2, "RRp1": [0.8, 0.8], "RRp2": [None] * 2}
    with pytest.raises(ReleaseError, match=words):
        Release.from_reports(pa.table(cells | change), Plan.parse(PLAN))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('model = "RRmodel", ', "", "parameters needs model"),
        ('model = "RRmodel"', 'design = "warned"', "must be one of direct, warner"),
        ('model = "RRmodel"', 'design = "crosswise"', "p1 does not go with design = crosswise"),
        ('model = "RRmodel", p1 = "RRp1", p2 = "RRp2"', 'design = "forced", yes = "a"', "parameters.no is missing"),
        ('p1 = "RRp1"', 'p1 = "rr.q"', "which is private"),
        ("collected = true", 'collected = true\nby = "age"', "is there already"),
        ("collected = true", 'collected = true\nwarner = "2/3"', "cannot stand beside parameters"),
        ("collected = true", "", "add collected = true"),
        ('{ binary = ["0", "1"] }', '{ categorical = ["0", "1", "2"] }', "2 reports|yes/no domain"),
    ],
)
def test_bad_plans_are_one_sentence(old, new, words):
    """What does not go together is refused before any answer is read."""
    with pytest.raises(PlanError, match=words):
        Plan.parse(PLAN.replace(old, new))


def test_too_many_designs_are_refused(monkeypatch):
    """A column of free numbers is not a column of parameters."""
    monkeypatch.setattr(limits, "ROW_DESIGNS", 5)
    table = pa.table({"rr.q": ["0"] * 6, "RRmodel": ["Warner"] * 6, "RRp1": [f"0.{i}" for i in range(1, 7)],
                      "RRp2": [None] * 6, "age": [1] * 6})  # fmt: skip
    with pytest.raises(ReleaseError, match="6 different designs, over the limit of 5"):
        Release.from_reports(table, Plan.parse(PLAN))


def test_a_budget_is_checked_when_the_designs_are_known():
    """The plan alone cannot say what is spent; the table can."""
    plan = Plan.parse(PLAN.replace("format = 1", "format = 1\n[budget]\nepsilon = 1.0"))
    plan.check_budget()
    with pytest.raises(Exception, match="budget allows"):
        Release.from_reports(survey(100), plan)


def test_extended_crosswise_by_name():
    """Two groups whose harmless statement has shares p and 1 − p."""
    plan = Plan.parse("""
        [[public]]
        columns = ["group"]
        [[private]]
        columns = ["q"]
        domain = { binary = [0, 1] }
        collected = true
        by = "group"
        extended_crosswise = { p = "1/4", groups = ["A", "B"] }
    """)
    first, second = BinaryResponse.extended_crosswise("1/4")
    assert dict(plan.blocks[0].designs) == {"A": first, "B": second}
    assert (first.p00, second.p00) == (BinaryResponse.crosswise("1/4").p00, BinaryResponse.crosswise("3/4").p00)


ZERO_ONE = PLAN.replace('parameters = { model = "RRmodel", p1 = "RRp1", p2 = "RRp2" }', 'warner = "4/5"').replace(
    '[[public]]\ncolumns = ["age"]\n', ""
)


@pytest.mark.parametrize("declared", ['["0", "1"]', "[0, 1]", "[false, true]"])
@pytest.mark.parametrize(
    "cells",
    [
        pa.array([False, True, True]),
        pa.array([0, 1, 1]),
        pa.array([0.0, 1.0, 1.0]),
        pa.array(["0", "1", "1"]),
        pa.array(["0.0", "1.0", "1"]),
        pa.array(["FALSE", "TRUE", "TRUE"]),
        pa.array(["false", "true", "true"]).dictionary_encode(),
    ],
)
@pytest.mark.filterwarnings("ignore::discreet.publish.layout.AnswersReadWarning")
def test_answers_that_mean_the_declared_values(declared, cells):
    """Booleans, numbers and texts of 0 and 1 are read as the declared values; the codes are the same in all ways."""
    plan = Plan.parse(ZERO_ONE.replace('["0", "1"]', declared))
    found = Release.from_reports(pa.table({"rr.q": cells}), plan)
    block = found.block("rr.q")
    assert block.reports.encode(found.to_arrow()["rr.q"]).tolist() == [0, 1, 1]


def as_dictionary(kind):
    """Text in a dictionary of a kind, with a null among its entries."""

    def convert(cells):
        entries = [None, *dict.fromkeys(cell for cell in cells if cell is not None)]
        places = [entries.index(cell) for cell in cells]
        return pa.DictionaryArray.from_arrays(pa.array(places, pa.int32()), pa.array(entries).cast(kind))

    return convert


WAYS = {
    "text": pa.array,
    "large text": lambda cells: pa.array(cells, pa.large_string()),
    "views": lambda cells: pa.array(cells, pa.string_view()),
    "dictionary": as_dictionary(pa.string()),
    "dictionary of large text": as_dictionary(pa.large_string()),
}
#: 140 spellings of two numbers.
SPELLINGS = [f"{number}.{'0' * zeros}" for zeros in range(1, 71) for number in (0, 1)]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("blank", [None, 0, 1, 63, 64, 65, 139])
def test_every_spelling_of_an_answer_is_read(way, blank):
    """However many there are and wherever one is missing; the message lists the first ones and counts the others."""
    cells = [None if place == blank else cell for place, cell in enumerate(SPELLINGS)]
    plan = Plan.parse(ZERO_ONE + '\nmissing = "public"')
    with pytest.warns(AnswersReadWarning, match="further spellings") as caught:
        found = Release.from_reports(pa.table({"rr.q": WAYS[way](cells)}), plan)
    expected = [None if cell is None else cell[0] for cell in cells]
    assert found.to_arrow()["rr.q"].to_pylist() == expected
    assert str(caught[0].message).count(" as ") == 1 + 64
    with pytest.raises(DomainError):
        Release.from_reports(pa.table({"rr.q": WAYS[way]([*cells, "2.0"])}), plan)


def test_what_was_read_as_what_is_said(tmp_path):
    """The step is named with its counts; nothing is said where the cells are the declared values."""
    plan = Plan.parse(ZERO_ONE)
    with pytest.warns(AnswersReadWarning, match=r'2 of 1\.0 as "1"'):
        Release.from_reports(pa.table({"rr.q": [0.0, 1.0, 1.0]}), plan)
    Release.from_reports(pa.table({"rr.q": ["0", "1"]}), plan)  # a warning would be an error
    pa_csv.write_csv(pa.table({"rr.q": ["TRUE", "0"]}), tmp_path / "a.csv", pa_csv.WriteOptions(quoting_style="none"))
    (tmp_path / "plan.toml").write_text(ZERO_ONE)
    ran = CliRunner().invoke(
        app, ["collect", str(tmp_path / "a.csv"), str(tmp_path / "plan.toml"), "-o", str(tmp_path / "o.csv"), "--json"]
    )
    assert ran.exit_code == 0
    assert '1 of TRUE as "1"' in ran.stderr
    assert json.loads(ran.stdout)["rows"] == 2
    assert (tmp_path / "o.csv").read_text().split() in (["rr.q", "1", "0"], ["rr.q", "0", "1"])


@pytest.mark.parametrize(
    ("declared", "cells"),
    [
        ('["0", "1"]', [0.0, 0.5]),
        ('["0", "1"]', ["0", "yes"]),
        ('["no", "yes"]', [False, True]),
        ('["no", "yes"]', [0, 1]),
        ('["1", "01"]', [1, 1]),
        ('["0", "1"]', [2, 1]),
    ],
)
def test_answers_that_could_mean_something_else_are_refused(declared, cells):
    """Nobody said that 1 is "yes", and 1 is both "1" and "01"."""
    with pytest.raises(DomainError):
        Release.from_reports(pa.table({"rr.q": cells}), Plan.parse(ZERO_ONE.replace('["0", "1"]', declared)))


def test_true_answers_keep_to_their_declared_values():
    """Only answers that were randomised already are read by their meaning: a true 1.0 is not "1"."""
    private = 'mechanism = "randomized-response"\nepsilon = 1.0'
    plan = Plan.parse(ZERO_ONE.replace('collected = true\nwarner = "4/5"', private))
    with pytest.raises(DomainError):
        release(pa.table({"rr.q": [0.0, 1.0]}), plan)
