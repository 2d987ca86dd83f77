"""The sampling units of a release: clusters within strata, or rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arguments import Floats
from discreet.estimate.rows import Rows
from discreet.estimate.survey import Roles, refuse_single_units
from discreet.estimate.tally import Ints, LabelIndex, PairIndex
from discreet.reading import Release


@dataclass(frozen=True, eq=False)
class Units:
    """Which unit every row belongs to, and which stratum every unit.

    Attributes
    ----------
    unit : array of int (rows,)
    stratum : array of int (units,)
    weights : array (rows,)
        The survey weights of the full sample; ones where there are none.
    """

    unit: Ints
    stratum: Ints
    weights: Floats

    @property
    def count(self) -> int:
        """Number of units."""
        return int(self.stratum.size)

    @property
    def sizes(self) -> Ints:
        """Number of units in every stratum."""
        return np.bincount(self.stratum)

    def grouped(self, most: int, chance: np.random.Generator) -> Units:
        """Units put together at random within their strata, so that there are about ``most`` of them.

        A random part of a stratum is a sample like the whole: the variance between such parts, as between clusters,
        is unbiased for that of the sample (the method of random groups, Wolter 2007, chapter 2).
        """
        if self.count <= most:
            return self
        part, stratum_of, start = np.empty(self.count, np.int64), [], 0
        for code, size in enumerate(self.sizes):
            groups = int(min(size, max(2, most * size // self.count)))
            own = np.flatnonzero(self.stratum == code)
            part[chance.permutation(own)] = start + np.arange(size) % groups
            stratum_of += [code] * groups
            start += groups
        return Units(part[self.unit], np.array(stratum_of), self.weights)


def read_units(release: Release) -> Units:
    """One pass over the columns that the manifest names."""
    survey = release.survey
    aside: dict[str, Any] = {"weights": survey.weight, "strata": survey.strata, "clusters": survey.cluster}
    rows = Rows(release, release.rows, (), **aside, table=release.columns[:1])  # one column at least, to count the rows
    strata, clusters, pairs = LabelIndex("strata"), LabelIndex("clusters"), PairIndex()
    unit, stratum, weights = [], [], []
    for batch in rows.batches():
        own = np.zeros(batch.codes.size, np.int64)
        if batch.strata is not None:
            own = strata.encode(batch.strata, batch.first_row)
        stratum.append(own)
        if batch.clusters is not None:
            unit.append(pairs.encode(own, clusters.encode(batch.clusters, batch.first_row)))
        weights.append(np.ones(batch.codes.size) if batch.weights is None else batch.weights)
    by_row = np.concatenate(stratum)
    if survey.cluster is None:
        found = Units(np.arange(by_row.size), by_row, np.concatenate(weights))
    else:
        found = Units(np.concatenate(unit), pairs.pairs()[0], np.concatenate(weights))
    refuse_single_units(found.sizes, Roles(strata=survey.strata is not None, clusters=survey.cluster is not None))
    return found
