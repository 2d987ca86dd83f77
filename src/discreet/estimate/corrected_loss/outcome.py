"""The outcome of a model: public or randomised, and the family that suits it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from discreet import arguments
from discreet import arrow_functions as pc
from discreet.arguments import Floats
from discreet.domains.columns import is_text
from discreet.errors import EstimationError
from discreet.estimate.corrected_loss.classes import Multinomial, Ordinal
from discreet.estimate.corrected_loss.families import Family, Linear, Poisson, binary_family
from discreet.estimate.corrected_loss.robust import IndexFamily
from discreet.estimate.m_estimation.losses import Check, Hinge, Huber

FAMILIES = ("auto", "linear", "binary", "multinomial", "ordinal", "poisson", "quantile", "huber", "hinge")
#: Families of an outcome of numbers.
_NUMBERS = ("linear", "poisson", "quantile", "huber")


@dataclass(frozen=True, eq=False)
class Outcome:
    """What the loss is told about the outcome.

    Attributes
    ----------
    family : Family
    values : array (rows or 1, values)
        The outcome of every row, or all values that a randomised one can have.
    modelled : str
        What is modelled, for the summary.
    """

    family: Family
    values: Floats
    modelled: str


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
        The value of every row of a public outcome; the possible values of a randomised one, as they were declared.
    randomised : bool
    family : str
        One of ``FAMILIES``; "auto" takes two values for yes and no, numbers for numbers, and other values for classes.
    link : str
        Of a binary family.
    tau, threshold : float, optional
        Of the quantile and the huber family.
    """
    family = arguments.choice(family, "family", FAMILIES, EstimationError)
    number, found = not is_text(column.type), column if randomised else pc.unique(column)
    if number and not _is_number(column.type):
        raise EstimationError(f'the outcome "{name}" holds {column.type}; it must hold numbers, text or truth values')
    if len(found) < 2 and not randomised:
        raise EstimationError(f'the outcome "{name}" has one value only, and there is nothing to model')
    if family == "auto":
        family = "binary" if len(found) == 2 else "linear" if number else "multinomial"
    # Numbers are not listed: there may be one per row.
    levels = [] if number and family in _NUMBERS else found.to_pylist()
    levels = levels if randomised else sorted(levels)
    if link != "logit" and family != "binary":
        raise EstimationError(f'link "{link}" is for a yes/no outcome; family "{family}" has its own')
    if tau is not None and family != "quantile":
        raise EstimationError("tau belongs to the quantile family")
    if threshold is not None and family != "huber":
        raise EstimationError("threshold belongs to the huber family")
    if family in _NUMBERS:
        if family == "quantile" and randomised:
            raise EstimationError(
                f'the randomised outcome "{name}" has {len(column):,} values, and a quantile jumps between them; fit '
                'its mean (family="linear") or its classes (family="ordinal")'
            )
        found = _numbers(name, column, levels, family, randomised=randomised)
        if family == "quantile":
            return replace(
                found, family=IndexFamily(Check(0.5 if tau is None else tau), family), modelled=f"quantile of {name}"
            )
        return replace(found, family=IndexFamily(Huber(threshold), family)) if family == "huber" else found
    if family in ("binary", "hinge") and len(levels) != 2:
        raise EstimationError(f'a {family} family needs an outcome with two values; "{name}" has {len(levels):,}')
    if family == "ordinal" and not (number or randomised):
        raise EstimationError(
            f'an ordinal family needs classes in order; the public column "{name}" holds text, whose order is not known'
        )
    codes = np.arange(len(levels), dtype=float)[None, :]
    if not randomised:
        codes = pc.index_in(column, value_set=pa.array(levels, column.type)).to_numpy()[:, None].astype(float)
    if family == "hinge":
        return Outcome(IndexFamily(Hinge(), family), codes, f"{name} = {_quoted(levels[1])}")
    if family == "binary":
        return Outcome(binary_family(link), codes, f"P({name} = {_quoted(levels[1])})")
    labels = [str(level) for level in levels]
    if family == "ordinal":
        return Outcome(Ordinal(labels), codes, f"P({name} ≤ each value)")
    return Outcome(Multinomial(labels), codes, f"P({name} = each value), reference {_quoted(levels[0])}")


def _is_number(kind: pa.DataType) -> bool:
    """Whether a type holds numbers or truth values."""
    types = pa.types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind) or types.is_boolean(kind))


def _numbers(name: str, column: pa.Array, levels: list[Any], family: str, *, randomised: bool) -> Outcome:
    if is_text(column.type):
        if len(levels) != 2 or family == "poisson":
            raise EstimationError(f'a {family} family needs an outcome of numbers; "{name}" holds text')
        values = pc.equal(column, pa.scalar(levels[1], column.type)).cast(pa.int8()).to_numpy().astype(float)
        modelled = f"P({name} = {_quoted(levels[1])})"
    else:
        whole = column.cast(pa.int8()) if pa.types.is_boolean(column.type) else column
        values = whole.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        modelled = f"E({name})"
    if not np.isfinite(values).all():
        raise EstimationError(f'the outcome "{name}" is infinite in some row')
    if family == "poisson" and ((values < 0) | (values != np.floor(values))).any():
        raise EstimationError(f'a poisson family needs counts, whole numbers from 0; "{name}" holds others')
    shaped = values[None, :] if randomised else values[:, None]
    return Outcome(Poisson() if family == "poisson" else Linear(), np.array(shaped), modelled)


def _quoted(level: Any) -> str:
    return f'"{level}"' if isinstance(level, str) else str(level)
