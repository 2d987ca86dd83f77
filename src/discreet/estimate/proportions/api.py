"""The frequency of every true value, from randomised reports."""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet import arguments
from discreet.errors import EstimationError
from discreet.estimate.bounds import FrequencyBounds, GroupedBounds, bounds_from, bounds_of
from discreet.estimate.channels.channel import Channels
from discreet.estimate.data.source import listed_source
from discreet.estimate.data.survey_design import group_names, left_out_note
from discreet.estimate.intervals.contamination import checked_share
from discreet.estimate.proportions.estimator import estimate_from
from discreet.estimate.proportions.grouped import GroupedFrequencies
from discreet.estimate.proportions.intervals import suspected
from discreet.estimate.proportions.result import Frequencies
from discreet.estimate.sampling.report_totals import collect, silent_note
from discreet.estimate.sampling.weighted_counts import Evidence


@overload
def frequencies(  # type: ignore[overload-overlap]  # "bounds" is the one method with a result of its own
    reports: Any = ...,
    mechanism: Any = ...,
    *,
    counts: ArrayLike | None = ...,
    weights: Any = ...,
    strata: Any = ...,
    clusters: Any = ...,
    by: None = None,
    designs: Any = ...,
    labels: Any = ...,
    method: Literal["bounds"],
    target: str = ...,
    fpc: Any = ...,
    contamination: float = ...,
) -> FrequencyBounds: ...


@overload
def frequencies(
    reports: Any = ...,
    mechanism: Any = ...,
    *,
    counts: ArrayLike | None = ...,
    weights: Any = ...,
    strata: Any = ...,
    clusters: Any = ...,
    by: None = None,
    designs: Any = ...,
    labels: Any = ...,
    method: str = ...,
    target: str = ...,
    fpc: Any = ...,
    contamination: float = ...,
) -> Frequencies: ...


@overload
def frequencies(
    reports: Any = ...,
    mechanism: Any = ...,
    *,
    counts: ArrayLike | None = ...,
    weights: Any = ...,
    strata: Any = ...,
    clusters: Any = ...,
    by: Any,
    designs: Any = ...,
    labels: Any = ...,
    method: str = ...,
    target: str = ...,
    fpc: Any = ...,
    contamination: float = ...,
) -> Frequencies | GroupedFrequencies | GroupedBounds: ...


