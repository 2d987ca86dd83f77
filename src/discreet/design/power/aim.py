"""What somebody wants to find, and the people whose answers count."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from discreet import arguments
from discreet.arguments import Floats
from discreet.design.result import Design
from discreet.errors import Argument, DesignError
from discreet.mechanisms import FiniteMechanism
from discreet.mechanisms.finite import MAX_MATRIX


@dataclass(frozen=True)
class Conduct:
    """How a survey goes: who answers, who follows the instructions, and what clustering and weights cost.

    Attributes
    ----------
    design_effect : float
        The variance over that of a simple random sample of as many people (Kish 1965).
    response_rate : float
        Share of the people asked who answer, whatever their truth.
    noncompliance : float
        Share of those who answer who give the first report whatever their truth and the instructions say: the
        self-protective "no". The analysis does not know it.
    """

    design_effect: float = 1.0
    response_rate: float = 1.0
    noncompliance: float = 0.0

    @classmethod
    def checked(cls, design_effect: Any, response_rate: Any, noncompliance: Any) -> Conduct:
        """From what a user gives."""
        return cls(
            arguments.number(design_effect, "design_effect", DesignError, least=1e-3, most=1e6),
            arguments.number(response_rate, "response_rate", DesignError, least=1e-6, most=1),
            arguments.number(noncompliance, "noncompliance", DesignError, least=0, below=1),
        )

    def effective(self, n: float) -> int:
        """The simple random sample of answers that tells as much as n people who are asked."""
        return math.floor(n * self.response_rate / self.design_effect + 1e-9)

    def asked(self, effective: float) -> int:
        """How many people to ask for that."""
        return math.ceil(effective * self.design_effect / self.response_rate - 1e-9)

    def reports(self, shares: Floats) -> Floats:
        """Report shares when some give the first report whatever their truth."""
        mixed = (1 - self.noncompliance) * shares
        mixed[..., 0] += self.noncompliance
        return mixed

    def to_dict(self) -> dict[str, float]:
        """Plain data."""
        return {
            "design_effect": self.design_effect,
            "response_rate": self.response_rate,
            "noncompliance": self.noncompliance,
        }

    def words(self) -> str:
        """What is assumed, for people; empty when everything goes well."""
        parts = []
        if self.response_rate < 1:
            parts.append(f"{self.response_rate:.0%} of those asked answer")
        if self.design_effect != 1:
            parts.append(f"a design effect of {self.design_effect:g}")
        if self.noncompliance > 0:
            parts.append(f"{self.noncompliance:.1%} give the first report whatever is asked")
        return ", ".join(parts)


class Aim(ABC):
    """What is to be found by a test at a level; each kind is one subclass."""

    #: The least number of answers at which the test can be made at all.
    LEAST: int = 4

    @abstractmethod
    def chance(self, mechanism: FiniteMechanism, effective: int, level: float, conduct: Conduct) -> float:
        """The probability that the test of ``estimate`` finds it, in the direction in which it is."""

    @abstractmethod
    def words(self) -> str:
        """What is to be found, in a few words."""

    @abstractmethod
    def to_dict(self) -> Mapping[str, Any]:
        """Plain data."""


def finite(given: Any) -> FiniteMechanism:
    """A mechanism whose channel can be written out; a design stands for its mechanism."""
    mechanism = given.mechanism if isinstance(given, Design) else given
    if not isinstance(mechanism, FiniteMechanism):
        raise DesignError(f"power needs a mechanism with finitely many reports, not {type(mechanism).__name__}")
    if max(mechanism.shape) > MAX_MATRIX:
        raise DesignError(f"power is limited to {MAX_MATRIX:,} values and reports")
    return mechanism


def quantile(level: float) -> float:
    """Z of a two-sided test."""
    return NormalDist().inv_cdf((1 + level) / 2)


def checked_shares(given: ArrayLike, name: str) -> Any:
    """A frequency, or a list of them."""
    values = arguments.floats(given, name, DesignError)
    if values.ndim > 1 or values.size == 0 or np.any(~((values >= 0) & (values <= 1))):
        raise DesignError(Argument(name), " must be a number between 0 and 1, or one frequency per value")
    return float(values) if values.ndim == 0 else tuple(values.tolist())


def distribution(given: ArrayLike, name: str, truths: int) -> Floats:
    """Frequencies of all values: one number for two values, else all of them."""
    values = arguments.floats(given, name, DesignError)
    if values.ndim == 0 and truths == 2:
        values = np.array([1 - float(values), float(values)])
    if values.shape != (truths,) or np.any(~(values >= 0)) or abs(values.sum() - 1) > 1e-9:
        raise DesignError(
            Argument(name), f" must be a number between 0 and 1 for two values, or {truths} frequencies that sum to 1"
        )
    return values
