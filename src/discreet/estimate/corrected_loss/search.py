"""Search for the minimum of a corrected loss in coordinates that do not depend on the units of the columns.

Coefficients θ are written as ``θ = R φ`` with ``R'MR = 1``, M the mean of x x' over rows and cells: the length of φ is
the size of the linear predictor. A year beside a constant (mean 2000, spread 7) is then no further away than the same
number about its mean, and the loss of an outcome in other units is divided by the unit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from discreet.arguments import Floats
from discreet.estimate.corrected_loss.objective import CorrectedLoss
from discreet.estimate.m_estimation.objective import Moments
from discreet.estimate.m_estimation.solver import Solution, minimise
from discreet.estimate.trust_region import inverse_root


@dataclass(frozen=True, eq=False)
class _Rescaled:
    """A loss as a function of φ, per unit."""

    risk: CorrectedLoss
    root: Floats
    unit: float

    def moments(self, phi: Floats) -> Moments:
        """Value, gradient and second derivatives."""
        here, root = self.risk.moments(self.root @ phi), self.root
        square = root.T @ here.hessian @ root / self.unit
        return replace(here, value=here.value / self.unit, gradient=root.T @ here.gradient / self.unit, hessian=square)


def local_minimum(risk: CorrectedLoss, start: Floats, reach: float, size: float = 1.0, unit: float = 1.0) -> Solution:
    """The minimum near a start.

    Parameters
    ----------
    reach : float
        How far a linear predictor of average size may go, in sizes of itself at the start.
    size : float
        What the size of a linear predictor is measured in.
    unit : float
        What the loss is measured in.
    """
    root = inverse_root(parameter_metric(risk)) * size
    phi = np.asarray(np.linalg.solve(root, start), float)
    radius = reach * (1 + float(np.linalg.norm(phi)))
    found = minimise(cast("Any", _Rescaled(risk, root, unit)), phi, np.ones(phi.size), radius)
    return replace(found, theta=root @ found.theta, value=found.value * unit)


def parameter_metric(risk: CorrectedLoss) -> Floats:
    """``θ' metric θ`` is the mean square of the linear predictors, added up over them."""
    full = np.asarray(np.kron(np.eye(risk.family.predictors), risk.metric), float)
    transform = risk.transform
    return full if transform is None else np.asarray(transform.T @ full @ transform)
