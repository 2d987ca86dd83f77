"""A hospital releases a table: the plan, the margins of error to expect, the release, an estimate and the audit."""

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa

from discreet import Plan, Release, design, estimate, release
from discreet.audit import audit

PATIENTS = 20_000
PLAN = """
format = 1
title = "Smoking and readmission"
[budget]
epsilon = 3.0
rows_per_person = 1
[[public]]
columns = ["ward"]
[[private]]
columns = ["smokes"]
domain = { binary = ["no", "yes"] }
mechanism = "randomized-response"
epsilon = 1.0
[[private]]
columns = ["stay"]
domain = { ordinal = ["1-2 days", "3-7 days", "8 days and more"] }
mechanism = "randomized-response"
epsilon = 2.0
"""


def patients() -> pa.Table:
    """A simulated table of true answers."""
    generator = np.random.default_rng(11)
    ward = generator.choice(["medicine", "surgery"], PATIENTS)
    smokes = generator.random(PATIENTS) < np.where(ward == "surgery", 0.35, 0.2)
    stay = generator.choice(["1-2 days", "3-7 days", "8 days and more"], PATIENTS, p=[0.5, 0.35, 0.15])
    return pa.table({"ward": ward, "smokes": np.where(smokes, "yes", "no"), "stay": stay})


def main() -> None:
    """Release the table and learn from it."""
    plan = Plan.parse(PLAN)
    margin = design.margin(design.binary(1.0).mechanism, PATIENTS)
    print(f'Margin of error to expect for "smokes" with {PATIENTS:,} patients: {margin:.1%}\n')
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "out.parquet")
        release(patients(), plan, path, ledger=None)  # without a ledger, because the table is simulated
        opened = Release.open(path)
        print(opened.guarantee.explain(), "\n")
        print(estimate.frequencies(opened, "smokes", by="ward"), "\n")
        print(estimate.crosstab(opened, "smokes", "stay").chi_square(), "\n")
        print(audit(opened))


if __name__ == "__main__":
    main()
