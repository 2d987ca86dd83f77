"""JointResponse: exact laws, certified levels, exact draws, manifest round trip."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chi2

from discreet import mechanisms
from discreet.errors import DomainError, ManifestError, MechanismError
from discreet.mechanisms import JointResponse
from discreet.mechanisms.joint import GroupedLaw, ProductLaw, StarLaw, Threshold, ThresholdLaw
from discreet.mechanisms.joint.weighted_sum import WeightedSum
from discreet.randomness import Randomness

SIZES = (2, 3, 4, 3, 2)
LAWS = {
    "product": ProductLaw(SIZES, (3, 5, 7, 2, 9), (1, 2, 3, 1, 4)),
    "grouped": GroupedLaw((2, 3, 3, 2), (0, 1, 1, 0), (5, 9, 30), (0, 0, 0, 1, 0, 2, 1, 2, 2)),
    "star": StarLaw(SIZES, 20, 7, (1, 2, 3, 0, 1)),
    "threshold": ThresholdLaw(SIZES, (Threshold(1 << 62, (3, 5, 7, 4, 2), 13), Threshold(1 << 60, (0, 1, 1, 2, 1), 3))),
}


def densities(law) -> dict[tuple[int, ...], Fraction]:
    """P(pattern), by adding up every answer, from the definition of each law."""
    patterns = list(itertools.product((0, 1), repeat=len(law.sizes)))
    uniform = {
        b: math.prod(Fraction(1 if x else a - 1, a) for a, x in zip(law.sizes, b, strict=True)) for b in patterns
    }
    if isinstance(law, ProductLaw):
        rates = [Fraction(k, k + (a - 1) * o) for a, k, o in zip(law.sizes, law.keep, law.other, strict=True)]
        return {b: math.prod(r if x else 1 - r for r, x in zip(rates, b, strict=True)) for b in patterns}
    if isinstance(law, GroupedLaw):
        shape = law.shape
        mass = {}
        for b in patterns:
            counts = tuple(sum(b[i] for i in group) for group in law.members)
            mass[b] = uniform[b] * law.levels[law.cells[np.ravel_multi_index(counts, shape)]]
        total = sum(mass.values())
        return {b: m / total for b, m in mass.items()}
    if isinstance(law, StarLaw):
        total = law.uniform + law.truth + sum(law.single)
        out = {b: Fraction(law.uniform, total) * chance for b, chance in uniform.items()}
        out[(1,) * len(law.sizes)] += Fraction(law.truth, total)
        for i, weight in enumerate(law.single):
            out[tuple(int(j != i) for j in range(len(law.sizes)))] += Fraction(weight, total)
        return out
    out = {b: law.uniform_share * chance for b, chance in uniform.items()}
    for one in law.components:
        inside = [b for b in patterns if sum(v * x for v, x in zip(one.weights, b, strict=True)) >= one.threshold]
        total = sum(uniform[b] for b in inside)
        for b in inside:
            out[b] += Fraction(one.share, 1 << 64) * uniform[b] / total
    return out


@pytest.mark.parametrize("name", LAWS)
def test_truth_and_pair_rates_match_enumeration(name):
    """Rates of one, two and three attributes equal those of the written-out law."""
    law = LAWS[name]
    whole = densities(law)
    assert sum(whole.values()) == 1
    rates = law.truth_rates()
    for i, (rate, error) in enumerate(zip(rates.rates, rates.error, strict=True)):
        exact = sum(p for b, p in whole.items() if b[i])
        assert abs(rate - exact) <= error
        assert float(error) < 1e-10
    pairs = law.pair_rates(range(len(law.sizes)))
    for i, j in itertools.product(range(len(law.sizes)), repeat=2):
        assert pairs[i, j] == pytest.approx(float(sum(p for b, p in whole.items() if b[i] and b[j])), abs=1e-12)
    chosen = (3, 0, 2)
    for pattern, chance in enumerate(law.subset(chosen)):
        bits = tuple((pattern >> (2 - m)) & 1 for m in range(3))
        exact = sum(p for b, p in whole.items() if tuple(b[i] for i in chosen) == bits)
        assert float(chance) == pytest.approx(float(exact), abs=1e-13)


@pytest.mark.parametrize("name", LAWS)
def test_record_level_bounds_every_ratio(name):
    """The stated record level is never below the ratio of the extreme densities."""
    law = LAWS[name]
    each = [
        p / math.prod(1 if x else a - 1 for a, x in zip(law.sizes, b, strict=True)) for b, p in densities(law).items()
    ]
    exact = max(each) / min(each)
    stated = JointResponse(law).guarantee
    assert stated.unit == "record"
    assert math.exp(stated.epsilon) >= float(exact) * (1 - 1e-12)
    # Tight, but for a mixture of several thresholds, whose peaks are added up.
    assert stated.epsilon == pytest.approx(math.log(exact), abs=1e-9 if name != "threshold" else 0.5)


@pytest.mark.parametrize("name", LAWS)
def test_draws_follow_the_law(name):
    """Patterns are drawn with their probabilities; a law that is slightly off is rejected."""
    law = LAWS[name]
    count = 400_000
    drawn = law.draw(count, Randomness.seeded(5))
    codes = drawn @ (1 << np.arange(len(law.sizes))[::-1])
    observed = np.bincount(codes, minlength=1 << len(law.sizes))
    expected = np.array([float(p) for p in densities(law).values()]) * count
    statistic = float(((observed - expected) ** 2 / expected).sum())
    assert chi2.sf(statistic, expected.size - 1) > 1e-9
    # Reversed: ten per cent of the likeliest pattern's mass moved elsewhere.
    wrong = expected.copy()
    wrong[wrong.argmax()] *= 0.9
    wrong *= count / wrong.sum()
    assert chi2.sf(float(((observed - wrong) ** 2 / wrong).sum()), expected.size - 1) < 1e-9


@pytest.mark.parametrize("name", LAWS)
def test_reports_follow_the_channel(name):
    """Reports of two attributes follow their induced channel, post-channels included."""
    law = LAWS[name]
    joint = JointResponse(law, [1 << 63, *([1 << 64] * (len(law.sizes) - 2)), 3 << 62])
    n = 200_000
    truth = np.tile([1, *([0] * (len(law.sizes) - 2)), 1], (n, 1))
    reports = joint.privatize(truth, Randomness.seeded(1))
    view = joint.view(0, len(law.sizes) - 1)
    codes = np.ravel_multi_index((reports[:, 0], reports[:, -1]), view.sizes)
    expected = view.matrix()[np.ravel_multi_index((1, 1), view.sizes)] * n
    observed = np.bincount(codes, minlength=expected.size)
    assert chi2.sf(float(((observed - expected) ** 2 / expected).sum()), expected.size - 1) > 1e-9


@pytest.mark.parametrize("name", LAWS)
def test_frozen_comparable_and_rebuilt_from_integers(name):
    """A joint response is immutable, hashable, and comes back from its plain data and from a pickle."""
    joint = JointResponse(LAWS[name], [(1 << 64) - 5] * len(LAWS[name].sizes))
    data = json.loads(json.dumps(joint.to_dict()))
    again = mechanisms.from_dict(data)
    assert again == joint
    assert hash(again) == hash(joint)
    assert again.guarantee == joint.guarantee
    assert "epsilon" not in json.dumps(data)
    assert pickle.loads(pickle.dumps(joint)) == joint
    with pytest.raises(dataclasses.FrozenInstanceError):
        joint.post = ()
    with pytest.raises(ValueError, match="read-only"):
        joint.marginal_epsilons[0] = 0.0
    for key in ("sizes", "law", "post"):
        with pytest.raises(ManifestError):
            mechanisms.from_dict({k: v for k, v in data.items() if k != key})


@pytest.mark.parametrize("name", LAWS)
def test_post_channels_only_lower_levels(name):
    """Randomising an attribute on its own afterwards lowers its level and leaves the record's promise."""
    law = LAWS[name]
    plain, more = JointResponse(law), JointResponse(law, [1 << 63] * len(law.sizes))
    assert np.all(more.marginal_epsilons < plain.marginal_epsilons)
    assert more.guarantee == plain.guarantee
    np.testing.assert_allclose(more.pair_eigenvalues()[0, 1], plain.pair_eigenvalues()[0, 1] / 4, atol=1e-12)


