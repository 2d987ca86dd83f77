"""Reports of the same people to the same question: memoised ones are not independent, and cannot be crossed.

With ``repeat = "memoise"`` equal values of a person have the identical report in every wave. A cross-table of two waves
takes the randomisations to be independent of each other, and is far off (cells below 0 and above 1).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import EstimationError
from discreet.estimate.channels.channel import Channels
from discreet.estimate.data.columns import ReleaseColumn
from discreet.estimate.data.source import Source
from discreet.estimate.sampling.report_totals import collect
from discreet.mechanisms.finite import MAX_MATRIX

#: How likely it is to refuse columns that were randomised independently of each other, at most.
_FALSE_ALARM = 1e-12
_REFUSED = (
    "the two columns are memoised reports of the same people to the same question: equal values give identical "
    "reports, so the two randomisations are not independent and cannot be crossed; estimate each wave on its own, or "
    'release the waves without repeat = "memoise"'
)


def refuse_repeated(first: Channels, second: Channels, counts: NDArray[Any] | None = None) -> None:
    """Refuse two columns whose mechanisms are marked as memoised for one question, or whose reports agree too often.

    Two independent reports of a person through one channel agree with probability ``Σ_y Q(x, y) Q(x', y)``, which is at
    most ``max_x Σ_y Q(x, y)²`` (Cauchy and Schwarz). The share of n people who agree exceeds that by ``√(ln(1/α)/2n)``
    with probability α at most (Hoeffding 1963), whatever their values are.

    Parameters
    ----------
    counts : array, optional
        How often each pair of reports was seen.
    """
    if len(first.mechanisms) > 1 or len(second.mechanisms) > 1:
        return
    asked, other = first.mechanisms[0], second.mechanisms[0]
    if asked != other:  # another channel draws anew
        return
    if asked.question is not None and asked.question == other.question:
        raise EstimationError(_REFUSED)
    if counts is None or max(asked.shape) > MAX_MATRIX:
        return
    n = int(counts.sum())
    agree = int(np.trace(counts.reshape(asked.shape[1], -1)))
    often = float((asked.matrix() ** 2).sum(axis=1).max())
    if n and agree / n > often + math.sqrt(-math.log(_FALSE_ALARM) / (2 * n)):
        raise EstimationError(f"{agree:,} of {n:,} pairs of reports agree, as only memoised ones can; {_REFUSED}")


def refuse_repeated_columns(release: Any, names: Sequence[str]) -> None:
    """Refuse memoised columns of a release, of tables that were joined, that answer one question twice."""
    blocks = {name: block for block in release.manifest.blocks if block.memoised for name in block.columns}
    for a, b in combinations([name for name in names if name in blocks], 2):
        pair = ReleaseColumn(release, a), ReleaseColumn(release, b)
        first, second = pair[0].channels, pair[1].channels
        if first.mechanisms == second.mechanisms and blocks[a].truths_of(a) == blocks[b].truths_of(b):
            source = Source(release=release, total=int(release.rows), readers=pair)
            evidence, _ = collect(source, source.survey())
            refuse_repeated(first, second, evidence[0][1].counts)
