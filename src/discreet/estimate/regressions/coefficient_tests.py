"""Tests of coefficients: Wald's, with F where the variance has few degrees of freedom, and likelihood ratios."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet import arguments
from discreet.arguments import Floats
from discreet.errors import EstimationError


@dataclass(frozen=True)
class Test:
    """A test of one or several coefficients.

    Attributes
    ----------
    method : {"wald", "likelihood-ratio"}
    names : tuple of str
        The coefficients under test.
    statistic, degrees_of_freedom, p_value : float, int, float
        The statistic is chi-square under the hypothesis, for large samples; nan where it cannot be computed.
    denominator : float
        With clusters or strata the p value is that of F with ``degrees_of_freedom`` and this many degrees of freedom,
        for the statistic times ``denominator/((denominator + q − 1) q)``, q = ``degrees_of_freedom`` (Korn and
        Graubard 1990).
    """

    __test__ = False  # not a test case

    method: str
    names: tuple[str, ...]
    statistic: float
    degrees_of_freedom: int
    p_value: float
    denominator: float = math.inf

    def summary(self) -> str:
        """One line to read."""
        if math.isnan(self.statistic) and self.method == "likelihood-ratio":
            return (
                f"{self.method} test of {', '.join(self.names)}: the likelihood is higher with these held fixed than "
                "at the fit, which is a local maximum; there is nothing to compare"
            )
        if self.denominator < 1:
            return (
                f"{self.method} test of {', '.join(self.names)}: there are too few clusters to test "
                f"{self.degrees_of_freedom} coefficients together"
            )
        if math.isinf(self.denominator):
            found = f"χ²({self.degrees_of_freedom}) = {self.statistic:.4f}"
        else:
            ratio = f_statistic(self.statistic, self.degrees_of_freedom, self.denominator)
            found = f"F({self.degrees_of_freedom}, {self.denominator:g}) = {ratio:.4f}"
        return f"{self.method} test of {', '.join(self.names)}: {found}, p = {self.p_value:.4g}"

    __str__ = summary

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "method": self.method,
            "names": list(self.names),
            "statistic": self.statistic,
            "degrees_of_freedom": self.degrees_of_freedom,
            "denominator": self.denominator if math.isfinite(self.denominator) else None,
            "p_value": self.p_value,
        }


def chi_square_tail(statistic: float, degrees_of_freedom: int) -> float:
    """``P(χ² > statistic)``."""
    from scipy.special import chdtrc

    if math.isnan(statistic):
        return math.nan
    return float(chdtrc(degrees_of_freedom, max(statistic, 0.0)))


def f_statistic(statistic: float, degrees_of_freedom: int, denominator: float) -> float:
    """A Wald statistic as an F statistic, adjusted for its rank (Korn and Graubard 1990)."""
    return statistic * denominator / ((denominator + degrees_of_freedom - 1) * degrees_of_freedom)


def f_tail(statistic: float, degrees_of_freedom: int, denominator: float) -> float:
    """The p value of a Wald statistic by F; nan where there are fewer clusters than the test needs."""
    from scipy.special import fdtrc

    if math.isnan(statistic) or denominator < 1:
        return math.nan
    ratio = f_statistic(max(statistic, 0.0), degrees_of_freedom, denominator)
    return float(fdtrc(degrees_of_freedom, denominator, ratio))


def wald_test(
    known: Sequence[str],
    coefficients: Floats,
    covariance: Floats,
    names: str | Sequence[str],
    value: float = 0.0,
    degrees_of_freedom: float = math.inf,
) -> Test:
    """Wald test of whether the named coefficients all have this value."""
    value = arguments.number(value, "value", EstimationError)
    chosen, which = named(known, names)
    statistic = wald_statistic(coefficients[which] - value, covariance[np.ix_(which, which)])
    count, denominator = len(which), math.inf
    if math.isinf(degrees_of_freedom):
        p_value = chi_square_tail(statistic, count)
    else:
        denominator = degrees_of_freedom - count + 1
        p_value = f_tail(statistic, count, denominator)
    return Test("wald", chosen, statistic, count, p_value, denominator)


def named(known: Sequence[str], names: str | Sequence[str]) -> tuple[tuple[str, ...], list[int]]:
    """The coefficients to test, and where they stand."""
    chosen = (names,) if isinstance(names, str) else tuple(arguments.listed(names, "names", EstimationError))
    chosen = tuple(arguments.text(name, "a name", EstimationError) for name in chosen)
    unknown = [name for name in chosen if name not in known]
    if unknown or not chosen:
        raise EstimationError(
            f"names to test must be among {', '.join(known)}" + (f", not {unknown[0]!r}" if unknown else "")
        )
    return chosen, sorted({list(known).index(name) for name in chosen})


def wald_statistic(difference: Floats, matrix: Floats) -> float:
    """``d' V⁻¹ d``; nan when V is not finite."""
    if not np.isfinite(matrix).all():
        return math.nan
    return float(difference @ np.linalg.solve(matrix, difference))


def likelihood_ratio_test(names: Sequence[str], height: float, restricted: float, count: int) -> Test:
    """Test by ``2 (l̂ − l̂₀)``; nan where the restricted maximum is the higher one, by more than rounding."""
    statistic = 2.0 * (height - restricted)
    if statistic < -1e-6 * (1 + 1e-6 * abs(height)):
        return Test("likelihood-ratio", tuple(names), math.nan, count, math.nan)
    return Test("likelihood-ratio", tuple(names), max(statistic, 0.0), count, chi_square_tail(statistic, count))
