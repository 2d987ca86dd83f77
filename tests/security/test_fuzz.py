"""Hostile input, varied: whatever a plan, a manifest, a table or a formula holds, only errors of discreet come out.

`make test` tries a fixed number of variations of the corpus, the same ones everywhere. `make fuzz` tries new ones for
as long as one likes (``FUZZ_SECONDS``, one minute by default for each of the five targets).
"""

from __future__ import annotations

import copy
import json
import os
import time
import warnings
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from discreet import Plan, Release
from discreet.errors import DiscreetError
from discreet.estimate.formulas import Matrices, read_formula
from discreet.manifest import Manifest
from discreet.publish import check
from tests.security.conftest import bounded
from tests.security.examples import PLAN, SECRET, TABLE

CORPUS = Path(__file__).parent / "corpus"
SECONDS = float(os.environ.get("FUZZ_SECONDS", "0"))
FORMULAS = [line for file in sorted((CORPUS / "formulas").iterdir()) for line in file.read_text().splitlines()]
PLANS = {file.name: file.read_text() for file in sorted((CORPUS / "plans").iterdir())}
MANIFESTS = {file.name: file.read_text() for file in sorted((CORPUS / "manifests").iterdir())}
TABLES = {file.name: file.read_bytes() for file in sorted((CORPUS / "tables").iterdir())}

SETTINGS = settings(
    max_examples=100,
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)


def answers(attack, *arguments):
    """The oracle: a result or an error of discreet, in bounded time and memory, and no private value in its words."""
    try:
        with bounded(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            attack(*arguments)
    except DiscreetError as error:
        assert SECRET not in str(error)  # noqa: PT017  # the words of any of ours
        assert len(str(error)) < 2000  # noqa: PT017


def use_formula(formula):
    """Read a formula and apply it to the table."""
    sides = read_formula(f"`rr.q1` ~ {formula}")
    Matrices(sides.predictors, TABLE.column_names, TABLE.to_batches).matrix(TABLE)


def use_plan(text):
    """Read a plan and say what it would do."""
    plan = Plan.parse(text, CORPUS)
    plan.summary()
    plan.guarantee.explain(people=100)


def use_plain_plan(data):
    """The same for plain data, and check the table with it."""
    check(TABLE, Plan.from_dict(data, CORPUS))


def use_manifest(text):
    """Read a manifest, show it, and write it again."""
    manifest = Manifest.from_json(text)
    manifest.guarantee.explain(people=manifest.rows)
    assert Manifest.from_json(manifest.to_json()) == manifest


def use_table(content, folder):
    """Check a table with the plan, and try to open it as a release."""
    path = folder / "table.csv"
    path.write_bytes(content)
    (folder / "table.csv.manifest.json").write_text(MANIFESTS["survey.json"])
    try:
        Release.open(path)
    except DiscreetError:
        check(path, PLAN)


WORDS = [
    *[
        "age",
        "income",
        "sex",
        "name",
        "C(",
        "I(",
        "log(",
        "poly(",
        "bs(",
        "cs(",
        "scale(",
        "center(",
        "Treatment(",
        ")",
        "(",
        "+",
        "-",
        "*",
        "/",
        ":",
        "**",
        "^",
        "~",
        "|",
        ".",
        ",",
        "=",
        "[",
        "]",
        "{",
        "}",
    ],
    *[
        "df=",
        "degree=",
        "knots=",
        "levels=",
        "`",
        "'",
        '"',
        "0",
        "1",
        "2",
        "1e400",
        "==",
        "<",
        "@",
        "__class__",
        "np.",
        "os.system",
        "\\",
        "%in%",
        "True",
        "None",
    ],
    "lambda ",
    "\n",
    "\x1b",
    " ",
    "9" * 50,
]
ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from([10**400, -(10**400), 1 << 63, 1e308, -1e308, 5e-324, 0, -1, 1e9, "1e-999999999", "9" * 5000]),
    st.floats(allow_nan=False),
    st.text(max_size=20),
    st.sampled_from(["../x.csv", "/etc/passwd", "\x1b[2J", "1/3", "0-1073741823", "{0.__class__}", "$x^$"]),
    st.lists(st.one_of(st.integers(0, 5), st.text(max_size=3)), max_size=4),
    st.dictionaries(
        st.sampled_from(["file", "column", "low", "high", "points", "from", "to", "kind"]), st.integers(), max_size=3
    ),
)


def paths_of(data, path=()):
    """Every place of plain data at which something can be put."""
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        yield (*path, key)
        yield from paths_of(value, (*path, key))


