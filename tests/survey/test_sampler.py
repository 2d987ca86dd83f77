"""The same bytes give the same report in Python and in a real browser, for every kind of mechanism."""

from __future__ import annotations

import random
from collections import Counter
from itertools import product

import pytest

from discreet import PlanError, design
from discreet.mechanisms import BinaryResponse, BipartiteResponse, ChannelResponse, GeneralizedResponse
from discreet.publish import Plan
from discreet.survey.sampling import coin, drawn_channels, page_channel, report
from tests.mechanisms.catalogue import FINITE, RECORDS
from tests.publish.conftest import block_of, plan_of

JOINT = ("joint product", "joint programme", "joint exact", "joint free", "joint tiny levels", "joint huge levels")
MECHANISMS = {
    **{name: mechanism for name, (mechanism, _, _) in FINITE.items() if max(mechanism.shape) <= 512},
    **{name: RECORDS[name][0].view(*range(len(RECORDS[name][0].sizes))) for name in JOINT},
    "bipartite with neighbours": BipartiteResponse.from_weights(4, 2, 7, 3, [[0, 1], [1, 3], [0, 2], [2, 3]]),
    "one side": ChannelResponse([[1, 0], [0, 1]]),
}
DRAWS = 24


class Tape:
    """Bytes from a tape, of which the page gets the same."""

    def __init__(self, seed):
        self.tape = random.Random(seed).randbytes(200_000)
        self.read = 0

    def __call__(self, count):
        self.read += count
        return self.tape[self.read - count : self.read]


def test_the_browser_reads_the_same_bytes_into_the_same_reports(sampler):
    """Vectors for every kind: truths in turn, coins from one tape, and both sides must have read equally far."""
    vectors, expected = [], []
    for name, mechanism in MECHANISMS.items():
        tape = Tape(name)
        truths = [i * 7 % mechanism.shape[0] for i in range(DRAWS)]
        found = [report(mechanism, truth, coin(mechanism.denominator, tape)) for truth in truths]
        vectors.append(
            {"mechanism": page_channel(mechanism), "truths": truths, "tape": list(tape.tape[: tape.read + 64])}
        )
        expected.append({"denominator": str(mechanism.denominator), "reports": found, "read": tape.read})
    found = sampler.evaluate(
        """(vectors) => vectors.map(({ mechanism, truths, tape }) => {
            let read = 0;
            const bytes = (count) => tape.slice(read, (read += count));
            const sides = sampler.denominator(mechanism);
            const reports = truths.map((truth) => sampler.report(mechanism, truth, sampler.coin(sides, bytes)));
            return { denominator: sides.toString(), reports, read };
        })""",
        vectors,
    )
    assert dict(zip(MECHANISMS, found, strict=True)) == dict(zip(MECHANISMS, expected, strict=True))
    kinds = {vector["mechanism"]["kind"] for vector in vectors}
    assert kinds == {"binary", "channel", "generalized", "bipartite", "exponential", "cyclic", "unbiased", "cells"}


def test_every_coin_of_a_small_channel_gives_exactly_its_weights(sampler):
    """Summed over all coins, report y comes up weight[x][y] times: in the browser, and in Python."""
    channels = {
        "binary": BinaryResponse.forced("1/6", "1/4"),
        "generalized": GeneralizedResponse.from_weights(5, 9, 2),
        "bipartite": BipartiteResponse.from_weights(7, 3, 5, 2),
        "matrix": ChannelResponse([["1/2", "0", "1/3", "1/6"], ["1/6", "1/2", "0", "1/3"]]),
    }
    for mechanism in channels.values():
        truths, reports = mechanism.shape
        counted = sampler.evaluate(
            """([mechanism, truths, sides]) => Array.from({ length: truths }, (_, truth) =>
                Array.from({ length: sides }, (_, toss) => sampler.report(mechanism, truth, BigInt(toss))))""",
            [page_channel(mechanism), truths, mechanism.denominator],
        )
        for truth, row in enumerate(counted):
            assert [Counter(row)[code] for code in range(reports)] == list(mechanism.weights()[truth])
            assert row == [report(mechanism, truth, toss) for toss in range(mechanism.denominator)]


@pytest.mark.parametrize("size", [1, 2, 3, 6, 255, 256, 257, 1000])
def test_a_coin_is_uniform(size):
    """Of all words of the bits that are read, every side has equally many and the rest are drawn again."""
    bits = (size - 1).bit_length()
    words = product(range(256), repeat=-(-bits // 8))
    seen = Counter()
    for word in words:
        stream = iter([bytes(word)])
        try:
            seen[coin(size, lambda _, stream=stream: next(stream))] += 1
        except (StopIteration, RuntimeError):
            seen["again"] += 1
    sides = [seen[side] for side in range(size)]
    assert len(set(sides)) == 1
    assert sides[0] > 0


def test_a_slightly_wrong_sampler_would_be_noticed(sampler):
    """Rounding the coin as a float, as careless pages do, changes reports of a channel with a large denominator."""
    mechanism = design.binary(1.0).mechanism
    wrong = sampler.evaluate(
        """([mechanism, tosses]) => tosses.map((toss) => {
            const share = Number(mechanism.rows[0][0]) / Number(sampler.denominator(mechanism));
            return Number(toss) / Number(sampler.denominator(mechanism)) < share ? 0 : 1;
        })""",
        [page_channel(mechanism), [str(mechanism.weights()[0][0] - 1), str(mechanism.weights()[0][0])]],
    )
    right = [report(mechanism, 0, toss) for toss in (mechanism.weights()[0][0] - 1, mechanism.weights()[0][0])]
    assert right == [0, 1]
    assert wrong != right


@pytest.mark.parametrize(
    ("block", "message"),
    [
        (
            {"domain": {"box": {"low": [0], "high": [1]}}, "mechanism": "zero-inflated-laplace", "delta": 0.1},
            "cannot be drawn exactly",
        ),
        ({"domain": {"categorical": {"from": 0, "to": 9999}}}, "too many for a page"),
        ({"domain": {"grid": {"low": 0, "high": 1, "points": 200}}, "mechanism": "exponential"}, "closed form"),
    ],
)
def test_what_a_page_cannot_draw_exactly_is_refused_in_a_sentence(block, message):
    """Numeric vectors, domains that no page holds, and matrices that would make it heavy."""
    plan = Plan.from_dict(plan_of(block_of(**block)))
    with pytest.raises(PlanError, match=message):
        drawn_channels(plan.blocks[0])


def test_large_mixtures_are_refused_in_a_sentence():
    """Too many combinations, and laws whose cells are not exact."""
    many = {"columns": list("abcdefghijkl"), "mechanism": "joint"}
    many |= {"domains": [{"binary": ["no", "yes"]}] * 12, "epsilons": [1.0] * 12}
    with pytest.raises(PlanError, match="4,096 combinations"):
        drawn_channels(Plan.from_dict(plan_of(many)).blocks[0])
