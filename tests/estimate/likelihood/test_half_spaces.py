"""The best step function of the covariates, and the fits that must say that one lies above them."""

from __future__ import annotations

import itertools

import numpy as np

from discreet.estimate.likelihood import binary_regression
from discreet.estimate.likelihood.half_spaces import best_angle, best_step
from discreet.estimate.likelihood.rows import checked_rows

from .simulated import rows

KEEP = float(np.exp(1) / (1 + np.exp(1)))


def test_one_sort_finds_the_best_angle():
    """Against all angles between events, one by one."""
    chance = np.random.default_rng(1)
    for _ in range(8):
        here, there, gain = chance.normal(size=(3, 15))
        value, angle = best_angle(here, there, gain)
        assert np.isclose(value, gain[np.cos(angle) * here + np.sin(angle) * there > 0].sum())
        tried = [gain[np.cos(a) * here + np.sin(a) * there > 0].sum() for a in np.linspace(0, 2 * np.pi, 2_001)]
        assert value >= max(tried) - 1e-12


def test_the_best_plane_of_few_rows_is_found():
    """Two columns, twelve rows: every split of the plane through the origin is tried by hand."""
    chance = np.random.default_rng(2)
    for _ in range(10):
        X, y = chance.normal(size=(12, 2)), chance.integers(0, 2, 12)
        some = checked_rows(X, y, 0.7, 0.8)
        value, plane = best_step(some, np.ones(2))
        made = [np.where(X @ t > 0, some.given_yes, some.given_no) for t in planes(X)]
        assert np.isclose(value, max(np.log(one).sum() for one in made))
        assert np.isclose(value, np.log(np.where(X @ plane > 0, some.given_yes, some.given_no)).sum())


def planes(X):
    """A direction between any two neighbouring normals."""
    angles = np.sort(np.concatenate([np.arctan2(-X[:, 0], X[:, 1]), np.arctan2(X[:, 0], -X[:, 1])]))
    middles = [(a + b) / 2 for a, b in itertools.pairwise([*angles, angles[0] + 2 * np.pi])]
    return [np.array([np.cos(m), np.sin(m)]) for m in middles]


def test_a_higher_likelihood_far_away_is_said():
    """Rare outcomes under strong randomisation: what the status says holds at a far point, and is said often."""
    local = finite = 0
    for seed in range(30):
        X, y, _ = rows(600, KEEP, KEEP, beta=(-3.0, 0.8, 0.8), seed=seed)
        fit = binary_regression(X, y, KEEP, KEEP)
        finite += fit.direction is None
        if not fit.status.startswith("a local maximum"):
            continue
        local += 1
        assert not fit.converged
        assert any("firth" in note for note in fit.notes)
        _, plane = best_step(fit.facts.sample, fit.coefficients)
        far = fit.objective.value(1e6 * plane / np.abs(plane).max())
        assert far > fit.log_likelihood + 1e-3
        assert f"higher by {far - fit.log_likelihood:.2f}" in fit.status
    assert local > 5
    assert finite - local > 5


def test_well_informed_fits_are_not_doubted():
    """Direct answers, and many rows: converged, without a word."""
    X, y, truth = rows(3_000, KEEP, KEEP, seed=1)
    for reports, keep in ((truth, 1.0), (y, KEEP)):
        assert binary_regression(X, reports, keep, keep).status == "converged"
