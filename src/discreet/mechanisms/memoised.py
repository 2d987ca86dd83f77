"""Reports that are a function of person and value: the inverse of a row's distribution function at a keyed integer."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import MechanismError
from discreet.mechanisms.finite import FiniteMechanism
from discreet.randomness.memoised import MemoKey

#: Values and reports up to which the rows of a channel are summed.
MAX_MEMOISED = 1024


def check_memoised(mechanism: FiniteMechanism) -> None:
    """Refuse a channel that is too large."""
    if max(mechanism.shape) > MAX_MEMOISED:
        raise MechanismError(
            f"memoised reports are limited to {MAX_MEMOISED:,} values and reports, not {max(mechanism.shape):,}"
        )


def memoised_reports(
    mechanism: FiniteMechanism, codes: NDArray[Any], persons: Sequence[bytes], key: MemoKey, purpose: bytes
) -> NDArray[Any]:
    """The report of every person about their value: always the same for the same person, value, key and purpose.

    Report y is the one with ``Σ_{y' < y} w[x, y'] ≤ u < Σ_{y' ≤ y} w[x, y']`` for u uniform below the denominator, so
    that it has the exact law of the channel. The order of reports and the weights are part of the meaning: another
    channel must come with another purpose, or its reports would hang together with the earlier ones.
    """
    check_memoised(mechanism)
    bound = mechanism.denominator
    sums = [list(accumulate(row)) for row in mechanism.weights()]
    out = np.empty(len(codes), mechanism.report_dtype)
    for i, (code, person) in enumerate(zip(codes.tolist(), persons, strict=True)):
        out[i] = bisect_right(sums[code], key.integer(purpose, person, code, bound))
    return out
