"""Messages name options on the command line and arguments in Python, by one mechanism."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer
from typer.testing import CliRunner

import discreet
from discreet import Plan, Randomness, estimate, release
from discreet.cli.app import app
from discreet.cli.wording import as_option, options_of
from discreet.errors import Argument, DiscreetError

SOURCE = Path(discreet.__file__).parent
#: An argument as Python writes it: no spaces around the sign.
PYTHON = re.compile(r"""\b[a-z_]+=(?:"|'|True|False|None|[A-Za-z(…])""")

PLAN = """
format = 1
[[public]]
columns = ["age", "sex"]
[[private]]
columns = ["cheated"]
domain = { binary = ["no", "yes"] }
mechanism = "randomized-response"
epsilon = 1.0
missing = "public"
[[private]]
columns = ["band"]
domain = { ordinal = [0, 1, 2, 3, 4, 5] }
mechanism = "bipartite"
epsilon = 1.0
[[private]]
columns = ["hours"]
domain = { ordinal = [0, 1, 2] }
mechanism = "randomized-response"
epsilon = 2.0
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    where = tmp_path_factory.mktemp("wording")
    rows = 600
    table = pa.table(
        {
            "age": [20 + i % 40 for i in range(rows)],
            "sex": ["mf"[i % 2] for i in range(rows)],
            "cheated": [None if i == 5 else ("no", "yes")[i % 3 == 0] for i in range(rows)],
            "band": [i % 6 for i in range(rows)],
            "hours": [i % 3 for i in range(rows)],
            "who": list(range(rows)),
        }
    )
    pq.write_table(table, where / "data.parquet")
    (where / "plan.toml").write_text(PLAN)
    (where / "memo.toml").write_text(PLAN.replace('missing = "public"', 'repeat = "memoise"').replace(
        "format = 1", 'format = 1\n[budget]\nperson = "who"\nrows_per_person = 1'
    ))  # fmt: skip
    (where / "outside.toml").write_text(PLAN.replace("[0, 1, 2, 3, 4, 5]", "[0]").replace(
        '{ ordinal = [0] }', '{ categorical = { file = "/etc/hostname", column = "a" } }'
    ))  # fmt: skip
    (where / "two.toml").write_text(PLAN.replace('missing = "public"', "symmetric = true\nreports = 4"))
    (where / "semicolons.csv").write_text("a;b\n1;2\n")
    (where / "tabs.csv").write_text("a\tb\n1\t2\n")
    (where / "latin.csv").write_bytes("a,b\nK\xf6ln,2\n".encode("latin-1"))
    (where / "no_ledger").write_text("this is no ledger\n" * 100)
    release(where / "data.parquet", Plan.parse(PLAN), where / "out.parquet", Randomness.seeded(1), ledger=None)
    return where


#: What is wrong, and the words of the command line that say what to do.
CASES = [
    ("release data.parquet plan.toml -o out.parquet", 2, "--overwrite replaces it"),
    ("release data.parquet plan.toml -o new.parquet --safe-csv", 2, "--safe-csv is for an output in CSV"),
    ("release data.parquet outside.toml -o new.parquet", 2, "--outside-files allows others"),
    ("release data.parquet memo.toml -o new.parquet", 2, "needs its key: --memoise-key KEY"),
    ("release data.parquet memo.toml -o new.parquet --memoise-key none.key", 2, "--new-memoise-key makes one"),
    ("release data.parquet plan.toml -o new.parquet --ledger no_ledger", 1, "choose another with --ledger FILE"),
    ("release latin.csv plan.toml -o new.parquet", 2, 'encoding = "latin-1"; a skeleton takes it as discreet plan'),
    ("collect data.parquet plan.toml -o out.parquet", 2, "discreet release"),
    ("design two.toml --rows 100", 2, "symmetric = true describes two-report designs; leave it out with reports = 4"),
    ("design plan.toml --rows 100 --level 2", 2, "--level must be"),
    ("design plan.toml --rows 100 --power --design-effect -1", 2, "--design-effect must be"),
    ("plan semicolons.csv", 2, "--delimiter ';'"),
    ("plan tabs.csv", 2, "a tab: --delimiter tab"),
    ("plan latin.csv", 2, "--encoding latin-1"),
    ("plan semicolons.csv --delimiter ;;", 2, "--delimiter must be one character"),
    ("plan semicolons.csv --encoding none", 2, "--encoding must name"),
    ("estimate frequencies out.parquet cheated --level 2", 2, "--level must be"),
    ("estimate frequencies out.parquet cheated --method guess", 2, "--method must be"),
    ("estimate frequencies out.parquet cheated --target all", 2, "--target must be"),
    ("estimate frequencies out.parquet cheated --contamination 2", 2, "--contamination must be"),
    ("estimate frequencies out.parquet cheated --method mle --contamination 0.1", 2, "goes with --method unbiased"),
    ("estimate frequencies out.parquet band", 2, "--method bounds"),
    ("estimate frequencies out.parquet cheated --by town", 2, '--by: the release has no column "town"'),
    ("estimate mean out.parquet cheated --level 0", 2, "--level must be"),
    ("estimate total out.parquet cheated --target all", 2, "--target must be"),
    ("estimate quantile out.parquet hours 0.5 --errors jackknife", 2, "use --errors bootstrap"),
    ("estimate crosstab out.parquet cheated sex --level 3", 2, "--level must be"),
    ("estimate correlation out.parquet cheated age --level 3", 2, "--level must be"),
    ("estimate regression out.parquet cheated~age", 2, "--missing drop leaves such rows out"),
    ("estimate regression out.parquet cheated~age --missing drip", 2, "--missing must be"),
    ("estimate regression out.parquet cheated~age --missing drop --family guess", 2, "--family must be"),
    ("estimate regression out.parquet cheated~age --missing drop --link guess", 2, "--link must be"),
    ("estimate regression out.parquet cheated~age --missing drop --penalty guess", 2, "--penalty must be"),
    ("estimate regression out.parquet cheated~age --missing drop --tau 3", 2, "--tau"),
    ("audit out.parquet --samples 0 --attack", 2, "--samples"),
]


@pytest.mark.parametrize(("line", "code", "words"), CASES, ids=[line for line, *_ in CASES])
def test_commands_name_their_options(folder, monkeypatch, line, code, words):
    """The sentence says which option to give, and no argument of Python."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "500")
    done = CliRunner().invoke(app, line.split())
    assert done.exit_code == code, done.output
    assert words in done.stderr
    assert not PYTHON.search(done.stderr)


