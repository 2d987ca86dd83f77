"""The exact power of the test of honesty in two groups, summed over all tables of reports that occur."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from discreet.arguments import Floats

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
