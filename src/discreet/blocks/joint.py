"""Categorical columns that were randomised together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from discreet import arguments
from discreet.blocks.base import RecordBlock, check_blank, stored_finite
from discreet.blocks.checks import mapping
from discreet.blocks.finite import ColumnBlock
from discreet.domains import FiniteDomain
from discreet.errors import ManifestError, MechanismError
from discreet.mechanisms import FiniteMechanism, JointResponse


@dataclass(frozen=True, kw_only=True)
class JointBlock(RecordBlock):
    """Columns with a list of values each, all of them randomised together; reports are labelled like the truths.

    Parameters
    ----------
    mechanism : JointResponse
        How.
    domains : tuple of FiniteDomain
        What a true value of every column can be.
    """

    mechanism: JointResponse
    domains: tuple[FiniteDomain, ...]

    KEYS: ClassVar[tuple[str, ...]] = ("domains",)

    def _check(self) -> None:
        object.__setattr__(self, "domains", tuple(self.domains))
        arguments.instance(self.mechanism, JointResponse, "the mechanism of a joint block", MechanismError)
        if len(self.domains) != len(self.columns):
            raise MechanismError(f"there are {len(self.columns)} columns but {len(self.domains)} domains")
        if tuple(domain.size for domain in self.domains) != self.mechanism.sizes:
            raise MechanismError("the joint design does not fit the sizes of the domains")
        check_blank(self.missing, self.domains)

    def truths_of(self, name: str) -> FiniteDomain:
        """The domain of the column."""
        return self.domains[self._places[name]]

    reports_of = truths_of

    def of_column(self, name: str) -> ColumnBlock:
        """The channel of the column alone, which protects against whoever sees nothing else."""
        domain, view = self.truths_of(name), self.mechanism.view(self._places[name])
        return ColumnBlock(
            columns=(name,),
            domain=domain,
            reports=domain,
            mechanism=view,
            missing=self.missing,
            collected=self.collected,
            guarantee=view.guarantee,
        )

    def channels_of(self, *chosen: str) -> Mapping[str, FiniteMechanism]:
        """The channel of some columns, of combined codes when there are several."""
        return {"": self.mechanism.view(*(self._places[name] for name in chosen))}

    def to_dict(self) -> dict[str, Any]:
        """Plain data; ``domain`` is that of the first column, as in every manifest so far."""
        return {"domains": [domain.to_dict() for domain in self.domains]} | self._common(self.domains[0])

    @classmethod
    def _own_fields(cls, data: Mapping[str, Any]) -> dict[str, Any]:
        domains = tuple(stored_finite(one) for one in data.get("domains", ()))
        if not domains or stored_finite(data.get("domain")) != domains[0]:
            raise ManifestError('the manifest is damaged: "domain" must be the first of the "domains" of a joint block')
        return {"domains": domains, "mechanism": JointResponse.from_dict(mapping(data["mechanism"], "a mechanism"))}

    def _remarks(self) -> list[str]:
        return super()._remarks() + (["a missing answer is one more value"] if self.missing == "category" else [])

    def _method(self) -> str:
        return f"{', '.join(str(domain.size) for domain in self.domains)} values, randomised together"
