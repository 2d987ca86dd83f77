"""A formula and the columns of a table become model matrices, batch by batch.

Expressions are evaluated here (:mod:`.evaluation`); formulaic is handed finished values, codes the categories and
multiplies interactions out. Levels of categories, and whatever else depends on all rows, are collected first, so that
every batch is coded alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet import arrow_functions as pc
from discreet import limits
from discreet.arguments import Floats
from discreet.domains.columns import as_arrow, is_number, is_text
from discreet.errors import EstimationError
from discreet.estimate.data.map_reduce import Source, summed
from discreet.estimate.formulas.column_values import (
    SOME,
    ColumnValues,
    CountedRows,
    DistributionOf,
    ValuesOf,
    frame_of,
)
from discreet.estimate.formulas.evaluation import evaluate
from discreet.estimate.formulas.expression import STATEFUL, Call, Column, calls_of, columns_of
from discreet.estimate.formulas.terms import Terms, read_terms
from discreet.estimate.formulas.transforms import Fixed, fixed

Batches = Callable[[], Iterable[pa.RecordBatch]]


class Matrices:
    """Model matrices of the right side of a formula, the same columns for every batch.

    Parameters
    ----------
    predictors : str
        The right side of a formula.
    variables : sequence of str
        The columns that it may use.
    rows : function, or Source of CountedRows
        Returns the rows in these columns afresh whenever it is called; or rows that may lie elsewhere, and be counted.
        What depends on all rows is worked out first: in one pass, and one more for every transform.
    declared : mapping of str to array, optional
        Columns whose values are known beforehand, in their declared order: the first is the reference of a category.
        The rows need not have them.
    """

    def __init__(
        self,
        predictors: str,
        variables: Sequence[str],
        rows: Batches | Source,
        declared: Mapping[str, pa.Array] | None = None,
    ) -> None:
        terms = read_terms(predictors)
        source = _Batches(rows) if callable(rows) else rows
        self.variables = tuple(variables)
        self._declared = dict(declared or {})
        for name in terms.columns:
            if name not in self.variables:
                raise EstimationError(f'the formula names "{name}", which is not one of the columns it may use')
        self._categories = {
            factor.argument.name
            for factor in terms.factors
            if isinstance(factor, Call) and factor.function == "C" and isinstance(factor.argument, Column)
        }
        self._terms = terms
        #: The values of every category.
        self._levels: dict[str, pa.Array] = {}
        read = [name for name in self.variables if name not in self._declared]
        frame = self._scaffold(summed(source, ValuesOf(read, frozenset(self._categories))))
        for factor in terms.factors:
            if isinstance(factor, Call) and factor.function == "C":
                _check_levels(factor, frame)
        self._transforms: dict[str, Fixed] = {}
        #: Number of columns of every transform that has several.
        self._widths: dict[str, int] = {}
        self._fix_transforms(source)
        self._check_width(frame)
        self._spec = self._made(_formula(terms), frame, self._placeholder).model_spec

    def _fix_transforms(self, source: Source) -> None:
        """Work out what depends on all rows, inner calls before the calls around them."""
        calls = chain.from_iterable(calls_of(factor) for factor in self._terms.factors)
        for call in dict.fromkeys(one for one in calls if one.function in STATEFUL):
            found = summed(source, DistributionOf(call.argument, dict(self._transforms))).checked(call.text)
            self._transforms[call.text] = made = fixed(call, found)
            if call.function in ("poly", "bs", "cs"):
                self._widths[call.text] = made(found.values[:1]).shape[1]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the model's columns."""
        return tuple(str(name) for name in self._spec.column_names)

    @cached_property
    def used(self) -> tuple[frozenset[str], ...]:
        """For every column of the model, the columns of the table that it depends on."""
        columns = {
            factor.name if isinstance(factor, Column) else factor.text: frozenset(columns_of(factor))
            for factor in self._terms.factors
        }
        used: list[frozenset[str]] = [frozenset()] * len(self.names)
        for term, places in self._spec.term_indices.items():
            for place in places:
                used[place] = frozenset().union(*(columns.get(factor.expr, frozenset()) for factor in term.factors))
        return tuple(used)

    @property
    def alternatives(self) -> tuple[tuple[int, ...], ...]:
        """For every column of the model those of the same category, of which a row has one at most; else itself."""
        found = [(place,) for place in range(len(self.names))]
        for term, places in self._spec.term_indices.items():
            category = len(term.factors) == 1 and self._is_category(str(next(iter(term.factors)).expr))
            for place in places if category else ():
                found[place] = tuple(places)
        return tuple(found)

    def _is_category(self, factor: str) -> bool:
        called = any(
            isinstance(one, Call) and one.function == "C" and one.text == factor for one in self._terms.factors
        )
        return called or factor in self._levels

    @property
    def shared(self) -> tuple[str, ...]:
        """Columns of the table that stand in several terms of the formula."""
        terms = [frozenset(name for factor in term for name in columns_of(factor)) for term in self._terms.terms]
        return tuple(name for name in self._terms.columns if sum(name in one for one in terms) > 1)

    def matrix(self, batch: pa.RecordBatch | pa.Table, columns: NDArray[np.intp] | None = None) -> Floats:
        """The model matrix of some rows; missing values become nan.

        With ``columns``, these columns of it only, and the batch needs only what they use.
        """
        spec, variables = self._spec, list(self.variables)
        if columns is not None:
            chosen = set(columns.tolist())
            terms = [term for term, places in spec.term_indices.items() if chosen & set(places)]
            spec = spec.subset(terms)
            used = {name for place in chosen for name in self.used[place]}
            variables = [name for name in variables if name in used]
        frame = frame_of(batch.select(variables)) if variables else _empty(batch.num_rows)
        self._order_categories(frame)
        made = np.asarray(self._made(spec, frame, self._values), dtype=float)
        if columns is None:
            return made
        order = [place for term in terms for place in self._spec.term_indices[term]]
        return made[:, [order.index(place) for place in columns.tolist()]]

    def refuse_unknown(self, batch: pa.RecordBatch | pa.Table) -> None:
        """Refuse rows with a category that the rows of the model did not have: it would pass for the reference."""
        for name in self.variables:
            if name not in self._levels and not is_number(batch.column(name).type):
                raise EstimationError(f'column "{name}" must hold numbers, as in the rows of the model')
        for name, known in self._levels.items():
            column = as_arrow(batch.column(name))
            try:
                found = pc.is_in(column, value_set=known.cast(column.type))
            except pa.ArrowException:
                raise EstimationError(f'column "{name}" is not of the type that the model was fitted with') from None
            if not pc.all(found).as_py():
                row = int(np.flatnonzero(~found.to_numpy(zero_copy_only=False))[0])
                raise EstimationError(
                    f'column "{name}", row {row} (counted from 0): the value is not one that the model knows'
                )

    def _made(self, spec: Any, frame: Any, values: Callable[[Call, Any], Any]) -> Any:
        present = set(frame.columns)
        calls = [f for f in self._terms.factors if isinstance(f, Call) and set(columns_of(f)) <= present]
        context = {
            call.text: self._category(call, frame) if call.function == "C" else values(call, frame) for call in calls
        }
        try:
            return spec.get_model_matrix(frame, context=context, na_action="ignore")
        except EstimationError:
            raise
        except Exception as error:
            raise EstimationError(f"the formula cannot be applied ({type(error).__name__})") from None

    def _category(self, call: Call, frame: Any) -> Any:
        """A category with its contrasts and its levels: those of the call, or as they were declared."""
        assert isinstance(call.argument, Column)
        known = self._declared.get(call.argument.name)
        return _category(call, frame, None if known is None else known.to_pylist())

    def _order_categories(self, frame: Any) -> None:
        """Give categories of text the order in which their values were declared."""
        import pandas as pd

        for name, values in self._declared.items():
            if name in frame and is_text(values.type):
                frame[name] = pd.Categorical(frame[name], categories=values.to_pylist())

    def _values(self, call: Call, frame: Any) -> Any:
        """The numbers of a call, finished; nan only where one of its columns is missing."""
        values = evaluate(call, frame, self._transforms)
        missing = np.any([frame[name].isna() for name in columns_of(call)], axis=0)
        odd = ~np.isfinite(values)
        if np.any(odd & ~(missing if values.ndim == 1 else missing[:, None])):
            raise EstimationError(f"{call.text} in the formula is infinite or not a number in some row")
        return _numerical(values, frame)

    def _placeholder(self, call: Call, frame: Any) -> Any:
        """As many columns as a call has; the rows of the scaffold are no rows of the table."""
        width = self._widths.get(call.text)
        return _numerical(np.zeros(len(frame) if width is None else (len(frame), width)), frame)

    def _check_width(self, frame: Any) -> None:
        """Refuse a model that is too wide before any of it is made."""
        width = 0
        for term in self._terms.terms:
            columns = 1
            for factor in term:
                name = factor.name if isinstance(factor, Column) else getattr(factor.argument, "name", "")
                if isinstance(factor, Column) or factor.function == "C":
                    number = isinstance(factor, Column) and frame[name].dtype.kind in "iufb"
                    columns *= 1 if number else max(1, frame[name].nunique())
                elif factor.function in ("poly", "bs", "cs"):
                    columns *= self._widths[factor.text]
            width += columns
        if width > limits.MODEL_COLUMNS:
            raise EstimationError(
                f"the formula makes more than {limits.MODEL_COLUMNS:,} columns; use fewer terms or fewer categories"
            )

    def _scaffold(self, seen: ColumnValues) -> Any:
        """A small frame with every level of every category, and some numbers of the other columns."""
        import pandas as pd

        if seen.rows == 0:
            raise EstimationError("there are no rows, and nothing to fit")
        for name, one in seen.mixed.items():
            one.refuse_numbers_with_text(name)
        levels: dict[str, Any] = dict.fromkeys(self.variables) | self._declared | dict(seen.levels)
        for name, values in levels.items():
            listed = values is not None and (is_text(values.type) or name in self._categories)
            if listed:
                self._levels[name] = values
            if listed and len(values) > limits.CATEGORY_LEVELS:
                raise EstimationError(
                    f'column "{name}" is a category of the formula with more than '
                    f"{limits.CATEGORY_LEVELS:,} values; merge some of them"
                )
        if not self.variables:
            return _empty(2)
        # Of numbers some are enough.
        levels = {
            name: values if values is None or is_text(values.type) or name in self._categories else values[:SOME]
            for name, values in levels.items()
        }
        size = max(2, *(0 if values is None else len(values) for values in levels.values()))
        frame = {}
        for name, values in levels.items():
            if values is None or not len(values):
                raise EstimationError(f'column "{name}" has no values')
            listed = values.to_pandas().sort_values(ignore_index=True)
            frame[name] = listed.take(np.arange(size) % len(listed)).reset_index(drop=True)
        made = pd.DataFrame(frame)
        self._order_categories(made)
        return made


