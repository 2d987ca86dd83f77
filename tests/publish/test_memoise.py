"""Repeated questions: the same report in every wave, what that promises, and where its key is not."""

from __future__ import annotations

import os
import warnings

import jsonschema
import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import chi2

from discreet import Plan, Randomness, Release, design, release
from discreet.audit import audit
from discreet.errors import DiscreetError, InputError, PlanError, ReleaseError
from discreet.manifest.document import json_schema
from discreet.mechanisms import (
    BinaryResponse,
    ChannelResponse,
    CyclicResponse,
    FiniteMechanism,
    GeneralizedResponse,
    PaleySet,
    SingerSet,
)
from discreet.mechanisms.memoised import memoised_reports
from discreet.publish import LedgerWarning
from discreet.randomness.memoised import MemoKey

KEY = bytes(range(32))
PURPOSE = bytes(32)
N = 400


def people(count):
    """Names as bytes."""
    return [str(i).encode() for i in range(count)]


def plan(**changed):
    """One memoised column; the person is never written."""
    block = {
        "columns": ["a"],
        "domain": {"categorical": ["x", "y", "z"]},
        "mechanism": "randomized-response",
        "epsilon": 1.0,
        "repeat": "memoise",
    }
    return {"budget": {"person": "who"}, "output": {"order": "keep"}, "private": [block | changed]}


def wave(values="xyz", order=None):
    """A table of N people."""
    order = range(N) if order is None else order
    return pa.table({"who": [f"p{i}" for i in order], "a": [values[i % len(values)] for i in order]})


def reports(table, given=None, key=KEY):
    """What is published about each person."""
    done = release(table, given or plan(), randomness=Randomness.memoised(key))
    return dict(zip(table["who"].to_pylist(), done.to_arrow()["a"].to_pylist(), strict=True))


def _fit(counts, row):
    """The p-value of Pearson's test that counts are draws from a row."""
    kept = row > 0
    expected = counts.sum() * row[kept]
    return chi2.sf(float(np.sum((counts[kept] - expected) ** 2 / expected)), kept.sum() - 1)


@pytest.mark.parametrize(
    "mechanism",
    [
        BinaryResponse.warner("3/4"),
        GeneralizedResponse(5, 1.0),
        ChannelResponse([["1/3", "2/3", "0"], ["1/7", "2/7", "4/7"]]),
        design.binary(0.5, 0.1, prevalence=0.1, reports=4).mechanism,
    ],
    ids=["dice", "generalised", "thirds", "four reports"],
)
def test_reports_have_the_law_of_the_channel(mechanism):
    """Over people the reports of a value are draws from its row; a row that is a little off would be seen."""
    n = 20_000
    for code, row in enumerate(mechanism.matrix()):
        found = memoised_reports(mechanism, np.full(n, code), people(n), MemoKey(KEY), PURPOSE)
        counts = np.bincount(found, minlength=len(row))
        assert np.all(counts[row == 0] == 0)
        assert _fit(counts, row) > 1e-9
        slightly, order = row.copy(), np.argsort(row)
        slightly[order[-1]] += 0.04
        slightly[order[-2]] -= 0.04
        assert _fit(counts, slightly) < 1e-9


def test_reports_of_different_values_and_people_are_independent():
    """Two values of a person, two purposes and two keys give unrelated reports."""
    n, coin = 20_000, BinaryResponse.warner("2/3")

    def drawn(code=0, key=KEY, purpose=PURPOSE):
        return memoised_reports(coin, np.full(n, code), people(n), MemoKey(key), purpose)

    base = drawn()
    for other in (drawn(code=1), drawn(key=bytes(32)), drawn(purpose=bytes([1] * 32))):
        assert abs(np.corrcoef(base, other)[0, 1]) < 6.2 / np.sqrt(n)
    assert np.array_equal(base, drawn())


def test_integers_are_uniform_below_any_bound():
    """Also where a bound needs more than one part of 256 bits, and no two messages are the same."""
    key = MemoKey(KEY)
    for bound in (1, 2, 3, 2**256, 3 * 2**300 + 1):
        drawn = [key.integer(PURPOSE, str(i).encode(), 0, bound) for i in range(300)]
        assert all(0 <= one < bound for one in drawn)
        if bound > 3:
            shares = np.array([one / bound for one in drawn])
            assert abs(shares.mean() - 0.5) < 6.2 / np.sqrt(12 * 300)
    assert key.integer(PURPOSE, b"1", 23, 2**64) != key.integer(PURPOSE, b"12", 3, 2**64)


def test_the_same_person_and_value_have_the_same_report_in_every_wave():
    """Whatever the order of the rows; another value, another key or another ε draws anew."""
    first = reports(wave())
    assert reports(wave(order=list(reversed(range(N))))) == first
    changed = reports(wave("yzx"))
    assert 0.15 < np.mean([changed[who] == first[who] for who in first]) < 0.7
    assert reports(wave(), key=bytes(32)) != first
    assert reports(wave(), plan(epsilon=1.1)) != first
    twice = [reports(wave("xyz")), reports(wave("xyz"))]
    assert twice[0] == twice[1]


