"""The best randomisation of a yes/no (or one-of-k) label for the regression that will be fitted to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from discreet import arguments
from discreet.arguments import Floats
from discreet.design.binary_response.feasible_region import (
    Point,
    corners,
    described,
    edge_point,
    four_report_information,
    rounded,
)
from discreet.design.binary_response.minimax import EdgeProblem
from discreet.design.binary_response.optimal_response import (
    FOUR_REPORTS,
    binary,
    exposure_notes,
    exposure_notes_of,
    point_of,
)
from discreet.design.private_labels.coefficient_range import BEST, CoefficientRange, Edges, RangeMinimax
from discreet.design.private_labels.information_criteria import (
    MAX_CLASSES,
    WORDS,
    LabelProblem,
    checked_covariates,
    checked_criterion,
    checked_link,
    checked_small_delta,
    label_problem,
    on_rows_used,
    thinned,
    two_report_variance,
)
from discreet.design.result import Alternative, Design, Optimality
from discreet.errors import Argument, DesignError, PrivacyError
from discreet.mechanisms import BinaryResponse, ChannelResponse
from discreet.mechanisms.exact_integers import checked_delta, checked_epsilon
from discreet.privacy.bounds import exp_bounds

#: Above this many coefficients a box of ranges has too many corners to look at each.
_MAX_RANGE_COEFFICIENTS = 10
#: A proven bound of a regret above this says little and is left out.
_LARGEST_TOLD_REGRET = 10.0


def label(
    epsilon: float,
    delta: float = 0.0,
    covariates: ArrayLike | None = None,
    coefficients: Any = None,
    link: str = "logit",
    criterion: str = "A",
    classes: int = 2,
    *,
    reports: int = 2,
) -> Design[BinaryResponse | ChannelResponse]:
    """The (ε, δ)-private randomisation of a label that is best for a regression on public covariates.

    Parameters
    ----------
    epsilon, delta : float
        The privacy level. With δ = 0 and two classes the symmetric design is best whatever the covariates and
        coefficients are; with δ > 0 one of three corners is (Zhang et al. 2025, Theorems 4.4 and 4.6).
    covariates : array (rows, d)
        Public; with a column of ones if the model has an intercept. Nothing is read from the labels.
    coefficients : array (d,), array (scenarios, d), or (low, high)
        What is assumed of the coefficients: one guess, several scenarios, or a range for each. With more than one
        the worst relative regret is minimised over the whole edge of the feasible region. Over a range it is
        searched for in the whole box: ``objective`` is the largest regret found, and the notes say how many points
        were tried and what is proven.
    link : {"logit", "probit", "cauchit", "cloglog"}
    criterion : {"A", "D", "T"}
        A: the average variance of the coefficients (covariates standardised first). D: the volume of their
        confidence ellipsoid. T: the trace of the information, which is not an average variance.
    classes : int
        Number of label values. Above 2 (up to 10, δ = 0): the optimum over *all* ε-private channels for a
        multinomial logit; ``coefficients`` is then one set, a list with one row per class after the first.
    reports : {2, 4}
        4: the channel that dominates every two-report design for δ > 0.

    Examples
    --------
    >>> X = np.column_stack([np.ones(200), np.linspace(-1, 1, 200)])
    >>> label(1.0, covariates=X, coefficients=[0.5, 1.0]).mechanism == binary(1.0).mechanism
    True
    >>> found = label(1.0, 0.4, covariates=X, coefficients=[-3.0, 0.5])
    >>> found.mechanism.p00, round(float(found.mechanism.p11), 3)
    (Fraction(1, 1), 0.4)
    """
    epsilon, delta = checked_epsilon(epsilon), checked_delta(delta)
    delta = checked_small_delta(delta)
    link, criterion = checked_link(link), checked_criterion(criterion)
    reports = arguments.choice(reports, "reports", (2, 4), DesignError)
    classes = arguments.whole(classes, "classes", DesignError, least=2, most=MAX_CLASSES)
    if classes > 2:
        from discreet.design.private_labels.several_classes import label_classes

        if reports != 2:
            raise DesignError("reports is for labels with two classes; with more the channel finds its own number")
        if _is_range(coefficients):
            raise DesignError(
                "a range (low, high) of coefficients is for labels with two classes; with more give one set, as an "
                "array or a list of rows"
            )
        return label_classes(epsilon, delta, covariates, coefficients, link, criterion, classes)
    assumed = None if coefficients is None else _assumed(coefficients)
    rows = None if covariates is None else checked_covariates(covariates)
    if rows is None or assumed is None:
        return _without_assumptions(epsilon, delta, reports, covariates is None)
    if delta == 0 and reports == 4:
        raise PrivacyError(Argument("reports=4"), " needs delta > 0; with delta = 0 two reports are already optimal")
    problem = label_problem(thinned(rows), assumed, link, criterion)
    if _is_range(coefficients):
        found = _anywhere(epsilon, delta, problem, reports)
    else:
        found = _four(epsilon, delta, problem) if reports == 4 else _two(epsilon, delta, problem)
    return on_rows_used(found, len(rows), len(problem.covariates))


def _is_range(coefficients: Any) -> bool:
    """Whether they are given as a pair of ends, each with one number per covariate."""
    if not (isinstance(coefficients, tuple) and len(coefficients) == 2):
        return False
    return all(np.asarray(end, object).ndim == 1 for end in coefficients)


def _assumed(coefficients: Any) -> Floats:
    """One row per assumed set of coefficients, or the two ends of a range."""
    if _is_range(coefficients):
        return _ends(coefficients)
    scenarios = np.atleast_2d(arguments.floats(coefficients, "coefficients", DesignError))
    if scenarios.ndim != 2 or scenarios.size == 0:
        raise DesignError("coefficients must be one set of numbers, several sets, or a range (low, high)")
    return np.asarray(np.unique(scenarios, axis=0))


def _ends(coefficients: Any) -> Floats:
    """The two ends of a range."""
    low, high = (arguments.floats(end, "a range of coefficients", DesignError, dimensions=1) for end in coefficients)
    if low.shape != high.shape or np.any(low > high):
        raise DesignError("a range of coefficients needs low ≤ high: finite numbers, of equal length")
    ends = np.array([low, high])
    if ends.shape[1] > _MAX_RANGE_COEFFICIENTS:
        raise DesignError(f"a range is limited to {_MAX_RANGE_COEFFICIENTS} coefficients; give scenarios instead")
    return ends


def _without_assumptions(
    epsilon: float, delta: float, reports: int, no_covariates: bool
) -> Design[BinaryResponse | ChannelResponse]:
    if delta == 0 or reports == 4:
        found = binary(epsilon, delta, reports=reports)
        note = "this design is best for every covariate, coefficient and link: none had to be assumed"
        return replace(found, notes=(note, *found.notes))
    missing = "covariates" if no_covariates else "coefficients"
    raise DesignError(
        f"with delta > 0 the best two-report design depends on the regression: give {missing} (a guess "
        "or a range), use ",
        Argument("reports=4"),
        ", which is best for all of them, or split off a pilot",
    )


def four_report_variance(exp_epsilon: float, delta: float, no: Floats, yes: Floats) -> Floats:
    """Inverse information about the prevalence in one answer through the four-report channel."""
    other = (1 - delta) / (exp_epsilon + 1)
    smaller = np.minimum(no, yes)  # the channel treats both answers alike
    with np.errstate(divide="ignore", over="ignore"):  # a label that is certain leaves no variance
        return np.asarray(1 / four_report_information(exp_epsilon * other, other, delta, smaller))


def channel_variance(mechanism: ChannelResponse, no: Floats, yes: Floats) -> Floats:
    """Inverse information about the prevalence in one answer through a finished channel of two truths."""
    information = np.zeros(np.shape(no))
    with np.errstate(divide="ignore", over="ignore"):
        for a, b in zip(*mechanism.weights(), strict=True):
            mixed = no * (a / mechanism.denominator) + yes * (b / mechanism.denominator)
            information += ((b - a) / mechanism.denominator) ** 2 / mixed
        return np.asarray(1 / information)


def _middle(epsilon: float) -> Fraction:
    """A fraction within 1e-99 of e^ε."""
    low, high = exp_bounds(epsilon)
    return (low + high) / 2


def _floats(point: Point) -> tuple[float, float]:
    return float(point[0]), float(point[1])


def _corner_values(epsilon: float, delta: float, problem: LabelProblem) -> dict[str, Floats]:
    """The criterion of every corner in every scenario."""
    exp_epsilon = _middle(epsilon)
    return {
        name: problem.values(partial(two_report_variance, *_floats(point)))
        for name, point in corners(exp_epsilon, Fraction(delta)).items()
    }


def _two(epsilon: float, delta: float, problem: LabelProblem) -> Design[BinaryResponse]:
    values = _corner_values(epsilon, delta, problem)
    best = np.minimum.reduce(list(values.values()))
    asked = Fraction(delta)
    always = [name for name, value in values.items() if np.all(value <= best * (1 + 1e-9))]
    if always:
        chosen = "warner" if "warner" in always else always[0]
        mechanism = rounded(epsilon, delta, lambda e: corners(e, asked)[chosen])
        value = float(problem.values(_variance_of(mechanism)).max())
        statement = (
            "no (ε, δ)-private design with two reports does better: the criterion falls in p00 and p11 and is concave "
            "along each tight edge, so a corner is optimal"
        )
        notes = exposure_notes(chosen, delta)
        if delta > 0 and len(best) == 1:
            notes.append(_sensitivity(epsilon, delta, problem, chosen))
        if delta == 0:
            notes.insert(0, "with δ = 0 this design is best for every coefficient and link")
        measure = WORDS[problem.criterion] + (" (largest over the scenarios)" if len(best) > 1 else "")
        certificate = Optimality.checked(value, float(best.max()), statement)
        others = _others({name: one for name, one in values.items() if name != chosen}, epsilon, delta)
        if delta > 0:
            least = problem.values(partial(four_report_variance, float(_middle(epsilon)), delta)).max()
            others = (Alternative(FOUR_REPORTS, float(least)), *others)
        return Design(mechanism, value, certificate, tuple(notes), measure, others)
    return _minimax(epsilon, delta, problem, best, values)


def _minimax(
    epsilon: float, delta: float, problem: LabelProblem, best: Floats, values: dict[str, Floats]
) -> Design[BinaryResponse]:
    e = float(_middle(epsilon))
    asked = Fraction(delta)

    def regrets(u: float, mirrored: bool) -> Floats:
        return problem.values(partial(two_report_variance, *_on_edge(e, delta, u, mirrored))) / best

    found = EdgeProblem((e + 1) / (e + 2 * delta - 1), 1 / delta, regrets).solve()
    mechanism = rounded(epsilon, delta, partial(point_of, found, delta=asked))
    statement = (
        "no (ε, δ)-private design with two reports has a smaller worst regret over the scenarios: branch and bound "
        "over both tight edges"
    )
    notes = (f"no single design is best for all {len(best)} scenarios, so the worst relative regret was minimised",)
    others = _others({name: value / best - 1 for name, value in values.items()}, epsilon, delta)
    measure = f"Worst relative regret of: {WORDS[problem.criterion].lower()}"
    value = float((problem.values(_variance_of(mechanism)) / best).max()) - 1
    return Design(mechanism, value, _of_regrets(value, found.bound - 1, statement), notes, measure, others)


def _of_regrets(value: float, bound: float, statement: str) -> Optimality:
    """Regrets near 0 are differences of numbers near 1, and rounded as these are."""
    checked = Optimality.checked(1 + value, 1 + bound, statement)
    return replace(checked, value=value, bound=min(bound, value) if checked.statement == statement else 0.0)


def _variance_of(mechanism: BinaryResponse) -> Callable[[Floats, Floats], Floats]:
    """The variance under the finished design, by the prevalence of a row."""
    return partial(two_report_variance, *_floats((mechanism.p00, mechanism.p11)))


def _anywhere(
    epsilon: float, delta: float, problem: LabelProblem, reports: int
) -> Design[BinaryResponse | ChannelResponse]:
    """The design of least worst regret over a box, whose ends are the problem's scenarios."""
    measure = f"Largest relative regret found in the range, of: {WORDS[problem.criterion].lower()}"
    if delta == 0 or reports == 4:
        best = _without_assumptions(epsilon, delta, reports, no_covariates=False)
        certificate = Optimality(0.0, 0.0, best.certificate.statement)
        return replace(best, objective=0.0, certificate=certificate, measure=measure, alternatives=())
    asked, e = Fraction(delta), float(_middle(epsilon))
    points = {name: _floats(point) for name, point in corners(_middle(epsilon), asked).items()}
    box = CoefficientRange(problem, problem.scenarios[0], problem.scenarios[1], tuple(points.values()))
    edges = Edges((e + 1) / (e + 2 * delta - 1), 1 / delta, partial(_on_edge, e, delta))
    found = box.minimax(edges)
    mechanism = rounded(epsilon, delta, partial(point_of, found.design, delta=asked))
    regret = float(box.ratios(_floats((mechanism.p00, mechanism.p11)), found.worst.ends).max()) - 1
    statement = (
        "no (ε, δ)-private design with two reports has a smaller worst regret over the range than the bound: branch "
        f"and bound over both tight edges against {found.against} of its points. The value is the largest regret "
        "found, not a proven maximum"
    )
    alone = {name: np.array([ratio - 1]) for name, ratio in zip(points, found.alone, strict=True)}
    return Design(
        mechanism,
        regret,
        _of_regrets(regret, found.bound - 1, statement),
        _range_notes(box, found, regret, mechanism),
        measure,
        _others({name: one for name, one in alone.items() if one[0] > regret + BEST}, epsilon, delta),
    )


