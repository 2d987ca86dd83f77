"""A ReLU network on zero-inflated Laplace releases: naive, doubly random, and with averaged draws.

The paper names networks with ReLU units as what its corrected loss is for (section 4), and shows none: its non-smooth
example is the mean of one ReLU (section 7.1, Figure 2). This is what happens with a network of one hidden layer;
nothing is printed that it could be compared with.

The squared loss ``ℓ = (y − f(x))²`` of a network f is fitted five ways, all from the same start and the same data:

* *oracle*: on the true covariates;
* *naive*: on the reports x1 as if they were true;
* *one draw*: the paper's DRCL, ``ℓ(x1)/δ₀ + (1 − 1/δ₀) ℓ(x2)``, one x2 = x1 + S per record, S multivariate Laplace;
* *averaged*: the mean of ℓ(x2) over eight draws instead, closer to the exact corrected loss
  ``ℓ(x1)/δ₀ + (1 − 1/δ₀) E[ℓ(x1 + S) | x1]``;
* *fresh*: new draws at every step of the optimiser, whose expected gradient is that of the exact corrected loss. It
  costs no memory, and whoever holds the release may draw as often as they like.

The corrected loss has negative weights and is not bounded below: a network that bends sharply between the records
makes it as small as one likes. So the weights are kept in a compact set: every hidden unit's weights and offset within
the unit ball (its size can be moved to the output), and the output weights within Σ|a| ≤ 12, about twice what the
truth needs; the table says how often a fit ends on that edge, where the bound and not the data decides. There is no
early stopping: the number of steps and their sizes are fixed in advance, so no fit is stopped by looking at the truth.
The bound of 12, the number of steps and the rule not to stop early were settled in pilot runs that did look at it; at
twice the noise (λ = 1) one draw and averaged draws lost to the naive fit there, up to n = 64,000, so this table says
nothing about more private noise.

The noise is that of the paper's Table 2, and hardly private. One draw does not beat the naive fit at n = 2,000 and
8,000 and does from 32,000 on; averaged draws do from 8,000 on, fresh ones already at 2,000.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np

from discreet import Box, Randomness
from discreet.mechanisms import ZeroInflatedLaplace
from experiments.reporting import Check, Report, Table, new_figure

#: What to do where JAX is missing.
NEEDS_JAX = "The network experiment is skipped: it needs JAX, pip install 'discreet[autodiff]'."
METHODS = ("oracle", "naive", "one draw", "averaged", "fresh")
Weights = dict[str, Any]


@dataclass(frozen=True)
class Setting:
    """Covariates uniform on [−1, 1]², ``y = 1 − 2|x₁| + max(x₁ + x₂, 0) + σ·normal``, and how the network is fitted."""

    sizes: tuple[int, ...] = (2_000, 8_000, 32_000, 128_000)
    runs: int = 12
    scale: float = 0.5
    zero: float = 0.2
    sigma: float = 0.3
    hidden: int = 16
    output_bound: float = 12.0
    draws: int = 8
    fresh_draws: int = 4
    steps: int = 2_500
    batch: int = 1_024
    rate: float = 0.02

    @property
    def mechanism(self) -> ZeroInflatedLaplace:
        """λ and δ₀ of the first setting of Table 2, on a box of two coordinates."""
        return ZeroInflatedLaplace(Box([-1, -1], [1, 1]), self.scale, self.zero, epsilon=4.0)


FULL = Setting()
QUICK = Setting(sizes=(1_000,), runs=2, hidden=8, draws=2, fresh_draws=1, steps=100, batch=256)


def truth(x: np.ndarray) -> np.ndarray:
    """A ridge and a fold: kinks that noise blurs."""
    return np.asarray(1 - 2 * np.abs(x[..., 0]) + np.maximum(x[..., 0] + x[..., 1], 0))


def network(weights: Weights, x: Any) -> Any:
    """One hidden layer of ReLU units; works on numpy and JAX arrays alike."""
    return (x @ weights["w"] + weights["b"]).clip(0) @ weights["a"] + weights["c"]


def corrected_loss(weights: Weights, copies: Any, shares: Any, y: Any) -> Any:
    """Σ_k share_k · mean ℓ over the k-th copy of the covariates; ``copies`` is copies × records × coordinates."""
    return (shares * ((network(weights, copies) - y) ** 2).mean(axis=-1)).sum()


def start(setting: Setting, seed: int) -> Weights:
    """Random hidden units, a flat output."""
    rng = np.random.default_rng([seed, 99])
    units = rng.standard_normal((3, setting.hidden))
    units /= np.linalg.norm(units, axis=0)
    parts = {"w": units[:2], "b": units[2], "a": 0.1 * rng.standard_normal(setting.hidden), "c": np.zeros(())}
    return {name: part.astype(np.float32) for name, part in parts.items()}


def copies_of(
    method: str, x: np.ndarray, reports: np.ndarray, setting: Setting, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """The copies of the covariates that a method looks at, and their shares in its loss."""
    weight = 1 / setting.zero
    if method == "oracle":
        stacked, shares = [x], [1.0]
    elif method == "naive":
        stacked, shares = [reports], [1.0]
    else:
        chance = Randomness.seeded(10**6 + seed)
        draws = {"one draw": 1, "averaged": setting.draws, "fresh": 0}[method]
        stacked = [reports, *(setting.mechanism.doubly_randomized(reports, chance) for _ in range(draws))]
        shares = [weight, *((1 - weight) / draws for _ in range(draws))]
    return np.stack(stacked).astype(np.float32), np.array(shares, np.float32)


@cache
def _trainer(setting: Setting, fresh: int) -> Callable[..., Weights]:
    """Adam over random batches, steps falling along a cosine, weights brought back into their set after each."""
    import jax
    import jax.numpy as jnp

    spread = jnp.asarray(setting.mechanism.noise_scale * math.sqrt(setting.zero), jnp.float32)
    single = jnp.float32

    def compact(weights: Weights) -> Weights:
        size = jnp.sqrt((weights["w"] ** 2).sum(0) + weights["b"] ** 2)
        unit = jnp.minimum(1, 1 / size)
        outer = jnp.minimum(1, setting.output_bound / jnp.abs(weights["a"]).sum())
        return {"w": weights["w"] * unit, "b": weights["b"] * unit, "a": weights["a"] * outer, "c": weights["c"]}

    def add_draws(copies: Any, key: Any) -> tuple[Any, Any]:
        one, other = jax.random.split(key)
        shape = (fresh, *copies.shape[1:])
        size = jnp.sqrt(jax.random.exponential(one, (*shape[:-1], 1), single))
        noise = size * jax.random.normal(other, shape, single) * spread
        shares = jnp.array([1 / setting.zero, *((1 - 1 / setting.zero) / fresh for _ in range(fresh))], single)
        return jnp.concatenate([copies, copies[:1] + noise]), shares

    def train(weights: Weights, copies: Any, shares: Any, y: Any, key: Any) -> Weights:
        def step(state: Any, t: Any) -> tuple[Any, None]:
            weights, mean, square, key = state
            key, rows, noise = jax.random.split(key, 3)
            chosen = jax.random.randint(rows, (setting.batch,), 0, y.shape[0])
            seen, share = copies[:, chosen], shares
            if fresh:
                seen, share = add_draws(seen, noise)
            slope = jax.grad(corrected_loss)(weights, seen, share, y[chosen])
            mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, slope)
            square = jax.tree.map(lambda s, g: 0.999 * s + 0.001 * g * g, square, slope)
            rate = setting.rate * (1 + jnp.cos(jnp.pi * t / setting.steps)) / 2 / (1 - 0.9 ** (t + 1))
            scale = 1 - 0.999 ** (t + 1)
            weights = jax.tree.map(lambda w, m, s: w - rate * m / (jnp.sqrt(s / scale) + 1e-8), weights, mean, square)
            return (compact(weights), mean, square, key), None

        zeros = jax.tree.map(jnp.zeros_like, weights)
        state = (weights, zeros, zeros, key)
        return jax.lax.scan(step, state, jnp.arange(setting.steps, dtype=single))[0][0]

    return jax.jit(train)


def fit(
    method: str, x: np.ndarray, reports: np.ndarray, y: np.ndarray, setting: Setting, seed: int
) -> tuple[Weights, bool]:
    """Fitted weights, and whether the output weights ended on the edge of their set."""
    import jax

    copies, shares = copies_of(method, x, reports, setting, seed)
    train = _trainer(setting, setting.fresh_draws if method == "fresh" else 0)
    found = train(start(setting, seed), copies, shares, y.astype(np.float32), jax.random.PRNGKey(seed))
    weights = {name: np.asarray(part, np.float64) for name, part in found.items()}
    return weights, bool(np.abs(weights["a"]).sum() > 0.999 * setting.output_bound)


def data(n: int, setting: Setting, run: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """True covariates, reports and outcomes of one run."""
    rng = np.random.default_rng([23, n, run])
    x = rng.uniform(-1, 1, (n, 2))
    y = truth(x) + setting.sigma * rng.standard_normal(n)
    return x, setting.mechanism.privatize(x, Randomness.seeded(1000 * run + n)), y


def simulate(setting: Setting, points: np.ndarray) -> dict[tuple[int, str], tuple[np.ndarray, float]]:
    """Fitted values at the points (runs × points), and the share of runs on the edge, for every size and method."""
    values: dict[tuple[int, str], list[np.ndarray]] = {}
    edges: dict[tuple[int, str], list[bool]] = {}
    for n in setting.sizes:
        for run in range(setting.runs):
            drawn = data(n, setting, run)
            for method in METHODS:
                weights, edge = fit(method, *drawn, setting, run)
                values.setdefault((n, method), []).append(network(weights, points))
                edges.setdefault((n, method), []).append(edge)
    return {key: (np.array(found), float(np.mean(edges[key]))) for key, found in values.items()}


def unbiasedness(n: int = 200_000, seed: int = 4) -> tuple[Table, Check]:
    """At fixed weights, corrected losses less the loss on the truth: zero on average, unlike the naive one's."""
    setting = FULL
    x, reports, y = data(n, setting, seed)
    weights = start(setting, seed)
    weights["a"] = weights["a"] * 10  # as far from flat as a fitted network
    rows, scores = [], {}
    exact = (network(weights, x) - y) ** 2
    for method in ("naive", "one draw", "averaged"):
        copies, shares = copies_of(method, x, reports, setting, seed)
        gap = shares @ (network(weights, copies) - y) ** 2 - exact
        error = float(gap.std()) / math.sqrt(n)
        scores[method] = float(gap.mean()) / error
        rows.append([method, float(exact.mean()), float(gap.mean()), error, scores[method]])
    check = Check(
        "at fixed weights the corrected losses of a network are unbiased, and the naive one is not",
        abs(scores["one draw"]) < 5 and abs(scores["averaged"]) < 5 < abs(scores["naive"]),
        ", ".join(f"{name} {score:+.1f} errors" for name, score in scores.items()),
    )
    columns = ["method", "loss on the truth", "difference", "Monte Carlo error", "in errors"]
    return Table("Loss of a network with fixed weights", columns, rows), check


