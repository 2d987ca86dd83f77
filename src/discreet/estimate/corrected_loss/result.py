"""What a regression on several randomised columns returns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet import arguments
from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate import display
from discreet.estimate.corrected_loss.prediction import PredictedMeans, marginal_effects, predictions
from discreet.estimate.corrected_loss.reading import plain
from discreet.estimate.formulas import Matrices
from discreet.estimate.intervals import checked_level, two_sided_quantile, wald
from discreet.estimate.likelihood import inference
from discreet.estimate.likelihood.effects import MarginalEffects
from discreet.estimate.likelihood.inference import Test
from discreet.estimate.likelihood.sampling import Sampling
from discreet.estimate.m_estimation.result import MEstimate

if TYPE_CHECKING:
    from discreet.estimate.corrected_loss.families import Family
    from discreet.estimate.corrected_loss.fit import Risk


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class CorrectedRegression(MEstimate):
    """A regression on any number of randomised columns, by a loss that is corrected for the randomisation.

    Attributes
    ----------
    coefficients, estimate : array
    covariance, std_error : array
        The sandwich ``V⁻¹ A V⁻¹/n``, with A summed by cluster and stratum where there are any; the randomisation is in
        it.
    randomised : tuple of str
        The randomised columns of the formula.
    cells : int
        Combinations of their true values that were weighed; 0 for a linear model fitted by its moments.
    degrees_of_freedom : float
        Clusters minus strata, of Student's t; infinite where rows are independent.
    converged : bool
        Whether this is a local minimum with a positive definite second derivative.
    status : str
        What happened, in words.
    """

    family: Family
    randomised: tuple[str, ...]
    cells: int
    weighted: bool = False
    sampling: Sampling | None = None
    risk: Risk = field(repr=False)
    matrices: Matrices | None = field(default=None, repr=False)

    @property
    def degrees_of_freedom(self) -> float:
        """Of Student's t: clusters minus strata, infinite where rows are independent."""
        return math.inf if self.sampling is None else self.sampling.degrees_of_freedom

    def interval(self, level: float = 0.95, method: str | None = None) -> Floats:
        """Confidence intervals: estimate ± z × standard error; with clusters or strata Student's t in place of z."""
        level = checked_level(level)
        if method is not None:
            arguments.choice(method, "the interval method", ("wald",), EstimationError)
        with np.errstate(invalid="ignore"):
            return wald(self.coefficients, self.std_error, two_sided_quantile(level, self.degrees_of_freedom))

    def test(self, names: str | Sequence[str], value: float = 0.0) -> Test:
        """Wald test of whether the named coefficients all have this value.

        Parameters
        ----------
        names : str or sequence of str
        value : float
            The value under the hypothesis.
        """
        value = arguments.number(value, "value", EstimationError)
        chosen = (names,) if isinstance(names, str) else tuple(arguments.listed(names, "names", EstimationError))
        unknown = [name for name in chosen if name not in self.names]
        if unknown or not chosen:
            raise EstimationError(
                f"names to test must be among {', '.join(self.names)}" + (f", not {unknown[0]!r}" if unknown else "")
            )
        which = sorted({self.names.index(name) for name in chosen})
        statistic = inference.wald_statistic(self.coefficients[which] - value, self.covariance[np.ix_(which, which)])
        count, denominator = len(which), math.inf
        if math.isinf(self.degrees_of_freedom):
            p_value = inference.chi_square_tail(statistic, count)
        else:
            denominator = self.degrees_of_freedom - count + 1
            p_value = inference.f_tail(statistic, count, denominator)
        return Test(
            method="wald",
            names=chosen,
            statistic=statistic,
            degrees_of_freedom=count,
            p_value=p_value,
            denominator=denominator,
        )

    def predict(self, rows: Any) -> PredictedMeans:
        """What the model predicts for people with these *true* values.

        Parameters
        ----------
        rows : table
            Every column of the right side of the formula, randomised ones with true values: a mapping of lists, an
            Arrow table or any data frame.

        Returns
        -------
        PredictedMeans
            With ``.estimate``, ``.std_error`` and ``.interval(level)``; of classes one column each.
        """
        if self.matrices is None:
            raise EstimationError("predictions need a fit by formula")
        return predictions(self, self.matrices.matrix(self._columns(rows)))

    def _columns(self, rows: Any) -> pa.Table:
        assert self.matrices is not None
        try:
            given = rows if isinstance(rows, pa.Table) else pa.table(rows)
        except (TypeError, ValueError, pa.ArrowException):
            raise EstimationError("rows must be a table: a mapping of lists, an Arrow table or a data frame") from None
        lacking = [name for name in self.matrices.variables if name not in given.column_names]
        if lacking:
            raise EstimationError(f'the rows have no column "{lacking[0]}", which the formula uses')
        if not self.matrices.variables:
            return given
        chosen = pa.table({name: plain(given[name]) for name in self.matrices.variables})
        for name in chosen.column_names:
            lacking = pc.is_null(chosen[name], nan_is_null=True).to_numpy()
            if lacking.any():
                row = int(np.flatnonzero(lacking)[0])
                raise EstimationError(f'column "{name}", row {row} (counted from 0): the value is missing')
        self.matrices.refuse_unknown(chosen)
        return chosen

    def marginal_effects(self) -> MarginalEffects:
        """Average marginal effects of every column of the model but constants, over the true values of the sample.

        Means of ``∂E(y)/∂x_j``, or of the difference between 1 and 0 for columns that are one or the other; the average
        over unknown truths is corrected like everything else, and its own uncertainty is in the standard errors.
        """
        return marginal_effects(self)

    @property
    def _covariance_text(self) -> str:
        if self.sampling is None:
            return "sandwich"
        if not self.sampling.has_strata:
            return f"sandwich ({self.sampling.clusters:,} clusters)"
        return f"sandwich ({self.sampling.clusters:,} units in {self.sampling.strata:,} strata)"

    @property
    def title(self) -> str:
        """How a summary calls the model."""
        return "Regression on randomised columns"

    def header(self) -> list[tuple[str, str]]:
        """What a summary says about the model, as pairs of name and text."""
        named = [("Formula", self.formula), ("Modelled", self.modelled)]
        return [
            *((name, text) for name, text in named if text is not None),
            ("Randomised", ", ".join(self.randomised)),
            ("Family", self.family.described()),
            ("Method", "corrected loss, by moments" if self.cells == 0 else f"corrected loss, {self.cells:,} cells"),
            ("No. observations", f"{self.n:,}"),
            ("Covariance", self._covariance_text),
            ("Converged", "yes" if self.converged else "no"),
        ]

    @property
    def exponentiated(self) -> str | None:
        """What the exponentials of the coefficients are."""
        return self.family.exponentiated

    def to_dict(self, level: float = 0.95, method: str | None = None) -> dict[str, Any]:
        """Plain data for JSON."""
        return super().to_dict(level, method) | {
            "family": self.family.name,
            "randomised": list(self.randomised),
            "cells": self.cells,
            "degrees_of_freedom": display.plain(self.degrees_of_freedom),
        }
