"""What is given to an M-estimate, checked: reports, public covariates, outcome, and how each was randomised."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import arguments
from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.channels.right_inverse import right_inverse
from discreet.estimate.data.checks import checked_labels, checked_weights
from discreet.estimate.sampling.linearization import Linearization
from discreet.estimate.sampling.unit_totals import UnitTotals
from discreet.mechanisms import FiniteMechanism, Mechanism
from discreet.mechanisms.laplace import ZeroInflatedLaplace

METHODS = ("auto", "exact", "box", "likelihood", "drcl", "sdrcl", "sl", "naive")


@dataclass(frozen=True)
class SurveyDesign:
    """How people were sampled: weights with a mean of one, and the labels of their stratum and cluster."""

    weights: Floats | None = None
    strata: NDArray[Any] | None = None
    clusters: NDArray[Any] | None = None

    @property
    def plain(self) -> bool:
        """Whether rows are a simple random sample."""
        return self.weights is None and self.strata is None and self.clusters is None

    @classmethod
    def of(cls, n: int, weights: Any, strata: Any, clusters: Any) -> SurveyDesign:
        """What was given about n rows, checked."""
        if weights is not None:
            weights = checked_weights(weights, n)
            weights = weights / weights.mean()
        return cls(weights, checked_labels(strata, n, "strata"), checked_labels(clusters, n, "clusters"))

    def meat(self, scores: Floats) -> Floats:
        """The second moment of the scores of rows, per row; summed by cluster and centred by stratum."""
        return self.middle(scores)[0]

    def middle(self, scores: Floats) -> tuple[Floats, Linearization | None]:
        """The same, and how rows were sampled where there are clusters or strata."""
        n = len(scores)
        if self.strata is None and self.clusters is None:
            return np.asarray(scores.T @ scores / max(n - 1, 1)), None
        sums = UnitTotals(scores.shape[1])
        sums.add(self.strata, self.clusters, scores)
        sampling = sums.finished()
        assert sampling is not None
        return sampling.scores / n, sampling

    @property
    def described(self) -> tuple[str, ...]:
        """What a summary says of it."""
        used = [("weights", self.weights), ("strata", self.strata), ("clusters", self.clusters)]
        names = [name for name, given in used if given is not None]
        return (f"the survey's {' and '.join(names)} are in the estimate and its errors",) if names else ()


@dataclass(frozen=True)
class Sample:
    """Checked arrays: private columns first, then public ones."""

    private: Floats
    public: Floats
    mechanism: ZeroInflatedLaplace
    outcome: Floats | None
    weights: Floats | None  # one column per true outcome, undoing its randomisation
    outcome_noise: ZeroInflatedLaplace | None
    joint: bool  # the outcome is a coordinate of the same records
    design: SurveyDesign = field(default_factory=SurveyDesign)
    #: What was given: the mechanism of all coordinates, and the mechanism or the place of the outcome.
    whole: ZeroInflatedLaplace | None = None
    outcome_given: Any = None

    @property
    def row_weights(self) -> Floats | None:
        """Survey weights, with a mean of one."""
        return self.design.weights

    @property
    def n(self) -> int:
        """Rows."""
        return int(self.private.shape[0])


def read_sample(
    reports: Any,
    mechanism: Any,
    public: Any,
    outcome: Any,
    outcome_mechanism: Any,
    *,
    weights: Any = None,
    strata: Any = None,
    clusters: Any = None,
) -> Sample:
    """Check everything once."""
    mechanism = arguments.instance(mechanism, ZeroInflatedLaplace, "mechanism", EstimationError)
    private = numbers(reports, "reports")
    if private.ndim == 1:
        private = private.reshape(-1, 1)
    if private.ndim != 2 or private.shape[1] != mechanism.dimension:
        raise EstimationError(
            f"reports must be rows × {mechanism.dimension}, as the mechanism has coordinates, not {private.shape}"
        )
    n = private.shape[0]
    if n == 0:
        raise EstimationError("there are no rows, and nothing to fit")
    columns = np.empty((n, 0)) if public is None else numbers(public, "public")
    if columns.ndim == 1:
        columns = columns.reshape(-1, 1)
    if columns.ndim != 2:
        raise EstimationError(f"public must be rows × columns, not of shape {columns.shape}")
    if columns.shape[0] != n:
        raise EstimationError(f"public must have one row per report: {n}, not {columns.shape[0]}")
    design = SurveyDesign.of(n, weights, strata, clusters)
    joint = isinstance(outcome, (int, np.integer)) and not isinstance(outcome, bool)
    if joint:
        return replace(_joint(private, columns, mechanism, int(outcome), outcome_mechanism), design=design)
    if outcome is None:
        if outcome_mechanism is not None:
            raise EstimationError("outcome_mechanism needs an outcome")
        return Sample(private, columns, mechanism, None, None, None, False, design)
    y = numbers(outcome, "outcome")
    y = y.reshape(-1) if y.ndim == 2 and y.shape[1] == 1 else y
    if y.shape != (n,):
        raise EstimationError(f"outcome must be one number per report: {n}, not {y.shape}")
    undone, noise = _outcome_channel(y, outcome_mechanism)
    return Sample(private, columns, mechanism, y, undone, noise, False, design, mechanism, outcome_mechanism)


def _joint(
    private: Floats, public: Floats, mechanism: ZeroInflatedLaplace, index: int, outcome_mechanism: Any
) -> Sample:
    if not 0 <= index < mechanism.dimension or mechanism.dimension < 2:
        raise EstimationError(f"the outcome must be one of the {mechanism.dimension} coordinates, not {index}")
    if outcome_mechanism is not None:
        raise EstimationError("an outcome that is a coordinate of the reports has their mechanism")
    others = [j for j in range(mechanism.dimension) if j != index]
    return Sample(
        np.ascontiguousarray(private[:, others]),
        public,
        mechanism.coordinates(others),
        private[:, index],
        None,
        mechanism.coordinates([index]),
        True,
        whole=mechanism,
        outcome_given=index,
    )


def _outcome_channel(y: Floats, mechanism: Mechanism | None) -> tuple[Floats | None, ZeroInflatedLaplace | None]:
    """How to undo the randomisation of the outcome: weights per true value, or the law of its noise."""
    if mechanism is None:
        return None, None
    if isinstance(mechanism, ZeroInflatedLaplace):
        if mechanism.dimension != 1:
            raise EstimationError("the mechanism of the outcome must have one coordinate")
        return None, mechanism
    if isinstance(mechanism, FiniteMechanism):
        truths, reports = mechanism.shape
        if truths != 2:
            raise EstimationError(f"a randomised outcome must be yes/no here, not one of {truths} values")
        if not np.isin(y, np.arange(reports)).all():
            raise EstimationError(f"a randomised outcome must be a report code from 0 to {reports - 1}")
        codes = y.astype(np.intp)
        undo = right_inverse(mechanism, np.bincount(codes, minlength=reports).astype(float), "outcome")
        return np.ascontiguousarray(undo[codes]), None
    raise EstimationError(f"an outcome randomised by {type(mechanism).__name__} is not supported here")


def labels_of(given: Sequence[str], count: int, what: str) -> tuple[str, ...]:
    """Names, one per coefficient, parameter or function."""
    if isinstance(given, (str, bytes)) or not np.iterable(given):
        raise EstimationError(f"names must be a list of {count} names, one per {what}")
    if len(given) != count:
        raise EstimationError(f"names must be {count}, one per {what}, not {len(given)}")
    return tuple(map(str, given))


def numbers(values: Any, name: str, *, single: bool = False) -> Floats:
    """Finite floats; a number alone only where that is allowed."""
    if not single and np.ndim(arguments.array(values, name, EstimationError)) == 0:
        raise EstimationError(f"{name} must be an array with one row per report")
    return np.atleast_1d(arguments.floats(values, name, EstimationError))
