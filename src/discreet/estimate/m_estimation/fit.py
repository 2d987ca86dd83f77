"""Fit a loss to privatised records that are given as arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from discreet import arguments
from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.m_estimation import own_loss
from discreet.estimate.m_estimation.expectations import expectation
from discreet.estimate.m_estimation.identification import check_outcome, obstacle
from discreet.estimate.m_estimation.losses import resolve
from discreet.estimate.noisy_numbers.expectation import Expectation
from discreet.estimate.noisy_numbers.inside import is_coarse, need_exact_records, refuse_coarse_grid
from discreet.estimate.noisy_numbers.interval import applies
from discreet.estimate.noisy_numbers.sample import METHODS, Sample, labels_of, numbers, read_sample
from discreet.estimate.regressions.diagnosis import exploding
from discreet.estimate.regressions.families import Family, Linear, Poisson, binary_family
from discreet.estimate.regressions.fit import fit_corrected
from discreet.estimate.regressions.laplace_exact import ExactLoss, Noise, refused, spread_of, views_of
from discreet.estimate.regressions.losses import Huber, IndexLoss, Squared
from discreet.estimate.regressions.losses import Logistic as LogisticLoss
from discreet.estimate.regressions.losses import Poisson as PoissonLoss
from discreet.estimate.regressions.losses import Probit as ProbitLoss
from discreet.estimate.regressions.over_copies import (
    ArrayCopies,
    box_is_better,
    constant_column,
    continued,
    fit_over_copies,
    record_sample,
)
from discreet.estimate.regressions.result import CorrectedRegression, MEstimate
from discreet.estimate.regressions.robust import IndexFamily
from discreet.estimate.regressions.semiparametric import fit as semiparametric
from discreet.mechanisms.laplace import ZeroInflatedLaplace
from discreet.randomness import Randomness


def m_estimate(
    loss: Any,
    reports: Any,
    mechanism: ZeroInflatedLaplace,
    start: Any = None,
    method: str = "auto",
    public: Any = None,
    outcome: Any = None,
    outcome_mechanism: Any = None,
    *,
    names: Sequence[str] | None = None,
    randomness: Randomness | None = None,
    weights: Any = None,
    strata: Any = None,
    clusters: Any = None,
) -> MEstimate:
    """Minimise the expected loss over *true* records, from privatised ones.

    Parameters
    ----------
    loss : str, loss or function
        "squared", "logistic", "probit", "poisson", "check", "huber", "hinge"; one of ``estimate.losses``, such as
        ``losses.Check(tau=0.9)`` or ``losses.Expectation(f)``; or a function ``loss(theta, x[, y])`` that returns
        one number per row (then ``start`` is needed, and the methods are "box" and "naive").
    reports : array (n, d)
        What ``mechanism.privatize`` gave.
    mechanism : ZeroInflatedLaplace
    start : array, optional
        A first guess.
    method : {"auto", "exact", "box", "likelihood", "drcl", "sdrcl", "sl", "naive"}
        How the loss is corrected. "exact" is unbiased with the smallest variance among functions that are unbiased
        for every x; "box" also uses that x lies in the box, and never evaluates the loss outside it (it needs a zero
        probability above 0); "auto" is the one of the two whose variance is expected to be smaller by the design alone,
        whatever was reported. "likelihood" estimates the law of up to three numbers on cells and maximises the
        likelihood of a logistic, probit or Poisson model, which must be right. "drcl", "sdrcl" and "sl" are those of
        zil2025, with x2 drawn here; "naive" ignores the noise.
    public : array (n, k), optional
        Covariates that were not randomised; a column of ones is an intercept. Their coefficients come last.
    outcome : array (n,) or int, optional
        The outcome; or the coordinate of the reports that is the outcome, the others being the covariates.
    outcome_mechanism : Mechanism, optional
        How the outcome was randomised: a yes/no design, or a ``ZeroInflatedLaplace`` of one coordinate (with
        losses of y − η).
    names : sequence of str, optional
    randomness : Randomness, optional
        For the methods that draw x2.
    weights, strata, clusters : array (n,), optional
        Of a survey: positive weights, and labels; standard errors are linearised over them.

    Returns
    -------
    MEstimate

    Examples
    --------
    >>> from discreet.domains.box import Box
    >>> box, rng = Box([-1, -1], [1, 1]), np.random.default_rng(1)
    >>> x = rng.uniform(-1, 1, (20_000, 2)); y = x @ [1.0, -2.0] + rng.normal(size=20_000)
    >>> mechanism = ZeroInflatedLaplace(box, 1.0, 0.1)
    >>> fit = m_estimate("squared", mechanism.privatize(x, Randomness.seeded(2)), mechanism, outcome=y)
    >>> np.abs(fit.coefficients - [1.0, -2.0]).max() < 4 * fit.std_error.max(), fit.converged
    (np.True_, True)
    """
    chosen = resolve(loss)
    method = arguments.choice(method, "method", METHODS, EstimationError)
    if names is not None and not isinstance(names, str):  # one text is refused where the number of names is known
        names = arguments.listed(names, "names", EstimationError)
    sample = read_sample(
        reports, mechanism, public, outcome, outcome_mechanism, weights=weights, strata=strata, clusters=clusters
    )
    if isinstance(chosen, IndexLoss):
        return _Index(chosen, sample, start, names, randomness).fit(method)
    if method == "likelihood":
        raise EstimationError('the method "likelihood" needs a model of the outcome: logistic, probit or poisson')
    if isinstance(chosen, Expectation):
        if method == "auto":
            method = "box" if _has_best_function(sample) else "exact"
        if method == "box":
            need_exact_records(sample.mechanism)
        return expectation(chosen, sample, method, names, randomness)
    return own_loss.fit(chosen, sample, start, "box" if method == "auto" else method, names)


def _without_box(sample: Sample) -> bool:
    """Whether some numbers cannot be undone inside their box."""
    mechanisms = [sample.mechanism, *([sample.outcome_noise] if sample.outcome_noise is not None else [])]
    return any(one.zero_probability == 0 or is_coarse(one) for one in mechanisms)


def _has_best_function(sample: Sample) -> bool:
    """Whether a mean inside the box is expected to have the smaller variance."""
    return not _without_box(sample) and (applies(sample.mechanism) or box_is_better(sample.mechanism))


def family_of(loss: IndexLoss) -> Family:
    """The family of a loss."""
    if isinstance(loss, Squared):
        return Linear()
    if isinstance(loss, (LogisticLoss, ProbitLoss)):
        return binary_family("logit" if isinstance(loss, LogisticLoss) else "probit")
    return Poisson() if isinstance(loss, PoissonLoss) else IndexFamily(loss, loss.name)


class _Index:
    """A loss of a linear index of arrays."""

    def __init__(
        self, loss: IndexLoss, sample: Sample, start: Any, names: Sequence[str] | None, randomness: Randomness | None
    ) -> None:
        self.loss, self.sample, self.randomness = loss, sample, randomness
        d, k = sample.private.shape[1], sample.public.shape[1]
        fallback = [*(f"x{j + 1}" for j in range(d)), *(f"public{j + 1}" for j in range(k))]
        self.names = labels_of(fallback if names is None else names, d + k, "coefficient")
        self.start = None if start is None else given_start(start, d + k)
        self.family = family_of(loss)

    def _chosen(self, method: str) -> str:
        """The method, by the design where it is left open."""
        if method != "auto":
            return method
        if _without_box(self.sample):
            return "exact"
        fixed = self.loss.kinked or isinstance(self.loss, PoissonLoss)
        return "box" if fixed or box_is_better(self.sample.mechanism) else "exact"

    def fit(self, method: str) -> CorrectedRegression:
        """The fit by a method."""
        method, mechanism = self._chosen(method), self.sample.mechanism
        if method in ("box", "likelihood"):
            need_exact_records(mechanism)
            refuse_coarse_grid(mechanism)
        check_outcome(self.loss, self.sample, method)
        problem = None if method == "box" else refused(self.loss, method, mechanism.zero_probability)
        if problem is not None and method != "likelihood":
            raise EstimationError(problem)
        problem = obstacle(self.loss, self.sample, self.names)
        if problem is not None:
            return self._nothing(method, problem)
        fit = partial(self._fitted, method=method)
        if method == "box":
            found = self._over_copies(fit)
        elif method == "likelihood":
            found = self._likelihood(partial(self._fitted, method="box"))
        else:
            risk = self._exact(method)
            found = exploding(replace(fit(risk), prefers_score=method != "naive" and not self.loss.kinked), risk)
        notes = (*found.notes, *self._notes(method, found))
        return replace(found, loss=loss_text(found.family, self.loss), notes=notes)

    def _fitted(self, risk: Any, *, method: str, start: Floats | None = None, **options: Any) -> CorrectedRegression:
        first = self.start if start is None else start
        weighted = self.sample.row_weights is not None
        return fit_corrected(risk, self.names, (), method=method, start=first, weighted=weighted, **options)

    def _over_copies(self, fit: Callable[..., CorrectedRegression]) -> CorrectedRegression:
        made = ArrayCopies(self.family, self.sample)
        return fit_over_copies(made, made.copies(), fit)

    def _likelihood(self, fit: Callable[..., CorrectedRegression]) -> CorrectedRegression:
        problem = semiparametric.obstacle(self.loss, self.sample)
        if problem is not None:
            raise EstimationError(problem)
        beside = self._over_copies(fit)
        first = np.array(beside.coefficients) if self.start is None else self.start
        return semiparametric.fit_likelihood(self.loss, self.sample, first, beside, np.arange(first.size))

    def _exact(self, method: str) -> ExactLoss:
        sample, mechanism = self.sample, self.sample.mechanism
        zero, d = mechanism.zero_probability, sample.private.shape[1]
        design = np.concatenate([sample.private, sample.public], axis=1) if sample.public.size else sample.private
        second = None
        if method in ("drcl", "sdrcl", "sl"):
            doubly = mechanism.doubly_randomized(sample.private, self.randomness)
            second = np.concatenate([doubly, sample.public], axis=1)
        covariance = np.zeros((design.shape[1],) * 2)
        covariance[range(d), range(d)] = mechanism.noise_scale**2
        outcome, other = 0.0, None
        if sample.outcome_noise is not None:
            own = float(sample.outcome_noise.noise_scale[0] ** 2)
            outcome, other = (own, None) if sample.joint else (0.0, (sample.outcome_noise.zero_probability, own / 2))
        assert sample.outcome is not None
        y = np.asarray(sample.outcome, float)
        outcomes: tuple[tuple[Floats, Floats | None], ...] = ((np.where(y > 0, 1.0, 0.0), None),)
        if sample.weights is not None:
            outcomes = tuple((np.full(sample.n, float(value)), sample.weights[:, value]) for value in (0, 1))
        elif self.loss.name != "hinge":
            outcomes = ((y, None),)
        curved = None
        if self.loss.kinked and method != "naive" and not _without_box(sample):
            made = ArrayCopies(self.family, sample)
            kept = continued(made.copies()).kept
            curved = made.risk(made.rows(kept.record, kept.weight, kept.values))
        return ExactLoss(
            self.family,
            views_of(method, design, second, zero),
            outcomes,
            Noise(zero, covariance, outcome, other),
            record_sample(sample, None, None),
            constant_column(sample),
            spread_of(y, self.loss),
            curved,
        )

    def _notes(self, method: str, found: CorrectedRegression) -> list[str]:
        notes = ["the noise was ignored: these coefficients are biased"] if method == "naive" else []
        if isinstance(self.loss, Huber) and self.loss.threshold is None and isinstance(found.family, IndexFamily):
            k = found.family.loss.k  # type: ignore[attr-defined]  # a Huber loss
            notes.append(f"the threshold, {k:.4g}, is {Huber.efficient:g} times the spread of the residuals")
        return notes

    def _nothing(self, method: str, problem: str) -> CorrectedRegression:
        """A fit that no number of rows of this kind could make."""
        size = len(self.names)
        nothing = np.full((size, size), np.nan)
        return CorrectedRegression(
            coefficients=np.zeros(size), covariance=nothing, names=self.names, n=self.sample.n, method=method,
            loss=loss_text(self.family, self.loss), converged=False, status=problem, notes=(), hessian=nothing.copy(),
            scores=nothing.copy(), family=self.family, randomised=(), cells=0, risk=self._exact("naive"),
        )  # fmt: skip


def given_start(start: Any, p: int) -> Floats:
    """A start that the caller gives, checked."""
    try:
        given = np.atleast_1d(numbers(start, "start", single=True))
    except EstimationError:
        given = np.empty(0)
    if given.shape != (p,):
        raise EstimationError(f"start must be {p} finite numbers, one per coefficient")
    return given


def loss_text(family: Family, asked: IndexLoss) -> str:
    """The loss with what was chosen for it."""
    loss = family.loss if isinstance(family, IndexFamily) else asked
    tau = getattr(loss, "tau", None)
    if isinstance(loss, Huber) and loss.threshold is not None:
        return f"{loss.name} (threshold = {loss.threshold:.4g})"
    return f"{loss.name} (tau = {tau:g})" if tau is not None else loss.name