def _on_edge(exp_epsilon: float, delta: float, u: float, mirrored: bool) -> tuple[float, float]:
    p00, p11 = _floats(edge_point(Fraction(u), Fraction(exp_epsilon), Fraction(delta)))
    return (p11, p00) if mirrored else (p00, p11)


def _range_notes(
    box: CoefficientRange, found: RangeMinimax, regret: float, mechanism: BinaryResponse
) -> tuple[str, ...]:
    where = ", ".join(f"{b:.4g}" for b in found.worst.where / box.problem.spread)
    ceiling = box.ceiling(_floats((mechanism.p00, mechanism.p11))) - 1
    return (
        f"the regret was computed at {found.tried:,} points of the range: vertices, middles, zeros, points spread "
        "evenly, and on climbs from the worst of them",
        "no point was found at which another design is better"
        if regret <= BEST
        else f"the largest regret found, {regret:.4g}, is at coefficients ({where})",
        *(
            [f"proven: nowhere in the range is the regret above {ceiling:.4g}"]
            if ceiling < _LARGEST_TOLD_REGRET
            else []
        ),
        *exposure_notes_of(mechanism),
    )


def _four(epsilon: float, delta: float, problem: LabelProblem) -> Design[ChannelResponse]:
    e = float(_middle(epsilon))
    mechanism = binary(epsilon, delta, reports=4).mechanism
    value = float(problem.values(partial(channel_variance, mechanism)).max())
    bound = float(problem.values(partial(four_report_variance, e, delta)).max())
    statement = "no (ε, δ)-private channel with any number of reports does better: all are garblings of this one"
    notes = (f"exposure: with probability δ = {delta:g} the true label is published and marked as true",)
    others = _others(_corner_values(epsilon, delta, problem), epsilon, delta)
    return Design(
        mechanism, value, Optimality.checked(value, bound, statement), notes, WORDS[problem.criterion], others
    )


def _others(values: dict[str, Floats], epsilon: float, delta: float) -> tuple[Alternative, ...]:
    """Corners by the largest of their values over the scenarios."""
    points = corners(_middle(epsilon), Fraction(delta))
    found = [Alternative(described(points[name]), float(value.max())) for name, value in values.items()]
    return tuple(sorted(found, key=lambda one: one.value))


def _sensitivity(epsilon: float, delta: float, problem: LabelProblem, chosen: str) -> str:
    """What the choice costs if the assumed coefficients are wrong: halved, doubled, reversed or zero."""
    costs = []
    for words, factor in (("half", 0.5), ("double", 2.0), ("reversed", -1.0), ("zero", 0.0)):
        try:
            values = _corner_values(epsilon, delta, problem.at(problem.scenarios * factor))
        except DesignError:  # under these no design tells anything
            costs.append(f"{words} none, no answer would carry information")
            continue
        costs.append(f"{words} +{float(values[chosen][0] / min(v[0] for v in values.values()) - 1):.0%}")
    return f"cost of this choice if the true coefficients are different (linear predictor …): {', '.join(costs)}"
