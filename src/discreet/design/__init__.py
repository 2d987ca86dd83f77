"""Which mechanism is best for a purpose: every designer returns a mechanism with a certificate."""

from discreet.design.attributes import AttributesDesign, attributes, attributes_for_total, compare_attributes
from discreet.design.binary import binary
from discreet.design.bipartite import bipartite
from discreet.design.budget import BudgetSplit, JointTarget, Target, budget
from discreet.design.comparison import MetricComparison, compare
from discreet.design.expected_error import expected_error
from discreet.design.frequencies import frequencies
from discreet.design.label import label
from discreet.design.mean import mean
from discreet.design.means import MeansDesign, means
from discreet.design.noncompliance import TwoGroups, detect_cheating
from discreet.design.number_comparison import NumberComparison, compare_numbers
from discreet.design.pilot import PilotReports, label_with_pilot
from discreet.design.power import Association, Coefficient, Difference, Power, Prevalence, power
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
    "margin",
    "mean",
    "means",
    "power",
    "sample_size",
    "split_budget",
    "zero_inflated_laplace",
]
