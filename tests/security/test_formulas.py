"""Nothing in a formula executes, and none of them takes long: in Python, in a plan, on the command line."""

from __future__ import annotations

import contextlib
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest

from discreet.errors import DiscreetError, EstimationError, PlanError
from discreet.estimate import regression
from discreet.estimate.formulas import Matrices, read_formula, read_terms
from discreet.publish import check, release
from tests.security.conftest import bounded
from tests.security.examples import SECRET, TABLE, released, with_label

#: Ways into Python that a formula was, or could be, tried for; each with the words by which it is refused.
CODE = [
    ("{np.f2py.os.system('touch MARK') + age}", r"\{…\}"),
    ("np.f2py.os.system('touch MARK')", "np.f2py.os.system"),
    ("I(np.f2py.os.system('touch MARK') + age)", "np.f2py.os.system"),
    ("np.load('MARK')", "np.load"),
    ("__import__('os')", "__import__"),
    ("eval('1')", "eval"),
    ("I(age.__class__)", "age.__class__"),
    ("I(`age`.mean)", "attribute"),
    ("I(age[0])", "subscript"),
    ("I((lambda: 1)())", "lambda"),
    ("I([x for x in age])", "comprehension"),
    ("I({x for x in age})", "comprehension"),
    ("I(f'{age}')", "cannot be read"),
    ("I(age := 3)", "assignment"),
    ("I(age if age else age)", "condition"),
    ("I(age @ age)", "@"),
    ("I(*age)", "starred"),
    ("I(age)(age)", "cannot be read"),
    ("C(sex, Treatment(__import__('os')))", "written out"),
    ("C(sex, contrasts=np.eye(2))", "np.eye"),
    ("C(sex, levels=[x for x in age])", "written out"),
    ("hashed(age)", "hashed"),
    ("Q('age')", "backticks"),
]

#: Formulas of a few characters that would cost hours or gigabytes.
BOMBS = [
    ("(age + income + sex)**50", "from 2 to 9"),
    ("(age + income + sex)^999999999", "from 2 to 9"),
    ("*".join(f"x{i}" for i in range(40)), "500 terms"),
    (f"({' + '.join(f'x{i}' for i in range(60))})**4", "500 terms"),
    ("poly(age, 10**9)", "written out"),
    ("poly(age, 1000000000)", "from 1 to 20"),
    ("bs(age, df=1000000000)", "from 1 to 50"),
    (f"bs(age, knots=[{', '.join(map(str, range(200)))}])", "at most 50"),
    ("I(9**9**9**9)", "names no column"),
    ("I(age ** 9**9**9)", "infinite"),
    (f"I({'9' * 4000} * age)", "too large"),
    ("(" * 200 + "age" + ")" * 200, "nested"),
    ("log(" * 200 + "age" + ")" * 200, "nested"),
    ("I(" + "-" * 4000 + "age)", "nested|cannot be read"),
    ("age + " * 2000 + "age", "5,000 characters"),
]


def applied(formula):
    """Read the right side of a formula and make its model matrix."""
    terms = read_terms(formula)
    made = Matrices(formula, TABLE.column_names, TABLE.to_batches)
    return terms, made.names, made.matrix(TABLE)


@pytest.mark.parametrize(("formula", "words"), CODE + BOMBS)
def test_what_is_not_on_the_list_is_refused_by_name(formula, words):
    """Code and bombs alike get one sentence, before anything is evaluated."""
    with bounded(), pytest.raises(EstimationError, match=words) as caught:
        applied(formula)
    assert "\n" not in str(caught.value)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("formula", [formula for formula, _ in CODE])
