"""Domains with an order or a distance: losses on demand, and bad ones refused in one sentence."""

from __future__ import annotations

import json
import math
import pickle

import numpy as np
import pytest

from discreet import DomainError, Grid, ManifestError, Ordinal, domains
from discreet.domains import Metric
from discreet.domains.losses import HasLosses, loss_matrix, with_losses

LOSS = [[0, 1, 4], [1, 0, 2], [5, 2, 0]]
CITIES = [[52.52, 13.405], [48.8566, 2.3522], [-33.8688, 151.2093]]

ALL = [
    Metric(["a", "b", "c"], LOSS),
    Metric.points(["berlin", "paris", "sydney"], CITIES, "haversine"),
    Metric.points([1, 2, 3], [[0.0, 0.0], [3.0, 4.0], [0.5, 0.0]]),
    Metric.points(["p", "q"], [0.0, 2.5]),
]
each = pytest.mark.parametrize("domain", ALL, ids=lambda d: str(d.labels))


@each
def test_codes_labels_and_plain_data(domain):
    """A metric domain encodes, decodes and survives JSON, pickling and printing like any other."""
    codes = np.arange(domain.size)
    assert np.array_equal(domain.encode(domain.decode(codes)), codes)
    assert domains.from_dict(json.loads(json.dumps(domain.to_dict()))) == domain
    assert pickle.loads(pickle.dumps(domain)) == domain
    assert eval(repr(domain)) == domain
    assert hash(domain) == hash(domains.from_dict(domain.to_dict()))
    with pytest.raises(AttributeError):
        domain.kind = "other"


@each
def test_rows_agree_with_the_matrix(domain):
    """One row, several rows and the full matrix say the same; the truth itself costs nothing."""
    matrix = loss_matrix(domain, 10)
    assert np.array_equal(np.diag(matrix), np.zeros(domain.size))
    assert np.array_equal(matrix[1], domain.loss_row(1))
    assert np.array_equal(domain.loss_rows([1, 0]), matrix[[1, 0]])
    assert isinstance(domain, HasLosses)


def test_ordered_domains_have_losses_too():
    """Positions on a line: the loss is the distance, and equal steps are recognised."""
    assert np.array_equal(Ordinal(["a", "b", "c"], positions=[0, 1, 5]).loss_row(1), [1, 0, 4])
    assert np.array_equal(Grid(0, 10, 3).loss_row(2), [10, 5, 0])
    assert Ordinal(["a", "b", "c"]).step == 1
    assert Ordinal(["a", "b", "c"], positions=[0, 2, 4]).step == 2
    assert Ordinal(["a", "b", "c"], positions=[0, 1, 5]).step is None
    assert Grid(0, 10, 3).step == 5
    assert Metric.points(["a", "b", "c"], [0, 1, 2]).step is None


def test_haversine_is_the_great_circle():
    """Known distances in kilometres, and the other side of the earth."""
    row = ALL[1].loss_row(0)
    assert row[1] == pytest.approx(877.46, abs=0.5)
    assert row[2] == pytest.approx(16_092, abs=20)
    poles = Metric.points(["n", "s"], [[90, 0], [-90, 0]], "haversine").loss_row(0)
    assert poles[1] == pytest.approx(math.pi * 6371.0088)
    near = Metric.points(["a", "b"], [[45.0, 7.0], [45.0, 7.0 + 1e-9]], "haversine").loss_row(0)[1]
    assert near == pytest.approx(math.radians(1e-9) * 6371.0088 * math.cos(math.radians(45)), rel=1e-4)


def test_thirty_thousand_places_need_no_matrix():
    """Rows are computed on demand."""
    rng = np.random.default_rng(3)
    places = Metric.points(range(30_000), rng.random((30_000, 2)))
    assert places.loss_row(29_999).shape == (30_000,)
    with pytest.raises(DomainError, match="30,000"):
        loss_matrix(places, 4096)


