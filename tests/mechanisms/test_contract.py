"""What every finite mechanism must do, checked over the whole catalogue."""

from __future__ import annotations

import copy
import json
import math
import pickle
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

from discreet import Categorical, DomainError, InputError, ManifestError, Randomness, mechanisms
from discreet.mechanisms import (  # noqa: F401  # for eval(repr)
    BinaryResponse,
    BipartiteResponse,
    ChannelResponse,
    CyclicResponse,
    ExponentialResponse,
    FiniteMechanism,
    GeneralizedResponse,
    PaleySet,
    SingerSet,
    UnbiasedResponse,
)
from discreet.privacy.bounds import exp_bounds, log_bounds
from discreet.randomness import StreamKey
from tests.mechanisms.catalogue import FINITE

ALL = pytest.mark.parametrize("name", list(FINITE))
REQUESTED = pytest.mark.parametrize("name", [name for name, (_, epsilon, _) in FINITE.items() if epsilon])


@ALL
def test_rows_sum_exactly(name):
    """Every row of integers sums to the denominator."""
    mechanism = FINITE[name][0]
    rows = mechanism.weights()
    assert (len(rows), len(rows[0])) == mechanism.shape
    assert all(sum(row) == mechanism.denominator and min(row) >= 0 for row in rows)
    assert np.allclose(mechanism.matrix().sum(axis=1), 1, atol=1e-15)


@REQUESTED
def test_privacy_is_never_worse_than_asked_and_hardly_better(name):
    """Realised ε (or δ at ε) lies within 1e-9 of the request and never above, decided on integers."""
    mechanism, epsilon, delta = FINITE[name]
    # Six rows of a large symmetric channel stand for all: comparing 90,000 pairs in fractions takes minutes.
    rows, d = mechanism.weights()[:6], mechanism.denominator
    low, high = exp_bounds(epsilon)
    excess_at = lambda e: max(  # noqa: E731
        sum(max(Fraction(a) - e * b, Fraction(0)) for a, b in zip(x, y, strict=True)) / d
        for x, y in permutations(rows, 2)
    )
    assert excess_at(low) <= Fraction(delta)
    if delta == 0:
        ratio = max(Fraction(max(c), min(c)) for c in zip(*rows, strict=True))
        assert log_bounds(ratio)[0] >= Fraction(epsilon) * (1 - Fraction(1, 10**9))
        assert epsilon * (1 - 1e-9) <= mechanism.guarantee.epsilon <= epsilon
    else:
        assert excess_at(high) >= Fraction(delta) * (1 - Fraction(1, 10**9))
        assert mechanism.guarantee.epsilon == epsilon
        assert delta * (1 - 1e-9) <= mechanism.guarantee.delta <= delta


@ALL
def test_stated_epsilon_is_the_largest_log_ratio_of_the_matrix(name):
    """The certificate agrees with the definition computed in floats, by brute force."""
    mechanism = FINITE[name][0]
    Q = mechanism.matrix()
    with np.errstate(divide="ignore", invalid="ignore"):
        brute = max(np.nanmax(np.log(Q[a] / Q[b])) for a, b in permutations(range(len(Q)), 2))
    certified = mechanism.certificate.epsilon
    assert certified == pytest.approx(brute, rel=1e-8, abs=1e-12) or (math.isinf(brute) and math.isinf(certified))


@ALL
def test_exposure_is_the_chance_of_a_proof(name):
    """Exposure counts the reports that only one truth can give."""
    Q = FINITE[name][0].matrix()
    alone = (Q > 0).sum(axis=0) == 1
    assert FINITE[name][0].guarantee.exposure == pytest.approx((Q * alone).sum(axis=1).max(), rel=1e-12)


@ALL
def test_manifest_round_trip(name):
    """A mechanism survives JSON, from its integers alone, with the same weights and guarantee."""
    mechanism = FINITE[name][0]
    again = mechanisms.from_dict(json.loads(json.dumps(mechanism.to_dict())))
    assert again == mechanism
    assert again.weights() == mechanism.weights()
    assert again.guarantee == mechanism.guarantee
    assert all(isinstance(v, str) for v in _numbers(mechanism.to_dict()))


def _numbers(data):
    """Everything in the plain data that is an integer in spirit."""
    for key, value in data.items():
        if key == "rows":
            yield from (weight for row in value for weight in row)
        elif key in ("denominator", "keep", "other"):
            yield value


