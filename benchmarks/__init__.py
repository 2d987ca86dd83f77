"""Speed on one core, as ratios measured in one run: ``python -m benchmarks``."""

import os

# One core means one thread; the libraries read these when they are first imported, so it happens here.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS", "ARROW_IO_THREADS"):
    os.environ[_name] = "1"
