"""Time multi-freq-ldpy's generalised response; runs in its own environment."""

import json
import random
import time
from importlib.metadata import version
from statistics import median

from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Client


def per_record(size, records=50_000, repetitions=5):
    """Nanoseconds per record, one call each as in the library's examples; compiled before the clock starts."""
    rng = random.Random(1)
    truths = [rng.randrange(size) for _ in range(records)]
    GRR_Client(truths[0], size, 1.0)
    times = []
    for _ in range(repetitions):
        start = time.perf_counter()
        for truth in truths:
            GRR_Client(truth, size, 1.0)
        times.append((time.perf_counter() - start) / records * 1e9)
    return median(times)


found = {"binary": per_record(2), "16 categories": per_record(16), "17 categories": per_record(17)}
print(json.dumps({"version": version("multi-freq-ldpy"), "nanoseconds": found}))
