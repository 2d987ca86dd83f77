"""Respondents who do not follow the design: models that are identified by groups with different designs.

Reading order: ``model`` (what a model is), one file per model, ``maximum`` (the estimate), ``result``, ``estimation``
(the public function), ``regression`` (covariates).
"""

from discreet.estimate.compliance.estimation import noncompliance
from discreet.estimate.compliance.regression import NoncomplianceRegression, noncompliance_regression
from discreet.estimate.compliance.result import ComplianceTest, Noncompliance

__all__ = [
    "ComplianceTest",
    "Noncompliance",
    "NoncomplianceRegression",
    "noncompliance",
    "noncompliance_regression",
]
