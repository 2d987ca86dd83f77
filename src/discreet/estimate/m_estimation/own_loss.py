"""Losses that the user writes: any function of θ and a record, corrected over copies inside the box.

The function is only known by its values, row by row: derivatives are differences, and the search is a quasi-Newton one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.noisy_numbers.copies import MONTE_CARLO_SHARE, Copies, NoisyBlock, summed_by
from discreet.estimate.noisy_numbers.inside import Inside, need_exact_records, refuse_coarse_grid
from discreet.estimate.noisy_numbers.sample import Sample, labels_of, numbers
from discreet.estimate.regressions.diagnosis import LIMIT, decided_by_few, share_of_few
from discreet.estimate.regressions.over_copies import continued
from discreet.estimate.regressions.result import MEstimate
from discreet.estimate.regressions.sandwich import sandwich

#: Values or gradients (rows, …) of a loss at θ, records and outcomes.
Rows = Callable[..., Floats]
RowFunction = Callable[[Floats], Floats]
#: Units at the minimum that differ from those at the start by this factor are worth another fit.
_OTHER_UNITS = 8.0


def fit(loss: Callable[..., Any], sample: Sample, start: Any, method: str, names: Sequence[str] | None) -> MEstimate:
    """Minimise the corrected mean of a user's loss."""
    if method not in ("box", "naive"):
        raise EstimationError(f'a loss of your own has the methods "box" and "naive", not "{method}"')
    if sample.weights is not None or sample.outcome_noise is not None:
        raise EstimationError("a loss of your own needs an outcome that was not randomised")
    if start is None:
        raise EstimationError("a loss of your own needs a start, which says how many parameters there are")
    try:
        theta = numbers(start, "start", single=True).reshape(-1).copy()
    except EstimationError:
        theta = np.empty(0)
    if theta.size == 0:
        raise EstimationError("start must be finite numbers, one per parameter")
    fallback = [f"theta{j + 1}" for j in range(theta.size)]
    labels = labels_of(fallback if names is None else names, theta.size, "parameter")
    own, seen = _checked(loss), sample
    if method == "box":
        need_exact_records(sample.mechanism)
        refuse_coarse_grid(sample.mechanism)
        seen = replace(sample, private=Inside.of(sample.mechanism).clip(sample.private))
    # Numerical steps suit parameters of about one; a start far away says little about the units near the minimum.
    for _ in range(2):
        unit, size = _units(own, seen, theta)
        result = _fit_in_units(partial(_rescaled, own, unit, size), sample, theta / unit, method, labels)
        theta = np.array(result.coefficients) * unit
        again, _ = _units(own, seen, theta)
        if not result.converged or np.max(np.abs(np.log(again / unit))) < math.log(_OTHER_UNITS):
            break
    square = np.outer(unit, unit)
    return replace(
        result,
        coefficients=theta,
        covariance=result.covariance * square,
        hessian=result.hessian / square * size,
        scores=result.scores / square * size**2,
        loss=str(getattr(loss, "__name__", "function")),
    )


def _rescaled(own: Rows, unit: Floats, size: float, theta: Floats, *data: Floats) -> Floats:
    """The loss of parameters in these units, over this size."""
    return own(theta * unit, *data) / size


def _units(own: Callable[..., Floats], sample: Sample, theta: Floats) -> tuple[Floats, float]:
    """How far each parameter must move for the loss of the reports to bend as much as it varies; and how it varies.

    The loss is taken as it is, without correction: that is enough for an order of magnitude, and well behaved.
    """
    x = np.concatenate([sample.private, sample.public], axis=1)
    y = () if sample.outcome is None else (sample.outcome,)
    with np.errstate(all="ignore"):
        middle = own(theta, x, *y)
        size = max(float(np.std(middle)), 0.01 * float(np.mean(np.abs(middle))))
        if not (math.isfinite(size) and size > 0):
            return np.ones(theta.size), 1.0
        unit = np.ones(theta.size)
        for j in range(theta.size):
            low, high = -15.0, 15.0
            while high - low > 0.05:
                power = (low + high) / 2
                step = np.zeros(theta.size)
                step[j] = 10.0**power
                bend = float(np.mean(own(theta + step, x, *y) - 2 * middle + own(theta - step, x, *y)))
                low, high = (power, high) if abs(bend) < size else (low, power)
            if -14 < low < 14:
                unit[j] = 10.0**low
    return unit, size


