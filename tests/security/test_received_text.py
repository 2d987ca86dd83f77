"""Text that came from others: paths, names, titles and labels do what text does, and nothing else."""

from __future__ import annotations

import json
import os

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from discreet import Plan, Release
from discreet.cli.app import app
from discreet.errors import ManifestError, PlanError
from discreet.estimate import frequencies
from discreet.manifest import Manifest
from discreet.plots import save_picture
from discreet.publish import release, skeleton
from tests.security.examples import PLAN, TABLE, manifest, released

CLEAR = "\x1b[2J"
#: Escape sequences, with ESC and with the single character that some terminals take for ESC [, a bell, and marks that
#: turn the direction of writing round.
ESCAPES = [CLEAR, "\x9b2J", "\x07", "\x00", "\u202e", "\u2066"]


def block(**changes):
    return PLAN["private"][0] | changes


def files(tmp_path):
    """A plan's folder with a file inside, one outside, and a link from inside to outside."""
    folder = tmp_path / "plans"
    (folder / "below").mkdir(parents=True)
    (tmp_path / "secret.csv").write_text("v\nno\nyes\n")
    (folder / "below" / "values.csv").write_text("v\nno\nyes\n")
    os.symlink(tmp_path / "secret.csv", folder / "link.csv")
    return folder


@pytest.mark.parametrize(
    "name", ["../secret.csv", "below/../../secret.csv", "link.csv", "ABSOLUTE", "~/x.csv", "a\x00b"]
)
def test_a_plan_names_files_in_its_own_folder_only(tmp_path, name):
    """Neither dots nor links nor absolute paths lead a received plan to other files of this machine."""
    folder = files(tmp_path)
    name = str(tmp_path / "secret.csv") if name == "ABSOLUTE" else name
    for domain in ({"categorical": {"file": name, "column": "v"}},):
        with pytest.raises(PlanError) as caught:
            Plan.from_dict(PLAN | {"private": [block(domain=domain)]}, folder)
        assert (
            "no file" in str(caught.value)
            or "folder of the plan" in str(caught.value)
            or "control" in str(caught.value)
        )
    with pytest.raises(PlanError):
        Plan.from_dict(PLAN | {"private": [block(mechanism="channel", epsilon=9.0, file=name)]}, folder)


def test_files_below_the_plan_are_fine_and_others_on_request(tmp_path):
    """What the steward allows is read."""
    folder = files(tmp_path)
    inside = {"categorical": {"file": "below/values.csv", "column": "v"}}
    outside = {"categorical": {"file": "../secret.csv", "column": "v"}}
    assert Plan.from_dict(PLAN | {"private": [block(domain=inside)]}, folder).blocks[0].domain.size == 2
    plan = Plan.from_dict(PLAN | {"private": [block(domain=outside)]}, folder, outside_files=True)
    assert plan.blocks[0].domain.labels == ["no", "yes"]


@pytest.mark.parametrize("escape", ESCAPES)
def test_control_characters_are_refused_in_plans(escape):
    """Names, titles and labels of a plan hold none."""
    word = f"a{escape}b"
    for plan in (
        PLAN | {"title": word},
        PLAN | {"public": [{"columns": [word]}]},
        PLAN | {"survey": {"weight": word}},
        PLAN | {"private": [block(columns=[word])]},
        PLAN | {"private": [block(domain={"binary": ["no", word]})]},
        PLAN | {"private": [block(domain={"categorical": ["no", word, "c"]})]},
        PLAN
        | {
            "private": [
                block(collected=True, mechanism=None, epsilon=None, by="sex", designs={word: {"warner": "1/3"}})
            ]
        },
    ):
        plan["private"] = [{key: value for key, value in plan["private"][0].items() if value is not None}]
        with pytest.raises(PlanError, match="control character"):
            Plan.from_dict(plan)


@pytest.mark.parametrize("escape", ESCAPES)
def test_control_characters_are_refused_in_manifests(escape):
    """The same for a release that came from somebody else."""
    word = f"a{escape}b"
    for path in (("release", "title"), ("release", "id"), ("randomness", "source"), ("software", "version"),
                 ("columns", 0, "name"), ("blocks", 0, "domain", "values", 1), ("guarantee", "caveats")):  # fmt: skip
        data = manifest()
        inner = data
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = [word] if path[-1] == "caveats" else word
        with pytest.raises(ManifestError):
            Manifest.from_json(json.dumps(data))