@st.composite
def changed(draw, documents):
    """One of the documents, with up to three entries replaced, removed or added."""
    data = copy.deepcopy(draw(st.sampled_from(documents)))
    for _ in range(draw(st.integers(1, 3))):
        places = list(paths_of(data))
        if not places:
            break
        *parents, last = draw(st.sampled_from(places))
        inner = data
        for key in parents:
            inner = inner[key]
        action = draw(st.sampled_from(["replace", "remove", "add"]))
        if action == "remove":
            del inner[last]
        elif action == "add" and isinstance(inner, dict):
            inner[draw(st.sampled_from(KEYS))] = draw(ODD)
        else:
            inner[last] = draw(ODD)
    return data


KEYS = [
    "epsilon",
    "delta",
    "matrix",
    "file",
    "by",
    "designs",
    "label",
    "reports",
    "prior",
    "high",
    "missing",
    "collected",
    "total",
    "ratios",
    "unit",
    "grid",
    "clip",
    "warner",
    "rows",
    "neighbours",
    "epsilons",
    "domains",
    "x",
]


@st.composite
def spliced(draw, texts, alphabet):
    """A text of the corpus with pieces cut, doubled or put in."""
    text = draw(st.sampled_from(texts))
    for _ in range(draw(st.integers(1, 4))):
        at, end = sorted(draw(st.tuples(st.integers(0, len(text)), st.integers(0, len(text)))))
        piece = draw(st.one_of(st.just(type(text)()), alphabet))
        text = text[:at] + piece * draw(st.integers(1, 3)) + text[end if draw(st.booleans()) else at :]
    return text


def _plain(text):
    import tomllib

    return tomllib.loads(text)


TARGETS = {
    "formula": (use_formula, spliced(FORMULAS, st.sampled_from(WORDS)) | st.lists(st.sampled_from(WORDS)).map("".join)),
    "toml": (
        use_plan,
        spliced(list(PLANS.values()), st.text(max_size=5) | st.sampled_from(["[", "{", '"', "=", ".", "\n"])),
    ),
    "plan": (use_plain_plan, changed([PLAN, *(_plain(text) for text in PLANS.values())])),
    "manifest": (use_manifest, changed([json.loads(text) for text in MANIFESTS.values()]).map(json.dumps)),
}
BYTES = spliced(
    list(TABLES.values()), st.binary(max_size=5) | st.sampled_from([b",", b'"', b"\n", b"\r", b"\x00", b"\xff"])
)


@pytest.mark.parametrize("formula", FORMULAS)
def test_formulas_of_the_corpus(formula):
    """Each is read or refused."""
    answers(use_formula, formula)


@pytest.mark.parametrize("name", PLANS)
def test_plans_of_the_corpus(name):
    """Each is read or refused."""
    answers(use_plan, PLANS[name])


@pytest.mark.parametrize("name", MANIFESTS)
def test_manifests_of_the_corpus(name):
    """Each is read or refused."""
    answers(use_manifest, MANIFESTS[name])


@pytest.mark.parametrize("name", TABLES)
def test_tables_of_the_corpus(name, tmp_path):
    """Each is read or refused."""
    answers(use_table, TABLES[name], tmp_path)


@pytest.mark.parametrize("target", TARGETS)
def test_variations_are_answered(target):
    """Only errors of discreet, whatever is changed."""
    attack, inputs = TARGETS[target]
    vary(inputs, lambda value: answers(attack, value))


def test_variations_of_tables_are_answered(tmp_path):
    """The same for the bytes of a CSV file."""
    vary(BYTES, lambda content: answers(use_table, content, tmp_path))


def vary(inputs, attack):
    """The fixed variations; then, for as long as ``FUZZ_SECONDS`` says, new ones."""
    SETTINGS(given(inputs)(attack))()
    end, number = time.monotonic() + SECONDS, int(time.time())
    while time.monotonic() < end:
        number += 1
        seed(number)(settings(SETTINGS, derandomize=False, max_examples=200)(given(inputs)(attack)))()


def test_the_oracle_notices_what_it_must():
    """A foreign error, a private value in the words, and a hang are failures."""

    def foreign():
        raise KeyError("x")

    def leaking():
        raise DiscreetError(f"the value is {SECRET}")

    with pytest.raises(KeyError):
        answers(foreign)
    with pytest.raises(AssertionError):
        answers(leaking)
    with pytest.raises(AssertionError, match="no answer"), bounded(seconds=0.2):
        sum(0 for _ in iter(int, 1))  # never ends
    with pytest.raises(AssertionError, match="no answer"), bounded(seconds=0.05):
        time.sleep(30)
