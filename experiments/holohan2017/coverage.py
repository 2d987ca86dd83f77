"""How often each interval method covers: exactly for yes/no answers, by simulation jointly for five values.

For yes/no answers the number N of reports "yes" takes n + 1 values. The interval of every N is computed once, and
the coverage is the probability of the N whose interval holds the truth: a sum, without simulation. N is binomial
when people are sampled (``target="population"``), and a sum of two binomials when the people are fixed and only
the randomisation is random (``target="table"``).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from discreet import design, estimate
from discreet.estimate.channels.moments import conditional_variances
from discreet.estimate.intervals import levels
from discreet.estimate.intervals.clopper_pearson import clopper_pearson, through_line
from discreet.estimate.intervals.wilson import chebyshev_factor, wilson
from discreet.mechanisms import BinaryResponse, FiniteMechanism, GeneralizedResponse
from experiments.holohan2017.problem import EPSILONS, FIVE, LEVEL, PLUGGED_IN
from experiments.reporting import Check, Table, share_error

Floats = NDArray[np.float64]

#: Intervals that are mapped through the linear estimate; ``experiments.inference`` has the others.
METHODS = ("wilson", "clopper-pearson", "chebyshev", "wald", "simultaneous")
TARGETS = ("population", "table")
#: Methods whose level is proven for every n; the others are approximations.
RIGOROUS = ("clopper-pearson", "chebyshev", "simultaneous")
#: Standard deviations beyond which a binomial law is cut off: less than 1e-14 is left.
_REACH = 8.0
#: An end that equals the truth may miss it by the rounding of a few operations.
_SLACK = 1e-12


@dataclass(frozen=True)
class Setting:
    """One mechanism and sample size, for the value with one code."""

    mechanism: FiniteMechanism
    n: int
    value: int = 1

    @property
    def line(self) -> tuple[float, float]:
        """π̂ = slope · share + offset."""
        single = self.mechanism.inverse.single
        if single is None:
            raise ValueError("coverage is computed for designs in which a frequency depends on one report share")
        return float(single[0][self.value]), float(single[1][self.value])

    def intervals(self, counts: Floats, method: str, target: str, level: float = LEVEL) -> Floats:
        """The intervals of discreet for many counts at once, by the functions that it uses for one."""
        slope, offset = self.line
        values = self.mechanism.shape[0]
        if method == "simultaneous":
            level, method = 1 - (1 - level) / (1 if values == 2 else values), "clopper-pearson"
        shares = counts / self.n
        centre = slope * shares + offset
        if method == "wald":
            return levels.wald(centre, self._std_error(counts, target), levels.two_sided_quantile(level))
        if method == "clopper-pearson":
            low, high = _binomial_limits(self.n, level)
            index = counts.astype(np.intp)
            ends = through_line(low[index], high[index], np.array(slope), np.array(offset))
            return levels.within_unit(*ends, abs(slope) + abs(offset))
        factor = levels.two_sided_quantile(level) if method == "wilson" else chebyshev_factor(level)
        own, other = (v[self.value] for v in conditional_variances(self.mechanism))
        sampling = 1.0 if target == "population" else 0.0
        ends = wilson(centre, own, other, sampling, float(self.n), factor)
        return levels.within_unit(*ends, 1 + np.abs(centre))

    def _std_error(self, counts: Floats, target: str) -> Floats:
        slope, offset = self.line
        if target == "population":
            shares = counts / self.n
            return np.asarray(abs(slope) * np.sqrt(shares * (1 - shares) / self.n))
        own, other = slope + offset, offset  # the debiased answer of this value's report, and of any other
        return np.asarray(np.sqrt(counts * own * (own - 1) + (self.n - counts) * other * (other - 1)) / self.n)

    def agrees_with_discreet(self, method: str, target: str, tried: int = 6) -> bool:
        """Whether ``Frequencies.interval`` gives the same intervals, tried at counts over the whole range."""
        counts = np.unique(np.linspace(0, self.n, tried).astype(int))
        official = [
            estimate.frequencies(counts=[self.n - yes, yes], mechanism=self.mechanism, target=target).interval(
                LEVEL, method
            )[self.value]
            for yes in counts
        ]
        ours = self.intervals(counts.astype(float), method, target)
        return bool(np.allclose(official, ours, rtol=0, atol=1e-9, equal_nan=True))


@cache
def _binomial_limits(n: int, level: float) -> tuple[Floats, Floats]:
    """Clopper–Pearson limits for every count: the costly part, the same for every ε."""
    return clopper_pearson(np.arange(n + 1, dtype=float), n, level)


def binomial(n: int, p: float) -> tuple[int, Floats]:
    """The binomial law as (first count, probabilities from there on), cut off where nothing is left."""
    from scipy.stats import binom

    reach = _REACH * np.sqrt(n * p * (1 - p)) + 40  # 40: the far tail of a rare event is Poisson, not normal
    low, high = max(0, int(n * p - reach)), min(n, int(n * p + reach))
    return low, np.asarray(binom.pmf(np.arange(low, high + 1), n, p))


def law_of_reports(setting: Setting, prevalence: float, target: str) -> tuple[float, int, Floats]:
    """(the truth to be covered, first count, probabilities) of the number of reports "yes"."""
    (_, lie), (_, tell) = setting.mechanism.matrix()
    if target == "population":
        return prevalence, *binomial(setting.n, lie + prevalence * (tell - lie))
    people = round(setting.n * prevalence)
    (low, first), (start, second) = binomial(setting.n - people, lie), binomial(people, tell)
    return people / setting.n, low + start, np.convolve(first, second)


def exact_coverage(ends: Floats, truth: float, first: int, law: Floats) -> tuple[float, float]:
    """Coverage and expected width; an empty interval covers nothing and has no width."""
    low, high = ends[first : first + law.size].T
    covered = (low <= truth + _SLACK) & (truth <= high + _SLACK)
    return float(law[covered].sum()), float(law @ np.nan_to_num(high - low))


def designs() -> dict[str, FiniteMechanism]:
    """The optimum at every ε, a corner design, and a crosswise design, whose p00 + p11 is below one."""
    optimal = {f"ε = {epsilon:g}": design.binary(epsilon).mechanism for epsilon in EPSILONS}
    return {**optimal, "corner (1, 1/10)": BinaryResponse(1, "1/10"), "crosswise 1/4": BinaryResponse.crosswise("1/4")}


def binary_coverage(sizes: tuple[int, ...], prevalences: tuple[float, ...]) -> tuple[Table, list[Check]]:
    """Exact coverage for every method, target, n, design and prevalence."""
    rows, settings, different, lost = [], 0, 0, 0.0
    for n in sizes:
        counts = np.arange(n + 1, dtype=float)
        for name, mechanism in designs().items():
            setting = Setting(mechanism, n)
            for target in TARGETS:
                laws = [law_of_reports(setting, prevalence, target) for prevalence in prevalences]
                lost = max([lost, *(abs(1 - float(law.sum())) for _, _, law in laws)])
                for method in METHODS:
                    settings += 1
                    different += not setting.agrees_with_discreet(method, target)
                    ends = setting.intervals(counts, method, target)
                    rows += [
                        [method, target, name, n, prevalence, *exact_coverage(ends, *law)]
                        for prevalence, law in zip(prevalences, laws, strict=True)
                    ]
    columns = ["method", "target", "design", "n", "prevalence", "coverage", "width"]
    return Table("Exact coverage of 95 % intervals, yes/no answers", columns, rows), [
        Check(
            "the intervals summed over are those of estimate.frequencies",
            different == 0,
            f"compared at 6 counts for each of {settings} settings",
        ),
        Check("the probabilities summed over are complete", lost < 1e-9, f"at most {lost:.1e} is missing"),
    ]


def verdicts(coverage: Table) -> tuple[Table, list[Check]]:
    """For each method and target: what is promised, the worst coverage and where, the width beside Wilson's."""
    data = {target: [row for row in coverage.rows if row[1] == target] for target in TARGETS}
    rows, confirmed = [], []
    for method in METHODS:
        for target in TARGETS:
            mine = [row for row in data[target] if row[0] == method]
            wilson = [row for row in data[target] if row[0] == "wilson"]
            worst = min(mine, key=lambda row: row[5])
            large = min((row for row in mine if row[3] >= 1_000), key=lambda row: row[5])
            median = float(np.median([row[5] for row in mine]))
            wider = float(np.median([a[6] / b[6] for a, b in zip(mine, wilson, strict=True)]))
            promise = "at least the level" if method in RIGOROUS else "approximately the level"
            where = f"{worst[2]}, n = {worst[3]}, π = {worst[4]:g}"
            rows.append([method, target, promise, worst[5], where, large[5], median, wider])
            if method in RIGOROUS:
                claim = f"{method} ({target}) covers at least {LEVEL:.0%} in every setting"
                confirmed.append(Check(claim, worst[5] >= LEVEL - 1e-9, f"smallest coverage {worst[5]:.4f} at {where}"))
    columns = ["method", "target", "promise", "worst", "where", "worst, n ≥ 1000", "median", "width/Wilson"]
    return Table("Verdict on every interval method (95 %, yes/no answers, exact)", columns, rows), confirmed