def test_whole_numbers_and_text_name_the_same_person():
    """A CSV file in one wave and a Parquet file in the next."""
    table = wave()
    numbers = table.set_column(0, "who", pa.array(range(N)))
    texts = table.set_column(0, "who", pa.array([str(i) for i in range(N)]))
    assert list(reports(numbers).values()) == list(reports(texts).values())


def test_many_waves_tell_no_more_than_one():
    """Averaging thirty waves reads almost every answer without memory, and no more than one wave with it."""
    truth = wave()["a"].to_pylist()
    fresh = plan()
    del fresh["private"][0]["repeat"]
    votes = {name: [dict.fromkeys("xyz", 0) for _ in range(N)] for name in ("fresh", "memoised")}
    for _ in range(30):
        for name, source in (("fresh", None), ("memoised", Randomness.memoised(KEY))):
            done = release(wave(), fresh if source is None else plan(), randomness=source).to_arrow()["a"].to_pylist()
            for person, report in enumerate(done):
                votes[name][person][report] += 1
    read = {name: np.mean([max(v, key=v.get) == t for v, t in zip(votes[name], truth, strict=True)]) for name in votes}
    assert read["fresh"] > 0.9
    assert read["memoised"] == np.mean([a == b for a, b in zip(reports(wave()).values(), truth, strict=True)])


