"""Tiny inputs with huge costs: each is answered at once, in bounded memory, with one sentence."""

from __future__ import annotations

import copy
import json
import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet import Categorical, Grid, Ordinal, Plan, Release
from discreet.cli.app import app
from discreet.errors import DiscreetError, DomainError, ManifestError, MechanismError, PlanError, ReleaseError
from discreet.manifest import Manifest
from discreet.mechanisms import BinaryResponse, BipartiteResponse, ChannelResponse, from_dict
from discreet.mechanisms.joint.threshold import Threshold, ThresholdLaw
from discreet.publish import release
from tests.security.conftest import bounded
from tests.security.examples import PLAN, manifest

HUGE = 10**400


def refused(kind, what, *arguments, match=None, **options):
    """The one sentence with which a call is refused."""
    with bounded(), pytest.raises(kind, match=match) as caught:
        what(*arguments, **options)
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 500
    return message


@pytest.mark.parametrize("text", ["1e-999999999", "1e999999999", "0." + "1" * 5000, "1/" + "3" * 5000, "1_0e-9_9_9_9"])
def test_probabilities_with_too_many_digits(text):
    """A dozen characters can stand for a gigabyte of digits."""
    refused(MechanismError, BinaryResponse, text, "1/2")
    refused(MechanismError, ChannelResponse, [[text, "1/2"], ["1/2", "1/2"]])
    refused(ManifestError, from_dict, _binary() | {"procedure": {"name": "warner", "p": text}})


def _binary():
    return BinaryResponse.warner("3/4").to_dict()


@pytest.mark.parametrize(
    "arguments",
    [(0, 1e308, 3), (-1e308, 1e308, 3), (0, 1, 10**12), (0, 1, HUGE), (0, HUGE, 3), (0, 5e-324, 3), (1, 1 + 1e-15, 99)],
)
def test_grids_beyond_floating_point(arguments):
    """Ends, steps and numbers of points that arithmetic or memory could not follow."""
    refused(DomainError, Grid, *arguments)


def test_domains_with_too_many_values():
    """A range costs nothing to write down."""
    refused(DomainError, Categorical, range(10**12))
    refused(DomainError, Categorical, range(10**30))
    refused(DomainError, Ordinal, ["a", "b"], [0, HUGE])
    refused(DomainError, Ordinal, ["a", "b"], [0, 1e308])


def _with(**changes):
    """The plan, with changes to its private block."""
    plan = copy.deepcopy(PLAN)
    plan["private"][0] |= changes
    return plan


PLANS = [
    _with(epsilon=HUGE),
    _with(epsilon=-HUGE),
    _with(delta=HUGE),
    _with(epsilon=1e308),
    _with(epsilon=5e-324),
    _with(prevalence=HUGE),
    _with(reports=HUGE),
    _with(domain={"grid": {"low": 0, "high": 1, "points": 10**12}}),
    _with(domain={"grid": {"low": 0, "high": HUGE, "points": 3}}),
    _with(domain={"grid": {"low": 0, "high": 1e308, "points": 3}}, mechanism="bipartite"),
    _with(domain={"grid": {"low": 0, "high": 1, "points": 10**7}}, mechanism="exponential"),
    _with(domain={"grid": {"low": 0, "high": 1, "points": 10**7}}, mechanism="expected-error"),
    _with(domain={"categorical": {"from": 0, "to": HUGE}}),
    _with(domain={"categorical": {"from": 0, "to": 10**18}}),
    _with(domain={"box": {"low": [0], "high": [HUGE]}}, mechanism="zero-inflated-laplace", delta=0.1),
    _with(mechanism="channel", epsilon=None, matrix=[["1e-999999999", "1"], ["1", "0"]]),
    _with(mechanism="channel", matrix=[[HUGE, 1], [1, HUGE]]),
    PLAN | {"format": HUGE},
    PLAN | {"budget": {"epsilon": HUGE}},
    PLAN | {"budget": {"rows_per_person": HUGE}},
    PLAN | {"public": [{"columns": [f"c{i}" for i in range(50_000)]}]},
    PLAN | {"title": {"a" * 100_000: 1}},
    PLAN | {"b" * 100_000: 1},
]


@pytest.mark.parametrize("number", range(len(PLANS)))
def test_plans_with_absurd_numbers(number):
    """Every number of a plan has a bound that is said."""
    plan = dict(PLANS[number])
    plan["private"] = [{key: value for key, value in plan["private"][0].items() if value is not None}]
    refused(PlanError, Plan.from_dict, plan)


