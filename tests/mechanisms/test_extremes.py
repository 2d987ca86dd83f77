"""Every class of mechanism at the ends of what can be asked: right, or refused in one sentence, and soon."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from discreet import Box, DiscreetError, Grid, Randomness, design, mechanisms
from discreet.mechanisms import (
    BipartiteResponse,
    ChannelResponse,
    CyclicResponse,
    ExponentialResponse,
    GeneralizedResponse,
    RecordMechanism,
    ZeroInflatedLaplace,
)


def _channel(size, epsilon):
    """Two reports, the first of them for the first truth."""
    ratio = math.floor(math.exp(epsilon) * 2**60)
    return ChannelResponse([[ratio, 2**60]] + [[2**60, ratio]] * (min(size, 5_000) - 1))  # refused from 4,097 on


def _exponential(size, epsilon):
    places = np.arange(min(size, 2_049))  # refused from there on
    return ExponentialResponse(np.abs(places[:, None] - places[None, :]), epsilon)


def _box(size):
    return Box(np.zeros(size), np.ones(size))


#: One maker per kind that a manifest can name, of a size and a level.
MAKERS = {
    "binary": lambda size, epsilon: design.binary(epsilon).mechanism,
    "generalized": GeneralizedResponse,
    "channel": _channel,
    "bipartite": lambda size, epsilon: BipartiteResponse(size, max(1, size // 3), epsilon),
    "exponential": _exponential,
    "cyclic": CyclicResponse,
    "unbiased": lambda size, epsilon: design.mean(Grid(0, 1, size), epsilon).mechanism,
    "one-number": lambda size, epsilon: (
        design.means([Grid(0, 1, size), Grid(0, 1, 2)], epsilon, method="one").mechanism
    ),
    "joint": lambda size, epsilon: design.attributes([size, 2], [epsilon, epsilon]).mechanism,
    "zero-inflated-laplace": lambda size, epsilon: ZeroInflatedLaplace(_box(size), 2.0, 0.05, epsilon),
}
#: What is too much for a kind: everything else must be right.
REFUSED = {
    *(("unbiased", size, epsilon) for size in (2, 10**6) for epsilon in (1e-6, 50.0)),
    *(("one-number", size, epsilon) for size in (2, 10**6) for epsilon in (1e-6, 50.0)),
    *(
        (kind, 10**6, epsilon)
        for kind in ("channel", "exponential", "zero-inflated-laplace")
        for epsilon in (1e-6, 50.0)
    ),
}


def test_no_class_is_left_out():
    """Whoever adds a kind adds its maker."""
    assert set(MAKERS) == set(mechanisms.KINDS)


@pytest.mark.parametrize("epsilon", [1e-6, 50.0])
@pytest.mark.parametrize("size", [2, 10**6])
@pytest.mark.parametrize("kind", MAKERS)
def test_right_or_one_clear_sentence(kind, size, epsilon):
    """The level is met, the manifest reads back, and nobody, one person and a thousand are served."""
    try:
        mechanism = MAKERS[kind](size, epsilon)
    except DiscreetError as refused:
        assert (kind, size, epsilon) in REFUSED
        sentence = str(refused)
        assert 30 < len(sentence) < 250
        assert "\n" not in sentence
        return
    assert (kind, size, epsilon) not in REFUSED
    _check_level(mechanism, kind, epsilon)
    if size == 2 or kind in ("generalized", "bipartite"):
        again = mechanisms.from_dict(json.loads(json.dumps(mechanism.to_dict())))
        assert again == mechanism
        assert again.guarantee == mechanism.guarantee
    for n in (0, 1, 1_000):
        shape = (n, mechanism.dimension) if isinstance(mechanism, RecordMechanism) else (n,)
        truths = np.zeros(shape) if kind == "zero-inflated-laplace" else np.zeros(shape, np.int64)
        for source in (None, Randomness.seeded(1)):
            reports = mechanism.privatize(truths, source)
            assert reports.shape == shape
            assert np.isfinite(reports).all()
            if not isinstance(mechanism, RecordMechanism) and n:
                assert reports.max() < mechanism.shape[1]


def _check_level(mechanism, kind, epsilon):
    found = mechanism.guarantee
    if kind == "joint":
        levels = mechanism.marginal_epsilons
        assert all(epsilon * (1 - 1e-6) <= level <= epsilon * (1 + 1e-12) for level in levels)
        assert found.epsilon >= epsilon * (1 - 1e-6)
    elif kind == "zero-inflated-laplace":
        assert found.epsilon == epsilon
        assert 0.05 <= found.delta < 1
    else:
        assert epsilon * (1 - 2e-9) <= found.epsilon <= epsilon
        assert found.delta == 0
