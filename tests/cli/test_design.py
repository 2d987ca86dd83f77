"""``discreet design``: for every block what was chosen, its certificate, and what else there was."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from discreet import Grid, design
from tests.cli.test_commands import discreet

PLAN = """
format = 1
[[public]]
columns = ["mode", "age"]
[[private]]
columns = ["rare"]
domain = { binary = ["no", "yes"] }
mechanism = "randomized-response"
epsilon = 1.0
delta = 0.1
prevalence = 0.05
[[private]]
columns = ["visits"]
domain = { grid = { low = 0, high = 24, points = 25 } }
mechanism = "bipartite"
epsilon = 1.0
[[private]]
columns = ["beds"]
domain = { grid = { low = 0, high = 24, points = 25 } }
mechanism = "randomized-response"
epsilon = 1.0
[[private]]
columns = ["asked"]
domain = { binary = ["no", "yes"] }
collected = true
by = "mode"
designs.direct = { direct = true }
designs.dice = { forced = { yes = "1/6", no = "1/6" } }
[[private]]
columns = ["own"]
domain = { binary = ["no", "yes"] }
mechanism = "channel"
matrix = [[3, 1], [1, 3]]
[[private]]
columns = ["label"]
domain = { binary = ["no", "yes"] }
mechanism = "randomized-response"
epsilon = 1.0
delta = 0.01
label = { formula = "age", coefficients = [-2.0, 0.02] }
[[private]]
columns = ["region"]
domain = { categorical = { from = 0, to = 99999 } }
mechanism = "randomized-response"
epsilon = 1.0
[[private]]
columns = ["weight"]
domain = { box = { low = 0, high = 100 } }
mechanism = "zero-inflated-laplace"
epsilon = 1.0
delta = 0.1
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("design")
    (path / "plan.toml").write_text(PLAN, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def reasons(folder):
    """The lines that give reasons, by the columns of their block."""
    shown = discreet("design", "plan.toml", "--rows", 10_000, folder=folder)
    assert shown.returncode == 0, shown.stderr
    _, text = shown.stdout.split("Why these mechanisms\n")
    return dict(re.findall(r'^  "(\w+)"\n((?:    .*\n)+)', text, re.MULTILINE))


@pytest.fixture(scope="module")
def facts(folder):
    data = json.loads(discreet("design", "plan.toml", "--rows", 10_000, "--json", folder=folder).stdout)
    return {block["columns"][0]: block["design"] for block in data["blocks"]}


def test_a_binary_design_with_its_proof_and_its_rivals(reasons, facts):
    """Which answers are kept, the theorem, and the variance of the symmetric design and of four reports."""
    assert 'a true "no" is reported as it is with probability 100.00%, a true "yes" with 10.00%' in reasons["rare"]
    assert "Proven best: " in reasons["rare"]
    assert "Instead: four reports (reports = 4): 0.3295; symmetric (p00 = p11 = 0.758): 0.7368" in reasons["rare"]
    assert "Note: exposure" in reasons["rare"]
    assert facts["rare"] == {
        "given": False,
        "stand_in_for": None,
        **design.binary(1.0, 0.1, 0.05).reasons_to_dict(),
    }


def test_an_ordered_domain_with_every_other_mechanism(reasons, facts):
    """Bipartite beside the optimum, exponential and generalised; how far from its own bound it is."""
    assert "At most 0.0119 (0.20%) above the bound" in reasons["visits"]
    assert re.search(r"Instead: optimum, frequencies not identified: 5\.327; .*generalised: 7\.785", reasons["visits"])
    instead = {one["name"]: one["value"] for one in facts["visits"]["alternatives"]}
    table = design.compare(Grid(0, 24, 25), 1.0, 10)
    assert instead["generalised"] == pytest.approx(table["generalised"].expected_error)
    assert facts["visits"]["certificate"]["proven"] is False


def test_generalised_response_on_an_ordered_domain_is_set_beside_bipartite(reasons, facts):
    """It is given, not designed; its mean error and those of others are shown all the same."""
    assert "Given in the plan: ε = 1" in reasons["beds"]
    assert "the true value is reported with probability 10.17%" in reasons["beds"]
    assert "Expected error of a report: 7.78" in reasons["beds"]
    assert "bipartite, search, frequencies not identified: 6.091" in reasons["beds"]
    assert facts["beds"]["given"] is True
    assert facts["beds"]["expected_error"] == pytest.approx(7.785, abs=1e-3)


def test_what_was_given_is_said_to_be_given(reasons, facts):
    """Procedures and matrices with their ε; a large list names the mechanism that needs fewer people."""
    assert "Given in the plan: direct: no finite ε" in reasons["asked"]
    assert "dice: ε = 1.60944" in reasons["asked"]
    assert "Given in the plan: ε = 1.09862" in reasons["own"]
    assert "75.00%" in reasons["own"]
    assert "Generalised response on 100,000 values needs about" in reasons["region"]
    assert facts["own"] == {"given": True, "stand_in_for": None}
    assert 'mechanism = "frequencies"' in facts["region"]["cost"]


def test_a_label_is_shown_as_a_stand_in(reasons, facts):
    """Its design waits for the public columns, and the command says so."""
    assert "A stand-in, which assumes nothing: the design for the regression on age is made when" in reasons["label"]
    assert facts["label"]["stand_in_for"] == "age"


def test_numbers_have_their_certificate(reasons):
    """The least noise of its kind."""
    assert "Proven best: the least noise" in reasons["weight"]


def test_the_page_shows_what_the_command_prints(tmp_path):
    """The example of the documentation is real output."""
    page = (Path(__file__).parents[2] / "docs" / "plan.md").read_text(encoding="utf-8")
    _, section = page.split("## Why these mechanisms\n")
    plan, shown = re.findall(r"```(?:toml|text)\n(.*?)```", section.split("\n## ")[0], re.DOTALL)
    (tmp_path / "plan.toml").write_text(plan, encoding="utf-8")
    printed = discreet("design", "plan.toml", "--rows", 20_000, folder=tmp_path).stdout
    assert shown.strip() in printed


def test_a_split_and_the_power_are_printed(tmp_path):
    """Margins need no --rows; what was chosen, what more would buy, and which differences would be found."""
    (tmp_path / "plan.toml").write_text(
        '[budget]\nsplit = "margins"\nrows = 5000\n[[private]]\ncolumns = ["a"]\ndomain = { binary = ["no", "yes"] }\n'
        'mechanism = "randomized-response"\nmargin = 0.05\n'
    )
    arguments = ["design", "plan.toml", "--power", "--response-rate", "0.8"]
    done = discreet(*arguments, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "How the budget was split" in done.stdout
    assert "a further 0.1 for it alone" in done.stdout
    assert "the smallest difference found with 80%" in done.stdout
    data = json.loads(discreet(*arguments, "--power-plot", "power.png", "--json", folder=tmp_path).stdout)
    assert data["power"][0]["response_rate"] == 0.8
    assert data["split"]["blocks"]["a"]["margins"][0] <= 0.05
    assert (tmp_path / "power.png").stat().st_size > 5000
    wrong = discreet(*arguments, "--difference", "0.95", folder=tmp_path)
    assert wrong.returncode == 2
    assert "--prevalence and --difference must lie" in wrong.stderr


def test_margins_and_power_are_about_the_same_survey(tmp_path):
    """Half answer, and clusters double the variance: margins are those of a quarter of the rows, and it is said."""
    (tmp_path / "plan.toml").write_text(
        'format = 1\n[[private]]\ncolumns = ["x"]\ndomain = { binary = ["no", "yes"] }\nmechanism = '
        '"randomized-response"\nepsilon = 1.0\n[[private]]\ncolumns = ["n"]\ndomain = { grid = { low = 0, high = 10, '
        'points = 11 } }\nmechanism = "unbiased"\nepsilon = 1.0\n[[private]]\ncolumns = ["w"]\n'
        'domain = { box = { low = [0], high = [1] } }\nmechanism = "zero-inflated-laplace"\nepsilon = 1\ndelta = 0.1\n'
    )
    for more in ((), ("--power",)):
        asked = ("design", "plan.toml", *more)
        few = json.loads(discreet(*asked, "--rows", 1000, "--json", folder=tmp_path).stdout)
        conduct = ("--response-rate", 0.5, "--design-effect", 2)
        many = json.loads(discreet(*asked, "--rows", 4000, *conduct, "--json", folder=tmp_path).stdout)
        for one, other in zip(few["blocks"], many["blocks"], strict=True):
            for key in ("margin", "mean_margin"):
                assert one.get(key) == other.get(key)
    text = discreet("design", "plan.toml", "--rows", 4000, *conduct, "--power", folder=tmp_path).stdout
    assert "distribution of answers; assumed: 50% of those asked answer, a design effect of 2)" in text
    shifted = json.loads(
        discreet("design", "plan.toml", "--rows", 1000, "--noncompliance", 0.1, "--json", folder=tmp_path).stdout
    )
    assert shifted["blocks"][0]["margin"] > few["blocks"][0]["margin"]
