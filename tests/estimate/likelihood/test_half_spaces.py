"""The best step function of the covariates, and the fits that must say that one lies above them."""

from __future__ import annotations

import itertools

import numpy as np

from discreet.estimate.regressions.likelihood import binary_regression
from discreet.estimate.regressions.likelihood.half_spaces import best_angle, best_step
from discreet.estimate.regressions.likelihood.rows import checked_rows

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
    for seed in range(14):
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
    assert local > 2
    assert finite - local > 2


def test_well_informed_fits_are_not_doubted():
    """Direct answers, and many rows: converged, without a word."""
    X, y, truth = rows(3_000, KEEP, KEEP, seed=1)
    for reports, keep in ((truth, 1.0), (y, KEEP)):
        assert binary_regression(X, reports, keep, keep).status == "converged"


def test_rows_on_the_plane_from_the_start_count_once():
    """Rows that lie on the first plane, or on every plane of the turn, exactly: as by hand at every angle."""
    here, there = np.array([0.0, 0.0, 1.0, 0.0]), np.array([1.0, -2.0, 0.5, 0.0])
    for gain in np.random.default_rng(3).normal(size=(20, 4)):
        value, angle = best_angle(here, there, gain)
        sums = [gain[np.cos(a) * here + np.sin(a) * there > 0].sum() for a in np.linspace(0.001, 6.28, 1_000)]
        assert np.isclose(value, max(sums))
        assert np.isclose(value, gain[np.cos(angle) * here + np.sin(angle) * there > 0].sum())


def through_pairs(X, gain):
    """The best half-space by way of all planes through two rows, each row put on its better side."""
    first, second = np.triu_indices(len(X), 1)
    sides = np.cross(X[first], X[second]) @ X.T
    sides[np.arange(first.size), first] = sides[np.arange(first.size), second] = 0.0
    free = np.maximum(gain[first], 0) + np.maximum(gain[second], 0)
    return max(((sides > 0) @ gain + free).max(), ((sides < 0) @ gain + free).max())


def test_with_three_coefficients_the_best_plane_is_found():
    """Against all planes through two of 150 rows; a search from a few planes alone misses some."""
    for seed in range(10):
        X, y, _ = rows(150, KEEP, KEEP, beta=(-3.0, 0.8, 0.8), seed=seed)
        some = checked_rows(X, y, KEEP, KEEP)
        gain = np.log(some.given_yes) - np.log(some.given_no)
        value, plane = best_step(some, np.array([-3.0, 0.8, 0.8]))
        assert np.isclose(value, np.log(some.given_no).sum() + through_pairs(X, gain))
        assert np.isclose(value, np.log(some.given_no).sum() + gain[X @ plane > 0].sum())


def test_more_coefficients_and_repeated_rows():
    """Four columns, one of them yes/no, and three, of which two have few values: no random plane is better."""
    chance = np.random.default_rng(4)
    for columns in (2, 3):
        X = np.column_stack([np.ones(300), chance.integers(0, 2, 300), chance.normal(size=(300, columns - 1))])
        X[:, 2] = X[:, 2].round() if columns == 2 else X[:, 2]
        some = checked_rows(X, chance.integers(0, 2, 300), KEEP, KEEP)
        gain = np.log(some.given_yes) - np.log(some.given_no)
        value, plane = best_step(some, np.ones(X.shape[1]))
        assert np.isclose(value, np.log(some.given_no).sum() + gain[X @ plane > 0].sum())
        tried = np.where(X @ chance.normal(size=(X.shape[1], 3_000)) > 0, gain[:, None], 0).sum(axis=0)
        assert value >= np.log(some.given_no).sum() + tried.max() - 1e-9
