"""The outcome of a model: public or randomised, and the family that suits it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from discreet import arguments, limits
from discreet import arrow_functions as pc
from discreet.arguments import Floats
from discreet.domains.columns import is_number, is_text
from discreet.errors import Argument, EstimationError
from discreet.estimate.regressions.classes import Multinomial, Ordinal
from discreet.estimate.regressions.families import Family, Linear, Poisson, binary_family
from discreet.estimate.regressions.losses import Check, Hinge, Huber
from discreet.estimate.regressions.robust import IndexFamily

FAMILIES = ("auto", "linear", "binary", "multinomial", "ordinal", "poisson", "quantile", "huber", "hinge")
#: Families of an outcome of numbers.
_NUMBERS = ("linear", "poisson", "quantile", "huber")


@dataclass(frozen=True, eq=False)
class Outcome:
    """What the loss is told about the outcome.

    Attributes
    ----------
    name : str
    family : Family
    modelled : str
        What is modelled, for the summary.
    possible : array (1, values) or None
        All values that a randomised outcome can have.
    levels : list or None
        The values of a public outcome that are counted from 0; None where numbers are taken as they are.
    """

    name: str
    family: Family
    modelled: str
    possible: Floats | None = None
    levels: list[Any] | None = None

    def values(self, column: pa.Array | None) -> Floats:
        """The outcome of rows (rows, 1), or all values (1, values) of a randomised one."""
        if self.possible is not None:
            return self.possible
        assert column is not None
        if self.levels is None:
            return _numbers(self.name, column, self.family)[:, None]
        return np.asarray(pc.index_in(column, value_set=pa.array(self.levels, column.type)).to_numpy(), float)[:, None]


def outcome_of(
    name: str,
    column: pa.Array,
    *,
    randomised: bool,
    family: str,
    link: str,
    tau: float | None = None,
    threshold: float | None = None,
) -> Outcome:
    """The outcome with its family.

    Parameters
    ----------
    name : str
    column : array
        The different values of a public outcome, up to one more than a category may have; those of a randomised one as
        they were declared.
    randomised : bool
    family : str
        One of ``FAMILIES``; "auto" takes two values for yes and no, numbers for numbers, and other values for classes.
    link : str
        Of a binary family.
    tau, threshold : float, optional
        Of the quantile and the huber family.
    """
    family = arguments.choice(family, "family", FAMILIES, EstimationError)
    number = not is_text(column.type)
    if number and not is_number(column.type):
        raise EstimationError(f'the outcome "{name}" holds {column.type}; it must hold numbers, text or truth values')
    if len(column) < 2 and not randomised:
        raise EstimationError(f'the outcome "{name}" has one value only, and there is nothing to model')
    if family == "auto":
        family = "binary" if len(column) == 2 else "linear" if number else "multinomial"
    if link != "logit" and family != "binary":
        raise EstimationError(f'link "{link}" is for a yes/no outcome; family "{family}" has its own')
    if tau is not None and family != "quantile":
        raise EstimationError(Argument("tau"), " belongs to the quantile family")
    if threshold is not None and family != "huber":
        raise EstimationError(Argument("threshold"), " belongs to the huber family")
    if family in _NUMBERS:
        return _of_numbers(name, column, family, tau, threshold, randomised=randomised)
    many = not randomised and len(column) > limits.CATEGORY_LEVELS
    shown = f"more than {limits.CATEGORY_LEVELS:,}" if many else f"{len(column):,}"
    if family in ("binary", "hinge") and len(column) != 2:
        raise EstimationError(f'a {family} family needs an outcome with two values; "{name}" has {shown}')
    if family == "ordinal" and not (number or randomised):
        raise EstimationError(
            f'an ordinal family needs classes in order; the public column "{name}" holds text, whose order is not known'
        )
    if many:
        raise EstimationError(f'the outcome "{name}" has {shown} values, too many for the classes of a {family} family')
    listed = column.to_pylist() if randomised else sorted(column.to_pylist())
    chosen, modelled = _of_classes(name, listed, family, link)
    codes = np.arange(len(listed), dtype=float)[None, :] if randomised else None
    return Outcome(name, chosen, modelled, codes, None if randomised else listed)


def _of_classes(name: str, levels: list[Any], family: str, link: str) -> tuple[Family, str]:
    """The family of an outcome with these values, and what it models."""
    if family == "hinge":
        return IndexFamily(Hinge(), family), f"{name} = {_quoted(levels[1])}"
    if family == "binary":
        return binary_family(link), f"P({name} = {_quoted(levels[1])})"
    labels = [str(level) for level in levels]
    if family == "ordinal":
        return Ordinal(labels), f"P({name} ≤ each value)"
    return Multinomial(labels), f"P({name} = each value), reference {_quoted(levels[0])}"


def _of_numbers(
    name: str, column: pa.Array, family: str, tau: float | None, threshold: float | None, *, randomised: bool
) -> Outcome:
    if family == "quantile" and randomised:
        raise EstimationError(
            f'the randomised outcome "{name}" has {len(column):,} values, and a quantile jumps between them; fit its '
            "mean (",
            Argument('family="linear"'),
            ") or its classes (",
            Argument('family="ordinal"'),
            ")",
        )
    chosen: Family = Poisson() if family == "poisson" else Linear()
    modelled, levels = f"E({name})", None
    if is_text(column.type):
        if len(column) != 2 or family == "poisson":
            raise EstimationError(f'a {family} family needs an outcome of numbers; "{name}" holds text')
        levels = column.to_pylist() if randomised else sorted(column.to_pylist())
        modelled = f"P({name} = {_quoted(levels[1])})"
    possible = None
    if randomised:
        possible = np.array([[0.0, 1.0]]) if levels is not None else _numbers(name, column, chosen)[None, :]
        levels = None
    if family == "quantile":
        chosen, modelled = IndexFamily(Check(0.5 if tau is None else tau), family), f"quantile of {name}"
    elif family == "huber":
        chosen = IndexFamily(Huber(threshold), family)
    return Outcome(name, chosen, modelled, possible, levels)


def _numbers(name: str, column: pa.Array, family: Family) -> Floats:
    """The numbers of an outcome, checked."""
    whole = column.cast(pa.int8()) if pa.types.is_boolean(column.type) else column
    values = np.asarray(whole.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False))
    if not np.isfinite(values).all():
        raise EstimationError(f'the outcome "{name}" is infinite in some row')
    if isinstance(family, Poisson) and ((values < 0) | (values != np.floor(values))).any():
        raise EstimationError(f'a poisson family needs counts, whole numbers from 0; "{name}" holds others')
    return values


def _quoted(level: Any) -> str:
    return f'"{level}"' if isinstance(level, str) else str(level)
