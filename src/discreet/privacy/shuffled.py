"""What a file in random order guarantees: each person is hidden among the others.

The rows of a release are shuffled. A reader of the file then cannot link a row to a person, and learns far less about
each of them than the local ε says. The bound is the privacy blanket's (:mod:`discreet.privacy.blanket`), for every pair
of true rows; ε and δ are upper bounds, and every rounding raises them.

A mechanism with a pure ε₀ also obeys the bound of binary response with the same ε₀: the pair (Q[x, y], Q[x', y])/m(y)
lies in the square [1, e^{ε₀}]². Splitting it between the corners with its means kept gives a mixture of three laws of
``first − e^ε·second`` with the same mean, of which binary response's is the largest in convex order for ε ≤ ε₀.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np

from discreet import arguments, limits
from discreet.errors import PrivacyError
from discreet.privacy.blanket import MAX_COMPARED, Block, Law, block_of_pairs, block_of_rows, laws_of_row
from discreet.privacy.certificate import HasWeights, certify
from discreet.privacy.composition import HasGuarantee, compose
from discreet.privacy.exact import exact_rows
from discreet.privacy.explain import factor, figure, percent
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.mean_excess import ROUNDING
from discreet.privacy.trade_off import Pair

Bound = Literal["own blanket", "universal"]

#: More people never hurt, and beyond this number they are not counted: rounding errors grow with it.
MAX_COUNTED = 10**9
#: Above this local ε nobody is hidden among 10⁹ people, nor among all people who ever lived.
MAX_LOCAL = 300.0
#: The false-alarm rate of the attack that ``explain`` describes.
ATTACK = 0.05
#: How far ε may lie above the smallest one that the bound allows, relative.
TOLERANCE = 1e-6
#: Smaller figures than this are not told apart from it.
_LEAST = 1e-12


@runtime_checkable
class HasRecordGuarantee(Protocol):
    """A mechanism of whole records, whose ``guarantee`` may be about less."""

    @property
    def record_guarantee(self) -> Guarantee:
        """What a report guarantees about the whole record."""


@runtime_checkable
class HasPairs(Protocol):
    """A mechanism that names its essentially different pairs of rows, with the blanket under them."""

    def row_pairs(self) -> tuple[Pair, ...]:
        """None where they are too many."""


@runtime_checkable
class HasShape(Protocol):
    """A channel whose size is known before its weights are written out."""

    @property
    def shape(self) -> tuple[int, int]:
        """Number of truths and number of reports."""


@dataclass(frozen=True)
class ShuffledGuarantee:
    """The guarantee of a shuffled file against everyone who reads it.

    Attributes
    ----------
    epsilon, delta : float
        The file is (ε, δ)-differentially private if one person's true row is replaced; ε is rounded up.
    people : int
        How many people the person is hidden among, the person included.
    local : float
        The ε of a single report, which holds against the operator who shuffles.
    bound : {"own blanket", "universal"}
        Computed from the mechanism's own channel, or from its local ε alone.
    unit : str
        What one report is about: a value, or a whole row ("record").
    caveats : tuple of str
        What the guarantee of a single report does not cover.
    """

    epsilon: float
    delta: float
    people: int
    local: float
    bound: Bound
    unit: Literal["value", "record"] = "value"
    caveats: tuple[str, ...] = ()
    _laws: tuple[Law, ...] = field(default=(), repr=False, compare=False)

    @property
    def guarantee(self) -> Guarantee:
        """The same as (ε, δ), ready for :func:`discreet.privacy.compose`, with what it assumes as caveats."""
        return Guarantee(self.epsilon, self.delta, self.unit, caveats=(*self.caveats, _OPERATOR_ALONE, _IDENTIFIED))

    def delta_at(self, epsilon: float) -> float:
        """The smallest δ that the bound gives at another ε, rounded up; 0 from the local ε on."""
        epsilon = arguments.number(epsilon, "epsilon", PrivacyError, least=0, infinite=True)
        if epsilon >= self.local:
            return 0.0
        worst = 0.0
        for law in self._laws:
            worst = max(worst, law.delta(epsilon, self._counted, worst))
        return min(1.0, worst) if self._laws else 1.0

    def epsilon_at(self, delta: float) -> float:
        """The smallest ε that the bound gives at another δ, rounded up by at most a millionth; the local ε at most."""
        delta = _checked_delta(delta)
        found = 0.0
        for law in self._laws:
            if law.delta(found, self._counted, delta) > delta:
                found = self._root(law, found, delta)
        return found if self._laws or self.local == 0 else self.local

    @property
    def _counted(self) -> int:
        return min(self.people, MAX_COUNTED)

    def _root(self, law: Law, low: float, delta: float) -> float:
        """The ε at which a pair of true rows meets δ: the upper end of its bracket, at which the bound was computed."""
        low, high = max(low, _LEAST), self.local
        while high - low > TOLERANCE * low:
            # The logarithm of ε where it is known to a power of ten only.
            middle = math.sqrt(low * high) if high > 4 * low else (low + high) / 2
            if law.delta(middle, self._counted, delta) > delta:
                low = middle
            else:
                high = middle
        return high

    def explain(self) -> str:
        """The guarantee in plain words: against whom it holds, and what it assumes."""
        what = "one row of the file (all its private columns together)" if self.unit == "record" else "one answer"
        failure = figure(self.delta)
        shrink = math.exp(-self.epsilon)  # both limits of the trade-off between false and true alarms
        detected = min(1 - (1 - ATTACK - self.delta) * shrink, ATTACK / shrink + self.delta if shrink > 0 else 1.0)
        lines = [
            f"What is protected: {what}, against everyone who reads the file.",
            f"The file holds the reports of {self.people:,} people in random order, so that a reader cannot link a "
            "report to a person.",
            f"The guarantee of the file (ε = {figure(self.epsilon)}, δ = {failure}): replacing one person's true "
            f"answer changes the probability of any set of files by a factor of at most {factor(self.epsilon)}, plus "
            f"{failure}.",
            f"An attack with the file: a test for one true answer of a person that is wrong for {ATTACK * 100:g} % of "
            f"the people with another answer detects at most {percent(detected, up=True)} of the people with it.",
        ]
        if 0 < self.local <= self.epsilon:
            lines.append("These are too few people: the random order adds nothing to the guarantee of a single report.")
        return "\n".join(
            [
                *lines,
                f"The guarantee of a single report: ε = {figure(self.local)}. It holds against the operator who "
                "shuffles the rows, and against anyone who can link a report to a person.",
                *(f"Not covered: {caveat}." for caveat in self.caveats),
                *(f"Assumed: {assumption}." for assumption in (_OPERATOR, _OTHERS, _ROWS)),
                _BOUNDS[self.bound],
            ]
        )

    def summary(self) -> str:
        """One line."""
        return (
            f"ε = {figure(self.epsilon)}, δ = {figure(self.delta)} for readers of the file, hidden among "
            f"{self.people:,} people; local ε = {figure(self.local)}"
        )

    __str__ = summary


_OPERATOR = "the operator who shuffles the rows keeps no record of their order and does not reveal it"
_OPERATOR_ALONE = "an operator who shuffled the rows and kept their order"
_IDENTIFIED = "a reader who can identify the reports of other people counted here"
_OTHERS = (
    "all of these people have the same values in all public columns and went through the same mechanism, and the "
    "reader cannot identify the report of any of them"
)
_ROWS = "each person has one row; each further file about the same people adds to the total ε"
_BOUNDS: dict[Bound, str] = {
    "own blanket": "ε is an upper bound, computed from the mechanism's own channel for every pair of true answers.",
    "universal": "ε is an upper bound for every mechanism with this local ε; the mechanism itself may be better.",
}


def shuffled(mechanism: Any, people: int, delta: float = 1e-9) -> ShuffledGuarantee:
    """State what a file of shuffled reports guarantees against everyone who reads it.

    Upper bounds throughout: the worst pair of true answers counts, whatever the true answers of the others are, and
    every rounding raises ε and δ.

    Parameters
    ----------
    mechanism : mechanism, matrix, or list of mechanisms
        How each person's answer is randomised; integer weights with equal row sums, as for ``certify``; or the
        independent blocks of one row. Each must have δ = 0 and a finite ε.
    people : int
        How many people the file holds, the person included, whose reports the reader cannot identify. Count only rows
        that are equal in all public columns.
    delta : float
        The probability with which ε may fail, above 0 and below 1.

    Examples
    --------
    >>> file = shuffled([[3, 1], [1, 3]], 10_000)
    >>> round(file.local, 3), round(file.epsilon, 3)
    (1.099, 0.07)
    >>> file.delta_at(0.1) < 1e-9
    True
    """
    file = at_local_epsilon(mechanism, people, delta)
    return replace(file, epsilon=file.epsilon_at(file.delta))


def at_local_epsilon(mechanism: Any, people: int, delta: float) -> ShuffledGuarantee:
    """The file before its ε is searched for: stated with the local ε."""
    people = arguments.whole(people, "people", PrivacyError, least=1, most=limits.ROWS)
    delta = _checked_delta(delta)
    given = list(mechanism) if _is_row(mechanism) else [mechanism]
    local = compose([_local(one) for one in given])
    unit: Literal["value", "record"] = "record" if len(given) > 1 or local.unit != "value" else "value"
    laws, bound = _laws(given, local.epsilon)
    return ShuffledGuarantee(local.epsilon, delta, people, local.epsilon, bound, unit, local.caveats, laws)


def _is_row(given: Any) -> bool:
    """Whether this is a list of mechanisms, not a matrix."""
    return isinstance(given, Sequence) and len(given) > 0 and isinstance(given[0], HasGuarantee | HasWeights)


def _local(mechanism: Any) -> Guarantee:
    """The pure guarantee of one block, about the whole of it."""
    if isinstance(mechanism, type | str | bytes) or not isinstance(mechanism, HasWeights | HasGuarantee | Iterable):
        given = f"the class {mechanism.__name__}" if isinstance(mechanism, type) else arguments.shown(mechanism)
        raise PrivacyError(f"shuffled takes a mechanism, a matrix or a list of mechanisms, not {given}")
    if isinstance(mechanism, HasRecordGuarantee):
        local = mechanism.record_guarantee
    elif isinstance(mechanism, HasGuarantee) and isinstance(mechanism, HasWeights):
        local = mechanism.guarantee
    elif not isinstance(mechanism, HasGuarantee):
        local = certify(mechanism).guarantee
    else:
        raise PrivacyError(f"shuffled takes a mechanism, not a {type(mechanism).__name__}; pass its .mechanism")
    if math.isinf(local.epsilon):
        raise PrivacyError(
            "a report that is impossible under some true answer is not hidden by shuffling; the mechanism must have a "
            "finite ε"
        )
    if local.delta > 0:
        raise PrivacyError(
            f"the guarantee of a shuffled file needs a mechanism with δ = 0, not δ = {local.delta:g}; reports that "
            "break its ε are not hidden by shuffling"
        )
    return local


def _laws(given: Sequence[Any], local: float) -> tuple[tuple[Law, ...], Bound]:
    """What is compared: the pairs of true rows, or binary response with the same ε where they are too many."""
    if local == 0 or local > MAX_LOCAL:
        return (), "own blanket"
    blocks = [_block(one) for one in given]
    laws = None if any(block is None for block in blocks) else laws_of_row([block for block in blocks if block])
    return (laws, "own blanket") if laws else ((universal_law(local),), "universal")


def _block(mechanism: Any) -> Block | None:
    """The pairs of true answers of one block; None where its channel is too large to be written out."""
    if isinstance(mechanism, HasPairs):
        return block_of_pairs(mechanism.row_pairs())
    if isinstance(mechanism, HasShape) and mechanism.shape[0] ** 2 * mechanism.shape[1] > MAX_COMPARED:
        return None
    if isinstance(mechanism, HasWeights):
        return block_of_rows(*exact_rows(mechanism.weights()))
    return None if isinstance(mechanism, HasGuarantee) else block_of_rows(*exact_rows(mechanism))


def universal_law(epsilon: float) -> Law:
    """Binary response with this local ε, whose bound every mechanism with the same ε obeys."""
    ratio = math.exp(epsilon) * (1 + 8 * ROUNDING)
    return Law(np.full(2, 1 / (ratio + 1)), np.array([ratio, 1.0]), np.array([1.0, ratio]))


def _checked_delta(delta: float) -> float:
    return arguments.number(delta, "delta", PrivacyError, above=0, below=1)
