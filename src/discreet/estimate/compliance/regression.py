"""Regression of an attribute on covariates when some people do not follow the design."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import arguments
from discreet.arguments import Floats
from discreet.domains.columns import as_arrow
from discreet.errors import Argument, EstimationError
from discreet.estimate.channels.channel import Channels
from discreet.estimate.channels.likelihood_intervals import likelihood_ratio
from discreet.estimate.channels.report_codes import report_codes
from discreet.estimate.compliance.estimation import group_channels, refuse_unidentified, side_by_side
from discreet.estimate.compliance.model import Model
from discreet.estimate.compliance.models import checked_evasive, model_named
from discreet.estimate.compliance.result import ComplianceTest
from discreet.estimate.compliance.traits_model import SecondProfile, TraitModel, TraitRows, trait_metric
from discreet.estimate.data.checks import (
    checked_labels,
    checked_length,
    checked_matrix,
    checked_names,
    checked_weights,
)
from discreet.estimate.data.columns import StackedReports
from discreet.estimate.intervals.levels import checked_level, two_sided_quantile
from discreet.estimate.regressions.likelihood.fit import fit_in_memory
from discreet.estimate.regressions.likelihood.links import Link, link_named
from discreet.estimate.regressions.likelihood.multinomial_rows import refuse_collinear
from discreet.estimate.regressions.likelihood.result import LikelihoodFit
from discreet.estimate.reporting import display

#: Shares of the second trait from which a fit starts.
_SHARES = (0.03, 0.3, 0.9)
#: Slopes of it, in standard deviations of a covariate.
_SLOPES = (1.0, -1.0, 3.0, -3.0)
#: How much steeper a trait is made in looking for a higher likelihood far away.
_STEEPER = (3.0, 8.0, 64.0)
_STEP_FITS_BETTER = (
    "so few people show one of the traits that a step in a covariate fits their reports better; the second trait with "
    "an intercept alone has one share for all, and is better known"
)
#: First step toward an end of the interval of a share whose error is not known.
_REACH = 0.02


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class NoncomplianceRegression(LikelihoodFit):
    """A regression under a model of non-compliance; made by :func:`noncompliance_regression`.

    ``coefficients`` are those of the attribute first, then those of the second trait (cheating, honesty, …), whose
    names begin with it.
    """

    model: Model
    link: Link
    rows: TraitRows
    channels: Channels

    @property
    def title(self) -> str:
        """How a summary calls the model."""
        return f"{self.model.title} regression, link {self.link.name}"

    @property
    def _plain_covariance(self) -> str:
        """The observed information: the expected one says how often reports occur, not how sharp these are."""
        return "observed"

    def header(self) -> list[tuple[str, str]]:
        """What a summary says about the model, with the second trait as a share where it is common to all."""
        facts = super().header()
        if self._is_common:
            facts.append((str(self.model.traits[1]).capitalize(), f"{self.second_share:.4f} ({self.second_error:.4f})"))
        return facts

    @property
    def _is_common(self) -> bool:
        """Whether the second trait has the same probability for everybody."""
        return self.rows.Z.shape[1] == 1 and bool(np.ptp(self.rows.Z[:, 0]) == 0) and bool(self.rows.Z[0, 0] != 0)

    def _common(self) -> tuple[float, float]:
        if not self._is_common:
            raise EstimationError("the second trait is not one share that is common to all; see predict_second")
        factor = float(self.rows.Z[0, 0])
        _, share, slope = self.link.parts(np.array([factor * self.coefficients[-1]]))
        error = float(self.std_error[-1])
        spread = abs(factor) * float(slope[0]) * error if math.isfinite(error) else math.nan
        return float(share[0]), spread

    @property
    def second_share(self) -> float:
        """The second trait's probability (cheating, honesty, the unrelated "yes") where it is common to all."""
        return self._common()[0]

    @property
    def second_error(self) -> float:
        """Its standard error by the delta method; nan on the boundary."""
        return self._common()[1]

    def second_interval(self, level: float = 0.95) -> Floats:
        """(low, high) of the common second share by likelihood ratios, which hold on the boundary too."""
        share, error = self._common()
        self._refuse_survey("likelihood-ratio intervals")
        # At a coefficient of −15 and beyond the share is zero, at 15 one, but for rounding.
        share = float(np.round(share, 6)) if self.direction is not None else share
        reach = error if math.isfinite(error) and error > 0 else _REACH
        quantile = two_sided_quantile(checked_level(level))
        return np.array(likelihood_ratio(self._profile, 0, share, reach, quantile))

    @property
    def _profile(self) -> SecondProfile:
        return SecondProfile(self.rows, self.link, self.coefficients[: self.rows.X.shape[1]])

    def predict(self, X: Any) -> Floats:
        """The probability of the first trait for each row of X."""
        design = checked_matrix(X, "X")
        columns = self.rows.X.shape[1]
        if design.shape[1] != columns:
            raise EstimationError(f"X must have {columns} columns, not {design.shape[1]}")
        return self.link.probability(design @ self.coefficients[:columns])

    def predict_second(self, Z: Any) -> Floats:
        """The probability of the second trait for each row of Z."""
        design = checked_matrix(Z, "Z")
        columns = self.rows.Z.shape[1]
        if design.shape[1] != columns or columns == 0:
            raise EstimationError(f"Z must have {columns} columns, not {design.shape[1]}")
        return self.link.probability(design @ self.coefficients[self.rows.X.shape[1] :])

    def honesty_test(self) -> ComplianceTest:
        """Test whether everybody complies: the fit without the second trait against this one.

        The second share must be common to all: with covariates they would have no meaning where everybody complies,
        and the ratio no known distribution. The p value is half that of chi-square with one degree of freedom.
        """
        if self.model.honest is None:
            raise EstimationError(f'the model "{self.model.name}" has no share of people who do not comply')
        if not self._is_common:
            raise EstimationError("the test of honesty needs a second share that is common to all")
        self._refuse_survey("tests of honesty")
        gain = 2 * (self.log_likelihood - self._profile.log_likelihood(0, float(self.model.compliant)))
        return ComplianceTest.of("everybody complies", gain, 1, boundary=True)

    def to_dict(self, level: float = 0.95, method: str | None = None) -> dict[str, Any]:
        """Plain data for JSON."""
        data = super().to_dict(level, method) | {"model": self.model.name, "link": self.link.name}
        if self._is_common:
            found = {"name": self.model.traits[1], "share": self.second_share, "std_error": self.second_error}
            data["second"] = {key: display.plain(value) for key, value in found.items()}
        return data


