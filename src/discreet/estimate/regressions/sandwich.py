"""The sandwich: bread, middle, and what is said about both."""

from __future__ import annotations

import math

import numpy as np

from discreet.arguments import Floats


def bread(hessian: Floats) -> Floats:
    """The inverse of the second derivatives; nan where they are not positive definite."""
    if not np.isfinite(hessian).all():
        return np.full(hessian.shape, math.nan)
    scale = 1 / np.sqrt(np.maximum(np.abs(np.diag(hessian)), 1e-300))
    values, vectors = np.linalg.eigh(hessian * np.outer(scale, scale))
    if not (np.isfinite(values).all() and values[0] > 1e-13):
        return np.full(hessian.shape, math.nan)
    return np.asarray(scale[:, None] * ((vectors / values) @ vectors.T) * scale)


def sandwich(hessian: Floats, middle: Floats, n: float) -> Floats:
    """``V⁻¹ A V⁻¹/n``; nan when V is not positive definite."""
    inverse = bread(hessian)
    with np.errstate(invalid="ignore"):
        matrix = inverse @ middle @ inverse / n
    return np.asarray((matrix + matrix.T) / 2)
