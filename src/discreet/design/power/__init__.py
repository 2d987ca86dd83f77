"""Whether a survey would find what there is to find: power, and the people it takes."""

from discreet.design.power.association import Association
from discreet.design.power.coefficient import Coefficient
from discreet.design.power.difference import Difference
from discreet.design.power.power import Power, power
from discreet.design.power.prevalence import Prevalence

__all__ = ["Association", "Coefficient", "Difference", "Power", "Prevalence", "power"]
