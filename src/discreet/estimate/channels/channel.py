"""The channel that produced a column, or the several channels when rows were asked in different ways."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import arguments
from discreet.arguments import Floats
from discreet.domains import FiniteDomain
from discreet.errors import EstimationError, NotIdentifiedError
from discreet.estimate.channels.likelihood_intervals import General, Profile, Symmetric, TwoValues
from discreet.estimate.channels.moments import MAX_COVARIANCE, conditional_variances
from discreet.estimate.channels.simplex_mle import Fit, channel_fit, uniform_fit
from discreet.mechanisms import FiniteMechanism
from discreet.mechanisms.cyclic import CyclicInverse
from discreet.mechanisms.inverse import DenseInverse, Inverse, UniformInverse, indistinguishable

#: Values that a message names before it says "and more".
_NAMED = 12


@dataclass(frozen=True, eq=False)
class Channels:
    """One or several designs for the same truths.

    Several designs are one channel with the reports side by side: report (g, y) means that a row of design g
    reported y. Where each design tells all values apart, its correction is ``[A₁, A₂, …]``, so that the estimate is the
    mean of every row's own debiased answer. Designs that do so only together have one correction for all rows, see
    :meth:`correction`.

    Parameters
    ----------
    mechanisms : tuple of FiniteMechanism
    names : tuple of str
        Names of the designs; empty for a single one.
    labels : Domain, sequence or None
        The true values in code order.
    """

    mechanisms: tuple[FiniteMechanism, ...]
    names: tuple[str, ...] = ()
    labels: Any = None

    @classmethod
    def of(cls, mechanism: Any, labels: Any = None) -> Channels:
        """From one mechanism, or a mapping from design names to mechanisms."""
        several = mechanism if isinstance(mechanism, Mapping) else {}
        mechanisms = tuple(several.values()) if several else (mechanism,)
        for one in mechanisms:
            if not isinstance(one, FiniteMechanism):
                raise EstimationError(f"a mechanism with finitely many reports is needed, not {type(one).__name__}")
        sizes = {one.shape[0] for one in mechanisms}
        if len(sizes) > 1:
            raise EstimationError("the designs of one column must have the same number of true values")
        size = sizes.pop()
        if labels is None:
            labels = mechanisms[0].truths
        if labels is not None and not isinstance(labels, FiniteDomain):
            labels = arguments.listed(labels, "labels", EstimationError)
        known = labels.size if isinstance(labels, FiniteDomain) else size if labels is None else len(labels)
        if known != size:
            raise EstimationError(f"the mechanism has {size} true values but there are {known} labels")
        if len(mechanisms) > 1 and size > MAX_COVARIANCE:
            raise EstimationError(
                f"several designs in one column are limited to {MAX_COVARIANCE:,} values, not {size:,}"
            )
        return cls(mechanisms, tuple(str(name) for name in several), labels)

    @property
    def truths(self) -> int:
        """Number of true values."""
        return self.mechanisms[0].shape[0]

    @property
    def reports(self) -> int:
        """Number of reports, over all designs."""
        return sum(one.shape[1] for one in self.mechanisms)

    @cached_property
    def offsets(self) -> NDArray[np.int64]:
        """Where the reports of each design begin."""
        return np.concatenate([[0], np.cumsum([one.shape[1] for one in self.mechanisms])[:-1]]).astype(np.int64)

    def label(self, code: int) -> Any:
        """The label of a true value, or its code when there are no labels."""
        if self.labels is None:
            return code
        return self.labels.label(code) if isinstance(self.labels, FiniteDomain) else self.labels[code]

    @cached_property
    def inverse(self) -> Inverse:
        """The correction; values that the reports cannot separate are refused by name."""
        parts = []
        for position, one in enumerate(self.mechanisms):
            try:
                parts.append(one.inverse)
            except NotIdentifiedError as error:
                raise self._not_identified(error.groups, position) from None
        if len(parts) == 1:
            return parts[0]
        return DenseInverse(np.hstack([part.as_matrix() for part in parts]))

    @cached_property
    def only_together(self) -> bool:
        """Whether some design leaves values apart that all designs together tell from each other."""
        return len(self.mechanisms) > 1 and not all(_full_rank(one) for one in self.mechanisms) and self.is_identified()

    def correction(self, shares: Floats) -> Inverse:
        """What undoes the designs on average: ``A Qᵀ = I``, Q the channel of all designs side by side.

        For designs that are identified only together, generalised least squares ``A = (Q W Qᵀ)⁻¹ Q W`` with
        ``W = diag(1/p)``, p the report shares under equally frequent values. A depends on the data through the number
        of rows per design alone, which says nothing about the answers: given it, A p̂ is unbiased. The answers of
        design g then have a mean m_g of their own. Adding ``A p̂ − m_g`` to its columns changes no estimate and leaves
        to the variance only what varies within designs.
        """
        if not self.only_together:
            return self.inverse
        if not self.is_identified(shares):
            raise self._not_identified(self._inseparable(self._used(shares)), None)
        Q = self.matrix(shares)
        possible = Q.max(axis=0) > 0
        weighted = Q[:, possible] / Q[:, possible].mean(axis=0)
        A = np.zeros_like(Q)
        A[:, possible] = np.linalg.solve(weighted @ Q[:, possible].T, weighted)
        estimate = A @ shares
        for part in np.split(np.arange(shares.size), self.offsets[1:]):
            if shares[part].sum() > 0:
                A[:, part] += (estimate - A[:, part] @ shares[part] / shares[part].sum())[:, None]
        return DenseInverse(A)

    def _used(self, shares: Floats | None) -> tuple[FiniteMechanism, ...]:
        """The designs that have rows."""
        if shares is None or len(self.mechanisms) == 1:
            return self.mechanisms
        parts = np.split(shares, self.offsets[1:])
        return tuple(one for one, part in zip(self.mechanisms, parts, strict=True) if part.sum() > 0)

    @staticmethod
    def _inseparable(mechanisms: tuple[FiniteMechanism, ...]) -> tuple[tuple[int, ...], ...]:
        """Groups of values that these designs together do not tell apart."""
        return indistinguishable(
            tuple(sum(rows, ()) for rows in zip(*(one.weights() for one in mechanisms), strict=True))
        )

    def _not_identified(self, groups: tuple[tuple[int, ...], ...], position: int | None) -> NotIdentifiedError:
        if position is None:
            design = "the designs that have rows do not together"
        else:
            design = f'the design "{self.names[position]}" does not' if self.names else "the design does not"
        named = "; ".join(self._listed(group) for group in groups)
        if self.only_together and position is not None:
            way_out = "The designs do so only together, which is enough for frequencies but not here"
        else:
            bounds = 'method="bounds" gives the range of each; or m' if len(self.mechanisms) == 1 else "M"
            way_out = (
                f"{bounds}erge them into one value, or collect with a design of full rank. "
                'method="mle" gives one of many equally likely answers, without error bars'
            )
        return NotIdentifiedError(
            f"{design} tell these values apart: {named}; their frequencies cannot be estimated one by one. {way_out}",
            groups,
        )

    def _listed(self, codes: tuple[int, ...]) -> str:
        shown = [self.label(code) for code in codes[:_NAMED]]
        text = ", ".join(f'"{value}"' if isinstance(value, str) else str(value) for value in shown)
        return text + (f" and {len(codes) - _NAMED} more" if len(codes) > _NAMED else "")

    @property
    def line(self) -> tuple[Floats, Floats] | None:
        """(slope, offset) when each frequency is a line in the share of one report."""
        return self.inverse.single if len(self.mechanisms) == 1 else None

    @cached_property
    def conditional_variances(self) -> tuple[Floats, Floats]:
        """Randomisation variance of one debiased answer: at the own truth, and the worst at any other truth."""
        pairs = [conditional_variances(one) for one in self.mechanisms]
        if len(pairs) == 1:
            return pairs[0]
        own, other = (np.max(np.stack(several), axis=0) for several in zip(*pairs, strict=True))
        return own, other

    def average_variances(self, squares: Floats) -> tuple[Floats, Floats]:
        """The same two numbers on average over the rows, given Σw² by report."""
        if len(self.mechanisms) == 1:
            return self.conditional_variances
        rows = np.array([part.sum() for part in np.split(squares, self.offsets[1:])]) / squares.sum()
        pairs = [conditional_variances(one) for one in self.mechanisms]
        own, other = (np.tensordot(rows, np.stack(several), axes=1) for several in zip(*pairs, strict=True))
        return own, other

    def matrix(self, shares: Floats) -> Floats:
        """The channel of all designs side by side, each scaled by its share of the rows."""
        if len(self.mechanisms) == 1:
            return self.mechanisms[0].matrix()
        parts = np.split(shares, self.offsets[1:])
        return np.hstack([one.matrix() * part.sum() for one, part in zip(self.mechanisms, parts, strict=True)])

    def expected_shares(self, frequencies: Floats, shares: Floats) -> Floats:
        """``Qᵀf``: the report shares that these frequencies lead to."""
        inverse = self.mechanisms[0].inverse if len(self.mechanisms) == 1 else None
        if isinstance(inverse, UniformInverse):
            other = -inverse.shift / inverse.scale
            return other + frequencies / inverse.scale
        if isinstance(inverse, CyclicInverse):
            return inverse.report_shares(frequencies)
        return np.asarray(frequencies @ self.matrix(shares))

    def is_identified(self, shares: Floats | None = None) -> bool:
        """Whether all designs together, or those that have a share of the reports, tell every two values apart."""
        used = self._used(shares)
        if any(_full_rank(one) for one in used):
            return True
        return len(used) > 1 and not self._inseparable(used)

    def fit(self, weights: Floats) -> Fit:
        """Maximum likelihood for (weighted) counts of reports."""
        first = self.mechanisms[0]
        if len(self.mechanisms) == 1 and self.is_identified():
            inverse = first.inverse
            if isinstance(inverse, UniformInverse):
                other = -inverse.shift / inverse.scale
                return uniform_fit(weights, other + 1 / inverse.scale, other)
            if inverse.shape == (2, 2):  # one concave function of one number: its maximum, held to [0, 1]
                second = min(max(float(inverse.apply(weights / weights.sum())[1]), 0.0), 1.0)
                return Fit(np.array([1 - second, second]), 0.0)
            if first.shape[1] > MAX_COVARIANCE:
                raise EstimationError(
                    f"maximum likelihood through this kind of design is limited to {MAX_COVARIANCE:,} reports, not "
                    f"{first.shape[1]:,}; the unbiased estimate works at any size"
                )
        return channel_fit(self.matrix(weights / weights.sum()), weights)

    def profile(self, counts: Floats) -> Profile:
        """The profile likelihood of every frequency for plain counts of reports."""
        inverse = self.mechanisms[0].inverse if len(self.mechanisms) == 1 else None
        if isinstance(inverse, UniformInverse):
            other = -inverse.shift / inverse.scale
            return Symmetric(counts, other + 1 / inverse.scale, other)
        channel = self.matrix(counts / counts.sum())
        return TwoValues(channel, counts) if self.truths == 2 else General(channel, counts)

    def efficient(self, frequencies: Floats, shares: Floats) -> Inverse:
        """The correction that the maximum-likelihood estimate amounts to near the given frequencies.

        ``B = (Q D⁻¹ Qᵀ)⁻¹ Q D⁻¹`` with D = diag(Qᵀf). ``B Qᵀ = I``, and ``B (D − p pᵀ) Bᵀ`` is the inverse
        Fisher information on the simplex. For a square channel it is the inverse, whatever f is.
        """
        if len(self.mechanisms) == 1 and self.mechanisms[0].shape[0] == self.mechanisms[0].shape[1]:
            return self.inverse
        channel = self.matrix(shares)
        # A report that only absent values give is expected with probability zero: its limit, not a division by it.
        expected = frequencies @ channel + 1e-12 * channel.mean(axis=0)
        possible = expected > 0
        weighted = channel[:, possible] / expected[possible]
        full = np.zeros_like(channel)
        full[:, possible] = np.linalg.solve(weighted @ channel[:, possible].T, weighted)
        return DenseInverse(full)


def _full_rank(mechanism: FiniteMechanism) -> bool:
    """Whether a mechanism by itself tells every two values apart."""
    try:
        _ = mechanism.inverse
    except NotIdentifiedError:
        return False
    return True
