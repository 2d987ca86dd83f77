"""One regression for any number of randomised columns: the loss of the truths, estimated without bias.

A report says nothing certain about its truth, but ``Σ_t A[r, t] f(t)`` with a right inverse A of the channel has the
right expectation for every function f of the truth. Applied to the loss of a regression, column by column, this gives a
loss of the reports whose expectation is the loss of the truths: its minimum is consistent, whatever the law of the
predictors.

Reading order: ``right_inverse`` (A), ``randomised`` and ``cells`` (the weights of rows), ``model_matrix`` and
``evaluation`` (the formula at every truth), ``families``, ``classes`` and ``robust`` (losses), ``objective`` (the
corrected loss), ``linear_moments`` (the squared loss without cells), ``fit``, ``result`` and ``prediction``;
``reading``, ``outcome`` and ``formula`` bring a release in. The formulas are in
``docs/mathematics/several_columns.md``.
"""

from __future__ import annotations

from discreet.estimate.corrected_loss.fit import fit_corrected
from discreet.estimate.corrected_loss.formula import corrected_regression
from discreet.estimate.corrected_loss.result import CorrectedRegression
from discreet.estimate.predicted_rows import PredictedMeans

__all__ = ["CorrectedRegression", "PredictedMeans", "corrected_regression", "fit_corrected"]
