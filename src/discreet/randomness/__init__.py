"""Where chance comes from: OpenSSL's generator, exact integer thresholds; seeds only for simulation."""

from discreet.randomness.sampling import AliasTable, Thresholds, permutation, uniform
from discreet.randomness.source import Randomness, resolve

__all__ = ["AliasTable", "Randomness", "Thresholds", "permutation", "resolve", "uniform"]
