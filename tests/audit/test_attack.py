"""The attack accepts every correct mechanism and catches deliberately broken ones."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass

import numpy as np
import pytest

from discreet import InputError, Randomness, design
from discreet.audit.attack import attack, epsilon_bound
from discreet.mechanisms import BinaryResponse, GeneralizedResponse
from tests.mechanisms.catalogue import FINITE


@dataclass
class Broken:
    """A mechanism that promises one thing and does another."""

    honest: object
    rule: object

    @property
    def guarantee(self):
        return self.honest.guarantee

    @property
    def shape(self):
        return self.honest.shape

    def matrix(self):
        return self.honest.matrix()

    def privatize(self, x, randomness=None):
        return self.rule(np.asarray(x), randomness)


@pytest.mark.parametrize("name", list(FINITE))
def test_correct_mechanisms_pass(name):
    """Nobody is accused wrongly."""
    result = attack(FINITE[name][0], samples=20_000, randomness=Randomness.seeded(1))
    assert result.passed, result.summary()
    assert result.epsilon_lower <= FINITE[name][0].guarantee.epsilon


def test_the_bound_is_sharp_on_a_correct_mechanism():
    """With many samples the lower bound comes close to the true ε."""
    result = attack(design.binary(1.0).mechanism, samples=1_000_000, randomness=Randomness.seeded(2))
    assert 0.97 < result.epsilon_lower <= 1.0


HONEST = design.binary(1.0).mechanism
FOUR = GeneralizedResponse(4, 1.0)
BROKEN = {
    "keeps the truth a little too often": Broken(HONEST, lambda x, r: BinaryResponse(0.75, 0.75).privatize(x, r)),
    "wrong level": Broken(HONEST, design.binary(1.3).mechanism.privatize),
    "does not randomise one value": Broken(FOUR, lambda x, r: np.where(x == 2, x, FOUR.privatize(x, r))),
    "does not randomise at all": Broken(FOUR, lambda x, r: x),
    "more private than stated": Broken(HONEST, design.binary(0.9).mechanism.privatize),
    "forgets the last value": Broken(FOUR, lambda x, r: FOUR.privatize(x, r) % 3),
    "a fresh seed at every call": Broken(HONEST, lambda x, r: HONEST.privatize(x, Randomness.seeded(7))),
    "noise drawn once and reused": Broken(
        HONEST, lambda x, r: np.resize(HONEST.privatize(np.zeros(100, int), Randomness.seeded(7)), x.size) ^ x
    ),
    "an extra report": Broken(HONEST, lambda x, r: np.where(np.arange(x.size) == 3, 2, HONEST.privatize(x, r))),
}


@pytest.mark.parametrize("name", list(BROKEN))
def test_broken_mechanisms_are_caught(name):
    """Each deliberately wrong implementation is found out."""
    result = attack(BROKEN[name], samples=200_000, randomness=Randomness.seeded(3))
    assert not result.passed
    assert "FOUND" in result.summary()
    json.dumps(result.to_dict())


def test_less_private_mechanisms_are_caught_by_the_distinguisher_alone():
    """Without knowing the channel, only from reports, ε is shown to be above the promise."""
    wrong = Broken(HONEST, design.binary(1.3).mechanism.privatize)
    result = attack(wrong, samples=200_000, randomness=Randomness.seeded(4))
    assert result.epsilon_lower > 1.2
    assert any("told apart" in finding for finding in result.findings)


def test_an_approximate_promise_is_attacked_at_its_delta():
    """A four-report channel that flags twice as often as promised is caught although ε is stated with δ."""
    honest = design.binary(0.5, 0.1, reports=4).mechanism
    wrong = Broken(honest, design.binary(0.5, 0.2, reports=4).mechanism.privatize)
    assert attack(honest, randomness=Randomness.seeded(5)).passed
    result = attack(wrong, randomness=Randomness.seeded(5))
    assert result.epsilon_lower > 0.5


def test_large_domains_are_attacked_at_a_few_values():
    """A million values: eight of them are attacked."""
    assert attack(GeneralizedResponse(10**6, 12.0), samples=2_000, randomness=Randomness.seeded(6)).passed


def test_the_bound_never_exceeds_the_truth_too_often():
    """Over many small attacks the bound at error 1 % exceeds the true log ratio at most about 1 % of the time."""
    rng = np.random.default_rng(9)
    p, q, n, runs = 0.6, 0.3, 300, 20_000
    hits, misses = rng.binomial(n, p, runs), rng.binomial(n, q, runs)
    over = sum(
        epsilon_bound(int(a), n, int(b), n, 0.0, 0.005) > math.log(p / q)
        for a, b in zip(hits[:4000], misses[:4000], strict=True)
    )
    assert over / 4000 < 0.02


@pytest.mark.parametrize("call", [{"samples": 10}, {"truths": [0]}, {"truths": [0, 9]}])
def test_impossible_attacks_are_refused(call):
    """One clear sentence."""
    with pytest.raises(InputError):
        attack(HONEST, **call)
