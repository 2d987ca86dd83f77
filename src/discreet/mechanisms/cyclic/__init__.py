"""Cyclic block designs for large domains: difference sets, their correlations, and the mechanism."""

from discreet.mechanisms.cyclic.difference_sets import DifferenceSet, PaleySet, SingerSet
from discreet.mechanisms.cyclic.inverse import CyclicInverse
from discreet.mechanisms.cyclic.response import CyclicResponse

__all__ = ["CyclicInverse", "CyclicResponse", "DifferenceSet", "PaleySet", "SingerSet"]