def test_a_received_plan_runs_nothing(formula, tmp_path, monkeypatch):
    """Neither a release nor a check of a plan that somebody sent executes its formula."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "before").touch()
    for run in (release, check):
        with pytest.raises(PlanError, match=r"label\.formula"):
            run(TABLE, with_label(formula))
    assert [path.name for path in tmp_path.iterdir()] == ["before"]


def test_the_command_line_runs_nothing(tmp_path):
    """`release --check` answers with one sentence and exit code 2, and nothing was executed."""
    pa_csv.write_csv(TABLE, tmp_path / "data.csv")
    plan = """
    [[public]]
    columns = ["age"]
    [[private]]
    columns = ["rr.q1"]
    domain = { binary = ["no", "yes"] }
    mechanism = "randomized-response"
    epsilon = 1.0
    label = { formula = "{np.f2py.os.system('touch MARK') + age}", coefficients = [0.0, 0.0] }
    """
    (tmp_path / "plan.toml").write_text(plan)
    run = subprocess.run(
        [sys.executable, "-m", "discreet", "release", "data.csv", "plan.toml", "--check"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 2
    assert run.stderr.count("\n") == 1
    assert not (tmp_path / "MARK").exists()


@pytest.mark.parametrize("formula", ["name", "scale(name)", "poly(name, 2)", "I(name == 'x')", "center(`name`)"])
def test_a_plan_reads_public_columns_only(formula):
    """A column inside any function is found, and refused unless it is public."""
    with pytest.raises(PlanError, match=r'"name", which is not a public column'):
        release(TABLE, with_label(formula))


def test_no_name_of_the_caller_is_seen():
    """What is called age here is not what the formula means; what the table does not have is refused."""
    nowhere = np.arange(3)  # in reach of an evaluation that looks at its callers
    with pytest.raises(EstimationError, match="nowhere"):
        applied("age + nowhere")
    assert nowhere.size == 3


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        ("rr.q1 ~ .", "name the predictors"),
        ("rr.q1 ~ age + (age|sex)", "random effects"),
        ("rr.q1 ~ age | sex", "random effects"),
        ("rr.q1 ~ I(age^2)", r"write \*\*"),
        ("rr.q1 ~ age^2", r"I\(column \*\* 2\)"),
        ("rr.q1 ~ age > 30", r"I\(column > …\)"),
        ("rr.q1 ~ age ~ sex", "outcome ~"),
        ("rr.q1 ~ age + 3", "0 and 1"),
        ("rr.q1 ~ log(age - 40)", "infinite or not a number"),
        ("rr.q1 ~ log(sex)", "does not hold numbers"),
        ("rr.q1 ~ scale(C(sex))", "term of its own"),
        ("rr.q1 ~ C(sex, levels=['f', 'x'])", "every value"),
        ("rr.q1 ~ C(sex, Treatment('x'))", "the base"),
        ("rr.q1 ~ bs(age)", "df or knots"),
        ("log(rr.q1) ~ age", "one column"),
    ],
)
def test_what_users_of_other_software_write_gets_a_sentence(formula, words):
    """Common notation that means something else here is named, with what to write instead."""
    with pytest.raises(EstimationError, match=words) as caught:
        regression(formula, released())
    assert "\n" not in str(caught.value)


def test_backticks_name_any_column():
    """Names with dots need none, names with spaces do, on both sides and inside functions."""
    table = TABLE.rename_columns(["cov.age", "my income", "sex", "rr.q1", "name"])
    sides = read_formula("`rr.q1` ~ `cov.age` + log(`my income`) + cov.age:sex")
    assert sides.outcome == "rr.q1"
    assert sides.variables == ("cov.age", "my income", "sex")
    made = Matrices(sides.predictors, sides.variables, table.to_batches)
    expected = ("Intercept", "cov.age", "log(`my income`)", "cov.age:sex[f]", "cov.age:sex[m]")
    assert len(made.names) == made.matrix(table).shape[1]
    assert set(made.names[:3]) == set(expected[:3])


def test_a_written_formula_reads_back():
    """The terms of a formula, written out, are the same terms."""
    for formula in ("a*b + log(`x y`):c", "0 + a/b", "(a + b + c)^2 - a:b", "poly(a, 2) + C(b, Sum)"):
        assert str(read_terms(str(read_terms(formula)))) == str(read_terms(formula))


def test_every_error_is_one_of_ours():
    """Even formulas that make no sense raise nothing else."""
    for formula in ("", "+", "a +", "a b", "(", ")", "`", "I(", "I()", "C()", "~", "a:", "1", "0", "-1"):
        with contextlib.suppress(DiscreetError):
            applied(formula)


def test_categories_are_bounded():
    """A text column with a value per row is no category, and crossed categories are counted before they are made."""
    n = 1200
    table = pa.table({"id": [f"p{i}" for i in range(n)], "a": [f"a{i % 90}" for i in range(n)]})
    with bounded(), pytest.raises(EstimationError, match="1,000 values"):
        Matrices("id", ["id"], table.to_batches)
    wide = table.append_column("b", pa.array([f"b{i % 80}" for i in range(n)]))
    with bounded(), pytest.raises(EstimationError, match="2,000 columns"):
        Matrices("a:b", ["a", "b"], wide.to_batches)
