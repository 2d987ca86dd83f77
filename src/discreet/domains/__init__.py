"""What a true value can be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet.domains.base import Domain
from discreet.domains.blank import WithBlank
from discreet.domains.box import Box
from discreet.domains.finite import FiniteDomain
from discreet.domains.grid import Grid
from discreet.domains.listed import Binary, Categorical, Ordinal
from discreet.domains.metric import Metric
from discreet.errors import ManifestError

__all__ = [
    "Binary",
    "Box",
    "Categorical",
    "Domain",
    "FiniteDomain",
    "Grid",
    "Metric",
    "Ordinal",
    "WithBlank",
    "from_dict",
]

#: Every kind that a manifest can name. Entries are added, never changed.
KINDS: dict[str, type[Domain]] = {cls.kind: cls for cls in (Binary, Categorical, Ordinal, Grid, WithBlank, Metric, Box)}


def from_dict(data: Mapping[str, Any]) -> Domain:
    """Rebuild a domain from the plain data of a manifest."""
    try:
        cls = KINDS[data["kind"]]
    except (KeyError, TypeError):
        raise ManifestError("the manifest names a domain that this version does not know") from None
    return cls.from_dict(data)
