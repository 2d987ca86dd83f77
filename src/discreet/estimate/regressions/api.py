"""Regression by formula on a release: the function for users. How it is done is in :mod:`.approaches`."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, overload

from discreet import arguments, limits
from discreet.errors import Argument, EstimationError
from discreet.estimate.data.survey_design import fixed_weights_note
from discreet.estimate.regressions.approaches import Fit, chosen
from discreet.estimate.regressions.comparison import Comparison
from discreet.estimate.regressions.comparison import compare as side_by_side
from discreet.estimate.regressions.likelihood.firth import checked_penalty
from discreet.estimate.regressions.likelihood.links import LINKS
from discreet.estimate.regressions.request import Specification
from discreet.estimate.sampling.repeated import refuse_repeated_columns
from discreet.reading import Release

FAMILIES = ("auto", "linear", "binary", "multinomial", "ordinal", "poisson", "quantile", "huber", "hinge")
METHODS = ("auto", "likelihood", "corrected", "exact", "box", "drcl", "sdrcl", "sl", "naive")
#: A regression is about how the population came about, of which the population itself is a sample.
_NO_CORRECTION = (
    "the finite-population correction is not used: coefficients describe how the population came about, not those who "
    "happen to be in it"
)


@overload
def regression(
    formula: str,
    release: Release,
    family: str = ...,
    link: str | None = ...,
    missing: str = ...,
    method: str = ...,
    *,
    tau: float | None = ...,
    threshold: float | None = ...,
    penalty: str | None = ...,
    compare: Literal[False] = False,
    level: float = ...,
) -> Fit: ...


@overload
def regression(
    formula: str,
    release: Release,
    family: str = ...,
    link: str | None = ...,
    missing: str = ...,
    method: str = ...,
    *,
    tau: float | None = ...,
    threshold: float | None = ...,
    penalty: str | None = ...,
    compare: bool,
    level: float = ...,
) -> Fit | Comparison: ...


def regression(
    formula: str,
    release: Release,
    family: str = "auto",
    link: str | None = None,
    missing: str = "error",
    method: str = "auto",
    *,
    tau: float | None = None,
    threshold: float | None = None,
    penalty: str | None = None,
    compare: bool = False,
    level: float = 0.95,
) -> Fit | Comparison:
    """Fit a regression on a release, corrected for how its columns were randomised.

    What can be corrected for, and how:

    * a randomised *outcome* with finitely many values, public predictors: the likelihood of the reports;
    * *numbers* that were released with zero-inflated Laplace noise, on either side, in functions and interactions and
      beside other randomised columns: a loss corrected inside the box of the numbers. Numbers of one block that are
      predictors beside public columns also have the exact correction, and a likelihood by name;
    * randomised *predictors* with finitely many values, one or several, also with a randomised outcome and inside
      functions and interactions: a loss corrected for the randomisation, which assumes nothing about the predictors'
      law. With one predictor and a public outcome there is by name also a likelihood that mixes over the unknown truth:
      it assumes a logit law of the predictor, and normal errors of a number;
    * a randomised yes/no outcome of people in *groups* with intercepts of their own, ``"y ~ x + (1 | id)"``: the
      marginal likelihood, by adaptive quadrature.

    Parameters
    ----------
    formula : str
        ``"cheated ~ age + C(sex)"``. A randomised predictor is a term of its own. The first declared value of a
        randomised answer is the reference.
    release : Release
        Opened with `Release.open` or made by `release` or `Release.from_reports`.
    family : {"auto", "linear", "binary", "multinomial", "ordinal", "poisson", "quantile", "huber", "hinge"}
        "auto": "binary" for an outcome with two values, "multinomial" for a randomised one with more that are
        no unbiased numbers, else "linear".
        "ordinal" is the model of proportional odds.
    link : {"logit", "probit", "cauchit", "cloglog"}, optional
        For a yes/no outcome, logit by default.
    missing : {"error", "drop"}
        What to do with rows in which a needed value is missing. Dropped rows are counted and reported.
    method : {"auto", "likelihood", "corrected", "exact", "box", "drcl", "sdrcl", "sl", "naive"}
        "auto" is the likelihood where only the outcome is randomised, with finitely many answers, and the family has
        one, else "corrected": the default correction of every kind of column. For numbers with noise that is "box" or
        "exact", chosen by the design alone; these and the others are the methods of :func:`m_estimate`. The summary
        says which.
    tau : float, optional
        The quantile of family "quantile"; the median by default.
    threshold : float, optional
        Of family "huber", in the units of the outcome; 1.345 residual spreads by default.
    penalty : {None, "firth"}
        For a randomised yes/no outcome: Firth's penalised likelihood, see :func:`binary_regression`.
    compare : bool
        Return a :class:`Comparison` of the corrected and the naive fit instead.
    level : float
        Confidence level of a comparison.

    Returns
    -------
    BinaryRegression, MultinomialRegression, PredictorRegression, MEstimate or Comparison
        All fits have `.summary()`, `.coefficients`, `.std_error`, `.interval()`, `.to_dict()`.
    """
    release = arguments.instance(release, Release, "release", EstimationError)
    family = arguments.choice(family, "family", FAMILIES, EstimationError)
    if link is not None:
        link = arguments.choice(link, "link", tuple(LINKS), EstimationError)
    missing = arguments.choice(missing, "missing", ("error", "drop"), EstimationError)
    method = arguments.choice(method, "method", METHODS, EstimationError)
    compare = arguments.flag(compare, "compare", EstimationError)
    if tau is not None:
        if family != "quantile":
            raise EstimationError(Argument("tau"), ' belongs to family "quantile"')
        tau = arguments.number(tau, "tau", EstimationError, above=0, below=1)
    if threshold is not None:
        if family != "huber":
            raise EstimationError(Argument("threshold"), ' belongs to family "huber"')
        threshold = arguments.number(threshold, "threshold", EstimationError, above=0, most=limits.LARGEST_NUMBER)
    asked = Specification(
        formula, release, family, link, method, _policy(missing), checked_penalty(penalty), tau, threshold
    )
    refuse_repeated_columns(release, list(dict.fromkeys([asked.outcome, *asked.randomised_predictors])))
    approach = chosen(asked)
    fit = approach.fit(asked)
    if notes := _predictor_notes(asked):
        fit = replace(fit, notes=(*fit.notes, *notes))
    if release.survey.fpc is not None:
        fit = replace(fit, notes=(*fit.notes, _NO_CORRECTION))
    if fixed := fixed_weights_note(release):
        fit = replace(fit, notes=(*fit.notes, *fixed))
    return side_by_side({"corrected": fit, "naive": approach.naive(asked, fit)}, level) if compare else fit


def _predictor_notes(asked: Specification) -> list[str]:
    """What is to be said of predictors whose numbers were rounded at random: a slope is that on the rounded numbers."""
    blocks = {name: asked.block(name) for name in asked.randomised_predictors}
    return [f'"{name}": {note}' for name, block in blocks.items() if block is not None for note in block.value_notes]


def _policy(missing: str) -> Literal["error", "drop"]:
    return "drop" if missing == "drop" else "error"