def test_columns_randomised_together_and_blanks_are_memoised():
    """A joint block has one report per record; a blank that is public stays."""
    joint = {
        "columns": ["a", "b"],
        "domains": [{"categorical": ["x", "y", "z"]}, {"binary": ["no", "yes"]}],
        "mechanism": "joint",
        "epsilons": [1.0, 1.0],
        "repeat": "memoise",
    }
    table = wave().append_column("b", pa.array(["no", "yes"] * (N // 2)))
    given = {"budget": {"person": "who"}, "output": {"order": "keep"}, "private": [joint]}
    once, again = (release(table, given, randomness=Randomness.memoised(KEY)).to_arrow() for _ in range(2))
    assert once.equals(again)
    assert set(zip(*once.to_pydict().values(), strict=True)) == {(a, b) for a in "xyz" for b in ("no", "yes")}
    blank = table.set_column(1, "a", pa.array([None if i % 4 == 0 else "x" for i in range(N)]))
    done = release(blank, plan(missing="public"), randomness=Randomness.memoised(KEY)).to_arrow()["a"]
    assert done.null_count == N // 4


def test_the_promise_says_what_it_does_not_cover(tmp_path):
    """In the guarantee, in the manifest, and after reading it back; the audit passes."""
    done = release(wave(), plan(), tmp_path / "out.parquet", Randomness.memoised(KEY), ledger=None)
    assert done.guarantee.epsilon == pytest.approx(1.0)
    assert any("when an answer" in caveat for caveat in done.guarantee.caveats)
    assert any("computational" in caveat for caveat in done.guarantee.caveats)
    data = done.manifest.to_dict()
    assert data["blocks"][0]["repeat"] == "memoise"
    assert "HMAC-SHA256" in data["randomness"]["source"]
    jsonschema.validate(data, json_schema())
    back = Release.open(tmp_path / "out.parquet")
    assert back.manifest == done.manifest
    assert back.manifest.blocks[0].memoised
    assert audit(back).passed
    assert "who" not in back.columns


def test_the_key_is_nowhere_but_in_its_file(tmp_path):
    """Neither release nor manifest nor ledger holds it; the file is for its owner only, and made only when asked."""
    path, source = tmp_path / "memo.key", tmp_path / "in.parquet"
    with pytest.raises(InputError, match="there is no key"):
        Randomness.memoised(path)
    key = Randomness.memoised(path, create=True)
    assert path.stat().st_mode & 0o777 == 0o600
    secret = path.read_text().strip()
    assert Randomness.memoised(path, create=True).memo.id == key.memo.id
    pa.parquet.write_table(wave(), source)
    release(source, plan(), tmp_path / "out.csv", key, ledger=tmp_path / "ledger.sqlite")
    for file in tmp_path.iterdir():
        content = file.read_bytes()
        assert file == path or (secret.encode() not in content and bytes.fromhex(secret) not in content), file.name
    assert secret not in repr(key) + repr(key.memo)
    if os.name == "posix":
        path.chmod(0o644)
        with pytest.raises(InputError, match="can be read by others"):
            Randomness.memoised(path)


def test_the_ledger_knows_waves(tmp_path):
    """Wave by wave under one key: the memoised part counts once; other blocks count every time."""
    book = tmp_path / "ledger.sqlite"

    def run(name, key=KEY, given=None):
        pa.parquet.write_table(wave(), tmp_path / name)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            release(
                tmp_path / name, given or plan(), tmp_path / "out.parquet", Randomness.memoised(key), True, ledger=book
            )
        return [str(one.message) for one in caught if issubclass(one.category, LedgerWarning)]

    assert run("one.parquet") == []
    (second,) = run("two.parquet")
    assert "this is wave 2 under this key" in second
    assert "ε = 1, δ = 0 per person" in second
    third = run("two.parquet")
    assert "this is wave 3" in third[0]
    assert "together with this release ε = 1, δ = 0 per person is spent" in third[1]
    (other,) = run("two.parquet", key=bytes(32))
    assert "together with this release ε = 3" in other


SMALL = [
    GeneralizedResponse.from_weights(5, 7, 2),
    GeneralizedResponse.from_weights(2, 3, 1),
    CyclicResponse.from_weights(13, 9, 4, SingerSet(3, 1, 2)),
    CyclicResponse.from_weights(9, 5, 1, SingerSet(3, 1, 2)),
    CyclicResponse.from_weights(11, 3, 2, PaleySet(11)),
]


@pytest.mark.parametrize("mechanism", SMALL, ids=repr)
def test_closed_forms_report_as_their_rows_do(mechanism):
    """Under every truth and at every place: the report of the summed row."""
    for code in range(mechanism.shape[0]):
        expected = [FiniteMechanism.report_at(mechanism, code, place) for place in range(mechanism.denominator)]
        assert [mechanism.report_at(code, place) for place in range(mechanism.denominator)] == expected
        assert [expected.count(y) for y in range(mechanism.shape[1])] == list(mechanism.weights()[code])


@pytest.mark.parametrize("mechanism", ["randomized-response", "frequencies"])
def test_large_domains_are_memoised(mechanism):
    """A hundred thousand values: the same reports again, other ones for other values, and near the exact law."""
    many = plan(domain={"categorical": {"from": 0, "to": 99_999}}, mechanism=mechanism, epsilon=12.0)
    table = pa.table({"who": [f"p{i}" for i in range(2_000)], "a": [(7 * i) % 100_000 for i in range(2_000)]})
    first, again = reports(table, many), reports(table, many)
    assert first == again
    moved = table.set_column(1, "a", pa.array([(7 * i + 1) % 100_000 for i in range(2_000)]))
    assert sum(a == b for a, b in zip(first.values(), reports(moved, many).values(), strict=True)) < 300
    if mechanism == "randomized-response":
        channel = GeneralizedResponse(100_000, 12.0)
        kept = np.mean([report == (7 * i) % 100_000 for i, report in enumerate(first.values())])
        expected = channel.keep / channel.denominator
        assert abs(kept - expected) < 6.5 * np.sqrt(expected * (1 - expected) / 2_000)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"budget": {}}, "needs budget.person"),
        ({"budget": {"person": "who", "rows_per_person": 2}}, "with one row per person"),
        (
            {
                "private": [
                    plan()["private"][0]
                    | {
                        "domain": {"grid": {"low": 0, "high": 5000, "points": 5001}},
                        "mechanism": "bipartite",
                        "high": 9,
                    }
                ]
            },
            "limited to 1,024",
        ),
        ({"private": [plan()["private"][0] | {"repeat": "always"}]}, "repeat must be one of"),
        (
            {
                "private": [
                    {
                        "columns": ["a"],
                        "domain": {"box": {"low": 0, "high": 1}},
                        "mechanism": "zero-inflated-laplace",
                        "epsilon": 1.0,
                        "delta": 0.1,
                        "repeat": "memoise",
                    }
                ]
            },
            "repeat",
        ),
    ],
)
def test_plans_that_cannot_be_memoised_are_refused(changed, words):
    """With the key path and what to do."""
    with pytest.raises(PlanError, match=words):
        Plan.from_dict(plan() | changed)


def test_a_key_and_a_plan_go_together():
    """Neither alone, and a memoised source is never taken for fresh chance."""
    with pytest.raises(ReleaseError, match="which needs its key"):
        release(wave(), plan())
    without = plan()
    del without["private"][0]["repeat"]
    with pytest.raises(ReleaseError, match="no block of the plan"):
        release(wave(), without, randomness=Randomness.memoised(KEY))
    with pytest.raises(InputError, match="need to know the person"):
        BinaryResponse.warner("3/4").privatize([0, 1], Randomness.memoised(KEY))
    for wrong in (b"short", 7, "no/such/file"):
        with pytest.raises(DiscreetError):
            Randomness.memoised(wrong)


def test_what_was_not_memoised_is_never_published_as_it_is():
    """A run that forgets to memoise is refused instead of passing the truth on."""
    from discreet.publish.layout import Layout

    layout = Layout(Plan.from_dict(plan()), wave().schema)
    batch = layout.encode(wave().to_batches()[0], 0)
    with pytest.raises(ReleaseError, match="needs its key"):
        layout.randomize(batch, Randomness())
