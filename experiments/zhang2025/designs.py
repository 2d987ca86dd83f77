"""Which randomisation is best: A against T in random regressions, and on what the choice depends."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet import design
from discreet.estimate.regressions.likelihood.links import link_named
from experiments.reporting import Check, Table, share_error
from experiments.zhang2025.problem import SEED, information, warner

Floats = NDArray[np.float64]
CRITERIA = ("A", "D", "T")
ROWS = 200
#: Regressions on which the designer itself is asked too, beside the computation here.
ASKED = 200


@dataclass(frozen=True, eq=False)
class Regression:
    """A regression drawn at random; covariates in the units in which they came."""

    X: Floats
    beta: Floats
    link: str
    epsilon: float
    delta: float

    @property
    def corners(self) -> tuple[tuple[float, float], ...]:
        """The three candidates of Theorem 4.7."""
        keep = warner(self.epsilon, self.delta)
        return (keep, keep), (1.0, self.delta), (self.delta, 1.0)

    def values(self) -> dict[str, Floats]:
        """What each criterion says of each corner; all are to be minimised.

        A and D with standardised covariates (D does not care), T both ways: "T" standardised, "T, raw" as it comes.
        """
        spread = self.X.std(axis=0)
        scale = np.where(spread > 0, spread, 1.0)
        found: dict[str, list[float]] = {"A": [], "D": [], "T": [], "T, raw": []}
        for p00, p11 in self.corners:
            raw = information(self.X, self.beta, self.link, p00, p11)
            standard = raw / np.outer(scale, scale)
            found["A"].append(float(np.trace(np.linalg.inv(standard))))
            found["D"].append(math.exp(-np.linalg.slogdet(standard)[1] / len(raw)))
            found["T"].append(1 / float(np.trace(standard)))
            found["T, raw"].append(1 / float(np.trace(raw)))
        return {name: np.array(values) for name, values in found.items()}


def random_regression(generator: np.random.Generator) -> Regression:
    """An intercept and one to four correlated covariates of very different units; prevalences from .5 % to 99.5 %."""
    size = int(generator.integers(1, 5))
    mixing = generator.standard_normal((size, size)) + np.eye(size)
    units = np.exp(generator.normal(0, 1, size))
    draws = generator.standard_normal((ROWS, size)) @ mixing
    X = np.column_stack([np.ones(ROWS), draws / draws.std(axis=0) * units])
    link = str(generator.choice(["logit", "probit"]))
    epsilon, delta = generator.uniform(0.1, 2), math.exp(generator.uniform(math.log(1e-3), math.log(0.5)))
    while True:
        beta = np.array([generator.normal(0, 2), *(generator.normal(0, 1, size) / units)])
        if 0.005 < link_named(link).probability(X @ beta).mean() < 0.995:
            return Regression(X, beta, link, float(epsilon), float(delta))


def regressions(count: int) -> Iterator[Regression]:
    """Always the same ones."""
    generator = np.random.default_rng([SEED, 4])
    for _ in range(count):
        yield random_regression(generator)


def disagreement(count: int) -> tuple[Table, list[Check]]:
    """How often T (or D) chooses another corner than A, and what that costs in average variance."""
    others = ("D", "T", "T, raw")
    costs: dict[str, list[float]] = {name: [] for name in others}
    different = asked = 0
    for number, one in enumerate(regressions(count)):
        values = one.values()
        best = int(np.argmin(values["A"]))
        for name in others:
            choice = int(np.argmin(values[name]))
            costs[name].append(values["A"][choice] / values["A"][best])
        if number < ASKED:
            asked += len(CRITERIA)
            different += sum(not _same(one, name, values[name]) for name in CRITERIA)
    rows = []
    for name in others:
        ratio = np.array(costs[name])
        away = ratio > 1 + 1e-9
        share = float(away.mean())
        middle = float(np.median(ratio[away])) if away.any() else 1.0
        rows.append([name, count, share, share_error(share, count), middle, float(ratio.max())])
    columns = ["criterion", "regressions", "disagrees with A", "± MC", "variance ratio, median", "largest"]
    trace = rows[1]
    return Table("How often another criterion than A chooses another corner", columns, rows), [
        Check(
            "T does not minimise the average variance (remark 3.2 says it does)",
            trace[2] > 3 * trace[3] and trace[5] > 1.5,
            f"another choice than A in {trace[2]:.1%} of {count:,} random regressions, "
            f"up to {trace[5]:.1f} times the average variance",
        ),
        Check(
            "the designer chooses the best corner by all three criteria",
            different == 0,
            f"{asked} choices computed twice",
        ),
    ]


def _same(one: Regression, criterion: str, values: Floats) -> bool:
    """Whether design.label chooses the corner that is best here."""
    found = design.label(one.epsilon, one.delta, one.X, one.beta, one.link, criterion).mechanism
    best = one.corners[int(np.argmin(values))]
    return bool(np.allclose((float(found.p00), float(found.p11)), best, rtol=0, atol=1e-7))


def dependence_on_coefficients() -> tuple[Table, list[Check]]:
    """The best design as the intercept moves: β decides as soon as δ > 0."""
    X = np.column_stack([np.ones(ROWS), np.linspace(-1.7, 1.7, ROWS)])
    rows = []
    for epsilon, delta in ((1.0, 0.0), (1.0, 0.1), (0.1, 1e-3)):
        for intercept in (-4.0, -2.0, 0.0, 2.0, 4.0):
            row: list[object] = [epsilon, delta, intercept]
            for criterion in CRITERIA:
                found = design.label(epsilon, delta, X, [intercept, 1.0], "logit", criterion).mechanism
                row.append(f"({float(found.p00):.4g}, {float(found.p11):.4g})")
            rows.append(row)
    choices = {
        pair: {tuple(row[3:]) for row in rows if (row[0], row[1]) == pair} for pair in {(r[0], r[1]) for r in rows}
    }
    pure = len(choices[1.0, 0.0])
    return Table(
        "The best design (p00, p11), logit with slope 1", ["epsilon", "delta", "intercept", *CRITERIA], rows
    ), [
        Check("with δ = 0 the design does not depend on β", pure == 1, f"{pure} design for five intercepts"),
        Check(
            "with δ > 0 it does (section 3.2 says it does not)",
            all(len(found) > 1 for pair, found in choices.items() if pair[1] > 0),
            "; ".join(f"(ε, δ) = {pair}: {len(found)} designs" for pair, found in sorted(choices.items())),
        ),
    ]


@dataclass(frozen=True, eq=False)
class Range:
    """A regression of which only a box of coefficients is known."""

    regression: Regression
    criterion: str
    low: Floats
    high: Floats

    def regrets(self, p00: float, p11: float, points: Floats) -> Floats:
        """Relative regret of a design at every β, written out here without the designer's code."""
        one = self.regression
        spread = one.X.std(axis=0)
        Z = one.X / np.where(spread > 0, spread, 1.0)
        no, yes, slopes = link_named(one.link).parts(points @ one.X.T)
        values = []
        for a, b in ((p00, p11), *(one.corners if one.delta else one.corners[:1])):
            reported, other = (1 - a) * no + b * yes, a * no + (1 - b) * yes
            certain = np.minimum(reported, other) < 1e-280
            weights = np.where(certain, 0, (a + b - 1) ** 2 * slopes**2 / np.where(certain, 1, reported * other))
            M = np.einsum("bi,ij,ik->bjk", weights, Z, Z, optimize=True) / len(Z)
            if self.criterion == "A":
                values.append(np.linalg.inv(M).trace(axis1=1, axis2=2))
            elif self.criterion == "D":
                values.append(np.exp(-np.linalg.slogdet(M)[1] / M.shape[1]))
            else:
                values.append(1 / M.trace(axis1=1, axis2=2))
        return np.asarray(values[0] / np.min(values[1:], axis=0) - 1)

    def points(self, count: int, generator: np.random.Generator) -> Floats:
        """Uniform in the box, one coordinate in three moved to an end: faces, edges and vertices are all met."""
        share = generator.random((count, self.low.size))
        moved = generator.random(share.shape)
        share = np.where(moved < 1 / 6, 0.0, np.where(moved > 5 / 6, 1.0, share))
        return self.low + share * (self.high - self.low)


