"""Average marginal effects where the average itself depends on the fit: the delta method with numerical derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from discreet.arguments import Floats
from discreet.estimate.regressions.likelihood.effects import MarginalEffects
from discreet.estimate.reporting.result import frozen

#: Central differences over this share of a standard error: errors of the order of its square.
_STEP = 1e-3


def averaged_effects(
    average: Callable[[Floats], Floats],
    coefficients: Floats,
    covariance: Floats,
    names: Sequence[str],
    freedom: float,
    notes: tuple[str, ...] = (),
) -> MarginalEffects:
    """Effects as a function of the coefficients, with the covariance ``J V Jᵀ``.

    Parameters
    ----------
    average : function
        Of points, one row each, at which it gives the effects, one row each: all points are asked for at once.
    """
    errors = np.sqrt(np.diag(covariance))
    steps = _STEP * np.where(np.isfinite(errors) & (errors > 0), errors, 1.0)
    moves = np.diag(steps)
    found = average(np.vstack([coefficients, coefficients + moves, coefficients - moves]))
    ahead, behind = np.split(found[1:], 2)
    jacobian = ((ahead - behind) / (2 * steps[:, None])).T
    return MarginalEffects(
        names=tuple(names),
        coefficients=frozen(found[0]),
        covariance=frozen(jacobian @ covariance @ jacobian.T),
        freedom=freedom,
        notes=notes,
    )
