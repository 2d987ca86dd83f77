"""Frequencies from reports in memory, against counting alone."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.measure import Result, at_most, in_turn
from benchmarks.privatise import EPSILON, binary_codes, categories
from discreet import design, estimate
from discreet.mechanisms import GeneralizedResponse


def estimate_results(n: int, repetitions: int) -> Iterator[Result]:
    """Yes/no reports and 16 categories, one byte each; the estimate includes its standard errors."""
    settings = {
        "yes/no": (design.binary(EPSILON).mechanism, binary_codes),
        "16 categories": (GeneralizedResponse(16, EPSILON), lambda rows: categories(rows, 16)),
    }
    for name, (mechanism, make) in settings.items():
        reports, size = make(n), mechanism.shape[1]
        times = in_turn(
            lambda r=reports, m=mechanism: estimate.frequencies(r, m).std_error,
            lambda r=reports, s=size: np.bincount(r, minlength=s),
            repetitions,
        )
        work = f"estimate.frequencies from {n:.0e} reports, {name}"
        yield at_most(work, "numpy.bincount", 2.0, 1 / times.ratio, times.detail(n, "bincount"))
