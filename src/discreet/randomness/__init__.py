"""Where chance comes from: AES-256 under keys of OpenSSL, exact integer thresholds; seeds only for simulation."""

from discreet.randomness.bernoulli import Coins
from discreet.randomness.key import StreamKey
from discreet.randomness.sampling import AliasTable, Thresholds, chosen, permutation, uniform
from discreet.randomness.source import Randomness, resolve

__all__ = [
    "AliasTable",
    "Coins",
    "Randomness",
    "StreamKey",
    "Thresholds",
    "chosen",
    "permutation",
    "resolve",
    "uniform",
]
