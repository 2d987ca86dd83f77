"""Yes/no truths of people (interviewers, schools) with an intercept of their own, through a randomisation.

Given u_j ~ N(0, 1) the truth behind row i of group j is "yes" with probability G(x_i'β + σu_j); the report has the
likelihood m_i of :mod:`discreet.estimate.regressions.likelihood.yes_no`. What is maximised is

    Σ_j log ∫ exp(h_j(u)) du/√(2π),   h_j(u) = Σ_{i in j} log m_i(x_i'β + σu) − u²/2,

by adaptive Gauss–Hermite quadrature (Liu and Pierce 1994; Pinheiro and Bates 1995): for every group the nodes are
moved to the maximum û of h_j and stretched by 1/√(−h_j''(û)). A randomised likelihood need not be concave in u;
the stretch is then bounded by that of the prior, doubled, and nodes are added until the log-likelihood stands still.
The gradient is the average of the rows' scores over u given the reports, with the same nodes.

Where groups were sampled with unequal chances the sum over j is weighted by their weights (pseudo-likelihood;
Pfeffermann, Skinner, Holmes, Goldstein and Rasbash 1998, with a simple random sample of every sampled group).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import Floats
from discreet.estimate.regressions.likelihood.links import Link
from discreet.estimate.regressions.likelihood.rows import Rows
from discreet.estimate.regressions.likelihood.yes_no import BinaryModel, linear_predictor
from discreet.estimate.regressions.optimise import Optimum, Terms, maximise

#: Numbers of nodes that are tried in turn.
NODES = (15, 31, 63, 127, 255)
#: Beyond it the weights of the quadrature leave the range of floats.
_MOST_NODES = 319
#: Nodes suffice when more of them change the log-likelihood by less than this.
STANDS_STILL = 1e-7
_MODE_STEPS = 50
#: Step of differences of the gradient, in coordinates in which columns have unit size.
_STEP = 1e-4
#: Linear predictors, or a spread, beyond this size: the likelihood goes on rising.
_FARTHEST = 100.0


class _Quadrature(NamedTuple):
    """Log-likelihoods of groups, the nodes u of each with their shares, and the scores of the rows at each node."""

    values: Floats
    places: Floats
    share: Floats
    slopes: Floats


@dataclass(frozen=True, kw_only=True)
class RandomInterceptModel:
    """The marginal likelihood of grouped rows.

    Attributes
    ----------
    rows : Rows
        Those of a group together.
    starts : array of int
        First row of every group.
    link : Link
    nodes : int
        Of the quadrature.
    weights : array or None
        One per group, of mean one.
    """

    rows: Rows
    starts: NDArray[np.intp]
    link: Link
    nodes: int = NODES[0]
    weights: Floats | None = None

    def with_nodes(self, nodes: int) -> RandomInterceptModel:
        """The same likelihood by a finer or coarser quadrature."""
        return replace(self, nodes=nodes)

    @property
    def groups(self) -> int:
        """Number of groups."""
        return self.starts.size

    @cached_property
    def of_row(self) -> NDArray[np.intp]:
        """The group of every row."""
        return np.repeat(np.arange(self.groups), np.diff(np.append(self.starts, self.rows.size)))

    def _rowwise(self, eta: Floats) -> tuple[Floats, Floats, Floats]:
        """Log-likelihood of each row, its first derivative in η, and minus the second."""
        return BinaryModel(self.link).at(eta, self.rows, "observed")

    def _by_group(self, values: Floats) -> Floats:
        return np.asarray(np.add.reduceat(values, self.starts))

    def _centres(self, fixed: Floats, sigma: float) -> tuple[Floats, Floats]:
        """Where h_j is largest, and how wide it is there."""
        u = np.zeros(self.groups)
        bent = np.ones(self.groups)
        for _ in range(_MODE_STEPS):
            _, first, second = self._rowwise(fixed + sigma * u[self.of_row])
            slope = sigma * self._by_group(first) - u
            bent = sigma**2 * self._by_group(second) + 1
            step = np.clip(slope / np.maximum(bent, 0.25), -2, 2)
            u = u + step
            if np.abs(step).max() < 1e-8:
                break
        return u, 1 / np.sqrt(np.maximum(bent, 0.25))

    @cached_property
    def _rule(self) -> tuple[Floats, Floats]:
        """Points of the quadrature, and what is added to h_j at each."""
        points, weights = np.polynomial.hermite.hermgauss(self.nodes)
        return math.sqrt(2) * points, np.log(weights) + points**2

    def _quadrature(self, theta: Floats) -> _Quadrature:
        """Every group's intercepts u at the nodes, and their shares of the integral."""
        sigma, fixed = float(theta[-1]), linear_predictor(theta[:-1], self.rows)
        centre, width = self._centres(fixed, sigma)
        points, added = self._rule
        places = centre + width * points[:, None]
        logs, slopes = np.empty(places.shape), np.empty((self.nodes, fixed.size))
        for k, u in enumerate(places):
            made, slopes[k], _ = self._rowwise(fixed + sigma * u[self.of_row])
            logs[k] = added[k] + self._by_group(made) - u**2 / 2
        top = logs.max(axis=0)
        share = np.exp(logs - top)
        total = share.sum(axis=0)
        values = top + np.log(total) + np.log(width) - 0.5 * math.log(math.pi)
        return _Quadrature(values, places, share / total, slopes)

    def value_and_slope(self, theta: Floats) -> tuple[float, Floats]:
        """Log-likelihood at (β, σ), and its gradient."""
        values, along, spread = self._scores(theta)
        if self.weights is not None:
            values, along, spread = self.weights * values, *(self.weights[self.of_row] * one for one in (along, spread))
        return float(values.sum()), np.append(self.rows.X.T @ along, spread.sum())

    def group_scores(self, theta: Floats) -> Floats:
        """The gradient of every group's part of the log-likelihood (groups, coefficients), weighted."""
        _, along, spread = self._scores(theta)
        scores = np.add.reduceat(np.column_stack([self.rows.X * along[:, None], spread]), self.starts, axis=0)
        return np.asarray(scores if self.weights is None else self.weights[:, None] * scores)

    def _scores(self, theta: Floats) -> tuple[Floats, Floats, Floats]:
        """Log-likelihoods of groups, and the derivatives of each row's part in x'β and in σ."""
        found = self._quadrature(theta)
        along = np.einsum("kn,kn->n", found.share[:, self.of_row], found.slopes)
        spread = np.einsum("kn,kn->n", (found.share * found.places)[:, self.of_row], found.slopes)
        return found.values, along, spread

    def information(self, theta: Floats) -> Floats:
        """Observed information: minus the derivative of the gradient, by central differences."""
        columns = []
        for j in range(theta.size):
            step = np.zeros(theta.size)
            step[j] = _STEP
            up, down = self.value_and_slope(theta + step)[1], self.value_and_slope(theta - step)[1]
            columns.append((down - up) / (2 * step[j]))
        matrix = np.array(columns)
        return np.asarray((matrix + matrix.T) / 2)

    def effects(self, theta: Floats) -> tuple[Floats, Floats]:
        """Mean and standard deviation of every group's intercept σu_j given its reports."""
        found, sigma = self._quadrature(theta), float(theta[-1])
        mean = (found.share * found.places).sum(axis=0)
        variance = (found.share * found.places**2).sum(axis=0) - mean**2
        return sigma * mean, abs(sigma) * np.sqrt(np.maximum(variance, 0))