def test_python_names_its_arguments(folder):
    """The same refusals in Python have Python's words, and no option."""
    opened = discreet.Release.open(folder / "out.parquet")
    said = []
    for call in (
        lambda: release(folder / "data.parquet", folder / "plan.toml", folder / "out.parquet", ledger=None),
        lambda: estimate.regression("cheated ~ age", opened),
        lambda: estimate.frequencies(opened, "band"),
        lambda: Plan.read(folder / "outside.toml"),
        lambda: release(
            folder / "data.parquet", folder / "plan.toml", folder / "n.parquet", ledger=folder / "no_ledger"
        ),
    ):
        with pytest.raises(DiscreetError) as caught:
            call()
        said.append(str(caught.value))
    assert "--" not in "".join(said)
    expected = ["overwrite=True", 'missing="drop"', 'method="bounds"', "outside_files=True", 'ledger="FILE"']
    assert all(words in sentence for words, sentence in zip(expected, said, strict=True))


def test_an_argument_is_an_option_where_the_command_has_one():
    """An argument without an option of the running command stays as Python writes it."""
    options = {"interval": "--interval", "penalty": "--penalty", "sign": "--sign"}
    assert as_option(Argument('penalty="firth"'), options) == "--penalty firth"
    assert as_option(Argument("penalty"), options) == "--penalty"
    assert as_option(Argument("signing_key=…"), options) == "--sign …"
    assert as_option(Argument('method="bounds"'), options) == 'method="bounds"'


def test_options_are_read_from_every_command():
    """Every option that a command has is known under the name of its parameter."""

    def walk(one):
        for inner in getattr(one, "commands", {}).values():
            yield from walk(inner)
        if not hasattr(one, "commands"):
            yield one

    seen = 0
    for one in walk(typer.main.get_command(app)):
        known = options_of(one.callback.__wrapped__)
        for parameter in one.params:
            if parameter.param_type_name == "option" and parameter.name in known:
                assert known[parameter.name] in parameter.opts
                seen += 1
    assert seen > 100


def test_only_the_command_line_names_options():
    """No string of the library outside its edges names an option: there is one place that does."""
    found = []
    for file in sorted(SOURCE.rglob("*.py")):
        layer = file.relative_to(SOURCE).parts[0]
        if layer in ("cli", "survey") or file.name in ("capabilities.py", "skeleton.py"):
            continue  # a survey is run by its commands; the others write commands and comments of a plan
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node):
                node.body = node.body[1:] or [ast.Pass()]
            if (
                isinstance(node, ast.Constant)
                and isinstance(node.value, str)
                and re.search(r"(^|\s|\()--[a-z]", node.value)
            ):
                found.append(f"{file.relative_to(SOURCE)}:{node.lineno}")
    assert found == []
