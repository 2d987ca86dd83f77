"""The manifest as plain JSON: complete, strict, and silent about the data."""

from __future__ import annotations

import copy
import json
import pickle

import jsonschema
import pytest

from discreet import Binary, ManifestError, design
from discreet.domains import Categorical
from discreet.manifest import Manifest, Survey, json_schema
from discreet.mechanisms import BinaryResponse, ChannelResponse
from tests.manifest.examples import DICE, EXAMPLES, block, by_mode, manifest_of


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_manifest_survives_the_round_trip(name):
    """What is written is what is read, down to equal objects."""
    manifest = EXAMPLES[name]
    assert Manifest.from_json(manifest.to_json()) == manifest
    assert Manifest.from_dict(json.loads(manifest.to_json())).to_dict() == manifest.to_dict()


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_manifest_fits_the_published_schema(name):
    """Whoever validates with the schema accepts what we write."""
    schema = json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(EXAMPLES[name].to_dict())


def test_the_schema_refuses_what_is_not_a_manifest():
    """The schema has teeth: a missing field, a wrong kind and an integer that is not text are refused."""
    validator = jsonschema.Draft202012Validator(json_schema())
    good = EXAMPLES["binary"].to_dict()
    for change in (
        lambda d: d.pop("guarantee"),
        lambda d: d["blocks"][0]["mechanism"].update(kind="magic"),
        lambda d: d["blocks"][0]["mechanism"].update(denominator=4),
        lambda d: d["blocks"][0].update(by="mode"),
        lambda d: d.update(rows=0),
        lambda d: d.update(order="sorted"),
    ):
        bad = copy.deepcopy(good)
        change(bad)
        assert not validator.is_valid(bad)


def test_large_integers_are_written_as_text():
    """JSON readers in other languages hold numbers in 53 bits, so weights are text."""
    rows = EXAMPLES["binary"].to_dict()["blocks"][0]["mechanism"]["rows"]
    assert all(isinstance(weight, str) and int(weight) > 2**53 for row in rows for weight in row)


def test_a_manifest_of_a_newer_format_is_refused_as_such():
    """An old reader never guesses what a new writer meant."""
    data = EXAMPLES["binary"].to_dict() | {"format": 2}
    with pytest.raises(ManifestError, match=r"format 2, which is newer"):
        Manifest.from_dict(data)
    with pytest.raises(ManifestError, match="newer"):
        Manifest.from_dict({"format": 7, "everything": "else is different"})


def test_fields_that_a_reader_does_not_know_are_ignored():
    """Fields may be added under the same format; they never change the meaning of the others."""
    data = EXAMPLES["binary"].to_dict()
    data["mood"] = "sunny"
    data["blocks"][0]["colour"] = "blue"
    assert Manifest.from_dict(data) == EXAMPLES["binary"]


def _set(path, value):
    def change(data):
        for key in path[:-1]:
            data = data[key]
        data[path[-1]] = value

    return change


