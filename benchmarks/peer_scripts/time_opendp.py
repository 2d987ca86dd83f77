"""Time OpenDP's randomised response; runs in OpenDP's own environment."""

import json
import random
import time
from importlib.metadata import version
from statistics import median

import opendp.prelude as dp

dp.enable_features("contrib")


def per_record(measurement, truths, repetitions=5):
    """Nanoseconds per record, one call each: the median over repetitions."""
    times = []
    for _ in range(repetitions):
        start = time.perf_counter()
        for truth in truths:
            measurement(truth)
        times.append((time.perf_counter() - start) / len(truths) * 1e9)
    return median(times)


def per_bit(bits):
    """Nanoseconds per bit of the bit-vector mechanism, the only one that takes many values in one call."""
    measurement = dp.m.make_randomized_response_bitvec(
        dp.bitvector_domain(max_weight=bits), dp.discrete_distance(), f=0.5379
    )
    data = random.Random(1).randbytes(bits // 8)
    measurement(data)
    times = []
    for _ in range(5):
        start = time.perf_counter()
        measurement(data)
        times.append((time.perf_counter() - start) / bits * 1e9)
    return median(times)


rng = random.Random(1)
found = {
    "binary": per_record(dp.m.make_randomized_response_bool(0.7311), [rng.random() < 0.3 for _ in range(2_000)]),
    "binary, bits of one vector": per_bit(80_000),
}
for size in (16, 17):
    keep = 2.718281828 / (2.718281828 + size - 1)
    measurement = dp.m.make_randomized_response(list(range(size)), keep)
    found[f"{size} categories"] = per_record(measurement, [rng.randrange(size) for _ in range(2_000)])
print(json.dumps({"version": version("opendp"), "nanoseconds": found}))
