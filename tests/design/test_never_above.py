"""No finished design is less private than asked, at any level and any size; claims are limited to what was used."""

from __future__ import annotations

import importlib
import math

import numpy as np
import pytest

from discreet import Box, Grid, InputError, Ordinal, design
from discreet.design.private_labels.pilot_sample import label_on_average
from discreet.design.result import Optimality

#: The file, which shares its name with the function.
attributes_module = importlib.import_module("discreet.design.several_attributes.joint_design")
LEVELS = [1e-6, math.log(3) - 4.8e-12, math.log(3), 50.0, *np.random.default_rng(1).uniform(0.02, 8, 6).tolist()]
X = np.column_stack([np.ones(50), np.linspace(-1, 1, 50)])
DESIGNS = {
    "binary": lambda e: design.binary(e).guarantee.epsilon,
    "binary delta": lambda e: design.binary(e, 0.1, (0.1, 0.4)).guarantee.epsilon,
    "four reports": lambda e: design.binary(e, 0.1, 0.3, reports=4).guarantee.epsilon,
    "label": lambda e: design.label(e, 0.2, X, [[-3.0, 0.5], [1.0, 0.2]]).guarantee.epsilon,
    "label classes": lambda e: (
        design.label(e, covariates=X, coefficients=[[0, 1], [0, -1]], classes=3).guarantee.epsilon
    ),
    "label average": lambda e: label_on_average(e, 0.2, X, np.array([[0.1, 1.0], [-2.0, 0.3]])).guarantee.epsilon,
    "bipartite": lambda e: design.bipartite(Grid(0, 1, 6), e).guarantee.epsilon,
    "expected error": lambda e: design.expected_error(Grid(0, 1, 4), e).guarantee.epsilon,
    "frequencies": lambda e: design.frequencies(30, e).guarantee.epsilon,
    "mean": lambda e: design.mean(Ordinal([0, 1, 5]), e).guarantee.epsilon,
    "means split": lambda e: design.means([Grid(0, 1, 3), Grid(0, 5, 3)], e, method="split").guarantee.epsilon,
    "means one": lambda e: design.means([Grid(0, 1, 3), Grid(0, 5, 3)], e, method="one").guarantee.epsilon,
    "Laplace": lambda e: design.zero_inflated_laplace(Box(0, 1), e, 0.0, 0.0).guarantee.epsilon,
    "two groups": lambda e: max(
        one.certificate.epsilon for one in design.detect_cheating(0.2, epsilon=e).designs.values()
    ),
    "two groups, few told": lambda e: max(
        one.certificate.epsilon for one in design.detect_cheating(0.3, epsilon=e, truthful=0.1).designs.values()
    ),
    "split": lambda e: math.fsum(
        one.guarantee.epsilon for one in design.split_budget([Grid(0, 1, 5), Grid(0, 10, 5)], e).designs
    ),
    "total": lambda e: design.attributes_for_total([4, 3, 2], [1, 2, 1], e).guarantee.epsilon,
    **{
        f"attributes {method}": lambda e, method=method: design.attributes(
            [2, 3, 2], [e, e, e], method
        ).marginal_epsilons.max()
        for method in ("exact", "lp", "kronecker", "inductive")
    },
}


@pytest.mark.parametrize("name", DESIGNS)
@pytest.mark.parametrize("epsilon", LEVELS)
def test_the_realised_level_is_at_most_the_requested_one(name, epsilon):
    """Recomputed from the finished integers; what cannot be met is refused in a sentence."""
    try:
        realised = DESIGNS[name](epsilon)
    except InputError:
        assert epsilon in (1e-6, 50.0) or name in ("two groups, few told",), f"{name} refuses {epsilon}"
        return
    assert realised <= epsilon


def test_two_groups_reach_the_level_and_do_not_pass_it():
    """A level just below ln 3 is met by other fractions than ln 3; a large one never by a chance of 0."""
    for epsilon in (math.log(3) - 4.8e-12, 3.0, 20.0):
        for one in design.detect_cheating(0.2, epsilon=epsilon).designs.values():
            assert one.guarantee.epsilon <= epsilon
            assert one.guarantee.exposure == 0


@pytest.mark.parametrize("count", [2_001, 5_000])
@pytest.mark.parametrize("method", ["exact", "inductive", "kronecker"])
def test_levels_hold_beyond_two_thousand_attributes(count, method):
    """Every attribute of a large record, also where the heuristic's masses are rounded."""
    rng = np.random.default_rng(count)
    levels = np.full(count, 0.5) if method == "exact" else rng.uniform(0.3, 0.5, count)
    sizes = [3] * count
    found = design.attributes(sizes, levels.tolist(), method, "free", allow_raised=True)
    kept = np.setdiff1d(np.arange(count), found.changed)
    assert kept.size
    assert np.all(found.marginal_epsilons[kept] <= levels[kept])


