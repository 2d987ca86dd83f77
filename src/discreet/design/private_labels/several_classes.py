"""The best ε-private channel for a multinomial logit, over *all* channels with any number of reports.

A column of an ε-private channel has entries between l and e^ε l. The information in a report is a sum over rows of
(linear)²/(linear) in its column: convex and homogeneous. Splitting a column into extreme ones therefore never loses
information, and the extreme columns are proportional to patterns in {e^−ε, 1}^k. With μ_S ≥ 0 the weight of pattern
v_S, the channel is ``Q[x, S] = μ_S v_S[x]`` with rows summing to one, and the information ``Σ μ_S M_S`` is linear in μ:
A and D are convex programmes over 2^k weights.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet import arguments
from discreet.arguments import Floats
from discreet.design.private_labels.information_criteria import (
    CRITERIA,
    WORDS,
    checked_covariates,
    on_rows_used,
    thinned,
    unit_spread,
)
from discreet.design.result import Design, Optimality
from discreet.errors import DesignError, PrivacyError
from discreet.mechanisms import ChannelResponse

#: Rows on which the information of the 2^k patterns is averaged.
_ROWS = 400
#: Weight of a pattern, relative to the largest, below which it is left out of the finished channel.
_NEGLIGIBLE = 1e-6
#: Below this ε the patterns differ too little for floats: the finished channel would miss it, or none is found.
_LEAST_EPSILON = 0.01
_BARRIER_END = 1e-11
#: A pattern joins when its reduced cost, relative to the criterion, is below minus this; so many join at once.
_PRICE_TOLERANCE = 1e-9
_JOINING = 40


class _Derivatives(NamedTuple):
    value: float
    gradient: Floats
    hessian: Floats


def label_classes(
    epsilon: float,
    delta: float,
    covariates: ArrayLike | None,
    coefficients: Any,
    link: str,
    criterion: str,
    classes: int,
) -> Design[ChannelResponse]:
    """The optimum over all ε-private channels for k classes; see `discreet.design.label`."""
    if epsilon < _LEAST_EPSILON:
        raise PrivacyError(
            f"epsilon must be at least {_LEAST_EPSILON:g} with more than two classes, not {epsilon:g}: the optimum "
            "over all channels is worked out in floats"
        )
    if delta != 0:
        raise PrivacyError("with more than two classes the optimal label design is for delta = 0")
    if link != "logit":
        raise DesignError(f"with more than two classes the link is logit, not {link!r}")
    given, B = _assumptions(covariates, coefficients, classes)
    X = thinned(given, _ROWS)
    problem = PatternProblem.build(X, B, epsilon)
    weights = problem.trace_optimum() if criterion == "T" else problem.solve(criterion)
    bound = problem.bound(weights, criterion)
    matrix = problem.channel(weights)
    mechanism = ChannelResponse.private(matrix, epsilon)
    value = float(CRITERIA[criterion](np.sum(list(_informations(X, B, mechanism.matrix().T)), axis=0)))
    plain = float(CRITERIA[criterion](problem.information(problem.generalized())))
    notes = [
        f"generalised response (k-RR) has {plain:.6g}: the optimum is better by a factor of {plain / value:.4g}",
        f"the channel has {mechanism.shape[1]} reports for {classes} classes",
    ]
    if criterion == "T":
        notes.append(
            "T tends to use two reports only and can make some coefficients impossible to estimate; prefer A or D"
        )
    statement = (
        "no ε-private channel with any number of reports does better: columns split into patterns of {1, e^ε}, and the "
        "programme over their weights is convex"
    )
    certificate = Optimality.checked(value, bound, statement)
    return on_rows_used(Design(mechanism, value, certificate, tuple(notes), WORDS[criterion]), len(given), len(X))


def _assumptions(covariates: ArrayLike | None, coefficients: Any, classes: int) -> tuple[Floats, Floats]:
    if covariates is None:
        X = np.ones((1, 1))
    else:
        X = checked_covariates(covariates)
    B = np.zeros((classes - 1, X.shape[1]))
    if coefficients is not None:
        B = arguments.floats(coefficients, "coefficients", DesignError)
    if B.shape != (classes - 1, X.shape[1]):
        raise DesignError(
            f"coefficients must have one row for each class after the first and one column per covariate: "
            f"{classes - 1} × {X.shape[1]}, not {' × '.join(map(str, B.shape)) or 'a number'}"
        )
    return X, B


def _informations(X: Floats, B: Floats, columns: Floats) -> Iterator[Floats]:
    """Information in a column v: the average of (a aᵀ ⊗ x xᵀ)/v̄, ``a_j = P_j(v_j − v̄)``, ``v̄ = Σ v P``."""
    eta = np.column_stack([np.zeros(len(X)), X @ B.T])
    eta -= eta.max(axis=1, keepdims=True)
    P = np.exp(eta)
    P /= P.sum(axis=1, keepdims=True)
    Z = X / unit_spread(X)
    for v in columns:
        mean = P @ v
        a = P[:, 1:] * (v[1:] - mean[:, None])
        scores = (a[:, :, None] * Z[:, None, :]).reshape(len(X), -1)
        yield (scores / mean[:, None]).T @ scores / len(X)


@dataclass(frozen=True)
class PatternProblem:
    """Patterns, the information in each, and the constraint that rows sum to one."""

    patterns: Floats  # pattern × class, entries e^−ε or 1
    informations: Floats  # pattern × p × p

    @classmethod
    def build(cls, X: Floats, B: Floats, epsilon: float) -> PatternProblem:
        """All patterns but one: the two constant ones carry no information, and one of them fills up rows."""
        patterns = np.array(list(product((np.exp(-epsilon), 1.0), repeat=len(B) + 1)))[1:]
        return cls(patterns, np.array(list(_informations(X, B, patterns))))

    def information(self, weights: Floats) -> Floats:
        """Σ μ_S M_S."""
        return np.asarray(np.tensordot(weights, self.informations, axes=1))

    def generalized(self) -> Floats:
        """Weights of k-RR: one high entry per pattern."""
        one_high = (self.patterns == 1.0).sum(axis=1) == 1
        return np.asarray(one_high / self.patterns[one_high].sum(axis=0)[0])

    def channel(self, weights: Floats) -> Floats:
        """The channel, truths × reports; a last correction makes the rows sum to one to machine accuracy."""
        used = weights > 0
        A = self.patterns[used].T
        exact = weights[used] + np.linalg.lstsq(A, 1 - A @ weights[used], rcond=None)[0]
        return np.asarray(np.maximum(exact, 0)[None, :] * A)

    def solve(self, criterion: str) -> Floats:
        """Barrier method on few patterns; those that would improve the criterion join until none does."""
        high = (self.patterns == 1.0).sum(axis=1)
        k = self.patterns.shape[1]
        # k-RR, the best subset size for frequencies, and the constant pattern that fills up rows.
        subset = max(1, round(k * self.patterns.min() / (1 + self.patterns.min())))
        active = (high == 1) | (high == subset) | (high == k)
        while True:
            start = self._interior(active)
            if start is None:
                raise DesignError("the label design found no channel to start from; ε may be too large")
            inner, multiplier = _barrier(self._restricted(active), start, criterion)
            weights = np.zeros(len(self.patterns))
            weights[active] = inner
            gradient = _OBJECTIVES[criterion](self, weights, hessian=False).gradient
            reduced = gradient - self.patterns @ multiplier
            scale = abs(gradient @ weights)
            wanted = np.flatnonzero((reduced < -_PRICE_TOLERANCE * scale) & ~active)
            if not wanted.size:
                break
            active = weights > _NEGLIGIBLE * weights.max()
            active[wanted[np.argsort(reduced[wanted])[:_JOINING]]] = True
        return self._finished(weights, criterion)

    def _finished(self, weights: Floats, criterion: str) -> Floats:
        """Leave out patterns of negligible weight, and solve once more without them."""
        keep = weights > _NEGLIGIBLE * weights.max()
        start = self._interior(keep)
        if start is None:
            return weights
        finished = np.zeros_like(weights)
        finished[keep] = _barrier(self._restricted(keep), start, criterion)[0]
        return finished

    def _restricted(self, keep: NDArray[np.bool_]) -> PatternProblem:
        return PatternProblem(self.patterns[keep], self.informations[keep])

    def _interior(self, keep: NDArray[np.bool_]) -> Floats | None:
        """A feasible point on the kept patterns that is as far from zero as possible."""
        from scipy.optimize import linprog

        A = self.patterns[keep].T
        count = A.shape[1]
        found = linprog(
            np.append(np.zeros(count), -1.0),
            A_ub=np.hstack([-np.eye(count), np.ones((count, 1))]),
            b_ub=np.zeros(count),
            A_eq=np.hstack([A, np.zeros((len(A), 1))]),
            b_eq=np.ones(len(A)),
            bounds=[(0, None)] * count + [(None, None)],
        )
        solution = np.asarray(found.x)
        return solution[:-1] if found.status == 0 and solution[-1] > 1e-12 else None

    def trace_optimum(self) -> Floats:
        """T is a linear programme."""
        return self._linear(-np.trace(self.informations, axis1=1, axis2=2))

    def _linear(self, costs: Floats) -> Floats:
        from scipy.optimize import linprog

        found = linprog(
            costs,
            A_eq=self.patterns.T,
            b_eq=np.ones(self.patterns.shape[1]),
            bounds=(0, None),
            options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
        )
        if found.status != 0:
            raise DesignError("the linear programme of the label design did not converge")
        return np.asarray(found.x)

    def bound(self, weights: Floats, criterion: str) -> float:
        """A lower bound by convexity: the criterion's tangent, minimised over all feasible weights."""
        if criterion == "T":
            return float(CRITERIA["T"](self.information(weights)))
        _, gradient, _ = _OBJECTIVES[criterion](self, weights, hessian=False)
        best = self._linear(gradient)
        value, step = _OBJECTIVES[criterion](self, weights, hessian=False).value, float(gradient @ (best - weights))
        if criterion == "D":
            return float(np.exp((value + step) / self.informations.shape[1]))
        return value + step


