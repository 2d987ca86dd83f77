"""Values with a distance, or with any loss, between each two of them: places on a map, sets, diagnoses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from discreet import arguments, limits
from discreet.arguments import Floats
from discreet.domains.labels import make_labels
from discreet.domains.listed import ListedDomain, listed_values
from discreet.errors import DomainError, ManifestError

#: ``distance(point, points)``: how far each of the points is from the one.
Distance = Callable[[Floats, Floats], ArrayLike]

#: Mean radius of the earth in kilometres (IUGG).
EARTH_RADIUS = 6371.0088
#: How far a similarity may exceed that of a value with itself: the rounding of floats.
_ROUNDING = 1e-12


@dataclass(frozen=True, init=False, repr=False, eq=False)
class Metric(ListedDomain):
    """Values with a loss for every pair: ``loss[x][y]`` is what is lost when y is reported and x is true.

    The loss need not be a metric, nor symmetric; it must be finite, ≥ 0, and zero for the truth itself.

    Parameters
    ----------
    values : sequence
        Different values of one type.
    loss : matrix of float
        One row per truth, one column per report.

    Examples
    --------
    >>> Metric(["a", "b", "c"], [[0, 1, 4], [1, 0, 2], [4, 2, 0]]).loss_row(0)
    array([0., 1., 4.])
    >>> Metric.points(["x", "y"], [[0, 0], [3, 4]]).loss_row(0)
    array([0., 5.])
    """

    #: The matrix of losses, or None when rows are computed from coordinates.
    _loss: Floats | None
    #: One row per value, or None.
    _coordinates: Floats | None
    #: "euclidean", "haversine", "custom" (a function that was not kept), or the function itself; None for a matrix.
    _distance: str | Distance | None

    kind: ClassVar[str] = "metric"

    def __init__(self, values: Any, loss: ArrayLike) -> None:
        labels = make_labels(values)
        self._set(labels, _frozen(_checked_loss(loss, len(labels))), None, None)

    def _set(self, labels: Any, loss: Floats | None, coordinates: Floats | None, distance: Any) -> None:
        object.__setattr__(self, "_labels", labels)
        object.__setattr__(self, "_loss", loss)
        object.__setattr__(self, "_coordinates", coordinates)
        object.__setattr__(self, "_distance", distance)

    @classmethod
    def points(cls, values: Any, coordinates: ArrayLike, distance: str | Distance = "euclidean") -> Self:
        """Values at points in space; rows of losses are computed when they are needed.

        Parameters
        ----------
        values : sequence
            Different values of one type.
        coordinates : array (values, dimensions)
            One row per value. For "haversine" (latitude, longitude) in degrees.
        distance : {"euclidean", "haversine"} or function
            "haversine" is the great-circle distance in kilometres. A function ``distance(point, points)`` returns
            one distance per row of ``points``; a manifest cannot hold it.
        """
        labels = make_labels(values)
        places = _checked_coordinates(coordinates, len(labels), distance)
        domain = object.__new__(cls)
        domain._set(labels, None, _frozen(places), distance)
        return domain

    @classmethod
    def from_similarity(cls, values: Any, similarity: ArrayLike) -> Self:
        """Values with a similarity, of which more is better (Jaccard): the loss is what is missing to the truth's own.

        ``loss[x][y] = similarity[x][x] − similarity[x][y]``; nothing may be more similar to x than x itself.
        """
        given = _square(similarity, len(make_labels(values)), "similarity")
        loss = np.diag(given)[:, None] - given
        if np.any(loss < -_ROUNDING * np.abs(given).max(initial=1.0)):
            raise DomainError("a value must be at least as similar to itself as to any other value")
        return cls(values, np.maximum(loss, 0.0))

    @property
    def coordinates(self) -> Floats | None:
        """One row per value, or None when the losses were given as a matrix."""
        return self._coordinates

    @property
    def distance(self) -> str | Distance | None:
        """How losses follow from coordinates; None when they were given as a matrix."""
        return self._distance

    @property
    def step(self) -> float | None:
        """Points of a metric domain are not taken to be equidistant."""
        return None

    def loss_row(self, code: int) -> Floats:
        """The loss of every report under one truth."""
        return np.asarray(self.loss_rows([code])[0])

    def loss_rows(self, codes: ArrayLike) -> Floats:
        """The same for several truths, one row each."""
        which = self._checked_codes(codes)
        if self._loss is not None:
            return np.asarray(self._loss[which])
        assert self._coordinates is not None
        if self._distance == "euclidean":
            return _euclidean(self._coordinates[which], self._coordinates)
        if self._distance == "haversine":
            sphere = _on_the_sphere(self._coordinates)
            chords = _euclidean(sphere[which], sphere)
            return np.asarray(2 * EARTH_RADIUS * np.arcsin(np.minimum(chords / 2, 1.0)))
        if not callable(self._distance):
            raise DomainError("the distance of this domain was a function, which a manifest does not hold")
        return np.stack([self._custom_row(code, self._distance) for code in which])

    def _custom_row(self, code: int, distance: Distance) -> Floats:
        assert self._coordinates is not None
        row = np.asarray(distance(self._coordinates[code], self._coordinates), float)
        if row.shape != (self.size,):
            raise DomainError(f"the distance must return {self.size} numbers, one per point, not the shape {row.shape}")
        if not np.all(np.isfinite(row)) or np.any(row < 0) or row[code] != 0:
            raise DomainError("the distance must return finite numbers ≥ 0, and 0 for a point and itself")
        return row

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Metric):
            return NotImplemented
        return (
            self._labels == other._labels
            and self._distance == other._distance
            and _same(self._loss, other._loss)
            and _same(self._coordinates, other._coordinates)
        )

    def __hash__(self) -> int:
        return hash((self.kind, self._labels))

    def __repr__(self) -> str:
        if self._loss is not None:
            return f"Metric({self._labels!r}, {self._loss.tolist()!r})"
        assert self._coordinates is not None
        return f"Metric.points({self._labels!r}, {self._coordinates.tolist()!r}, {self._distance!r})"

    def to_dict(self) -> dict[str, Any]:
        """Kind and values, with the matrix of losses or with coordinates and distance."""
        data = super().to_dict()
        if self._loss is not None:
            data["loss"] = self._loss.tolist()
            return data
        assert self._coordinates is not None
        data["coordinates"] = self._coordinates.tolist()
        data["distance"] = self._distance if isinstance(self._distance, str) else "custom"
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild from plain data."""
        values = listed_values(data.get("values"))
        if "loss" in data:
            return cls(values, data["loss"])
        if "coordinates" not in data or not isinstance(data.get("distance"), str):
            raise ManifestError("a metric domain in the manifest is damaged: it needs losses, or coordinates")
        if data["distance"] != "custom":
            return cls.points(values, data["coordinates"], data["distance"])
        domain = cls.points(values, data["coordinates"], _unknown_distance)
        object.__setattr__(domain, "_distance", "custom")
        return domain


