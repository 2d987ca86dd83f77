"""The ways to fit a formula, as a table: which randomised columns each is for, and what can be asked of it.

A new capability is one more entry of ``APPROACHES``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from discreet.errors import EstimationError
from discreet.estimate.regressions.formula import corrected_regression
from discreet.estimate.regressions.likelihood import by_formula as likelihood
from discreet.estimate.regressions.likelihood.binary import BinaryRegression
from discreet.estimate.regressions.likelihood.grouped_formula import grouped_yes_no_outcome
from discreet.estimate.regressions.likelihood.multinomial import MultinomialRegression
from discreet.estimate.regressions.likelihood.predictor import PredictorRegression
from discreet.estimate.regressions.likelihood.random_intercept_result import RandomInterceptRegression
from discreet.estimate.regressions.request import Specification
from discreet.estimate.regressions.result import MEstimate
from discreet.mechanisms import UnbiasedResponse

Fit: TypeAlias = BinaryRegression | MultinomialRegression | PredictorRegression | RandomInterceptRegression | MEstimate


@dataclass(frozen=True)
class Approach:
    """One way to fit a formula.

    Attributes
    ----------
    what : str
        The randomised columns that it is for, in words.
    suits : function
        Whether the randomised columns of a formula are of this kind.
    families, methods : tuple of str
        What can be asked for besides "auto".
    fit, naive : function
        The fit, and the same with the reports taken for the truth.
    penalised, grouped : bool
        Whether it takes a penalty; whether it is for formulas with ``(1 | group)``.
    """

    what: str
    suits: Callable[[Specification], bool]
    families: tuple[str, ...]
    methods: tuple[str, ...]
    fit: Callable[[Specification], Fit]
    naive: Callable[[Specification, Any], Fit]
    penalised: bool = False
    grouped: bool = False


def chosen(asked: Specification) -> Approach:
    """The first approach that suits the columns and what was asked for; or one sentence on why there is none."""
    grouped = asked.group is not None
    suitable = [one for one in APPROACHES if one.grouped == grouped and one.suits(asked)]
    if not suitable and grouped:
        raise EstimationError(
            "an intercept for every group, (1 | group), is there for a randomised yes/no outcome only"
        )
    if not suitable:
        raise EstimationError(_impossible(asked))
    for option, choice in (("families", asked.family), ("methods", asked.method)):
        able = [one for one in suitable if choice in ("auto", *getattr(one, option))]
        if not able:
            there = ", ".join(dict.fromkeys(name for one in suitable for name in getattr(one, option)))
            raise EstimationError(f'{suitable[0].what} has the {option} {there}, not "{choice}"')
        suitable = able
    if asked.penalty is not None and not suitable[0].penalised:
        raise EstimationError("a penalty is there for a randomised yes/no outcome only; leave it out")
    return suitable[0]


def _only_outcome(asked: Specification) -> bool:
    return asked.randomised == (asked.outcome,) and not asked.holds_numbers(asked.outcome)


def _yes_no_outcome(asked: Specification) -> bool:
    return _only_outcome(asked) and asked.size(asked.outcome) == 2


def _classes_outcome(asked: Specification) -> bool:
    """Values without an order of their own in the model; unbiased numbers are numbers unless classes are asked for."""
    if not _only_outcome(asked):
        return False
    block = asked.block(asked.outcome)
    numbers = block is not None and isinstance(block.mechanism, UnbiasedResponse)
    return not (numbers and asked.family == "auto")


def _only_one_predictor(asked: Specification) -> bool:
    """A randomised predictor that is a term of its own; inside functions and interactions its truths are weighed."""
    if len(asked.randomised) != 1 or _only_outcome(asked) or asked.holds_numbers(asked.randomised[0]):
        return False
    return _terms_of_their_own(asked, asked.randomised)


def _terms_of_their_own(asked: Specification, names: tuple[str, ...]) -> bool:
    try:
        for name in names:
            asked.sides.without(name)
    except EstimationError:
        return False
    return True


def _with_numbers(asked: Specification) -> bool:
    return any(asked.holds_numbers(name) for name in asked.randomised)


def _read_literally(_asked: Specification, fit: BinaryRegression | MultinomialRegression | PredictorRegression) -> Fit:
    return fit.naive()


def _finite_columns(asked: Specification) -> bool:
    return bool(asked.randomised) and not any(asked.holds_numbers(name) for name in asked.randomised)


def _corrected_loss(asked: Specification) -> Fit:
    return corrected_regression(
        asked.formula,
        asked.release,
        family=asked.family,
        link=asked.link or "logit",
        missing=asked.missing,
        tau=asked.tau,
        threshold=asked.threshold,
        method=asked.method,
    )


def _reports_for_truths(asked: Specification, _fit: Any) -> Fit:
    return _corrected_loss(replace(asked, method="naive"))


def _no_groups_to_compare(_asked: Specification, _fit: Any) -> Fit:
    raise EstimationError("a comparison with the naive fit is not there for intercepts of groups")


#: The ways to fit a formula, tried in this order.
APPROACHES = (
    Approach(
        "a randomised yes/no outcome with an intercept for every group",
        _yes_no_outcome,
        ("binary",),
        ("likelihood",),
        grouped_yes_no_outcome,
        _no_groups_to_compare,
        grouped=True,
    ),
    Approach(
        "a randomised yes/no outcome",
        _yes_no_outcome,
        ("binary",),
        ("likelihood",),
        likelihood.yes_no_outcome,
        _read_literally,
        penalised=True,
    ),
    Approach(
        "a randomised outcome of several values",
        _classes_outcome,
        ("multinomial",),
        ("likelihood",),
        likelihood.one_of_k_outcome,
        _read_literally,
    ),
    Approach(
        "a formula with numbers that have noise",
        _with_numbers,
        ("linear", "binary", "multinomial", "ordinal", "poisson", "quantile", "huber", "hinge"),
        ("corrected", "box", "exact", "likelihood", "drcl", "sdrcl", "sl", "naive"),
        _corrected_loss,
        _reports_for_truths,
    ),
    Approach(
        "a formula with randomised columns of finitely many values",
        _finite_columns,
        ("linear", "binary", "multinomial", "ordinal", "poisson", "quantile", "huber", "hinge"),
        ("corrected",),
        _corrected_loss,
        _reports_for_truths,
    ),
    # By name only: it supposes a law of the answer and of the errors, and is badly wrong where they do not hold.
    Approach(
        "a public outcome with a randomised predictor, by likelihood,",
        _only_one_predictor,
        ("linear", "binary"),
        ("likelihood",),
        likelihood.randomised_predictor,
        _read_literally,
    ),
)


def _impossible(_asked: Specification) -> str:
    """Why no approach suits: every kind of randomised column has one."""
    return "no column of the formula was randomised: an ordinary regression needs no correction"
