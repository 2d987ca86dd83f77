"""Titles, names and labels are printed as they are, also where they look like arguments of Python."""

from __future__ import annotations

import csv
import json

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from discreet import Plan, Randomness, Release, estimate, release
from discreet.cli.app import app
from discreet.cli.terminal import command, emit
from discreet.errors import Argument, DomainError, InputError
from discreet.publish import skeleton

#: Texts that look like arguments; each begins like one that some command has as an option.
HOSTILE = [
    "output=gross",
    'method="bounds"',
    "missing = drop",
    "epsilon must be below 1",
    "level must be high",
    "by: the release",
    'interval(method="exact")',
    'estimate.frequencies(…, method="mle")',
    "ledger=None",
    "totals: all",
]
NAMES = st.sampled_from(
    ["output", "method", "level", "missing", "target", "by", "ledger", "overwrite", "totals", "penalty", "delimiter"]
)
LOOKS_LIKE_ARGUMENTS = st.builds(
    lambda name, sign, value: f"{name}{sign}{value}",
    NAMES,
    st.sampled_from(["=", ' = "', '="', " must be ", ": ", " goes with ", " and level must "]),
    st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S"]), min_size=1, max_size=8),
)


def toml(value: str | list[str]) -> str:
    """Text, or a list of texts, as TOML writes it."""
    return json.dumps(value, ensure_ascii=False)


def plan_of(columns: list[str], labels: list[str], title: str) -> str:
    """A plan with a public column, a private one with these labels, and a yes/no column."""
    public, private, second = map(toml, columns)
    return (
        f"format = 1\ntitle = {toml(title)}\n[[public]]\ncolumns = [{public}]\n"
        f"[[private]]\ncolumns = [{private}]\ndomain = {{ categorical = {toml(labels)} }}\n"
        'mechanism = "randomized-response"\nepsilon = 2.0\n'
        f"[[private]]\ncolumns = [{second}]\ndomain = {{ binary = {toml(labels[:2])} }}\n"
        'mechanism = "randomized-response"\nepsilon = 2.0\n'
    )