@pytest.mark.parametrize(
    "text",
    [
        "a = " + "[" * 20_000 + "]" * 20_000,
        "a = " + "{ b = " * 20_000 + "1" + " }" * 20_000,
        ".".join("a" * 20_000) + " = 1",
        "[" + ".".join("a" * 20_000) + "]",
        "private." + ".".join("a" * 5_000) + " = 1",
        "epsilon = " + "9" * 5_000,
        "epsilon = 1e" + "9" * 5_000,
        "title = '" + "x" * 5_000_000 + "'",
        "d = 2024-02-30",
        "d = 99999-99-99T99:99:99Z",
    ],
)
def test_deep_and_long_toml(text):
    """Neither the parser's stack nor its patience is at the mercy of a plan."""
    refused(PlanError, Plan.parse, text)


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, '{"a":' * 100_000, "[" * 400 + "]" * 400, "9" * 10_000, '{"rows": ' + "9" * 5000 + "}", "NaN"],
)
def test_deep_and_long_json(text):
    """The same for manifests."""
    refused(ManifestError, Manifest.from_json, text)


def _manifest(path, value):
    """The manifest, with the entry at a path replaced."""
    data = manifest()
    *parents, last = path
    inner = data
    for key in parents:
        inner = inner[key]
    inner[last] = value
    return data


def _blank(depth):
    domain = {"kind": "binary", "values": ["no", "yes"]}
    for _ in range(depth):
        domain = {"kind": "blank", "inner": domain}
    return domain


BLOCK = ("blocks", 0)
NEAR = {"kind": "bipartite", "size": 2, "m": 1, "high": "3", "low": "1"}
COMPONENT = {"share": "1", "weights": ["1", "1"], "threshold": "1"}
MANIFESTS = [
    (("rows",), HUGE),
    (("rows_per_person",), HUGE),
    (("guarantee", "epsilon"), HUGE),
    (("guarantee", "epsilon"), "1e999999999"),
    (("guarantee", "caveats"), [["a"] * 10]),
    ((*BLOCK, "domain"), _blank(40)),
    ((*BLOCK, "domain"), {"kind": "grid", "low": 0, "high": 1e308, "points": 2}),
    ((*BLOCK, "domain"), {"kind": "grid", "low": 0, "high": HUGE, "points": 2}),
    ((*BLOCK, "domain"), {"kind": "categorical", "values": {"from": 0, "to": 10**30}}),
    ((*BLOCK, "mechanism"), NEAR | {"neighbours": ["0-1073741823"]}),
    ((*BLOCK, "mechanism"), NEAR | {"neighbours": ["0-1073741823", "0-1073741823"], "m": 1 << 30}),
    ((*BLOCK, "mechanism"), NEAR | {"neighbours": ["0-9999999"], "m": 10**7, "size": 10**7}),
    ((*BLOCK, "mechanism"), NEAR | {"neighbours": ["0-" + "9" * 4000, "1"]}),
    ((*BLOCK, "mechanism"), NEAR | {"size": HUGE}),
    ((*BLOCK, "mechanism"), NEAR | {"high": "9" * 5000}),
    ((*BLOCK, "mechanism"), {"kind": "generalized", "size": HUGE, "keep": "3", "other": "1"}),
    ((*BLOCK, "mechanism"), {"kind": "channel", "denominator": "1", "rows": [["1"] * 5000] * 2}),
    ((*BLOCK, "mechanism", "epsilon"), HUGE),
    (
        (*BLOCK, "mechanism"),
        {
            "kind": "joint",
            "sizes": [2, 2],
            "law": {"kind": "threshold", "components": [COMPONENT] * 200},
            "post": [str(1 << 64)] * 2,
        },
    ),
]


@pytest.mark.parametrize("number", range(len(MANIFESTS)))
def test_manifests_with_absurd_numbers(number):
    """Every number of a manifest has a bound that is said."""
    refused(ManifestError, Manifest.from_json, json.dumps(_manifest(*MANIFESTS[number])))


def test_threshold_mixtures_are_bounded():
    """Every component costs a law of its own."""
    refused(MechanismError, ThresholdLaw, (2, 2), (Threshold(1, (1, 1), 1),) * 200, match="64")