def test_a_function_as_distance():
    """Any function of a point and all points; a manifest keeps the coordinates and says what is missing."""
    domain = Metric.points(["a", "b", "c"], [[0, 0], [1, 2], [3, 1]], lambda p, q: np.abs(q - p).sum(axis=1))
    assert np.array_equal(domain.loss_row(0), [0, 3, 4])
    again = domains.from_dict(json.loads(json.dumps(domain.to_dict())))
    assert again.labels == domain.labels
    assert np.array_equal(again.coordinates, domain.coordinates)
    assert again == domains.from_dict(again.to_dict())
    with pytest.raises(DomainError, match="function"):
        again.loss_row(0)


@pytest.mark.parametrize(
    "distance",
    [
        lambda p, q: q[:, 0] - p[0],
        lambda p, q: np.full(len(q), np.nan),
        lambda p, q: np.ones(len(q)),
        lambda p, q: np.zeros(2),
    ],
)
def test_a_bad_function_is_refused(distance):
    """Negative, missing, non-zero at the point itself, or of the wrong length."""
    with pytest.raises(DomainError, match="the distance must return"):
        Metric.points(["a", "b", "c"], [0, 1, 2], distance).loss_rows([2, 1])


def test_similarity_is_turned_into_loss():
    """Jaccard similarity: more is better, so the loss is what is missing to one."""
    sets = [{1, 2}, {2, 3}, {1, 2, 3}]
    jaccard = [[len(a & b) / len(a | b) for b in sets] for a in sets]
    domain = Metric.from_similarity(["a", "b", "c"], jaccard)
    assert np.allclose(domain.loss_row(0), [0, 2 / 3, 1 / 3])
    with pytest.raises(DomainError, match="at least as similar to itself"):
        Metric.from_similarity(["a", "b"], [[0.5, 0.9], [0.9, 1.0]])


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        ([[0, -1], [1, 0]], "negative"),
        ([[0, math.nan], [1, 0]], "finite"),
        ([[0, math.inf], [1, 0]], "finite"),
        ([[1, 1], [1, 0]], "diagonal"),
        ([[0, 1, 2], [1, 0, 2]], "square"),
        ([[0, 1], [1]], "square"),
        ([[0, "x"], [1, 0]], "square"),
        ([0, 1], "square"),
    ],
)
def test_bad_losses_are_refused(loss, message):
    """One clear sentence each."""
    with pytest.raises(DomainError, match=message):
        Metric(["a", "b"], loss)


@pytest.mark.parametrize(
    ("coordinates", "distance", "message"),
    [
        ([[0, 0], [0, 0]], "euclidean", "repeat"),
        ([[90, 0], [90, 50]], "haversine", "repeat"),
        ([[91, 0], [0, 0]], "haversine", "latitude"),
        ([[10, 181], [0, 0]], "haversine", "longitude"),
        ([[1, 2, 3], [0, 0, 0]], "haversine", "haversine"),
        ([[math.nan, 0], [0, 0]], "euclidean", "finite"),
        ([[0, 0]], "euclidean", "2 rows"),
        ([["x", 0], [0, 0]], "euclidean", "numbers"),
        ([[0, 0], [1, 1]], "manhattan", "euclidean"),
    ],
)
def test_bad_coordinates_are_refused(coordinates, distance, message):
    """One clear sentence each."""
    with pytest.raises(DomainError, match=message):
        Metric.points(["a", "b"], coordinates, distance)


def test_too_few_values_and_domains_without_losses():
    """One value is no domain, and a plain list of categories has no losses."""
    with pytest.raises(DomainError, match="at least 2"):
        Metric(["a"], [[0]])
    with pytest.raises(DomainError, match="order or a distance"):
        with_losses(domains.Categorical(["a", "b"]))
    with pytest.raises(ManifestError):
        domains.from_dict({"kind": "metric", "values": ["a", "b"]})
