"""The error of any estimate, by replicate weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from discreet import arguments
from discreet.arguments import Floats
from discreet.errors import Argument, DiscreetError, EstimationError
from discreet.estimate.bounds import FrequencyBounds, GroupedBounds, Range, Ranges
from discreet.estimate.data.rows import is_release
from discreet.estimate.intervals.levels import checked_level, two_sided_quantile
from discreet.estimate.proportions.quantile_result import Quantiles
from discreet.estimate.replication.weights import Bootstrap, Jackknife, Released, Replicates, Reweighted, read_units
from discreet.estimate.reporting import display
from discreet.estimate.reporting.result import Listed, Result, frozen
from discreet.estimate.reporting.table import Column, labels
from discreet.estimate.sampling.calibration import Calibration
from discreet.reading import Release


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Replicated(Listed):
    """An estimate with the error that its replicates show. Made by :func:`discreet.estimate.replicate`.

    Attributes
    ----------
    estimate : array
        That of the full sample, one number per quantity.
    names : tuple of str
        What each is.
    replicates : array (R, quantities)
        The estimates under the replicate weights.
    coefficients : array (R,)
        ``c_r`` in ``V = Σ_r c_r (θ̂_r − θ̂)(θ̂_r − θ̂)ᵀ``.
    method : {"jackknife", "bootstrap", "brr"}
    what : str
        The heading of the estimate itself.
    degrees_of_freedom : float
    notes : tuple of str
    """

    estimate: Floats
    names: tuple[Any, ...]
    replicates: Floats
    coefficients: Floats
    method: str
    what: str
    degrees_of_freedom: float
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for array in (self.estimate, self.replicates, self.coefficients):
            array.flags.writeable = False

    @cached_property
    def covariance(self) -> Floats:
        """``Σ_r c_r (θ̂_r − θ̂)(θ̂_r − θ̂)ᵀ``."""
        centred = self.replicates - self.estimate
        return frozen((centred.T * self.coefficients) @ centred)

    @cached_property
    def std_error(self) -> Floats:
        """Standard errors."""
        return frozen(np.sqrt(np.diag(self.covariance)))

    def interval(self, level: float = 0.95, method: str | None = None) -> Floats:
        """Confidence intervals, one (low, high) row per quantity.

        Parameters
        ----------
        level : float
        method : {"wald", "percentile"}, optional
            "wald", the default: estimate ± quantile of Student's t × standard error. "percentile", of a bootstrap: the
            middle share of the replicates.
        """
        level = checked_level(level)
        method = arguments.choice(
            "wald" if method is None else method, "the interval method", ("wald", "percentile"), EstimationError
        )
        if method == "wald":
            reach = two_sided_quantile(level, self.degrees_of_freedom) * self.std_error
            return np.stack([self.estimate - reach, self.estimate + reach], axis=1)
        if self.method != "bootstrap":
            raise EstimationError(f"percentile intervals are for the bootstrap; the method here is {self.method}")
        return np.quantile(self.replicates, [(1 - level) / 2, (1 + level) / 2], axis=0).T

    def heading(self) -> str:
        """What was estimated, and how its error."""
        return f"{self.what}; errors by {self.method}, {len(self.replicates):,} replicates"

    def _labels(self) -> Sequence[Any]:
        return self.names

    def _write(self, value: float) -> str:
        return display.measured(value)

    _rows_named, _measured = "", True

    def _label_columns(self, shown: int) -> list[Column]:
        return [labels("quantity", [display.label_text(name) for name in self.names[:shown]])]

    def _described(self) -> dict[str, Any]:
        about = {"kind": "replicated", "what": self.what, "method": self.method, "replicates": len(self.replicates)}
        return about | {"labels": [display.plain(name) for name in self.names]}


METHODS = ("auto", "jackknife", "bootstrap", "brr")
#: Replicates that are made unless a number is given.
REPLICATES = 100
#: More would take long for most estimates, and say hardly more.
_MOST = 10_000
#: The share of replicates that may fail to converge.
_FAILURES = 0.05


def replicate(
    statistic: Callable[[Any], Any],
    release: Any,
    method: str = "auto",
    *,
    replicates: int | None = None,
    weights: Sequence[str] | None = None,
    scale: float | None = None,
    seed: int = 1,
) -> Replicated:
    """The error of any estimate, from its values under replicate weights.

    ``V = Σ_r c_r (θ̂_r − θ̂)(θ̂_r − θ̂)ᵀ``; the weights and factors are in :mod:`.weights`. A report is randomised once and
    moves with its row, so the replicates show the errors of the sampling and of the randomisation together. Of a
    release under calibrated weights (``estimate.calibrate(…).release``) every replicate is calibrated anew.

    Parameters
    ----------
    statistic : callable
        Takes a release and returns an estimate, or numbers: ``lambda r: estimate.mean(r, "hours", by="region")``.
        Weights must be left to the release.
    release : Release
    method : {"auto", "jackknife", "bootstrap", "brr"}
        "auto": the replicate weights that the manifest declares, else the jackknife. "jackknife" and "bootstrap" make
        replicates from the strata, clusters and weights of the manifest; together with ``weights``, and for "brr"
        (balanced repeated replication), the method says how the given ones were made.
    replicates : int, optional
        How many are made, 100 by default. Where there are more units than that, the jackknife leaves out random groups
        of them.
    weights : sequence of str, optional
        Public columns with replicate weights.
    scale : float, optional
        ``c_r`` of given weights, where it is not the usual one: 1/(R(1 − k)²) for Fay's method.
    seed : int
        Of random groups and of the bootstrap.

    Returns
    -------
    Replicated

    Notes
    -----
    The jackknife is refused for quantiles, where it is not consistent (Efron 1982, section 3.4): use the bootstrap.
    What a design only confines to a range has no error, and is refused. Weights that an agency made with a
    finite-population correction correct the randomisation's error too, which is then understated by the sampling
    fraction; where the release declares such a correction, or the factor is below the usual one, a note says so.
    """
    if not callable(statistic):
        raise EstimationError('replicate takes a function of a release: lambda r: estimate.mean(r, "hours")')
    if not is_release(release):
        raise EstimationError("replicate takes a release: replicate(lambda r: estimate.mean(r, …), release)")
    method = arguments.choice(method, "method", METHODS, EstimationError)
    if replicates is not None:
        replicates = arguments.whole(replicates, "replicates", EstimationError, least=2, most=_MOST)
    seed = arguments.whole(seed, "seed", EstimationError, least=0, most=2**63)
    calibration = getattr(release, "calibration", None)
    base = release if calibration is None else calibration.source
    sets, named = _replicates(base, method, replicates, weights, scale, seed)
    full = statistic(release)
    _refuse(full, named)
    estimate, names = _numbers(full)
    if not np.isfinite(estimate).all():
        raise EstimationError("the estimate itself is not finite: there is nothing to replicate")
    found, failed = [], 0
    for one in range(sets.coefficients.size):
        value = _once(statistic, Reweighted(base, sets, one), calibration, names)
        failed += value is None
        found.append(np.full(estimate.size, np.nan) if value is None else value)
    if failed > _FAILURES * len(found):
        raise EstimationError(
            f"{failed:,} of {len(found):,} replicates have no estimate (a fit that does not converge, a group that is "
            "empty): their spread says nothing"
        )
    kept = np.isfinite(found).all(axis=1)
    notes = (*getattr(full, "notes", ()), *_notes(base, sets, named, np.array(found)[kept]))
    if failed:
        notes += (f"{failed:,} of {len(found):,} replicates without an estimate left out",)
    return Replicated(
        estimate=np.array(estimate),
        names=names,
        replicates=np.array(found)[kept],
        coefficients=sets.coefficients[kept] * (len(found) / int(kept.sum())),
        method=named,
        what=full.heading() if isinstance(full, Result) else "Estimate",
        degrees_of_freedom=sets.degrees_of_freedom,
        notes=notes,
    )


def _refuse(full: Any, method: str) -> None:
    """What no replicates show the error of."""
    if isinstance(full, (Range, Ranges, FrequencyBounds, GroupedBounds)):
        raise EstimationError(
            "the design does not identify this quantity but confines it to a range, which has no standard error: ask "
            "for it without replication, for the range with its sampling error"
        )
    if isinstance(full, Quantiles) and method == "jackknife":
        raise EstimationError("the jackknife does not work for quantiles; use ", Argument('method="bootstrap"'))


def _notes(release: Release, sets: Replicates, method: str, found: Floats) -> tuple[str, ...]:
    """What a reader should know about these replicates."""
    notes: tuple[str, ...] = ()
    if isinstance(sets, Released):
        usual = _usual_scale(method, sets.coefficients.size)
        if release.survey.fpc is not None or sets.scale < usual:
            notes += (
                "the replicate weights are taken as they are: a finite-population correction in them, or in their "
                "factor, corrects the error of the randomisation too, which it must not, and states too little",
            )
    elif isinstance(sets, Jackknife) and sets.units.is_grouped:
        share = 1 / np.sqrt(2 * sets.degrees_of_freedom)
        notes += (
            f"units were left out in {sets.units.count:,} random groups: the standard error itself varies by about "
            f"{share:.0%} with their draw; more replicates make it steadier",
        )
    if not isinstance(sets, Released) and release.survey.fpc is not None:
        notes += ("the finite-population correction is not used by replicates: the error is a little too large",)
    if found.size and (np.ptp(found, axis=0) == 0).any():
        notes += (
            "no replicate moved the estimate: an error of 0 says that it is one of few values, not that it is sure",
        )
    return notes


def _usual_scale(method: str, count: int) -> float:
    """``c_r`` of given weights where nothing else is said."""
    return (count - 1) / count if method == "jackknife" else 1 / count


def _replicates(
    release: Release, method: str, count: int | None, weights: Sequence[str] | None, scale: float | None, seed: int
) -> tuple[Replicates, str]:
    """The sets of weights, and the name of the method."""
    survey = release.survey
    if weights is None and survey.replicates and method in ("auto", survey.replication) and count is None:
        weights, method = survey.replicates, str(survey.replication)
        scale = survey.replicate_scale if scale is None else scale
    if weights is not None:
        if method == "auto" or count is not None:
            raise EstimationError(
                "weights go with the method that made them, as in ", Argument('method="bootstrap"'), ", and no number"
            )
        return _given(release, method, weights, scale), method
    if scale is not None or method == "brr":
        raise EstimationError("brr and scale are for replicate weights that are given: name their columns in weights")
    units, count = read_units(release), REPLICATES if count is None else count
    if method == "bootstrap":
        return Bootstrap(units, count, seed), method
    if survey.cluster is not None and units.count <= max(count, 2 * REPLICATES):
        return Jackknife(units), "jackknife"
    return Jackknife(units.grouped(count, np.random.default_rng(seed))), "jackknife"


def _given(release: Release, method: str, weights: Sequence[str], scale: float | None) -> Released:
    names = tuple(
        arguments.text(name, "weights", EstimationError)
        for name in arguments.listed(weights, "weights", EstimationError)
    )
    if len(names) < 2:
        raise EstimationError("weights must name two columns of replicate weights at least")
    public = {column.name for column in release.manifest.columns if column.role != "private"}
    for name in names:
        if name not in public:
            raise EstimationError(f'weights: the release has no public column "{name}"')
    if scale is None:
        scale = _usual_scale(method, len(names))
    # A bad number is refused here, not taken for a replicate that fails.
    return Released.of(release, names, arguments.number(scale, "scale", EstimationError, above=0))


def _once(
    statistic: Callable[[Any], Any], release: Release, calibration: Calibration | None, names: tuple[Any, ...]
) -> Floats | None:
    """The estimate of one replicate, calibrated like the sample; None where there is none."""
    try:
        found = statistic(release if calibration is None else calibration.repeated(release).release)
    except DiscreetError:  # the full sample has one: too little was left
        return None
    if not getattr(found, "converged", True):
        return None
    value, labels = _numbers(found)
    return value if labels == names and np.isfinite(value).all() else None


def _numbers(found: Any) -> tuple[Floats, tuple[Any, ...]]:
    """An estimate as a list of numbers with their names."""
    if isinstance(found, Result):
        value = np.ravel(np.asarray(found.estimate, float))
        names = tuple(display.label_text(label) for label in found._labels())
    else:
        value, names = np.ravel(arguments.floats(found, "the statistic", EstimationError, finite=False)), ()
    if len(names) != value.size:
        names = tuple(str(place + 1) for place in range(value.size))
    return value, names