def test_one_column_is_never_called_attribute_level():
    """A column's level is stated with the caveat that it holds only against somebody who sees nothing else."""
    view = JointResponse(LAWS["star"]).view(1)
    assert view.guarantee.unit == "value"
    assert "other columns" in view.guarantee.caveats[0]
    rows = view.weights()
    assert all(sum(row) == view.denominator for row in rows)
    assert view.guarantee.epsilon == pytest.approx(math.log(rows[0][0] / rows[0][1]), rel=1e-12)


def test_inverse_of_views():
    """The correction of one, two and three attributes undoes the exact channel."""
    joint = JointResponse(LAWS["threshold"])
    for attributes in ((1,), (0, 2), (4, 1, 3)):
        view = joint.view(*attributes)
        product = view.inverse.as_matrix() @ view.matrix().T
        np.testing.assert_allclose(product, np.eye(len(product)), atol=1e-10)


def test_tail_probability_of_a_rare_event():
    """The logarithm of P(S ≥ T) is enclosed for an event of probability e^{−200}, which floats alone would lose."""
    k = 300
    law = WeightedSum([4] * k, [1] * k, 250)
    low, high = law.log_probability_bounds()
    exact = sum(math.comb(k, c) * 3 ** (k - c) for c in range(250, k + 1))
    from discreet.privacy.bounds import log_bounds

    inner = log_bounds(Fraction(exact, 4**k))
    assert low <= inner[0]
    assert inner[1] <= high
    assert float(high - low) < 1e-9
    assert float(high) < -200


