"""Scores added up over the clusters and strata of a survey: the middle of the linearised variance."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.passes import refuse_to_send
from discreet.estimate.satterthwaite import degrees_of_strata

Ints = NDArray[np.int64]
#: Numbers kept for the strata together, where every row is its own cluster (2^27 floats, 1 GB).
_MAX_STRATUM_CELLS = 1 << 27
#: The cluster's code in the key of a unit, which has the stratum's code above it.
_LOW = (1 << 32) - 1


@dataclass(frozen=True, eq=False)
class Sampling:
    """How people were sampled, and what that makes of the scores at the estimate.

    Attributes
    ----------
    clusters, strata : int
        How many there are; without clusters every row is one, without strata there is one stratum.
    scores : array
        ``Σ_h n_h/(n_h − 1) Σ_c (t_hc − t̄_h)(t_hc − t̄_h)'`` with t_hc the sum of the scores in cluster c of stratum h,
        which has n_h clusters: sampling with replacement within strata (Binder 1983).
    has_strata : bool
    recurring : bool
        Whether a cluster label recurs in several strata; it is then a different cluster in each.
    units : array of int
        Clusters, or rows, of every stratum.
    by_stratum : array (strata, p, p)
        What every stratum adds to ``scores``.
    """

    clusters: int
    strata: int
    scores: Floats
    has_strata: bool
    recurring: bool
    units: Ints
    by_stratum: Floats

    def degrees_of_freedom(self, bread: Floats) -> Floats:
        """Of the variance of every coefficient ``bread @ scores @ bread.T``: clusters minus strata, or fewer.

        Where a small stratum makes most of a variance, Satterthwaite's number
        (:func:`~discreet.estimate.satterthwaite.degrees_of_strata`).
        """
        most = float(max(self.clusters - self.strata, 1))
        if self.strata == 1 or not np.isfinite(bread).all():
            return np.full(len(bread), most)
        variances = np.einsum("ji,hik,jk->hj", bread, self.by_stratum, bread, optimize=True)
        return degrees_of_strata(variances, self.units, most)


class Codes:
    """Codes for labels in order of appearance, the same over many chunks."""

    def __init__(self) -> None:
        self.labels: dict[Any, int] = {}

    def encode(self, labels: NDArray[Any]) -> Ints:
        """Codes of one chunk."""
        different, back = np.unique(labels, return_inverse=True)
        return self.of(different.tolist())[back]

    def of(self, labels: Iterable[Any]) -> Ints:
        """Codes of labels that differ from each other."""
        known = self.labels
        return np.array([known.setdefault(label, len(known)) for label in labels], np.int64)


class SampleSums:
    """Sums of scores by stratum and cluster, whose rows may be spread over many chunks; two of them add up.

    A cluster is read within its stratum, as by :func:`discreet.estimate.frequencies`.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._strata, self._clusters, self._units = Codes(), Codes(), Codes()
        self._sums = np.zeros((0, size))  # by cluster, or by stratum where there are no clusters
        self._squares = np.zeros((0, size, size))  # by stratum, where there are no clusters
        self._rows: Ints = np.zeros(0, np.int64)
        self._has_clusters = self._has_strata = False

    def add(self, strata: NDArray[Any] | None, clusters: NDArray[Any] | None, scores: Floats) -> None:
        """One chunk of rows."""
        if strata is None and clusters is None:
            return
        self._has_clusters, self._has_strata = clusters is not None, strata is not None
        stratum = np.zeros(len(scores), np.int64) if strata is None else self._strata.encode(strata)
        if clusters is None:
            self._add_rows(stratum, scores)
            return
        unit = self._units.encode((stratum << 32) | self._clusters.encode(clusters))
        self._sums = _room(self._sums, len(self._units.labels))
        np.add.at(self._sums, unit, scores)

    def _add_rows(self, stratum: Ints, scores: Floats) -> None:
        count = len(self._strata.labels)
        if count * self._size**2 > _MAX_STRATUM_CELLS:
            raise EstimationError(f"{count:,} strata are more than memory should hold; merge strata")
        self._sums, self._squares = _room(self._sums, count), _room(self._squares, count)
        self._rows = _room(self._rows, count)
        self._rows += np.bincount(stratum, minlength=self._rows.size)
        for code in np.unique(stratum):
            part = scores[stratum == code]
            self._sums[code] += part.sum(axis=0)
            self._squares[code] += part.T @ part

    def __add__(self, other: SampleSums) -> SampleSums:
        both = SampleSums(self._size)
        for one in (self, other):
            both._take(one)
        return both

    def _take(self, other: SampleSums) -> None:
        """The sums of other rows, whose labels have codes of their own."""
        self._has_clusters |= other._has_clusters
        self._has_strata |= other._has_strata
        stratum = self._strata.of(other._strata.labels) if other._strata.labels else np.zeros(1, np.int64)
        if other._has_clusters:
            cluster, keys = self._clusters.of(other._clusters.labels), other._keys
            unit = self._units.of(((stratum[keys >> 32] << 32) | cluster[keys & _LOW]).tolist())
            self._sums = _room(self._sums, len(self._units.labels))
            self._sums[unit] += other._sums[: unit.size]
        elif other._has_strata:
            count = len(self._strata.labels)
            self._sums, self._squares = _room(self._sums, count), _room(self._squares, count)
            self._rows = _room(self._rows, count)
            self._sums[stratum] += other._sums[: stratum.size]
            self._squares[stratum] += other._squares[: stratum.size]
            self._rows[stratum] += other._rows[: stratum.size]

    def __getstate__(self) -> dict[str, Any]:
        """As it travels: without room, and not at any size."""
        clusters, strata = len(self._units.labels), len(self._strata.labels)
        refuse_to_send(clusters, "clusters")
        count = clusters if self._has_clusters else strata
        trimmed = {"_sums": self._sums[:count], "_squares": self._squares[:strata], "_rows": self._rows[:strata]}
        return vars(self) | trimmed

    @property
    def _keys(self) -> Ints:
        """Of every cluster, the code of its stratum and its own."""
        return np.array(list(self._units.labels), np.int64)

    def finished(self) -> Sampling | None:
        """What all rows say; None without clusters and strata."""
        if not (self._has_clusters or self._has_strata):
            return None
        stratum = self._keys >> 32
        strata = max(len(self._strata.labels), 1)
        if self._has_clusters:
            counts = np.bincount(stratum, minlength=strata)
            sums = self._sums[: stratum.size]
            totals = np.zeros((strata, self._size))
            np.add.at(totals, stratum, sums)
        else:
            counts, totals = self._rows[:strata], self._sums[:strata]
        if counts.min() < 2:
            where, remedy = ("a stratum", "; merge it with another") if self._has_strata else ("the sample", "")
            what = "cluster" if self._has_clusters else "row"
            raise EstimationError(f"{where} has a single {what}, so its variance cannot be estimated{remedy}")
        factor = counts / (counts - 1)
        means = totals / counts[:, None]
        if self._has_clusters:
            centred = (sums - means[stratum]) * np.sqrt(factor)[stratum, None]
            parts = [centred[stratum == h] for h in range(strata)] if strata > 1 else [centred]
            by_stratum = np.stack([one.T @ one for one in parts])
        else:
            within = self._squares[:strata] - counts[:, None, None] * means[:, :, None] * means[:, None, :]
            by_stratum = factor[:, None, None] * within
        recurring = self._has_clusters and len(self._units.labels) > len(self._clusters.labels)
        total = by_stratum.sum(axis=0)
        return Sampling(int(counts.sum()), strata, total, self._has_strata, recurring, counts, by_stratum)


def _room(values: NDArray[Any], count: int) -> Any:
    """The same sums with room for more, at the doubled size so that growing is rare."""
    if count <= values.shape[0]:
        return values
    room = np.zeros((2 * count, *values.shape[1:]), values.dtype)
    room[: values.shape[0]] = values
    return room
