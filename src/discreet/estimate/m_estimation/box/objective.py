"""The risk of a loss on a linear index over copies inside the box: value, gradient, Hessian and scores by record."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import Floats
from discreet.estimate.m_estimation.box.copies import summed_by
from discreet.estimate.m_estimation.losses import IndexLoss
from discreet.estimate.m_estimation.objective import Moments, Noise, Objective

#: Copies handled at once.
_ROWS = 1 << 16


@dataclass(frozen=True, eq=False)
class BoxObjective:
    """``(1/n) Σ_records (Σ_copies w ℓ(θ'x, y) − c'θ)``.

    Parameters
    ----------
    loss : IndexLoss
    design : array (m, p)
        Of copies inside the box.
    outcomes : tuple of (y, weight)
        Of copies: one pair, or one per possible value of a randomised outcome. Weights undo the randomisation.
    record : array (m,)
        Whose copy it is.
    n : int
        Records.
    controls : array (n, p), optional
        Numbers of mean zero that are taken from the scores of the records: c.
    earlier : (centre, curvature, rows), optional
        A quadratic that stands for earlier batches, in units of one row.
    """

    loss: IndexLoss
    design: Floats
    outcomes: tuple[tuple[Floats, Floats], ...]
    record: NDArray[np.intp]
    n: int
    controls: Floats | None = None
    earlier: tuple[Floats, Floats, float] | None = None
    #: No noise is left in a copy.
    noise: Noise = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "noise", Noise(1.0, np.zeros(self.design.shape[1])))

    def with_loss(self, loss: IndexLoss) -> BoxObjective:
        """The same copies under another loss."""
        return replace(self, loss=loss)

    def _chunks(self, theta: Floats) -> Iterator[tuple[slice, Floats, Floats, Floats, Floats]]:
        """Copies, some at a time: where they are, their columns, and the weighed loss with two derivatives."""
        for start in range(0, len(self.design), _ROWS):
            rows = slice(start, start + _ROWS)
            x = self.design[rows]
            eta = x @ theta
            total = [np.zeros(eta.size) for _ in range(3)]
            for y, weight in self.outcomes:
                for part, term in zip(total, self.loss.plain(eta, y[rows]), strict=True):
                    part += weight[rows] * term
            yield rows, x, total[0], total[1], total[2]

    def value(self, theta: Floats) -> float:
        """The risk alone."""
        return self.moments(theta, scores=False).value

    def moments(self, theta: Floats, *, scores: bool = True) -> Moments:
        """Everything at once; scores (when asked for) only of this sample's records."""
        p, n = theta.size, self.n
        value, gradient, hessian = 0.0, np.zeros(p), np.zeros((p, p))
        summed = np.zeros((n, p)) if scores else None
        for rows, x, f, f1, f2 in self._chunks(theta):
            value += float(f.sum())
            gradient += f1 @ x
            hessian += (x * f2[:, None]).T @ x
            if summed is not None:
                summed += summed_by(self.record[rows], x * f1[:, None], n)
        if self.controls is not None:
            tilt = self.controls.sum(axis=0)
            value, gradient = value - float(tilt @ theta), gradient - tilt
            if summed is not None:
                summed -= self.controls
        meat = np.zeros((p, p)) if summed is None else summed.T @ summed / n
        value, gradient, hessian = value / n, gradient / n, hessian / n
        if self.earlier is not None:
            centre, curvature, before = self.earlier
            share, gap = before / (before + n), theta - centre
            value = (1 - share) * value + share * 0.5 * float(gap @ curvature @ gap)
            gradient = (1 - share) * gradient + share * (curvature @ gap)
            hessian = (1 - share) * hessian + share * curvature
        return Moments(value, gradient, hessian, meat)

    def copy_scores(self, theta: Floats) -> Floats:
        """The weighed gradient of every copy."""
        return np.concatenate([x * f1[:, None] for _, x, _, f1, _ in self._chunks(theta)])

    def row_scores(self, theta: Floats) -> Floats:
        """The corrected gradient of every record."""
        total = np.zeros((self.n, theta.size))
        for rows, x, _, f1, _ in self._chunks(theta):
            total += summed_by(self.record[rows], x * f1[:, None], self.n)
        return total if self.controls is None else total - self.controls


#: What is minimised: a corrected loss, or one over copies.
Risk: TypeAlias = Objective | BoxObjective