def _fit_in_units(loss: Rows, sample: Sample, theta: Floats, method: str, labels: tuple[str, ...]) -> MEstimate:
    if method == "box":
        theta, converged, gradient, note = _over_the_box(loss, sample, theta)
    else:
        value, gradient = _as_reported(loss, sample)
        check_start(value, gradient, theta, "also outside the box, where noise puts some")
        theta, converged = minimise(value, gradient, theta)
        note = "the noise was ignored: these parameters are biased"
    with np.errstate(all="ignore"):
        slopes = gradient(theta)
        scores, sampling = sample.design.middle(slopes)
        hessian = curvature(gradient, theta, scores, sample.n)
    covariance = sandwich(hessian, scores, sample.n)
    converged = converged and bool(np.isfinite(covariance).all())
    status = "converged" if converged else "no minimum was found: try another start, more rows or a smoother loss"
    share = share_of_few(slopes, hessian) if converged and method != "naive" else 0.0
    if share > LIMIT:
        converged, status = False, decided_by_few(share, sample.n)
    return MEstimate(
        coefficients=theta,
        covariance=covariance,
        names=labels,
        n=sample.n,
        loss="function",
        method=method,
        converged=converged,
        status=status,
        notes=(note,),
        hessian=hessian,
        scores=scores,
        sampling=sampling,
    )


def _as_reported(loss: Rows, sample: Sample) -> tuple[RowFunction, RowFunction]:
    """Loss and gradient of every report, the noise taken for truth."""
    x, rows = np.concatenate([sample.private, sample.public], axis=1), sample.row_weights
    y = () if sample.outcome is None else (sample.outcome,)

    def value(theta: Floats) -> Floats:
        found = loss(theta, x, *y)
        return found if rows is None else found * rows

    return value, lambda theta: difference(value, theta)


def _over_the_box(loss: Rows, sample: Sample, theta: Floats) -> tuple[Floats, bool, RowFunction, str]:
    """Fit over copies inside the box, as many as are needed.

    Returns θ, whether a minimum was found, the gradient of every record, and a note.
    """
    copies = continued(Copies([NoisyBlock(sample.private, sample.mechanism)]))
    rows = BoxRows(loss, partial(_own_gradient, loss), sample, copies)
    check_start(rows.values, rows.gradients, theta, "everywhere in the box")
    while True:
        theta, converged = minimise(rows.values, rows.gradients, theta)
        with np.errstate(all="ignore"):
            share = rows.monte_carlo_share(theta) if converged else 0.0
        if not share > MONTE_CARLO_SHARE or rows.copies.count >= rows.copies.most:
            break
        rows = rows.with_count(rows.copies.wanted(share))
    return theta, converged, rows.gradients, rows.copies.note(share)


def _own_gradient(loss: Rows, theta: Floats, x: Floats, *y: Floats) -> Floats:
    return difference(lambda at: loss(at, x, *y), theta)


@dataclass(frozen=True, eq=False)
class BoxRows:
    """A loss over copies inside the box.

    Parameters
    ----------
    value, gradient : function
        Of θ, records (m, columns) and, where there is one, outcomes (m,): the loss of each, and its gradient in θ.
    sample : Sample
    copies : Copies
    """

    value: Rows
    gradient: Rows
    sample: Sample
    copies: Copies

    def _data(self, values: Floats, record: Any) -> tuple[Floats, ...]:
        given = self.sample
        x = np.concatenate([values, given.public[record]], axis=1) if given.public.size else values
        return (x,) if given.outcome is None else (x, given.outcome[record])

    def _weight(self, weight: Floats, record: Any) -> Floats:
        rows = self.sample.row_weights
        return weight if rows is None else weight * rows[record]

    def values(self, theta: Floats) -> Floats:
        """The corrected loss of every record."""
        kept = self.copies.kept
        single = self.value(theta, *self._data(kept.values, kept.record)) * self._weight(kept.weight, kept.record)
        total = np.bincount(kept.record, single, self.sample.n)
        return np.asarray(total, float)

    def gradients(self, theta: Floats) -> Floats:
        """The corrected gradient of every record."""
        return summed_by(self.copies.kept.record, self._single(theta), self.sample.n)

    def _single(self, theta: Floats) -> Floats:
        kept = self.copies.kept
        weight = self._weight(kept.weight, kept.record)
        return np.asarray(self.gradient(theta, *self._data(kept.values, kept.record)) * weight[:, None])

    def monte_carlo_share(self, theta: Floats) -> float:
        """What the copies add to the variance of the gradient, as a share of it."""
        single, kept = self._single(theta), self.copies.kept
        return self.copies.share(single, summed_by(kept.record, single, self.sample.n))

    def with_count(self, count: int) -> BoxRows:
        """The same with another number of copies."""
        return BoxRows(self.value, self.gradient, self.sample, self.copies.with_count(count))


