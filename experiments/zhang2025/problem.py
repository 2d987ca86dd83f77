"""The problem as declared: the simulations of section 5, the paper's statements about them, and what we add."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.estimate.regressions.likelihood.links import link_named

Floats = NDArray[np.float64]

#: β of section 5.1: intercept, x2, x3, x4.
COEFFICIENTS = (1.0, 0.25, 0.0, 0.5)
NAMES = ("x1", "x2", "x3", "x4")
SCENARIOS = ("I", "II")
LINKS = ("logit", "probit")
EPSILONS = (0.05, 0.06, 0.07, 0.08, 0.09, 0.1, 0.5, 0.7, 1.0)
DELTAS = (0.0, 1e-5)
SIZE = 100_000
LEVEL = 0.95
#: The three methods: the paper's names are ORRbR, RRbR and NP.
METHODS = ("corrected", "naive", "non-private")
#: All simulations start from here; every run has its own stream, so that a run can be repeated alone.
SEED = 2025

#: What the text of section 5.2 says of the top left plot of figure 2 (scenario I, logit, δ = 0, corrected).
PAPER_LOG_MSE = {0.05: "0", 0.7: "-15"}


@dataclass(frozen=True)
class Setting:
    """One cell of a simulation: the model, the level of privacy and the sample size."""

    scenario: str
    link: str
    epsilon: float
    delta: float = 0.0
    n: int = SIZE

    @property
    def name(self) -> str:
        """Short, and fit for a file name."""
        size = f"n{self.n}"
        level = f"eps{self.epsilon:g}" + (f"_delta{self.delta:g}" if self.delta else "")
        return f"{self.scenario}_{self.link}_{size}_{level}"

    def generator(self, run: int) -> np.random.Generator:
        """The random numbers of one run."""
        parts = [SEED, SCENARIOS.index(self.scenario), LINKS.index(self.link), self.n, round(self.epsilon * 1e6)]
        return np.random.default_rng([*parts, round(self.delta * 1e9), run])


def spread(scenario: str) -> Floats:
    """Covariance of (x2, x3, x4)."""
    if scenario == "I":
        return np.diag([1.0, 1.5**2, 0.5**2])
    return np.array([[0.5 ** abs(j - k) for k in range(3)] for j in range(3)])


def covariates(scenario: str, n: int, generator: np.random.Generator) -> Floats:
    """An intercept and three normal covariates, independent (I) or autoregressive (II)."""
    root = np.linalg.cholesky(spread(scenario))
    return np.column_stack([np.ones(n), generator.standard_normal((n, 3)) @ root.T])


def truths(X: Floats, link: str, generator: np.random.Generator) -> NDArray[np.uint8]:
    """True labels of the model."""
    probability = link_named(link).probability(X @ np.array(COEFFICIENTS))
    return (generator.random(len(X)) < probability).astype(np.uint8)


def information(X: Floats, beta: ArrayLike, link: str, p00: float, p11: float, weights: Floats | None = None) -> Floats:
    """Equation (5): the average information of one row; written out here so that the fits are checked by another.

    ``weights`` sum to one; by default all rows count the same.
    """
    no, yes, slope = link_named(link).parts(X @ np.asarray(beta, float))
    reported, other = (1 - p00) * no + p11 * yes, p00 * no + (1 - p11) * yes
    each = ((p00 + p11 - 1) * slope) ** 2 / (reported * other)
    each = each / len(X) if weights is None else each * weights
    return np.asarray((X * each[:, None]).T @ X)


@cache
def _nodes(scenario: str) -> tuple[Floats, Floats]:
    """Quadrature for the law of the covariates: 24 Gauss–Hermite nodes in each of three directions."""
    points, weights = np.polynomial.hermite_e.hermegauss(24)
    weights = weights / weights.sum()
    grid = np.array(np.meshgrid(points, points, points, indexing="ij")).reshape(3, -1).T
    joint = np.einsum("i,j,k->ijk", weights, weights, weights).ravel()
    return np.column_stack([np.ones(len(grid)), grid @ np.linalg.cholesky(spread(scenario)).T]), joint


def expected_information(scenario: str, link: str, p00: float, p11: float) -> Floats:
    """The information of one row, averaged over the law of the covariates, at the true coefficients."""
    X, weights = _nodes(scenario)
    return information(X, COEFFICIENTS, link, p00, p11, weights)


def variance_bound(scenario: str, link: str, p00: float, p11: float, n: int) -> Floats:
    """``diag(I⁻¹)/n``: what no regular unbiased estimator can beat, and what the MLE reaches for large n."""
    return np.asarray(np.diag(np.linalg.inv(expected_information(scenario, link, p00, p11))) / n)


def standardised_errors(scenario: str, link: str, p00: float, p11: float, n: int) -> Floats:
    """Large-sample standard errors on the scale of the linear predictor: times the spread of each covariate."""
    scale = np.array([1.0, *np.sqrt(np.diag(spread(scenario)))])
    return np.asarray(np.sqrt(variance_bound(scenario, link, p00, p11, n)) * scale)


def warner(epsilon: float, delta: float = 0.0) -> float:
    """p00 = p11 at the symmetric optimum, ``(e^ε + δ)/(e^ε + 1)``."""
    return (math.exp(epsilon) + delta) / (math.exp(epsilon) + 1)
