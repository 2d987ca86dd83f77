"""Regressions on randomised answers, with the inference that goes with them."""

from discreet.estimate.regression.binary import BinaryRegression
from discreet.estimate.regression.comparison import Comparison, compare
from discreet.estimate.regression.fit import binary_regression
from discreet.estimate.regression.glm import glm
from discreet.estimate.regression.multinomial import MultinomialRegression, multinomial_regression
from discreet.estimate.regression.predictor import PredictorRegression, predictor_regression
from discreet.estimate.regression.streaming import Batch, binary_regression_batches

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