DAMAGES = {
    "weights that do not sum": _set(["blocks", 0, "mechanism", "rows", 0, 0], "1"),
    "negative weight": _set(["blocks", 0, "mechanism", "rows", 0], ["-1", "1"]),
    "weights that are no numbers": _set(["blocks", 0, "mechanism", "rows", 0, 0], "many"),
    "weights that are not text": _set(["blocks", 0, "mechanism", "denominator"], 7),
    "unknown mechanism": _set(["blocks", 0, "mechanism", "kind"], "magic"),
    "mechanism is a list": _set(["blocks", 0, "mechanism"], []),
    "no mechanism at all": _set(["blocks", 0, "mechanism"], None),
    "unknown domain": _set(["blocks", 0, "domain", "kind"], "magic"),
    "domain too large": _set(["blocks", 0, "domain"], {"kind": "categorical", "values": ["a", "b", "c"]}),
    "domain with twins": _set(["blocks", 0, "domain", "values"], ["no", "no"]),
    "reports too many": _set(["blocks", 0, "reports"], {"kind": "categorical", "values": ["a", "b", "c"]}),
    "blank without its domain": _set(["blocks", 0, "missing"], "category"),
    "unknown policy": _set(["blocks", 0, "missing"], "guess"),
    "collected is a word": _set(["blocks", 0, "collected"], "yes"),
    "no columns": _set(["blocks", 0, "columns"], []),
    "columns twice": _set(["blocks", 0, "columns"], ["cheated", "cheated"]),
    "columns are numbers": _set(["blocks", 0, "columns"], [1]),
    "block of unknown column": _set(["blocks", 0, "columns"], ["other"]),
    "by is no public column": _set(["blocks", 0, "by"], "cheated"),
    "guarantee without epsilon": _set(["blocks", 0, "guarantee"], {"delta": 0}),
    "guarantee below zero": _set(["guarantee", "epsilon"], -1),
    "guarantee in words": _set(["guarantee", "epsilon"], "one"),
    "delta above one": _set(["guarantee", "delta"], 1.5),
    "unknown unit": _set(["guarantee", "unit"], "crowd"),
    "no blocks": _set(["blocks"], []),
    "blocks are a table": _set(["blocks"], {}),
    "rows in words": _set(["rows"], "many"),
    "no rows": _set(["rows"], 0),
    "rows true": _set(["rows"], True),
    "unknown order": _set(["order"], "sorted"),
    "order is a list": _set(["order"], []),
    "randomness missing": _set(["randomness"], None),
    "randomness in words": _set(["randomness", "secure"], "very"),
    "column without role": _set(["columns", 0], {"name": "sex"}),
    "column listed twice": _set(["columns", 1, "name"], "sex"),
    "private column of no block": _set(["columns", 0, "role"], "private"),
    "unknown role": _set(["columns", 0, "role"], "decoration"),
    "unknown type": _set(["columns", 0, "type"], "colour"),
    "weight of no column": _set(["survey", "weight"], "nothing"),
    "survey is a list": _set(["survey"], []),
    "rows per person below one": _set(["rows_per_person"], 0),
    "person checked in words": _set(["person_checked"], "yes"),
    "digest too short": _set(["digest"], {"sha256": "12"}),
    "digest is text": _set(["digest"], "12"),
    "title is a number": _set(["release", "title"], 1),
    "no id": _set(["release", "id"], None),
    "release missing": _set(["release"], None),
    "software missing": _set(["software"], 3),
    "format missing": _set(["format"], None),
    "format true": _set(["format"], True),
    "format zero": _set(["format"], 0),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_manifest_is_refused(name):
    """Whatever was changed by hand or by accident, the reader says so in one sentence."""
    data = json.loads(EXAMPLES["binary"].to_json())
    DAMAGES[name](data)
    with pytest.raises(ManifestError) as caught:
        Manifest.from_dict(data)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", ["", "{", "[]", "3", '{"format": NaN}', "[" * 100_000, b"\xff\xfe"])
def test_what_is_not_json_is_a_damaged_manifest(content):
    """Broken text gives the same clear answer."""
    with pytest.raises(ManifestError):
        Manifest.from_json(content)


@pytest.mark.parametrize("name", ["generalized", "channel", "by-designs", "collected-forced"])
def test_damage_is_found_in_every_kind_of_mechanism(name):
    """Closed forms, matrices and designs by row are all checked when they are read."""
    data = json.loads(EXAMPLES[name].to_json())
    spot = data["blocks"][0]
    mechanism = spot["mechanism"] or spot["designs"]["crosswise"]
    if "rows" in mechanism:
        mechanism["rows"][0][0] = str(int(mechanism["rows"][0][0]) + 1)
    else:
        mechanism["other"] = mechanism["keep"]
    with pytest.raises(ManifestError):
        Manifest.from_dict(data)


def test_a_manifest_says_who_wrote_it_and_when():
    """Software, version, a fresh identifier and the time in UTC to the second."""
    first, second = (
        Manifest(
            rows=1,
            columns=EXAMPLES["binary"].columns,
            blocks=EXAMPLES["binary"].blocks,
            guarantee=EXAMPLES["binary"].guarantee,
            secure=True,
            source="OpenSSL",
        ).to_dict()
        for _ in range(2)
    )
    assert first["software"]["name"] == "discreet"
    assert first["release"]["created"].endswith("+00:00")
    assert "." not in first["release"]["created"]
    assert first["release"]["id"] != second["release"]["id"]


def test_insecure_means_seeded_only():
    """Dice are not called insecure; a seed is."""
    assert EXAMPLES["binary-seeded"].insecure
    assert not EXAMPLES["binary"].insecure
    assert not EXAMPLES["collected-forced"].insecure


def test_the_guarantee_of_a_block_adds_up_over_its_columns():
    """Two columns randomised each with ε = 1 cost 2 together, and the unit becomes the row."""
    one = block(design.binary(1.0).mechanism)
    two = block(design.binary(1.0).mechanism, columns=("a", "b"))
    assert one.guarantee.unit == "value"
    assert two.guarantee.unit == "record"
    assert one.guarantee.epsilon <= 1.0
    assert two.guarantee.epsilon == pytest.approx(2.0, abs=1e-8)
    assert two.guarantee.epsilon <= 2.0


def test_rows_per_person_multiply_the_guarantee():
    """Three rows of one person cost three times as much, and the unit says so."""
    one = manifest_of(block(design.binary(1.0).mechanism))
    three = manifest_of(block(design.binary(1.0).mechanism), rows_per_person=3)
    assert (one.guarantee.unit, three.guarantee.unit) == ("record", "person")
    assert three.guarantee.epsilon == pytest.approx(3 * one.guarantee.epsilon)


def test_public_blanks_are_named_in_the_guarantee():
    """The promise says for which column being blank is not protected, also in the total."""
    manifest = EXAMPLES["grid-public-blanks-per-person"]
    assert manifest.guarantee.caveats == ('whether "score" is blank is published as it is',)
    assert 'whether "score" is blank' in manifest.guarantee.explain()


def test_the_weakest_design_counts_when_designs_differ():
    """Direct questions have no finite ε, so the block has none, and a caveat says why."""
    guarantee = EXAMPLES["by-designs"].blocks[0].guarantee
    assert guarantee.epsilon == float("inf")
    assert guarantee.exposure == 1.0
    assert 'differ by "mode"' in guarantee.caveats[0]
    milder = by_mode({"a": DICE["warner"], "b": DICE["crosswise"]})
    assert milder.guarantee.epsilon == DICE["crosswise"].guarantee.epsilon > DICE["warner"].guarantee.epsilon


def test_an_infinite_epsilon_is_written_as_null():
    """JSON has no infinity."""
    data = EXAMPLES["collected-direct"].to_dict()
    assert data["guarantee"]["epsilon"] is None
    assert Manifest.from_dict(data).guarantee.epsilon == float("inf")


def test_reports_of_a_square_channel_are_labelled_like_the_truths():
    """Without labels of their own, reports are the values of the domain."""
    assert block(BinaryResponse("3/4", "3/4")).reports == Binary()


def test_four_reports_say_which_ones_are_certain():
    """A report that only one truth can give carries that in its label."""
    reports = EXAMPLES["binary-four-reports"].blocks[0].reports
    assert reports == Categorical(["no", "yes", "no (certain)", "yes (certain)"])


def test_made_up_report_labels_are_all_different():
    """Several reports that point to the same truth are numbered."""
    channel = ChannelResponse([["1/2", "1/4", "1/8", "1/8"], ["1/4", "1/8", "1/2", "1/8"]])
    assert channel.report_domain(Binary(False, True)).labels == ["false", "false (2)", "true", "false (3)"]


def test_a_block_is_immutable_and_can_be_sent_to_another_process():
    """Its designs cannot be edited, and a pickled copy is equal."""
    original = EXAMPLES["by-designs"].blocks[0]
    with pytest.raises(TypeError):
        original.designs["phone"] = DICE["kuk"]
    assert pickle.loads(pickle.dumps(original)) == original


def test_a_survey_knows_the_role_of_its_columns():
    """Roles end up in the list of columns."""
    survey = Survey("w", None, "school")
    assert survey.columns == ("w", "school")
    assert [survey.role(name) for name in ("w", "school", "sex")] == ["weight", "cluster", None]


def test_summaries_name_what_matters():
    """The blank as one more value, the respondents as source and public blanks are said in words."""
    assert "so there are 3" in EXAMPLES["generalized-blank"].blocks[0].summary()
    assert "randomised by the respondents" in EXAMPLES["collected-kuk"].blocks[0].summary()
    assert "blanks are published" in EXAMPLES["grid-public-blanks-per-person"].blocks[0].summary()
    assert 'design by "mode"' in EXAMPLES["by-designs"].blocks[0].summary()
