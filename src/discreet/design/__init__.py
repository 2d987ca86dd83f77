"""Which mechanism is best for a purpose: every designer returns a mechanism with a certificate.

A designer is loaded when it is first used: a release of one yes/no column needs none of the other files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.lazy_names import lazy_names

if TYPE_CHECKING:
    from discreet.design.binary_response.optimal_response import binary
    from discreet.design.budgets.least_total_error import Split, split_budget
    from discreet.design.budgets.margin_budget import BudgetSplit, budget
    from discreet.design.budgets.margin_targets import JointTarget, Target
    from discreet.design.budgets.shuffled_target import local_epsilon
    from discreet.design.large_domains import frequencies
    from discreet.design.numbers.number_comparison import NumberComparison, compare_numbers
    from discreet.design.numbers.several_means import MeansDesign, means
    from discreet.design.numbers.unbiased_lp import mean
    from discreet.design.numbers.zero_inflated_noise import zero_inflated_laplace
    from discreet.design.ordered_values.bipartite_response import bipartite
    from discreet.design.ordered_values.least_expected_error import expected_error
    from discreet.design.ordered_values.metric_comparison import MetricComparison, compare
    from discreet.design.planning.association_effects import Association, Coefficient
    from discreet.design.planning.cheating_detection import TwoGroups, detect_cheating
    from discreet.design.planning.frequency_effects import Difference, Prevalence
    from discreet.design.planning.sample_sizes import margin, sample_size
    from discreet.design.planning.statistical_power import Power, power
    from discreet.design.private_labels.label_response import label
    from discreet.design.private_labels.pilot_sample import PilotReports, label_with_pilot
    from discreet.design.result import Alternative, Design, MetricDesign, Optimality
    from discreet.design.several_attributes.joint_design import attributes, attributes_for_total
    from discreet.design.several_attributes.result import AttributesDesign, compare_attributes

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

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        name: home
        for home, names in {
            "binary_response.optimal_response": ("binary",),
            "budgets.least_total_error": (
                "Split",
                "split_budget",
            ),
            "budgets.margin_budget": (
                "BudgetSplit",
                "budget",
            ),
            "budgets.margin_targets": (
                "JointTarget",
                "Target",
            ),
            "budgets.shuffled_target": ("local_epsilon",),
            "large_domains": ("frequencies",),
            "numbers.number_comparison": (
                "NumberComparison",
                "compare_numbers",
            ),
            "numbers.several_means": (
                "MeansDesign",
                "means",
            ),
            "numbers.unbiased_lp": ("mean",),
            "numbers.zero_inflated_noise": ("zero_inflated_laplace",),
            "ordered_values.bipartite_response": ("bipartite",),
            "ordered_values.least_expected_error": ("expected_error",),
            "ordered_values.metric_comparison": (
                "MetricComparison",
                "compare",
            ),
            "planning.association_effects": (
                "Association",
                "Coefficient",
            ),
            "planning.cheating_detection": (
                "TwoGroups",
                "detect_cheating",
            ),
            "planning.frequency_effects": (
                "Difference",
                "Prevalence",
            ),
            "planning.sample_sizes": (
                "margin",
                "sample_size",
            ),
            "planning.statistical_power": (
                "Power",
                "power",
            ),
            "private_labels.label_response": ("label",),
            "private_labels.pilot_sample": (
                "PilotReports",
                "label_with_pilot",
            ),
            "result": (
                "Alternative",
                "Design",
                "MetricDesign",
                "Optimality",
            ),
            "several_attributes.joint_design": (
                "attributes",
                "attributes_for_total",
            ),
            "several_attributes.result": (
                "AttributesDesign",
                "compare_attributes",
            ),
        }.items()
        for name in names
    },
)
