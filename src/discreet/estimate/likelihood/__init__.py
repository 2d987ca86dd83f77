"""Regressions on randomised answers, with the inference that goes with them."""

from discreet.estimate.likelihood.binary import BinaryRegression
from discreet.estimate.likelihood.comparison import Comparison, compare
from discreet.estimate.likelihood.fit import binary_regression
from discreet.estimate.likelihood.glm import glm
from discreet.estimate.likelihood.multinomial import MultinomialRegression, multinomial_regression
from discreet.estimate.likelihood.predictor import PredictorRegression, predictor_regression
from discreet.estimate.likelihood.streaming import Batch, binary_regression_batches

__all__ = [
    "Batch",
    "BinaryRegression",
    "Comparison",
    "MultinomialRegression",
    "PredictorRegression",
    "binary_regression",
    "binary_regression_batches",
    "compare",
    "glm",
    "multinomial_regression",
    "predictor_regression",
]