def five_values(sizes: tuple[int, ...], runs: int, seed: int = 2017) -> tuple[Table, list[Check]]:
    """Joint coverage of five values under generalised response, by simulation."""
    rng = np.random.default_rng(seed)
    rows, confirmed = [], []
    for n in sizes:
        for epsilon in EPSILONS:
            mechanism = GeneralizedResponse(len(FIVE), epsilon)
            for target in TARGETS:
                people = np.round(np.array(FIVE) * n).astype(int)
                people[0] += n - people.sum()
                truth = np.array(FIVE) if target == "population" else people / n
                if target == "population":
                    counts = rng.multinomial(n, truth @ mechanism.matrix(), runs)
                else:
                    by_truth = zip(people, mechanism.matrix(), strict=True)
                    counts = sum(rng.multinomial(m, law, runs) for m, law in by_truth)
                for method in METHODS:
                    covered = np.empty((runs, len(FIVE)), bool)
                    for value in range(len(FIVE)):
                        ends = Setting(mechanism, n, value).intervals(counts[:, value].astype(float), method, target)
                        covered[:, value] = (ends[:, 0] <= truth[value] + _SLACK) & (
                            truth[value] <= ends[:, 1] + _SLACK
                        )
                    joint, single = float(covered.all(axis=1).mean()), float(covered.mean(axis=0).min())
                    rows.append([method, target, n, epsilon, single, joint, share_error(joint, runs)])
    for target in TARGETS:
        mine = [row for row in rows if row[0] == "simultaneous" and row[1] == target]
        worst = min(mine, key=lambda row: row[5])
        confirmed.append(
            Check(
                f"simultaneous ({target}) covers five values jointly at {LEVEL:.0%}",
                worst[5] + 5 * worst[6] >= LEVEL,
                f"smallest {worst[5]:.4f} ± {worst[6]:.4f} at n = {worst[2]}, ε = {worst[3]:g} ({runs} runs each)",
            )
        )
    columns = ["method", "target", "n", "epsilon", "single, worst value", "joint", "± MC"]
    return Table(f"Coverage for five values {FIVE}, generalised response, {runs} runs", columns, rows), confirmed


