"""Trees of fixed depth on binned features, grown level by level, all nodes of a level at once."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import Floats
from discreet.errors import InputError
from discreet.learning.boosting.leaves import Leaves
from discreet.learning.boosting.split_scores import SCORE_RANGE, split_scores
from discreet.randomness import Randomness
from discreet.randomness.exponential_choice import exponential_choice

Bins = NDArray[np.uint8]
Ints = NDArray[np.int64]

#: Cells (features × bins) that are added up at once: 2^22 indices and weights are 64 MB.
_AT_ONCE = 1 << 22
#: Cells of the histograms of one level: 2^25 sums, counts and scores are about a gigabyte.
MOST_CELLS = 1 << 25


@dataclass(frozen=True, eq=False)
class Tree:
    """A full binary tree; node i has the children 2i + 1 (bin ≤ threshold) and 2i + 2.

    Attributes
    ----------
    features, thresholds : array
        One per inner node.
    values : array
        One per leaf.
    """

    features: NDArray[np.intp]
    thresholds: NDArray[np.intp]
    values: Floats

    @property
    def depth(self) -> int:
        """Levels of splits."""
        return int(self.values.size).bit_length() - 1

    def leaf_of(self, bins: Bins) -> NDArray[np.intp]:
        """Which leaf every record is in."""
        node = np.zeros(len(bins), np.intp)
        rows = np.arange(len(bins))
        for _ in range(self.depth):
            node = 2 * node + 1 + (bins[rows, self.features[node]] > self.thresholds[node])
        return node - self.features.size

    def predict(self, bins: Bins) -> Floats:
        """The value of every record's leaf."""
        return np.asarray(self.values[self.leaf_of(bins)])


@dataclass(frozen=True)
class Growing:
    """How a tree is grown.

    Attributes
    ----------
    depth, bins : int
    level_epsilon : Fraction
        Privacy level of the splits of one level: its nodes hold different records.
    regularisation : float
        λ of the scores of splits.
    """

    depth: int
    bins: int
    level_epsilon: Fraction
    regularisation: float
    leaves: Leaves

    def grow(self, bins: Bins, gradients: Ints, clip: float, randomness: Randomness) -> Tree:
        """A tree of these records; its leaves hold mean gradients."""
        inner = (1 << self.depth) - 1
        features, thresholds = np.zeros(inner, np.intp), np.zeros(inner, np.intp)
        node, rows = np.zeros(len(bins), np.intp), np.arange(len(bins))
        for level in range(self.depth):
            nodes = 1 << level
            sums, counts = histograms(bins, gradients, node, nodes, self.bins)
            scores = split_scores(sums, counts, self.regularisation)
            chosen = exponential_choice(scores.reshape(nodes, -1), self.level_epsilon / SCORE_RANGE, randomness)
            here = slice(nodes - 1, 2 * nodes - 1)
            features[here], thresholds[here] = np.divmod(chosen, self.bins - 1)
            node = 2 * node + (bins[rows, features[here][node]] > thresholds[here][node])
        count = 1 << self.depth
        sums_of = np.bincount(node, gradients, count).astype(np.int64)
        means = self.leaves.means(sums_of, np.bincount(node, minlength=count), clip, randomness)
        return Tree(features, thresholds, means)


def histograms(bins: Bins, gradients: Ints, node: NDArray[np.intp], nodes: int, size: int) -> tuple[Floats, Floats]:
    """Sums of gradients and counts (nodes, features, bins): whole numbers, which floats add up exactly."""
    features = bins.shape[1]
    cells = nodes * features * size
    if cells > MOST_CELLS:
        raise InputError(
            f"a level of {nodes:,} nodes with {features:,} features of {size} bins has more than {MOST_CELLS:,} cells: "
            "take a smaller max_depth or fewer max_bins"
        )
    sums, counts = np.zeros(cells), np.zeros(cells)
    offsets = np.arange(features) * size
    step = max(1, _AT_ONCE // features)
    for start in range(0, len(bins), step):
        part = slice(start, start + step)
        index = ((node[part] * (features * size))[:, None] + offsets + bins[part]).reshape(-1)
        sums += np.bincount(index, np.repeat(gradients[part], features), cells)
        counts += np.bincount(index, minlength=cells)
    shape = (nodes, features, size)
    return sums.reshape(shape), counts.reshape(shape)
