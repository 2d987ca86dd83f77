"""Which correction to use: the one of least estimated variance among those that are valid here.

Every candidate is unbiased on its own, and is fitted whole. They are compared by the estimated variance of the index
for columns as far from their middle as is usual, the sum of ``spread² × variance`` over coefficients. The first of the
list is kept unless another is clearly below it (a tenth): differences of estimated variances within their own error
decide nothing.

An estimate and its own estimated variance err together: coefficients that are too small by chance come with a variance
that is too small, and a choice by it would pick just these (of the fits that such a choice took from the whole-space
correction of a rare outcome, 47 % of the 95 % intervals covered). A candidate is therefore also judged at the estimate
of the one that it would replace, and the larger of its two variances counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.m_estimation.result import MEstimate

#: A variance below this share of the first candidate's is clearly below it.
CLEARLY = 0.9


def least_variance(
    candidates: Mapping[str, Callable[[], MEstimate]],
    spread: Floats | None,
    elsewhere: Callable[[str, Floats], Floats | None],
) -> MEstimate:
    """Fit every candidate and keep the best, with a note that says which and why.

    Parameters
    ----------
    candidates : mapping of function by method
        In order of preference.
    spread : array or None
        Of the columns that the coefficients multiply; None where parameters have no columns.
    elsewhere : function
        The covariance of a method at the estimate of another; None where it is not to be had.
    """
    fits: dict[str, MEstimate] = {}
    refused: EstimationError | None = None
    for method, fit in candidates.items():
        try:
            fits[method] = fit()
        except EstimationError as error:  # a function that is not finite outside the box, say: others may do
            refused = refused or error
    if not fits:
        assert refused is not None
        raise refused
    sizes = {method: _size(fit.covariance, fit.converged, spread) for method, fit in fits.items()}
    chosen = next(iter(fits))
    for method in list(fits)[1:]:
        if sizes[method] < CLEARLY * sizes[chosen] < math.inf:
            there = elsewhere(method, np.array(fits[chosen].coefficients))
            if there is not None:
                sizes[method] = max(sizes[method], _size(there, True, spread))
        if sizes[method] < CLEARLY * sizes[chosen]:
            chosen = method
    best = fits[chosen]
    return replace(best, notes=(*best.notes, _why(chosen, sizes))) if len(candidates) > 1 else best


def _size(covariance: Floats, converged: bool, spread: Floats | None) -> float:
    """What is compared; infinite for a fit that did not end in a minimum."""
    variance = np.diag(covariance)
    if not (converged and np.isfinite(variance).all()):
        return math.inf
    if spread is not None:
        return float(spread**2 @ variance)
    return float(np.exp(np.mean(np.log(np.maximum(variance, 1e-300)))))  # parameters have units of their own


def _why(chosen: str, sizes: Mapping[str, float]) -> str:
    others = {method: size for method, size in sizes.items() if method != chosen}
    text = f'the method "{chosen}" was chosen by its estimated variance'
    if not others:
        return f"{text}: no other applies"
    if math.isinf(sizes[chosen]):
        return f'the method "{chosen}" is shown; {", ".join(others)} did not converge either'
    return f"{text}: {', '.join(_compared(method, size, sizes[chosen]) for method, size in others.items())}"


def _compared(method: str, size: float, least: float) -> str:
    if math.isinf(size):
        return f'"{method}" did not converge'
    if least == 0:  # outcomes that the coefficients fit exactly leave nothing to vary
        return f'"{method}" has {"none either" if size == 0 else "more"}'
    return f'"{method}" has {size / least:.3g} times it'