def plugged_in() -> tuple[Table, list[Check]]:
    """4.5 standard errors estimated from the same reports are not Chebyshev's inequality."""
    epsilon, n, prevalence = PLUGGED_IN
    mechanism = design.binary(epsilon).mechanism
    setting = Setting(mechanism, n)
    _, first, law = law_of_reports(setting, prevalence, "population")
    results = [estimate.frequencies(counts=[n - yes, yes], mechanism=mechanism) for yes in range(n + 1)]
    ends = {
        "π̂ ± 4.5 σ̂, σ̂ from the reports": np.array(
            [[r.estimate[1] - 4.5 * r.std_error[1], r.estimate[1] + 4.5 * r.std_error[1]] for r in results]
        ),
        **{method: np.array([r.interval(LEVEL, method)[1] for r in results]) for method in METHODS},
    }
    rows = [[name, *exact_coverage(found, prevalence, first, law)] for name, found in ends.items()]
    share = {row[0]: row[1] for row in rows}
    plain = rows[0][1]
    title = f"Coverage at ε = {epsilon:g}, n = {n}, π = {prevalence:g}: all n + 1 outcomes summed"
    return Table(title, ["interval", "coverage", "expected width"], rows), [
        Check("4.5 plugged-in standard errors cover 24 %", abs(plain - 0.24) < 0.005, f"{plain:.4f}"),
        Check("ours, by inversion, keeps Chebyshev's promise", share["chebyshev"] >= 0.95, f"{share['chebyshev']:.4f}"),
    ]