def frequencies(
    reports: Any = None,
    mechanism: Any = None,
    *,
    counts: ArrayLike | None = None,
    weights: Any = None,
    strata: Any = None,
    clusters: Any = None,
    by: Any = None,
    designs: Any = None,
    labels: Any = None,
    method: str = "unbiased",
    target: str = "population",
    fpc: Any = None,
    contamination: float = 0.0,
) -> Frequencies | FrequencyBounds | GroupedFrequencies | GroupedBounds:
    """How frequent each true value is, with its error.

    The unbiased estimate is ``f̂ = A p̂`` with p̂ the report shares and A the linear map that undoes the channel on
    average; its covariance is ``A (diag(p̂) − p̂ p̂ᵀ) Aᵀ/n``. For a yes/no answer this is
    ``π̂ = (p00 − 1 + share of yes)/(p00 + p11 − 1)`` (Warner 1965; Holohan, Leith and Mason 2017).

    Parameters
    ----------
    reports : array of int or bool, or Release
        Report codes; or a release, whose manifest says how each column was randomised. A release is read batch
        by batch, in bounded memory.
    mechanism : FiniteMechanism, dict or str
        What randomised the reports; with a release, the name of the column, private or public. A dict from names to
        mechanisms, together with ``designs``, when rows were asked in different ways.
    counts : array of int, optional
        How often each report occurred, in place of the reports.
    weights : array or column name, optional
        Positive survey weights. Frequencies are then Hájek's, totals Horvitz and Thompson's. With a release,
        weights, strata and clusters default to what the manifest declares; False ignores it.
    strata, clusters : array or column name, optional
        The survey's strata and clusters (cluster labels are read within their stratum). The variance is
        linearised, with the first stage taken as with replacement.
    by : array or column name, or a list of either; optional
        A public grouping: one result per group, or per combination of groups that occurs, labelled by tuples. Rows
        without a label are a group of their own, "(missing)". A release whose rows were put into random order takes
        column names only, here and for weights, strata and clusters.
    designs : array, optional
        The name of each row's design.
    labels : Domain or sequence, optional
        The true values in code order, for printing. A release knows them.
    method : {"unbiased", "mle", "bounds"}
        "mle": maximum likelihood on the simplex; never negative, but biased near the boundary. "bounds": for a
        channel that does not tell all values apart, the range of each frequency over all distributions that go
        with the reports, sampling error included.
    target : {"population", "table"}
        "population": people are a sample, so sampling and randomisation both count. "table": the people are
        all there are, and only the randomisation is random; strata and clusters then play no part.
    fpc : column name, array or number, optional
        For a sample without replacement: how many clusters (rows, where there are no clusters) the stratum of each row
        has in the population, or which share of them was sampled. The sampling error is corrected for it, the
        randomisation's is not; see :mod:`discreet.estimate.sampling.finite_population`.
    contamination : float
        Up to this share of the reports may have been made up: every interval is widened to hold all the same, as by
        :meth:`Frequencies.contaminated`, for the frequencies among all people. Estimates and standard errors stay.

    Returns
    -------
    Frequencies, or FrequencyBounds; with groups GroupedFrequencies, or GroupedBounds

    Raises
    ------
    NotIdentifiedError
        The channel does not tell all values apart; they are named, with what to do instead.
    EstimationError
        What is given does not make an estimate.

    Examples
    --------
    >>> from discreet.mechanisms import BinaryResponse
    >>> result = frequencies(counts=[600, 400], mechanism=BinaryResponse.warner("3/4"), labels=["no", "yes"])
    >>> print(result)
    Frequencies of the population: unbiased, n = 1,000
    <BLANKLINE>
    value  estimate  std. error  95 % interval (wilson)
    no       0.7000      0.0310        0.6386 to 0.7599
    yes      0.3000      0.0310        0.2401 to 0.3614
    """
    arguments.choice(method, "method", ("unbiased", "mle", "bounds"), EstimationError)
    arguments.choice(target, "target", ("population", "table"), EstimationError)
    contamination = checked_share(contamination)
    if contamination and method != "unbiased":
        raise EstimationError('contamination goes with method="unbiased", a mean of what the reports count')
    aside = {"weights": weights, "strata": strata, "clusters": clusters, "by": by, "fpc": fpc}
    if counts is not None:
        if any(given is not None for given in (reports, designs, *aside.values())):
            raise EstimationError(
                "counts stand alone: weights, strata, clusters, fpc, groups and designs go with reports"
            )
        channels = Channels.of(mechanism, labels)
        counted = Evidence(_checked_counts(counts, channels))
        if method == "bounds":
            return bounds_from(counted, channels, target)
        return suspected(estimate_from(counted, channels, method, target), contamination)
    if reports is None:
        raise EstimationError("either reports or counts must be given")
    source = listed_source(reports, mechanism, designs, labels)
    channels, name = source.channels, source.name
    design = source.survey(target, **aside)
    if method == "bounds":
        return bounds_of(source, design)
    evidence, left_out = collect(source, design)
    notes = (*left_out_note(left_out), *source.notes)
    if by is None:
        result = estimate_from(evidence[0][1], channels, method, target, notes=notes, column=name)
        return suspected(result, contamination)
    results = {label: estimate_from(part, channels, method, target, column=name) for label, part in evidence if part.n}
    results = {label: suspected(result, contamination) for label, result in results.items()}
    notes += silent_note(evidence)
    return GroupedFrequencies(results=results, by=group_names(by, source.release), notes=notes)


def _checked_counts(counts: ArrayLike, channels: Channels) -> NDArray[np.int64]:
    given = arguments.array(counts, "counts", EstimationError)
    if len(channels.mechanisms) > 1:
        raise EstimationError("counts go with one mechanism; several designs need the reports")
    if given.shape != (channels.reports,):
        raise EstimationError(
            f"counts must have one entry for each of the {channels.reports:,} reports, not the shape {given.shape}"
        )
    if given.dtype.kind not in "iuf" or not np.all((given >= 0) & (given == np.floor(given)) & (given < 2**53)):
        raise EstimationError("counts must be whole numbers ≥ 0")
    return given.astype(np.int64)