def test_a_mechanism_above_its_levels_is_refused(monkeypatch):
    """The last check is made at every size: a search that returns too little noise does not get through."""
    louder = design.attributes([2] * 3, [1.0] * 3)
    monkeypatch.setattr(
        attributes_module,
        "_exact",
        lambda request, pairs: louder,
    )
    with pytest.raises(InputError, match=r"epsilons\[0\] = 0.5 is not met"):
        attributes_module.attributes([2] * 3, [0.5] * 3)


def rows_of(count):
    """Covariates of many people."""
    return np.column_stack([np.ones(count), np.linspace(-2, 2, count)])


@pytest.mark.parametrize(
    ("make", "used"),
    [
        (lambda X: design.label(1.0, 0.3, X, [-2.0, 0.5]), 20_000),
        (lambda X: design.label(1.0, 0.3, X, [-2.0, 0.5], reports=4), 20_000),
        (lambda X: design.label(1.0, 0.3, X, [[-2.0, 0.5], [2.0, 0.1]]), 20_000),
        (lambda X: label_on_average(1.0, 0.3, X, np.array([[-2.0, 0.5]])), 20_000),
        (lambda X: design.label(1.0, covariates=X, coefficients=[[0.0, 1], [0.0, -1]], classes=3), 400),
    ],
)
def test_rows_that_were_left_out_are_announced(make, used):
    """A note names both numbers, and the claim of optimality is about the rows used; none without thinning."""
    few, many = make(rows_of(used)), make(rows_of(used + 1))
    assert not any("rows" in note and "used" in note for note in few.notes)
    assert "rows used" not in few.certificate.statement
    assert any(f"{used:,} of the {used + 1:,} rows" in note for note in many.notes)
    assert many.certificate.statement.startswith(f"on the {used:,} rows used, ")
    assert f"{used:,}" in many.summary()


def criterion_of(mechanism, X, coefficients):
    """The A criterion of a finished yes/no channel by its definition, with standardised covariates."""
    spread = np.where(X.std(axis=0) > 0, X.std(axis=0), 1)
    Z, eta = X / spread, X @ np.asarray(coefficients)
    p = 1 / (1 + np.exp(-eta))
    Q = np.array(mechanism.matrix())
    chances = np.outer(1 - p, Q[0]) + np.outer(p, Q[1])
    information = ((Q[1] - Q[0]) ** 2 / np.where(chances > 0, chances, 1)).sum(axis=1) * (p * (1 - p)) ** 2
    return np.trace(np.linalg.inv((Z * information[:, None]).T @ Z / len(X)))


@pytest.mark.parametrize("reports", [2, 4])
@pytest.mark.parametrize("coefficients", [[-2.0, 0.5], [0.3, 1.0]])
def test_the_certificate_judges_the_finished_mechanism(reports, coefficients):
    """Value and objective are the criterion of the integers, and not below the bound."""
    found = design.label(0.8, 0.3, X, coefficients, reports=reports)
    assert found.certificate.value == found.objective
    assert found.objective == pytest.approx(criterion_of(found.mechanism, X, coefficients), rel=1e-10)
    assert found.certificate.bound <= found.certificate.value <= found.certificate.bound * (1 + 1e-6)


def test_the_certificate_of_several_classes_judges_the_finished_mechanism():
    """The rounded channel, written out as a multinomial model."""
    B = np.array([[0.2, 1.0], [-0.5, -1.0]])
    found = design.label(1.2, covariates=X, coefficients=B, classes=3)
    eta = np.column_stack([np.zeros(len(X)), X @ B.T])
    P = np.exp(eta) / np.exp(eta).sum(axis=1, keepdims=True)
    Z, Q = X / np.where(X.std(axis=0) > 0, X.std(axis=0), 1), found.mechanism.matrix()
    total = np.zeros((4, 4))
    for row, p in zip(Z, P, strict=True):
        slopes = (np.diag(p) - np.outer(p, p))[:, 1:]  # of the classes' chances in the predictors
        gradient = np.einsum("xy,xj,d->yjd", Q, slopes, row).reshape(Q.shape[1], -1)
        total += gradient.T @ (gradient / (p @ Q)[:, None]) / len(X)
    assert found.certificate.value == pytest.approx(np.trace(np.linalg.inv(total)), rel=1e-9)


def test_a_refuted_bound_is_announced():
    """A bound above what a design reaches proves nothing: the statement tells it, and rounding alone does not."""
    assert Optimality.checked(1.0, 1.0 + 1e-9, "no design is better") == Optimality(1.0, 1.0, "no design is better")
    refuted = Optimality.checked(1.0, 1.5, "no design is better")
    assert refuted.bound == 0
    assert not refuted.proven
    assert "nothing is proven" in refuted.summary()
    assert "1.5" in refuted.summary()


def test_a_refuted_bound_of_attributes_is_announced(monkeypatch):
    """The weakest attribute is what is left to bound a record, and a note names the bound that was refuted."""
    monkeypatch.setattr(attributes_module, "quick_bound", lambda request: 99.0)
    found = design.attributes([2, 3], [0.5, 1.0], "kronecker")
    assert any("99" in note and "refuted" in note for note in found.notes)
    assert "weakest attribute" in found.certificate.statement
    assert found.certificate.bound == pytest.approx(1.0, rel=1e-6)