def test_opening_a_release_works_nothing_out(tmp_path):
    """A joint block whose laws would take minutes opens at once; they are worked out when they are asked for."""
    joint = {
        "kind": "joint",
        "sizes": [2] * 300,
        "law": {
            "kind": "threshold",
            "components": [
                {"share": str(10**9 + i), "weights": [str(1000 + j) for j in range(300)], "threshold": "200000"}
                for i in range(64)
            ],
        },
        "post": [str(1 << 64)] * 300,
    }
    names = [f"c{i}" for i in range(300)]
    yes_no = {"kind": "binary", "values": [False, True]}
    data = manifest()
    del data["content"]  # or the digests would be refused first
    data["rows"] = 2
    data["columns"] = [{"name": name, "role": "private"} for name in names]
    data["blocks"][0] |= {"columns": names, "mechanism": joint, "domain": yes_no, "domains": [yes_no] * 300}
    table = pa.table({name: [True, False] for name in names})
    table = table.replace_schema_metadata({"discreet": json.dumps(data)})
    pq.write_table(table, tmp_path / "out.parquet")
    with bounded():
        assert Release.open(tmp_path / "out.parquet").to_arrow().num_rows == 2


def test_tables_with_too_many_columns(tmp_path):
    """Fifty thousand columns are refused by their number; a header without end is refused by its length."""
    (tmp_path / "wide.csv").write_text(",".join(f"c{i}" for i in range(50_000)) + "\n" + "1," * 49_999 + "1\n")
    refused(ReleaseError, release, tmp_path / "wide.csv", PLAN, match="20,000")
    (tmp_path / "endless.csv").write_text("a" * 3_000_000)
    refused(ReleaseError, release, tmp_path / "endless.csv", PLAN)
    (tmp_path / "quoted.csv").write_text('"' + "a\n" * 1_500_000)
    refused(ReleaseError, release, tmp_path / "quoted.csv", PLAN)
    wide = pa.table({f"c{i}": [1] for i in range(20_001)})
    pq.write_table(wide, tmp_path / "wide.parquet")
    refused(ReleaseError, release, tmp_path / "wide.parquet", PLAN, match="20,000")


def test_many_columns_below_the_limit_take_no_square(tmp_path):
    """Checks of names look at each of them once."""
    names = [*TABLE_NAMES, *(f"c{i}" for i in range(15_000))]
    (tmp_path / "wide.csv").write_text(",".join(names) + "\n" + "18,1,f,no" + ",1" * 15_000 + "\n")
    with bounded():
        assert release(tmp_path / "wide.csv", PLAN, ledger=None).rows == 1


TABLE_NAMES = ["age", "income", "sex", "rr.q1"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_not_waited_for(tmp_path):
    """A plan, a table or a release that is no ordinary file is refused instead of read without end."""
    for name in ("plan.toml", "table.csv", "table.parquet", "out.csv.manifest.json"):
        os.mkfifo(tmp_path / name)
    (tmp_path / "out.csv").write_text("a\n1\n")
    refused(PlanError, Plan.read, tmp_path / "plan.toml", match="ordinary file")
    for name in ("table.csv", "table.parquet"):
        refused(ReleaseError, Release.open, tmp_path / name, match="ordinary file")
        refused(ReleaseError, release, tmp_path / name, PLAN, match="ordinary file")
    refused(ReleaseError, Release.open, tmp_path / "out.csv")


def test_the_command_line_answers_with_exit_code_2(tmp_path, capsys):
    """One line on standard error, whatever the bomb."""
    plans = ["a = " + "[" * 20_000, "private = " + "9" * 5_000, 'title = "\\u001b[2J"\n[budget]\nepsilon = -1']
    for text in plans:
        (tmp_path / "plan.toml").write_text(text)
        with bounded(), pytest.raises(SystemExit) as left:
            app(["design", str(tmp_path / "plan.toml"), "--rows", "100"])
        assert left.value.code == 2
        said = capsys.readouterr().err
        assert said.count("\n") == 1
        assert "\x1b" not in said


def test_near_reports_still_read_back():
    """The bounded reader of runs gives what was written."""
    mechanism = BipartiteResponse(4, 2, 1.0, [[0, 1], [0, 1], [1, 3], [2, 3]])
    assert BipartiteResponse.from_dict(mechanism.to_dict()) == mechanism
    for texts in (["0-1", "0-1", "1 3", "2"], ["0-1", "0-1", "1 3", "2-4"], ["0-1", "0-1", "1 3", "-1 2"], ["0-1"] * 3):
        with pytest.raises(DiscreetError):
            BipartiteResponse.from_dict(mechanism.to_dict() | {"neighbours": texts})
