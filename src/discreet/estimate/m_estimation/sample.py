"""What is given to an M-estimate, checked: reports, public covariates, outcome, and how each was randomised."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet import arguments
from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.mechanisms import FiniteMechanism, Mechanism
from discreet.mechanisms.laplace import ZeroInflatedLaplace

METHODS = ("exact", "drcl", "sdrcl", "sl", "naive", "box")


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

    @property
    def n(self) -> int:
        """Rows."""
        return int(self.private.shape[0])


def read_sample(reports: Any, mechanism: Any, public: Any, outcome: Any, outcome_mechanism: Any) -> Sample:
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
    joint = isinstance(outcome, (int, np.integer)) and not isinstance(outcome, bool)
    if joint:
        return _joint(private, columns, mechanism, int(outcome), outcome_mechanism)
    if outcome is None:
        if outcome_mechanism is not None:
            raise EstimationError("outcome_mechanism needs an outcome")
        return Sample(private, columns, mechanism, None, None, None, False)
    y = numbers(outcome, "outcome")
    y = y.reshape(-1) if y.ndim == 2 and y.shape[1] == 1 else y
    if y.shape != (n,):
        raise EstimationError(f"outcome must be one number per report: {n}, not {y.shape}")
    weights, noise = _outcome_channel(y, outcome_mechanism)
    return Sample(private, columns, mechanism, y, weights, noise, False)


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
        # A Qᵀ = I: column y of A holds the debiased answers of report y.
        undo = np.linalg.pinv(mechanism.matrix().T)
        return np.ascontiguousarray(undo[:, y.astype(np.intp)].T), None
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
