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
    """Refuse a channel that is too large to be summed and has no closed form."""
    if max(mechanism.shape) > MAX_MEMOISED and type(mechanism).report_at is FiniteMechanism.report_at:
        raise MechanismError(
            f"memoised reports of {mechanism.title} are limited to {MAX_MEMOISED:,} values and reports, not "
            f'{max(mechanism.shape):,}; mechanism = "frequencies" has no such limit'
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
    bound, report_at = mechanism.denominator, mechanism.report_at
    if max(mechanism.shape) <= MAX_MEMOISED:
        sums = [list(accumulate(row)) for row in mechanism.weights()]
        report_at = lambda code, place: bisect_right(sums[code], place)  # noqa: E731  # rows are summed once
    out = np.empty(len(codes), mechanism.report_dtype)
    for i, (code, person) in enumerate(zip(codes.tolist(), persons, strict=True)):
        out[i] = report_at(code, key.integer(purpose, person, code, bound))
    return out
