"""Whoever changes a published file is found out: by the digests of its cells, or by the signature of its manifest.

Every test is an attack by somebody who can write the file. The attacker keeps the manifest, or rewrites it with
whatever has to fit.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from discreet import ManifestError, Plan, Release, ReleaseError, estimate, release
from discreet.audit import audit
from discreet.errors import InputError
from discreet.manifest import Manifest, composed_guarantee
from discreet.manifest.digest import ContentDigest
from discreet.manifest.signature import PublicKey, SigningKey, new_keys
from discreet.mechanisms import BinaryResponse

ROWS = 3_000
PLAN = Plan.parse(
    """
    [budget]
    epsilon = 20.0
    rows_per_person = 3
    [survey]
    weight = "w"
    [[public]]
    columns = ["sex", "age"]
    [[private]]
    columns = ["cheated", "copied"]
    domain = { binary = ["no", "yes"] }
    mechanism = "randomized-response"
    epsilon = 1.0
    [[private]]
    columns = ["band"]
    domain = { ordinal = ["low", "middle", "high"] }
    mechanism = "randomized-response"
    epsilon = 1.0
    """
)


def truth() -> pa.Table:
    rng = np.random.default_rng(5)
    answer = np.array(["no", "yes"])
    return pa.table(
        {
            "sex": rng.choice(["f", "m"], ROWS),
            "age": rng.integers(18, 90, ROWS),
            "w": rng.uniform(0.5, 2.0, ROWS),
            "cheated": answer[(rng.random(ROWS) < 0.3).astype(int)],
            "copied": answer[(rng.random(ROWS) < 0.1).astype(int)],
            "band": rng.choice(["low", "middle", "high"], ROWS),
        }
    )


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    return new_keys(tmp_path_factory.mktemp("keys") / "steward.pem")


@pytest.fixture(params=["unsigned", "signed"])
def parquet(request, tmp_path, keys):
    path = tmp_path / "out.parquet"
    release(truth(), PLAN, path, signing_key=keys[0] if request.param == "signed" else None)
    return path


@pytest.fixture
def unsigned(tmp_path):
    path = tmp_path / "unsigned.parquet"
    release(truth(), PLAN, path)
    return path


@pytest.fixture
def signed(tmp_path, keys):
    path = tmp_path / "signed.parquet"
    release(truth(), PLAN, path, signing_key=keys[0])
    return path


def rewrite(path, table, document=None, **options):
    """Write a table under the manifest of the old file, or under another one."""
    metadata = dict(pq.read_schema(path).metadata)
    if document is not None:
        metadata[b"discreet"] = json.dumps(document).encode()
    pq.write_table(table.replace_schema_metadata(metadata), path, **options)


def document_of(path):
    return json.loads(pq.read_metadata(path).metadata[b"discreet"])


def verdicts(path, **options):
    return {finding.subject: finding.verdict for finding in audit(Release.open(path), **options).findings}


def replaced(table, name, cells):
    return table.set_column(table.schema.get_field_index(name), name, pa.array(cells, table.schema.field(name).type))


def swapped(table, first, second):
    return replaced(replaced(table, first, table[second].to_pylist()), second, table[first].to_pylist())


def rolled(table, name):
    cells = table[name].to_pylist()
    return replaced(table, name, cells[1:] + cells[:1])


def hidden(table, name, cell):
    """One cell in the middle replaced."""
    cells = table[name].to_pylist()
    return replaced(table, name, [*cells[:7], cell, *cells[8:]])


ATTACKS = {
    "every answer is yes": (lambda t: replaced(t, "cheated", ["yes"] * ROWS), ["cheated"]),
    "two columns swapped": (lambda t: swapped(t, "cheated", "copied"), ["cheated", "copied"]),
    "rows dropped and others repeated": (lambda t: pa.concat_tables([t[10:], t[20:30]]), None),
    "one column moved against the others": (lambda t: rolled(t, "band"), ["band"]),
    "all rows sorted": (lambda t: t.sort_by("age"), None),
    "one public cell changed": (lambda t: hidden(t, "age", t["age"][7].as_py() + 1), ["age"]),
    "one report changed": (lambda t: hidden(t, "band", "high" if t["band"][7].as_py() == "low" else "low"), ["band"]),
    "weights doubled": (lambda t: replaced(t, "w", pc.multiply(t["w"], 2.0).to_pylist()), ["w"]),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_changed_cells_are_found_by_their_digests(parquet, attack):
    """The same rows and columns in number and name, the manifest kept: the audit names the columns."""
    change, columns = ATTACKS[attack]
    rewrite(parquet, change(pq.read_table(parquet)))
    report = audit(Release.open(parquet))
    assert not report.passed
    (cells,) = [finding for finding in report.findings if finding.subject == "cells"]
    assert cells.verdict == "failure"
    named = [name for name in ("sex", "age", "w", "cheated", "copied", "band") if f'"{name}"' in cells.detail]
    assert named == (columns or ["sex", "age", "w", "cheated", "copied", "band"])


def test_the_layout_of_the_file_is_free(parquet, keys):
    """Other row groups, compression, pages and no dictionaries: the same release, still signed."""
    table = pq.read_table(parquet)
    types = {"cheated": pa.string(), "band": pa.large_string(), "sex": pa.dictionary(pa.int32(), pa.string())}
    plain = pa.table({name: table[name].cast(types.get(name, table[name].type)) for name in table.column_names})
    rewrite(parquet, plain, row_group_size=217, compression="gzip", use_dictionary=False, data_page_version="2.0")
    signed = document_of(parquet)["signature"] is not None
    assert audit(Release.open(parquet), public_key=keys[1] if signed else None).passed


def test_another_number_of_rows_is_refused_when_opened(parquet):
    """Before any row is read."""
    rewrite(parquet, pq.read_table(parquet)[1:])
    with pytest.raises(ManifestError, match="2999 rows where 3000 were released"):
        Release.open(parquet)


@pytest.mark.parametrize(("name", "kind"), [("age", pa.string()), ("w", pa.float32()), ("cheated", pa.bool_())])
def test_another_type_is_refused_when_opened(parquet, name, kind):
    """A column that no longer is what was released."""
    table = pq.read_table(parquet)
    cells = pc.equal(table[name], "yes") if kind == pa.bool_() else table[name].cast(kind)
    rewrite(parquet, table.set_column(table.schema.get_field_index(name), name, cells))
    with pytest.raises(ManifestError, match=f'column "{name}" is not of the type that was released'):
        Release.open(parquet)


def recomputed(path, document):
    """The manifest with digests that fit the cells: what an attacker who knows the format does."""
    stripped = document | {"content": None, "signature": None}
    rewrite(path, pq.read_table(path), stripped)
    opened = Release.open(path)
    digest = ContentDigest(opened.forms())
    for batch in opened.coded():
        digest.update(batch)
    return document | {"content": digest.content().to_dict()}


def test_changed_cells_with_fitting_digests_are_found_by_the_signature_only(unsigned, signed, keys):
    """Without a signature the audit passes, and says that it cannot know."""
    for path in (unsigned, signed):
        rewrite(path, swapped(pq.read_table(path), "cheated", "copied"))
        rewrite(path, pq.read_table(path), recomputed(path, document_of(path)))
    report = audit(Release.open(unsigned))
    assert report.passed
    assert report.unchecked == ("signature",)
    assert "This audit cannot know" in report.summary()
    assert verdicts(signed)["signature"] == "failure"
    assert verdicts(signed, public_key=keys[1])["signature"] == "failure"


def weaker(document):
    """Weights of ε = 3 where ε = 1 was used, with every figure that follows from them."""
    manifest = Manifest.from_dict(document)
    first = manifest.blocks[0]
    block = replace(first, mechanism=BinaryResponse(0.95, 0.95), guarantee=None)
    blocks = (block, *manifest.blocks[1:])
    guarantee = composed_guarantee(blocks, manifest.rows_per_person)
    return document | {"blocks": [one.to_dict() for one in blocks], "guarantee": guarantee.to_dict()}


def fewer_rows(document):
    """One row per person where three were declared, and a third of the ε."""
    manifest = Manifest.from_dict(document)
    return document | {"rows_per_person": 1, "guarantee": composed_guarantee(manifest.blocks, 1).to_dict()}


REWRITINGS = {
    "weights and ε together": weaker,
    "rows per person and ε together": fewer_rows,
    "another title": lambda d: d | {"release": d["release"] | {"title": "Somebody else's survey"}},
    "a seeded release called secure": lambda d: d | {"randomness": {"secure": True, "source": "a better one"}},
    "a field that this version does not know": lambda d: d | {"remark": "all is well"},
}


@pytest.mark.parametrize("name", REWRITINGS)
def test_a_rewritten_manifest_that_fits_is_found_by_the_signature_only(unsigned, signed, keys, name):
    """It is consistent, so the audit passes where there is no signature, and fails where there is one."""
    for path in (unsigned, signed):
        rewrite(path, pq.read_table(path), REWRITINGS[name](document_of(path)))
    assert audit(Release.open(unsigned)).passed
    assert "signature" in audit(Release.open(unsigned)).unchecked
    report = audit(Release.open(signed), public_key=keys[1])
    assert not report.passed
    assert [finding.subject for finding in report.findings if finding.verdict == "failure"] == ["signature"]
    assert "changed after it was signed" in report.summary()


def test_rows_per_person_alone_do_not_fit_the_guarantee(unsigned):
    """Three rows per person became one and the ε stayed: that does not follow from the blocks."""
    rewrite(unsigned, pq.read_table(unsigned), document_of(unsigned) | {"rows_per_person": 1})
    report = audit(Release.open(unsigned))
    assert verdicts(unsigned)["all blocks together"] == "failure"
    assert "does not follow from the blocks and 1 rows per person" in report.summary()


def test_weights_alone_do_not_fit_the_guarantee(unsigned):
    """Weights of more privacy than stated make every estimate wrong; they are pointed out."""
    document = document_of(unsigned)
    document["blocks"][0]["mechanism"] = BinaryResponse(0.6, 0.6).to_dict()
    rewrite(unsigned, pq.read_table(unsigned), document)
    assert verdicts(unsigned)["block 0 (cheated, copied)"] == "warning"


def test_a_signature_is_checked_with_the_key_of_the_steward(signed, unsigned, keys, tmp_path):
    """The right key passes; a release without a signature, and one signed anew by the attacker, fail."""
    assert set(verdicts(signed, public_key=keys[1]).values()) == {"ok"}
    assert verdicts(signed)["signature"] == "unchecked"
    assert verdicts(unsigned, public_key=keys[1])["signature"] == "failure"
    attacker = SigningKey.generate()
    document = fewer_rows(document_of(signed))
    document["signature"] = attacker.sign(document).to_dict()
    rewrite(signed, pq.read_table(signed), document)
    assert verdicts(signed)["signature"] == "unchecked"  # it fits the key that it names itself
    assert verdicts(signed, public_key=PublicKey.read(keys[1]))["signature"] == "failure"
    assert "another key" in audit(Release.open(signed), public_key=keys[1]).summary()
    document["signature"] = None
    rewrite(signed, pq.read_table(signed), document)
    assert not audit(Release.open(signed), public_key=keys[1]).passed


def test_a_manifest_without_digests_opens_and_the_audit_says_so(unsigned):
    """As written before there were any; or as an attacker leaves it who hopes for that."""
    document = document_of(unsigned)
    del document["content"], document["signature"]
    rewrite(unsigned, swapped(pq.read_table(unsigned), "cheated", "copied"), document)
    report = audit(Release.open(unsigned))
    assert report.passed
    assert report.unchecked == ("signature", "cells")
    assert "no digest" in report.summary()


@pytest.fixture
def csv(tmp_path, keys):
    path = tmp_path / "out.csv"
    release(truth(), PLAN, path, signing_key=keys[0])
    return path


def forge_csv(path, text, **changes):
    """Write other text, and the SHA-256 of the file that goes with it."""
    beside = path.with_name(path.name + ".manifest.json")
    path.write_text(text)
    document = json.loads(beside.read_text()) | changes
    document["digest"] = {"sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
    beside.write_text(json.dumps(document))


def test_a_csv_release_is_signed_with_its_file(csv, keys):
    """The digest of the file is part of what is signed."""
    assert set(verdicts(csv, public_key=keys[1]).values()) == {"ok"}
    forge_csv(csv, csv.read_text().replace("\n", "\r\n"))  # the same cells
    assert verdicts(csv, public_key=keys[1])["signature"] == "failure"
    assert verdicts(csv)["cells"] == "ok"


@pytest.mark.parametrize("attack", ["every answer is yes", "rows dropped and others repeated", "columns swapped"])
def test_changed_cells_of_a_csv_are_found(csv, attack):
    """By the digest of the file when it is opened; by those of the cells when that one was made to fit."""
    header, *lines = csv.read_text().splitlines()
    if attack == "every answer is yes":
        lines = [",".join("yes" if cell == "no" else cell for cell in line.split(",")) for line in lines]
    elif attack == "columns swapped":
        lines = [",".join([*(cells := line.split(","))[:3], cells[4], cells[3], cells[5]]) for line in lines]
    else:
        lines = lines[1:] + lines[5:6]
    changed = "\n".join([header, *lines]) + "\n"
    before = csv.read_text()
    csv.write_text(changed)
    with pytest.raises(ManifestError, match="SHA-256 differs"):
        Release.open(csv)
    csv.write_text(before)
    forge_csv(csv, changed, signature=None)
    assert verdicts(csv)["cells"] == "failure"


@pytest.mark.parametrize(
    "learn",
    [
        lambda r: estimate.frequencies(r, "cheated"),
        lambda r: estimate.crosstab(r, "copied", "cheated"),
        lambda r: estimate.regression("cheated ~ age", r),
        lambda r: estimate.regression("cheated ~ age", r, missing="drop"),
        lambda r: r.to_arrow(["cheated"]),
    ],
)
def test_a_blank_where_none_can_be_stops_every_estimate(unsigned, learn):
    """A column with missing = "reject" has no blanks; one that turns up is an error, never a dropped row."""
    rewrite(unsigned, hidden(pq.read_table(unsigned), "cheated", None))
    found = verdicts(unsigned)
    assert (found["reports"], found["cells"]) == ("failure", "failure")
    with pytest.raises(ReleaseError, match=r'"cheated", row 7 \(counted from 0\) is blank'):
        learn(Release.open(unsigned))


@pytest.mark.parametrize("weight", [-1.0, 0.0, float("nan"), float("inf"), None])
def test_weights_that_are_none_are_found(unsigned, weight):
    """Negative, zero, infinite or missing: the audit fails, and an estimate names the row."""
    rewrite(unsigned, hidden(pq.read_table(unsigned), "w", weight))
    assert verdicts(unsigned)["survey weights"] == "failure"
    opened = Release.open(unsigned)
    for learn in (
        lambda: estimate.frequencies(opened, "cheated", weights="w"),
        lambda: estimate.regression("cheated ~ age", opened),
    ):
        with pytest.raises(InputError, match="row 7"):
            learn()


def test_an_improbable_table_is_called_improbable(unsigned):
    """All "yes" under fitting digests: a warning with the figures, because chance is never impossible."""
    rewrite(unsigned, replaced(pq.read_table(unsigned), "cheated", ["yes"] * ROWS))
    rewrite(unsigned, pq.read_table(unsigned), recomputed(unsigned, document_of(unsigned)))
    report = audit(Release.open(unsigned))
    assert report.passed
    (plausible,) = [finding for finding in report.findings if finding.subject == "plausibility"]
    assert plausible.verdict == "warning"
    assert '100.00% report "yes" where the channel gives 73.11% at the nearest' in plausible.detail