def _unknown_distance(_point: Floats, _points: Floats) -> Floats:
    """Stands in while coordinates are checked."""
    raise DomainError("the distance of this domain is not known")


def _checked_loss(loss: ArrayLike, size: int) -> Floats:
    matrix = _square(loss, size, "loss")
    if np.any(matrix < 0):
        raise DomainError("a loss must not be negative")
    if np.any(np.diag(matrix) != 0):
        raise DomainError("the loss of reporting the truth itself must be 0: the diagonal is not zero")
    return matrix


def _square(values: ArrayLike, size: int, name: str) -> Floats:
    matrix = arguments.floats(values, f"the {name}, a square matrix,", DomainError, finite=False).copy()
    if matrix.shape != (size, size):
        raise DomainError(f"the {name} must be a square matrix of {size} × {size} numbers, not {matrix.shape}")
    if not np.all(np.abs(matrix) <= limits.LARGEST_NUMBER):
        raise DomainError(f"every {name} must be a finite number of at most {limits.LARGEST_NUMBER:g}")
    return matrix


def _checked_coordinates(coordinates: ArrayLike, size: int, distance: str | Distance) -> Floats:
    if not callable(distance):
        arguments.choice(distance, "a distance that is no function", ("euclidean", "haversine"), DomainError)
    places = arguments.floats(coordinates, "coordinates", DomainError, finite=False).copy()
    if places.ndim == 1:
        places = places[:, None]
    if places.ndim != 2 or places.shape[0] != size or places.shape[1] == 0:
        raise DomainError(f"{size} values need {size} rows of coordinates, not the shape {places.shape}")
    if not np.all(np.abs(places) <= limits.LARGEST_NUMBER):
        raise DomainError(f"every coordinate must be a finite number of at most {limits.LARGEST_NUMBER:g}")
    if distance == "haversine":
        if places.shape[1] != 2:
            raise DomainError(f"haversine needs (latitude, longitude) for every value, not {places.shape[1]} numbers")
        if np.any(np.abs(places[:, 0]) > 90):
            raise DomainError("a latitude is out of range; expected degrees from −90 to 90, latitude before longitude")
        if np.any(np.abs(places[:, 1]) > 180):
            raise DomainError("a longitude is out of range; expected degrees from −180 to 180")
    # A pole has every longitude: places are compared as vectors, to within their rounding.
    compared = np.round(_on_the_sphere(places), 15) if distance == "haversine" else places
    if len(np.unique(compared, axis=0)) != size:
        raise DomainError("two values are at the same position; positions must not repeat")
    return places


def _euclidean(some: Floats, points: Floats) -> Floats:
    """Distances by differences, coordinate after coordinate: symmetric, and exactly zero for equal points."""
    total = np.zeros((len(some), len(points)))
    for a, b in zip(some.T, points.T, strict=True):
        total += (a[:, None] - b[None, :]) ** 2
    return np.sqrt(total, out=total)


def _on_the_sphere(places: Floats) -> Floats:
    """Unit vectors of (latitude, longitude) in degrees; chords between them keep their digits for near places."""
    latitude, longitude = np.radians(places).T
    return np.stack([np.cos(latitude) * np.cos(longitude), np.cos(latitude) * np.sin(longitude), np.sin(latitude)], 1)


def _same(first: Floats | None, second: Floats | None) -> bool:
    if first is None or second is None:
        return first is second
    return np.array_equal(first, second)


def _frozen(values: Floats) -> Floats:
    values.flags.writeable = False
    return values
