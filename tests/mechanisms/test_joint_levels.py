"""Levels of columns, pairs and records of joint responses, against channels that are written out in fractions."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from discreet import mechanisms
from discreet.mechanisms import JointResponse
from discreet.mechanisms.joint import GroupedLaw, ProductLaw, StarLaw, ThresholdLaw
from discreet.mechanisms.joint.response import POST_DENOMINATOR
from discreet.mechanisms.joint.threshold import DENOMINATOR, Threshold
from discreet.privacy.bounds import log_bounds


def uniform(sizes, bits):
    """The chance of a pattern under the uniformly random answer."""
    return math.prod((Fraction(1 if b else a - 1, a) for a, b in zip(sizes, bits, strict=True)), start=Fraction(1))


def pattern_law(law):
    """P(pattern of truthful attributes) by the definition of each law."""
    sizes = law.sizes
    chances = {}
    for bits in product((0, 1), repeat=len(sizes)):
        u = uniform(sizes, bits)
        if isinstance(law, ProductLaw):
            odds = zip(sizes, law.keep, law.other, bits, strict=True)
            weight = math.prod((k if b else (a - 1) * o) for a, k, o, b in odds)
        elif isinstance(law, StarLaw):
            wrong = [i for i, b in enumerate(bits) if not b]
            weight = law.uniform * u + (law.truth if not wrong else law.single[wrong[0]] if len(wrong) == 1 else 0)
        elif isinstance(law, GroupedLaw):
            counts = tuple(sum(bits[i] for i in group) for group in law.members)
            weight = u * law.levels[law.cells[int(np.ravel_multi_index(counts, law.shape))]]
        else:
            weight = law.uniform_share * u
            for one in law.components:
                inside = {
                    b: uniform(sizes, b)
                    for b in product((0, 1), repeat=len(sizes))
                    if sum(v * x for v, x in zip(one.weights, b, strict=True)) >= one.threshold
                }
                weight += Fraction(one.share, DENOMINATOR) * inside.get(bits, 0) / sum(inside.values())
        chances[bits] = Fraction(weight)
    total = sum(chances.values())
    return {bits: chance / total for bits, chance in chances.items()}


def channel(joint):
    """P(report | truth) of whole records, post-channels included."""
    law, sizes = pattern_law(joint.law), joint.sizes
    cells = list(product(*map(range, sizes)))
    raw = {}
    for x, y in product(cells, cells):
        bits = tuple(int(a == b) for a, b in zip(x, y, strict=True))
        raw[x, y] = law[bits] / math.prod(a - 1 for a, b in zip(sizes, bits, strict=True) if not b)
    for i, (kept, size) in enumerate(zip(joint.post, sizes, strict=True)):
        share = Fraction(kept, POST_DENOMINATOR)
        if share < 1:
            raw = {
                (x, y): share * raw[x, y]
                + (1 - share) / size * sum(raw[x, (*y[:i], v, *y[i + 1 :])] for v in range(size))
                for x, y in raw
            }
    return cells, raw


def largest_ratio(cells, raw, chosen):
    """The largest ratio of the chances of what is seen in some columns, over all whole truths."""
    seen = list(dict.fromkeys(tuple(y[i] for i in chosen) for y in cells))
    table = {(x, s): sum(raw[x, y] for y in cells if tuple(y[i] for i in chosen) == s) for x, s in product(cells, seen)}
    # Other columns of the truth must not matter for the law of these.
    own = {(tuple(x[i] for i in chosen), s): p for (x, s), p in table.items()}
    assert all(own[tuple(x[i] for i in chosen), s] == p for (x, s), p in table.items())
    return max(max(own[a, s] for a in seen) / min(own[a, s] for a in seen) for s in seen)


def random_joint(seed):
    """A law of any kind with small integers, many of which favour reports that are not the truth."""
    rng = np.random.default_rng(seed)
    sizes = tuple(int(a) for a in rng.integers(2, 4, int(rng.integers(1, 4))))
    k, whole = len(sizes), lambda low, high: int(rng.integers(low, high))
    kind = seed % 4
    if kind == 0:
        law = StarLaw(sizes, whole(1, 5), whole(0, 6), tuple(whole(0, 30) for _ in sizes))
    elif kind == 1:
        groups = tuple(range(k))
        law = GroupedLaw(sizes, groups, tuple(range(1, 10)), tuple(whole(0, 9) for _ in range(2**k)))
    elif kind == 2:
        other = [whole(1, 5) for _ in sizes]
        law = ProductLaw(sizes, tuple(o + whole(1, 9) for o in other), tuple(other))
    else:
        components = []
        for _ in range(whole(1, 3)):
            weights = (*(whole(0, 5) for _ in range(k - 1)), whole(1, 5))
            components.append(Threshold(whole(1, DENOMINATOR // 3), weights, whole(1, sum(weights) + 1)))
        law = ThresholdLaw(sizes, tuple(components))
    post = [whole(1, 2**62) << 2 if rng.random() < 0.5 else POST_DENOMINATOR for _ in sizes]
    return JointResponse(law, post if seed % 3 else None)


def test_a_column_that_is_mostly_untrue_has_a_level():
    """Nine of ten reports differ from the truth in the first attribute: the odds are 19 to 1, as brute force finds."""
    joint = JointResponse(StarLaw((2, 2), 1, 0, (9, 0)))
    assert joint.marginal_epsilons[0] == pytest.approx(math.log(19), abs=1e-12)
    again = JointResponse.from_dict(json.loads(json.dumps(joint.to_dict())))
    assert again.marginal_epsilons[0] == joint.view(0).guarantee.epsilon == joint.view(0).certificate.epsilon
    assert joint.marginal_epsilons[0] >= Fraction(log_bounds(Fraction(19))[0])


@pytest.mark.parametrize("seed", range(48))
def test_levels_are_those_of_the_written_out_channel(seed):
    """Records, columns and pairs of every law: never below the exact level, and hardly above."""
    joint = random_joint(seed)
    again = mechanisms.from_dict(json.loads(json.dumps(joint.to_dict())))
    cells, raw = channel(joint)
    everything = tuple(range(joint.dimension))
    sets = [(i,) for i in everything] + ([(0, joint.dimension - 1)] if joint.dimension > 1 else [])
    for chosen in sets:
        low, high = log_bounds(largest_ratio(cells, raw, chosen))
        for one in (joint, again):
            view = one.view(*chosen)
            assert view.certificate.epsilon == view.guarantee.epsilon <= joint.guarantee.epsilon
            assert float(low) - 1e-15 <= view.guarantee.epsilon <= float(high) + 1e-9
            assert Fraction(view.guarantee.epsilon) >= low - Fraction(1, 10**60)
            if len(chosen) == 1:
                assert one.marginal_epsilons[chosen[0]] >= view.guarantee.epsilon
    assert Fraction(joint.guarantee.epsilon) >= log_bounds(largest_ratio(cells, raw, everything))[0]


@pytest.mark.parametrize("seed", [3, 7, 11, 15, 27])
def test_a_certificate_of_a_view_covers_the_error_of_its_probabilities(seed):
    """δ(ε) and f(α) of a threshold view are on the safe side of the written-out channel."""
    joint = random_joint(seed)
    chosen = (0, joint.dimension - 1) if joint.dimension > 1 else (0,)
    cells, raw = channel(joint)
    truths = list(dict.fromkeys(tuple(x[i] for i in chosen) for x in cells))
    pick = {t: next(x for x in cells if tuple(x[i] for i in chosen) == t) for t in truths}
    rows = [[sum(raw[pick[t], y] for y in cells if tuple(y[i] for i in chosen) == s) for s in truths] for t in truths]
    certificate, exact = joint.view(*chosen).certificate, mechanisms.ChannelResponse(rows).certificate
    for epsilon in (0.0, 0.1, 0.5 * exact.epsilon):
        assert exact.delta(epsilon) <= certificate.delta(epsilon) <= exact.delta(epsilon) + 1e-9
    for alpha in (0.0, 0.05, 0.4, 0.9, 1.0):
        assert exact.trade_off(alpha) - 1e-9 <= certificate.trade_off(alpha) <= exact.trade_off(alpha)