@dataclass(frozen=True, eq=False)
class _Batches:
    """Rows that a function gives."""

    read: Batches

    def chunks(self) -> Iterator[CountedRows]:
        """All rows; a new pass each time."""
        return (CountedRows(batch) for batch in self.read())


def _formula(terms: Terms) -> Any:
    """The terms for formulaic, which looks every factor up and evaluates none."""
    from formulaic import Formula
    from formulaic.parser.types import Factor, Term

    one = Factor("1", eval_method="literal")

    def lookup(factor: Column | Call) -> Any:
        return Factor(factor.name if isinstance(factor, Column) else factor.text, eval_method="lookup")

    return Formula([Term([lookup(factor) for factor in term] or [one]) for term in terms.terms])


def _category(call: Call, frame: Any, known: list[Any] | None) -> Any:
    """A category with its contrasts and, where they are given or known, its levels."""
    from formulaic.transforms import C
    from formulaic.transforms import contrasts as kinds

    assert isinstance(call.argument, Column)
    name, base = call.option("contrasts") or ("Treatment", None)
    made = getattr(kinds, f"{name}Contrasts")
    chosen = made() if base is None else made(base=_level(base, frame[call.argument.name]))
    levels = call.option("levels")
    if levels is not None:
        levels = [_level(level, frame[call.argument.name]) for level in levels]
    return C(frame[call.argument.name], chosen, levels=known if levels is None else levels)


