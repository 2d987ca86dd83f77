"""The exact power of the test of honesty in two groups, summed over all tables of reports that occur.

Two groups with different designs, so that people who do not follow the design can be noticed.

Cheaters, a share γ, say "no" whatever they are told. Under a design that makes an honest "no" say "yes" with
probability a and an honest "yes" with probability b, ``λ_g = a_g (1 − π − γ) + b_g π``. Two groups estimate γ with the
variance

    Var γ̂ = (d₂² V₁/n₁ + d₁² V₂/n₂)/D²,    d_g = b_g − a_g,  V_g = λ_g(1 − λ_g),  D = a₁b₂ − a₂b₁

(Clark and Desharnais 1998), and the one-sided test of γ = 0 at level α has power 1 − β with
``n = ((z_α σ₀ + z_β σ₁)/γ)²`` people, σ²/n the variance under the hypothesis and under the alternative.

The best pair by this figure alone tells nearly everybody to say "yes": who does not is a cheater, and nothing is
learned about the attribute. The share of people who are asked for the truth, d_g, therefore has a floor, and ε bounds
it from above: ``d ≤ tanh(ε/2)``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import numpy as np

from discreet import arguments
from discreet.arguments import Floats
from discreet.errors import Argument, DesignError, PrivacyError
from discreet.mechanisms import BinaryResponse
from discreet.privacy import Guarantee

#: Standard deviations on either side that the sum covers.
_REACH = 6.0
#: Halvings on an edge: what is left of it changes a log-likelihood by less than rounding.
_HALVINGS = 30


def exact_power(says_yes: Floats, sizes: tuple[int, int], honest: Floats, level: float) -> float:
    """The chance that the likelihood-ratio test of honesty rejects, summed over the tables of reports that occur.

    Parameters
    ----------
    says_yes : array (2, 2)
        For each group the chance of "yes" for an honest "no" and an honest "yes".
    sizes : (int, int)
    honest : array
        Shares of honest "no" and of honest "yes"; the rest cheats.
    level : float
    """
    from scipy.special import gammaln, xlog1py, xlogy

    chances = says_yes @ honest
    counts, logs = [], []
    for n, chance in zip(sizes, chances, strict=True):
        reach = _REACH * math.sqrt(n * chance * (1 - chance)) + 10
        seen = np.arange(max(0, math.floor(n * chance - reach)), min(n, math.ceil(n * chance + reach)) + 1)
        counts.append(seen.astype(float))
        logs.append(
            gammaln(n + 1)
            - gammaln(seen + 1)
            - gammaln(n - seen + 1)
            + xlogy(seen, chance)
            + xlog1py(n - seen, -chance)
        )
    yes = np.stack([table.ravel() for table in np.meshgrid(*counts, indexing="ij")])
    chance_of_table = np.exp(np.add.outer(*logs)).ravel()
    critical = NormalDist().inv_cdf(level) ** 2
    no, carrier, cheater = says_yes[:, 0], says_yes[:, 1], np.zeros(2)
    everybody_honest = _on_edge(no, carrier, yes, sizes)
    shares = yes / np.array(sizes)[:, None]
    # The likeliest shares of the three classes are the observed ones where those are possible, else on an edge.
    likeliest = _log_likelihood(shares, yes, sizes)
    classes = np.linalg.solve(says_yes, shares)
    beyond = (classes < 0).any(axis=0) | (classes.sum(axis=0) > 1)
    edges = [_on_edge(*ends, yes[:, beyond], sizes) for ends in ((no, cheater), (carrier, cheater))]
    likeliest[beyond] = np.max([everybody_honest[beyond], *edges], axis=0)
    return float(chance_of_table[2 * (likeliest - everybody_honest) > critical].sum())


def _on_edge(first: Floats, second: Floats, yes: Floats, sizes: tuple[int, int]) -> Floats:
    """The largest log-likelihood between two points, for every table, by halving: its slope falls."""
    change = second - first
    people = np.array(sizes)[:, None]
    low, high = np.zeros(yes.shape[1]), np.ones(yes.shape[1])
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        chance = first[:, None] + np.outer(change, middle)
        with np.errstate(divide="ignore", invalid="ignore"):
            slope = (change[:, None] * (yes / chance - (people - yes) / (1 - chance))).sum(axis=0)
        low, high = np.where(slope > 0, middle, low), np.where(slope > 0, high, middle)
    return _log_likelihood(first[:, None] + np.outer(change, (low + high) / 2), yes, sizes)


def _log_likelihood(chance: Floats, yes: Floats, sizes: tuple[int, int]) -> Floats:
    from scipy.special import xlog1py, xlogy

    return np.asarray((xlogy(yes, chance) + xlog1py(np.array(sizes)[:, None] - yes, -chance)).sum(axis=0))


#: Points per dimension of the search, and how often it is repeated on a finer grid around the best.
_POINTS, _ROUNDS = 17, 6
#: Prevalences that are tried where none is stated.
_PREVALENCES = 11
#: Up to this many people the power is exact: the sum over all tables of reports that occur.
_EXACT = 20_000
#: Smaller shares of cheaters and smaller chances of a false alarm are nobody's question.
_LEAST = 1e-9
#: More people than anybody can ask: the search ends there.
_MOST = 10**9


@dataclass(frozen=True, kw_only=True)
class TwoGroups:
    """Two groups of people and how each is asked.

    Attributes
    ----------
    designs : dict
        The mechanism of each group, as :func:`discreet.estimate.noncompliance` takes them.
    people : dict
        How many people each group has.
    objective : int
        How many there are in all; this was minimised.
    power : float
        The chance that the test of honesty rejects when the stated share cheats, at ``prevalence``.
    exact : bool
        Whether the power is a sum over all tables of reports; otherwise it is the normal approximation.
    share, level, epsilon : float
    prevalence : float
        As it was given; else the one that needs most people by the normal approximation.
    std_error : float
        Standard error of the estimated prevalence there.
    notes : tuple of str
    """

    designs: dict[str, BinaryResponse]
    people: dict[str, int]
    power: float
    exact: bool
    share: float
    level: float
    epsilon: float
    prevalence: float
    std_error: float
    notes: tuple[str, ...] = ()

    @property
    def objective(self) -> int:
        """How many people there are in all."""
        return sum(self.people.values())

    @property
    def guarantee(self) -> Guarantee:
        """What is promised to everybody: the weaker promise of the two."""
        return max((one.guarantee for one in self.designs.values()), key=lambda one: one.epsilon)

    def summary(self) -> str:
        """A few lines for people."""
        lines = [
            f"Two groups, {self.objective:,} people: {self.guarantee.summary()}",
            f"A share of {self.share:g} who cheat is noticed with probability {self.power:.3f} "
            f"({'exact' if self.exact else 'normal approximation'}; level {self.level:g}, prevalence "
            f"{self.prevalence:g})",
            f"Standard error of the prevalence: {self.std_error:.4f}",
        ]
        lines += [f'Group "{name}", {n:,} people: {self.designs[name]!r}' for name, n in self.people.items()]
        return "\n".join([*lines, *(f"Note: {note}" for note in self.notes)])

    __str__ = summary

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "designs": {name: one.to_dict() for name, one in self.designs.items()},
            "people": dict(self.people),
            "objective": self.objective,
            "guarantee": self.guarantee.to_dict(),
            "power": self.power,
            "exact": self.exact,
            "share": self.share,
            "level": self.level,
            "epsilon": self.epsilon,
            "prevalence": self.prevalence,
            "std_error": self.std_error,
            "notes": list(self.notes),
        }


def detect_cheating(
    share: float,
    power: float = 0.8,
    *,
    epsilon: float,
    level: float = 0.05,
    prevalence: float | None = None,
    truthful: float | None = None,
    mirrored: bool = False,
) -> TwoGroups:
    """The two-group design that notices a given share of cheaters with the fewest people.

    The randomisation of both groups and the split of the people are searched for by the normal approximation; n is then
    the smallest number at which the likelihood-ratio test of honesty of :func:`discreet.estimate.noncompliance` has the
    power that is asked for, exactly, up to 20,000 people.

    Parameters
    ----------
    share : float
        The share of cheaters to be noticed, who say "no" whatever the design tells them.
    power : float
        The chance of noticing them.
    epsilon : float
        Privacy level of each answer.
    level : float
        The chance of a false alarm.
    prevalence : float, optional
        Expected share of honest carriers. Default: the one that needs most people by the normal approximation.
    truthful : float, optional
        The smallest share of people, in each group, who are asked for the truth (``|p00 + p11 − 1|``). Default: half of
        the largest share that ε allows, ``tanh(ε/2)``. A smaller one notices cheaters sooner and learns less about the
        attribute.
    mirrored : bool
        Whether a group may be asked for the opposite of the truth, as in Warner's or the crosswise design. That is far
        more efficient, if people who cheat say "no" there as well.

    Examples
    --------
    >>> found = detect_cheating(0.1, epsilon=1.0, prevalence=0.3)
    >>> found.people, round(found.power, 3)
    ({'few': 420, 'many': 826}, 0.8)
    """
    share = arguments.number(share, "share", DesignError, least=_LEAST, below=1)
    power = arguments.number(power, "power", DesignError, above=0, below=1)
    epsilon = arguments.number(epsilon, "epsilon", PrivacyError, above=0, most=20)
    level = arguments.number(level, "level", DesignError, least=_LEAST, below=0.5)
    if power <= level:
        raise DesignError(Argument("power"), f" must be above the level, {level:g}")
    largest = math.tanh(epsilon / 2)
    truthful = largest / 2 if truthful is None else arguments.number(truthful, "truthful", DesignError, above=0)
    mirrored = arguments.flag(mirrored, "mirrored", DesignError)
    if truthful > largest or (truthful == largest and not mirrored):
        raise DesignError(
            f"truthful must be below {largest:.4g}, the largest share that may be asked for the truth at this epsilon"
        )
    if prevalence is None:
        tried = np.linspace(0.0, 1.0 - share, _PREVALENCES)
    else:
        tried = np.array([arguments.number(prevalence, "prevalence", DesignError, least=0, most=1 - share)])
    normal = NormalDist()
    quantiles = -normal.inv_cdf(level), normal.inv_cdf(power)
    problem = _Problem(share, tried, quantiles, epsilon, truthful, mirrored)
    designs, split = problem.solve()
    return _finished(problem, designs, split, power, level)


@dataclass(frozen=True, eq=False)
class _Problem:
    """What is searched for: a place on the edge of the ε-region for each group, and the split."""

    share: float
    prevalences: Floats
    quantiles: tuple[float, float]
    epsilon: float
    truthful: float
    mirrored: bool

    def edge(self, place: Floats) -> tuple[Floats, Floats]:
        """(a, b) at a place from −1 to 1 (and from 1 to 3 with the two exchanged) on the edge of the ε-region.

        0 is Warner's design. Towards −1 both reports of "yes" become rare, b = e^ε a; towards 1 those of "no",
        1 − a = e^ε (1 − b). At ±1 the share b − a has come down to its floor.
        """
        turned = place > 1
        place = np.where(turned, place - 2, place)
        largest = math.tanh(self.epsilon / 2)
        asked = largest - np.abs(place) * (largest - self.truthful)
        rare = asked / math.expm1(self.epsilon)  # the smaller of the two chances of the rarer report
        a = np.where(place <= 0, rare, 1 - rare - asked)
        b = a + asked
        return np.where(turned, b, a), np.where(turned, a, b)

    def needed(self, first: Floats, second: Floats, split: Floats) -> Floats:
        """People needed by the normal approximation at the worst prevalence."""
        (a1, b1), (a2, b2) = self.edge(first), self.edge(second)
        worst = np.zeros(np.broadcast(first, second, split).shape)
        for carriers in self.prevalences:
            worst = np.maximum(worst, self.people(a1, b1, a2, b2, split, float(carriers)))
        return worst

    def people(self, a1: Floats, b1: Floats, a2: Floats, b2: Floats, split: Floats, carriers: float) -> Floats:
        """``((z_α σ₀ + z_β σ₁)/γ)²`` at one prevalence."""
        honest = 1 - carriers - self.share
        chances = a1 * honest + b1 * carriers, a2 * honest + b2 * carriers
        d1, d2 = b1 - a1, b2 - a2
        determinant = a1 * b2 - a2 * b1
        with np.errstate(divide="ignore", invalid="ignore"):
            spread = [c * (1 - c) / s for c, s in zip(chances, (split, 1 - split), strict=True)]
            # The honest prevalence that goes best with what is expected: weighted least squares on λ = a + d π.
            fitted = sum(d * (c - a) / v for d, c, a, v in zip((d1, d2), chances, (a1, a2), spread, strict=True))
            fitted = np.clip(fitted / sum(d * d / v for d, v in zip((d1, d2), spread, strict=True)), 0, 1)
            null = [
                c * (1 - c) / s for c, s in zip((a1 + d1 * fitted, a2 + d2 * fitted), (split, 1 - split), strict=True)
            ]
            roots = [np.sqrt(d2 * d2 * v[0] + d1 * d1 * v[1]) / np.abs(determinant) for v in (null, spread)]
            result = ((self.quantiles[0] * roots[0] + self.quantiles[1] * roots[1]) / self.share) ** 2
        return np.where(np.isfinite(result), result, math.inf)

    def solve(self) -> tuple[tuple[BinaryResponse, BinaryResponse], float]:
        """The best triple of a grid, refined around the best again and again; then rounded to fractions."""
        top = 3.0 if self.mirrored else 1.0
        low, high = np.array([-1.0, -1.0, 0.02]), np.array([top, top, 0.98])
        best = (low + high) / 2
        ends = low, high
        for _ in range(_ROUNDS):
            axes = [np.linspace(start, stop, _POINTS) for start, stop in zip(*ends, strict=True)]
            grid = np.meshgrid(*axes, indexing="ij")
            found = np.unravel_index(np.argmin(self.needed(*grid)), grid[0].shape)
            best = np.array([axis[i] for axis, i in zip(axes, found, strict=True)])
            width = (ends[1] - ends[0]) / 6
            ends = np.maximum(best - width, low), np.minimum(best + width, high)
        pair = sorted((self._mechanism(place) for place in best[:2]), key=lambda one: one.p00 - one.p11, reverse=True)
        same = pair[0] == self._mechanism(best[0])
        return (pair[0], pair[1]), float(best[2] if same else 1 - best[2])

    def _mechanism(self, place: float) -> BinaryResponse:
        """Both forced shares as fractions that a spinner can show, the smallest that are as private as asked."""
        a, b = (float(value) for value in self.edge(np.array(place)))
        parts = 1000 if self.epsilon >= 0.1 else 10**9
        said_yes = math.ceil(min(a, b) * parts - 1e-9)
        said_no = math.ceil((1 - max(a, b)) * parts - 1e-9)
        while said_yes + said_no < parts:
            yes, no = Fraction(said_yes, parts), Fraction(said_no, parts)
            found = BinaryResponse.forced(yes, no) if a <= b else BinaryResponse(no, yes)
            if found.guarantee.fits(self.epsilon):
                return found
            said_yes, said_no = said_yes + 1, said_no + 1
        raise DesignError("this ε leaves no two designs that a spinner can show: raise epsilon")


def _finished(
    problem: _Problem, pair: tuple[BinaryResponse, BinaryResponse], split: float, power: float, level: float
) -> TwoGroups:
    """The number of people for the rounded designs, with the exact power where it can be had."""
    (a1, b1), (a2, b2) = (tuple(float(p) for p in one.matrix()[:, 1]) for one in pair)
    no1, yes1, no2, yes2, first = np.array([a1, b1, a2, b2, split])
    needs = [float(problem.people(no1, yes1, no2, yes2, first, float(carriers))) for carriers in problem.prevalences]
    worst = float(problem.prevalences[int(np.argmax(needs))])
    if max(needs) > _MOST:
        raise DesignError("more people would be needed than can be asked: raise epsilon or share, or lower truthful")
    n = max(math.ceil(max(needs)), 2)
    says_yes, honest = np.array([[a1, b1], [a2, b2]]), np.array([1 - worst - problem.share, worst])
    exact = n <= _EXACT
    if exact:
        n = _smallest(n, lambda people: exact_power(says_yes, _sizes(people, split), honest, level) >= power)
    sizes = _sizes(n, split)
    reached = exact_power(says_yes, sizes, honest, level) if exact else power
    chances = says_yes @ honest
    variances = chances * (1 - chances) / sizes
    error = math.sqrt(a2**2 * variances[0] + a1**2 * variances[1]) / abs(a1 * b2 - a2 * b1)
    notes = ["the best found by a search over the edge of the ε-region, not proved to be the best of all"]
    if problem.mirrored:
        notes.append('people who cheat are taken to say "no" also where "no" is what carriers mostly say')
    return TwoGroups(
        designs={"few": pair[0], "many": pair[1]},
        people={"few": sizes[0], "many": sizes[1]},
        power=reached,
        exact=exact,
        share=problem.share,
        level=level,
        epsilon=problem.epsilon,
        prevalence=worst,
        std_error=error,
        notes=tuple(notes),
    )


def _smallest(n: int, enough: Callable[[int], bool]) -> int:
    """A number of people that is enough while one less is not, looked for around n."""
    low = high = n
    while not enough(high):
        low, high = high, math.ceil(1.1 * high)
    while low >= high > 2:
        low = max(2, math.floor(0.9 * high))
        low, high = (low, low) if enough(low) else (low, high)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _sizes(n: int, split: float) -> tuple[int, int]:
    first = min(max(round(n * split), 1), n - 1)
    return first, n - first
