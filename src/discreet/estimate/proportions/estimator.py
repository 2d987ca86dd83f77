"""Frequencies from evidence: the unbiased estimate or maximum likelihood, with its spread and what to know about it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.errors import EstimationError
from discreet.estimate.channels.channel import Channels
from discreet.estimate.channels.product import PairedChannels
from discreet.estimate.proportions.result import Frequencies
from discreet.estimate.sampling.finite_population import FiniteSample
from discreet.estimate.sampling.share_covariance import Multinomial, Randomisation, Spread
from discreet.estimate.sampling.weighted_counts import Evidence
from discreet.mechanisms.inverse import Inverse

if TYPE_CHECKING:
    from discreet.estimate.channels.joint import JointChannels


def estimate_from(
    evidence: Evidence,
    channels: Channels | PairedChannels | JointChannels,
    method: str = "unbiased",
    target: str = "population",
    *,
    notes: tuple[str, ...] = (),
    column: str | None = None,
) -> Frequencies:
    """The estimate from evidence that has been collected."""
    if evidence.n == 0:
        raise EstimationError("there are no reports to estimate from (n = 0)")
    told = [*notes, *evidence.notes]
    correction: Inverse | None
    if method == "mle" and isinstance(channels, Channels):
        estimate, correction, shares = _maximum_likelihood(evidence, channels, told)
    else:
        shares = evidence.shares
        correction = channels.correction(shares) if isinstance(channels, Channels) else channels.inverse
        estimate = correction.of_counts(evidence.counts) if evidence.weights is None else correction.apply(shares)
        _note_combined(channels, target, told)
    spread = _spread(evidence, channels, correction, shares, target, told)
    if correction is not None and target == "population" and evidence.n == evidence.counts.max():
        told.append("all reports are the same: the plug-in standard error is zero and says nothing")
    return Frequencies(
        estimate=estimate,
        channels=channels,
        evidence=evidence,
        correction=correction,
        spread=spread,
        method=method,
        target=target,
        notes=tuple(told),
        column=column,
    )


def _maximum_likelihood(
    evidence: Evidence, channels: Channels, told: list[str]
) -> tuple[NDArray[np.float64], Inverse | None, NDArray[np.float64]]:
    """Estimate, the correction it amounts to (None when it is not unique) and the fitted report shares."""
    weights = np.asarray(evidence.counts, float) if evidence.weights is None else evidence.weights
    fit = channels.fit(weights)
    if len(channels.mechanisms) > 1:
        told.append("maximum likelihood takes the frequencies to be the same under every design")
    if not channels.is_identified(evidence.shares):
        told.append(
            "the design does not tell all values apart: this maximum of the likelihood is one of many, and has no "
            "standard errors"
        )
        return fit.frequencies, None, evidence.shares
    if fit.on_boundary:
        if channels.line is not None:
            valid = "intervals from report shares (wilson, clopper-pearson, chebyshev) do"
        elif evidence.survey is None and evidence.weights is None:
            valid = f"{'likelihood-ratio' if channels.truths == 2 else 'score'} and chebyshev intervals do"
        else:
            valid = "with survey weights, strata or clusters the unbiased estimate is the safer one"
        told.append(
            "the estimate is on the boundary of the simplex, where normal theory (standard errors, wald) does not "
            f"hold; {valid}"
        )
    correction = channels.efficient(fit.frequencies, evidence.shares)
    return fit.frequencies, correction, channels.expected_shares(fit.frequencies, evidence.shares)


def _note_combined(channels: Channels | PairedChannels | JointChannels, target: str, told: list[str]) -> None:
    """Say what an unbiased estimate from designs that are identified only together rests on."""
    if not isinstance(channels, Channels) or not channels.only_together:
        return
    if target == "table":
        raise EstimationError(
            "these designs tell the values apart only together, and then the variance given the table is not known; "
            'use target="population"'
        )
    told.append(
        "the designs tell all values apart only together: the estimate combines them, and takes the frequencies to be "
        "the same under every design"
    )


def _spread(
    evidence: Evidence,
    channels: Channels | PairedChannels | JointChannels,
    correction: Inverse | None,
    shares: NDArray[np.float64],
    target: str,
    told: list[str],
) -> Spread:
    if target == "population":
        if evidence.finite is not None and correction is not None:
            return _finite(evidence, evidence.finite, channels, correction)
        return Multinomial(shares, evidence.n) if evidence.survey is None else evidence.survey
    spread = Randomisation(evidence.squares, evidence.total)
    if correction is not None and np.any(spread.variances(correction) < 0):
        told.append(
            "a plug-in variance came out negative, so the frequencies in the variance formula are the "
            "maximum-likelihood ones"
        )
        fitted = channels.fit(evidence.squares).frequencies
        expected = channels.expected_shares(fitted, evidence.squares / evidence.squares.sum())
        return Randomisation(expected * evidence.squares.sum(), evidence.total)
    return spread


def _finite(
    evidence: Evidence,
    spread: FiniteSample,
    channels: Channels | PairedChannels | JointChannels,
    correction: Inverse,
) -> FiniteSample:
    """The spread of a sample without replacement; the randomisation's share of it at fitted frequencies if it must."""
    if not np.any(spread.variances(correction) < 0):
        return spread.of(correction)
    fitted = channels.fit(spread.randomised).frequencies
    total = float(spread.randomised.sum())
    return replace(spread, randomised=channels.expected_shares(fitted, evidence.shares) * total).of(correction)
