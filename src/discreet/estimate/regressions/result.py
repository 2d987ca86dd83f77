"""What a corrected loss returns: one result for every correction, with inference and post-estimation."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.data.checks import checked_matrix
from discreet.estimate.formulas import Matrices
from discreet.estimate.formulas.new_rows import is_table, new_rows
from discreet.estimate.intervals.levels import two_sided_quantile
from discreet.estimate.regressions.coefficients import Coefficients
from discreet.estimate.regressions.likelihood.effects import MarginalEffects
from discreet.estimate.regressions.likelihood.truth_given_report import Reporting, missing_reporting
from discreet.estimate.regressions.predicted_rows import PredictedMeans
from discreet.estimate.regressions.prediction import marginal_effects, predictions, truth_given_report
from discreet.estimate.regressions.sandwich import bread
from discreet.estimate.reporting import display
from discreet.estimate.sampling.linearization import Linearization

if TYPE_CHECKING:
    from discreet.estimate.regressions.families import Family
    from discreet.estimate.regressions.fit import Risk


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class MEstimate(Coefficients):
    """The minimum of a corrected loss: an estimate about the true records, from randomised ones.

    Attributes
    ----------
    coefficients, estimate : array
    covariance, std_error : array
        The sandwich ``V⁻¹ A V⁻¹/n``: V the second derivative of the corrected loss, A the second moment of its
        gradient, summed by cluster and stratum where there are any; the randomisation is in it.
    names : tuple of str
    n : int
        Rows.
    loss, method : str
    freedom, degrees_of_freedom : float or array, float
        Of Student's t: clusters minus strata, or fewer; infinite where rows are independent.
    converged : bool
        Whether this is a local minimum with a curvature that can be told from zero, and not one that a few reports far
        outside the box decide.
    status : str
        What happened, in words.
    notes : tuple of str
    formula, modelled : str or None
        For a fit by formula: as it was given, and the outcome that it models.
    """

    coefficients: Floats
    covariance: Floats
    names: tuple[str, ...]
    n: int
    loss: str
    method: str
    converged: bool
    status: str
    notes: tuple[str, ...]
    hessian: Floats
    scores: Floats
    sampling: Linearization | None = None
    formula: str | None = None
    modelled: str | None = None
    #: Score intervals at a quantile, where there are any; and whether they are the default.
    inverted: Callable[[float], Floats] | None = field(default=None, repr=False)
    prefers_score: bool = field(default=False, repr=False)

    def __post_init__(self) -> None:
        for array in (self.coefficients, self.covariance, self.hessian, self.scores):
            array.flags.writeable = False

    @cached_property
    def freedom(self) -> float | Floats:
        """Degrees of freedom of each coefficient; infinite where rows are independent."""
        return math.inf if self.sampling is None else self.sampling.degrees_of(bread(self.hessian))

    @property
    def interval_methods(self) -> tuple[str, ...]:
        """Wald's interval, and the score test's; of a loss with a kink by scores whose kink is averaged.

        "score": all values that a test by the scores does not reject, infinite where no value is; the default for
        numbers with noise. It holds where the curvature is hardly known, or the estimate far from normal.
        """
        return ("wald",) if self.inverted is None else ("score", "wald")

    @property
    def default_interval(self) -> str:
        """The interval method that is used unless another is named."""
        return "score" if self.inverted is not None and self.prefers_score else "wald"

    def _by_test(self, level: float, method: str) -> Floats:
        del method  # there is one
        assert self.inverted is not None
        return self.inverted(two_sided_quantile(level, self.degrees_of_freedom))

    @property
    def title(self) -> str:
        """How a summary calls the model."""
        return "M-estimate from privatised records"

    def header(self) -> list[tuple[str, str]]:
        """What a summary says about the model, as pairs of name and text."""
        named = [("Formula", self.formula), ("Modelled", self.modelled)]
        return [
            *((name, text) for name, text in named if text is not None),
            ("Loss", self.loss),
            ("Correction", self.method),
            ("No. observations", f"{self.n:,}"),
            ("Covariance", self._covariance_text),
            ("Converged", "yes" if self.converged else "no"),
        ]

    @property
    def _covariance_text(self) -> str:
        if self.sampling is None:
            return "sandwich"
        if not self.sampling.has_strata:
            return f"sandwich ({self.sampling.clusters:,} clusters)"
        return f"sandwich ({self.sampling.clusters:,} units in {self.sampling.strata:,} strata)"

    def _said(self, bounds: Floats, method: str | None) -> tuple[str, ...]:
        del bounds, method  # the notes say which there are
        return ((self.status,) if self.status != "converged" else ()) + self.notes

    @property
    def exponentiated(self) -> str | None:
        """What the exponentials of the coefficients are."""
        return {"logistic": "odds ratios", "poisson": "rate ratios"}.get(self.loss)

    def to_dict(self, level: float = 0.95, method: str | None = None) -> dict[str, Any]:
        """Plain data for JSON."""
        return self._fit_data(level, method) | {
            "loss": self.loss,
            "method": self.method,
            "interval_method": self.default_interval if method is None else method,
            "degrees_of_freedom": display.plain(self.degrees_of_freedom),
        }


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class CorrectedRegression(MEstimate):
    """A regression on any number of randomised columns, by a loss that is corrected for the randomisation.

    Attributes
    ----------
    randomised : tuple of str
        The randomised columns.
    cells : int
        Combinations of their true values that were weighed; 0 where none are needed.
    """

    family: Family
    randomised: tuple[str, ...]
    cells: int
    weighted: bool = False
    risk: Risk = field(repr=False)
    matrices: Matrices | None = field(default=None, repr=False)
    reporting: Reporting | None = field(default=None, repr=False)
    #: Of every row, the score of the coefficients, where they are not those of the risk: those of a likelihood.
    row_scores: Floats | None = field(default=None, repr=False)

    def _design(self, rows: Any) -> Floats:
        """The model matrix of a table with the columns of the formula; of an array, the array."""
        if self.matrices is not None and not isinstance(rows, np.ndarray):
            return self.matrices.matrix(new_rows(self.matrices, rows))
        if is_table(rows):
            raise EstimationError("a table to predict for needs a fit by formula; give the model matrix")
        design = checked_matrix(rows, "rows")
        columns = self.risk.coefficients(self.coefficients).shape[1]
        if design.shape[1] != columns:
            raise EstimationError(f"rows must have {columns} columns, not {design.shape[1]}")
        return design

    def predict(self, rows: Any) -> PredictedMeans:
        """What the model predicts for people with these *true* values.

        Parameters
        ----------
        rows : table, or array (rows, columns)
            Every column of the right side of the formula, randomised ones with true values: a mapping of lists, an
            Arrow table or any data frame. Of a fit to arrays: private columns, then public ones.

        Returns
        -------
        PredictedMeans
            With ``.estimate``, ``.std_error`` and ``.interval(level)``; of classes one column each.
        """
        return predictions(self, self._design(rows))

    def truth_given_report(self, rows: Any) -> PredictedMeans:
        """Probabilities of the true outcome of people with these *true* predictors who made these reports of it.

        ``ω_j = π_j Q[j, r]/Σ_k π_k Q[k, r]``, with delta-method errors; of a yes/no outcome the probability of "yes".

        Parameters
        ----------
        rows : table
            Every column of the formula, randomised predictors with true values, the outcome with *reports*.
        """
        if self.matrices is None or self.reporting is None:
            raise missing_reporting()
        return truth_given_report(self, self._design(rows), self.reporting.given(rows))

    def marginal_effects(self) -> MarginalEffects:
        """Average marginal effects of every column of the model but constants, over the true values of the sample.

        Means of ``∂E(y)/∂x_j``, or of the difference between 1 and 0 for columns that are one or the other; the average
        over unknown truths is corrected like everything else, and its own uncertainty is in the standard errors.
        """
        return marginal_effects(self).of(self)

    @property
    def title(self) -> str:
        """How a summary calls the model."""
        return super().title if self.formula is None else "Regression on randomised columns"

    def header(self) -> list[tuple[str, str]]:
        """What a summary says about the model, as pairs of name and text."""
        if self.formula is None:
            return super().header()
        return [
            ("Formula", self.formula),
            *([("Modelled", self.modelled)] if self.modelled is not None else []),
            ("Randomised", ", ".join(self.randomised)),
            ("Family", self.family.described()),
            ("Method", self._method_text),
            ("No. observations", f"{self.n:,}"),
            ("Covariance", self._covariance_text),
            *([("Weights", "those of the survey")] if self.weighted else []),
            ("Converged", "yes" if self.converged else "no"),
        ]

    @property
    def _method_text(self) -> str:
        if self.method == "likelihood":
            return "maximum likelihood"
        if self.method != "corrected":
            return f"corrected loss, {self.method}"
        return "corrected loss, by moments" if self.cells == 0 else f"corrected loss, {self.cells:,} cells"

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
            "weighted": self.weighted,
        }
