"""Models of non-compliance: bias, coverage of the intervals that users get, and the size and power of the tests.

    python -m experiments.inference.noncompliance [shares | uneven | tests | regression | covariates | power]
        [--runs 1000] [--seed 1] [--model NAME]

``shares``: bias and coverage of every share that a model reports, for several numbers of people and shares of cheaters;
``uneven``: the same for rare and frequent attributes and one group four times as large as the other. ``tests``: how
often the test of honesty and the test of consistency reject at 5 %. ``regression``: coverage of coefficients and of the
share of cheaters, ``covariates``: with cheating that depends on a skewed covariate; ``--model`` keeps to one model.
``power``: how often surveys by ``design.detect_cheating`` notice cheaters, beside what it says. Every figure comes with
its Monte Carlo error.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from discreet.design import detect_cheating
from discreet.estimate import noncompliance, noncompliance_regression
from discreet.estimate.compliance.models import MODELS
from discreet.mechanisms import BinaryResponse

#: Two designs for every model: a die for forced responses, Mangat's spinners, months of birth, two questions.
DESIGNS = {
    "cheating-detection": {"a": BinaryResponse.forced("1/6", "1/6"), "b": BinaryResponse.forced("1/2", "1/6")},
    "stochastic-lie": {"a": BinaryResponse.mangat("1/6"), "b": BinaryResponse.mangat("5/6")},
    "extended-crosswise": {"a": BinaryResponse.crosswise("1/4"), "b": BinaryResponse.crosswise("3/4")},
    "unrelated-question": {
        "a": BinaryResponse.unrelated("7/10", "1/2"),
        "b": BinaryResponse.unrelated("3/10", "1/2"),
    },
}


def chances(model: str, theta: np.ndarray) -> list[float]:
    """The probability of report 1 in both groups."""
    chosen = MODELS[model]
    return [float((rows[0] + theta @ rows[1:])[1]) for rows in (chosen.rows(d, 0) for d in DESIGNS[model].values())]


def truth(model: str, prevalence: float, cheats: float) -> np.ndarray:
    """θ of a model: the second number is γ, 1 − t or u."""
    return {
        "cheating-detection": np.array([prevalence, cheats]),
        "stochastic-lie": prevalence * np.array([1 - cheats, cheats]),
        "extended-crosswise": np.array([prevalence]),
        "unrelated-question": np.array([prevalence, cheats]),
    }[model]


def shares(runs: int, rng: np.random.Generator) -> None:
    """Bias and coverage."""
    print(f"{runs} runs: Monte Carlo error of a coverage of 95 % is {np.sqrt(0.95 * 0.05 / runs):.3f}")
    for model in DESIGNS:
        for prevalence in (0.2,):
            for cheats in (0.0, 0.05, 0.3) if len(MODELS[model].quantities) > 1 else (0.0,):
                theta = truth(model, prevalence, cheats)
                goals = np.array([one.value(theta) for one in MODELS[model].quantities])
                for n in (300, 1000, 5000):
                    line = measured(model, theta, goals, n, runs, rng)
                    print(f"{model}, π = {prevalence}, second = {cheats}, n = {n}: {line}", flush=True)


def uneven(runs: int, rng: np.random.Generator) -> None:
    """The same where little is known: a fifth of the people in one group, few or nearly all of them carriers."""
    print(f"{runs} runs: Monte Carlo error of a coverage of 95 % is {np.sqrt(0.95 * 0.05 / runs):.3f}")
    for model in DESIGNS:
        for prevalence in (0.03, 0.4, 0.85):
            for cheats in (0.02, 0.1, 0.5) if len(MODELS[model].quantities) > 1 else (0.0,):
                if model == "cheating-detection" and prevalence + cheats > 1:
                    continue
                theta = truth(model, prevalence, cheats)
                goals = np.array([one.value(theta) for one in MODELS[model].quantities])
                for n in (500, 4000):
                    line = measured(model, theta, goals, n, runs, rng, share=0.2)
                    print(f"{model}, π = {prevalence}, second = {cheats}, n = {n}: {line}", flush=True)


def measured(
    model: str, theta: np.ndarray, goals: np.ndarray, n: int, runs: int, rng: np.random.Generator, share: float = 0.5
) -> str:
    """Bias in units of the spread, and coverage, of every quantity."""
    sizes = (round(n * share), n - round(n * share))
    yes = [rng.binomial(size, chance, runs) for size, chance in zip(sizes, chances(model, theta), strict=True)]
    kept: dict[tuple[int, int], tuple[np.ndarray, np.ndarray]] = {}
    estimates, inside = [], []
    for first, second in zip(*yes, strict=True):
        pair = int(first), int(second)
        if pair not in kept:
            counts = {"a": [sizes[0] - pair[0], pair[0]], "b": [sizes[1] - pair[1], pair[1]]}
            result = noncompliance(counts=counts, designs=DESIGNS[model], model=model)
            kept[pair] = result.estimate, result.interval()
        estimate, bounds = kept[pair]
        estimates.append(estimate)
        inside.append((bounds[:, 0] <= goals + 1e-9) & (goals - 1e-9 <= bounds[:, 1]))
    spread = np.nanstd(estimates, axis=0)
    bias = (np.nanmean(estimates, axis=0) - goals) / spread
    return "  ".join(
        f"{one.name} bias {b:+.2f} sd, covered {c:.3f}"
        for one, b, c in zip(MODELS[model].quantities, bias, np.mean(inside, axis=0), strict=True)
    )


def tests(runs: int, rng: np.random.Generator) -> None:
    """Size and power at 5 %."""
    print(f"{runs} runs: Monte Carlo error of a size of 5 % is {np.sqrt(0.95 * 0.05 / runs):.4f}")
    for n in (300, 1000, 5000):
        for cheats in (0.0, 0.05, 0.3):
            for model in ("cheating-detection", "stochastic-lie"):
                draws = [rng.binomial(n // 2, chance, runs) for chance in chances(model, truth(model, 0.2, cheats))]
                print(f"{model}, n = {n}, second = {cheats}: rejected {rejections(model, n, draws):.4f}", flush=True)
            honest = [0.2 * p + 0.8 * (1 - p) for p in (0.25, 0.75)]
            draws = [rng.binomial(n // 2, (1 - cheats) * chance, runs) for chance in honest]
            rate = rejections("extended-crosswise", n, draws)
            print(f'extended-crosswise, n = {n}, {cheats} always "different": rejected {rate:.4f}', flush=True)


def rejections(model: str, n: int, draws: list[np.ndarray]) -> float:
    """How often the test of the model has a p value of at most 5 %."""
    kept: dict[tuple[int, int], bool] = {}
    for first, second in set(zip(draws[0].tolist(), draws[1].tolist(), strict=True)):
        counts = {"a": [n // 2 - first, first], "b": [n // 2 - second, second]}
        result = noncompliance(counts=counts, designs=DESIGNS[model], model=model)
        kept[first, second] = result.tests()[0].p_value <= 0.05
    return float(np.mean([kept[pair] for pair in zip(draws[0].tolist(), draws[1].tolist(), strict=True)]))


def regression(runs: int, rng: np.random.Generator, only: str | None = None) -> None:
    """Coverage of coefficients with a covariate, the second share being common to all."""
    beta = np.array([-1.0, 0.7])
    print(f"{runs} runs: Monte Carlo error of a coverage of 95 % is {np.sqrt(0.95 * 0.05 / runs):.3f}")
    for model in (only,) if only else ("cheating-detection", "stochastic-lie", "unrelated-question"):
        for n, second in ((1000, 0.3), (4000, 0.3), (4000, 0.05)):
            probability = 1 - second if model == "stochastic-lie" else second
            goal = np.array([*beta, np.log(probability / (1 - probability))])
            inside: dict[str, list[np.ndarray]] = {"wald": [], "profile": []}
            finite = 0
            for _ in range(runs):
                X = np.column_stack([np.ones(n), rng.normal(size=n)])
                carries = rng.random(n) < 1 / (1 + np.exp(-X @ beta))
                other = rng.random(n) < probability
                groups = rng.choice(["a", "b"], n)
                reports = np.zeros(n, int)
                for name, one in DESIGNS[model].items():
                    chosen = MODELS[model]
                    table = chosen.by_traits(chosen.rows(one, 0))[:, :, 1]
                    mine = groups == name
                    reports[mine] = rng.random(mine.sum()) < table[carries[mine].astype(int), other[mine].astype(int)]
                fit = noncompliance_regression(X, reports, groups, DESIGNS[model], model=model)
                finite += fit.converged
                look(fit, goal, inside)
            print(f"{model}, n = {n}, second = {second}: {covered(inside)}; finite {finite / runs:.3f}", flush=True)


def look(fit: Any, goal: np.ndarray, inside: dict[str, list[np.ndarray]]) -> None:
    """Which intervals of a fit hold the true coefficients, by every method."""
    for method, found in inside.items():
        bounds = fit.interval(method=method)
        found.append((bounds[:, 0] <= goal) & (goal <= bounds[:, 1]))


def covered(inside: dict[str, list[np.ndarray]]) -> str:
    """The shares of fits whose intervals did."""
    shares = {method: np.mean(found, axis=0) for method, found in inside.items()}
    return "; ".join(f"{method} " + " ".join(f"{share:.3f}" for share in each) for method, each in shares.items())


def covariates(runs: int, rng: np.random.Generator, only: str | None = None) -> None:
    """Coverage where the second trait depends on a covariate too, groups are uneven and the covariate is skewed."""
    beta, delta = np.array([-0.8, 0.6]), np.array([-1.0, 0.7])
    print(f"{runs} runs: Monte Carlo error of a coverage of 95 % is {np.sqrt(0.95 * 0.05 / runs):.3f}")
    for model in (only,) if only else ("cheating-detection", "stochastic-lie", "unrelated-question"):
        chosen = MODELS[model]
        table = {name: chosen.by_traits(chosen.rows(one, 0))[:, :, 1] for name, one in DESIGNS[model].items()}
        for n in (2000, 8000):
            signed = -delta if model == "stochastic-lie" else delta
            goal = np.concatenate([beta, signed])
            inside: dict[str, list[np.ndarray]] = {"wald": [], "profile": []}
            finite = 0
            for _ in range(runs):
                x = np.minimum(rng.exponential(size=n), 5.0)
                X = np.column_stack([np.ones(n), x])
                first = rng.random(n) < 1 / (1 + np.exp(-X @ beta))
                second = rng.random(n) < 1 / (1 + np.exp(-X @ signed))
                groups = np.where(rng.random(n) < 0.3, "a", "b")
                chance = np.where(groups == "a", table["a"][first * 1, second * 1], table["b"][first * 1, second * 1])
                reports = (rng.random(n) < chance).astype(int)
                fit = noncompliance_regression(X, reports, groups, DESIGNS[model], model=model, second=X)
                if not fit.converged:
                    continue
                finite += 1
                look(fit, goal, inside)
            print(f"{model}, n = {n}: {covered(inside)}; converged {finite / runs:.3f}", flush=True)


def power(runs: int, rng: np.random.Generator) -> None:
    """How often cheaters are noticed: surveys drawn anew, tested by the likelihood ratio."""
    print(f"{runs} runs: Monte Carlo error of a power of 80 % is {np.sqrt(0.8 * 0.2 / runs):.4f}")
    for share, asked, epsilon, prevalence, mirrored in (
        (0.1, 0.8, 1.0, 0.3, False), (0.05, 0.8, 2.0, 0.1, False), (0.2, 0.9, 1.0, 0.02, False),
        (0.1, 0.8, 0.5, 0.3, True), (0.3, 0.8, 3.0, 0.6, False), (0.15, 0.7, 1.5, None, False),
    ):  # fmt: skip
        found = detect_cheating(share, asked, epsilon=epsilon, prevalence=prevalence, mirrored=mirrored)
        honest = np.array([1 - share - found.prevalence, found.prevalence])
        sizes = list(found.people.values())
        draws = [
            rng.binomial(n, float(one.matrix()[:, 1] @ honest), runs)
            for n, one in zip(sizes, found.designs.values(), strict=True)
        ]
        kept: dict[tuple[int, int], bool] = {}
        for pair in set(zip(draws[0].tolist(), draws[1].tolist(), strict=True)):
            counts = {name: [n - y, y] for name, n, y in zip(found.designs, sizes, pair, strict=True)}
            result = noncompliance(counts=counts, designs=dict(found.designs), model="cheating-detection")
            kept[pair] = result.honesty_test().p_value <= found.level
        noticed = np.mean([kept[pair] for pair in zip(draws[0].tolist(), draws[1].tolist(), strict=True)])
        case = f"{share} cheat, ε = {epsilon}, prevalence {found.prevalence:g}, mirrored {mirrored}"
        how = "exact" if found.exact else "normal"
        print(f"{case}: n = {found.objective:,}, stated {found.power:.4f} ({how}), noticed {noticed:.4f}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "what", nargs="?", choices=["shares", "uneven", "tests", "regression", "covariates", "power"], default="shares"
    )
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--model", choices=["cheating-detection", "stochastic-lie", "unrelated-question"])
    given = parser.parse_args()
    generator = np.random.default_rng(given.seed)
    if given.what in ("regression", "covariates"):
        {"regression": regression, "covariates": covariates}[given.what](given.runs, generator, given.model)
    else:
        {"shares": shares, "uneven": uneven, "tests": tests, "power": power}[given.what](given.runs, generator)
