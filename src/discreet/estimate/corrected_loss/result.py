"""What a regression on several randomised columns returns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet import arguments
from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.corrected_loss.prediction import marginal_effects, predictions, truth_given_report
from discreet.estimate.formulas import Matrices
from discreet.estimate.formulas.new_rows import new_rows
from discreet.estimate.intervals.levels import checked_level, two_sided_quantile, wald
from discreet.estimate.likelihood import inference
from discreet.estimate.likelihood.effects import MarginalEffects
from discreet.estimate.likelihood.inference import Test
from discreet.estimate.likelihood.sampling import Sampling
from discreet.estimate.likelihood.truth_given_report import Reporting, missing_reporting
from discreet.estimate.m_estimation.result import MEstimate
from discreet.estimate.predicted_rows import PredictedMeans
from discreet.estimate.reporting import display

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
    reporting: Reporting | None = field(default=None, repr=False)

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

    def test(self, names: str | Sequence[str], method: str = "wald", value: float = 0.0) -> Test:
        """Test whether the named coefficients all have this value.

        Parameters
        ----------
        names : str or sequence of str
        method : {"wald"}
            There is no likelihood to compare.
        value : float
            The value under the hypothesis.
        """
        arguments.choice(method, "method", ("wald",), EstimationError)
        known = (self.names, self.coefficients, self.covariance)
        return inference.wald_test(*known, names, value, self.degrees_of_freedom)

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
        return predictions(self, self.matrices.matrix(new_rows(self.matrices, rows)))

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
        X = self.matrices.matrix(new_rows(self.matrices, rows))
        return truth_given_report(self, X, self.reporting.given(rows))

    def marginal_effects(self) -> MarginalEffects:
        """Average marginal effects of every column of the model but constants, over the true values of the sample.

        Means of ``∂E(y)/∂x_j``, or of the difference between 1 and 0 for columns that are one or the other; the average
        over unknown truths is corrected like everything else, and its own uncertainty is in the standard errors.
        """
        return marginal_effects(self).of(self)

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
            *([("Weights", "those of the survey")] if self.weighted else []),
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
            "weighted": self.weighted,
            "degrees_of_freedom": display.plain(self.degrees_of_freedom),
        }
