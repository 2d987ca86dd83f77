"""Rows with known coefficients, for the tests of this folder."""

from __future__ import annotations

import numpy as np

from discreet.estimate.regressions.likelihood.links import LINKS


def rows(n, p00, p11, link="logit", beta=(1.0, 0.25, 0.0, 0.5), seed=0):
    """Covariates, reports and truths of n people; p00 and p11 may differ from row to row."""
    chance = np.random.default_rng(seed)
    X = chance.normal(size=(n, len(beta)))
    X[:, 0] = 1.0
    truth = chance.random(n) < LINKS[link].probability(X @ np.asarray(beta))
    keep = np.where(truth, p11, p00)
    report = np.where(chance.random(n) < keep, truth, ~truth)
    return X, report.astype(np.int64), truth.astype(np.int64)


def differences(f, x, step=1e-6):
    """Central differences of f, one column per coordinate."""
    return np.stack([(f(x + step * e) - f(x - step * e)) / (2 * step) for e in np.eye(x.size)], axis=-1)
