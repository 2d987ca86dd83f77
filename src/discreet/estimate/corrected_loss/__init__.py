"""One regression for any number of randomised columns: the loss of the truths, estimated without bias."""

from __future__ import annotations

from discreet.estimate.corrected_loss.formula import corrected_regression
from discreet.estimate.corrected_loss.result import CorrectedRegression

__all__ = ["CorrectedRegression", "corrected_regression"]
