"""Time multi-freq-ldpy's OUE and OLH from the answers to the frequencies; runs in its own environment."""

import json
import math
import sys
import time
from importlib.metadata import version

import numpy as np
from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Client
from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Client

size, epsilon, records = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])


def unary(count):
    """OUE: privatise one by one as the library offers it, add up the bits, estimate without its normalisation."""
    truths = np.random.default_rng(1).integers(0, size, count)
    UE_Client(int(truths[0]), size, epsilon, optimal=True)  # compiled before the clock starts
    start = time.perf_counter()
    total = np.zeros(size)
    for truth in truths.tolist():
        total += UE_Client(truth, size, epsilon, optimal=True)
    q = 1 / (math.exp(epsilon) + 1)
    estimates = (total / count - q) / (0.5 - q)
    seconds = time.perf_counter() - start
    wanted = np.bincount(truths, minlength=size) / count
    return seconds / count, count * float(np.mean((estimates - wanted) ** 2))


def hashing(count):
    """OLH: privatise one by one, then the support of every value as the library's aggregator counts it."""
    import xxhash

    g = round(math.exp(epsilon)) + 1
    truths = np.random.default_rng(2).integers(0, size, count)
    LH_Client(int(truths[0]), size, epsilon, optimal=True)
    start = time.perf_counter()
    reports = [LH_Client(truth, size, epsilon, optimal=True) for truth in truths.tolist()]
    supports = np.zeros(size)
    for value, seed in reports:
        for v in range(size):
            if value == xxhash.xxh32(str(v), seed=seed).intdigest() % g:
                supports[v] += 1
    return (time.perf_counter() - start) / count


hashed = max(200, records // 100)  # a record takes milliseconds
oue_seconds, oue_error = unary(records)
olh_seconds = hashing(hashed)
print(
    json.dumps(
        {
            "version": version("multi-freq-ldpy"),
            "seconds": {"OUE": oue_seconds, "OLH": olh_seconds},
            "records": {"OUE": records, "OLH": hashed},
            "n_mse": {"OUE": oue_error},
        }
    )
)
