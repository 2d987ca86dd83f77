"""What can be learned from randomised reports: frequencies and tables, each with a correct error bar.

One idea carries the layer. A channel Q turns the frequencies f of the truths into the shares ``p = Qᵀf`` of the
reports, and every mechanism has a linear map A that undoes this on average, ``A Qᵀ = I``. A row that reported y
therefore has the *debiased answer* ``φ = A e_y``, whose mean is the truth, and everything here is a mean of
debiased answers:

* :func:`frequencies`: ``f̂ = A p̂``, overall or by group, from a simple random sample or a survey with weights,
  strata and clusters, also when rows were asked under different designs. Maximum likelihood on the simplex is
  there by name.
* :func:`mean`, :func:`total`, :func:`expectation`, :func:`quantile` and :func:`correlation` of a column with numbers,
  private or public, overall or by group, with differences and ratios of groups.
* :func:`crosstab`: ``F̂ = A₁ P̂ A₂ᵀ`` for two columns, with a test of independence that is valid after
  randomisation.

:func:`calibrate` makes survey weights that meet known totals, for all of these. :func:`replicate` gives any of these,
and functions of one's own, errors by jackknife, bootstrap or replicate weights.

:func:`noncompliance` and :func:`noncompliance_regression` are for people who do not follow the design.

:func:`regression` fits a formula on a release: by maximum likelihood through the channel where one column with finitely
many answers was randomised, by a corrected loss where several were or predictors are numbers with noise.
:func:`binary_regression` and :func:`m_estimate` do the same on arrays.

Estimates are never clipped: an unbiased frequency may lie outside [0, 1]. Intervals are, and one that becomes
empty says that the reports contradict the design. Results are frozen and have one base, ``result``: ``.estimate``,
``.std_error``, ``.covariance``, ``.interval(level, method)``, ``.summary()``, ``.to_dict()``, ``.to_frame()``,
``.to_markdown()``, ``.to_latex()``, and a table in a notebook.

The rooms, each of which uses only those before it: ``reporting`` (results and their tables), ``intervals``,
``channels`` (one debiased answer, its moments, maximum likelihood), ``data`` (rows in, and the design of the survey),
``sampling`` (the variance of a survey, calibration), then ``bounds``, ``means``, ``proportions``, ``tables`` and
``replication``; regressions come last.
"""

from discreet.estimate.bounds import FrequencyBounds, GroupedBounds, Range, Ranges
from discreet.estimate.compliance import (
    ComplianceTest,
    Noncompliance,
    NoncomplianceRegression,
    noncompliance,
    noncompliance_regression,
)
from discreet.estimate.m_estimation import MEstimate, losses, m_estimate
from discreet.estimate.means.api import expectation, mean, total
from discreet.estimate.means.contrast import Contrast
from discreet.estimate.means.correlations import Correlation, correlation
from discreet.estimate.means.result import Statistic
from discreet.estimate.proportions.api import frequencies
from discreet.estimate.proportions.grouped import GroupedFrequencies
from discreet.estimate.proportions.quantile_result import Quantiles
from discreet.estimate.proportions.quantiles import quantile
from discreet.estimate.proportions.result import Frequencies
from discreet.estimate.proportions.views import TopFrequencies, Totals, ValueFrequency
from discreet.estimate.regressions.api import regression
from discreet.estimate.regressions.comparison import Comparison, compare
from discreet.estimate.regressions.likelihood import (
    Batch,
    BinaryRegression,
    LikelihoodFit,
    MultinomialRegression,
    PredictorRegression,
    RandomInterceptRegression,
    binary_regression,
    binary_regression_batches,
)
from discreet.estimate.regressions.model_table import ModelTable, table
from discreet.estimate.regressions.ratios import Ratios
from discreet.estimate.regressions.result import CorrectedRegression
from discreet.estimate.replication import Replicated, replicate
from discreet.estimate.sampling.calibration import Calibration, calibrate
from discreet.estimate.tables.api import CrossTab, JointTable, crosstab, crosstab_of_reports, joint_table
from discreet.estimate.tables.independence import IndependenceTest

__all__ = [
    "Batch",
    "BinaryRegression",
    "Calibration",
    "Comparison",
    "ComplianceTest",
    "Contrast",
    "CorrectedRegression",
    "Correlation",
    "CrossTab",
    "Frequencies",
    "FrequencyBounds",
    "GroupedBounds",
    "GroupedFrequencies",
    "IndependenceTest",
    "JointTable",
    "LikelihoodFit",
    "MEstimate",
    "ModelTable",
    "MultinomialRegression",
    "Noncompliance",
    "NoncomplianceRegression",
    "PredictorRegression",
    "Quantiles",
    "RandomInterceptRegression",
    "Range",
    "Ranges",
    "Ratios",
    "Replicated",
    "Statistic",
    "TopFrequencies",
    "Totals",
    "ValueFrequency",
    "binary_regression",
    "binary_regression_batches",
    "calibrate",
    "compare",
    "correlation",
    "crosstab",
    "crosstab_of_reports",
    "expectation",
    "frequencies",
    "joint_table",
    "losses",
    "m_estimate",
    "mean",
    "noncompliance",
    "noncompliance_regression",
    "quantile",
    "regression",
    "replicate",
    "table",
    "total",
]