def test_thousand_attributes_are_drawn_without_powers_of_two():
    """A threshold over a thousand different attributes is drawn exactly: every draw passes, rates are right."""
    generator = np.random.default_rng(0)
    sizes = tuple(generator.integers(2, 6, 1000).tolist())
    weights = tuple(generator.integers(5, 40, 1000).tolist())
    mean = sum(w / a for w, a in zip(weights, sizes, strict=True))
    law = ThresholdLaw(sizes, (Threshold((1 << 64) - (1 << 50), weights, int(1.5 * mean)),))
    drawn = law.draw(300, Randomness.seeded(3))
    sums = drawn @ np.array(weights)
    assert np.mean(sums >= int(1.5 * mean)) > 0.98
    rates = np.array([float(r) for r in law.truth_rates().rates])
    assert abs(drawn.mean() - rates.mean()) < 0.01


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (np.zeros(5, int), "a table of 5 columns"),
        (np.zeros((2, 4), int), "a table of 5 columns"),
        (np.zeros((2, 5)), "must be integers"),
        (np.array([[0, 0, 0, 0, 0], [0, 3, 0, 0, 0]]), "attribute 1 is out of range"),
        (np.array([[0, 0, 0, 0, -1]]), "attribute 4 is out of range"),
    ],
)
def test_bad_codes(x, message):
    """Codes that do not fit are refused with row and attribute, never with the value."""
    with pytest.raises(DomainError, match=message):
        JointResponse(LAWS["star"]).privatize(x)


def test_bad_laws():
    """Numbers that do not describe a law are refused."""
    with pytest.raises(MechanismError, match="keep > other"):
        ProductLaw((2,), (1,), (1,))
    with pytest.raises(MechanismError, match="share"):
        Threshold(0, (1, 1), 1)
    with pytest.raises(MechanismError, match="add up to less than one"):
        ThresholdLaw((2, 2), (Threshold((1 << 64) - 1, (1, 1), 1), Threshold(1, (1, 1), 2)))
    with pytest.raises(MechanismError, match="same number of values"):
        GroupedLaw((2, 3), (0, 0), (1, 2), (0, 1, 1))
    with pytest.raises(MechanismError, match="over the limit"):
        JointResponse(ProductLaw((200, 200), (3, 3), (1, 1))).view(0, 1)


def test_empty_table():
    """No records in, no reports out."""
    assert JointResponse(LAWS["product"]).privatize(np.zeros((0, 5), int)).shape == (0, 5)
