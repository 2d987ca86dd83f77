"""What reports say when the channel does not tell all values apart: ranges instead of numbers.

All frequencies f on the simplex with ``Qᵀf = p`` lead to the same report shares p: the reports cannot choose among
them, however many there are. What can be said is the *identified range* of each frequency, of the mean and of
quantiles over all of them, and, because p is only known from a sample, a range that covers the identified one with a
stated confidence.

``region`` says which shares p go with the counts, ``ranges`` finds the smallest and largest value of a linear
function over all f that lead there, ``result`` holds what comes out, ``grouped`` that of every group.
"""

from discreet.estimate.bounds.grouped import GroupedBounds, Ranges, bounds_of
from discreet.estimate.bounds.range import Range
from discreet.estimate.bounds.region import Identified, Possible, Programme, ShareRegion, share_region
from discreet.estimate.bounds.result import FrequencyBounds, bounds_from

__all__ = [
    "FrequencyBounds",
    "GroupedBounds",
    "Identified",
    "Possible",
    "Programme",
    "Range",
    "Ranges",
    "ShareRegion",
    "bounds_from",
    "bounds_of",
    "share_region",
]
