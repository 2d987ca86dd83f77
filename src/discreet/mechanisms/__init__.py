"""How one value is randomised: frozen values, each with one exact channel as its source of truth."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet.errors import ManifestError
from discreet.mechanisms.base import Mechanism, RecordMechanism
from discreet.mechanisms.binary import BinaryResponse
from discreet.mechanisms.bipartite import BipartiteResponse
from discreet.mechanisms.channel import ChannelResponse
from discreet.mechanisms.cyclic import CyclicResponse, PaleySet, SingerSet
from discreet.mechanisms.exponential import ExponentialResponse
from discreet.mechanisms.finite import FiniteMechanism
from discreet.mechanisms.generalized import GeneralizedResponse
from discreet.mechanisms.joint import JointResponse
from discreet.mechanisms.laplace import ZeroInflatedLaplace
from discreet.mechanisms.one_number import OneNumberResponse
from discreet.mechanisms.unbiased import UnbiasedResponse

__all__ = [
    "BinaryResponse",
    "BipartiteResponse",
    "ChannelResponse",
    "CyclicResponse",
    "ExponentialResponse",
    "FiniteMechanism",
    "GeneralizedResponse",
    "JointResponse",
    "Mechanism",
    "OneNumberResponse",
    "PaleySet",
    "RecordMechanism",
    "SingerSet",
    "UnbiasedResponse",
    "ZeroInflatedLaplace",
    "from_dict",
]

#: Every kind that a manifest can name. Entries are added, never changed.
KINDS: dict[str, type[Mechanism]] = {
    cls.kind: cls
    for cls in (
        BinaryResponse,
        GeneralizedResponse,
        ChannelResponse,
        BipartiteResponse,
        ExponentialResponse,
        JointResponse,
        ZeroInflatedLaplace,
        CyclicResponse,
        UnbiasedResponse,
        OneNumberResponse,
    )
}


def from_dict(data: Mapping[str, Any]) -> Mechanism:
    """Rebuild a mechanism from a manifest; it is made of the integers there, never of ε."""
    try:
        cls = KINDS[data["kind"]]
    except (KeyError, TypeError, IndexError):
        raise ManifestError("the manifest names a mechanism that this version does not know") from None
    return cls.from_dict(data)
