"""The result of a regression of a randomised yes/no answer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import EstimationError
from discreet.estimate import display
from discreet.estimate.regression import effects, goodness
from discreet.estimate.regression.effects import MarginalEffects, Predictions
from discreet.estimate.regression.goodness import GoodnessOfFit
from discreet.estimate.regression.links import Link
from discreet.estimate.regression.result import LikelihoodFit
from discreet.estimate.regression.rows import Rows, Source, checked_matrix, checked_numbers
from discreet.estimate.regression.scan import Scan

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class BinaryRegression(LikelihoodFit):
    """A regression of a yes/no answer that was randomised; the coefficients are about the truth.

    Made by :func:`discreet.estimate.binary_regression`. Coefficients, covariance, intervals and tests are described
    at :class:`LikelihoodFit`.
    """

    link_function: Link
    facts: Scan
    source: Source

    @property
    def link(self) -> str:
        """Name of the link."""
        return self.link_function.name

    @property
    def title(self) -> str:
        """How a summary calls the model."""
        return f"{self.link.capitalize()} regression on randomised yes/no reports"

    @property
    def epsilon(self) -> float:
        """The largest ε of any row's design, in floating point; infinite when a row was asked directly."""
        return self.facts.epsilon[1]

    @property
    def design(self) -> str:
        """The design of the rows in words."""
        low, high = (("∞" if math.isinf(value) else f"{value:.4g}") for value in self.facts.epsilon)
        designs = self.facts.designs
        if designs is None:
            return f"differs from row to row, ε from {low} to {high}"
        listed = ", ".join(f"({no:.4g}, {yes:.4g})" for no, yes in designs)
        if len(designs) == 1:
            if designs[0] == (1.0, 1.0):
                return "reports taken as truths (p00 = p11 = 1, ε = ∞)"
            no, yes = designs[0]
            return f"p00 = {no:.6g}, p11 = {yes:.6g} (ε = {high})"
        return f"(p00, p11) = {listed}; ε from {low} to {high}"

    def header(self) -> list[tuple[str, str]]:
        """What a summary says about the model."""
        first, *rest = super().header()
        return [("Design", self.design), first, ("Link", self.link), *rest]

    def predict(self, X: Any, offset: Any = None, interval: bool = False) -> Floats | Predictions:
        """Probabilities of a true "yes".

        Parameters
        ----------
        X : array (rows, coefficients)
        offset : array, optional
        interval : bool
            Return :class:`Predictions`, with standard errors and intervals, instead of the plain array.
        """
        design = checked_matrix(X, "X")
        if design.shape[1] != self.coefficients.size:
            raise EstimationError(f"X must have {self.coefficients.size} columns, not {design.shape[1]}")
        shift = None if offset is None else checked_numbers(offset, design.shape[0], "offset")
        found = effects.predictions(design, shift, self.coefficients, self.covariance, self.link_function)
        return found if interval else found.estimate

    def interval(self, level: float = 0.95, method: str | None = None) -> Floats:
        """Confidence intervals, one (low, high) row per coefficient.

        Parameters
        ----------
        level : float
        method : {"wald", "profile", "score"}, optional
            "wald" (default) and "profile" as for every fit. "score": the values that Neyman's C(α) test does not
            reject. It does not use the maximum of the likelihood, and keeps its level under strong randomisation,
            where that maximum is often infinite and profile intervals are too short. Not with weights or clusters.
        """
        if method != "score":
            return super().interval(level, method)
        from discreet.estimate.intervals import checked_level, two_sided_quantile
        from discreet.estimate.regression.score import score_interval

        self._refuse_survey("score intervals")
        critical = two_sided_quantile(checked_level(level)) ** 2
        chunks = [rows for rows in self.source.chunks() if rows.size]
        X = np.concatenate([rows.X for rows in chunks])
        y, p00, p11, offset = (_column(chunks, name) for name in ("report", "p00", "p11", "offset"))
        telling = p00 + p11 != 1  # the others carry no information
        guesses = np.where(np.isfinite(self.std_error) & (self.std_error > 0), self.std_error, 1.0)
        return np.array(
            [
                score_interval(
                    X[telling], y[telling], p00[telling], p11[telling], self.link, j, critical, guess, offset[telling]
                )
                for j, guess in enumerate(guesses)
            ]
        )

    def marginal_effects(self, discrete: Sequence[str] = ()) -> MarginalEffects:
        """Average marginal effects on the probability of a true "yes".

        Parameters
        ----------
        discrete : sequence of str
            0/1 columns, whose effect is the mean difference between 1 and 0 instead of a derivative.

        Notes
        -----
        Constant columns are left out. Covariates are taken as given: the standard errors are those of the
        coefficients, carried over by the delta method. With weights the means are weighted.
        """
        unknown = [name for name in discrete if name not in self.names]
        if unknown:
            raise EstimationError(f"discrete must name columns of X, and {unknown[0]!r} is none")
        columns = [j for j, constant in enumerate(self.facts.constant) if not constant]
        return effects.marginal_effects(
            self.source,
            self.coefficients,
            self.covariance,
            self.link_function,
            self.names,
            columns,
            {self.names.index(name) for name in discrete},
        )

    @cached_property
    def _fitted(self) -> tuple[NDArray[np.bool_], Floats]:
        return goodness.fitted_reports(self.source, self.coefficients, self.link_function)

    @property
    def fitted_reports(self) -> Floats:
        """Fitted probability q of a report 1, for every row."""
        return self._fitted[1]

    def residuals(self, kind: str = "pearson") -> Floats:
        """Residuals of the reports: "pearson", "deviance" or "response"."""
        return goodness.residuals(*self._fitted, kind)

    @property
    def deviance(self) -> float:
        """``−2 log L``; for single yes/no reports the saturated log-likelihood is zero."""
        return -2.0 * self.log_likelihood

    def goodness_of_fit(self, groups: int = 10) -> GoodnessOfFit:
        """Hosmer–Lemeshow test on the reports; see :class:`GoodnessOfFit`."""
        if self.weighted or self.clustered:
            raise EstimationError("the Hosmer–Lemeshow test needs independent, equally weighted rows")
        return goodness.hosmer_lemeshow(*self._fitted, groups)

    def naive(self) -> BinaryRegression:
        """The same rows with the reports read as truths: what an analyst who ignores the randomisation gets."""
        from discreet.estimate.regression.fit import fit_binary
        from discreet.estimate.regression.rows import LiteralRows

        return fit_binary(LiteralRows(self.source), self.link_function, self.names)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        low, high = self.facts.epsilon
        designs = self.facts.designs
        return super().to_dict() | {
            "link": self.link,
            "designs": None if designs is None else [{"p00": no, "p11": yes} for no, yes in designs],
            "epsilon": display.plain([low, high]),
        }


def _column(chunks: Sequence[Rows], name: str) -> Floats:
    """One number per row, over all chunks; what is not given is zero."""
    values = ((rows.size, getattr(rows, name)) for rows in chunks)
    return np.concatenate([np.broadcast_to(np.asarray(0.0 if v is None else v, float), n) for n, v in values])
