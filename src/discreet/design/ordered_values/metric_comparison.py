"""Every mechanism for an ordered or metric domain, side by side."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from discreet import arguments
from discreet.arguments import Floats
from discreet.design.ordered_values.bipartite_response import bipartite
from discreet.design.ordered_values.least_expected_error import MAX_VALUES as MAX_OPTIMUM
from discreet.design.ordered_values.least_expected_error import expected_error
from discreet.design.ordered_values.near_count import checked_prior
from discreet.design.result import Alternative
from discreet.domains.losses import HasLosses, OnALine, loss_matrix, with_losses
from discreet.domains.metric import Metric
from discreet.errors import DesignError
from discreet.estimate.reporting import display
from discreet.estimate.reporting.result import Shown
from discreet.estimate.reporting.table import Column, ResultTable, labels
from discreet.mechanisms import ExponentialResponse, FiniteMechanism, GeneralizedResponse
from discreet.mechanisms.exact_integers import checked_epsilon
from discreet.mechanisms.published_baselines import (
    calibrated_staircase,
    clamped_laplace,
    square_codes,
    staircase_response,
    tile_codes,
)

#: Largest domain: every channel is written out.
MAX_VALUES = 512
#: More people than live, and few enough for a float to count.
MAX_PEOPLE = 10**12
#: Channels that agree to this in every entry are one mechanism under two names.
_SAME_CHANNEL = 1e-8
#: The name of a mechanism as its paper has it, whose realised ε may be another than the one asked for.
_PUBLISHED = ", published"
#: Figures of the smallest number in a column of a table.
_FIGURES = 4
#: A linear functional is identified when its equation is solved to this accuracy, relative to its size.
_IDENTIFIED = 1e-7


@dataclass(frozen=True, eq=False)
class Contender:
    """One mechanism and what it achieves.

    Attributes
    ----------
    name : str
        Which mechanism.
    mechanism : FiniteMechanism
        Finished and certified.
    expected_error, worst_error : float
        Expected loss of a report: averaged over the prior, and under the worst truth.
    epsilon : float
        The realised privacy level.
    rank : int
        The rank of the channel; all frequencies are identified when it equals the number of values.
    frequency_error : float
        Standard error of a frequency from n reports, root mean square over the values, when truths follow the prior;
        nan when the frequencies are not identified.
    mean_error : float
        Standard error of the mean position from n reports; nan when there is no position or it is not identified.
    """

    name: str
    mechanism: FiniteMechanism
    expected_error: float
    worst_error: float
    epsilon: float
    rank: int
    frequency_error: float
    mean_error: float

    @property
    def identified(self) -> bool:
        """Whether every frequency is identified."""
        return self.rank == self.mechanism.shape[0]

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "name": self.name,
            "expected_error": self.expected_error,
            "worst_error": self.worst_error,
            "epsilon": self.epsilon,
            "rank": self.rank,
            "identified": self.identified,
            "frequency_error": _plain(self.frequency_error),
            "mean_error": _plain(self.mean_error),
        }


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class MetricComparison(Shown):
    """The mechanisms for a domain side by side; made by :func:`compare`.

    ``print`` it, or take ``to_frame()``, ``to_latex()``, ``to_markdown()``; ``comparison["optimum"]`` is one mechanism.
    """

    size: int
    epsilon: float
    n: int
    contenders: tuple[Contender, ...]

    def __getitem__(self, name: str) -> Contender:
        for contender in self.contenders:
            if contender.name == name:
                return contender
        raise KeyError(name)

    def of(self, mechanism: FiniteMechanism) -> Contender | None:
        """The contender with the channel of a mechanism, if there is one."""
        return next((c for c in self.contenders if _same_channel(c.mechanism, mechanism)), None)

    def instead_of(self, mechanism: FiniteMechanism) -> tuple[Alternative, ...]:
        """The other channels that keep the promise, by their expected error; one with two names is named once.

        Published forms that spend less than ε stay out: they are there to be compared with, not to be used.
        """
        taken, found = [mechanism], []
        for contender in sorted(self._private(), key=lambda c: c.expected_error):
            if contender.name.endswith(_PUBLISHED) or any(_same_channel(contender.mechanism, one) for one in taken):
                continue
            taken.append(contender.mechanism)
            remark = "" if contender.identified else ", frequencies not identified"
            found.append(Alternative(contender.name + remark, contender.expected_error))
        return tuple(found)

    @property
    def names(self) -> list[str]:
        """The mechanisms that were compared."""
        return [contender.name for contender in self.contenders]

    def _private(self) -> list[Contender]:
        """Those that keep the promise; a baseline that exceeds ε is shown but never recommended."""
        return [c for c in self.contenders if c.epsilon <= self.epsilon * (1 + 1e-12)]

    def advice(self) -> tuple[str, ...]:
        """Which mechanism to take for which purpose."""
        private = self._private()
        nearest = min(private, key=lambda c: c.expected_error)
        lines = [f"reports near the truth: {nearest.name} (expected error {nearest.expected_error:.4g})"]
        if not nearest.identified:
            kept = [c for c in private if c.identified]
            if kept:
                both = min(kept, key=lambda c: c.expected_error)
                lines.append(
                    f"near reports from which frequencies can still be estimated: {both.name} "
                    f"(expected error {both.expected_error:.4g})"
                )
        frequent = [c for c in private if not math.isnan(c.frequency_error)]
        if frequent:
            best = min(frequent, key=lambda c: c.frequency_error)
            lines.append(f"frequencies of the values: {best.name} (standard error {best.frequency_error:.3g})")
        averaging = [c for c in private if not math.isnan(c.mean_error)]
        if averaging:
            best = min(averaging, key=lambda c: c.mean_error)
            lines.append(f"the mean: {best.name} (standard error {best.mean_error:.3g})")
        return tuple(lines)

    def heading(self) -> str:
        """What is compared."""
        return f"{self.size} values, ε = {self.epsilon:g}, n = {self.n:,}"

    def _figures(self) -> Iterator[str]:
        yield from (f"{c.name} {c.expected_error:.4g}" for c in self.contenders)

    def _page(self) -> ResultTable:
        """A table to read, and what to take."""
        over = [c.epsilon > self.epsilon * (1 + 1e-12) for c in self.contenders]
        return ResultTable(
            title=self.heading(),
            columns=(
                labels(
                    "mechanism",
                    [c.name + (" (!)" if more else "") for c, more in zip(self.contenders, over, strict=True)],
                ),
                self._column("expected_error", "expected error"),
                self._column("worst_error", "worst error"),
                Column("epsilon", [c.epsilon for c in self.contenders], "realised ε", "{:.4f}".format),
                Column("rank", [c.rank for c in self.contenders], write=str),
                self._column("frequency_error", "std. error of a frequency"),
                self._column("mean_error", "of the mean"),
            ),
            rows=len(self.contenders),
            facts=tuple(_as_fact(line) for line in self.advice()),
            notes=("(!) gives away more than ε",) if any(over) else (),
        )

    def _column(self, name: str, heading: str) -> Column:
        """A column of figures with the same places; where one is not a number it is not identified."""
        values = [getattr(c, name) for c in self.contenders]
        places = display.places(values, _FIGURES) or 0
        return Column(
            name, values, heading, lambda one: "not identified" if math.isnan(one) else display.figure(one, places)
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "values": self.size,
            "epsilon": self.epsilon,
            "n": self.n,
            "mechanisms": [contender.to_dict() for contender in self.contenders],
            "advice": list(self.advice()),
        }


def _as_fact(advice: str) -> tuple[str, str]:
    purpose, _, what = advice.partition(": ")
    return f"For {purpose}", what


def compare(domain: Any, epsilon: float, n: int, *, prior: ArrayLike | None = None) -> MetricComparison:
    """Every mechanism for an ordered or metric domain, side by side.

    Generalised response, bipartite response ("search" and "best"), the exponential mechanism (as published, and at
    the ε that is asked for), clamped Laplace noise on a line, L-SRR on a map (as published, and at the ε that is
    asked for), and the channel of least expected error.

    Parameters
    ----------
    domain : Ordinal, Grid or Metric
        Up to 512 values; the optimum is left out above 300.
    epsilon : float
        The privacy level.
    n : int
        How many people will report.
    prior : array, optional
        How frequent each truth is thought to be; equally frequent by default.

    Examples
    --------
    >>> from discreet import Ordinal
    >>> table = compare(Ordinal(range(12)), 1.0, 10_000)
    >>> [round(table[name].expected_error, 4) for name in ("generalised", "bipartite, search", "optimum")]
    [3.4747, 2.8851, 2.5505]
    >>> table["bipartite, search"].rank
    8
    """
    epsilon = checked_epsilon(epsilon)
    people = arguments.whole(n, "n", DesignError, least=1, most=MAX_PEOPLE)
    losses = with_losses(domain, DesignError)
    matrix = loss_matrix(losses, MAX_VALUES, DesignError)
    weights = checked_prior(prior, losses.size)
    positions = _positions(domain)
    contenders = tuple(
        _measured(name, mechanism, matrix, weights, positions, people)
        for name, mechanism in _mechanisms(domain, losses, epsilon, weights)
    )
    return MetricComparison(size=losses.size, epsilon=epsilon, n=people, contenders=contenders)


def _mechanisms(domain: Any, losses: HasLosses, epsilon: float, prior: Floats) -> Iterator[tuple[str, Any]]:
    yield "generalised", GeneralizedResponse(losses.size, epsilon)
    yield "bipartite, search", bipartite(domain, epsilon).mechanism
    yield "bipartite, best", bipartite(domain, epsilon, "best", prior).mechanism
    yield f"exponential{_PUBLISHED}", ExponentialResponse.published(losses, epsilon)
    yield "exponential", ExponentialResponse(losses, epsilon)
    if isinstance(domain, OnALine):
        yield "clamped Laplace", clamped_laplace(domain.positions, epsilon)
    codes = _codes(domain)
    if codes is not None:
        yield f"L-SRR{_PUBLISHED}", staircase_response(codes, epsilon)
        yield "L-SRR", calibrated_staircase(codes, epsilon)
    if losses.size <= MAX_OPTIMUM:
        yield "optimum", expected_error(domain, epsilon, prior).mechanism


def _codes(domain: Any) -> list[str] | None:
    """Tile codes of places on a map, or of points in a plane."""
    if not isinstance(domain, Metric) or domain.coordinates is None or domain.coordinates.shape[1] != 2:
        return None
    return tile_codes(domain.coordinates) if domain.distance == "haversine" else square_codes(domain.coordinates)


def _positions(domain: Any) -> Floats | None:
    """What a mean is taken of: one column per coordinate."""
    if isinstance(domain, OnALine):
        return np.asarray(domain.positions)[:, None]
    return domain.coordinates if isinstance(domain, Metric) else None


def _measured(
    name: str, mechanism: FiniteMechanism, losses: Floats, prior: Floats, positions: Floats | None, n: int
) -> Contender:
    channel = mechanism.matrix()
    by_truth = (channel * losses).sum(axis=1)
    rank = int(np.linalg.matrix_rank(channel))
    shares = prior @ channel
    frequency = math.nan
    if rank == len(channel):
        try:
            frequency = math.sqrt(float(mechanism.inverse.variances(shares).mean()) / n)
        except np.linalg.LinAlgError:  # singular for all that floats can tell
            rank -= 1
    mean = math.nan if positions is None else _mean_error(channel, shares, positions, n)
    return Contender(
        name,
        mechanism,
        float(prior @ by_truth),
        float(by_truth.max()),
        mechanism.guarantee.epsilon,
        rank,
        frequency,
        mean,
    )


def _mean_error(channel: Floats, shares: Floats, positions: Floats, n: int) -> float:
    """Standard error of the mean position by the best unbiased score of a report; nan when there is none.

    A score a_y with ``Σ_y Q[x, y] a_y = position of x`` is unbiased whatever the truths are; it exists exactly when
    the positions lie in the range of Q. Of all such scores the one with the least variance ``Σ_y p_y a_y²`` is taken.
    """
    used = shares > 0
    root = np.sqrt(shares[used])
    centred = positions - positions.mean(axis=0)
    scaled = np.linalg.lstsq(channel[:, used] / root, centred, rcond=1e-11)[0]
    residual = np.abs((channel[:, used] / root) @ scaled - centred).max()
    if residual > _IDENTIFIED * np.abs(centred).max():
        return math.nan
    scores = scaled / root[:, None]
    means = shares[used] @ scores
    return math.sqrt(max(float((shares[used] @ (scores - means) ** 2).sum()), 0.0) / n)


def _same_channel(one: FiniteMechanism, other: FiniteMechanism) -> bool:
    return one.shape == other.shape and bool(np.abs(one.matrix() - other.matrix()).max() < _SAME_CHANNEL)


def _plain(value: float) -> float | None:
    return None if math.isnan(value) else value
