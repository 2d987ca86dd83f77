"""What can be learned from randomised reports: frequencies and tables, each with a correct error bar.

One idea carries the layer. A channel Q turns the frequencies f of the truths into the shares ``p = Qᵀf`` of the
reports, and every mechanism has a linear map A that undoes this on average, ``A Qᵀ = I``. A row that reported y
therefore has the *debiased answer* ``φ = A e_y``, whose mean is the truth, and everything here is a mean of
debiased answers:

* :func:`frequencies`: ``f̂ = A p̂``, overall or by group, from a simple random sample or a survey with weights,
  strata and clusters, also when rows were asked under different designs. Maximum likelihood on the simplex is
  there by name.
* :func:`crosstab`: ``F̂ = A₁ P̂ A₂ᵀ`` for two columns, with a test of independence that is valid after
  randomisation.

:func:`regression` fits a formula on a release: by maximum likelihood through the channel where a column with finitely
many answers was randomised, by a corrected loss where predictors are numbers with noise. :func:`binary_regression` and
:func:`m_estimate` do the same on arrays.

Estimates are never clipped: an unbiased frequency may lie outside [0, 1]. Intervals are, and one that becomes
empty says that the reports contradict the design. Results are frozen and share ``.estimate``, ``.std_error``,
``.covariance``, ``.interval(level, method)``, ``.summary()`` and ``.to_dict()``.

Reading order: ``moments`` (one debiased answer), ``spread`` (how shares vary), ``intervals``, ``simplex`` (maximum
likelihood); ``rows``, ``tally``, ``survey`` and ``evidence`` bring the reports in; ``result`` holds what comes out.
"""

from discreet.estimate.comparison import Comparison, compare
from discreet.estimate.crosstab import CrossTab, crosstab
from discreet.estimate.frequencies import frequencies
from discreet.estimate.grouped import GroupedFrequencies
from discreet.estimate.identified import FrequencyBounds
from discreet.estimate.independence import IndependenceTest
from discreet.estimate.joint.table import JointTable, joint_table
from discreet.estimate.likelihood import (
    Batch,
    BinaryRegression,
    LikelihoodFit,
    MultinomialRegression,
    PredictorRegression,
    binary_regression,
    binary_regression_batches,
)
from discreet.estimate.m_estimation import MEstimate, losses, m_estimate
from discreet.estimate.regression import regression
from discreet.estimate.result import Frequencies
from discreet.estimate.totals import Totals
from discreet.estimate.value_frequency import ValueFrequency

__all__ = [
    "Batch",
    "BinaryRegression",
    "Comparison",
    "CrossTab",
    "Frequencies",
    "FrequencyBounds",
    "GroupedFrequencies",
    "IndependenceTest",
    "JointTable",
    "LikelihoodFit",
    "MEstimate",
    "MultinomialRegression",
    "PredictorRegression",
    "Totals",
    "ValueFrequency",
    "binary_regression",
    "binary_regression_batches",
    "compare",
    "crosstab",
    "frequencies",
    "joint_table",
    "losses",
    "m_estimate",
    "regression",
]
