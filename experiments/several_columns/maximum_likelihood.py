"""Maximum likelihood in the world of three columns, with a correct model of the randomised predictors.

The truths are latent: x1 a logit on w, x2 the same for everybody. A row has likelihood
``Σ_{a,b} P(x1 = a | w) P(x2 = b) Q1[a, r1] Q2[b, r2] Σ_y Qy[y, ry] P(y | a, b, w)``. An independent piece of code, to
compare errors with.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from discreet import Release


def maximum_likelihood(released: Release, start: np.ndarray) -> np.ndarray:
    """Coefficients in the order constant, w, x1, three of x2."""
    table = released.to_arrow()
    w = table["w"].to_numpy()
    reports = {name: released.block(name).reports.encode(table[name].combine_chunks()) for name in ("y", "x1", "x2")}
    given = {name: released.mechanism(name).matrix()[:, codes] for name, codes in reports.items()}
    dummies = np.vstack([np.zeros(3), np.eye(3)])

    def terms(v: np.ndarray) -> tuple[float, np.ndarray]:
        """Minus the mean log-likelihood, and its gradient."""
        beta, chance, logits = v[:6], expit(v[6] + v[7] * w), np.append(0.0, v[8:])
        shares = np.exp(logits - logits.max())
        shares /= shares.sum()
        total, gradient = np.zeros(w.size), np.zeros((w.size, v.size))
        for a in range(2):
            prior = chance if a else 1 - chance
            for b in range(4):
                x = np.column_stack([np.ones(w.size), w, np.full(w.size, a), np.tile(dummies[b], (w.size, 1))])
                p = expit(x @ beta)
                outer = prior * shares[b] * given["x1"][a] * given["x2"][b]
                joint = outer * (given["y"][1] * p + given["y"][0] * (1 - p))
                total += joint
                gradient[:, :6] += (outer * (given["y"][1] - given["y"][0]) * p * (1 - p))[:, None] * x
                pull = joint * (a - chance)
                gradient[:, 6] += pull
                gradient[:, 7] += pull * w
                gradient[:, 8:] += joint[:, None] * (dummies[b] - shares[1:])
        return -float(np.log(total).mean()), -(gradient / total[:, None]).mean(axis=0)

    first = np.concatenate([start, np.zeros(5)])
    return minimize(terms, first, jac=True, method="BFGS", options={"gtol": 1e-6}).x[:6]
