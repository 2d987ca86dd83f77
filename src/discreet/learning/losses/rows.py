"""Rows and tables whose weights undo a randomisation on average, for any loss of any network.

A loss ℓ of a true row is replaced by ``Σ_c w_c ℓ(row_c)`` over corrected rows, whose expectation over the
randomisation is ℓ of the truth. Weights sum to one per record on average and are negative in places: the corrected
loss of a flexible network has no minimum of its own, so stop early, decay weights, and choose by a corrected loss on
records that were held out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import arguments
from discreet.arguments import Floats
from discreet.errors import InputError
from discreet.mechanisms import FiniteMechanism, ZeroInflatedLaplace

_MOST_COPIES = 10_000

__all__ = ["CorrectedRows", "box_rows", "category_rows", "likelihood_table", "undoing_table"]


@dataclass(frozen=True, eq=False)
class CorrectedRows:
    """Rows in place of records.

    Attributes
    ----------
    rows : array (rows, coordinates) or (rows,)
        True values: vectors inside the box, or codes.
    weights : array (rows,)
        ``Σ weights·loss/records`` estimates the mean loss of the true records.
    record : array of int
        Which record each row belongs to: take public columns and outcomes by it.
    records : int
    """

    rows: NDArray[Any]
    weights: Floats
    record: NDArray[np.intp]
    records: int


def undoing_table(mechanism: FiniteMechanism) -> Floats:
    """``A[report, truth]``: the weight of each truth for a report, ``Σ_r Q[t, r] A[r, t'] = 1(t = t')``."""
    _check(mechanism)
    return np.ascontiguousarray(mechanism.inverse.as_matrix().T)


def likelihood_table(mechanism: FiniteMechanism) -> Floats:
    """``Q[truth, report]`` by reports: the probability of a report under each truth."""
    _check(mechanism)
    return np.ascontiguousarray(mechanism.matrix().T)


def category_rows(reports: Any, mechanism: FiniteMechanism) -> CorrectedRows:
    """Every truth that a randomised category can have, weighed by ``A[report, truth]``.

    Parameters
    ----------
    reports : array of int
        Codes, one per record.
    """
    table = undoing_table(mechanism)
    codes = np.asarray(reports)
    if (
        codes.ndim != 1
        or codes.dtype.kind not in "iu"
        or (codes.size and not 0 <= codes.min() <= codes.max() < len(table))
    ):
        raise InputError(f"reports must be whole numbers from 0 to {len(table) - 1}, one per record")
    truths = table.shape[1]
    return CorrectedRows(
        np.tile(np.arange(truths), codes.size),
        table[codes].reshape(-1),
        np.repeat(np.arange(codes.size), truths),
        int(codes.size),
    )


def box_rows(reports: Any, mechanism: ZeroInflatedLaplace, copies: int = 20, *, seed: int = 0) -> CorrectedRows:
    """Numeric vectors with zero-inflated Laplace noise: reports inside the box, and noisy copies of them.

    With the chance δ₀ of an exact report, the loss times 1(x in the box) is corrected by the report itself with weight
    1/δ₀ and by copies ``x + √W √δ₀ λ N`` (W exponential, N normal) with weight ``(1 − 1/δ₀)/copies``; what lies outside
    the box has weight zero and is left out. The transform of the noise is ``δ₀ + (1 − δ₀)/(1 + s)``,
    ``s = |λt|²/2``, and ``1/δ₀ + (1 − 1/δ₀)/(1 + δ₀s)`` is its inverse.

    Parameters
    ----------
    reports : array (records, coordinates)
    copies : int
        More copies, less Monte Carlo error.
    seed : int
        Of the copies, which are arithmetic on public reports.
    """
    arguments.instance(mechanism, ZeroInflatedLaplace, "mechanism")
    exact = mechanism.zero_probability
    if exact == 0:
        raise InputError("box_rows needs a zero probability above 0: without exact reports the box says nothing")
    copies = arguments.whole(copies, "copies", least=1, most=_MOST_COPIES)
    given = arguments.floats(reports, "reports", dimensions=2)
    if given.shape[1] != mechanism.dimension:
        raise InputError(f"reports must have {mechanism.dimension} coordinates, as the box has")
    rng = np.random.default_rng(arguments.whole(seed, "seed"))
    n, d = given.shape
    low, high = _widened(mechanism)
    scale = np.asarray(mechanism.noise_scale, float) * np.sqrt(exact)
    noise = np.sqrt(rng.exponential(size=(copies, n, 1))) * rng.normal(size=(copies, n, d)) * scale
    rows = np.concatenate([given[None], given + noise]).reshape(-1, d)
    weights = np.concatenate([np.full(n, 1 / exact), np.full(copies * n, (1 - 1 / exact) / copies)])
    inside = np.all((rows >= low) & (rows <= high), axis=1)
    record = np.tile(np.arange(n), copies + 1)
    return CorrectedRows(rows[inside], weights[inside], record[inside], n)


def _widened(mechanism: ZeroInflatedLaplace) -> tuple[Floats, Floats]:
    """The closed box, widened outward to the grid points on which reports lie."""
    low, high = np.asarray(mechanism.box.low, float), np.asarray(mechanism.box.high, float)
    step = np.asarray(mechanism.grid, float)
    return np.floor(low / step) * step, np.ceil(high / step) * step


def _check(mechanism: Any) -> None:
    if not isinstance(mechanism, FiniteMechanism):
        raise InputError(f"a mechanism with finitely many reports is needed, not {arguments.shown(mechanism)}")
