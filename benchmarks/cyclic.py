"""Cyclic block designs at a million values: speed against generalised response, error against theory."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from statistics import median
from time import perf_counter

import numpy as np

from benchmarks.measure import Result, at_least, at_most, in_turn
from benchmarks.peers import SCRIPTS, PeerError, environment, run
from discreet import Randomness, estimate
from discreet.mechanisms import CyclicResponse, GeneralizedResponse

EPSILON = 1.0
SIZE = 10**6
#: Monte Carlo errors by which the mean squared error may differ from theory.
_WITHIN = 5
#: Values and records of the comparison with libraries that take records one by one.
_PEER_SIZE, _PEER_RECORDS = 1_000, 20_000


def cyclic_results(n: int, repetitions: int) -> Iterator[Result]:
    """Every figure that the mechanism for large domains has to reach."""
    mechanism, plain = CyclicResponse(SIZE, EPSILON), GeneralizedResponse(SIZE, EPSILON)
    codes = np.random.default_rng(1).integers(0, SIZE, n).astype(np.uint32)
    times = in_turn(lambda: mechanism.privatize(codes), lambda: plain.privatize(codes), 3 * repetitions)
    work = f"privatise n = {n:.0e} of {SIZE:,} values by a cyclic design"
    yield at_least(work, "GeneralizedResponse", 0.5, times.ratio, times.detail(n, "generalised"))
    counts = np.bincount(mechanism.privatize(codes), minlength=mechanism.shape[1])
    shares = counts.astype(float)
    times = in_turn(lambda: mechanism.supports(counts), lambda: np.fft.fft(shares), repetitions)
    yield at_most(
        f"decode the counts of {mechanism.shape[1]:,} reports, exact supports",
        "one numpy.fft.fft of that length",
        5.0,
        1 / times.ratio,
        times.detail(mechanism.shape[1], "transform"),
    )
    yield squared_error(mechanism, n)
    yield from against_unary_and_hashing(n // 2)


def against_unary_and_hashing(n: int) -> Iterator[Result]:
    """From answers to frequencies of a thousand values, beside OUE and OLH of multi-freq-ldpy, per record."""
    mechanism = CyclicResponse(_PEER_SIZE, EPSILON)
    truths = np.random.default_rng(3).integers(0, _PEER_SIZE, n)
    runs = []
    for _ in range(3):
        start = perf_counter()
        found = estimate.frequencies(mechanism.privatize(truths), mechanism)
        runs.append((perf_counter() - start) / n)
    ours = median(runs)
    error = n * float(np.mean((found.estimate - np.bincount(truths, minlength=_PEER_SIZE) / n) ** 2))
    try:
        # Its hashing gives text to xxhash, which newer versions refuse.
        python = environment("multi-freq-ldpy-hashing", ("multi-freq-ldpy", "xxhash<4"))
        peer = json.loads(run([python, SCRIPTS / "frequencies_multi_freq_ldpy.py", _PEER_SIZE, EPSILON, _PEER_RECORDS]))
    except PeerError as problem:
        yield Result(
            "frequencies of 1,000 values", "multi-freq-ldpy", "", f"not available: {problem}", math.nan, None, ""
        )
        return
    for name, theirs in peer["seconds"].items():
        detail = (
            f"ours {ours * 1e9:.3g} ns, theirs {theirs * 1e9:,.0f} ns a record, measured on {n:,} and "
            f"{peer['records'][name]:,} records"
        )
        work = f"privatise and estimate {_PEER_SIZE:,} frequencies"
        yield at_least(work, f"{name} of multi-freq-ldpy {peer['version']}", 50.0, theirs / ours, detail)
    unary, theory = peer["n_mse"]["OUE"], float(mechanism.answer_variance())
    formula = 4 * math.exp(EPSILON) / math.expm1(EPSILON) ** 2
    noise = formula * math.sqrt(2 / _PEER_SIZE)
    yield Result(
        f"n × mean squared error of {_PEER_SIZE:,} frequencies",
        f"OUE by formula, {formula:.4f}",
        "≤ 1.01 ×",
        f"{theory / formula:.4f} ×",
        theory / formula,
        theory <= 1.01 * formula,
        f"by formula {theory:.4f}; simulated {error:.3f} and OUE {unary:.3f}, Monte Carlo error {noise:.3f}",
    )


def squared_error(mechanism: CyclicResponse, n: int, seed: int = 1) -> Result:
    """``n`` times the mean squared error over all values, most of them rare, beside ``Q(1 − Q)/(P − Q)²``."""
    weights = 1 / np.arange(1, mechanism.size + 1) ** 1.2
    truths = np.random.default_rng(seed).choice(mechanism.size, n, p=weights / weights.sum())
    found = estimate.frequencies(mechanism.privatize(truths, Randomness.seeded(seed)), mechanism)
    squared = n * float(np.mean((found.estimate - np.bincount(truths, minlength=mechanism.size) / n) ** 2))
    theory = float(mechanism.answer_variance())
    error = theory * math.sqrt(2 / mechanism.size)
    return Result(
        f"n × mean squared error of {mechanism.size:,} frequencies, n = {n:,}",
        f"theory, {theory:.4f}",
        f"within {_WITHIN} Monte Carlo errors",
        f"{squared:.4f}",
        squared,
        abs(squared - theory) < _WITHIN * error,
        f"{(squared - theory) / error:+.2f} errors of {error:.4f}; frequencies fall like rank^-1.2",
    )