def noncompliance_regression(
    formula: Any,
    reports: Any,
    groups: Any = None,
    designs: Any = None,
    *,
    model: str = "cheating-detection",
    second: Any = None,
    link: str = "logit",
    weights: Any = None,
    strata: Any = None,
    clusters: Any = None,
    names: Sequence[str] | None = None,
    missing: str = "error",
    evasive: int = 0,
) -> NoncomplianceRegression:
    """Regression of an attribute on covariates when some people do not follow the design.

    Both traits of a model have a linear predictor, ``P(first trait) = G(x'β)`` and ``P(second trait) = G(z'δ)``:

    ====================  ============================  ==================================
    model                 first trait                   second trait
    ====================  ============================  ==================================
    "cheating-detection"  attribute, among the honest   cheating, γ
    "stochastic-lie"      attribute, π                  honesty among carriers, t
    "extended-crosswise"  attribute, π                  none
    "unrelated-question"  attribute, π                  "yes" to the harmless question, u
    ====================  ============================  ==================================

    By default the second one has the same probability for everybody. Fitted by maximum likelihood from several starts;
    standard errors by the observed information, profile intervals on request.

    Parameters
    ----------
    formula : str or array
        ``"cheated ~ age + C(sex)"`` with a release; or the covariates X of every row, with a column of ones for an
        intercept.
    reports : Release, or array of int
        A release whose outcome was collected under several designs; or report codes.
    groups, designs : array, mapping
        Without a release: as for :func:`noncompliance`.
    model : str
        As for :func:`noncompliance`.
    second : str or array, optional
        Covariates of the second trait: ``"~ age"``, or a matrix Z. Default: an intercept.
    link : {"logit", "probit", "cauchit", "cloglog"}
    weights, strata, clusters : array, optional
        As for :func:`binary_regression`. A release knows its own.
    names : sequence of str, optional
        Names of the columns of X.
    missing : {"error", "drop"}
        With a release: what to do with rows in which a needed value is missing.
    evasive : int
        The code of the report that cheaters give.

    Notes
    -----
    With "stochastic-lie" and "unrelated-question" these are the models of RRlog in the R package RRreg (Heck and
    Moshagen 2018), which reports the common share t or u itself (here ``second_share``). For cheating detection RRlog
    models the joint probability of carrying and complying, which need not stay below 1 − γ; here it is the probability
    of carrying among those who comply. Without covariates the two are the same model.

    Where nobody seems to cheat the likelihood is highest at a share of zero, so that its coefficient runs to infinity;
    the status says so, and the other coefficients are those of a fit in which everybody complies.

    Examples
    --------
    >>> from discreet.mechanisms import BinaryResponse
    >>> designs = {"few": BinaryResponse.mangat("2/12"), "many": BinaryResponse.mangat("10/12")}
    >>> reports = np.repeat([0, 1, 0, 1], [191, 373, 294, 398])
    >>> groups = np.repeat(["few", "many"], [564, 692])
    >>> fit = noncompliance_regression(np.ones((1256, 1)), reports, groups, designs, model="stochastic-lie")
    >>> round(float(fit.predict([[1.0]])[0]), 4), round(fit.second_share, 4), round(fit.second_error, 4)
    (0.8707, 0.6358, 0.0173)
    """
    chosen, how = model_named(model), link_named(link)
    evasive = checked_evasive(evasive, chosen)
    missing = arguments.choice(missing, "missing", ("error", "drop"), EstimationError)
    if second is not None and chosen.traits[1] is None:
        raise EstimationError(f'the model "{chosen.name}" has one trait, and no covariates of a second one')
    if isinstance(formula, str):
        from discreet.estimate.compliance.formula import from_release

        given = {"groups": groups, "designs": designs, "weights": weights, "strata": strata, "clusters": clusters}
        for name, value in (given | {"names": names}).items():
            if value is not None:
                raise EstimationError(f"{name} of a release come from its manifest; leave them out with a formula")
        return from_release(formula, reports, chosen, second, how, missing, evasive)
    channels = group_channels(chosen, designs)
    X = checked_matrix(formula, "X")
    header = checked_names(names, formula, X.shape[1])
    Z = np.ones((len(X), 1)) if second is None else checked_matrix(second, "second")
    labels = checked_names(None if second is not None else ["const"], second, Z.shape[1], "the names of second")
    codes = report_codes(reports)
    checked_length(codes, len(X), "reports")
    return fit_traits(
        chosen, how, channels, X, Z, codes, groups, header, labels, evasive, weights=weights, strata=strata,
        clusters=clusters,
    )  # fmt: skip


