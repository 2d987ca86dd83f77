"""Weights that meet known totals of the population (Deville and Särndal 1992).

Reading order: ``distances`` (how a weight may move), ``margins`` (what is known), ``sample`` (what of it the sample
shows), ``solve`` (the multipliers), ``calibrate`` (the function for users), ``result``, ``calibrated_release`` (a
release under the new weights). What the totals take off the variance of an estimate is in ``calibrated_variance``.
"""

from __future__ import annotations

from discreet.estimate.sampling.calibration.calibrate import Calibration, calibrate

__all__ = ["Calibration", "calibrate"]