def _checked(loss: Callable[..., Any]) -> Callable[..., Floats]:
    def rows(theta: Floats, *data: Floats) -> Floats:
        n = len(data[0])
        try:
            found = np.asarray(loss(theta, *data))
        except (TypeError, ValueError) as error:
            raise EstimationError(
                f"the loss could not be evaluated at {theta.size} parameters and records of "
                f"{data[0].shape[1]} columns ({type(error).__name__}); does start have one number per parameter?"
            ) from None
        if found.dtype.kind not in "biuf":
            raise EstimationError("the loss must return real numbers, one per row")
        found = np.asarray(found, float)
        if found.shape != (n,):
            raise EstimationError(f"the loss must return one number per row ({n},), not {found.shape}")
        return found

    return rows


def difference(value: RowFunction, theta: Floats) -> Floats:
    """The gradient of every row, by central differences."""
    columns = []
    for j in range(theta.size):
        step = 1e-5 * (1 + abs(theta[j]))
        up, down = theta.copy(), theta.copy()
        up[j] += step
        down[j] -= step
        columns.append((value(up) - value(down)) / (2 * step))
    return np.stack(columns, axis=1)


def check_start(value: RowFunction, gradient: RowFunction, theta: Floats, where: str) -> None:
    """Refuse a start at which the loss of some record is not finite."""
    with np.errstate(all="ignore"):
        finite = np.isfinite(value(theta)).all() and np.isfinite(gradient(theta)).all()
    if not finite:
        raise EstimationError(f"the loss must be finite at the start for every record, {where}")


def minimise(value: RowFunction, gradient: RowFunction, theta: Floats) -> tuple[Floats, bool]:
    """A local minimum of the mean of the rows, and whether it is one."""
    from scipy.optimize import minimize

    def risk(at: Floats) -> tuple[float, Floats]:
        return float(value(at).mean()), gradient(at).mean(axis=0)

    # A loss may overflow far from its minimum: the search then turns back, or ends without one.
    with np.errstate(all="ignore"):
        found = minimize(risk, theta, jac=True, method="BFGS", options={"gtol": 1e-7, "maxiter": 300})
        best = np.asarray(found.x, float)
        slopes = gradient(best) if np.isfinite(best).all() else np.full((1, theta.size), math.nan)
    if not np.isfinite(slopes).all():
        return theta, False
    # A kink leaves a gradient of the size of a few rows; it is small beside the statistical error.
    error = slopes.std(axis=0) / math.sqrt(slopes.shape[0])
    return best, bool(found.success or (np.abs(slopes.mean(axis=0)) < 0.1 * error + 1e-9).all())


def curvature(gradient: RowFunction, theta: Floats, scores: Floats, n: int) -> Floats:
    """Differences of the mean gradient over two standard errors, so that kinks are averaged over.

    The standard errors are those of differences over a first, narrower step.
    """
    first = (np.abs(theta) + 1.0) * n ** (-1 / 3) / 2
    error = np.sqrt(np.diag(sandwich(_differences(gradient, theta, first), scores, n)))
    step = np.clip(2 * np.where(np.isfinite(error), error, first), first, 8 * first)
    return _differences(gradient, theta, step)


def _differences(gradient: RowFunction, theta: Floats, steps: Floats) -> Floats:
    columns = []
    for j, step in enumerate(steps):
        up, down = theta.copy(), theta.copy()
        up[j] += step
        down[j] -= step
        columns.append((gradient(up).mean(axis=0) - gradient(down).mean(axis=0)) / (2 * step))
    matrix = np.stack(columns, axis=1)
    return np.asarray((matrix + matrix.T) / 2)
