"""Run the simulations of surveys: people in a browser, a survey that is looked at, made-up reports."""

from __future__ import annotations

import sys

from experiments.simulations import Simulation, run_simulations

SIMULATIONS = {"looks": Simulation(), "stuffing": Simulation(), "respondents": Simulation(runs="--people")}

if __name__ == "__main__":
    sys.exit(run_simulations("experiments.survey", SIMULATIONS, __doc__))