@ALL
def test_repr_can_be_pasted_back(name):
    """What is printed rebuilds the mechanism."""
    mechanism = FINITE[name][0]
    assert eval(repr(mechanism)) == mechanism


@ALL
def test_immutable_comparable_and_picklable(name):
    """A mechanism is a value."""
    mechanism = FINITE[name][0]
    with pytest.raises(AttributeError):
        mechanism.epsilon = 3.0
    with pytest.raises(AttributeError):
        mechanism.anything = 3.0
    assert hash(mechanism) == hash(copy.deepcopy(mechanism))
    assert pickle.loads(pickle.dumps(mechanism)) == mechanism


#: A seed's generator is read digit by digit, a cipher's stream as secure reports are: both have to be right.
SOURCES = {
    "seed": lambda: Randomness.seeded(5),
    "stream": lambda: Randomness.keyed(StreamKey.of_seed(5), "noise", 0),
}


@ALL
@pytest.mark.parametrize("source", SOURCES)
def test_reports_follow_the_channel(name, source):
    """Simulated report frequencies agree with the matrix, and a slightly flatter matrix is rejected."""
    mechanism = FINITE[name][0]
    n, Q = 400_000, mechanism.matrix()
    source = SOURCES[source]()
    worst_right = worst_wrong = 0.0
    for x in range(min(len(Q), 4)):
        counts = np.bincount(mechanism.privatize(np.full(n, x), source), minlength=Q.shape[1])
        worst_right = max(worst_right, _deviation(counts, n, Q[x]))
        wrong = 0.94 * Q[x] + 0.06 / Q.shape[1]
        worst_wrong = max(worst_wrong, _deviation(counts, n, wrong))
    assert worst_right < 6.5  # standard errors; the chance of more is below 1e-9
    if Q.shape[1] < 20 and np.abs(Q[: min(len(Q), 4)] - 1 / Q.shape[1]).max() > 0.05:
        assert worst_wrong > 6.5


def _deviation(counts, n, p):
    """Largest deviation of a count in standard errors; an impossible report counts as infinite."""
    error = np.sqrt(n * p * (1 - p))
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(error > 1e-9, np.abs(counts - n * p) / error, np.where(np.abs(counts - n * p) > 1e-6, np.inf, 0))
    return z.max()


@ALL
def test_secure_by_default_and_reproducible_by_seed(name):
    """Two plain runs differ; two runs from one seed do not."""
    mechanism = FINITE[name][0]
    x = np.tile(np.arange(mechanism.shape[0]), 500)
    assert np.array_equal(mechanism.privatize(x, Randomness.seeded(3)), mechanism.privatize(x, Randomness.seeded(3)))
    Q = mechanism.matrix()
    if (np.sum(Q * (1 - Q)) * 500) > 100:  # something is random
        assert not np.array_equal(mechanism.privatize(x), mechanism.privatize(x))


@ALL
def test_bad_codes_and_bad_randomness_are_refused(name):
    """A code out of range is named by its row, never by its value; numpy generators are refused."""
    mechanism = FINITE[name][0]
    size = mechanism.shape[0]
    with pytest.raises(DomainError, match="row 2") as caught:
        mechanism.privatize(np.array([0, 1, size + 9_000]))
    assert str(size + 9_000) not in str(caught.value)
    assert caught.value.value == size + 9_000
    with pytest.raises(DomainError):
        mechanism.privatize(np.array([-1, 0]))
    with pytest.raises(DomainError, match="integers"):
        mechanism.privatize(np.array([0.5]))
    with pytest.raises(InputError, match="Randomness"):
        mechanism.privatize(np.array([0]), np.random.default_rng(1))


@ALL
def test_shapes_and_types_of_reports(name):
    """Reports have the shape of the codes and the smallest type; nothing in, nothing out."""
    mechanism = FINITE[name][0]
    assert mechanism.privatize(np.zeros((3, 4), np.int64)).shape == (3, 4)
    assert mechanism.privatize([]).size == 0
    assert mechanism.privatize([1]).dtype == mechanism.report_dtype
    assert mechanism.privatize(np.zeros(5, np.uint8)).dtype == mechanism.report_dtype