def _check_levels(call: Call, frame: Any) -> None:
    """Levels and a base that are named must be those of the column."""
    assert isinstance(call.argument, Column)
    series = frame[call.argument.name]
    present = set(series)
    base = (call.option("contrasts") or ("", None))[1]
    listed = call.option("levels")
    if base is not None and _level(base, series) not in present:
        raise EstimationError(f"{call.text}: the base is not a value of the column")
    if listed is not None and present != {_level(level, series) for level in listed}:
        raise EstimationError(f"{call.text}: levels must list every value of the column, and no other")


def _level(value: Any, series: Any) -> Any:
    """A level as the column holds it: formulas write whole numbers as numbers."""
    return int(value) if isinstance(value, float) and series.dtype.kind in "iu" and value == int(value) else value


def _numerical(values: Floats, frame: Any) -> Any:
    """Finished numbers as formulaic takes them: one column, or several that are numbered from 1."""
    import pandas as pd
    from formulaic.materializers.types import FactorValues

    if values.ndim == 1:
        return FactorValues(pd.Series(values, index=frame.index), kind="numerical")
    names = tuple(str(k) for k in range(1, values.shape[1] + 1))
    return FactorValues(values, kind="numerical", column_names=names)


def _empty(rows: int) -> Any:
    import pandas as pd

    return pd.DataFrame(index=range(rows))
