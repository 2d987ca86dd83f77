"""How people were sampled: the public columns that say it, and how replicate weights were made."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

from discreet.errors import ManifestError
from discreet.manifest.checks import mapping, names, one_of, optional_text

Role = Literal["public", "weight", "strata", "cluster", "private"]
#: How replicate weights were made; each has its factor in the variance, see ``estimate.replicate``.
REPLICATIONS = ("bootstrap", "jackknife", "brr")


@dataclass(frozen=True)
class Survey:
    """The public columns that describe how people were sampled.

    Attributes
    ----------
    weight, strata, cluster : str or None
        Column names.
    fpc : str or None
        The column of population sizes (or sampling fractions) of the strata: clusters, or rows where there are none.
    replicates : tuple of str
        Columns of replicate weights.
    replication : {"bootstrap", "jackknife", "brr"} or None
        How they were made.
    replicate_scale : float or None
        The factor of their squared deviations, where it is not the usual one.
    """

    weight: str | None = None
    strata: str | None = None
    cluster: str | None = None
    fpc: str | None = None
    replicates: tuple[str, ...] = ()
    replication: str | None = None
    replicate_scale: float | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are used."""
        single = (self.weight, self.strata, self.cluster, self.fpc)
        return (*(name for name in single if name is not None), *self.replicates)

    @property
    def numbers(self) -> tuple[str, ...]:
        """The columns that hold numbers."""
        return (*(name for name in (self.weight, self.fpc) if name is not None), *self.replicates)

    def role(self, column: str) -> Role | None:
        """What a column is for."""
        roles: tuple[Role, ...] = ("weight", "strata", "cluster")
        return next((role for role in roles if getattr(self, role) == column), None)

    def to_dict(self) -> dict[str, Any]:
        """Plain data; what is not there since the first format is written only where it is used."""
        data: dict[str, Any] = {"weight": self.weight, "strata": self.strata, "cluster": self.cluster}
        if self.fpc is not None:
            data["fpc"] = self.fpc
        if self.replicates:
            data |= {"replicates": list(self.replicates), "replication": self.replication}
        if self.replicate_scale is not None:
            data["replicate_scale"] = self.replicate_scale
        return data

    @classmethod
    def from_dict(cls, data: Any) -> Self:
        """Rebuild from plain data."""
        data = mapping(data, "the survey")
        single = {key: optional_text(data.get(key), f"survey.{key}") for key in ("weight", "strata", "cluster", "fpc")}
        found = cls(single["weight"], single["strata"], single["cluster"], single["fpc"])
        if data.get("replicates") is None:
            return found
        return replace(
            found,
            replicates=names(data["replicates"], "survey.replicates"),
            replication=one_of(data.get("replication"), "survey.replication", REPLICATIONS),
            replicate_scale=_scale(data.get("replicate_scale")),
        )


def _scale(value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < math.inf:
        raise ManifestError("survey.replicate_scale must be a number above 0")
    return float(value)