def experiment(report: Report, *, quick: bool) -> list[Check]:
    """Tables, figure and claims; nothing but a sentence where JAX is missing."""
    if find_spec("jax") is None:
        print(f"\n{NEEDS_JAX}")
        return []
    setting = QUICK if quick else FULL
    table, check = unbiasedness(20_000 if quick else 200_000)
    report.table("network_unbiased", table)
    points = np.random.default_rng(8).uniform(-1, 1, (500 if quick else 4_000, 2))
    line = np.column_stack([np.linspace(-1, 1, 201), np.full(201, 0.5)])
    found = simulate(setting, np.concatenate([points, line]))
    fitted = {key: values[:, : len(points)] for key, (values, _) in found.items()}
    squares = {key: np.mean((values - truth(points)) ** 2, axis=1) for key, values in fitted.items()}
    report.table("network", _errors(setting, fitted, squares, {key: edge for key, (_, edge) in found.items()}, points))
    _draw(report, setting, {key: values[:, len(points) :] for key, (values, _) in found.items()}, line)
    return [check] if quick else [check, *_claims(setting, squares)]


def _errors(setting: Setting, fitted: Any, squares: Any, edges: Any, points: np.ndarray) -> Table:
    """Mean squared error against the true function, and its parts: squared bias and variance over the runs."""
    rows = []
    for (n, method), values in fitted.items():
        variance = float(values.var(axis=0, ddof=1).mean())
        square = float(np.mean((values.mean(axis=0) - truth(points)) ** 2)) - variance / setting.runs
        error = squares[n, method]
        spread = float(error.std(ddof=1)) / math.sqrt(setting.runs)
        rows.append([n, method, float(error.mean()), spread, square, variance, edges[n, method]])
    delta = setting.mechanism.delta(4.0)
    title = (
        f"A ReLU network, {setting.runs} runs: mean squared error against the true function "
        f"(λ = {setting.scale}, δ₀ = {setting.zero}; at ε = 4 its δ is {delta:.2f}: hardly private)"
    )
    columns = ["n", "method", "error", "Monte Carlo error", "squared bias", "variance", "share on the edge"]
    return Table(title, columns, rows)


