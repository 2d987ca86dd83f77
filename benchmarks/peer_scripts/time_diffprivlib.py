"""Time diffprivlib's randomised response; runs in diffprivlib's own environment."""

import json
import random
import time
from importlib.metadata import version
from statistics import median

from diffprivlib.mechanisms import Binary

rng = random.Random(1)
truths = ["yes" if rng.random() < 0.3 else "no" for _ in range(20_000)]
mechanism = Binary(epsilon=1.0, value0="no", value1="yes")
times = []
for _ in range(5):
    start = time.perf_counter()
    for truth in truths:
        mechanism.randomise(truth)
    times.append((time.perf_counter() - start) / len(truths) * 1e9)
print(json.dumps({"version": version("diffprivlib"), "nanoseconds": {"binary": median(times)}}))
