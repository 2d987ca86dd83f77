"""Coverage of predictions and of marginal effects: a corrected loss with three randomised columns, and several classes.

    python -m experiments.inference.prediction_coverage [--runs 300]

Predictions are for three kinds of people, effects are averages over the people of :mod:`.regression_coverage`, with
true coefficients; their truth is the average over two million of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.special import expit

from discreet import Randomness, estimate, release
from experiments.inference.coverage import Setting, main
from experiments.inference.regression_coverage import NUMBERS, YES_NO, People, classes, index, plan, yes_no

Rng = np.random.Generator
KINDS = {"w": [-1.0, 0.5, 2.0], "x": ["no", "yes", "no"], "v": [0, 1, 3]}


def kinds_index() -> Any:
    """``.5w + x − .4v`` of the three kinds."""
    return 0.5 * np.array(KINDS["w"]) + np.array([0, 1, 0]) - 0.4 * np.array(KINDS["v"])


def binary() -> Setting:
    """A logit whose three columns but one are randomised."""
    made = plan({"y": 3.0, "x": 3.0, "v": 3.0}, {"y": YES_NO, "x": YES_NO, "v": NUMBERS}, survey=False)
    people = People(2_000_000, np.random.default_rng(3), survey=False)
    yes = expit(index(people) - 1)
    slope = yes * (1 - yes)
    base = index(people) - people.x - 1
    truth = {f"prediction {k}": float(one) for k, one in enumerate(expit(kinds_index() - 1))}
    truth |= {"w": float(np.mean(0.5 * slope)), "x[T.yes]": float(np.mean(expit(base + 1) - expit(base)))}
    truth["v"] = float(np.mean(-0.4 * slope))

    def ask(rng: Rng, source: Randomness) -> Any:
        own = People(10_000, rng, survey=False)
        fit = estimate.regression("y ~ w + x + v", release(own.table(yes_no(own)), made, randomness=source))
        return fit.predict(KINDS), fit.marginal_effects()

    return Setting("corrected logit: predictions, effects", truth, ask)


def several() -> Setting:
    """Three classes, the outcome randomised."""
    letters = {"categorical": ["a", "b", "c"]}
    made = plan({"y": 3.0}, {"y": letters}, survey=False)

    def shares(at: Any, w: Any) -> Any:
        scores = np.exp(np.array([np.zeros_like(w), at - 0.5, -2.0 + 0.5 * w]))
        return scores / scores.sum(axis=0)

    at_kinds = shares(kinds_index(), np.array(KINDS["w"]))
    truth = {f"P({c}) {k}": float(at_kinds[j, k]) for k in range(3) for j, c in enumerate("abc")}
    people = People(2_000_000, np.random.default_rng(3), survey=False)
    own_shares = shares(index(people), people.w)
    slopes = {"w": (0.0, 0.5, 0.5), "x[T.yes]": (0.0, 1.0, 0.0), "v": (0.0, -0.4, 0.0)}
    for j, c in enumerate("abc"):
        for name, b in slopes.items():
            mixed = np.einsum("k,kn->n", np.array(b), own_shares)
            truth[f"{c}: {name}"] = float(np.mean(own_shares[j] * (b[j] - mixed)))

    def ask(rng: Rng, source: Randomness) -> Any:
        own = People(5_000, rng, survey=False)
        fit = estimate.regression("y ~ w + x + v", release(own.table(classes(own)), made, randomness=source))
        return fit.predict(KINDS), fit.marginal_effects()

    return Setting("multinomial: predictions, effects", truth, ask)


def settings() -> Iterator[Setting]:
    """Both."""
    yield binary()
    yield several()


if __name__ == "__main__":
    main(settings, __doc__, "prediction_coverage")
