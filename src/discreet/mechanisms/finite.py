"""Mechanisms with finitely many truths and reports: the exact channel is the one source of truth.

Mechanisms whose rows are written out in full: one alias table draws for all of them.
"""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_right
from copy import copy
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.domains import Categorical, FiniteDomain
from discreet.errors import DomainError, MechanismError
from discreet.mechanisms.base import Mechanism, integer_codes
from discreet.mechanisms.inverse import Inverse, dense_inverse
from discreet.mechanisms.printed import in_words, printed_rows
from discreet.privacy import Certificate, Guarantee, certify
from discreet.privacy.exact import Rows
from discreet.randomness import AliasTable, Randomness, resolve

#: Largest number of truths or reports for which a full matrix is written out (2^24 numbers, 128 MB).
MAX_MATRIX = 4096
#: Codes handled at once, unless a mechanism says otherwise: the working arrays of a step stay in the cache.
CHUNK = 1 << 19
#: Answers or reports up to which a person can follow a spinner.
_BY_HAND = 12


class FiniteMechanism(Mechanism):
    """A mechanism with finitely many truths and reports: a channel of exact integer weights.

    ``weights()[x][y] / denominator`` is the probability of report y under truth x. ε, sampler, likelihood and
    inverse all derive from it; where a subclass has a closed form, the tests compare the two.
    """

    #: The ε at which an (ε, δ) guarantee is stated; None states the pure guarantee.
    epsilon: float | None
    #: Codes handled at once.
    chunk: ClassVar[int] = CHUNK
    #: Of memoised reports: the column and domain under which they are drawn, the same in every wave.
    question: str | None = None

    def memoised_for(self, question: str) -> Self:
        """The same mechanism, marked as one whose reports are memoised for a question; equality does not look at it."""
        marked = copy(self)
        object.__setattr__(marked, "question", question)
        return marked

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """Number of truths and number of reports."""

    @property
    @abstractmethod
    def denominator(self) -> int:
        """The sum of every row of weights."""

    @abstractmethod
    def _rows(self) -> Rows:
        """All rows of weights; only called when they fit."""

    @abstractmethod
    def _sample(self, codes: NDArray[Any], randomness: Randomness) -> NDArray[Any]:
        """Reports for a chunk of valid codes."""

    def weights(self) -> Rows:
        """Exact integers, one row per truth, each row summing to ``denominator``."""
        if max(self.shape) > MAX_MATRIX:
            raise MechanismError(
                f"the full matrix of {self.shape[0]} × {self.shape[1]} is over the limit of {MAX_MATRIX}; "
                "the closed form in to_dict() says the same"
            )
        return self._rows()

    def report_at(self, code: int, place: int) -> int:
        """The report whose weights reach over a place: ``Σ_{y' < y} w[x, y'] ≤ place < Σ_{y' ≤ y} w[x, y']``.

        For a place that is uniform below the denominator it has the exact law of the channel. A closed form overrides
        it where rows are too long to be summed.
        """
        return bisect_right(list(accumulate(self.weights()[code])), place)

    def matrix(self) -> NDArray[np.float64]:
        """The channel in floats: ``Q[x, y] = P(report y | truth x)``."""
        denominator = self.denominator
        return np.array([[weight / denominator for weight in row] for row in self.weights()])

    @cached_property
    def certificate(self) -> Certificate:
        """What the integers really give."""
        return certify(self, self.epsilon)

    @property
    def guarantee(self) -> Guarantee:
        """What is promised about one value: recomputed from the finished weights and rounded up."""
        return self.certificate.guarantee

    @cached_property
    def inverse(self) -> Inverse:
        """The linear map from report shares to unbiased frequencies."""
        return dense_inverse(self.weights(), self.denominator)

    @property
    def report_dtype(self) -> np.dtype[Any]:
        """The smallest unsigned integers that hold every report."""
        return np.min_scalar_type(self.shape[1] - 1)

    def privatize(self, x: ArrayLike, randomness: Randomness | None = None) -> NDArray[Any]:
        """Randomise codes 0 … N − 1; returns report codes of the same shape.

        Parameters
        ----------
        x : array of int or bool
            True codes.
        randomness : Randomness, optional
            The secure source by default.
        """
        source = resolve(randomness)
        codes = self._valid_codes(x)
        flat = codes.reshape(-1)
        out = np.empty(flat.size, self.report_dtype)
        for start in range(0, flat.size, self.chunk):
            rows = slice(start, start + self.chunk)
            self._sample_into(out[rows], flat[rows], source)
        return out.reshape(codes.shape)

    def _sample_into(self, out: NDArray[Any], codes: NDArray[Any], randomness: Randomness) -> None:
        """Put one report per code into an array; overridden where that spares a copy."""
        out[...] = self._sample(codes, randomness)

    def _valid_codes(self, x: ArrayLike) -> NDArray[Any]:
        truths = self.shape[0]
        expected = f"a whole number from 0 to {truths - 1}"
        codes = integer_codes(x, expected)
        if codes.size and (codes.max() >= truths or (codes.dtype.kind == "i" and codes.min() < 0)):
            bad = int(np.flatnonzero((codes.reshape(-1) >= truths) | (codes.reshape(-1) < 0))[0])
            raise DomainError("a code is out of range", row=bad, expected=expected, value=codes.flat[bad])
        return codes

    @property
    def truths(self) -> tuple[float, ...] | None:
        """The true values, where the mechanism itself knows them; most know codes only."""
        return None

    def report_domain(self, truths: FiniteDomain) -> FiniteDomain:
        """The labels of the reports: those of the truths when there are as many, else made from the channel.

        A report that only one truth can give is called "yes (certain)"; any other is named after the truth under
        which it is most likely, the smaller code in a tie, and numbered when that name is taken. The reports of a
        channel that is too large to be written out are numbers. A mechanism whose reports mean something overrides it.
        """
        count = self.shape[1]
        if count == truths.size:
            return truths
        if max(self.shape) > MAX_MATRIX:
            return Categorical(range(count))
        labels: list[str] = []
        for column in zip(*self.weights(), strict=True):
            name = _label_text(truths.label(column.index(max(column))))
            if sum(weight > 0 for weight in column) == 1:
                name += " (certain)"
            labels.append(_unused(name, labels))
        return Categorical(labels)

    def instructions(self) -> str:
        """The rule that a person with a spinner follows, for channels that a person can follow.

        The shares are those of ``by_hand()``, with all their digits.
        """
        printed = self.by_hand()
        lines = ["Spin a spinner that nobody else sees. Then:"]
        for x, row in enumerate(printed.weights()):
            shares = ", ".join(
                f'"{y}" on {in_words(Fraction(weight, printed.denominator), percent=True)} of the circle'
                for y, weight in enumerate(row)
                if weight
            )
            lines.append(f"  if your true answer is {x}, report {shares}.")
        return "\n".join(lines)

    def by_hand(self) -> FiniteMechanism:
        """The mechanism that a person follows who does what ``instructions`` print, certified as printed.

        It is this mechanism where its probabilities are short fractions. Otherwise they are decimals of at least six
        digits, within 10⁻⁴ of the exact ones, and its guarantee is at least as strong.
        """
        from discreet.mechanisms.channel import ChannelResponse

        truths, reports = self.shape
        if truths > _BY_HAND or reports > _BY_HAND:
            raise MechanismError(
                f"a channel of {truths} answers and {reports} reports is for a device, not for a spinner"
            )
        rows, denominator = printed_rows(self.weights(), self.denominator, self.guarantee)
        return self if denominator == self.denominator else ChannelResponse(rows, self.epsilon)


def _unused(name: str, taken: list[str]) -> str:
    if name not in taken:
        return name
    return next(f"{name} ({n})" for n in range(2, len(taken) + 3) if f"{name} ({n})" not in taken)


def _label_text(label: Any) -> str:
    if label is None:
        return "blank"
    return str(label).lower() if isinstance(label, bool) else str(label)


class WrittenOut(FiniteMechanism):
    """A channel held as rows of integers with a common sum."""

    rows: Rows

    @property
    def shape(self) -> tuple[int, int]:
        """Number of truths and number of reports."""
        return len(self.rows), len(self.rows[0])

    @cached_property
    def denominator(self) -> int:
        """The sum of every row."""
        return sum(self.rows[0])

    def _rows(self) -> Rows:
        return self.rows

    @cached_property
    def _table(self) -> AliasTable:
        return AliasTable(self.rows, self.denominator)

    def _sample(self, codes: NDArray[Any], randomness: Randomness) -> NDArray[Any]:
        return self._table.draw(codes, randomness)
