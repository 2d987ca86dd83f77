"""Binomial chances on the counts that occur, and the line by which a share of reports becomes a frequency."""

from __future__ import annotations

import math

import numpy as np

from discreet.arguments import Floats
from discreet.mechanisms import FiniteMechanism

#: Standard deviations on either side that a sum covers, and counts beyond them.
_REACH, _BEYOND = 8.0, 12


def counts(n: int, chance: float) -> tuple[Floats, Floats]:
    """The counts that occur among n, and their probabilities."""
    from scipy.special import gammaln, xlog1py, xlogy

    reach = _REACH * math.sqrt(n * chance * (1 - chance)) + _BEYOND
    seen = np.arange(max(0, math.floor(n * chance - reach)), min(n, math.ceil(n * chance + reach)) + 1, dtype=float)
    logs = gammaln(n + 1.0) - gammaln(seen + 1) - gammaln(n - seen + 1) + xlogy(seen, chance)
    return seen, np.exp(logs + xlog1py(n - seen, -chance))


def line(mechanism: FiniteMechanism, value: int) -> tuple[float, float] | None:
    """(slope, offset) of a frequency in the share of its own report, where it depends on nothing else."""
    single = mechanism.inverse.single
    return None if single is None else (float(single[0][value]), float(single[1][value]))
