"""Numbers given to a mechanism for vectors: one per coordinate, and the public grid of powers of two."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from discreet import arguments
from discreet.domains.box import Box
from discreet.errors import MechanismError

#: The default grid is this much finer than the noise, and than the box.
_FINER_BITS = 12
_FINER_BITS_OF_BOX = 8
#: The finest grid: beyond it many numbers would have to be rounded from their bits.
_FINEST_BITS = 20
#: Bits between the largest number of a box and its grid: whole steps must be exact in floating point, also with noise.
_MAX_MAGNITUDE_BITS = 48


def per_coordinate(value: Any, dimension: int, name: str) -> tuple[float, ...]:
    """One number for all coordinates, or one for each."""
    given = arguments.floats(value, name, MechanismError)
    if given.ndim == 0:
        return (arguments.number(value, name, MechanismError, above=0),) * dimension
    if given.shape != (dimension,) or not np.all(given > 0):
        raise MechanismError(f"{name} must be above 0: one number for all, or one number per coordinate ({dimension})")
    return tuple(given.tolist())


def public_grid(given: Any, box: Box, scales: tuple[float, ...]) -> tuple[float, ...]:
    """Powers of two, checked against the noise and the size of the numbers."""
    if given is None:
        steps = tuple(
            _default_step(one, high - low, max(abs(low), abs(high)))
            for one, low, high in zip(scales, box.low, box.high, strict=True)
        )
    else:
        steps = per_coordinate(given, box.dimension, "grid")
    for j, (step, one) in enumerate(zip(steps, scales, strict=True)):
        if math.frexp(step)[0] != 0.5:
            raise MechanismError(f"the grid of coordinate {j} must be a power of two, such as 0.25 or 8, not {step}")
        if step > one:
            raise MechanismError(f"the grid of coordinate {j} must not be coarser than its noise ({one:g}), not {step}")
        if step < one * 2.0**-_FINEST_BITS:
            raise MechanismError(f"the grid of coordinate {j} must be at least 2^-{_FINEST_BITS} of its noise")
        if max(abs(box.low[j]), abs(box.high[j]), one) / step > 2.0**_MAX_MAGNITUDE_BITS:
            raise MechanismError(
                f"the grid of coordinate {j} is too fine for numbers as large as its bounds; move the origin nearer"
            )
    return steps


def _default_step(scale: float, width: float, largest: float) -> float:
    """As fine as wished for, but not finer than the noise and the size of the numbers allow."""
    wished = math.floor(min(math.log2(scale) - _FINER_BITS, math.log2(width) - _FINER_BITS_OF_BOX))
    allowed = max(
        math.ceil(math.log2(scale)) - _FINEST_BITS + 1, math.ceil(math.log2(max(largest, scale))) - _MAX_MAGNITUDE_BITS
    )
    return math.ldexp(1.0, max(wished, allowed))
