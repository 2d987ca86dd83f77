"""One list of mechanisms for every contract test: a new mechanism is added here and inherits all of them."""

from __future__ import annotations

import numpy as np

from discreet import Box, Grid, Ordinal, design
from discreet.mechanisms import (
    BinaryResponse,
    BipartiteResponse,
    ChannelResponse,
    CyclicResponse,
    ExponentialResponse,
    GeneralizedResponse,
    PaleySet,
    SingerSet,
    UnbiasedResponse,
    ZeroInflatedLaplace,
)

#: name -> (mechanism, requested epsilon or None, requested delta)
FINITE = {
    "binary": (design.binary(1.0).mechanism, 1.0, 0.0),
    "binary tiny epsilon": (design.binary(1e-6).mechanism, 1e-6, 0.0),
    "binary huge epsilon": (design.binary(50.0).mechanism, 50.0, 0.0),
    "binary delta": (design.binary(0.5, 0.1, 0.25).mechanism, 0.5, 0.1),
    "binary corner": (design.binary(1.0, 0.4, 0.1).mechanism, 1.0, 0.4),
    "binary minimax": (design.binary(1.0, 0.4, (0.05, 0.6)).mechanism, 1.0, 0.4),
    "four reports": (design.binary(0.5, 0.1, 0.25, reports=4).mechanism, 0.5, 0.1),
    "generalized 2": (GeneralizedResponse(2, 0.3), 0.3, 0.0),
    "generalized 4": (GeneralizedResponse(4, 1.0), 1.0, 0.0),
    "generalized 17": (GeneralizedResponse(17, 2.0), 2.0, 0.0),
    "generalized 300": (GeneralizedResponse(300, 5.0), 5.0, 0.0),
    "direct": (BinaryResponse.direct(), None, 0.0),
    "warner": (BinaryResponse.warner("2/3"), None, 0.0),
    "forced": (BinaryResponse.forced("1/6", "1/4"), None, 0.0),
    "crosswise": (BinaryResponse.crosswise("1/4"), None, 0.0),
    "unrelated": (BinaryResponse.unrelated("2/3", "1/4"), None, 0.0),
    "mangat": (BinaryResponse.mangat("3/5"), None, 0.0),
    "kuk": (BinaryResponse.kuk("4/5", "1/5"), None, 0.0),
    "triangular": (BinaryResponse.triangular("1/4"), None, 0.0),
    "devore": (BinaryResponse.devore("3/5"), None, 0.0),
    "mangat_singh": (BinaryResponse.mangat_singh("1/3", "3/5"), None, 0.0),
    "mangat_singh_singh": (BinaryResponse.mangat_singh_singh("1/3", "1/4"), None, 0.0),
    "two_stage_unrelated": (BinaryResponse.two_stage_unrelated("1/3", "1/2", "1/4"), None, 0.0),
    "singh_joarder": (BinaryResponse.singh_joarder("3/5"), None, 0.0),
    "floats": (BinaryResponse(0.9, 0.7), None, 0.0),
    "channel wide": (ChannelResponse([["1/2", "1/4", "1/4"], ["1/4", "1/4", "1/2"]]), None, 0.0),
    "channel tall": (ChannelResponse([["2/3", "1/3"], ["1/2", "1/2"], ["1/3", "2/3"]]), None, 0.0),
    "channel floats": (ChannelResponse([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4]]), None, 0.0),
    "channel zeros": (ChannelResponse([[3, 1, 0], [0, 2, 2]]), None, 0.0),
    "bipartite 5": (BipartiteResponse(5, 3, 1.0), 1.0, 0.0),
    "bipartite even": (BipartiteResponse(6, 2, 0.3), 0.3, 0.0),
    "bipartite one": (BipartiteResponse(7, 1, 2.0), 2.0, 0.0),
    "bipartite all": (BipartiteResponse(4, 4, 1.0), None, 0.0),
    "bipartite lists": (BipartiteResponse(4, 2, 1.0, [[0, 1], [1, 2], [2, 3], [0, 3]]), 1.0, 0.0),
    "bipartite full rank": (BipartiteResponse(3, 2, 0.5, [[0, 1], [1, 2], [0, 2]]), 0.5, 0.0),
    "exponential": (ExponentialResponse([[0, 1, 2], [1, 0, 1], [2, 1, 0]], 1.0), 1.0, 0.0),
    "exponential tiny epsilon": (ExponentialResponse([[0, 1, 3], [2, 0, 1], [2, 1, 0]], 1e-6), 1e-6, 0.0),
    "exponential huge epsilon": (ExponentialResponse([[0, 1, 3], [2, 0, 1], [2, 1, 0]], 50.0), 50.0, 0.0),
    "exponential published": (ExponentialResponse.published([[0, 1], [1, 0]], 1.0), None, 0.0),
    "cyclic 13": (CyclicResponse(13, 1.0, design=SingerSet(3, 1, 2)), 1.0, 0.0),
    "cyclic 9 of 13": (CyclicResponse(9, 2.0, design=SingerSet(3, 1, 2)), 2.0, 0.0),
    "cyclic 100": (CyclicResponse(100, 1.0), 1.0, 0.0),
    "cyclic over nine": (CyclicResponse(20, 2.3, design=SingerSet(3, 2, 2)), 2.3, 0.0),
    "cyclic squares": (CyclicResponse(19, 0.2, design=PaleySet(19)), 0.2, 0.0),
    "cyclic tiny epsilon": (CyclicResponse(5, 1e-6), 1e-6, 0.0),
    "unbiased": (design.mean(Grid(-1, 1, 5), 1.0).mechanism, 1.0, 0.0),
    "unbiased positions": (design.mean(Ordinal([0, 1, 5, 20]), 3.0).mechanism, 3.0, 0.0),
    "unbiased by hand": (UnbiasedResponse([[3, 1], [2, 2], [1, 3]], [-1, 0, 1], [-2, 2]), None, 0.0),
    "cyclic huge epsilon": (CyclicResponse(40, 50.0, design=SingerSet(3, 1, 3)), 50.0, 0.0),
}