def fit_traits(
    model: Model,
    link: Link,
    channels: Channels,
    X: Floats,
    Z: Floats,
    codes: NDArray[Any],
    groups: Any,
    names: tuple[str, ...],
    second_names: tuple[str, ...],
    evasive: int,
    **about_rows: Any,
) -> NoncomplianceRegression:
    """Fit what has been read."""
    n = len(X)
    if n == 0:
        raise EstimationError("there are no rows, and nothing to fit")
    if groups is None:
        raise EstimationError("groups must name the group of every row")
    if len(Z) != n:
        raise EstimationError(Argument("second"), f" must have one row per row of X: {n:,}, not {len(Z):,}")
    stacked = StackedReports(channels, "groups").stack(codes, checked_length(as_arrow(groups), n, "groups"), 0)
    group = np.searchsorted(channels.offsets, stacked, side="right") - 1
    rows_of = side_by_side(model, channels, evasive)
    sizes = [one.shape[1] for one in channels.mechanisms]
    refuse_unidentified(rows_of[:, np.repeat(np.bincount(group, minlength=len(sizes)) > 0, sizes)], model)
    padded = np.zeros((len(sizes), 2, 2, max(sizes)))
    for position, one in enumerate(channels.mechanisms):
        padded[position, :, :, : sizes[position]] = model.by_traits(model.rows(one, evasive))
    trait = model.traits[1]
    if trait is None:
        Z, second_names = np.zeros((n, 0)), ()
    else:
        second_names = tuple(f"{trait}: {name}" for name in second_names)
        refuse_collinear(Z, second_names)
    refuse_collinear(X, names)
    rows = TraitRows(
        X,
        Z,
        stacked - channels.offsets[group],
        group,
        padded,
        None if about_rows["weights"] is None else checked_weights(about_rows["weights"], n),
        checked_labels(about_rows["clusters"], n, "clusters"),
        checked_labels(about_rows["strata"], n, "strata"),
    )
    if np.any(padded[group, :, :, rows.report].max(axis=(1, 2)) <= 0):
        raise EstimationError("the reports contain one that the model can never produce")
    eta = float(link.inverse(np.array([model.start]))[0])
    towards = np.linalg.lstsq(Z, np.full(n, eta), rcond=None)[0]
    fields = _climbed(rows, link, names + second_names, np.concatenate([np.zeros(X.shape[1]), towards]))
    return NoncomplianceRegression(**fields, model=model, link=link, rows=rows, channels=channels)


def _climbed(rows: TraitRows, link: Link, names: tuple[str, ...], start: Floats) -> dict[str, Any]:
    """The maximum from several starts, with what every fitted likelihood holds."""
    metric, scale = trait_metric(rows)
    columns = rows.X.shape[1]

    def beyond(theta: Floats) -> list[Floats]:
        """The same with steeper traits: of a few rows a step can fit noise better than any slope nearby."""
        blocks = [np.arange(theta.size) < columns, np.arange(theta.size) >= columns]
        return [np.where(block, factor * theta, theta) for block in blocks if block.any() for factor in _STEEPER]

    more = _starts(rows, link)
    return fit_in_memory(TraitModel(link), rows, metric, scale, names, start, more, beyond, _STEP_FITS_BETTER)


def _starts(rows: TraitRows, link: Link) -> list[Floats]:
    """Where the second trait is rare or frequent, rises or falls with a covariate, and the first one is fitted to that.

    The likelihood has several maxima: people who carry and do not comply look like people who do not carry.
    """
    n, columns = rows.Z.shape
    if columns == 0:
        return []
    spread = rows.Z.std(axis=0)
    profile, starts = SecondProfile(rows, link, np.zeros(rows.X.shape[1])), []
    for share in _SHARES:
        eta = float(link.inverse(np.array([share]))[0])
        level = np.linalg.lstsq(rows.Z, np.full(n, eta), rcond=None)[0]
        beta = profile.best(share)[1]
        moves = [np.zeros(columns)]
        if columns > 1:
            varying = np.flatnonzero(spread > 0)
            moves += [slope * np.eye(columns)[j] / spread[j] for j in varying for slope in _SLOPES]
        starts += [np.concatenate([beta, level + move]) for move in moves]
    return starts
