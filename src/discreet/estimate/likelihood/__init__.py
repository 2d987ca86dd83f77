"""Regressions on randomised answers, with the inference that goes with them."""

from discreet.estimate.likelihood.binary import BinaryRegression
from discreet.estimate.likelihood.fit import binary_regression
from discreet.estimate.likelihood.multinomial import MultinomialRegression
from discreet.estimate.likelihood.predictor import PredictorRegression
from discreet.estimate.likelihood.random_intercept_result import RandomInterceptRegression
from discreet.estimate.likelihood.result import LikelihoodFit
from discreet.estimate.likelihood.streaming import Batch, binary_regression_batches

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
