"""Columns that were randomised together: their joint channel in place of a Kronecker product."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from discreet.arguments import Floats
from discreet.errors import EstimationError, NotIdentifiedError
from discreet.estimate.channels.channel import Channels
from discreet.estimate.channels.simplex_mle import Fit
from discreet.mechanisms import FiniteMechanism
from discreet.mechanisms.inverse import Inverse
from discreet.mechanisms.joint import JointResponse, JointView

#: A table is refused when less than this share is left of the information that independent randomisation would leave
#: about some association: its standard errors would be twenty times as large.
LEAST_INFORMATION = 0.05


@dataclass(frozen=True, eq=False)
class JointChannels:
    """The channel of two or three columns of one joint response, as one column of combined codes."""

    columns: tuple[Channels, ...]
    together: Channels

    @classmethod
    def of(cls, joint: JointResponse, attributes: tuple[int, ...], labels: tuple[Any, ...] = ()) -> JointChannels:
        """From the joint response; an association that it has erased is refused."""
        view = joint.view(*attributes)
        check_information(view)
        known = labels or (None,) * len(attributes)
        columns = tuple(Channels.of(joint.view(i), names) for i, names in zip(attributes, known, strict=True))
        return cls(columns, Channels.of(view))

    @property
    def first(self) -> Channels:
        """The first column."""
        return self.columns[0]

    @property
    def second(self) -> Channels:
        """The second column."""
        return self.columns[1]

    names: tuple[str, ...] = ()
    labels: Any = None

    @property
    def mechanisms(self) -> tuple[FiniteMechanism, ...]:
        """The joint channel."""
        return self.together.mechanisms

    @property
    def truths(self) -> int:
        """Number of combinations of true values."""
        return self.together.truths

    @property
    def reports(self) -> int:
        """Number of combinations of reports."""
        return self.together.reports

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of values of each column."""
        return tuple(column.truths for column in self.columns)

    def label(self, code: int) -> tuple[Any, ...]:
        """The labels of a combination."""
        where = np.unravel_index(code, self.shape)
        return tuple(column.label(int(i)) for column, i in zip(self.columns, where, strict=True))

    @property
    def inverse(self) -> Inverse:
        """The correction of the joint channel."""
        return self.together.inverse

    @property
    def line(self) -> None:
        """A cell depends on the shares of several reports."""
        return

    @cached_property
    def conditional_variances(self) -> tuple[Floats, Floats]:
        """Randomisation variance of one debiased combination: at the own truth, and the worst at any other."""
        return self.together.conditional_variances

    def matrix(self, shares: Floats) -> Floats:
        """The channel, written out."""
        return self.together.matrix(shares)

    def expected_shares(self, frequencies: Floats, shares: Floats) -> Floats:
        """``Qᵀf``."""
        return self.together.expected_shares(frequencies, shares)

    def fit(self, weights: Floats) -> Fit:
        """Maximum likelihood."""
        return self.together.fit(weights)


def check_information(view: JointView) -> None:
    """Refuse a table when the joint randomisation has (nearly) erased an association."""
    values = view.eigenvalues
    for members, value in values.items():
        if len(members) < 2:
            continue
        independent = float(np.prod([values[(i,)] for i in members]))
        if abs(value) < LEAST_INFORMATION * independent:
            named = " and ".join(str(view.attributes[i]) for i in members)
            table = tuple(view.attributes[i] for i in members)
            words = {2: 'a design with pairs="keep" keeps it', 3: 'a design with pairs="triples" keeps it'}
            advice = words.get(len(members), f"a design with pairs=[{table}] keeps it")
            raise NotIdentifiedError(
                f"the joint randomisation left {abs(value) / independent:.1%} of the information about the association "
                f"of attributes {named} (λ = {value:.2g}, {independent:.2g} under independent randomisation): "
                f"their cross-table cannot be estimated; {advice}"
            )


def together(first: Channels, second: Channels) -> JointChannels | None:
    """The joint channel of two columns, when they are different attributes of one joint response.

    One means the same object: two blocks of equal design are randomised independently of each other.
    """
    if len(first.mechanisms) != 1 or len(second.mechanisms) != 1:
        return None
    one, other = first.mechanisms[0], second.mechanisms[0]
    if not isinstance(one, JointView) or not isinstance(other, JointView) or one.joint is not other.joint:
        return None
    if set(one.attributes) & set(other.attributes):
        raise EstimationError("a cross-table needs two different attributes of a joint response")
    return JointChannels.of(one.joint, one.attributes + other.attributes, (first.labels, second.labels))
