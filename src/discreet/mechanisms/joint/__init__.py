"""Several attributes of a record, randomised together: laws of the truthful pattern, and the mechanism."""

from discreet.mechanisms.joint.grouped import GroupedLaw
from discreet.mechanisms.joint.law import Law
from discreet.mechanisms.joint.product import ProductLaw
from discreet.mechanisms.joint.response import JointResponse
from discreet.mechanisms.joint.star import StarLaw
from discreet.mechanisms.joint.threshold import Threshold, ThresholdLaw
from discreet.mechanisms.joint.view import JointView

__all__ = ["GroupedLaw", "JointResponse", "JointView", "Law", "ProductLaw", "StarLaw", "Threshold", "ThresholdLaw"]