@ALL
def test_inverse_undoes_the_channel(name):
    """A·Qᵀ = I, or the channel is recognised as one that cannot be undone."""
    mechanism = FINITE[name][0]
    Q = mechanism.matrix()
    if np.linalg.matrix_rank(Q) < len(Q):
        with pytest.raises(InputError, match="apart"):
            _ = mechanism.inverse
        return
    product = mechanism.inverse.as_matrix() @ Q.T
    assert np.allclose(product, np.eye(len(Q)), atol=1e-8 if mechanism.guarantee.epsilon > 1e-3 else 1e-4)
    shares = np.full(len(Q), 1 / len(Q)) @ Q
    assert np.allclose(np.diag(mechanism.inverse.covariance(shares)), mechanism.inverse.variances(shares), rtol=1e-8)


@ALL
def test_trade_off_agrees_with_delta(name):
    """f(α) ≥ 1 − δ(ε) − e^ε α for every ε, with equality at the best ε of a symmetric pair (Wasserman and Zhou)."""
    mechanism = FINITE[name][0]
    certificate = mechanism.certificate
    grid = [*np.linspace(0, 5, 51).tolist(), min(certificate.epsilon, 300.0)]
    deltas = [certificate.delta(e) for e in grid]
    alpha = 0.1
    dual = max(
        max(1 - d - math.exp(e) * alpha, math.exp(-e) * (1 - d - alpha)) for e, d in zip(grid, deltas, strict=True)
    )
    value = certificate.trade_off(alpha)
    assert value >= dual - 1e-9
    if name.startswith(("binary delta", "generalized", "warner", "crosswise", "kuk", "direct", "four")):
        assert value == pytest.approx(max(dual, 0), abs=2e-2)
    assert certificate.trade_off(1.0) == 0
    assert np.all(np.diff(certificate.trade_off(np.linspace(0, 1, 11))) <= 1e-12)


@pytest.mark.parametrize(
    "data",
    [
        {"kind": "binary", "denominator": "4", "rows": [["3", "2"], ["1", "3"]]},
        {"kind": "binary", "denominator": "4", "rows": [["3", "1"]]},
        {"kind": "binary", "denominator": 4, "rows": [["3", "1"], ["1", "3"]]},
        {"kind": "channel", "denominator": "5", "rows": [["3", "1"], ["1", "3"]]},
        {"kind": "channel", "denominator": "4", "rows": [["3", "1"], ["1", "2"]]},
        {"kind": "channel", "denominator": "4", "rows": [["5", "-1"], ["1", "3"]]},
        {"kind": "generalized", "size": 3, "keep": "1", "other": "2"},
        {"kind": "generalized", "size": 1, "keep": "2", "other": "1"},
        {"kind": "generalized", "keep": "2", "other": "1"},
        {"kind": "telepathy"},
        {},
    ],
)
def test_damaged_manifests_are_refused(data):
    """Weights that do not sum, missing fields and unknown kinds are never accepted."""
    with pytest.raises(ManifestError):
        mechanisms.from_dict(data)


@pytest.mark.parametrize("rows", [[[3, 1], [1, 3]], [["3", 1.0], ["1", "3"]], [["3.5", "0.5"], ["1", "3"]], "x"])
@pytest.mark.parametrize("kind", ["binary", "channel"])
def test_weights_must_be_integers_written_as_text(kind, rows):
    """A number would have gone through floating point somewhere."""
    with pytest.raises(ManifestError):
        mechanisms.from_dict({"kind": kind, "denominator": "4", "rows": rows})


class _Long(FiniteMechanism):
    """A channel that is too large to be written out, with a few more reports than truths."""

    kind = "long"
    epsilon = None
    shape = (5_000_000, 5_000_021)
    denominator = 1

    def _rows(self):
        raise AssertionError

    _sample = to_dict = from_dict = _rows


def test_reports_of_a_channel_that_cannot_be_written_out_are_numbered():
    """Labels are not made from a matrix that does not fit; a list of as many labels as truths is kept."""
    truths = Categorical(range(5_000_000))
    assert _Long().report_domain(truths) == Categorical(range(5_000_021))
    assert GeneralizedResponse(5_000_000, 1.0).report_domain(truths) is truths


@ALL
def test_a_masked_array_is_refused(name):
    """What lies under a mask is no value: it would be randomised as if it were one."""
    with pytest.raises(DomainError, match="masked"):
        FINITE[name][0].privatize(np.ma.masked_array([0, 1], mask=[False, True]))
