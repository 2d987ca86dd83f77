"""Outcomes of several classes: multinomial logit and proportional odds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.regressions.families import Family, Statistics, Terms
from discreet.estimate.regressions.likelihood.links import LINKS

#: A class is taken to be at least this likely when the search starts.
_LEAST_SHARE = 0.01


class ClassFamily(Family):
    """An outcome with J classes, given as codes 0 … J − 1."""

    outcome = "classes"
    scale = "probability"

    def __init__(self, classes: Sequence[str]) -> None:
        self.classes = tuple(classes)
        self.predictors = len(self.classes) - 1

    def statistics(self, y: Floats, weights: Floats) -> Statistics:
        """The weight of each class (rows, cells, J)."""
        by_cell = weights.transpose(0, 2, 1)
        if by_cell.shape[2] > 1:  # a randomised outcome: its values are the classes, in order
            return (by_cell,)
        return (by_cell * (y[:, :, None] == np.arange(len(self.classes))),)


class Multinomial(ClassFamily):
    """``ln Σ_j e^{η_j} − η_y`` with η_0 = 0: multinomial logit."""

    name = "multinomial"
    exponentiated = "odds ratios"
    curvature = "canonical"

    def terms(self, eta: Floats, statistics: Statistics) -> Terms:
        """See :class:`Family`."""
        (share,) = statistics
        total = share.sum(axis=2)
        top = np.maximum(eta.max(axis=2), 0.0)
        powers = np.exp(eta - top[..., None])
        below = np.exp(-top) + powers.sum(axis=2)
        chance = powers / below[..., None]
        value = total * (top + np.log(below)) - np.einsum("ick,ick->ic", share[:, :, 1:], eta)
        first = total[..., None] * chance - share[:, :, 1:]
        second = -chance[..., :, None] * chance[..., None, :]
        places = np.arange(self.predictors)
        second[..., places, places] += chance
        return value, first, total[..., None, None] * second

    def mean(self, eta: Floats) -> tuple[Floats, Floats]:
        """The probability of every class."""
        full = np.concatenate([np.zeros((*eta.shape[:-1], 1)), eta], axis=-1)
        powers = np.exp(full - full.max(axis=-1, keepdims=True))
        chance = powers / powers.sum(axis=-1, keepdims=True)
        return chance, chance[..., :, None] * (np.eye(full.shape[-1])[:, 1:] - chance[..., None, 1:])

    def start(self, shares: Floats) -> Floats:
        """Logarithms of the shares against the first."""
        kept = np.maximum(shares, _LEAST_SHARE)
        return np.asarray(np.log(kept[1:] / kept[0]))

    def parameters(self, names: Sequence[str]) -> tuple[tuple[str, ...], Floats | None]:
        """One set of coefficients for every class but the first."""
        return tuple(f"{label}: {name}" for label in self.classes[1:] for name in names), None

    def described(self) -> str:
        """With its reference."""
        return f'multinomial logit, reference "{self.classes[0]}"'


class Ordinal(ClassFamily):
    """``−ln(F(τ_y − x'β) − F(τ_{y−1} − x'β))``, F logistic: proportional odds (McCullagh 1980).

    The K = J − 1 linear predictors are ``τ_k − x'β``: a positive coefficient makes higher classes more likely.
    """

    name = "ordinal"
    exponentiated = "odds ratios"
    _link = LINKS["logit"]

    def _chances(self, eta: Floats) -> tuple[Floats, Floats, Floats]:
        """P(class), F' and F'' at the thresholds."""
        parts = self._link.parts(eta)
        no, yes, slope = parts
        low = np.concatenate([np.zeros((*eta.shape[:-1], 1)), yes], axis=-1)
        high = np.concatenate([yes, np.ones((*eta.shape[:-1], 1))], axis=-1)
        tail = np.concatenate([np.ones((*eta.shape[:-1], 1)), no], axis=-1)
        rest = np.concatenate([no, np.zeros((*eta.shape[:-1], 1))], axis=-1)
        # In the upper half both are near one: their complements keep the digits.
        return np.where(low > 0.5, tail - rest, high - low), slope, self._link.bend(eta, parts)

    def terms(self, eta: Floats, statistics: Statistics) -> Terms:
        """See :class:`Family`; infinite where thresholds are not in order."""
        (share,) = statistics
        chance, slope, bend = self._chances(eta)
        ordered = (chance > 0).all(axis=2)
        kept = np.where(chance > 0, chance, 1.0)
        value = np.where(ordered, -(share * np.log(kept)).sum(axis=2), np.inf)
        up, down = slope / kept[:, :, :-1], slope / kept[:, :, 1:]  # of the class below and above a threshold
        below, above = share[:, :, :-1], share[:, :, 1:]
        first = above * down - below * up
        second = np.zeros((*eta.shape, self.predictors))
        places = np.arange(self.predictors)
        bent_up, bent_down = bend / kept[:, :, :-1], bend / kept[:, :, 1:]
        second[..., places, places] = below * (up * up - bent_up) + above * (down * down + bent_down)
        if self.predictors > 1:
            middle = -share[:, :, 1:-1] * up[:, :, 1:] * down[:, :, :-1]
            second[..., places[1:], places[:-1]] = second[..., places[:-1], places[1:]] = middle
        return value, first, second

    def mean(self, eta: Floats) -> tuple[Floats, Floats]:
        """The probability of every class."""
        chance, slope, _ = self._chances(eta)
        moves = np.zeros((*eta.shape[:-1], self.predictors + 1, self.predictors))
        places = np.arange(self.predictors)
        moves[..., places, places] = slope
        moves[..., places + 1, places] = -slope
        return chance, moves

    def start(self, shares: Floats) -> Floats:
        """Logits of the cumulated shares."""
        kept = np.maximum(shares, _LEAST_SHARE)
        return np.asarray(self._link.inverse(np.cumsum(kept / kept.sum())[:-1]))

    def parameters(self, names: Sequence[str]) -> tuple[tuple[str, ...], Floats | None]:
        """Coefficients of the predictors, then the thresholds, which take the place of the intercept."""
        if "Intercept" not in names:
            raise EstimationError("an ordinal regression has thresholds, so the formula must not drop the intercept")
        constant = list(names).index("Intercept")
        others = [j for j in range(len(names)) if j != constant]
        matrix = np.zeros((self.predictors, len(names), len(others) + self.predictors))
        for k in range(self.predictors):
            matrix[k, constant, len(others) + k] = 1.0
            matrix[k, others, np.arange(len(others))] = -1.0
        steps = tuple(f"{low} | {high}" for low, high in zip(self.classes[:-1], self.classes[1:], strict=True))
        return (*(names[j] for j in others), *steps), matrix.reshape(-1, matrix.shape[2])

    def described(self) -> str:
        """With its link."""
        return "ordinal, proportional odds"
