"""Rounds of boosting on disjoint groups of records, drawn with public probabilities.

**Who goes where.** In every ensemble each record draws its round independently: round j of T with probability
``η(1 − η)^(j − 1)/(1 − (1 − η)^T)``, a public number. Given everybody's draws, adding or removing a record changes
the group of one round and no other; earlier trees do not depend on it, later ones are functions of released trees and
of other groups. So the record's ε in the ensemble is that of one round. Groups of sizes that are worked out from the
number of records, as published (Li, Wu, Wen and He 2020), do not have this property: one more record moves others
from group to group.

**Filtering.** A record takes part in its round if its gradient is within [−1, 1]. That is a property of the record
and of released trees alone, and costs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import Floats
from discreet.learning.boosting.gradients import Loss, on_grid
from discreet.learning.boosting.tree import Bins, Growing, Tree
from discreet.privacy.exact import largest_remainders
from discreet.randomness import AliasTable, Randomness

#: Probabilities of rounds are written over this power of two.
_BITS = 48


def round_weights(rounds: int, learning_rate: float) -> tuple[int, ...]:
    """Whole numbers over 2⁴⁸ in proportion to ``(1 − η)^(j − 1)``."""
    stay = 1 - Fraction(learning_rate)
    powers = [Fraction(round(stay**j * (1 << 60)), 1 << 60) for j in range(rounds)]
    return largest_remainders(powers, 1 << _BITS)


def draw_rounds(records: int, weights: tuple[int, ...], randomness: Randomness) -> NDArray[np.intp]:
    """The round of every record."""
    if len(weights) == 1:
        return np.zeros(records, np.intp)
    table = AliasTable([weights], 1 << _BITS)
    return np.asarray(table.draw(np.zeros(records, np.intp), randomness), np.intp)


@dataclass(frozen=True)
class Boosting:
    """A fit.

    Attributes
    ----------
    loss : Loss
    rounds : int
        Of one ensemble.
    ensembles : int
    learning_rate : float
        η.
    """

    loss: Loss
    growing: Growing
    rounds: int
    ensembles: int
    learning_rate: float

    def fit(self, bins: Bins, outcomes: Floats, randomness: Randomness) -> list[list[Tree]]:
        """Trees of all rounds, one per output in each; their values are to be added to the score."""
        scores = np.zeros((len(bins), self.loss.outputs))
        released: list[list[Tree]] = []
        weights = round_weights(self.rounds, self.learning_rate)
        for _ in range(self.ensembles):
            round_of = draw_rounds(len(bins), weights, randomness)
            waiting = np.arange(len(bins))
            before = len(released)
            for number in range(self.rounds):
                mine = round_of[waiting] == number
                group, waiting = waiting[mine], waiting[~mine]
                trees = self._round(bins[group], scores[group], outcomes[group], number, randomness)
                released.append(trees)
                # Only records of later rounds need to know what this one says.
                self._add(trees, bins, scores, waiting)
            for place, trees in enumerate(released[before:]):
                # The others catch up before the next ensemble.
                if self.ensembles > 1:
                    self._add(trees, bins, scores, np.flatnonzero(round_of <= place))
        return released

    def _round(self, bins: Bins, scores: Floats, outcomes: Floats, number: int, randomness: Randomness) -> list[Tree]:
        gradients = self.loss.gradients(scores, outcomes)
        clip = (1 - self.learning_rate) ** number
        step = -self.learning_rate / self.loss.curvature
        trees = []
        for output in range(self.loss.outputs):
            kept = np.abs(gradients[:, output]) <= 1
            tree = self.growing.grow(bins[kept], on_grid(gradients[kept, output]), clip, randomness)
            trees.append(Tree(tree.features, tree.thresholds, step * tree.values))
        return trees

    @staticmethod
    def _add(trees: list[Tree], bins: Bins, scores: Floats, rows: NDArray[np.intp]) -> None:
        if rows.size:
            seen = bins[rows]
            for output, tree in enumerate(trees):
                scores[rows, output] += tree.predict(seen)


def predict_scores(trees: list[list[Tree]], bins: Bins, outputs: int) -> Floats:
    """The sum of all trees, one column per output."""
    scores = np.zeros((len(bins), outputs))
    for each in trees:
        for output, tree in enumerate(each):
            scores[:, output] += tree.predict(bins)
    return scores
