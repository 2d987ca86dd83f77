"""Any channel: one row of exact weights per truth, with as many reports as you like."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from discreet.errors import ManifestError, MechanismError, PrivacyError
from discreet.mechanisms.base import stated_epsilon, stored_epsilon, stored_int, stored_rows
from discreet.mechanisms.exact_integers import checked_epsilon, private_rows
from discreet.mechanisms.finite import MAX_MATRIX, WrittenOut
from discreet.privacy.exact import Rows, exact_rows

#: How far above ε a matrix of floats may be before it is called wrong rather than rounded, relative to ε. Solvers and
#: printed matrices are exact to about eight digits.
PAPER_TOLERANCE = 1e-7


@dataclass(frozen=True, init=False, repr=False)
class ChannelResponse(WrittenOut):
    """A mechanism given by its matrix of report probabilities.

    Parameters
    ----------
    matrix : rows of int, Fraction, str or float
        ``matrix[x][y]`` is the probability of report y under truth x. Integers are weights with equal row
        sums; fractions and text ("1/6") must sum to one exactly; floats are held over 2^64.
    epsilon : float, optional
        State the guarantee as (ε, δ(ε)) at this ε. Default: the pure guarantee, which may be infinite.

    Examples
    --------
    >>> ChannelResponse([["1/2", "1/4", "1/4"], ["1/4", "1/4", "1/2"]]).guarantee.epsilon
    0.6931471805599454
    """

    rows: Rows
    epsilon: float | None

    kind: ClassVar[str] = "channel"

    def __init__(self, matrix: Any, epsilon: float | None = None) -> None:
        rows, _ = exact_rows(matrix)
        if len(rows) < 2:
            raise MechanismError("a channel needs at least two truths")
        if max(len(rows), len(rows[0])) > MAX_MATRIX:
            raise MechanismError(
                f"a channel of {len(rows)} × {len(rows[0])} is over the limit of {MAX_MATRIX} rows or columns"
            )
        object.__setattr__(self, "rows", rows)
        object.__setattr__(self, "epsilon", stated_epsilon(epsilon))

    @classmethod
    def private(cls, matrix: Any, epsilon: float) -> Self:
        """A channel rounded to integers so that it is ε-private for certain.

        A matrix of floats that is ε-private on paper can miss ε in its last digits; here it is moved by less
        than one part in 10⁹ so that it does not. A matrix that is not ε-private at all is refused.
        """
        epsilon = checked_epsilon(epsilon)
        realised = cls(matrix).guarantee.epsilon
        if realised > epsilon * (1 + PAPER_TOLERANCE):
            raise PrivacyError(f"the matrix is ε-private only at ε = {realised:.9g}, not at {epsilon:.9g}")
        return cls(private_rows(matrix, epsilon))

    def __repr__(self) -> str:
        stated = "" if self.epsilon is None else f", epsilon={self.epsilon!r}"
        return f"ChannelResponse({[list(row) for row in self.rows]!r}{stated})"

    def to_dict(self) -> dict[str, Any]:
        """Full integer rows."""
        data: dict[str, Any] = {
            "kind": self.kind,
            "denominator": str(self.denominator),
            "rows": [[str(weight) for weight in row] for row in self.rows],
        }
        if self.epsilon is not None:
            data["epsilon"] = self.epsilon
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild from the integers."""
        denominator = stored_int(data, "denominator")
        try:
            mechanism = cls(stored_rows(data), stored_epsilon(data))
        except MechanismError as error:
            raise ManifestError(f"a channel in the manifest is damaged ({error})") from None
        if mechanism.denominator != denominator:
            raise ManifestError("a channel in the manifest is damaged: its weights do not sum to the denominator")
        return mechanism