def random_range(generator: np.random.Generator) -> Range:
    """One to four coefficients, every link and criterion, δ from 0 to .3, sides from narrow to wide."""
    size = int(generator.integers(1, 5))
    X = np.column_stack([np.ones(60), generator.standard_normal((60, size - 1))])
    link = str(generator.choice(["logit", "probit", "cauchit", "cloglog"]))
    delta = 0.0 if generator.random() < 0.1 else float(generator.uniform(0.002, 0.3))
    centre, half = generator.normal(0, 1, size), generator.uniform(0.05, 2, size)
    one = Regression(X, centre, link, math.exp(generator.uniform(math.log(0.1), math.log(2))), delta)
    return Range(one, str(generator.choice(CRITERIA)), centre - half, centre + half)


#: Room that the dense search has: it may pass what the designer states by this share of 1 + regret.
ROOM = 1e-3


def ranges(count: int, points: int) -> tuple[Table, list[Check]]:
    """The largest regret that the designer states for a box, against a dense random search that shares no code."""
    generator = np.random.default_rng([SEED, 5])
    rows = []
    for _ in range(count):
        box = random_range(generator)
        one = box.regression
        found = design.label(one.epsilon, one.delta, one.X, (box.low, box.high), one.link, box.criterion)
        p00, p11 = float(found.mechanism.p00), float(found.mechanism.p11)
        dense = box.regrets(p00, p11, box.points(points, generator)).max()
        corners = box.points(64, generator)
        corners = np.where(corners > (box.low + box.high) / 2, box.high, box.low)
        old = box.regrets(p00, p11, np.vstack([corners, (box.low + box.high) / 2])).max()
        row: list[object] = [box.low.size, one.link, box.criterion, one.epsilon, one.delta]
        rows.append([*row, float(old), found.objective, float(dense), found.certificate.gap])
    stated, dense = np.array([[row[6], row[7]] for row in rows]).T
    old, gap = np.array([[row[5], row[8]] for row in rows]).T
    behind = (dense - stated) / (1 + stated)
    missed = (dense - old) / (1 + old)
    columns = ["d", "link", "criterion", "epsilon", "delta", "at vertices and middle", "stated", "dense search", "gap"]
    return Table("The largest regret over a box of coefficients", columns, rows), [
        Check(
            "a dense search of the box finds no larger regret than the one stated",
            bool(behind.max() <= ROOM),
            f"{count} boxes, {points:,} points each: at most {behind.max():.1e} of 1 + regret above it; "
            f"vertices and middle alone are passed by more than 1 % in {(missed > 0.01).sum()} boxes, "
            f"by {missed.max():.0%} in the worst; {(stated > 0.01).sum()} boxes have no best design",
        ),
        Check(
            "no design has a clearly smaller worst regret over the box",
            bool((gap / (1 + stated)).max() <= ROOM),
            f"the proven bound is at most {(gap / (1 + stated)).max():.1e} of 1 + regret below",
        ),
    ]


