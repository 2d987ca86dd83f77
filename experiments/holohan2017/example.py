"""Example 1, and what goes beyond it: four reports, and prevalences known only to lie in an interval."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from discreet import design, estimate
from discreet.design.binary_response.feasible_region import corners, switch_prevalence, variance
from discreet.mechanisms import FiniteMechanism
from discreet.privacy.bounds import exp_bounds
from experiments.holohan2017.problem import EXAMPLE_1, INTERVALS, Case
from experiments.reporting import Check, Comparison, Table, variance_error


def candidates(case: Case) -> dict[str, float]:
    """Variances at n = 1 of the Warner point, the better and the worse of the two other corners."""
    points = corners(sum(exp_bounds(case.epsilon)) / 2, Fraction(case.delta))
    values = {name: float(variance(*point, Fraction(case.prevalence))) for name, point in points.items()}
    better, worse = sorted(value for name, value in values.items() if name != "warner")
    return {"warner": values["warner"], "corner": better, "other corner": worse}


def comparisons() -> list[Comparison]:
    """Every number that Example 1 prints, beside ours."""
    rows = []
    for case in EXAMPLE_1:
        values, name = candidates(case), f"({case.number}) {case.label}:"
        rows += [
            Comparison(f"{name} g", case.g, switch_prevalence(case.epsilon, case.delta)),
            Comparison(f"{name} Var, Warner point", case.warner, values["warner"]),
            Comparison(f"{name} Var, corner", case.corner, values["corner"], case.corner_erratum),
        ]
        if case.other_corner is not None:
            label = f"{name} Var, other corner"
            rows.append(Comparison(label, case.other_corner, values["other corner"], case.other_erratum))
    return rows


def checks() -> list[Check]:
    """The optimum that each case names is the one that the designer finds, and its finished integers reach it."""
    rows = []
    for case in EXAMPLE_1:
        values = candidates(case)
        best = min(values.values())
        winners = tuple(name for name in ("warner", "corner") if values[name] <= best * (1 + 1e-9))
        found = design.binary(case.epsilon, case.delta, case.prevalence)
        rows.append(
            Check(
                f"({case.number}) the best design is: {' and '.join(case.best)}",
                winners == case.best and abs(found.objective / best - 1) < 1e-8,
                f"design.binary reaches {found.objective:.6f}, bound {found.certificate.bound:.6f}",
            )
        )
    return rows


def unbiased_variance(mechanism: FiniteMechanism, prevalence: float) -> float:
    """Variance at n = 1 of the unbiased estimate of "yes"."""
    shares = np.array([1 - prevalence, prevalence]) @ mechanism.matrix()
    return float(mechanism.inverse.variances(shares)[1])


def four_reports(runs: int, seed: int = 2017) -> tuple[Table, list[Check]]:
    """The four-report channel beside the two-report optimum; the efficient variance is checked by simulation.

    The unbiased estimate weighs the four shares as if both truths were equally frequent. Far from that it can lose
    to the two-report optimum, which knows the prevalence; the last two columns say where.
    """
    n, rng = 2_000, np.random.default_rng(seed)
    rows, confirmed = [], []
    for case in EXAMPLE_1:
        two = design.binary(case.epsilon, case.delta, case.prevalence)
        four = design.binary(case.epsilon, case.delta, case.prevalence, reports=4)
        shares = np.array([1 - case.prevalence, case.prevalence]) @ four.mechanism.matrix()
        fits = [
            estimate.frequencies(counts=counts, mechanism=four.mechanism, method="mle").estimate[1]
            for counts in rng.multinomial(n, shares, runs)
        ]
        simulated = float(np.var(fits, ddof=1)) * n
        error = variance_error(simulated, runs)
        unbiased = unbiased_variance(four.mechanism, case.prevalence)
        gain = two.objective / four.objective
        beaten = unbiased < two.objective
        rows.append([case.label, two.objective, four.objective, simulated, error, gain, unbiased, beaten])
        confirmed.append(
            Check(
                f"({case.number}) four reports, by maximum likelihood, beat the two-report optimum",
                four.objective < two.objective,
                f"{four.objective:.4f} against {two.objective:.4f}",
            )
        )
        confirmed.append(
            Check(
                f"({case.number}) maximum likelihood reaches the stated variance (n = {n})",
                abs(simulated - four.objective) < 5 * error + 0.02 * four.objective,
                f"{simulated:.4f} ± {error:.4f} in {runs} runs, stated {four.objective:.4f}",
            )
        )
    columns = ["case", "two reports", "four, MLE", "simulated", "± MC", "two/four", "four, unbiased", "also better"]
    return Table("Variance at n = 1: the best two reports and four reports", columns, rows), confirmed


def interval_regret() -> tuple[Table, list[Check]]:
    """Prevalence in [low, high]: the midpoint rule of section VI-C against the design of least worst regret."""
    rows, confirmed = [], []
    for epsilon, delta, low, high in INTERVALS:
        prevalences = [Fraction(p) for p in np.linspace(low, high, 401)]
        points = list(corners(sum(exp_bounds(epsilon)) / 2, Fraction(delta)).values())
        best = [min(variance(*point, p) for point in points) for p in prevalences]

        def regret(
            p00: Fraction, p11: Fraction, at: list[Fraction] = prevalences, least: list[Fraction] = best
        ) -> float:
            return float(max(variance(p00, p11, p) / b for p, b in zip(at, least, strict=True))) - 1

        middle = design.binary(epsilon, delta, (low + high) / 2).mechanism
        ours = design.binary(epsilon, delta, (low, high)).mechanism
        rule, minimax = regret(middle.p00, middle.p11), regret(ours.p00, ours.p11)
        rows.append([epsilon, delta, low, high, rule, minimax, float(ours.p00), float(ours.p11)])
        confirmed.append(
            Check(
                f"π in [{low}, {high}] at ({epsilon}, {delta}): never a larger worst regret than the midpoint rule",
                minimax <= rule + 1e-7,
                f"{minimax:.2%} against {rule:.2%}",
            )
        )
    columns = ["epsilon", "delta", "low", "high", "midpoint rule", "least worst", "p00", "p11"]
    return Table("Largest relative regret when the prevalence is only known to lie in an interval", columns, rows), (
        confirmed
    )