def _mixed(count: int, low: float, high: float):
    generator = np.random.default_rng(count)
    return generator.integers(2, 6, count).tolist(), generator.uniform(low, high, count).tolist()


def _joint(sizes, levels, method="exact", pairs="keep"):
    found = design.attributes(sizes, levels, method, pairs, allow_raised=method == "inductive")
    return found.mechanism, found.requested if method != "inductive" else None


#: name -> (mechanism of whole records, requested marginal levels or None)
RECORDS = {
    "joint product": _joint([3, 4, 2], [1, 2, 0.5], "kronecker"),
    "joint programme": _joint([3, 4, 2], [1, 2, 0.5], "lp"),
    "joint exact": _joint([3, 4, 2], [1, 2, 0.5]),
    "joint free": _joint([2] * 3, [0.5] * 3, pairs="free"),
    "joint heuristic": _joint([2] * 8, [1.0] * 8, "inductive"),
    "joint counts": _joint([4] * 30, [0.5] * 30),
    "joint tiny levels": _joint([2, 3], [1e-6, 2e-6]),
    "joint huge levels": _joint([2, 3], [50.0, 40.0]),
    "joint threshold": _joint(*_mixed(40, 0.2, 2), pairs="free"),
    "joint mixture": _joint(*_mixed(18, 1, 10), pairs="free"),
    "one number": (design.means([Grid(0, 1, 3), Grid(-5, 5, 5)], 1.0, method="one").mechanism, None),
    "numeric": (ZeroInflatedLaplace(Box([0, -1, 10], [1, 1, 30]), 0.8, 0.1), None),
    "numeric one column": (ZeroInflatedLaplace(Box(0, 1), 0.5, 0.2), None),
    "numeric never exact": (ZeroInflatedLaplace(Box([0, 0], [1, 2]), [1.0, 2.0], 0.0), None),
    "numeric on whole numbers": (ZeroInflatedLaplace(Box([0, 0], [90, 10]), 1.5, 0.05, grid=1), None),
}