@dataclass(frozen=True, kw_only=True)
class Maximum:
    """Where the marginal likelihood is largest."""

    theta: Floats
    value: float
    information: Floats
    model: RandomInterceptModel
    converged: bool
    quadrature_error: float


def maximise_marginal(model: RandomInterceptModel, start: Floats) -> Maximum:
    """The maximum over (β, σ), σ ≥ 0, from several spreads and the coefficients without any.

    The search is in coordinates in which the columns of the model are orthonormal: units and shifts of the covariates
    change nothing. Nodes are added until they change the log-likelihood at the maximum by less than 1e-7.
    """
    X = model.rows.X
    size = start.size
    whiten = np.eye(size + 1)
    whiten[:size, :size] = np.linalg.inv(np.linalg.qr(X / math.sqrt(len(X)), mode="r"))
    inner = replace(model, rows=replace(model.rows, X=X @ whiten[:size, :size]))
    found = _searched(inner, np.asarray(np.linalg.solve(whiten[:size, :size], start), float))
    back = np.linalg.inv(whiten)
    return replace(
        found,
        theta=whiten @ found.theta,
        information=back.T @ found.information @ back,
        model=model.with_nodes(found.model.nodes),
    )


def _searched(model: RandomInterceptModel, start: Floats) -> Maximum:
    """The maximum in coordinates of unit size."""
    best: Maximum | None = None
    for nodes in NODES:
        model = model.with_nodes(nodes)
        found = [_climb(model, first) for first in _starts(start, best)]
        top = max(found, key=lambda one: one.value)
        theta = top.theta
        finer = model.with_nodes(min(2 * nodes + 1, _MOST_NODES)).value_and_slope(theta)[0]
        best = Maximum(
            theta=theta,
            value=top.value,
            information=model.information(theta),
            model=model,
            converged=top.converged,
            quadrature_error=abs(finer - top.value),
        )
        if best.quadrature_error < STANDS_STILL:
            break
    assert best is not None
    return best


def _starts(coefficients: Floats, best: Maximum | None) -> list[Floats]:
    if best is not None:
        return [best.theta]
    return [np.append(coefficients, sigma) for sigma in (0.3, 1.0, 2.5)]


class _Marginal:
    """The marginal likelihood as a surface to climb; the last coordinate is the spread of the groups."""

    observed_only = True

    def __init__(self, model: RandomInterceptModel) -> None:
        self._model = model
        self.rows, self.metric = model.rows.size, np.eye(model.rows.X.shape[1] + 1)

    def value(self, theta: Floats) -> float:
        """Log-likelihood."""
        return self._model.value_and_slope(theta)[0]

    def terms(self, theta: Floats, curvature: str) -> Terms:  # noqa: ARG002  # there is one
        """Log-likelihood, score and observed information."""
        return Terms(*self._model.value_and_slope(theta), self._model.information(theta))


def _climb(model: RandomInterceptModel, start: Floats) -> Optimum:
    """Newton steps from one start; the sign of σ means nothing and is made positive."""
    found = maximise(_Marginal(model), start, scale=np.full(start.size, math.inf), farthest=_FARTHEST)
    theta = np.array(found.theta)
    theta[-1] = abs(theta[-1])
    return replace(found, theta=theta, value=model.value_and_slope(theta)[0])
