"""Reports with exactly the law of ideal noise: ``round(x + √W·(λ₁N₁, …, λ_dN_d))``, or ``round(x)`` now and then.

The noise is drawn in floating point. Where its error could change the nearest grid point (once in 10⁷ numbers or so),
the number is rounded again from its own random bits, and further ones, until the grid point is certain. What is
released is therefore a function of ideal noise, as its δ supposes: no atoms, no tails cut off, no rounding error, at
any ε. That rests on correctly rounded arithmetic and on a logarithm good to 2⁻⁵⁰
(:mod:`~discreet.randomness.continuous`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import Floats
from discreet.randomness import Randomness, Thresholds
from discreet.randomness.continuous import PRODUCT_ERROR, Exponentials, LazyExponential, Normals, nearest_step
from discreet.randomness.scratch import Scratch

Sampling = Literal["exact", "52-bit"]


def noisy_steps(
    rows: Floats,
    out: Floats,
    scale: Floats,
    zero: Thresholds | None,
    randomness: Randomness,
    scratch: Scratch | None = None,
) -> None:
    """Write the nearest whole numbers to ``rows + noise``.

    Parameters
    ----------
    rows, out : array (n, d)
        Numbers in steps of the grid, below 2^48.
    scale : array (n, d)
        λ in steps of the grid, at least one; the same in every row.
    zero : Thresholds or None
        The probability of no noise.
    """
    memory = scratch or Scratch()
    normals = Normals.draw(rows.size, randomness, memory)
    exponentials = Exponentials.draw(rows.shape[0], randomness)
    exact = zero.below(rows.shape[0], randomness) if zero is not None else None
    root = np.sqrt(exponentials.values)
    if exact is not None:
        root[exact] = 0.0
    noise = normals.values.reshape(rows.shape)
    noise *= root[:, None]
    noise *= scale
    # Whole steps are set aside while the noise is added, so that large numbers cost no precision.
    whole = np.rint(rows, out=memory.floats(rows.size).reshape(rows.shape))
    offset = np.subtract(rows, whole, out=out)
    noise += offset
    nearest = np.rint(noise, out=memory.floats(rows.size).reshape(rows.shape))
    noise -= nearest
    # The floats decide unless they lie this near to the middle between two steps, or are NaN.
    limit = 0.5 - PRODUCT_ERROR * float(scale[0].max())
    if not (noise.max() <= limit and noise.min() >= -limit):
        doubtful = np.flatnonzero(~(np.abs(noise) <= limit))
        _decide(doubtful, offset, nearest, scale[0], exact, normals, exponentials, randomness)
    np.add(nearest, whole, out=out)


def _decide(
    places: NDArray[np.intp],
    offset: Floats,
    nearest: Floats,
    scale: Floats,
    exact: NDArray[np.bool_] | None,
    normals: Normals,
    exponentials: Exponentials,
    randomness: Randomness,
) -> None:
    """Round these numbers from their bits; numbers of one row share W, numbers of one pair its point."""
    shared: dict[int, LazyExponential] = {}
    for place in places.tolist():
        row, column = divmod(place, offset.shape[1])
        if exact is not None and exact[row]:
            nearest[row, column] = 0.0  # offsets are at most half a step, and ties went to the even one already
            continue
        if row not in shared:
            shared[row] = exponentials.lazy(row)
        pair, side = normals.lazy(place)
        nearest[row, column] = nearest_step(
            float(offset[row, column]), float(scale[column]), shared[row], pair, side, randomness
        )


def earlier_slack(scale: Sequence[float], grid: Sequence[float]) -> float:
    """How far reports of the first versions ("52-bit") can be from ideal ones, in total variation.

    Their uniforms had 52 bits, so that exponentials ended at 36.7 and normals at 8.6: ``2^-46·λ/g`` per coordinate for
    atoms in place of a density and ``2^-50`` for the tails. Where e^ε times this is no longer small, nothing is known
    about such a release; at ε = 44 its δ can be a hundred times the stated one.
    """
    return math.fsum(2.0**-46 * one / step + 2.0**-50 for one, step in zip(scale, grid, strict=True))