def test_a_line_end_in_a_name_makes_no_line_of_output():
    """A column cannot pass itself off as the sentence that states the promise."""
    name = "sex\nAll together: ε = 0"
    table = TABLE.rename_columns(["age", "income", name, "rr.q1", "name"])
    done = release(table, PLAN | {"public": [{"columns": [name]}]})
    plan = Plan.from_dict(PLAN | {"public": [{"columns": [name]}], "title": "t\nAll together: ε = 0"})
    for text in (done.summary(), plan.summary()):
        assert not any(line.startswith("All together: ε = 0") for line in text.splitlines())


def test_terminals_get_no_escape_sequence(tmp_path, capsys):
    """Columns that the plan does not name, and cells of public columns, are printed with every escape written out."""
    table = TABLE.append_column(f"x{CLEAR}\x9b1m", pa.array([f"{CLEAR}[link=file:///etc]"] * TABLE.num_rows))
    table = table.set_column(2, "sex", pa.array([f"f{CLEAR}", "m\x9b2J"] * (TABLE.num_rows // 2)))
    pq.write_table(table, tmp_path / "in.parquet")
    release(tmp_path / "in.parquet", PLAN, tmp_path / "out.parquet", ledger=None)
    commands = [
        ["plan", str(tmp_path / "in.parquet")],
        ["plan", str(tmp_path / "in.parquet"), "--json"],
        ["estimate", "frequencies", str(tmp_path / "out.parquet"), "rr.q1", "--by", "sex"],
        ["estimate", "frequencies", str(tmp_path / "out.parquet"), "rr.q1", "--by", "sex", "--json"],
        ["estimate", "frequencies", str(tmp_path / "out.parquet"), f"{CLEAR}nothing"],
        ["design", str(tmp_path / f"{CLEAR}.toml"), "--rows", "10"],
    ]
    for command in commands:
        with pytest.raises(SystemExit):
            app(command)
        said = capsys.readouterr()
        assert said.out or said.err
        for text in (said.out, said.err):
            assert "\x1b" not in text
            assert "\x9b" not in text
        if "--json" in command:
            json.loads(said.out)


def test_json_output_reads_back_what_was_there(tmp_path, capsys):
    """Escaping for the terminal does not change the data."""
    pq.write_table(pa.table({"a\x9bb": [1]}), tmp_path / "in.parquet")
    with pytest.raises(SystemExit):
        app(["plan", str(tmp_path / "in.parquet"), "--json"])
    assert json.loads(capsys.readouterr().out)["columns"] == {"a\x9bb": "int64"}


def test_a_skeleton_is_a_plan_whatever_the_columns_are_called(tmp_path):
    """Names and types of a table cannot add keys to the plan that is made from it."""
    evil = 'x"]\n[output]\norder = "keep"\n#'
    nested = pa.struct([(evil, pa.int64())])
    pq.write_table(pa.table({evil: pa.array([{evil: 1}], nested), "b": [1.0]}), tmp_path / "in.parquet")
    text = skeleton(tmp_path / "in.parquet")
    assert sum(line.startswith("order = ") for line in text.splitlines()) == 1
    assert sum(line.startswith("[output]") for line in text.splitlines()) == 1


@pytest.mark.parametrize("label", ["$\\frac{$", "$x^{y^{z", "$$", "a$b"])
def test_a_dollar_in_a_label_is_a_dollar(tmp_path, label):
    """Labels are drawn as they are, not as mathematics."""
    table = pa.table({"a": [label, "no"] * 20})
    plan = {"private": [PLAN["private"][0] | {"columns": ["a"], "domain": {"binary": ["no", label]}}]}
    result = frequencies(release(table, plan), "a")
    save_picture(result.plot(title=label), tmp_path / "out.svg")
    assert (tmp_path / "out.svg").stat().st_size > 0


def test_formats_and_markup_in_received_text_are_text(capsys):
    """Braces, percent signs and rich markup pass through as they are."""
    title = "{0.__class__} %s %(x)s [link=https://example.org]here[/link] [bold]"
    plan = Plan.from_dict(PLAN | {"title": title})
    assert title in plan.summary()
    assert title in release(TABLE, plan).summary()


def test_a_released_csv_keeps_escapes_in_cells(tmp_path):
    """Public cells are written back unchanged: what is escaped is only what is printed."""
    cells = [f"f{CLEAR}"] * TABLE.num_rows
    table = TABLE.set_column(2, "sex", pa.array(cells))
    pa_csv.write_csv(table, tmp_path / "in.csv")
    release(tmp_path / "in.csv", PLAN, tmp_path / "out.csv", ledger=None)
    assert Release.open(tmp_path / "out.csv").to_arrow()["sex"].to_pylist() == cells
    assert released().columns == ["age", "income", "sex", "rr.q1"]
