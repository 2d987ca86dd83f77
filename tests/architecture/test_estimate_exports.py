"""The public names of the layer of estimates, and how its functions read."""

from __future__ import annotations

import inspect

import pytest

from discreet import estimate

FUNCTIONS = {
    "binary_regression": ["X", "y", "p00", "p11", "link", "weights", "offset", "clusters", "names"],
    "binary_regression_batches": ["batches"],
    "calibrate": ["release", "totals", "method"],
    "compare": ["fits", "level", "method"],
    "correlation": ["release", "first", "second"],
    "crosstab": ["release", "rows", "columns", "layers"],
    "crosstab_of_reports": ["rows", "columns", "row_mechanism", "column_mechanism"],
    "expectation": ["reports", "mechanism", "function"],
    "frequencies": ["reports", "mechanism"],
    "joint_table": ["reports", "mechanism", "attributes"],
    "m_estimate": ["loss", "reports", "mechanism", "start", "method", "public", "outcome", "outcome_mechanism"],
    "mean": ["reports", "mechanism"],
    "noncompliance": ["reports", "groups", "designs"],
    "noncompliance_regression": ["formula", "reports", "groups", "designs"],
    "quantile": ["reports", "mechanism", "p"],
    "replicate": ["statistic", "release", "method"],
    "regression": ["formula", "release", "family", "link", "missing", "method"],
    "table": [],
    "total": ["reports", "mechanism"],
}
RESULTS = {
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
}


def test_public_names():
    """What the documentation promises, and nothing by accident."""
    assert set(estimate.__all__) == set(FUNCTIONS) | RESULTS | {"Batch", "losses"}


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_functions_read_alike(name):
    """Data first (a formula or a loss before them), later additions by name only, and a return type for everybody."""
    signature = inspect.signature(getattr(estimate, name))
    positional = [p.name for p in signature.parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    assert positional == FUNCTIONS[name]
    assert signature.return_annotation not in (inspect.Signature.empty, "Any")


def test_every_module_answers_to_its_name():
    """A function that has its file's name is the function, whoever imported the file."""
    for name in ("correlation", "crosstab", "expectation", "frequencies", "mean", "quantile", "regression", "total"):
        assert inspect.isfunction(getattr(estimate, name))
