"""Regressions on randomised answers, with the inference that goes with them."""

from discreet.estimate.regressions.likelihood.binary import BinaryRegression
from discreet.estimate.regressions.likelihood.fit import binary_regression
from discreet.estimate.regressions.likelihood.multinomial import MultinomialRegression
from discreet.estimate.regressions.likelihood.predictor import PredictorRegression
from discreet.estimate.regressions.likelihood.random_intercept_result import RandomInterceptRegression
from discreet.estimate.regressions.likelihood.result import LikelihoodFit
from discreet.estimate.regressions.likelihood.streaming import Batch, binary_regression_batches

__all__ = [
    "Batch",
    "BinaryRegression",
    "LikelihoodFit",
    "MultinomialRegression",
    "PredictorRegression",
    "RandomInterceptRegression",
    "binary_regression",
    "binary_regression_batches",
]