def _a_objective(problem: PatternProblem, weights: Floats, *, hessian: bool = True) -> _Derivatives:
    """Trace of the inverse, with ∂ = −⟨M⁻², M_S⟩ and ∂² = 2⟨M⁻¹ᐟ²M_S M⁻¹, M⁻¹ᐟ²M_T M⁻¹⟩."""
    inverse = np.linalg.inv(problem.information(weights))
    gradient = -problem.informations.reshape(len(weights), -1) @ (inverse @ inverse).ravel()
    if not hessian:
        return _Derivatives(float(np.trace(inverse)), gradient, np.empty(0))
    flat = (np.linalg.cholesky(inverse).T @ problem.informations @ inverse).reshape(len(weights), -1)
    return _Derivatives(float(np.trace(inverse)), gradient, 2 * flat @ flat.T)


def _d_objective(problem: PatternProblem, weights: Floats, *, hessian: bool = True) -> _Derivatives:
    """−log det, with ∂ = −tr(M⁻¹M_S) and ∂² = ⟨M⁻¹ᐟ²M_S M⁻¹ᐟ², M⁻¹ᐟ²M_T M⁻¹ᐟ²⟩."""
    information = problem.information(weights)
    inverse = np.linalg.inv(information)
    value = -float(np.linalg.slogdet(information)[1])
    gradient = -problem.informations.reshape(len(weights), -1) @ inverse.ravel()
    if not hessian:
        return _Derivatives(value, gradient, np.empty(0))
    root = np.linalg.cholesky(inverse).T
    flat = (root @ problem.informations @ root.T).reshape(len(weights), -1)
    return _Derivatives(value, gradient, flat @ flat.T)


