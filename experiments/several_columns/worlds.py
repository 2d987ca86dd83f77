"""The tables that are simulated, the plans that release them, and the models that are fitted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from discreet import Plan, Randomness, Release, release

BINARY = '{ binary = ["no", "yes"] }'
LETTERS = '{ categorical = ["a", "b", "c", "d"] }'


@dataclass(frozen=True)
class World:
    """A model whose coefficients are known, and how its table is drawn and released.

    Attributes
    ----------
    formula, family : str
    truth : mapping of str to float
        Every coefficient by its name.
    draw : function
        A table of n rows from a generator.
    plan : str
    """

    formula: str
    family: str
    truth: dict[str, float]
    draw: Callable[[int, np.random.Generator], pa.Table]
    plan: str

    def released(self, n: int, seed: int) -> Release:
        """One table, released."""
        table = self.draw(n, np.random.default_rng(seed))
        return release(table, Plan.parse(self.plan), randomness=Randomness.seeded(seed))


def _block(name: str, domain: str, epsilon: float) -> str:
    return (
        f'[[private]]\ncolumns = ["{name}"]\ndomain = {domain}\n'
        f'mechanism = "randomized-response"\nepsilon = {epsilon}\n'
    )


def _yes(chance: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return rng.random(chance.size) < 1 / (1 + np.exp(-chance))


def _words(flags: np.ndarray) -> np.ndarray:
    return np.where(flags, "yes", "no")


def three_columns(epsilon: float) -> World:
    """A logit of a randomised outcome on a binary and a four-valued randomised predictor and a public one.

    The public predictor is related to the binary one.
    """

    def draw(n: int, rng: np.random.Generator) -> pa.Table:
        w = rng.normal(size=n)
        x1, x2 = _yes(-0.5 + 0.8 * w, rng), rng.choice(4, n, p=[0.4, 0.3, 0.2, 0.1])
        y = _yes(-1 + 0.7 * w + x1 + np.array([0, 0.5, -0.5, 1.0])[x2], rng)
        return pa.table({"w": w, "x1": _words(x1), "x2": np.array(list("abcd"))[x2], "y": _words(y)})

    truth = {"Intercept": -1, "w": 0.7, "x1[T.yes]": 1, "x2[T.b]": 0.5, "x2[T.c]": -0.5, "x2[T.d]": 1}
    plan = 'format = 1\n[[public]]\ncolumns = ["w"]\n' + _block("y", BINARY, epsilon)
    plan += _block("x1", BINARY, epsilon) + _block("x2", LETTERS, epsilon)
    return World("y ~ w + x1 + x2", "binary", truth, draw, plan)


def ten_columns(epsilon: float) -> World:
    """A linear model of a public number on ten related yes/no columns, each randomised on its own."""
    slopes = np.linspace(-1, 1, 10)

    def draw(n: int, rng: np.random.Generator) -> pa.Table:
        common = rng.normal(size=n)
        x = np.column_stack([_yes(0.7 * common - 0.4, rng) for _ in range(10)])
        y = 2 + 0.5 * common + x @ slopes + rng.normal(size=n)
        columns = {f"x{j}": _words(x[:, j]) for j in range(10)}
        return pa.table(columns | {"y": y, "common": common})

    truth = {"Intercept": 2.0, "common": 0.5} | {f"x{j}[T.yes]": float(slopes[j]) for j in range(10)}
    plan = 'format = 1\n[[public]]\ncolumns = ["y", "common"]\n'
    plan += "".join(_block(f"x{j}", BINARY, epsilon) for j in range(10))
    return World("y ~ common + " + " + ".join(f"x{j}" for j in range(10)), "linear", truth, draw, plan)


def joint_block(epsilon: float) -> World:
    """A logit of one of ten yes/no columns on three others, all ten randomised together."""
    slopes = (1.0, -0.7, 0.5)

    def draw(n: int, rng: np.random.Generator) -> pa.Table:
        common = rng.normal(size=n)
        x = np.column_stack([_yes(0.8 * common, rng) for _ in range(10)])
        x[:, 0] = _yes(-0.5 + x[:, 1:4] @ slopes, rng)
        return pa.table({f"x{j}": _words(x[:, j]) for j in range(10)})

    truth = {"Intercept": -0.5} | {f"x{j + 1}[T.yes]": slope for j, slope in enumerate(slopes)}
    names = ", ".join(f'"x{j}"' for j in range(10))
    plan = f"format = 1\n[[private]]\ncolumns = [{names}]\ndomains = [{', '.join([BINARY] * 10)}]\n"
    plan += f'mechanism = "joint"\nepsilons = [{", ".join([str(epsilon)] * 10)}]\n'
    return World("x0 ~ x1 + x2 + x3", "binary", truth, draw, plan)


WORLDS = {"three": three_columns, "ten": ten_columns, "joint": joint_block}
