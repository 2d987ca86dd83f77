"""How far answers that do not follow the design can move an estimate.

A share α of the reports was made up. A report y counts ``A[t, y]`` for value t, whatever the truth behind it, so the
estimate m of a frequency f may be off by as much as the most extreme reports allow:

=============  ==========================================================  ========================================
of whom        what is meant                                               f lies between
=============  ==========================================================  ========================================
"everyone"     the frequency among all, those who made answers up among    ``m − α max A`` and ``m + α(1 − min A)``
               them
"honest"       the frequency among those who followed the design           ``(m − α max A)/(1 − α)`` and
                                                                           ``(m − α min A)/(1 − α)``
"replaced"     the frequency among all, when honest reports were seen      ``m ∓ α(max A − min A)``
               and then exchanged
=============  ==========================================================  ========================================

max and min are over the reports y. Each bound is sharp: some forgers reach it.
"""

from __future__ import annotations

from discreet import arguments
from discreet.arguments import Floats
from discreet.errors import EstimationError

OF_WHOM = ("everyone", "honest", "replaced")


def checked_share(share: float) -> float:
    """The share of reports that may be made up: at least 0, below 1."""
    return arguments.number(share, "contamination", EstimationError, least=0, below=1)


def widened(low: Floats, high: Floats, weights: Floats, share: float, of: str = "everyone") -> tuple[Floats, Floats]:
    """Intervals that still hold when a share of the reports was made up.

    Parameters
    ----------
    low, high : array (values,)
        Intervals for the mean of the debiased answers.
    weights : array (values, reports)
        What report y counts for value t.
    share : float
        At most this share of the reports was made up.
    of : {"everyone", "honest", "replaced"}
        Whose frequency is meant, and how reports were made up.
    """
    arguments.choice(of, "of", OF_WHOM, EstimationError)
    largest, smallest = weights.max(axis=1), weights.min(axis=1)
    if of == "honest":
        return (low - share * largest) / (1 - share), (high - share * smallest) / (1 - share)
    if of == "replaced":
        return low - share * (largest - smallest), high + share * (largest - smallest)
    return low - share * largest, high + share * (1 - smallest)