_OBJECTIVES: dict[str, Callable[..., _Derivatives]] = {"A": _a_objective, "D": _d_objective}


def _barrier(problem: PatternProblem, start: Floats, criterion: str) -> tuple[Floats, Floats]:
    """Minimise the criterion over {μ > 0, rows sum to one} by Newton steps on a shrinking log barrier.

    Returns the weights and the multipliers of the row sums.
    """
    objective = _OBJECTIVES[criterion]
    A = problem.patterns.T
    mu = start
    multiplier = np.zeros(len(A))
    tau = 0.1 * abs(objective(problem, mu, hessian=False).gradient @ mu) / mu.size
    end = _BARRIER_END * tau * mu.size
    while tau > end:
        for _ in range(50):
            value, gradient, hessian = objective(problem, mu)
            slope = gradient - tau / mu
            scaled = hessian * mu[:, None] * mu + tau * np.eye(mu.size)  # variables μ·d keep the system well scaled
            scaled_A = A * mu
            solved = np.linalg.solve(scaled, np.column_stack([slope * mu, scaled_A.T]))
            multiplier = np.linalg.solve(scaled_A @ solved[:, 1:], scaled_A @ solved[:, 0])
            step = -(solved[:, 0] - solved[:, 1:] @ multiplier)
            decrement = -float((slope * mu) @ step)
            if decrement < 1e-9 * tau:
                break
            length = min(1.0, 0.95 / max(-step.min(), 1e-300))
            merit = value - tau * np.log(mu).sum()
            while length > 1e-12:
                trial = mu * (1 + length * step)
                if (
                    objective(problem, trial, hessian=False).value - tau * np.log(trial).sum()
                    <= merit - 0.1 * length * decrement
                ):
                    break
                length /= 2
            mu = mu * (1 + length * step)
        tau /= 8
    return mu, multiplier
