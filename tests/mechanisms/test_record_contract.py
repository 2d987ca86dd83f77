"""What every mechanism of whole records must do, checked over the whole catalogue."""

from __future__ import annotations

import copy
import json
import math
import pickle

import numpy as np
import pytest

from discreet import InputError, Randomness, mechanisms
from discreet.mechanisms import FiniteMechanism, JointResponse, OneNumberResponse, RecordMechanism
from tests.mechanisms.catalogue import FINITE, RECORDS

ALL = pytest.mark.parametrize("name", list(RECORDS))
LEVELS = pytest.mark.parametrize("name", [name for name, (_, levels) in RECORDS.items() if levels])


def _records(mechanism, count):
    """Records in the domain, all alike."""
    if isinstance(mechanism, JointResponse):
        return np.zeros((count, len(mechanism.law.sizes)), np.int64)
    if isinstance(mechanism, OneNumberResponse):
        return np.tile([part.points[0] for part in mechanism.parts], (count, 1))
    return np.tile(np.array(mechanism.box.low), (count, 1))


def test_no_mechanism_is_left_out():
    """Every kind that a manifest can name is in one of the catalogues."""
    found = {mechanism.kind for mechanism, *_ in (*FINITE.values(), *RECORDS.values())}
    assert found == set(mechanisms.KINDS)


@ALL
def test_manifest_round_trip(name):
    """A mechanism survives JSON with the same guarantee, and draws the same from the same seed."""
    mechanism = RECORDS[name][0]
    again = mechanisms.from_dict(json.loads(json.dumps(mechanism.to_dict())))
    assert again == mechanism
    assert again.guarantee == mechanism.guarantee
    records = _records(mechanism, 50)
    np.testing.assert_array_equal(
        again.privatize(records, Randomness.seeded(1)), mechanism.privatize(records, Randomness.seeded(1))
    )


@ALL
def test_immutable_comparable_and_picklable(name):
    """A mechanism is a value."""
    mechanism = RECORDS[name][0]
    with pytest.raises(AttributeError):
        mechanism.anything = 3.0
    assert hash(mechanism) == hash(copy.deepcopy(mechanism))
    assert pickle.loads(pickle.dumps(mechanism)) == mechanism


@ALL
def test_secure_by_default(name):
    """Two plain runs differ, unless levels are so high that nothing is random; numpy generators are refused."""
    mechanism = RECORDS[name][0]
    records = _records(mechanism, 200)
    if "huge" not in name:
        assert not np.array_equal(mechanism.privatize(records), mechanism.privatize(records))
    with pytest.raises(InputError, match="Randomness"):
        mechanism.privatize(records, np.random.default_rng(1))


@ALL
def test_nothing_in_nothing_out(name):
    """No record, no report; one record, one report of the same shape."""
    mechanism = RECORDS[name][0]
    assert len(mechanism.privatize(_records(mechanism, 0))) == 0
    assert mechanism.privatize(_records(mechanism, 1)).shape == _records(mechanism, 1).shape


@LEVELS
def test_levels_are_met_and_never_exceeded(name):
    """Every column on its own is at its level or at most 1e-6 below; the record is at or above the largest."""
    mechanism, levels = RECORDS[name]
    reached = np.array([mechanism.view(i).guarantee.epsilon for i in range(len(levels))])
    assert np.all(reached <= np.array(levels) * (1 + 1e-12))
    np.testing.assert_allclose(reached, levels, rtol=1e-6, atol=1e-6)
    assert math.isfinite(mechanism.guarantee.epsilon)
    assert mechanism.guarantee.epsilon >= max(levels) * (1 - 1e-6)


@LEVELS
def test_reports_follow_the_levels(name):
    """Truth rates of a simulation agree with the levels asked for, and levels five per cent off would be noticed."""
    mechanism, levels = RECORDS[name]
    count = 200_000
    reports = mechanism.privatize(_records(mechanism, count), Randomness.seeded(9))
    sizes, asked = np.array(mechanism.law.sizes), np.array(levels)
    rates = np.mean(reports == 0, axis=0)

    def deviation(epsilons):
        p = 1 / (1 + (sizes - 1) * np.exp(-epsilons))
        error = np.sqrt(np.maximum(p * (1 - p), 1e-12) / count)
        return np.max(np.abs(rates - p) / error)

    assert deviation(asked) < 6.5  # the chance of more is below 1e-8
    if 0.3 < asked.max() < 20:
        assert deviation(asked * 0.95) > 6.5


@ALL
def test_the_guarantee_is_readable_and_plain(name):
    """The guarantee explains itself, and its plain form survives JSON."""
    guarantee = RECORDS[name][0].guarantee
    assert len(guarantee.explain()) > 40
    assert json.loads(json.dumps(guarantee.to_dict()))


@ALL
def test_every_record_mechanism_answers_the_same_questions(name):
    """Columns, the promise about a record, and what one column alone went through, whatever the kind."""
    mechanism = RECORDS[name][0]
    assert isinstance(mechanism, RecordMechanism)
    assert not isinstance(mechanism, FiniteMechanism)
    assert mechanism.dimension == _records(mechanism, 1).shape[1]
    assert mechanism.record_guarantee.unit == "record"
    last = mechanism.view(mechanism.dimension - 1)
    assert isinstance(last, FiniteMechanism) or last.dimension == 1
    assert last.guarantee.epsilon <= mechanism.record_guarantee.epsilon
    with pytest.raises(InputError):
        mechanism.view(mechanism.dimension)