def paired(squares: dict[tuple[int, str], np.ndarray], n: int, one: str, other: str) -> tuple[float, float]:
    """Mean difference of the errors of two methods on the same data, and its standard error."""
    gap = squares[n, one] - squares[n, other]
    return float(gap.mean()), float(gap.std(ddof=1)) / math.sqrt(gap.size)


def _claims(setting: Setting, squares: dict[tuple[int, str], np.ndarray]) -> list[Check]:
    checks = []
    for n in setting.sizes:
        gap, error = paired(squares, n, "averaged", "one draw")
        evidence = f"difference of the errors {gap:.4f} ± {error:.4f} on the same data"
        checks.append(Check(f"averaged draws beat one draw in a network, n = {n}", gap < -3 * error, evidence))
    for method, beats, fails in (("one draw", (32_000, 128_000), (2_000,)), ("averaged", (8_000, 32_000, 128_000), ())):
        for n in (*beats, *fails):
            gap, error = paired(squares, n, method, "naive")
            better = gap < -3 * error
            claim = f"{method} {'beats' if n in beats else 'does not beat'} naive in a network, n = {n}"
            checks.append(Check(claim, better == (n in beats), f"difference of the errors {gap:.4f} ± {error:.4f}"))
    small, large = setting.sizes[0], setting.sizes[-1]
    naive, averaged = (float(squares[large, m].mean() / squares[small, m].mean()) for m in ("naive", "averaged"))
    checks.append(
        Check(
            "the naive network stays biased however large n, the corrected one does not",
            naive > 0.8 and averaged < 0.1,
            f"error at n = {large} over that at {small}: naive {naive:.2f}, averaged {averaged:.3f}",
        )
    )
    return checks


def _draw(report: Report, setting: Setting, lines: dict[tuple[int, str], np.ndarray], line: np.ndarray) -> None:
    sizes = setting.sizes
    figure, panels = new_figure(len(sizes), "A ReLU network fitted to zero-inflated Laplace reports: along x₂ = ½")
    for axes, n in zip(panels, sizes, strict=True):
        axes.plot(line[:, 0], truth(line), color="black", label="truth")
        for k, method in enumerate(METHODS[1:]):
            low, middle, high = np.quantile(lines[n, method], [0.1, 0.5, 0.9], axis=0)
            axes.plot(line[:, 0], middle, color=f"C{k}", label=method)
            axes.fill_between(line[:, 0], low, high, color=f"C{k}", alpha=0.15, linewidth=0)
        axes.set_title(f"n = {n:,}")
        axes.set_xlabel("x₁")
        axes.set_ylabel("fitted: median and 80 % of the runs")
    panels[0].legend()
    report.figure("network", figure)
