"""Small worlds in which every report can be listed: columns, channels and model matrices by hand."""

from __future__ import annotations

import itertools

import numpy as np

from discreet import Categorical, design
from discreet.estimate.data.map_reduce import Held
from discreet.estimate.regressions.cell_passes import CellRows
from discreet.estimate.regressions.classes import Multinomial, Ordinal
from discreet.estimate.regressions.families import Linear, Poisson, binary_family
from discreet.estimate.regressions.model import needed_parts
from discreet.estimate.regressions.model_matrix import CellMatrix
from discreet.estimate.regressions.objective import CorrectedLoss, Size
from discreet.estimate.regressions.randomised import Randomisation, RandomisedColumn
from discreet.estimate.regressions.sample import Sample
from discreet.mechanisms import ChannelResponse, GeneralizedResponse

FAMILIES = {
    "linear": Linear(),
    "logit": binary_family("logit"),
    "probit": binary_family("probit"),
    "cauchit": binary_family("cauchit"),
    "cloglog": binary_family("cloglog"),
    "poisson": Poisson(),
    "poisson, weighed": Poisson(0.7),
    "multinomial": Multinomial("abc"),
    "ordinal": Ordinal("abc"),
}
#: Three reports for two truths, and one for which the best inverse is not the only one.
WIDE = ChannelResponse([["1/2", "3/10", "1/5"], ["1/10", "3/10", "3/5"]])
NAMES = ("Intercept", "w", "a", "b2", "b3", "a:w")
W = 0.7


def outcome_size(family):
    """Classes of the outcome."""
    return 3 if family.outcome == "classes" else 2


def reports_of(sizes):
    """Every combination of codes, one per row."""
    return np.array(list(itertools.product(*(range(size) for size in sizes))))


def model_rows(truths):
    """The model matrix at true values (a, b): constant, public w, a, two dummies of b, and a:w."""
    a, b = truths.T[:2].astype(float)
    return np.column_stack([np.ones(a.size), np.full(a.size, W), a, b == 1, b == 2, a * W])


def randomisation_of(columns, reports):
    """The columns, with how often each of their reports is among these."""
    counts = (np.bincount(reports[:, k], minlength=one.codes).astype(float) for k, one in enumerate(columns))
    return Randomisation(tuple(columns), True, tuple(counts))


def numbered(size):
    """Values 0, 1, …"""
    return Categorical(list(range(size)))


def independent(family):
    """Two randomised predictors and a randomised outcome, each on its own; every report, and its chance by truth."""
    mechanisms = [WIDE, GeneralizedResponse(3, 1.0), GeneralizedResponse(outcome_size(family), 1.5)]
    reports = reports_of([one.shape[1] for one in mechanisms])
    truths = reports_of([one.shape[0] for one in mechanisms])
    columns = [
        RandomisedColumn(name, numbered(one.shape[0]), numbered(one.shape[1]), (one,))
        for name, one in zip("aby", mechanisms, strict=True)
    ]
    chance = np.ones((len(truths), len(reports)))
    for k, one in enumerate(mechanisms):
        chance *= one.matrix()[truths[:, k]][:, reports[:, k]]
    return randomisation_of(columns, reports), reports, truths, chance


def together(family, epsilons=(1.0, 1.5, 2.0), **options):
    """The same columns randomised together."""
    sizes = (2, 3, outcome_size(family))
    joint = design.attributes(sizes, epsilons, **options).mechanism
    reports = truths = reports_of(sizes)
    columns = [
        RandomisedColumn(name, numbered(size), numbered(size), joint=joint, position=k)
        for k, (name, size) in enumerate(zip("aby", sizes, strict=True))
    ]
    return randomisation_of(columns, reports), reports, truths, joint.view(0, 1, 2).matrix()


def with_blank(family):
    """Randomised together, and the last value of the outcome is a blank, which weighs nothing."""
    sizes = (2, 3, outcome_size(family) + 1)
    joint = design.attributes(sizes, (1.5, 1.5, 2.0)).mechanism
    reports = truths = reports_of(sizes)
    values = (2, 3, outcome_size(family))
    columns = [
        RandomisedColumn(name, numbered(size), numbered(sizes[k]), joint=joint, position=k, blank=size < sizes[k])
        for k, (name, size) in enumerate(zip("aby", values, strict=True))
    ]
    return randomisation_of(columns, reports), reports, truths, joint.view(0, 1, 2).matrix()


def rows_of(family, randomisation, reports, sample, units=(0, 1)):
    """Rows with these reports, in every cell."""
    cells = randomisation.cells(range(3), needed_parts(units, family.curvature, randomisation), outcome=True)
    X, n = model_rows(cells.truths()), len(reports)
    matrix = CellMatrix(
        np.tile(X[:1, :2], (n, 1)),
        X[:, 2:5],
        np.repeat(X[None, ::3, 5:], n, axis=0),  # differs with a only
        np.arange(len(X)) // 3,
        np.array([0, 1]),
        np.array([2, 3, 4]),
        np.array([5]),
    )
    values = np.arange(outcome_size(family), dtype=float)[None, :]
    weights = cells.of_rows(randomisation.codes(range(3), list(reports.T)), n)
    return CellRows(matrix, weights, values, sample)


def loss_of(family, randomisation, reports, weights, units=(0, 1)):
    """The corrected loss of rows that carry these reports, with these weights."""
    n = len(reports)
    rows = rows_of(family, randomisation, reports, Sample(n, weights=weights), units)
    _, transform = family.parameters(NAMES)
    gram = rows.matrix.gram(np.ones(n))
    scale = np.sqrt(np.diag(gram) / (n * rows.matrix.cells))
    size = Size(n, n, float(weights.sum()), scale, rows.matrix.cells * rows.cells.cells.outcomes)
    return CorrectedLoss(family, Held((rows,)), size, 0, transform)


def parameters(family, seed=0):
    """A point to evaluate at; thresholds in order."""
    names, _ = family.parameters(NAMES)
    theta = np.random.default_rng(seed).normal(size=len(names)) / 2
    if family.name == "ordinal":
        theta[-2:] = [-0.4, 0.9]
    return theta
