"""Run the simulations of intervals, tests and power, all or those that are named."""

from __future__ import annotations

import sys

from experiments.simulations import Simulation, run_simulations

SIMULATIONS = {
    "frequency_intervals": Simulation(("binary", "values")),
    "bounded_means": Simulation(),
    "mean_intervals": Simulation(),
    "group_coverage": Simulation(),
    "calibration_coverage": Simulation(),
    "regression_coverage": Simulation(),
    "prediction_coverage": Simulation(),
    "hard_regressions": Simulation(),
    "numeric_coverage": Simulation(),
    "noncompliance": Simulation(("shares", "uneven", "tests", "regression", "covariates", "power")),
    "power": Simulation(runs=""),
}

if __name__ == "__main__":
    sys.exit(run_simulations("experiments.inference", SIMULATIONS, __doc__))