def repeated_randomisation(epsilon: float = 1.0, delta: float = 0.1) -> tuple[Table, list[Check]]:
    """What the procedure after Theorem 4.7 spends: the same labels randomised by each of the three candidates."""
    from fractions import Fraction

    from discreet import privacy

    keep, small = Fraction(warner(epsilon, delta)).limit_denominator(10**6), Fraction(delta).limit_denominator(10**6)
    corners = ((keep, keep), (Fraction(1), small), (small, Fraction(1)))
    laws = [[[p00, 1 - p00], [1 - p11, p11]] for p00, p11 in corners]
    joint = [[a * b * c for a in laws[0][x] for b in laws[1][x] for c in laws[2][x]] for x in (0, 1)]
    certificate = privacy.certify(joint)
    rows = [["promised", epsilon, delta]]
    rows += [["spent, at this ε", e, float(certificate.delta(e))] for e in (epsilon, 2 * epsilon, 3 * epsilon)]
    spent = float(certificate.delta(epsilon))
    return Table("One label, randomised by each of the three candidates", ["", "epsilon", "delta"], rows), [
        Check(
            "fitting the labels under three designs to choose one is not free",
            spent > 1.5 * delta,
            f"at ε = {epsilon:g} the three reports together have δ = {spent:.3f} instead of {delta:g}",
        )
    ]
