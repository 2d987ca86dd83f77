"""The public names of the packages, and how the designers read: pinned, so that a change is meant."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

import discreet
from discreet import design, learning, mechanisms, privacy, survey
from discreet.design import Design

ROOT = Path(discreet.__file__).parent
LONGEST_FUNCTION = 60

#: Everything that may be imported from a package.
EXPORTS = {
    design: """
        Alternative Association AttributesDesign BudgetSplit Coefficient Design Difference JointTarget MeansDesign
        MetricComparison MetricDesign NumberComparison Optimality PilotReports Power Prevalence Split Target TwoGroups
        attributes attributes_for_total binary bipartite budget compare compare_attributes compare_numbers
        detect_cheating expected_error frequencies label label_with_pilot local_epsilon margin mean means power
        sample_size split_budget zero_inflated_laplace
    """,
    learning: """
        FromPrivateLabels FromRelease LocalSGDClassifier LocalSGDRegressor PrivateBoostingClassifier
        PrivateBoostingRegressor PrivateVectors
    """,
    mechanisms: """
        BinaryResponse BipartiteResponse ChannelResponse CyclicResponse ExponentialResponse FiniteMechanism
        GeneralizedResponse JointResponse Mechanism OneNumberResponse PaleySet RecordMechanism SingerSet
        UnbiasedResponse ZeroInflatedLaplace from_dict
    """,
    privacy: "Certificate Guarantee ShuffledGuarantee certify compose shuffled",
    survey: "TEMPLATE Checked Field Page Questionnaire build_page check_survey sampler_source",
}

#: How a public function of design is called: what is protected and the privacy level first, later additions after *.
SIGNATURES = {
    "attributes": "sizes epsilons method pairs * allow_raised",
    "attributes_for_total": "sizes ratios total pairs",
    "binary": "epsilon delta prevalence symmetric reports",
    "bipartite": "domain epsilon high prior",
    "budget": "targets n epsilon * spend level step",
    "compare": "domain epsilon n * prior",
    "compare_attributes": "joint",
    "compare_numbers": "domain epsilon n delta * noise",
    "detect_cheating": "share power * epsilon level prevalence truthful mirrored",
    "expected_error": "domain epsilon prior worst",
    "frequencies": "domain epsilon * criterion",
    "label": "epsilon delta covariates coefficients link criterion classes * reports",
    "label_with_pilot": "labels covariates epsilon delta share link criterion * pilot_epsilon randomness",
    "local_epsilon": "epsilon delta people build",
    "mean": "domain epsilon prior",
    "means": "domains epsilon weights * method",
    "margin": "mechanism n level prevalence * method design_effect response_rate noncompliance",
    "power": "mechanism aim n level * design_effect response_rate noncompliance",
    "sample_size": ("mechanism margin level prevalence * method power design_effect response_rate noncompliance"),
    "split_budget": "domains epsilon weights",
    "zero_inflated_laplace": "box epsilon delta zero_probability unit target * grid exposure",
}

#: Which mechanism each designer returns.
RETURNS = {
    "attributes": mechanisms.JointResponse,
    "attributes_for_total": mechanisms.JointResponse,
    "binary": mechanisms.BinaryResponse | mechanisms.ChannelResponse,
    "bipartite": mechanisms.BipartiteResponse,
    "expected_error": mechanisms.ChannelResponse,
    "frequencies": mechanisms.FiniteMechanism,
    "label": mechanisms.BinaryResponse | mechanisms.ChannelResponse,
    "mean": mechanisms.UnbiasedResponse,
    "zero_inflated_laplace": mechanisms.ZeroInflatedLaplace,
}


@pytest.mark.parametrize("name", RETURNS)
def test_a_designer_says_which_mechanism_it_returns(name):
    """``Design[BipartiteResponse]`` has a mechanism whose ``near`` a type checker knows; nobody needs a cast."""
    returned = get_type_hints(getattr(design, name))["return"]
    if inspect.isclass(returned):  # a design with more to say, of one mechanism
        assert issubclass(returned, Design)
        (returned,) = returned.__orig_bases__
    assert get_args(returned) == (RETURNS[name],)


@pytest.mark.parametrize("package", EXPORTS, ids=lambda package: package.__name__)
def test_the_public_names_of_a_package(package):
    """What a package exports is what is listed here, no more and no less, and all of it is there."""
    assert sorted(package.__all__) == sorted(EXPORTS[package].split())
    for name in package.__all__:
        assert getattr(package, name) is not None


def test_public_functions_of_design_read_alike():
    """The order of arguments is pinned, those after the asterisk go by name, and every function has a return type."""
    found = {}
    for name in design.__all__:
        function = getattr(design, name)
        if inspect.isclass(function):
            continue
        parameters = inspect.signature(function).parameters.values()
        by_position = [one.name for one in parameters if one.kind is one.POSITIONAL_OR_KEYWORD]
        by_name = [one.name for one in parameters if one.kind is one.KEYWORD_ONLY]
        found[name] = " ".join([*by_position, *(["*", *by_name] if by_name else [])])
        assert "return" in function.__annotations__, name
    assert found == SIGNATURES


def _functions(tree):
    """Names and lengths, docstrings not counted."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            first = node.body[0]
            docstring = 0 if ast.get_docstring(node) is None else first.end_lineno - first.lineno + 1
            yield node.name, node.end_lineno - node.lineno + 1 - docstring


def test_functions_of_design_fit_on_a_screen():
    """At most sixty lines."""
    for path in (ROOT / "design").rglob("*.py"):
        for name, lines in _functions(ast.parse(path.read_text(encoding="utf-8"))):
            assert lines <= LONGEST_FUNCTION, f"{name} in {path.name} has {lines} lines"


def test_modules_of_design_form_no_cycle():
    """Also not by an import inside a function."""
    uses = {}
    for path in (ROOT / "design").rglob("*.py"):
        if path.name != "__init__.py":
            module = ".".join(path.relative_to(ROOT.parent).with_suffix("").parts)
            nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            imported = [node for node in nodes if isinstance(node, ast.ImportFrom)]
            uses[module] = {f"{n.module}.{a.name}" for n in imported for a in n.names} | {n.module for n in imported}
    done = set()
    while len(done) < len(uses):
        free = {module for module in uses.keys() - done if not (uses[module] & uses.keys()) - done}
        assert free, f"these import each other: {sorted(uses.keys() - done)}"
        done |= free


def test_completion_of_design_shows_public_names_only():
    """No module, type variable or import appears beside the designers."""
    assert sorted(dir(design)) == sorted(design.__all__)


def test_no_module_of_design_bears_the_name_of_a_public_function():
    """A module of the same name would replace the function as soon as it is imported."""
    modules = {path.stem for path in (ROOT / "design").rglob("*") if path.suffix == ".py" or path.is_dir()}
    assert not modules & set(design.__all__)
