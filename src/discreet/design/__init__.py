"""Which mechanism is best for a purpose: every designer returns a mechanism with a certificate.

A designer is loaded when it is first asked for: a release of one yes/no column has no use for the other seventy files.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from discreet.lazy_names import lazy_names

if TYPE_CHECKING:
    from discreet.design.attributes import AttributesDesign, attributes_for_total, compare_attributes
    from discreet.design.attributes.attributes import attributes
    from discreet.design.binary import binary
    from discreet.design.bipartite import bipartite
    from discreet.design.budget import BudgetSplit, JointTarget, Target
    from discreet.design.budget.budget import budget
    from discreet.design.comparison import MetricComparison, compare
    from discreet.design.expected_error import expected_error
    from discreet.design.frequencies import frequencies
    from discreet.design.label import label
    from discreet.design.local_epsilon import local_epsilon
    from discreet.design.mean import mean
    from discreet.design.means import MeansDesign, means
    from discreet.design.noncompliance import TwoGroups, detect_cheating
    from discreet.design.number_comparison import NumberComparison, compare_numbers
    from discreet.design.pilot import PilotReports, label_with_pilot
    from discreet.design.power import Association, Coefficient, Difference, Power, Prevalence
    from discreet.design.power.power import power
    from discreet.design.precision import margin, sample_size
    from discreet.design.result import Alternative, Design, MetricDesign, Optimality
    from discreet.design.split import Split, split_budget
    from discreet.design.zero_inflated_laplace import zero_inflated_laplace

__all__ = [
    "Alternative",
    "Association",
    "AttributesDesign",
    "BudgetSplit",
    "Coefficient",
    "Design",
    "Difference",
    "JointTarget",
    "MeansDesign",
    "MetricComparison",
    "MetricDesign",
    "NumberComparison",
    "Optimality",
    "PilotReports",
    "Power",
    "Prevalence",
    "Split",
    "Target",
    "TwoGroups",
    "attributes",
    "attributes_for_total",
    "binary",
    "bipartite",
    "budget",
    "compare",
    "compare_attributes",
    "compare_numbers",
    "detect_cheating",
    "expected_error",
    "frequencies",
    "label",
    "label_with_pilot",
    "local_epsilon",
    "margin",
    "mean",
    "means",
    "power",
    "sample_size",
    "split_budget",
    "zero_inflated_laplace",
]

_HOMES = {
    name: home
    for home, names in {
        "attributes": ("AttributesDesign", "attributes", "attributes_for_total", "compare_attributes"),
        "binary": ("binary",),
        "bipartite": ("bipartite",),
        "budget": ("BudgetSplit", "JointTarget", "Target", "budget"),
        "comparison": ("MetricComparison", "compare"),
        "expected_error": ("expected_error",),
        "frequencies": ("frequencies",),
        "label": ("label",),
        "local_epsilon": ("local_epsilon",),
        "mean": ("mean",),
        "means": ("MeansDesign", "means"),
        "noncompliance": ("TwoGroups", "detect_cheating"),
        "number_comparison": ("NumberComparison", "compare_numbers"),
        "pilot": ("PilotReports", "label_with_pilot"),
        "power": ("Association", "Coefficient", "Difference", "Power", "Prevalence", "power"),
        "precision": ("margin", "sample_size"),
        "result": ("Alternative", "Design", "MetricDesign", "Optimality"),
        "split": ("Split", "split_budget"),
        "zero_inflated_laplace": ("zero_inflated_laplace",),
    }.items()
    for name in names
}


class _Designers(ModuleType):
    """A name that a function and its file share is the function's: an import would put the file in its place."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _HOMES or not isinstance(value, ModuleType):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Designers
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
