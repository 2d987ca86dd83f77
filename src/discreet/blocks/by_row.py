"""Columns whose design differs from row to row, as a public column says: some asked directly, some by dice."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, ClassVar

from numpy.typing import NDArray

from discreet import mechanisms
from discreet.blocks.base import Cells
from discreet.blocks.checks import mapping, text
from discreet.blocks.finite import FiniteBlock
from discreet.errors import MechanismError
from discreet.mechanisms import FiniteMechanism
from discreet.plain_text import one_line
from discreet.privacy import Guarantee
from discreet.randomness import Randomness


def design_name(label: Any) -> str:
    """A value of the ``by`` column as a manifest names its design: as text, booleans as in TOML."""
    return str(label).lower() if isinstance(label, bool) else str(label)


@dataclass(frozen=True, kw_only=True)
class DesignsByRow(FiniteBlock):
    """Columns whose rows were asked under different designs.

    Parameters
    ----------
    by : str
        The public column that says which.
    designs : mapping of str to FiniteMechanism
        The design for each value of ``by``, written as text.
    """

    by: str
    designs: Mapping[str, FiniteMechanism] = field(hash=False)

    KEYS: ClassVar[tuple[str, ...]] = ("reports", "by", "designs")

    def _check(self) -> None:
        object.__setattr__(self, "designs", MappingProxyType(dict(self.designs)))
        if not self.by or not self.designs:
            raise MechanismError('a block has either one mechanism, or "by" and at least one design')
        super()._check()

    def _channels(self) -> Iterable[FiniteMechanism]:
        return self.designs.values()

    def channels_of(self, *chosen: str) -> Mapping[str, FiniteMechanism]:
        """The channel of one column under every design."""
        return self.designs if len(chosen) == 1 else {}

    def randomize(self, cells: Sequence[Cells], randomness: Randomness) -> Iterable[NDArray[Any]]:  # noqa: ARG002
        """Refused: who was asked under which design is known to the respondents alone."""
        raise MechanismError("answers that were asked under several designs are randomised by the respondents")

    def _row_guarantee(self) -> Guarantee:
        """The largest ε, δ and exposure: whoever meets the bound of one design meets the larger one."""
        each = [design.guarantee for design in self.designs.values()]
        weakest = Guarantee(
            epsilon=max(guarantee.epsilon for guarantee in each),
            delta=max(guarantee.delta for guarantee in each),
            exposure=max(guarantee.exposure for guarantee in each),
        )
        whole = self._each_column(weakest)
        return replace(whole, caveats=(f'the designs differ by "{self.by}"; the weakest of them is stated',))

    def guarantee_under(self, chosen: Mapping[str, str]) -> Guarantee:
        """That of the design by which the row was asked."""
        return self._each_column(self.designs[chosen[self.by]].guarantee)

    @classmethod
    def _own_fields(cls, data: Mapping[str, Any]) -> dict[str, Any]:
        designs = {
            text(value, "the name of a design"): mechanisms.from_dict(mapping(design, "a design"))
            for value, design in mapping(data.get("designs", {}), "the designs").items()
        }
        return super()._own_fields(data) | {"by": text(data.get("by"), "by"), "designs": designs}

    def _method(self) -> str:
        return f'{self.domain.size} values, design by "{one_line(self.by)}"'
