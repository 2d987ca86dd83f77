"""The rule by which a page draws a report, in Python: the same bytes give the same report.

The channel is one of exact integer weights: under truth x report y has probability ``w[x][y]/d``. A coin is a uniform
integer C, 0 ≤ C < d, drawn by rejection from as many bits as d − 1 has; the report is the first y with
``w[x][0] + … + w[x][y] > C``. The coin is drawn before the answer is known and depends on d alone, so an answer that is
changed and changed back gives the first report again. ``assets/sampler.js`` does the same in a browser.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import accumulate
from typing import Any

from discreet.blocks import Block
from discreet.errors import PlanError
from discreet.mechanisms import CyclicResponse, FiniteMechanism
from discreet.mechanisms.joint.view import JointView
from discreet.plain_text import one_line

#: Truths and reports of a channel that a page holds: rows are written into the page, or made there for every answer.
MOST_REPORTS = 4_096
#: Integer weights that are written out in a page, of some twenty digits each: half a megabyte.
MOST_WEIGHTS = 20_000
#: Combinations of answers that are randomised together: a phone makes one row of them for every report.
MOST_CELLS = 1_024


def coin(size: int, random_bytes: Callable[[int], bytes]) -> int:
    r"""A uniform integer from 0 to size − 1: bits are read, most significant byte first, until they are below size.

    >>> numbers = iter([b"\xff", b"\x02"])
    >>> coin(6, lambda count: next(numbers))         # three bits: 7 is drawn again
    2
    """
    bits = (size - 1).bit_length()
    count = -(-bits // 8)
    while bits:
        number = int.from_bytes(random_bytes(count)) & ((1 << bits) - 1)
        if number < size:
            return number
    return 0


def report(mechanism: FiniteMechanism, truth: int, toss: int) -> int:
    """The report under a truth for a coin below the denominator.

    >>> from discreet.mechanisms import BinaryResponse
    >>> [report(BinaryResponse("3/4", "3/4"), 0, toss) for toss in range(4)]
    [0, 0, 0, 1]
    """
    row = mechanism.weights()[truth]
    return next(code for code, mass in enumerate(accumulate(row)) if mass > toss)


def page_channel(mechanism: FiniteMechanism) -> dict[str, Any]:
    """The mechanism as the page reads it: as a manifest writes it, or in the closed form that can be drawn from."""
    if isinstance(mechanism, JointView):
        weights, _ = mechanism.pattern_weights
        return {"kind": "cells", "sizes": list(mechanism.sizes), "patterns": [str(weight) for weight in weights]}
    data = mechanism.to_dict()
    if isinstance(mechanism, CyclicResponse):
        elements = sorted(int(one) for one in mechanism.design.elements)
        return {**data, "order": mechanism.design.order, "elements": elements}
    return {key: data[key] for key in data if key not in ("procedure", "epsilon", "points", "values")}


def drawn_channels(block: Block) -> dict[str, FiniteMechanism]:
    """The channels that a page draws from for a block, by design; refused where it cannot do so exactly.

    Columns that are randomised together have one channel of combined codes; all others have one per column.
    """
    names = one_line(", ".join(f'"{column}"' for column in block.columns))
    if not block.together:
        channels = dict(block.channels_of(block.columns[0]))
        if not channels:
            raise PlanError(f"{names}: numbers with noise cannot be drawn exactly in a page; declare a grid")
        for mechanism in channels.values():
            _check_size(mechanism, names)
        return channels
    sizes = [getattr(block.truths_of(name), "size", 0) for name in block.columns]
    cells = math.prod(sizes)
    if not cells:
        raise PlanError(f"{names}: numeric vectors cannot be drawn exactly in a page; declare grids")
    if cells > MOST_CELLS:
        raise PlanError(
            f"{names}: {cells:,} combinations of answers are too many to be drawn together in a page (up to "
            f"{MOST_CELLS:,}); make several blocks of them"
        )
    view = block.channels_of(*block.columns)[""]
    if isinstance(view, JointView) and view.joint.law.subset_error(view.attributes):
        raise PlanError(f"{names}: this mixture of thresholds has no exact cells; make several blocks of it")
    return {"": view}


def _check_size(mechanism: FiniteMechanism, names: str) -> None:
    largest = max(mechanism.shape)
    if largest > MOST_REPORTS:
        raise PlanError(
            f"{names}: {largest:,} values or reports are too many for a page (up to {MOST_REPORTS:,}); merge values"
        )
    if "rows" in (data := mechanism.to_dict()) and mechanism.shape[0] * mechanism.shape[1] > MOST_WEIGHTS:
        raise PlanError(
            f"{names}: {data['kind']} response of {mechanism.shape[0]} × {mechanism.shape[1]} weights is too large for "
            f"a page (up to {MOST_WEIGHTS:,}); use randomized-response or bipartite, which have a closed form"
        )