def hostile_folder(where, columns: list[str], labels: list[str], title: str) -> None:
    """A table, its plan and a release of it, all full of texts that look like arguments."""
    rows = [[labels[i % 2], labels[i % len(labels)], labels[i % 3 == 0]] for i in range(90)]
    with (where / "data.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([columns, *rows])
    (where / "plan.toml").write_text(plan_of(columns, labels, title), encoding="utf-8")
    plan = Plan.read(where / "plan.toml")
    release(where / "data.csv", plan, where / "out.parquet", Randomness.seeded(1), overwrite=True, ledger=None)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    where = tmp_path_factory.mktemp("verbatim")
    hostile_folder(where, HOSTILE[:3], HOSTILE[3:], HOSTILE[0])
    return where


def run(*words: str) -> str:
    """What a command prints, on both streams."""
    done = CliRunner().invoke(app, list(words), env={"COLUMNS": "500"})
    assert done.exit_code in (0, 2, 3), done.output
    return done.stdout + done.stderr


#: Commands, and which of the texts their output holds.
A, B, C = HOSTILE[:3]
COMMANDS = [
    (["design", "plan.toml", "--rows", "100", "--power"], HOSTILE[1:3]),
    (["release", "data.csv", "plan.toml", "-o", "two.parquet", "--no-ledger", "--overwrite"], ["two.parquet"]),
    (["show", "out.parquet"], HOSTILE[:3]),
    (["estimate", "frequencies", "out.parquet", B, "--all"], HOSTILE[3:]),
    (["estimate", "frequencies", "out.parquet", B, "--by", A, "--interval", "wald"], HOSTILE[3:4]),
    (["estimate", "crosstab", "out.parquet", B, C], HOSTILE[3:]),
    (["estimate", "regression", "out.parquet", f"`{C}` ~ C(`{A}`)"], [C, A]),
    (["audit", "out.parquet"], HOSTILE[1:3]),
    (["estimate", "mean", "out.parquet", B], []),
    (["estimate", "frequencies", "out.parquet", "level must be told"], ["level must be told"]),
    (["estimate", "frequencies", "out.parquet", B, "--by", 'missing="drop"'], ['"missing="drop""']),
    (["release", "output=gross.csv", "plan.toml", "-o", "new.parquet"], ["output=gross.csv"]),
]


@pytest.mark.parametrize(
    ("words", "texts"), COMMANDS, ids=[" ".join(words[:2]) + str(i) for i, (words, _) in enumerate(COMMANDS)]
)
def test_commands_print_texts_as_they_are(folder, monkeypatch, words, texts):
    """Names, labels and titles that look like arguments reach the reader unchanged."""
    monkeypatch.chdir(folder)
    printed = run(*words)
    for text in texts:
        assert text in printed
    for option in (
        "--output gross",
        "--method bounds",
        "--interval exact",
        "--no-ledger",
        "discreet estimate frequencies …",
    ):
        assert option not in printed


def test_a_plan_that_is_printed_is_the_plan_that_is_written(folder, monkeypatch):
    """``discreet plan data > plan.toml`` gives what ``-o plan.toml`` gives, and it can be read."""
    monkeypatch.chdir(folder)
    printed = run("plan", "data.csv", "--suggest")
    assert printed == skeleton(folder / "data.csv", suggest=True) + "\n" or printed == skeleton(
        folder / "data.csv", suggest=True
    )
    assert [column for block in Plan.parse(run("plan", "data.csv")).blocks for column in block.columns] == HOSTILE[:3]


def test_an_estimate_is_printed_as_python_prints_it(folder, monkeypatch):
    """The text of a result is its summary, character by character."""
    monkeypatch.chdir(folder)
    found = estimate.frequencies(Release.open("out.parquet"), B)
    assert run("estimate", "frequencies", "out.parquet", B) == found.summary() + "\n"


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(LOOKS_LIKE_ARGUMENTS, min_size=7, max_size=7, unique_by=str.casefold))
def test_any_text_that_looks_like_an_argument_survives(tmp_path, texts):
    """Labels, columns and titles of this form are the same in plan, release, description and estimate."""
    columns, labels, title = texts[:3], texts[3:6], texts[6]
    hostile_folder(tmp_path, columns, labels, title)
    out = str(tmp_path / "out.parquet")
    assert all(text in run("show", out) for text in [*columns, title])
    counted = run("estimate", "frequencies", out, "--", columns[1])
    assert counted == estimate.frequencies(Release.open(out), columns[1]).summary() + "\n"
    assert columns[0] + "no" in run("estimate", "frequencies", out, "--", columns[0] + "no")


@settings(max_examples=200, deadline=None)
@given(text=LOOKS_LIKE_ARGUMENTS, kind=st.sampled_from(["result", "error", "cell"]))
@example(text='missing="drop"', kind="error")
def test_only_arguments_of_an_error_become_options(text, kind):
    """What is quoted stays, and what is named as an argument becomes an option, in one and the same message."""
    import typer

    def speak(missing: str = "error", method: str = "auto", output: str = "", level: float = 0.9) -> None:
        if kind == "result":
            emit(text, {}, False)
        elif kind == "cell":
            raise DomainError(text, column=text, row=3)
        raise InputError(text, "; ", Argument('missing="drop"'), " ", text)

    from typing import Annotated

    speak.__annotations__ = {name: Annotated[str, typer.Option()] for name in ("missing", "method", "output", "level")}
    one = typer.Typer()
    one.command()(command(speak))
    done = CliRunner().invoke(one, [])
    expected = {"result": f"{text}\n", "cell": f'error: column "{text}", row 3 (counted from 0): {text}\n'}
    assert (done.stdout if kind == "result" else done.stderr).startswith(
        expected.get(kind, f"error: {text}; --missing drop {text}\n")
    )
