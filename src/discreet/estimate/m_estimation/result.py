"""What an M-estimate returns."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from discreet import arguments
from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.coefficients import Coefficients
from discreet.estimate.intervals.levels import checked_level, two_sided_quantile, wald


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class MEstimate(Coefficients):
    """An M-estimate from privatised records, about the true ones.

    Attributes
    ----------
    coefficients, estimate : array
        Private covariates in the order of the reports, then public ones.
    covariance, std_error : array
        The sandwich ``V⁻¹ A V⁻¹/n``: V the second derivative of the corrected risk, A the second moment of the
        corrected gradient, so noise and sampling are both in it.
    names : tuple of str
    n : int
        Rows.
    loss, method : str
    converged : bool
        Whether this is a local minimum inside the compact set, and not one that a few reports far outside the box
        decide.
    status : str
        What happened, in words.
    notes : tuple of str
    formula, modelled : str or None
        For a fit by formula: as it was given, and the outcome that it models.
    """

    coefficients: Floats
    covariance: Floats
    names: tuple[str, ...]
    n: int
    loss: str
    method: str
    converged: bool
    status: str
    notes: tuple[str, ...]
    hessian: Floats
    scores: Floats
    _again: Callable[..., MEstimate] | None = field(default=None, repr=False)
    _score: Callable[[float], Floats] | None = field(default=None, repr=False)
    formula: str | None = None
    modelled: str | None = None

    def __post_init__(self) -> None:
        for array in (self.coefficients, self.covariance, self.hessian, self.scores):
            array.flags.writeable = False

    @property
    def default_interval(self) -> str:
        """The interval method that is used unless another is named."""
        return "wald" if self._score is None else "score"

    def interval(self, level: float = 0.95, method: str | None = None) -> Floats:
        """Confidence intervals, one (low, high) row per coefficient.

        Parameters
        ----------
        level : float
        method : {"score", "wald"}, optional
            "score": all values that a test by efficient scores does not reject, the default for fits by the method
            "likelihood", and only there; infinite where no value is. "wald": estimate ± z × standard error.
        """
        quantile = two_sided_quantile(checked_level(level))
        options = ("wald",) if self._score is None else ("score", "wald")
        chosen = self.default_interval if method is None else method
        chosen = arguments.choice(chosen, "the interval method of an M-estimate", options, EstimationError)
        if chosen == "score" and self._score is not None:
            return self._score(quantile)
        with np.errstate(invalid="ignore"):
            return wald(self.coefficients, self.std_error, quantile)

    def update(self, reports: Any, public: Any = None, outcome: Any = None) -> MEstimate:
        """The estimate from all rows so far and a new batch, without touching the old ones.

        Earlier rows are represented by their estimate and the curvature of their risk there (renewable estimation,
        Luo and Song 2020). For the squared loss these are sufficient, and the result is that of all rows together;
        otherwise it is first-order equivalent.
        """
        if self._again is None:
            raise EstimationError("this estimate cannot be updated; fit a built-in loss")
        return self._again(self, reports, public, outcome)

    @property
    def title(self) -> str:
        """How a summary calls the model."""
        return "M-estimate from privatised records"

    def header(self) -> list[tuple[str, str]]:
        """What a summary says about the model, as pairs of name and text."""
        named = [("Formula", self.formula), ("Modelled", self.modelled)]
        return [
            *((name, text) for name, text in named if text is not None),
            ("Loss", self.loss),
            ("Correction", self.method),
            ("No. observations", f"{self.n:,}"),
            ("Covariance", "sandwich"),
            ("Converged", "yes" if self.converged else "no"),
        ]

    def _said(self, bounds: Floats, method: str | None) -> tuple[str, ...]:
        del bounds, method  # the notes say which there are
        return ((self.status,) if self.status != "converged" else ()) + self.notes

    @property
    def exponentiated(self) -> str | None:
        """What the exponentials of the coefficients are."""
        return {"logistic": "odds ratios", "poisson": "rate ratios"}.get(self.loss)

    def to_dict(self, level: float = 0.95, method: str | None = None) -> dict[str, Any]:
        """Plain data for JSON."""
        return self._fit_data(level, method) | {"loss": self.loss, "method": self.method}


def sandwich(hessian: Floats, scores: Floats, n: int) -> Floats:
    """``V⁻¹ A V⁻¹/n``; nan when V is not positive definite."""
    if not (np.isfinite(hessian).all() and np.isfinite(scores).all()):
        return np.full(hessian.shape, math.nan)
    scale = 1 / np.sqrt(np.maximum(np.abs(np.diag(hessian)), 1e-300))
    values, vectors = np.linalg.eigh(hessian * np.outer(scale, scale))
    if not (np.isfinite(values).all() and values[0] > 1e-12):
        return np.full(hessian.shape, math.nan)
    inverse = scale[:, None] * ((vectors / values) @ vectors.T) * scale
    matrix = inverse @ scores @ inverse / n
    return np.asarray((matrix + matrix.T) / 2)
