"""How the privacy level of a fit is shared, in exact fractions."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Budget:
    """ε over ensembles, outputs, levels of splits, and leaves.

    Ensembles follow one another on the same records and share ε equally. Within an ensemble every record is in one
    round of boosting only, so that the rounds do not add up. A round has one tree per output (several classes: one
    each), which share what the round has. Within a tree a record meets one node per level and one leaf.

    Attributes
    ----------
    total : Fraction
        ε of the whole fit.
    ensembles, outputs, depth : int
    split_share : Fraction
        Which part of a tree's ε goes to its splits; the rest to its leaves.
    """

    total: Fraction
    ensembles: int
    outputs: int
    depth: int
    split_share: Fraction

    @property
    def tree(self) -> Fraction:
        """ε of one tree."""
        return self.total / (self.ensembles * self.outputs)

    @property
    def level(self) -> Fraction:
        """ε of the splits of one level of a tree."""
        return self.tree * self.split_share / self.depth

    @property
    def leaf(self) -> Fraction:
        """ε of the leaves of a tree."""
        return self.tree * (1 - self.split_share)

    def composed(self, leaf: Fraction) -> Fraction:
        """What a record spends in all when the leaves of a tree spend this much."""
        return (self.level * self.depth + leaf) * self.outputs * self.ensembles

    def lines(self) -> list[str]:
        """Where ε goes, for people."""
        shared = f" shared by {self.ensembles} ensembles" if self.ensembles > 1 else ""
        shared += f" and {self.outputs} trees a round" if self.outputs > 1 else ""
        each = "each" if shared else "the one"
        return [
            f"ε = {float(self.total):.6g}{shared}: {float(self.tree):.6g} for {each} tree that a record meets",
            f"in a tree {float(self.level):.6g} for each of {self.depth} levels of splits, {float(self.leaf):.6g} for "
            "the leaves",
        ]
